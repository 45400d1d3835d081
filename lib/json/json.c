// SPDX-License-Identifier: BSD-3-Clause
// Counts what jansson could not allocate.

#include <tl_json.h>

#include <errno.h>
#include <stdlib.h>

static _Thread_local unsigned failures; // since the last check: jansson's allocator has no context

static void *allocate(size_t bytes)
{
	void *memory = malloc(bytes);

	failures += memory == NULL;
	return memory;
}

void tl_json_init(void)
{
	json_set_alloc_funcs(allocate, free);
}

int tl_json_check(const json_t *value)
{
	unsigned lost = failures;

	failures = 0;
	return value != NULL && lost == 0 ? 0 : -ENOMEM;
}

char *tl_json_text(const json_t *value, size_t flags)
{
	return tl_json_check(value) == 0 ? json_dumps(value, flags) : NULL;
}
