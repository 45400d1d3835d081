// SPDX-License-Identifier: BSD-3-Clause
// Rates, sizes and times in the units of tc(8).

#include <tl_rates.h>

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include <tl_base.h>
#include <tl_err.h>

#define KI (UINT64_C(1) << 10)
#define MI (UINT64_C(1) << 20)
#define GI (UINT64_C(1) << 30)
#define TI (UINT64_C(1) << 40)

struct unit {
	const char *name;
	uint64_t factor;
	uint32_t divisor;
};

struct kind {
	const char *units; // for errors
	const struct unit *unit;
	size_t n_units;
};

static const struct unit rate_units[] = {{"", 1, 1}, {"bit", 1, 1}, {"kbit", 1000, 1}, {"mbit", 1000000, 1},
	{"gbit", 1000000000, 1}, {"tbit", 1000000000000, 1}, {"kibit", KI, 1}, {"mibit", MI, 1}, {"gibit", GI, 1},
	{"tibit", TI, 1}, {"bps", 8, 1}, {"kbps", 8000, 1}, {"mbps", 8000000, 1}, {"gbps", 8000000000, 1},
	{"tbps", 8000000000000, 1}, {"kibps", 8 * KI, 1}, {"mibps", 8 * MI, 1}, {"gibps", 8 * GI, 1},
	{"tibps", 8 * TI, 1}};

static const struct unit size_units[] = {{"", 1, 1}, {"b", 1, 1}, {"k", KI, 1}, {"kb", KI, 1}, {"kib", KI, 1},
	{"m", MI, 1}, {"mb", MI, 1}, {"mib", MI, 1}, {"g", GI, 1}, {"gb", GI, 1}, {"gib", GI, 1}, {"t", TI, 1},
	{"tb", TI, 1}, {"tib", TI, 1}, {"kbit", KI, 8}, {"mbit", MI, 8}, {"gbit", GI, 8}};

static const struct unit span_units[] = {
	{"ns", 1, 1}, {"us", TL_NS_PER_US, 1}, {"ms", TL_NS_PER_MS, 1}, {"s", TL_NS_PER_S, 1}};

// A decimal number: value / scale.
struct decimal { // nine decimals at most
	uint64_t value, scale;
};

// Parse a number and return the text after it; NULL: there is none, or it is beyond 64 bits.
static const char *take_decimal(const char *text, struct decimal *out)
{
	const char *p = text;
	bool fraction = false, any = false;

	*out = (struct decimal){.scale = 1};
	for (; (*p >= '0' && *p <= '9') || (*p == '.' && !fraction); p++) {
		if (*p == '.') {
			fraction = true;
			continue;
		}
		any = true;
		if (fraction && out->scale == 1000000000)
			continue;
		if (__builtin_mul_overflow(out->value, 10, &out->value) ||
			__builtin_add_overflow(out->value, (uint64_t)(*p - '0'), &out->value))
			return NULL;
		out->scale *= fraction ? 10 : 1;
	}
	return any ? p : NULL;
}

static int parse(const char *text, const struct kind *kind, uint64_t *out, struct tl_err *err)
{
	struct decimal number;
	const char *suffix = take_decimal(text, &number);

	if (suffix == NULL)
		return tl_fail(err, -EINVAL, "\"%.40s\": character 1: expected a number of up to 19 digits", text);
	for (size_t i = 0; i < kind->n_units; i++) {
		const struct unit *unit = &kind->unit[i];
		if (strcasecmp(suffix, unit->name) != 0)
			continue;
		unsigned __int128 value = (unsigned __int128)number.value * unit->factor / unit->divisor / number.scale;
		if (value > INT64_MAX)
			return tl_fail(err, -ERANGE, "\"%.40s\": more than 2^63 - 1", text);
		*out = (uint64_t)value;
		return 0;
	}
	return tl_fail(err, -EINVAL, "\"%.40s\": character %zu: unknown unit \"%.20s\"; %s", text,
		(size_t)(suffix - text) + 1, suffix, kind->units);
}

int tl_parse_rate(const char *text, uint64_t *out_bps, struct tl_err *err)
{
	static const struct kind kind = {
		"use bit, kbit, mbit, gbit or tbit, or bps, kbps and so on for bytes per second", rate_units,
		TL_ARRAY_LEN(rate_units)};

	return parse(text, &kind, out_bps, err);
}

int tl_parse_size(const char *text, uint64_t *out_bytes, struct tl_err *err)
{
	static const struct kind kind = {
		"use b, k, m, g or t for bytes, or kbit, mbit or gbit", size_units, TL_ARRAY_LEN(size_units)};

	return parse(text, &kind, out_bytes, err);
}

int tl_parse_span(const char *text, uint64_t *out_ns, struct tl_err *err)
{
	static const struct kind kind = {"use ns, us, ms or s", span_units, TL_ARRAY_LEN(span_units)};

	return parse(text, &kind, out_ns, err);
}
