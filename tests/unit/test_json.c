// SPDX-License-Identifier: BSD-3-Clause
// json: a report that lacks a part after a failed allocation is detected.

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tl_base.h>
#include <tl_json.h>
#include <tl_test.h>

const char *__asan_default_options(void);

// The sanitizer's allocator would abort.
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

// Make jansson request more memory than available.
static void run_out_of_memory(void)
{
	json_malloc_t allocate;
	json_free_t release;

	json_get_alloc_funcs(&allocate, &release);
	CU_ASSERT_PTR_NULL(allocate(PTRDIFF_MAX));
}

TL_TEST("a value is complete if no allocation failed")
{
	json_t *value = json_pack("{s:i, s:[s]}", "a", 1, "b", "c");

	CU_ASSERT_EQUAL(tl_json_check(value), 0);
	char *text = tl_json_text(value, JSON_COMPACT);
	CU_ASSERT_STRING_EQUAL(text, "{\"a\":1,\"b\":[\"c\"]}");
	free(text);
	json_decref(value);
	CU_ASSERT_EQUAL(tl_json_check(NULL), -ENOMEM);
	CU_ASSERT_PTR_NULL(tl_json_text(NULL, 0));
}

TL_TEST("characters that a terminal could obey are escaped")
{
	json_t *value = json_pack("[s, s]", "\xc2\x9bK", "M\u00fcnchen\x1b");
	char *text = tl_json_text(value, JSON_COMPACT);

	CU_ASSERT_STRING_EQUAL(text, "[\"\\u009BK\",\"M\\u00FCnchen\\u001B\"]");
	free(text);
	json_decref(value);
}

TL_TEST("a value is incomplete if an allocation failed while it was built")
{
	json_t *value = json_object();

	run_out_of_memory();
	CU_ASSERT_EQUAL(tl_json_check(value), -ENOMEM);
	CU_ASSERT_EQUAL(tl_json_check(value), 0); // the next value is judged separately
	run_out_of_memory();
	CU_ASSERT_PTR_NULL(tl_json_text(value, 0));
	json_decref(value);
}

static json_malloc_t whole; // allocator of the program
static unsigned countdown;  // index of the failing allocation; 0: none

static void *allocate_or_fail(size_t bytes)
{
	return whole(countdown != 0 && --countdown == 0 ? PTRDIFF_MAX : bytes);
}

TL_TEST("whichever allocation fails, a text is complete or absent")
{
	json_t *value = json_object();
	json_free_t release;
	unsigned failed = 0;
	char key[64];

	for (int i = 0; i < 200; i++) {
		snprintf(key, sizeof(key), "a key that is long enough to be hurt %d", i);
		json_object_set_new(value, key, json_integer(i));
	}
	char *right = tl_json_text(value, JSON_COMPACT);
	CU_ASSERT_PTR_NOT_NULL_FATAL(right);
	json_get_alloc_funcs(&whole, &release);
	json_set_alloc_funcs(allocate_or_fail, release);
	for (unsigned i = 1; countdown == 0; i++) {
		countdown = i;
		char *text = tl_json_text(value, JSON_COMPACT);
		CU_ASSERT(text == NULL || strcmp(text, right) == 0);
		failed += text == NULL;
		free(text);
	}
	json_set_alloc_funcs(whole, release);
	CU_ASSERT(failed > 3);
	free(right);
	json_decref(value);
}

static void *fail_elsewhere(void *arg)
{
	run_out_of_memory();
	return arg;
}

TL_TEST("a failure in another thread does not affect this value")
{
	json_t *value = json_object();
	pthread_t thread;

	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, fail_elsewhere, NULL), 0);
	pthread_join(thread, NULL);
	CU_ASSERT_EQUAL(tl_json_check(value), 0);
	json_decref(value);
}

TL_TEST("any bytes are encoded as a valid string")
{
	json_t *exact = tl_json_string("\xc3\xa4 \x01"), *mended = tl_json_string("a\xff\xc3z");

	CU_ASSERT_STRING_EQUAL(json_string_value(exact), "\xc3\xa4 \x01");
	CU_ASSERT_STRING_EQUAL(json_string_value(mended), "a??z");
	CU_ASSERT_EQUAL(tl_json_check(mended), 0);
	json_decref(exact);
	json_decref(mended);
}

TL_TEST("a number beyond INT64_MAX is capped to it")
{
	json_t *small = tl_json_number(7), *large = tl_json_number(UINT64_MAX);

	CU_ASSERT_EQUAL(json_integer_value(small), 7);
	CU_ASSERT_EQUAL(json_integer_value(large), INT64_MAX);
	json_decref(small);
	json_decref(large);
}

TL_TEST("a missing text is encoded as null")
{
	CU_ASSERT_TRUE(json_is_null(tl_json_string(NULL)));
}

TL_TEST("an unknown number is encoded as null")
{
	json_t *object =
		json_pack("{s:o, s:o}", "known", tl_json_number_if(true, 0), "unknown", tl_json_number_if(false, 7));
	char *text = tl_json_text(object, JSON_COMPACT);

	CU_ASSERT_STRING_EQUAL(text, "{\"known\":0,\"unknown\":null}");
	free(text);
	json_decref(object);
}

TL_TEST("counters are encoded under their names, in their order")
{
	const struct tl_counter rows[] = {{"rx_pkts", 3}, {"drop_pkts", UINT64_MAX}};
	json_t *object = json_object();

	tl_json_put_counters(object, rows, TL_ARRAY_LEN(rows));
	char *text = tl_json_text(object, JSON_COMPACT);
	CU_ASSERT_STRING_EQUAL(text, "{\"rx_pkts\":3,\"drop_pkts\":9223372036854775807}");
	free(text);
	json_decref(object);
}

int main(void)
{
	tl_json_init();
	return tl_test_run("json");
}
