// SPDX-License-Identifier: BSD-3-Clause
// Run a CUnit suite and print one line per test.

#include "tl_test.h"

#include <stdio.h>

#include <CUnit/TestRun.h>

static void print_failures(void)
{
	for (CU_pFailureRecord f = CU_get_failure_list(); f != NULL; f = f->pNext)
		printf("#   %s:%u: %s\n", f->strFileName, f->uiLineNumber, f->strCondition);
}

static int run_one(CU_pSuite suite, const struct tl_test *test)
{
	CU_pTest registered = CU_add_test(suite, test->sentence, test->run);
	if (registered == NULL)
		return 1;
	CU_ErrorCode code = CU_run_test(suite, registered);
	int failed = code != CUE_SUCCESS || CU_get_number_of_failures() != 0;
	printf("%s - %s: %s\n", failed ? "not ok" : "ok", suite->pName, test->sentence);
	if (failed)
		print_failures();
	fflush(stdout);
	return failed;
}

int tl_test_main(const char *name, const struct tl_test *tests, size_t count)
{
	int failed = 0;

	if (CU_initialize_registry() != CUE_SUCCESS)
		return 1;
	CU_pSuite suite = CU_add_suite(name, NULL, NULL);
	if (suite == NULL)
		return 1;
	for (size_t i = 0; i < count; i++)
		failed += run_one(suite, &tests[i]);
	CU_cleanup_registry();
	return failed != 0;
}
