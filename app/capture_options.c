// SPDX-License-Identifier: BSD-3-Clause
// The options of `tapline capture`: a command line in, the configuration of `tapline run` out.

#include "capture_options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include <tl_err.h>
#include <tl_log.h>
#include <tl_units.h>

#include "app.h"

#define LONG_ONLY 256 // what getopt_long() returns for the first row; the second is one more
#define OPTIONS_MAX 64
#define HELP_COLUMN 26

static const char intro[] =
	"usage: tapline capture -i PORT -w FILE [options] [FILTER]\n"
	"\n"
	"Records the frames of PORT that pass FILTER (tcpdump's syntax) to FILE, pcapng with nanoseconds, until SIGINT or\n"
	"SIGTERM, and prints the loss ledger. SIGHUP begins a new file, SIGUSR1 is a trigger.\n"
	"\n"
	"PORT: a kernel interface (eth0), xdp:INTERFACE, pcap:FILE, a PCI address (0000:3b:00.0) or vdev:DEVARGS.\n";

// Options that are no key of the configuration.
static const char *set_count(struct tl_capture_options *o, const char *value);
static const char *set_duration(struct tl_capture_options *o, const char *value);
static const char *set_fail_on_loss(struct tl_capture_options *o, const char *value);
static const char *set_json(struct tl_capture_options *o, const char *value);

enum value_kind { AS_TEXT, AS_NUMBER };

// An option, or where it has no name a text between options.
struct row {
	const char *name;
	char letter;
	const char *value;   // what the help calls it; NULL: there is none
	const char *section; // of the configuration, of a list the only entry: "capture.trigger"
	const char *key;
	enum value_kind kind;
	const char *is;							     // JSON, without a value
	const char *(*set)(struct tl_capture_options *o, const char *value); // returns NULL or what is wrong
	const char *help;
};

#define PORT_KEY .section = "ports", .key
#define CAPTURE_KEY .section = "capture", .key
#define TRIGGER_KEY .section = "capture.trigger", .key

