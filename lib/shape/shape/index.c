// SPDX-License-Identifier: BSD-3-Clause
// Hash tables of successive expressions that compare one field each.

#include "shape_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tl_err.h>
#include <tl_units.h>
#include <tl_wire.h>

#define INDEX_RULES_MIN 8 // fewer cost less one by one

// Parse an address. Return false if it is none.
static bool index_address(const char *text, struct shape_value *out)
{
	struct tl_ip6 ip6;
	uint32_t ip_be;

	*out = (struct shape_value){.version = 4};
	if (tl_parse_ipv4(text, &ip_be) == 0) {
		memcpy(out->words, &ip_be, sizeof(ip_be));
		return true;
	}
	out->version = 6;
	if (tl_parse_ipv6(text, &ip6) != 0)
		return false;
	memcpy(out->words, &ip6, sizeof(out->words));
	return true;
}

// Return the field that an expression compares, and its value; SHAPE_NO_FIELD: it is of another form.
static enum shape_field index_parse(const char *text, struct shape_value *out)
{
	char side[4], address[TL_IPV6_TEXT], rest;
	int id; // libpcap reads numbers as C does: 010 is 8

	if (sscanf(text, " vlan %i %c", &id, &rest) == 1 && id >= 0 && id <= TL_VLAN_ID) {
		*out = (struct shape_value){.words = {(uint64_t)id}};
		return SHAPE_VLAN;
	}
	if (sscanf(text, " ip %3s host %45s %c", side, address, &rest) != 2 &&
		sscanf(text, " ip6 %3s host %45s %c", side, address, &rest) != 2 &&
		sscanf(text, " %3s host %45s %c", side, address, &rest) != 2)
		return SHAPE_NO_FIELD;
	if (!index_address(address, out))
		return SHAPE_NO_FIELD;
	if (strcmp(side, "src") == 0)
		return SHAPE_SRC_HOST;
	return strcmp(side, "dst") == 0 ? SHAPE_DST_HOST : SHAPE_NO_FIELD;
}

static struct shape_index *index_create(enum shape_field field, uint32_t rules)
{
	uint32_t slots = 2;

	while (slots < 2 * rules)
		slots *= 2;
	struct shape_index *index = calloc(1, sizeof(*index) + slots * sizeof(index->slots[0]));
	if (index == NULL)
		return NULL;
	index->field = field;
	index->mask = slots - 1;
	return index;
}

// Add a rule. Return false if the value has one, which comes first.
static bool index_add(struct shape_index *index, const struct shape_value *value, uint32_t rule)
{
	struct shape_slot *slot = shape_index_slot(index, value);

	if (slot->rule != SHAPE_FREE)
		return false;
	*slot = (struct shape_slot){.value = *value, .rule = rule + 1};
	index->n++;
	return true;
}

// Return the number of rules from this one on that compare the same field.
static uint32_t index_count(const struct shape_set *s, const struct tl_shape_cfg *cfg, uint32_t first)
{
	struct shape_value value;
	uint32_t i = first;
	enum shape_field field = index_parse(cfg->classes[s->rules[first].leaf].match, &value);

	while (field != SHAPE_NO_FIELD && i < s->n_rules &&
		index_parse(cfg->classes[s->rules[i].leaf].match, &value) == field)
		i++;
	return i - first;
}

int shape_add_indexes(struct shape_set *s, const struct tl_shape_cfg *cfg, struct tl_err *err)
{
	struct shape_value value;

	for (uint32_t first = 0, n; first < s->n_rules; first += n != 0 ? n : 1) {
		n = index_count(s, cfg, first);
		if (n < INDEX_RULES_MIN)
			continue;
		enum shape_field field = index_parse(cfg->classes[s->rules[first].leaf].match, &value);
		struct shape_index *index = index_create(field, n);
		if (index == NULL)
			return tl_fail(err, -ENOMEM, "no memory for the expressions of %u classes", n);
		s->rules[first].index = index;
		for (uint32_t i = 0; i < n; i++) {
			(void)index_parse(cfg->classes[s->rules[first + i].leaf].match, &value);
			if (!index_add(index, &value, first + i))
				n = i; // this one begins the next table
		}
	}
	return 0;
}
