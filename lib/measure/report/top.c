// SPDX-License-Identifier: BSD-3-Clause
// Rates of a running appliance, as a page.

#include <tl_top.h>

#include <stdbool.h>
#include <string.h>

#include <tl_base.h>
#include <tl_ledger.h>
#include <tl_units.h>

#define CELL 24 // largest size of a number or a name, with its NUL

#define HOME "\033[H" // ECMA-48: cursor position, erase in line, erase in page
#define CLEAR_LINE "\033[K"
#define CLEAR_REST "\033[J"

#define NAME(name) #name " "

// Two rows of one object, and the time between them.
struct pair {
	const json_t *before, *now;
	double seconds; // 0: no rates
};

static const json_t *at(const json_t *list, size_t index)
{
	return json_array_get(list, index);
}

// Return the class before, if it is that of this row: a change at run time may have added or removed others.
static const json_t *class_before(const json_t *before, size_t index, const json_t *now)
{
	const json_t *row = at(before, index);

	return json_equal(json_object_get(row, "name"), json_object_get(now, "name")) ? row : NULL;
}

// Return a printable name: control characters in it become '?'.
static const char *name_of(const json_t *row, const char *key, char cell[CELL])
{
	const char *text = json_string_value(json_object_get(row, key));

	snprintf(cell, CELL, "%s", text != NULL ? text : "-");
	for (char *p = cell; *p != '\0'; p++)
		if (*p < ' ' || *p > '~')
			*p = '?';
	return cell;
}

// Sum the counters, whose names are separated by spaces. False: one is missing.
static bool sum_of(const json_t *row, const char *keys, json_int_t *out)
{
	*out = 0;
	while (*keys != '\0') {
		size_t len = strcspn(keys, " ");
		const json_t *value = json_object_getn(row, keys, len);
		if (!json_is_integer(value))
			return false;
		*out += json_integer_value(value);
		keys += len + (keys[len] == ' ');
	}
	return true;
}

// Format a rate per second, times factor.
static const char *rate(const struct pair *pair, const char *keys, double factor, char cell[CELL])
{
	json_int_t before, now;

	if (pair->seconds <= 0 || !sum_of(pair->before, keys, &before) || !sum_of(pair->now, keys, &now) ||
		now < before)
		return "-";
	return tl_format_scaled((double)(now - before) * factor / pair->seconds, cell, CELL);
}

static const char *total(const json_t *row, const char *keys, char cell[CELL])
{
	json_int_t now;

	return sum_of(row, keys, &now) ? tl_format_scaled((double)now, cell, CELL) : "-";
}

static void print_port(FILE *out, const struct pair *pair)
{
	static const char drops[] = TL_PORT_DROPS(NAME) "drop_handoff_pkts";
	char name[CELL], c[7][CELL];

	fprintf(out, "%-14s %9s %9s %9s %9s %9s %9s %9s\n", name_of(pair->now, "name", name),
		rate(pair, "rx_pkts", 1, c[0]), rate(pair, "rx_bytes", 8, c[1]), rate(pair, "tx_pkts", 1, c[2]),
		rate(pair, "tx_bytes", 8, c[3]), rate(pair, "handoff_pkts", 1, c[4]), rate(pair, drops, 1, c[5]),
		total(pair->now, drops, c[6]));
}

// Time of a queue's lcore in turns with at least as many frames as by this index of turn_ns; all is the whole time.
static double turns_from(const json_t *queue, size_t first, double *all)
{
	double sum = 0;
	const json_t *ns;
	size_t index;

	*all = 0;
	json_array_foreach (json_object_get(queue, "turn_ns"), index, ns) {
		*all += (double)json_integer_value(ns);
		sum += index >= first ? (double)json_integer_value(ns) : 0;
	}
	return sum;
}

// Format the share of time between the responses in turns with at least this many frames.
static const char *turn_share(const struct pair *pair, size_t first, char cell[CELL])
{
	double all_before, all_now;
	double share = turns_from(pair->now, first, &all_now) - turns_from(pair->before, first, &all_before);

	if (pair->seconds <= 0 || all_now <= all_before || share < 0)
		return "-";
	snprintf(cell, CELL, "%.0f %%", 100 * share / (all_now - all_before));
	return cell;
}

