// SPDX-License-Identifier: BSD-3-Clause
// Policers of echoes and classes of shapes.

#include "policer.h"

#include <inttypes.h>
#include <stdio.h>

#include <tl_units.h>

static const char *const colours[TL_METER_COLOURS] = {"green", "yellow", "red"};

struct tl_meter_cfg tl_policer_meter(const struct tl_config_meter *meter, uint32_t overhead_bytes)
{
	return (struct tl_meter_cfg){.kind = meter->pir != 0   ? TL_METER_TRTCM
					     : meter->eir != 0 ? TL_METER_RFC4115
							       : TL_METER_SRTCM,
		.unit = meter->unit == TL_CONFIG_POLICE_PKTS ? TL_METER_PKTS : TL_METER_BYTES,
		.cir = meter->cir,
		.cbs = meter->cbs,
		.ebs = meter->ebs,
		.eir = meter->eir,
		.pir = meter->pir,
		.pbs = meter->pbs,
		.overhead_bytes = overhead_bytes};
}

bool tl_policer_describe(const struct tl_config_policer *policer, uint32_t overhead_bytes, struct tl_policer_cfg *out)
{
	out->meter = tl_policer_meter(&policer->meter, overhead_bytes);
	out->aware = policer->meter.aware;
	for (int i = 0; i < TL_METER_COLOURS; i++) {
		const struct tl_config_action *action = &policer->actions[i];
		out->actions[i] = (struct tl_policer_action){.drop = action->drop,
			.dscp = action->has_dscp ? (int8_t)action->dscp : TL_EDIT_KEEP,
			.pcp = action->has_pcp ? (int8_t)action->pcp : TL_EDIT_KEEP};
	}
	return policer->meter.cir != 0;
}

// ---- tapline run --explain

const char *tl_policer_rate_text(const struct tl_config_meter *meter, uint64_t rate, uint64_t burst, const char *things,
	char text[TL_POLICER_RATE_TEXT])
{
	bool pkts = meter->unit == TL_CONFIG_POLICE_PKTS;
	char scaled[24];

	snprintf(text, TL_POLICER_RATE_TEXT, "%s%s%s/s with bursts of %" PRIu64 " %s",
		tl_format_scaled((double)rate, scaled, sizeof(scaled)), pkts ? " " : "", pkts ? things : "bit", burst,
		pkts ? things : "bytes");
	return text;
}

static void print_action(const struct tl_config_action *action)
{
	if (action->drop)
		printf(" (drop)");
	if (action->has_dscp)
		printf(" (dscp %" PRIu32 ")", action->dscp);
	if (action->has_pcp)
		printf(" (pcp %" PRIu32 ")", action->pcp);
}

void tl_policer_print(const struct tl_config_policer *policer, const char *things)
{
	const struct tl_config_meter *m = &policer->meter;
	char text[TL_POLICER_RATE_TEXT];

	printf("green up to %s", tl_policer_rate_text(m, m->cir, m->cbs, things, text));
	print_action(&policer->actions[TL_METER_GREEN]);
	if (m->pir != 0)
		printf(", yellow up to %s", tl_policer_rate_text(m, m->pir, m->pbs, things, text));
	else if (m->eir != 0)
		printf(", yellow up to another %s", tl_policer_rate_text(m, m->eir, m->ebs, things, text));
	else if (m->ebs != 0)
		printf(", yellow within another %" PRIu64, m->ebs);
	print_action(&policer->actions[TL_METER_YELLOW]);
	printf(", else red");
	print_action(&policer->actions[TL_METER_RED]);
	if (m->aware)
		printf("; frames arrive with the colour of their DSCP");
}

static json_t *action_json(const struct tl_config_action *action)
{
	json_t *marks = json_object();

	if (!action->has_dscp && !action->has_pcp) {
		json_decref(marks);
		return json_string(action->drop ? "drop" : "pass");
	}
	if (action->has_dscp)
		json_object_set_new(marks, "dscp", json_integer(action->dscp));
	if (action->has_pcp)
		json_object_set_new(marks, "pcp", json_integer(action->pcp));
	return marks;
}

static json_t *limit_json(uint64_t value)
{
	return value != 0 ? json_integer((json_int_t)value) : json_null();
}

json_t *tl_policer_json(const struct tl_config_policer *policer)
{
	static const char *const units[] = {TL_CONFIG_POLICE_UNITS(TL_CHOICE_WORD)};
	const struct tl_config_meter *m = &policer->meter;

	if (m->cir == 0)
		return json_null();
	json_t *object = json_pack("{s:s, s:b, s:I, s:I, s:o, s:o, s:o, s:o}", "unit", units[m->unit], "aware",
		m->aware, "cir", (json_int_t)m->cir, "cbs", (json_int_t)m->cbs, "ebs", limit_json(m->ebs), "eir",
		limit_json(m->eir), "pir", limit_json(m->pir), "pbs", limit_json(m->pbs));
	for (int i = 0; i < TL_METER_COLOURS; i++)
		json_object_set_new(object, colours[i], action_json(&policer->actions[i]));
	return object;
}

void tl_policer_print_echoes(const struct tl_config *config, uint32_t port)
{
	for (uint32_t i = 0; i < config->n_echoes; i++) {
		const struct tl_config_echo *echo = &config->echoes[i];
		if (echo->port != port || echo->police.meter.cir == 0)
			continue;
		printf("  echo %s: messages are policed: ", echo->name);
		tl_policer_print(&echo->police, "messages");
		putchar('\n');
	}
}

json_t *tl_policer_echoes_json(const struct tl_config *config, uint32_t port)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < config->n_echoes; i++) {
		const struct tl_config_echo *echo = &config->echoes[i];
		if (echo->port == port && echo->police.meter.cir != 0)
			json_array_append_new(list,
				json_pack("{s:s, s:o}", "echo", echo->name, "police", tl_policer_json(&echo->police)));
	}
	return list;
}
