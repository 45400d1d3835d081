// SPDX-License-Identifier: BSD-3-Clause
// The paths of a recording's files: x.pcapng, x_00001.pcapng, x_00002.pcapng …
//
// The list grows on the writer thread while others read it, and what was handed out stays valid: an array that became
// too small is replaced by one twice as large and freed only at the end.

#include "writer_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARRAYS 32 // each twice as large as the one before
#define FIRST_CAPACITY 16u

struct tl_writer_names {
	char **arrays[ARRAYS];
	uint32_t n_arrays;
	uint32_t capacity;	 // of the newest array
	_Atomic(char **) newest; // stored before count: it always holds at least count names
	atomic_uint count;
};

struct tl_writer_names *tl_writer_names_create(void)
{
	return calloc(1, sizeof(struct tl_writer_names));
}

void tl_writer_names_destroy(struct tl_writer_names *names)
{
	if (names == NULL)
		return;
	for (uint32_t i = 0; i < names->count; i++)
		free(names->newest[i]);
	for (uint32_t i = 0; i < names->n_arrays; i++)
		free(names->arrays[i]);
	free(names);
}

static int grow(struct tl_writer_names *names, uint32_t count)
{
	uint32_t capacity = names->capacity == 0 ? FIRST_CAPACITY : names->capacity * 2;
	if (names->n_arrays == ARRAYS || capacity < names->capacity)
		return -ENOMEM;
	char **array = calloc(capacity, sizeof(*array));
	if (array == NULL)
		return -ENOMEM;

	if (count != 0)
		memcpy(array, names->newest, count * sizeof(*array));
	names->arrays[names->n_arrays++] = array;
	names->capacity = capacity;
	atomic_store_explicit(&names->newest, array, memory_order_release);
	return 0;
}

int tl_writer_names_keep(struct tl_writer_names *names, char *name)
{
	uint32_t count = atomic_load_explicit(&names->count, memory_order_relaxed);

	if (count == names->capacity) {
		int rc = grow(names, count);
		if (rc != 0)
			return rc;
	}
	names->newest[count] = name;
	atomic_store_explicit(&names->count, count + 1, memory_order_release);
	return 0;
}

const char *const *tl_writer_names_list(const struct tl_writer_names *names, uint32_t *n)
{
	// In this order: an array at least as new as the count.
	*n = atomic_load_explicit(&names->count, memory_order_acquire);
	return (const char *const *)atomic_load_explicit(&names->newest, memory_order_acquire);
}

char *tl_writer_names_next(const struct tl_writer_names *names, const char *path)
{
	uint32_t index = atomic_load_explicit(&names->count, memory_order_relaxed);
	if (index == 0)
		return strdup(path);

	const char *slash = strrchr(path, '/');
	const char *base = slash != NULL ? slash + 1 : path;
	const char *suffix = strrchr(base, '.');
	if (suffix == NULL || suffix == base) // a leading dot hides a file, it does not begin a suffix
		suffix = path + strlen(path);

	char *name = NULL;
	if (asprintf(&name, "%.*s_%05u%s", (int)(suffix - path), path, index, suffix) < 0)
		return NULL;
	return name;
}
