// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// test_config: parse configurations written with ' for ", and compare error messages.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tl_config.h>
#include <tl_err.h>
#include <tl_test.h>

// Parse the text, with " for '.
static inline int load(const char *text, struct tl_config **out, struct tl_err *err)
{
	size_t len = strlen(text);
	char *copy = malloc(len);

	for (size_t i = 0; i < len; i++)
		copy[i] = text[i] == '\'' ? '"' : text[i];
	int rc = tl_config_load_text(copy, len, "t.json", out, err);
	free(copy);
	return rc;
}

static inline struct tl_config *load_right(const char *text)
{
	struct tl_config *config = NULL;
	struct tl_err err = {""};

	if (load(text, &config, &err) != 0)
		printf("# refused: %s\n", err.text);
	CU_ASSERT_PTR_NOT_NULL_FATAL(config);
	return config;
}

struct refusal {
	const char *text, *sentence;
};

static inline void expect_refusals(const struct refusal *refusals, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct tl_config *config = NULL;
		struct tl_err err = {""};
		CU_ASSERT_EQUAL(load(refusals[i].text, &config, &err), -EINVAL);
		for (char *p = err.text; *p != '\0'; p++)
			*p = *p == '"' ? '\'' : *p;
		bool same = strcmp(err.text, refusals[i].sentence) == 0;
		if (!same)
			printf("# refused:  %s\n# expected: %s\n", err.text, refusals[i].sentence);
		CU_ASSERT_TRUE(same);
		tl_config_free(config);
	}
}
