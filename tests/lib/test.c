// SPDX-License-Identifier: BSD-3-Clause
// Run a CUnit suite and print one line per test.

#include "tl_test.h"

#include <stdio.h>

#include <CUnit/TestRun.h>

static struct tl_test *added; // written before main()

void tl_test_add(struct tl_test *test)
{
	struct tl_test **at = &added;

	while (*at != NULL && (*at)->line < test->line)
		at = &(*at)->next;
	test->next = *at;
	*at = test;
}

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

int tl_test_run(const char *name)
{
	CU_pSuite suite = CU_initialize_registry() == CUE_SUCCESS ? CU_add_suite(name, NULL, NULL) : NULL;
	int failed = suite == NULL || added == NULL;

	for (const struct tl_test *test = added; test != NULL && suite != NULL; test = test->next)
		failed += run_one(suite, test);
	CU_cleanup_registry();
	return failed != 0;
}
