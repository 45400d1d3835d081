// SPDX-License-Identifier: BSD-3-Clause
// Find the capability files, and print the documented capabilities of a port.

#include "family.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tl_err.h>
#include <tl_family.h>
#include <tl_log.h>

// Find the directory: from the environment, beside the installed program, or in the build's source tree.
bool tl_family_directory(char *dir, size_t size)
{
	static const char *const places[] = {"/../share/tapline/drivers-config", "/../../drivers-config"};
	const char *given = getenv("TAPLINE_DRIVERS_CONFIG");
	char self[PATH_MAX];

	if (given != NULL)
		return snprintf(dir, size, "%s", given) < (int)size;
	ssize_t chars = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (chars <= 0)
		return false;
	self[chars] = '\0';
	*strrchr(self, '/') = '\0';
	for (size_t i = 0; i < TL_ARRAY_LEN(places); i++)
		if (snprintf(dir, size, "%s%s", self, places[i]) < (int)size && access(dir, R_OK) == 0)
			return true;
	return false;
}

static void print_difference(void *ctx, const char *text)
{
	fprintf(stderr, "    %-15s %s\n", "differs", text);
}

void tl_print_family(const struct tl_port *port)
{
	struct tl_family_facts facts;
	struct tl_family family;
	char dir[PATH_MAX];
	struct tl_err err;

	if (!tl_port_family_facts(port, &facts) || !tl_family_directory(dir, sizeof(dir)))
		return;
	int rc = tl_family_find(dir, facts.pmd, &family, &err);
	if (rc == -ENOENT) {
		fprintf(stderr, "    %-15s no documented family has driver %s\n", "family", facts.pmd);
		return;
	}
	if (rc != 0) {
		tl_warn("%s", err.text);
		return;
	}
	fprintf(stderr, "    %-15s %s (%s), by %s\n", "family", family.name, family.nics, family.bind);
	if (tl_family_compare(&family, &facts, print_difference, NULL) == 0)
		fprintf(stderr, "    %-15s %s\n", "", "as documented");
	for (unsigned i = 0; i < family.n_notes; i++)
		fprintf(stderr, "    %-15s %s\n", i == 0 ? "known limits" : "", family.notes[i]);
}