static const struct row rows[] = {
	{"port", 'i', "PORT", PORT_KEY = "device", .help = "what to record"},
	{"write", 'w', "FILE", CAPTURE_KEY = "path",
		.help = "where to; - is stdout, and results go to stderr then; null: discards, to measure"},
	{"buffer", 0, "SIZE", CAPTURE_KEY = "buffer_bytes",
		.help = "memory between the port and the disk, per receive queue (default 64M)"},
	{"control", 0, "PATH", .section = "control", .key = "socket",
		.help = "listen there for `tapline status` and `tapline control`"},
	{"count", 0, "N", .set = set_count, .help = "end after N recorded frames"},
	{"cutoff-bytes", 0, "SIZE", CAPTURE_KEY = "cutoff_bytes",
		.help = "record the first SIZE of each flow (1K..1G), count the rest"},
	{"cutoff-flows", 0, "N", CAPTURE_KEY = "cutoff_flows",
		.help = "flows that --cutoff-bytes tells apart at a time, per receive queue (default 1M)"},
	{"direction", 0, "DIR", CAPTURE_KEY = "direction", .help = "rx, tx or both (default both)"},
	{"duration", 0, "S", .set = set_duration, .help = "end after S seconds"},
	{"fail-on-loss", .set = set_fail_on_loss, .help = "exit 1 if a frame was lost, even though it was counted"},
	{"fsync", 0, "WHEN", CAPTURE_KEY = "fsync",
		.help = "force a file to the disk: never (default), or at its close"},
	{"index", CAPTURE_KEY = "index", .is = "true",
		.help = "an index FILE.tlx for `tapline extract` (default with --rotate* and triggers)"},
	{"no-index", CAPTURE_KEY = "index", .is = "false", .help = "none"},
	{"io", 0, "HOW", CAPTURE_KEY = "io", .help = "write with io_uring (default) or pwrite"},
	{"json", .set = set_json, .help = "the results as one JSON object"},
	{"no-promisc", PORT_KEY = "promisc", .is = "false", .help = "leave promiscuous mode as it is"},
	{"order", 0, "HOW", CAPTURE_KEY = "order",
		.help = "arrival (default): of each receive queue; time: all of them in one"},
	{"order-window", 0, "MS", CAPTURE_KEY = "order_window_ms", .kind = AS_NUMBER,
		.help = "how long time waits for what is late (default 100)"},
	{"format", 0, "FORMAT", CAPTURE_KEY = "format", .help = "pcapng (default) or pcap-ns"},
	{"compress", 0, "HOW", CAPTURE_KEY = "compress", .help = "none (default) or zstd"},
	{"compress-level", 0, "N", CAPTURE_KEY = "compress_level", .kind = AS_NUMBER,
		.help = "1 (fast, default) to 19"},
	{"compress-threads", 0, "N", CAPTURE_KEY = "compress_threads", .kind = AS_NUMBER,
		.help = "that compress (default 1)"},
	{"queues", 0, "N", PORT_KEY = "rx_queues", .kind = AS_NUMBER,
		.help = "receive queues, one CPU each (default 1)"},
	{"snaplen", 0, "N", CAPTURE_KEY = "snaplen", .kind = AS_NUMBER,
		.help = "record at most N bytes of each frame (14..262144)"},
	{"timestamps", 0, "SOURCE", PORT_KEY = "timestamps",
		.help = "auto (default), tsc, nic-rx, kernel or file: where the times of frames come from"},
	{"take", PORT_KEY = "take", .is = "true",
		.help = "allow xdp: on the interface of the default route or of the login"},
	{"help", 'h', .help = "this text"},
	{.help = "Several files: FILE may hold %Y %m %d %H %M %S %j %y %s %F %T, in UTC; a name that is taken gets a number.\n"
		 "With one of the first three options nothing is overwritten, and a file is called FILE.part until it is\n"
		 "complete."},
	{"rotate", 0, "SIZE", CAPTURE_KEY = "rotate_bytes",
		.help = "begin a new file when this one would be larger (at least 4M)"},
	{"rotate-seconds", 0, "S", CAPTURE_KEY = "rotate_seconds", .kind = AS_NUMBER,
		.help = "at multiples of S since 1970, so 3600 is every full hour"},
	{"rotate-packets", 0, "N", CAPTURE_KEY = "rotate_packets", .kind = AS_NUMBER,
		.help = "when this one would hold more frames"},
	{"keep-files", 0, "N", CAPTURE_KEY = "keep_files", .kind = AS_NUMBER,
		.help = "drop the oldest file when there are more than N (at least 2)"},
	{"keep-bytes", 0, "SIZE", CAPTURE_KEY = "keep_bytes",
		.help = "drop the oldest file when all take more (at least 8M and twice --rotate)"},
	{"min-free", 0, "SIZE", CAPTURE_KEY = "min_free_bytes",
		.help = "drop the oldest file when less is free on the disk"},
	{"on-full", 0, "WHAT", CAPTURE_KEY = "on_full",
		.help = "pause: count what is lost until there is room (default); recycle: drop the oldest file"},
	{.help = "Only what is around a trigger: SIGUSR1, `tapline control trigger`, or one of the last two options."},
	{"mode", 0, "MODE", CAPTURE_KEY = "mode", .help = "continuous (default), or trigger: each is a new file"},
	{"store", 0, "WHERE", TRIGGER_KEY = "store",
		.help = "what is held is in memory (default), or in files: a ring, from which it saves files"},
	{"pre-seconds", 0, "S", TRIGGER_KEY = "pre_seconds", .kind = AS_NUMBER,
		.help = "from so long before it (default 10; at most what the buffer holds)"},
	{"pre-bytes", 0, "SIZE", TRIGGER_KEY = "pre_bytes", .help = "but at most so much"},
	{"post-seconds", 0, "S", TRIGGER_KEY = "post_seconds", .kind = AS_NUMBER,
		.help = "to so long after it (default 10)"},
	{"trigger", 0, "FILTER", TRIGGER_KEY = "filter", .help = "a frame that this matches is one"},
	{"trigger-on-drop", TRIGGER_KEY = "on_drop", .is = "true", .help = "a frame that was lost is one"},
};

