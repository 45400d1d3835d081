// SPDX-License-Identifier: BSD-3-Clause
// Parse and search lists.

#include "bench_list.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <tl_units.h>

int tl_bench_sizes(const char *text, uint64_t min, uint64_t max, uint32_t sizes[TL_BENCH_SIZES_MAX], uint32_t *n)
{
	char one[16];
	uint64_t bytes;

	*n = 0;
	for (;; text++) {
		size_t chars = strcspn(text, ",");
		if (chars >= sizeof(one) || *n == TL_BENCH_SIZES_MAX)
			return -EINVAL;
		snprintf(one, sizeof(one), "%.*s", (int)chars, text);
		int rc = tl_parse_u64(one, min, max, &bytes);
		for (uint32_t i = 0; i < *n; i++)
			rc = sizes[i] == bytes ? -EINVAL : rc;
		if (rc != 0)
			return rc;
		sizes[(*n)++] = (uint32_t)bytes;
		text += chars;
		if (*text == '\0')
			return 0;
	}
}

bool tl_bench_lists(const char *names, const char *name)
{
	size_t chars = strlen(name);

	for (; names != NULL && *names != '\0'; names += *names == ',') {
		size_t n = strcspn(names, ",");
		if (n == chars && strncmp(names, name, n) == 0)
			return true;
		names += n;
	}
	return names == NULL;
}

bool tl_bench_known(const char *names, const char *const known[], unsigned n)
{
	for (;; names++) {
		size_t chars = strcspn(names, ",");
		bool found = false;
		for (unsigned i = 0; i < n; i++)
			found |= strlen(known[i]) == chars && strncmp(known[i], names, chars) == 0;
		names += chars;
		if (!found || *names == '\0')
			return found;
	}
}
