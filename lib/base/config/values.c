// SPDX-License-Identifier: BSD-3-Clause
// Readers of the scalars common to all sections: switches, numbers, sizes, choices, texts.

#include "config_priv.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <tl_err.h>
#include <tl_rates.h>
#include <tl_units.h>

static void *field_of(const struct tl_config_key *key, void *section)
{
	return (char *)section + key->offset;
}

static void store(const struct tl_config_key *key, void *section, uint64_t n)
{
	if (key->width == sizeof(uint64_t))
		*(uint64_t *)field_of(key, section) = n;
	else
		*(uint32_t *)field_of(key, section) = (uint32_t)n;
}

int tl_config_bool(struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	if (!json_is_boolean(value))
		return tl_config_not(r, value, "true or false");
	*(bool *)field_of(key, section) = json_is_true(value);
	return 0;
}

static bool is_in_bounds(const struct tl_config_key *key, uint64_t n)
{
	return (n >= key->min && n <= key->max) || (n == 0 && key->or_zero);
}

int tl_config_integer(struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, uint64_t *out)
{
	char wanted[80];
	json_int_t n = json_integer_value(value);

	snprintf(wanted, sizeof(wanted), "%sa whole number from %ju to %ju", key->or_zero ? "0 or " : "",
		(uintmax_t)key->min, (uintmax_t)key->max);
	if (!json_is_integer(value) || n < 0 || !is_in_bounds(key, (uint64_t)n))
		return tl_config_not(r, value, wanted);
	*out = (uint64_t)n;
	return 0;
}

int tl_config_number(struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	uint64_t n = 0;
	int rc = tl_config_integer(r, key, value, &n);

	if (rc == 0)
		store(key, section, n);
	return rc;
}

// Format a limit as a user would write it: 67108864 is 64M.
static const char *size_text(uint64_t bytes, char buf[24])
{
	static const char *const units[] = {"", "K", "M", "G", "T"};
	size_t unit = 0;

	while (unit + 1 < TL_ARRAY_LEN(units) && bytes != 0 && bytes % 1024 == 0) {
		bytes /= 1024;
		unit++;
	}
	snprintf(buf, 24, "%ju%s", (uintmax_t)bytes, units[unit]);
	return buf;
}

static int parse_size(const char *text, uint64_t *out, struct tl_err *err)
{
	return tl_parse_bytes(text, out);
}

// Read a number, or a text by its parser, into a field. wanted: the sentence of a refusal.
static int read_in_units(struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value,
	void *section, int (*parse)(const char *text, uint64_t *out, struct tl_err *err), const char *wanted)
{
	struct tl_err unused;
	uint64_t n = 0;
	bool ok = false;

	if (json_is_integer(value)) {
		ok = json_integer_value(value) >= 0;
		n = (uint64_t)json_integer_value(value);
	} else if (json_is_string(value)) {
		ok = parse(json_string_value(value), &n, &unused) == 0;
	}
	if (!ok || !is_in_bounds(key, n))
		return tl_config_not(r, value, wanted);
	store(key, section, n);
	return 0;
}

int tl_config_size(struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	char wanted[128], low[24], high[24];

	snprintf(wanted, sizeof(wanted), "%sa size from %s to %s, such as 65536 or \"64K\"",
		key->or_zero ? "0 or " : "", size_text(key->min, low), size_text(key->max, high));
	return read_in_units(r, key, value, section, parse_size, wanted);
}

int tl_config_choice(struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	char wanted[128] = "one of";
	size_t used = strlen(wanted);

	for (uint32_t i = 0; key->choices[i] != NULL; i++) {
		if (json_is_string(value) && strcmp(json_string_value(value), key->choices[i]) == 0) {
			store(key, section, i);
			return 0;
		}
		if (used < sizeof(wanted))
			used += (size_t)snprintf(
				wanted + used, sizeof(wanted) - used, "%s \"%s\"", i == 0 ? "" : ",", key->choices[i]);
	}
	return tl_config_not(r, value, wanted);
}

const char *tl_config_string(struct tl_config_reader *r, const json_t *value, const char *wanted)
{
	const char *text = json_string_value(value);

	if (text == NULL) {
		tl_config_not(r, value, wanted);
		return NULL;
	}
	for (const char *p = text; *p != '\0'; p++) {
		if ((unsigned char)*p < 0x20 || *p == 0x7f) {
			tl_config_refuse(r, "the text holds the control character 0x%02x", (unsigned)*p);
			return NULL;
		}
	}
	return text;
}

int tl_config_text(struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	const char *text = tl_config_string(r, value, "a text");
	char **field = field_of(key, section);

	if (text == NULL)
		return -EINVAL;
	if (*text == '\0')
		return tl_config_refuse(r, "the text is empty");
	if (strlen(text) > key->max)
		return tl_config_refuse(
			r, "the text has %zu bytes, the most is %ju", strlen(text), (uintmax_t)key->max);
	*field = strdup(text);
	return *field != NULL ? 0 : tl_fail(r->err, -ENOMEM, "%s: out of memory", r->name);
}

int tl_config_name(struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
	const char *text = json_string_value(value);

	if (text == NULL || *text == '\0' || text[strspn(text, letters)] != '\0' || strlen(text) >= TL_CONFIG_NAME_MAX)
		return tl_config_not(r, value, "a name: 1 to 31 of A-Z a-z 0-9 _ -");
	return tl_config_text(r, key, value, section);
}

int tl_config_rate(struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	return read_in_units(
		r, key, value, section, tl_parse_rate, "a rate from 1 bit/s to 4.3 Tbit/s, such as \"2Mbit\"");
}

int tl_config_capacity(struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	if (json_is_string(value) && strcmp(json_string_value(value), "measured") == 0) {
		store(key, section, 0);
		return 0;
	}
	return read_in_units(r, key, value, section, tl_parse_rate,
		"a rate from 1 bit/s to 4.3 Tbit/s, such as \"2Mbit\", or \"measured\"");
}

int tl_config_pace(struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	return read_in_units(
		r, key, value, section, tl_parse_rate, "a rate from 8 kbit/s to 4.3 Tbit/s, such as \"100Mbit\"");
}

int tl_config_burst(struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	return read_in_units(
		r, key, value, section, tl_parse_size, "a size from 1 byte to 549 MiB, such as 15000 or \"100k\"");
}

int tl_config_limit(struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	return read_in_units(
		r, key, value, section, tl_parse_size, "0 or a size from 1 byte to 4 GiB, such as 65536 or \"64kb\"");
}
