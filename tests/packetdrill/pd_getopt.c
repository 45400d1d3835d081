// SPDX-License-Identifier: BSD-3-Clause
// getopt_long() for EAL. packetdrill loads the library so that libc's variables precede those of the program
// (RTLD_DEEPBIND); but getopt_long() sets the program's copies (copy relocation), so EAL would read an unset optarg.
// The definitions here precede both, and are copied in both directions.

#include <dlfcn.h>
#include <getopt.h>
#include <stddef.h>

#define EXPORTED __attribute__((visibility("default")))

EXPORTED char *optarg;
EXPORTED int optind = 1, opterr = 1, optopt = '?';

typedef int getopt_long_fn(int argc, char *const *argv, const char *shorts, const struct option *longs, int *index);

EXPORTED int getopt_long(int argc, char *const *argv, const char *shorts, const struct option *longs, int *index)
{
	void *program = dlopen(NULL, RTLD_NOW);
	char **program_optarg = dlsym(program, "optarg");
	int *program_optind = dlsym(program, "optind");
	getopt_long_fn *fn = (getopt_long_fn *)dlsym(program, "getopt_long");

	*program_optind = optind;
	int rc = fn(argc, argv, shorts, longs, index);
	optind = *program_optind;
	optarg = *program_optarg;
	dlclose(program);
	return rc;
}
