// SPDX-License-Identifier: BSD-3-Clause
// Parsing of speeds and rates: decimals with six digits after the point.

#include <tl_replay_schedule.h>

#include <ctype.h>
#include <errno.h>
#include <string.h>

#define DIGITS_MAX 12 // before the point
#define RATE_MAX (UINT64_C(1000000000000) * TL_REPLAY_MILLION)

// Parse a number like "2.5" in units of 10^-6; *end is the rest of the text. Return 0 or -EINVAL.
static int parse_millionths(const char *text, const char **end, uint64_t *out)
{
	uint64_t value = 0, unit = TL_REPLAY_MILLION;
	const char *at = text;

	while (isdigit((unsigned char)*at))
		value = 10 * value + (uint64_t)(*at++ - '0');
	if (at == text || at - text > DIGITS_MAX)
		return -EINVAL;
	value *= TL_REPLAY_MILLION;
	if (*at == '.') {
		const char *point = at++;
		for (; isdigit((unsigned char)*at); at++) {
			if (unit == 1)
				return -EINVAL; // more digits than the resolution
			unit /= 10;
			value += (uint64_t)(*at - '0') * unit;
		}
		if (at == point + 1)
			return -EINVAL;
	}
	*end = at;
	*out = value;
	return 0;
}

int tl_replay_parse_speed(const char *text, uint64_t *out_speed)
{
	const char *end;

	int rc = parse_millionths(text, &end, out_speed);
	if (rc != 0)
		return rc;
	return *end == '\0' && *out_speed >= TL_REPLAY_SPEED_MIN && *out_speed <= TL_REPLAY_SPEED_MAX ? 0 : -EINVAL;
}

// Parse a prefix: "", K, M or G, powers of 1000.
static uint64_t take_prefix(const char **at)
{
	static const char prefixes[] = "KMG";
	const char *prefix = **at != '\0' ? strchr(prefixes, toupper((unsigned char)**at)) : NULL;
	uint64_t factor = 1;

	if (prefix == NULL)
		return 1;
	for (const char *p = prefixes; p <= prefix; p++)
		factor *= 1000;
	++*at;
	return factor;
}

int tl_replay_parse_rate(const char *text, uint64_t line_bps, struct tl_replay_pacing *out)
{
	unsigned __int128 rate;
	uint64_t value;
	const char *at;

	int rc = parse_millionths(text, &at, &value);
	if (rc != 0)
		return rc;
	if (strcmp(at, "%") == 0) {
		if (value > 100 * TL_REPLAY_MILLION)
			return -EINVAL;
		if (line_bps == 0)
			return -ENODATA;
		rate = (unsigned __int128)value * line_bps / 100;
		out->pace = TL_REPLAY_BPS;
	} else {
		rate = (unsigned __int128)value * take_prefix(&at);
		if (strcmp(at, "pps") != 0 && strcmp(at, "bps") != 0)
			return -EINVAL;
		out->pace = *at == 'p' ? TL_REPLAY_PPS : TL_REPLAY_BPS;
	}
	if (rate == 0 || rate > RATE_MAX)
		return -EINVAL;
	out->rate = (uint64_t)rate;
	return 0;
}
