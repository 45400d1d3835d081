// SPDX-License-Identifier: BSD-3-Clause
// "police" of an echo and of a class of a shape: a meter, and what is done with each colour.

#include "config_priv.h"

#include <string.h>

_Static_assert(
	offsetof(struct tl_config_policer, meter) == 0, "the keys of the meter are at the offsets of its struct");

static const char *const policer_colours[] = {"green", "yellow", "red"};

// ---- an action

static int policer_check_marks(
	struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	struct tl_config_action *action = section;

	action->has_dscp = json_object_get(value, "dscp") != NULL;
	action->has_pcp = json_object_get(value, "pcp") != NULL;
	if (action->has_dscp || action->has_pcp)
		return 0;
	return tl_config_refuse(r, "holds neither \"dscp\" nor \"pcp\": give one, or \"pass\" in place of the object");
}

static const struct tl_config_key mark_keys[] = {
	{KEY(tl_config_action, dscp, tl_config_number), .max = 63},
	{KEY(tl_config_action, pcp, tl_config_number), .max = 7},
};
static const struct tl_config_table mark_table = {
	KEYS(mark_keys), .bytes = sizeof(struct tl_config_action), .check = policer_check_marks};

static int policer_read_action(
	struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	struct tl_config_action *action = (void *)((char *)section + key->offset);
	const char *word = json_string_value(value);

	if (json_is_object(value))
		return tl_config_read_object(r, &mark_table, value, action);
	if (word == NULL || (strcmp(word, "pass") != 0 && strcmp(word, "drop") != 0))
		return tl_config_not(r, value, "\"pass\", \"drop\", or an object with \"dscp\" or \"pcp\"");
	action->drop = strcmp(word, "drop") == 0;
	return 0;
}

// ---- the policer

static int policer_check(
	struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	const struct tl_config_meter *meter = section;
	int rc = tl_config_check_meter(r, meter);

	if (rc == 0 && json_object_get(value, "yellow") != NULL && meter->ebs == 0 && meter->pir == 0)
		rc = tl_config_refuse_key(
			r, "yellow", "has no effect: nothing is yellow; add \"ebs\", or \"pir\" and \"pbs\"");
	return rc;
}

static const struct tl_config_key policer_keys[] = {
	TL_CONFIG_METER_KEYS,
	{"green", policer_read_action, FIELD(tl_config_policer, actions[0]), .fallback = "\"pass\""},
	{"yellow", policer_read_action, FIELD(tl_config_policer, actions[1]), .fallback = "\"pass\""},
	{"red", policer_read_action, FIELD(tl_config_policer, actions[2]), .fallback = "\"drop\""},
};
const struct tl_config_table tl_config_policer_table = {
	KEYS(policer_keys), .bytes = sizeof(struct tl_config_policer), .check = policer_check};

int tl_config_policer(struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	return tl_config_read_object(r, &tl_config_policer_table, value, (char *)section + key->offset);
}

int tl_config_check_unmarked(struct tl_config_reader *r, const struct tl_config_policer *policer)
{
	for (size_t i = 0; i < TL_ARRAY_LEN(policer_colours); i++)
		if (policer->actions[i].has_dscp || policer->actions[i].has_pcp)
			return tl_config_refuse_key(r, policer_colours[i],
				"an echo polices messages, which have no marks: mark its frames by the \"police\" of a class of \"shape\" with \"echo\"");
	if (policer->meter.aware)
		return tl_config_refuse_key(r, "aware",
			"an echo polices messages, which have no DSCP: leave the key out, or use the \"police\" of a class of \"shape\"");
	return 0;
}

static bool policer_same_action(const struct tl_config_action *a, const struct tl_config_action *b)
{
	return a->drop == b->drop && a->has_dscp == b->has_dscp && a->has_pcp == b->has_pcp && a->dscp == b->dscp &&
	       a->pcp == b->pcp;
}

bool tl_config_same_policer(const struct tl_config_policer *a, const struct tl_config_policer *b)
{
	const struct tl_config_meter *m = &a->meter, *n = &b->meter;
	bool same = m->unit == n->unit && m->cir == n->cir && m->cbs == n->cbs && m->ebs == n->ebs &&
		    m->eir == n->eir && m->pir == n->pir && m->pbs == n->pbs && m->aware == n->aware;

	for (size_t i = 0; i < TL_ARRAY_LEN(policer_colours); i++)
		same = same && policer_same_action(&a->actions[i], &b->actions[i]);
	return same;
}