// Format the fill of a queue's ring of descriptors, in percent: of the last sample, or the highest.
static const char *descriptors(const json_t *queue, const char *key, char cell[CELL])
{
	const json_t *ring = json_object_get(queue, "ring");
	double all = json_number_value(json_object_get(ring, "descriptors"));

	if (all <= 0)
		return "-";
	snprintf(cell, CELL, "%.0f %%", 100 * json_number_value(json_object_get(ring, key)) / all);
	return cell;
}

static void print_queue(FILE *out, const char *port, size_t number, const struct pair *pair)
{
	char c[6][CELL];

	fprintf(out, "%-11s %2zu %9s %9s %9s %9s %9s %9s\n", port, number, rate(pair, "rx_pkts", 1, c[0]),
		turn_share(pair, 1, c[1]), turn_share(pair, 6, c[2]), descriptors(pair->now, "used", c[3]),
		descriptors(pair->now, "used_max", c[4]), rate(pair, "drop_nic_pkts", 1, c[5]));
}

static void print_queues(FILE *out, const struct pair *port)
{
	const json_t *queues = json_object_get(port->now, "queues"), *before = json_object_get(port->before, "queues");
	struct pair pair = {.seconds = port->seconds};
	char name[CELL];
	size_t index;

	json_array_foreach (queues, index, pair.now) {
		pair.before = at(before, index);
		print_queue(out, name_of(port->now, "name", name), index, &pair);
	}
}

// Format the fill level of the fullest queue's ring, in percent; a ring that is not empty has at least 1.
static const char *ring_fill(const json_t *capture, char cell[CELL])
{
	json_int_t slabs = json_integer_value(json_object_get(capture, "slabs")), most = 0;
	const json_t *queue;
	size_t index;

	json_array_foreach (json_object_get(capture, "queues"), index, queue) {
		json_int_t used = json_integer_value(json_object_get(queue, "slabs_used"));
		most = used > most ? used : most;
	}
	if (slabs <= 0)
		return "-";
	snprintf(cell, CELL, "%" JSON_INTEGER_FORMAT " %%", (most * 100 + slabs - 1) / slabs);
	return cell;
}

static const char *free_space(const json_t *capture, char cell[CELL])
{
	const json_t *bytes = json_object_get(capture, "disk_free_bytes");

	return json_is_integer(bytes) ? tl_format_bytes((uint64_t)json_integer_value(bytes), cell, CELL) : "-";
}

static void print_capture(FILE *out, const struct pair *pair)
{
	char name[CELL], c[5][CELL], fill[CELL], room[CELL];

	fprintf(out, "%-14s %9s %9s %9s %9s %9s %9s %9zu %11s\n", name_of(pair->now, "port", name),
		rate(pair, "written_pkts", 1, c[0]), rate(pair, "written_bytes", 1, c[1]), ring_fill(pair->now, fill),
		rate(pair, "drop_ring_pkts", 1, c[2]), rate(pair, "drop_disk_pkts", 1, c[3]),
		total(pair->now, "drop_ring_pkts drop_disk_pkts", c[4]),
		json_array_size(json_object_get(pair->now, "files")), free_space(pair->now, room));
}

// Print the classes of a recording: frames whole, cut, not recorded, and without a meter of their own.
static void print_policed(FILE *out, const struct pair *capture)
{
	const json_t *classes = json_object_get(capture->now, "classes");
	const json_t *before = json_object_get(capture->before, "classes");
	struct pair pair = {.seconds = capture->seconds};
	char port[CELL], name[CELL], c[6][CELL];
	size_t index;

	json_array_foreach (classes, index, pair.now) {
		pair.before = at(before, index);
		fprintf(out, "%-14s %-20s %9s %9s %9s %9s %9s %9s\n", name_of(capture->now, "port", port),
			name_of(pair.now, "name", name), rate(&pair, "green_pkts", 1, c[0]),
			rate(&pair, "yellow_pkts", 1, c[1]), rate(&pair, "red_pkts", 1, c[2]),
			rate(&pair, "red_bytes", 8, c[3]), rate(&pair, "overflow_pkts", 1, c[4]),
			total(pair.now, "red_pkts", c[5]));
	}
}

