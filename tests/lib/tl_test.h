// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// test: a CUnit suite whose tests are named as sentences. Prints one line per test, "ok - sentence" or
// "not ok - sentence" with the failed assertions below it, and exits 1 when one failed.
//
//   static void counts_start_at_zero(void) { CU_ASSERT_EQUAL(…); }
//   int main(void)
//   {
//           static const struct tl_test tests[] = {{"counts start at zero", counts_start_at_zero}};
//           return tl_test_main("base", tests, sizeof(tests) / sizeof(tests[0]));
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
};

int tl_test_main(const char *suite, const struct tl_test *tests, size_t count);
