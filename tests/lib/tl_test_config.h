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

// Copy the text to a heap block of its exact size, so that the sanitizer detects reads beyond its end; ' stands for ".
static inline char *heap_text(const char *text, size_t *len)
{
	*len = strlen(text);
	char *copy = malloc(*len == 0 ? 1 : *len);

	for (size_t i = 0; i < *len; i++)
		copy[i] = text[i] == '\'' ? '"' : text[i];
	return copy;
}

static inline int load(const char *text, struct tl_config **out, struct tl_err *err)
{
	size_t len;
	char *copy = heap_text(text, &len);
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

// Expect this message after "t.json:", with ' for ".
static inline void expect_refusal(const char *text, const char *sentence)
{
	struct tl_config *config = NULL;
	struct tl_err err = {""};

	CU_ASSERT_EQUAL(load(text, &config, &err), -EINVAL);
	CU_ASSERT_PTR_NULL(config);
	tl_config_free(config);
	for (char *p = err.text; *p != '\0'; p++)
		*p = *p == '"' ? '\'' : *p;
	bool same = strncmp(err.text, "t.json:", 7) == 0 && strcmp(err.text + 7, sentence) == 0;
	if (!same)
		printf("# text:     %s\n# refused:  %s\n# expected: t.json:%s\n", text, err.text, sentence);
	CU_ASSERT_TRUE(same);
}

static inline void expect_refusals(const struct refusal *refusals, size_t n)
{
	for (size_t i = 0; i < n; i++)
		expect_refusal(refusals[i].text, refusals[i].sentence);
}