static void print_colours(FILE *out, const struct pair *pair, const char *where, const char *unit)
{
	char name[CELL], c[5][CELL], green[CELL], yellow[CELL], red[CELL];

	if (!json_is_true(json_object_get(pair->now, "policed")))
		return;
	snprintf(green, sizeof(green), "green_%s", unit);
	snprintf(yellow, sizeof(yellow), "yellow_%s", unit);
	snprintf(red, sizeof(red), "red_%s", unit);
	fprintf(out, "%-14s %-20s %9s %9s %9s %9s\n", where, name_of(pair->now, "name", name),
		rate(pair, green, 1, c[0]), rate(pair, yellow, 1, c[1]), rate(pair, red, 1, c[2]),
		total(pair->now, red, c[3]));
}

// Print the policers of the classes of a shape.
static void print_policers(FILE *out, const struct pair *shape)
{
	const json_t *before = json_object_get(shape->before, "classes");
	struct pair pair = {.seconds = shape->seconds};
	char name[CELL];
	size_t index;

	json_array_foreach (json_object_get(shape->now, "classes"), index, pair.now) {
		pair.before = class_before(before, index, pair.now);
		print_colours(out, &pair, name_of(shape->now, "name", name), "pkts");
	}
}

static void print_echo_policer(FILE *out, const struct pair *echo)
{
	print_colours(out, echo, "echo", "msgs");
}

static const char *time_of(const json_t *row, const char *key, char cell[CELL])
{
	const json_t *ns = json_object_get(row, key);

	return json_is_integer(ns) ? tl_format_ns((uint64_t)json_integer_value(ns), cell, CELL) : "-";
}

// Print the classes of a shape, the shape itself first.
static void print_shape(FILE *out, const struct pair *shape)
{
	static const char drops[] = TL_CLASS_DROPS(NAME);
	const json_t *classes = json_object_get(shape->now, "classes");
	const json_t *before = json_object_get(shape->before, "classes");
	struct pair pair = {.seconds = shape->seconds};
	char name[CELL], c[6][CELL], mean[CELL], p99[CELL], max[CELL];
	size_t index;

	json_array_foreach (classes, index, pair.now) {
		pair.before = class_before(before, index, pair.now);
		fprintf(out, "%s%-*s %9s %9s %9s %9s %9s %9s %11s %11s %11s\n", index == 0 ? "" : "  ",
			index == 0 ? 14 : 12, name_of(pair.now, "name", name), total(pair.now, "rate_bps", c[0]),
			total(pair.now, "ceil_bps", c[1]), rate(&pair, "sent_bytes", 8, c[2]),
			rate(&pair, "borrowed_bytes", 8, c[3]), total(pair.now, "queued_pkts", c[4]),
			rate(&pair, drops, 1, c[5]), time_of(pair.now, "delay_mean_ns", mean),
			time_of(pair.now, "delay_p99_ns", p99), time_of(pair.now, "delay_max_ns", max));
	}
}

static const char *residence(const json_t *echo, const char *mark, char cell[CELL])
{
	return time_of(json_object_get(echo, "residence_ns"), mark, cell);
}

static void print_echo(FILE *out, const struct pair *pair)
{
	static const char drops[] = TL_ECHO_DROPS(NAME) "lost_unacked_msgs";
	char name[CELL], c[4][CELL], p50[CELL], p99[CELL], state[CELL];

	fprintf(out, "%-14s %9s %9s %9s %9s %11s %11s  %s\n", name_of(pair->now, "name", name),
		rate(pair, "received_msgs", 1, c[0]), rate(pair, "echoed_msgs", 1, c[1]), rate(pair, drops, 1, c[2]),
		total(pair->now, "connections", c[3]), residence(pair->now, "p50", p50),
		residence(pair->now, "p99", p99), name_of(pair->now, "state", state));
}

static const char *lateness(const json_t *replay, const char *mark, char cell[CELL])
{
	return time_of(json_object_get(replay, "lateness_ns"), mark, cell);
}

