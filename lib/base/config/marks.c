// SPDX-License-Identifier: BSD-3-Clause
// "marks" of a recording: it records only received frames of flow rules with these marks.

#include "config_priv.h"

int tl_config_marks(struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	struct tl_config_capture *capture = section;
	size_t n = json_array_size(value);

	if (!json_is_array(value) || n == 0)
		return tl_config_not(r, value, "an array of marks, such as [1, 2]");
	for (size_t i = 0; i < n; i++) {
		uint64_t mark = 0;
		tl_config_enter_index(r, i);
		int rc = tl_config_integer(r, key, json_array_get(value, i), &mark);
		if (rc == 0 && capture->marks[mark])
			rc = tl_config_refuse(r, "mark %u is in the list already", (unsigned)mark);
		if (rc != 0)
			return rc;
		tl_config_leave(r);
		capture->marks[mark] = true;
	}
	capture->has_marks = true;
	return 0;
}

int tl_config_check_marked(struct tl_config_reader *r, struct tl_config_capture *capture, const json_t *value)
{
	if (!capture->has_marks)
		return 0;
	if (json_object_get(value, "direction") != NULL && capture->direction != TL_CONFIG_RX)
		return tl_config_refuse_key(r, "direction",
			"only received frames bear \"marks\": it is \"rx\"; remove one of the two keys");
	capture->direction = TL_CONFIG_RX;
	return 0;
}

int tl_config_check_marks(struct tl_config_reader *r, const struct tl_config *config, uint32_t capture)
{
	const struct tl_config_port *port = &config->ports[config->captures[capture].port];
	bool known[TL_CONFIG_MARK_MAX + 1] = {false};

	for (uint32_t i = 0; i < port->n_flow_rules; i++)
		known[port->flow_rules[i].mark] = true;
	for (uint32_t mark = 1; mark <= TL_CONFIG_MARK_MAX; mark++)
		if (config->captures[capture].marks[mark] && !known[mark])
			return tl_config_refuse(
				r, "no rule in \"flow_rules\" of the port \"%s\" has the mark %u", port->name, mark);
	return 0;
}
