// SPDX-License-Identifier: BSD-3-Clause
// Class trees in front of send queues: text, JSON, and their identities.

#include "report_priv.h"

#include <inttypes.h>
#include <string.h>

#include <tl_json.h>
#include <tl_units.h>

// Differences of the identities: frames out of the tree or bypassing it = accepted + refused by the port, and drops of
// the classes = drops of the queue.
struct shape_open {
	int64_t sent, dropped; // counted by the tree, not yet by the queue
};

static struct shape_open shape_open(const struct tl_report_shape *shape)
{
	const struct tl_report_class *root = &shape->classes[0];

	return (struct shape_open){
		.sent = (int64_t)(root->sent_pkts + shape->bypass_pkts - shape->tx_pkts - shape->drop_tx_pkts),
		.dropped = (int64_t)(tl_report_drops(&tl_report_class_table, root) - shape->drop_shaped_pkts)};
}

// True if the policer of a class has coloured each of its frames.
static bool colours_ok(const struct tl_report_class *cls)
{
	return !cls->is_policed || cls->green_pkts + cls->yellow_pkts + cls->red_pkts == cls->in_pkts;
}

bool tl_report_shape_ok(const struct tl_report_shape *shape, bool final)
{
	struct shape_open open = shape_open(shape);
	bool ok = final ? open.sent == 0 && open.dropped == 0 && shape->classes[0].queued_pkts == 0
			: open.sent >= 0 && open.dropped >= 0;

	for (uint32_t i = 0; i < shape->n_classes; i++)
		ok = ok && tl_report_unaccounted(&tl_report_class_table, &shape->classes[i]) == 0 &&
		     (!final || colours_ok(&shape->classes[i]));
	return ok;
}

static bool is_policed(const struct tl_report_shape *shape)
{
	bool some = false;

	for (uint32_t i = 0; i < shape->n_classes; i++)
		some |= shape->classes[i].is_policed;
	return some;
}

static json_t *class_json(const struct tl_report_class *cls)
{
	const struct tl_report_table *table = &tl_report_class_table;
	json_t *object = json_pack("{s:s, s:s?, s:o, s:o, s:o, s:b}", "name", cls->name, "parent", cls->parent,
		"rate_bps", tl_json_number(cls->rate_bps), "ceil_bps", tl_json_number(cls->ceil_bps), "prio",
		tl_json_number(cls->prio), "policed", cls->is_policed);

	for (size_t i = 0; i < table->n; i++)
		json_object_set_new(
			object, table->counters[i].name, tl_json_number(tl_report_value(&table->counters[i], cls)));
	bool sent = cls->sent_pkts != 0;
	json_object_set_new(object, "delay_mean_ns", tl_json_number_if(sent, cls->delay_mean_ns));
	json_object_set_new(object, "delay_p99_ns", tl_json_number_if(sent, cls->delay_p99_ns));
	json_object_set_new(object, "delay_max_ns", tl_json_number_if(sent, cls->delay_max_ns));
	return object;
}

json_t *tl_report_shape_json(const struct tl_report_shape *shape, bool final)
{
	json_t *classes = json_array();

	for (uint32_t i = 0; i < shape->n_classes; i++)
		json_array_append_new(classes, class_json(&shape->classes[i]));
	return json_pack("{s:s, s:s, s:o, s:o, s:b, s:o, s:b}", "name", shape->name, "port", shape->port, "queue",
		tl_json_number(shape->queue), "bypass_pkts", tl_json_number(shape->bypass_pkts), "policed",
		is_policed(shape), "classes", classes, "ledger_ok", tl_report_shape_ok(shape, final));
}

static void print_class(FILE *out, const struct tl_report_class *cls)
{
	char rate[24], ceil[24], mean[24], p99[24], max[24], n[4][TL_REPORT_GROUPED];
	uint64_t drops = tl_report_drops(&tl_report_class_table, cls);
	int indent = (int)(2 * cls->depth);

	fprintf(out, "  %*s%-*s %7s %7s %13s %11s %11s %13s %11s %11s %11s\n", indent, "", 20 - indent, cls->name,
		tl_format_scaled((double)cls->rate_bps, rate, sizeof(rate)),
		tl_format_scaled((double)cls->ceil_bps, ceil, sizeof(ceil)), tl_report_grouped(cls->sent_pkts, n[0]),
		tl_report_grouped(cls->queued_pkts, n[1]), tl_report_grouped(drops, n[2]),
		tl_report_grouped(cls->borrowed_bytes, n[3]), tl_format_ns(cls->delay_mean_ns, mean, sizeof(mean)),
		tl_format_ns(cls->delay_p99_ns, p99, sizeof(p99)), tl_format_ns(cls->delay_max_ns, max, sizeof(max)));
}

static void print_colours(FILE *out, const struct tl_report_class *cls)
{
	char n[3][TL_REPORT_GROUPED];

	if (cls->is_policed)
		fprintf(out, "  policer of %s: %s green, %s yellow, %s red\n", cls->name,
			tl_report_grouped(cls->green_pkts, n[0]), tl_report_grouped(cls->yellow_pkts, n[1]),
			tl_report_grouped(cls->red_pkts, n[2]));
}

// Print "  LOST in ssh: drop_limit_pkts 12" for each class with frames of its own.
static void print_class_drops(FILE *out, const struct tl_report_shape *shape, uint32_t index)
{
	const struct tl_report_table *table = &tl_report_class_table;
	const struct tl_report_class *cls = &shape->classes[index];
	char n[TL_REPORT_GROUPED];

	if (tl_report_drops(table, cls) == 0 ||
		(index + 1 < shape->n_classes && shape->classes[index + 1].depth > cls->depth))
		return;
	fprintf(out, "  LOST in %s:", cls->name);
	for (size_t i = 0; i < table->n; i++) {
		uint64_t value = tl_report_value(&table->counters[i], cls);
		if (value != 0 && strncmp(table->counters[i].name, "drop_", 5) == 0)
			fprintf(out, "  %s %s", table->counters[i].name, tl_report_grouped(value, n));
	}
	fputc('\n', out);
}

void tl_report_shape_text(FILE *out, const struct tl_report_shape *shape, bool final)
{
	char n[TL_REPORT_GROUPED];

	fprintf(out, "shape %s on port %s, queue %" PRIu32 "\n", shape->name, shape->port, shape->queue);
	fprintf(out, "  %-20s %7s %7s %13s %11s %11s %13s %11s %11s %11s\n", "class", "rate", "ceil", "sent_pkts",
		"queued", "dropped", "borrowed B", "delay mean", "p99", "max");
	for (uint32_t i = 0; i < shape->n_classes; i++)
		print_class(out, &shape->classes[i]);
	fprintf(out, "  %s frames bypassed the classes\n", tl_report_grouped(shape->bypass_pkts, n));
	for (uint32_t i = 0; i < shape->n_classes; i++)
		print_colours(out, &shape->classes[i]);
	for (uint32_t i = 0; i < shape->n_classes; i++)
		print_class_drops(out, shape, i);
	if (!tl_report_shape_ok(shape, final))
		fprintf(out,
			"  BROKEN: frames are unaccounted for, or accounted for twice, between classes and port\n");
	else if (final)
		fprintf(out, "  ok: every frame of its classes is accounted for\n");
	fputc('\n', out);
}