static void print_replay(FILE *out, const struct pair *pair)
{
	char name[CELL], c[4][CELL], p50[CELL], p99[CELL], position[CELL], state[CELL];

	fprintf(out, "%-14s %9s %9s %9s %9s %11s %11s %11s  %s\n", name_of(pair->now, "name", name),
		rate(pair, "sent_pkts", 1, c[0]), rate(pair, "sent_bytes", 8, c[1]),
		total(pair->now, "late_pkts", c[2]), total(pair->now, "reader_late_pkts", c[3]),
		lateness(pair->now, "p50", p50), lateness(pair->now, "p99", p99),
		time_of(pair->now, "position_ns", position), name_of(pair->now, "state", state));
}

// Return the time between the responses; 0 if they are not of one run.
static double seconds_between(const json_t *before, const json_t *now)
{
	json_int_t from = json_integer_value(json_object_get(before, "uptime_ns"));
	json_int_t to = json_integer_value(json_object_get(now, "uptime_ns"));

	return before != NULL && to > from ? (double)(to - from) / (double)TL_NS_PER_S : 0;
}

// True if a row has a list of this key that is not empty, or true; rows themselves if key is NULL.
static bool has_key(const json_t *rows, const char *key)
{
	const json_t *row;
	size_t index;

	json_array_foreach (rows, index, row)
		if (key == NULL || json_array_size(json_object_get(row, key)) != 0 ||
			json_is_true(json_object_get(row, key)))
			return true;
	return false;
}

void tl_top_print(FILE *out, const json_t *before, const json_t *now)
{
	static const struct {
		const char *key, *title;
		void (*print)(FILE *out, const struct pair *pair);
		const char *shown_by; // key of a row; NULL: shown if there are rows
	} sections[] = {
		{"ports", "port                rx/s    rxbit/s      tx/s    txbit/s handoff/s     drop/s     drops",
			print_port},
		{"ports", "queue               rx/s      busy  bursts32      ring  ring max    drop/s", print_queues},
		{"captures",
			"recording      written/s    bytes/s      ring  dropring/s dropdisk/s    drops     files   disk free",
			print_capture},
		{"captures",
			"recording      class                  whole/s     cut/s     red/s redbits/s overflow/s      red",
			print_policed, "classes"},
		{"echoes", "echo           msgs in/s     out/s    drop/s     conns         p50         p99",
			print_echo},
		{"shapes",
			"shape, class        rate      ceil   bit/s  borrowed    queued    drop/s  delay mean   delay p99   delay max",
			print_shape},
		{"shapes", "shape          policer                green/s  yellow/s     red/s       red",
			print_policers, "policed"},
		{"echoes", "               policer                green/s  yellow/s     red/s       red",
			print_echo_policer, "policed"},
		{"replays",
			"replay            sent/s     bit/s      late  readlate    late p50    late p99    position",
			print_replay},
	};
	struct pair pair = {.seconds = seconds_between(before, now)};
	uint64_t uptime_ns = (uint64_t)json_integer_value(json_object_get(now, "uptime_ns"));

	const json_t *lossless = json_object_get(now, "lossless");
	fprintf(out, "tapline  up %llu s  ledger %s  %s\n", (unsigned long long)(uptime_ns / TL_NS_PER_S),
		json_is_true(json_object_get(now, "ledger_ok")) ? "ok" : "BROKEN",
		json_is_null(lossless)	 ? "no loss counted"
		: json_is_true(lossless) ? "nothing lost"
					 : "FRAMES WERE LOST");
	for (size_t i = 0; i < TL_ARRAY_LEN(sections); i++) {
		const json_t *rows = json_object_get(now, sections[i].key);
		size_t index;
		if (has_key(rows, sections[i].shown_by))
			fprintf(out, "\n%s\n", sections[i].title);
		json_array_foreach (rows, index, pair.now) {
			pair.before = at(json_object_get(before, sections[i].key), index);
			sections[i].print(out, &pair);
		}
	}
}

void tl_top_show(FILE *out, const char *text, unsigned columns, unsigned rows)
{
	fputs(HOME, out);
	for (unsigned row = 0; *text != '\0' && row < rows; row++) {
		size_t len = strcspn(text, "\n");
		// No newline after the last row: it would scroll.
		fprintf(out, "%s%.*s" CLEAR_LINE, row == 0 ? "" : "\r\n", (int)tl_min_u64(len, columns), text);
		text += len + (text[len] == '\n');
	}
	fputs(CLEAR_REST, out);
}
