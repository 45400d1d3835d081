// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// test: a CUnit suite of tests that are named by sentences and register themselves. Prints one line per test,
// "ok - sentence" or "not ok - sentence" with the failed assertions below it, and exits 1 when one failed.
//
//   TL_TEST("counts start at zero")
//   {
//           CU_ASSERT_EQUAL(…);
//   }
//
//   int main(void)
//   {
//           return tl_test_run("base");
//   }

#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

#include <CUnit/CUnit.h>

// Wait for about a minute, regardless of the host's speed, until a condition holds. The value of the macro is the
// condition.
#define tl_test_until(condition)                                                                                       \
	({                                                                                                             \
		bool holds_ = false;                                                                                   \
		for (int left_ = 60000; !(holds_ = (condition)) && left_ > 0; left_--)                                 \
			usleep(1000);                                                                                  \
		holds_;                                                                                                \
	})

struct tl_test {
	const char *sentence;
	void (*run)(void);
	int line; // of the definition
	struct tl_test *next;
};

// Begin the definition of a test; one per line.
#define TL_TEST(sentence) TL_TEST_AT(sentence, __LINE__)
#define TL_TEST_AT(sentence, line) TL_TEST_DEFINE(sentence, line)
#define TL_TEST_DEFINE(sentence_, line_)                                                                               \
	static void test_at_##line_(void);                                                                             \
	__attribute__((constructor)) static void add_test_at_##line_(void)                                             \
	{                                                                                                              \
		static struct tl_test test = {sentence_, test_at_##line_, line_, NULL};                                \
		tl_test_add(&test);                                                                                    \
	}                                                                                                              \
	static void test_at_##line_(void)

// Add a test to the suite, which is one source file, in the order of the lines.
void tl_test_add(struct tl_test *test);

// Run the tests in order. Return the exit status.
int tl_test_run(const char *suite);
