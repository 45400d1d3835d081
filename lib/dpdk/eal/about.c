// SPDX-License-Identifier: BSD-3-Clause
// DPDK version, driver directory, and the CPU flags that the compiler used.

#include <tl_eal_about.h>

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_version.h>

#define LIBRARY "/librte_eal.so."

// Format the version as rte_version() does.
char *tl_eal_version_built(char *buf, size_t size)
{
	int used = snprintf(buf, size, "%s %d.%02d.%d", RTE_VER_PREFIX, RTE_VER_YEAR, RTE_VER_MONTH, RTE_VER_MINOR);

	if (RTE_VER_SUFFIX[0] != '\0') // a release candidate
		snprintf(buf + used, size - (size_t)used, "%s%d", RTE_VER_SUFFIX, RTE_VER_RELEASE);
	return buf;
}

const char *tl_eal_version_running(void)
{
	return rte_version();
}

int tl_eal_driver_dir(char *buf, size_t size)
{
	Dl_info info;

	if (dladdr((const void *)(uintptr_t)rte_eal_init, &info) == 0)
		return -ENOENT;
	char *path = realpath(info.dli_fname, NULL);
	char *name = path != NULL ? strstr(path, LIBRARY) : NULL;
	if (name != NULL) {
		*name = '\0';
		snprintf(buf, size, "%s/dpdk/pmds-%s", path, name + strlen(LIBRARY));
	}
	free(path);
	return name != NULL ? 0 : -ENOENT;
}

const char *const *tl_eal_cpu_flags(void)
{
	static const char *const flags[] = {
#ifdef __SSE3__
		"pni",
#endif
#ifdef __SSSE3__
		"ssse3",
#endif
#ifdef __SSE4_1__
		"sse4_1",
#endif
#ifdef __SSE4_2__
		"sse4_2",
#endif
#ifdef __POPCNT__
		"popcnt",
#endif
#ifdef __AVX__
		"avx",
#endif
#ifdef __AVX2__
		"avx2",
#endif
#ifdef __BMI2__
		"bmi2",
#endif
#ifdef __AVX512F__
		"avx512f",
#endif
		NULL};

	return flags;
}

bool tl_eal_built_ieee1588(void)
{
#ifdef RTE_LIBRTE_IEEE1588
	return true;
#else
	return false;
#endif
}