_Static_assert(TL_ARRAY_LEN(rows) < OPTIONS_MAX, "the tables made from it have room");

static const char *set_count(struct tl_capture_options *o, const char *value)
{
	return tl_parse_u64(value, 1, INT64_MAX, &o->count) == 0 ? NULL : "is not a whole number from 1";
}

static const char *set_duration(struct tl_capture_options *o, const char *value)
{
	return tl_parse_seconds(value, &o->run.duration_ns) == 0 && o->run.duration_ns != 0
		       ? NULL
		       : "is not a number of seconds greater than 0";
}

static const char *set_fail_on_loss(struct tl_capture_options *o, const char *value)
{
	o->finish.fail_on_loss = true;
	return NULL;
}

static const char *set_json(struct tl_capture_options *o, const char *value)
{
	o->finish.json = true;
	return NULL;
}

static void print_help(void)
{
	fputs(intro, stdout);
	putchar('\n');
	for (size_t i = 0; i < TL_ARRAY_LEN(rows); i++) {
		const struct row *row = &rows[i];
		char left[64];
		if (row->name == NULL) {
			printf("\n%s\n\n", row->help);
			continue;
		}
		int used = row->letter != 0 ? snprintf(left, sizeof(left), "  -%c, ", row->letter)
					    : snprintf(left, sizeof(left), "      ");
		snprintf(left + used, sizeof(left) - (size_t)used, "--%s%s%s", row->name, row->value != NULL ? " " : "",
			row->value != NULL ? row->value : "");
		printf("%-*s  %s\n", HELP_COLUMN, left, row->help);
	}
}

static int usage(const char *what)
{
	tl_error("%s (see `tapline capture --help`)", what);
	return TL_EXIT_USAGE;
}

// ---- from options to JSON

static json_t *value_of(const struct row *row, const char *text)
{
	json_t *number = NULL;

	if (row->is != NULL)
		return json_loads(row->is, JSON_DECODE_ANY, NULL);
	if (row->kind == AS_NUMBER)
		number = json_loads(text, JSON_DECODE_ANY, NULL);
	if (json_is_integer(number))
		return number;
	json_decref(number);
	return json_string(text); // what is no number is refused as what the user wrote
}

// The object of "list.object", made where it is not there yet.
static json_t *section_of(json_t *root, const char *section)
{
	size_t chars = strcspn(section, ".");
	char name[32];

	snprintf(name, sizeof(name), "%.*s", (int)chars, section);
	json_t *found = json_object_get(root, name);
	if (found == NULL && json_object_set_new(root, name, json_object()) == 0)
		found = json_object_get(root, name);
	if (json_is_array(found))
		found = json_array_get(found, 0);
	return section[chars] == '\0' ? found : section_of(found, section + chars + 1);
}

// Returns NULL, or what is wrong.
static const char *set_row(const struct row *row, const char *text, json_t *root, struct tl_capture_options *o)
{
	if (row->set != NULL)
		return row->set(o, text);
	// A text that is no UTF-8 has no JSON.
	return json_object_set_new(section_of(root, row->section), row->key, value_of(row, text)) == 0 ? NULL
												       : "is not UTF-8";
}

// The rest of the command line, joined by spaces as tcpdump does.
static bool set_filter(json_t *root, int argc, char **argv)
{
	char filter[4096] = "";
	size_t used = 0;

	for (int i = optind; i < argc && used < sizeof(filter); i++)
		used += (size_t)snprintf(filter + used, sizeof(filter) - used, "%s%s", i > optind ? " " : "", argv[i]);
	return used == 0 || (used < sizeof(filter) && json_object_set_new(section_of(root, "capture"), "filter",
							      json_string(filter)) == 0);
}

