// SPDX-License-Identifier: BSD-3-Clause
// Reads /proc for free hugepages.

#include "hugepages.h"

#include <stdio.h>

uint64_t tl_hugepages_free_mb(void)
{
	FILE *meminfo = fopen("/proc/meminfo", "re");
	unsigned long long free_pages = 0, page_kb = 0;
	char line[256];

	if (meminfo == NULL)
		return 0;
	while (fgets(line, sizeof(line), meminfo) != NULL) {
		(void)sscanf(line, "HugePages_Free: %llu", &free_pages);
		(void)sscanf(line, "Hugepagesize: %llu kB", &page_kb);
	}
	fclose(meminfo);
	return free_pages * page_kb / 1024;
}
