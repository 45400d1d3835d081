// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// tree: files below a directory that a test makes up.

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <CUnit/CUnit.h>

// Write the file dir/name, and make the directories above it, below dir.
static inline void tl_test_put_bytes(const char *dir, const char *name, const char *bytes, size_t n)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	for (char *slash = path + strlen(dir) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
		*slash = '\0';
		mkdir(path, 0755);
		*slash = '/';
	}
	FILE *file = fopen(path, "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	CU_ASSERT_EQUAL(fwrite(bytes, 1, n, file), n);
	fclose(file);
}
