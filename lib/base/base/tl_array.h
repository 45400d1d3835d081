// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// array: growing arrays on the heap.

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// Make room for element n of an array by doubling. array: address of the pointer, which may be NULL; capacity in
// elements. Return 0, or -ENOMEM with the array unchanged.
static inline int tl_array_reserve(void *array, size_t n, size_t *capacity, size_t element_bytes)
{
	size_t more = *capacity != 0 ? 2 * *capacity : 16;
	void *elements;

	if (n < *capacity)
		return 0;
	memcpy(&elements, array, sizeof(elements));
	elements = reallocarray(elements, more, element_bytes);
	if (elements == NULL)
		return -ENOMEM;
	memcpy(array, &elements, sizeof(elements));
	*capacity = more;
	return 0;
}
