// SPDX-License-Identifier: BSD-3-Clause
// Directory of the latency reports, made by root for another user.

#include <dlfcn.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tl_err.h>
#include <tl_test.h>

#include "latency_dir.h"

static bool swaps; // the owner of the parent puts a link to "victim" in place of the new directory

int mkdir(const char *path, mode_t mode)
{
	typeof(&mkdir) make = (typeof(&mkdir))dlsym(RTLD_NEXT, "mkdir");
	int rc = make(path, mode);

	if (rc == 0 && swaps) {
		CU_ASSERT_EQUAL(rmdir("reports"), 0);
		CU_ASSERT_EQUAL(symlink("victim", "reports"), 0);
	}
	return rc;
}

static uid_t owner_of(const char *path)
{
	struct stat status = {.st_uid = (uid_t)-1};

	CU_ASSERT_EQUAL(lstat(path, &status), 0);
	return status.st_uid;
}

TL_TEST("a new directory of reports belongs to the user of the appliance")
{
	const struct passwd *nobody = getpwnam("nobody");
	struct tl_err err;

	if (geteuid() != 0)
		return;
	CU_ASSERT_EQUAL(tl_latency_dir_make("reports/", "nobody", &err), 0);
	CU_ASSERT_EQUAL(owner_of("reports"), nobody->pw_uid);
	CU_ASSERT_EQUAL(rmdir("reports"), 0);
}

TL_TEST("a link in place of the new directory gives nothing else to the user")
{
	static const char *const names[] = {"reports", "reports//"}; // a slash at the end follows a link
	struct tl_err err;

	if (geteuid() != 0)
		return;
	swaps = true;
	for (size_t i = 0; i < 2; i++) {
		(void)rmdir("victim"); // of the previous name
		swaps = false;
		CU_ASSERT_EQUAL(mkdir("victim", 0755), 0);
		swaps = true;
		CU_ASSERT_NOT_EQUAL(tl_latency_dir_make(names[i], "nobody", &err), 0);
		CU_ASSERT_EQUAL(owner_of("victim"), 0);
		CU_ASSERT_EQUAL(unlink("reports"), 0);
	}
	swaps = false;
	CU_ASSERT_EQUAL(rmdir("victim"), 0);
}

int main(void)
{
	char dir[] = "/tmp/tl_test_latency_dir_XXXXXX";

	if (mkdtemp(dir) == NULL || chdir(dir) != 0)
		return 1;
	int status = tl_test_run("latency_dir");
	rmdir(dir);
	return status;
}