static const struct row *row_of(int c)
{
	for (size_t i = 0; i < TL_ARRAY_LEN(rows); i++)
		if (c == (int)i + LONG_ONLY || (c != 0 && c == rows[i].letter))
			return &rows[i];
	return NULL;
}

static void make_getopt_tables(struct option *longs, char *letters)
{
	*letters++ = '+'; // the filter's words are no options
	for (size_t i = 0; i < TL_ARRAY_LEN(rows); i++) {
		const struct row *row = &rows[i];
		if (row->name == NULL)
			continue;
		*longs++ = (struct option){.name = row->name,
			.has_arg = row->value != NULL ? required_argument : no_argument,
			.val = (int)i + LONG_ONLY};
		if (row->letter != 0)
			*letters++ = row->letter;
		if (row->letter != 0 && row->value != NULL)
			*letters++ = ':';
	}
	*longs = (struct option){0};
	*letters = '\0';
}

// Returns -1 to go on, else an exit status.
static int read_options(int argc, char **argv, json_t *root, struct tl_capture_options *o)
{
	struct option longs[OPTIONS_MAX];
	char letters[2 * OPTIONS_MAX];
	char what[256];
	int c;

	make_getopt_tables(longs, letters);
	while ((c = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		const struct row *row = row_of(c);
		if (row == NULL) // getopt has said what is wrong
			return TL_EXIT_USAGE;
		if (row->letter == 'h') {
			print_help();
			return TL_EXIT_OK;
		}
		const char *wrong = set_row(row, optarg, root, o);
		if (wrong == NULL)
			continue;
		snprintf(what, sizeof(what), "--%s: %.100s %s", row->name, optarg, wrong);
		return usage(what);
	}
	if (json_object_get(section_of(root, "ports"), "device") == NULL)
		return usage("which port? give -i PORT");
	if (json_object_get(section_of(root, "capture"), "path") == NULL)
		return usage("where to? give -w FILE");
	return set_filter(root, argc, argv) ? -1 : usage("the filter is too long, or not UTF-8");
}

// ---- from JSON to the configuration

static int load(const json_t *root, struct tl_config **out)
{
	struct tl_config_option names[OPTIONS_MAX] = {{.key = "filter", .option = "FILTER"}};
	char texts[OPTIONS_MAX][32];
	size_t n = 1;
	struct tl_err err;

	for (size_t i = 0; i < TL_ARRAY_LEN(rows); i++) {
		if (rows[i].key == NULL)
			continue;
		snprintf(texts[n], sizeof(texts[n]), "--%s", rows[i].name);
		names[n] = (struct tl_config_option){.key = rows[i].key, .option = texts[n]};
		n++;
	}
	return tl_config_load_options(root, names, n, out, &err) == 0 ? -1 : usage(err.text);
}

int tl_capture_options_parse(int argc, char **argv, struct tl_capture_options *out)
{
	json_t *root =
		json_loads("{\"ports\": [{\"name\": \"port0\"}], \"capture\": [{\"port\": \"port0\"}]}", 0, NULL);

	*out = (struct tl_capture_options){.run = {.expire = true, .end_with_input = true, .progress = true}};
	int status = root == NULL ? usage("out of memory") : read_options(argc, argv, root, out);
	if (status < 0)
		status = load(root, &out->config);
	json_decref(root);
	if (status >= 0)
		return status;
	if (out->count != 0 && out->config->captures[0].mode == TL_CONFIG_MODE_TRIGGER) {
		tl_config_free(out->config);
		return usage("--count: which frames are recorded is up to the triggers; give --duration");
	}
	out->config->captures[0].count = out->count;
	out->finish.to_stderr = strcmp(out->config->captures[0].path, "-") == 0;
	return -1;
}
