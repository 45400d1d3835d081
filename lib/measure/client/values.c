// SPDX-License-Identifier: BSD-3-Clause
// Parser for the values of a sweep.

#include <tl_client_sweep.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <tl_units.h>

static int append(struct tl_client_sweep *sweep, uint64_t value)
{
	if (sweep->n == TL_CLIENT_POINTS)
		return -ERANGE;
	if (sweep->n > 0 && value <= sweep->at[sweep->n - 1])
		return -EINVAL;
	sweep->at[sweep->n++] = value;
	return 0;
}

// first:last:count
static int parse_range(char *text, uint64_t min, uint64_t max, struct tl_client_sweep *sweep)
{
	char *rest = text;
	const char *first_text = strsep(&rest, ":"), *last_text = strsep(&rest, ":");
	uint64_t first, last, count;

	if (last_text == NULL || rest == NULL || tl_parse_u64(first_text, min, max, &first) != 0 ||
		tl_parse_u64(last_text, min, max, &last) != 0 || tl_parse_u64(rest, 2, TL_CLIENT_POINTS, &count) != 0 ||
		last <= first)
		return -EINVAL;
	for (uint64_t i = 0; i < count; i++) {
		int ret = append(sweep, first + (last - first) * i / (count - 1));
		if (ret != 0)
			return ret;
	}
	return 0;
}

int tl_client_sweep_parse(const char *text, uint64_t min, uint64_t max, struct tl_client_sweep *sweep)
{
	char copy[1024], *rest = copy;

	sweep->n = 0;
	if ((size_t)snprintf(copy, sizeof(copy), "%s", text) >= sizeof(copy))
		return -ERANGE;
	if (strchr(copy, ':') != NULL)
		return parse_range(copy, min, max, sweep);
	for (const char *word; (word = strsep(&rest, ",")) != NULL;) {
		uint64_t value;
		int ret = tl_parse_u64(word, min, max, &value);
		if (ret == 0)
			ret = append(sweep, value);
		if (ret != 0)
			return ret;
	}
	return 0;
}
