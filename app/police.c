// SPDX-License-Identifier: BSD-3-Clause
// Classes of recordings: from the configuration to meters, and to the lines of `tapline run --explain`.

#include "police.h"

#include <inttypes.h>
#include <stdio.h>

#include <tl_err.h>
#include <tl_text.h>

#include "policer.h"
#include "reach.h"

_Static_assert(TL_CONFIG_POLICE_MAX == TL_POLICE_CLASSES_MAX, "a recording takes the classes of its configuration");

static struct tl_police_class police_class(const struct tl_config_police *cls)
{
	return (struct tl_police_class){.name = cls->name,
		.match = cls->match,
		.meter = tl_policer_meter(&cls->meter, 0),
		.aware = cls->meter.aware,
		.snaplen = cls->snaplen,
		.per = cls->per,
		.meters = cls->meters};
}

uint32_t tl_police_list(const struct tl_config_capture *capture, struct tl_police_class out[TL_POLICE_CLASSES_MAX])
{
	for (uint32_t i = 0; i < capture->n_classes; i++)
		out[i] = police_class(&capture->classes[i]);
	return capture->n_classes;
}

// Check a class behind those in reach.
static int police_check(const struct tl_config_police *config, struct tl_reach *reach, struct tl_err *err)
{
	struct tl_police_class cls = police_class(config);
	int rc = tl_police_check(&cls, err);

	return rc == 0 ? tl_reach_add(reach, cls.name, cls.match != NULL ? cls.match : "", err) : rc;
}

int tl_police_check_all(const struct tl_config *config, struct tl_err *err)
{
	for (uint32_t i = 0; i < config->n_captures; i++) {
		const struct tl_config_capture *capture = &config->captures[i];
		struct tl_reach reach = {.n = 0};
		for (uint32_t c = 0; c < capture->n_classes; c++) {
			int rc = police_check(&capture->classes[c], &reach, err);
			if (rc != 0)
				return tl_fail_at(err, rc, "%s:%u: $.capture[%u].classes[%u]", config->file,
					capture->classes[c].line, i, c);
		}
	}
	return 0;
}

uint64_t tl_police_bytes(const struct tl_config_capture *capture)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < capture->n_classes; i++)
		if (capture->classes[i].per != TL_POLICE_PER_CLASS)
			bytes += (uint64_t)capture->classes[i].meters * TL_POLICE_METER_BYTES;
	return bytes;
}

// ---- tapline run --explain

static const char *const pers[] = {TL_POLICE_PERS(TL_CHOICE_WORD)};

static void police_print_class(uint32_t capture, const struct tl_config_police *cls, uint32_t queues)
{
	const struct tl_config_meter *m = &cls->meter;
	char green[TL_POLICER_RATE_TEXT], yellow[TL_POLICER_RATE_TEXT];

	printf("  capture[%" PRIu32 "] class %s: %s; whole up to %s", capture, cls->name,
		cls->is_default ? "unmatched frames" : TL_PRINTABLE(cls->match),
		tl_policer_rate_text(m, m->cir, m->cbs, "frames", green));
	if (m->pir != 0)
		printf(", cut to %" PRIu32 " bytes up to %s", cls->snaplen,
			tl_policer_rate_text(m, m->pir, m->pbs, "frames", yellow));
	else if (m->eir != 0)
		printf(", cut to %" PRIu32 " bytes up to another %s", cls->snaplen,
			tl_policer_rate_text(m, m->eir, m->ebs, "frames", yellow));
	else if (m->ebs != 0)
		printf(", cut to %" PRIu32 " bytes within another %" PRIu64, cls->snaplen, m->ebs);
	printf("; the rest is counted%s", m->aware ? "; frames arrive with the colour of their DSCP" : "");
	if (cls->per != TL_POLICE_PER_CLASS)
		printf("; per %s, %" PRIu32 " meters", pers[cls->per], cls->meters);
	if (queues > 1)
		printf("; on each of %" PRIu32 " queues", queues);
	putchar('\n');
}

static uint32_t police_queues(const struct tl_config_port *port)
{
	uint32_t n = 0;

	for (uint32_t q = 0; q < port->rx_queues; q++)
		n += tl_config_records(port, q);
	return n;
}

void tl_police_print(const struct tl_config *config, uint32_t port)
{
	for (uint32_t i = 0; i < config->n_captures; i++)
		for (uint32_t c = 0; config->captures[i].port == port && c < config->captures[i].n_classes; c++)
			police_print_class(i, &config->captures[i].classes[c], police_queues(&config->ports[port]));
}

static json_t *police_limit(uint64_t value)
{
	return value != 0 ? json_integer((json_int_t)value) : json_null();
}

static json_t *police_class_json(uint32_t capture, const struct tl_config_police *cls)
{
	static const char *const units[] = {TL_CONFIG_POLICE_UNITS(TL_CHOICE_WORD)};
	const struct tl_config_meter *m = &cls->meter;
	bool yellow = m->ebs != 0 || m->pir != 0;

	return json_pack("{s:i, s:s, s:s?, s:b, s:s, s:b, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:s, s:o}", "capture",
		(int)capture, "name", cls->name, "match", cls->match, "default", cls->is_default, "unit",
		units[m->unit], "aware", m->aware, "cir", (json_int_t)m->cir, "cbs", (json_int_t)m->cbs, "ebs",
		police_limit(m->ebs), "eir", police_limit(m->eir), "pir", police_limit(m->pir), "pbs",
		police_limit(m->pbs), "snaplen", police_limit(yellow ? cls->snaplen : 0), "per", pers[cls->per],
		"meters", police_limit(cls->per != TL_POLICE_PER_CLASS ? cls->meters : 0));
}

json_t *tl_police_json(const struct tl_config *config, uint32_t port)
{
	json_t *classes = json_array();

	for (uint32_t i = 0; i < config->n_captures; i++)
		for (uint32_t c = 0; config->captures[i].port == port && c < config->captures[i].n_classes; c++)
			json_array_append_new(classes, police_class_json(i, &config->captures[i].classes[c]));
	return classes;
}
