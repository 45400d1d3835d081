// SPDX-License-Identifier: BSD-3-Clause
// tapline: find the command and run it.

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <tl_base.h>
#include <tl_json.h>

#include "app.h"
#include "dump.h"
#include "extcap.h"
#include "results.h"

static const struct {
	const struct tl_command *command;
	int (*run)(int argc, char **argv);
} commands[] = {
#define ROW(name) {&tl_##name##_command, tl_cmd_##name},
	TL_COMMANDS(ROW) // of app.h
};

static void print_usage(FILE *out)
{
	fprintf(out, "usage: tapline COMMAND [options]\n\n");
	for (size_t i = 0; i < TL_ARRAY_LEN(commands); i++)
		fprintf(out, "  %-10s %s\n", commands[i].command->name, commands[i].command->summary);
	fprintf(out, "\n`tapline COMMAND --help` explains a command; `tapline --version` prints the version.\n"
		     "Exit status: 0 ok, 1 the work failed, 2 the call or the configuration was wrong.\n");
}

static int dump_options(void)
{
	json_t *list = json_array();

	for (size_t i = 0; i < TL_ARRAY_LEN(commands); i++)
		json_array_append_new(list, tl_dump_command(commands[i].command));
	return tl_results_json(list, stdout) == 0 ? TL_EXIT_OK : TL_EXIT_FAILED;
}

// Open each closed standard descriptor, so that no file gets its number, and with it the messages. In the wrong
// direction: using it fails as before.
static int occupy_standard(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
			open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
			return -errno;
	return 0;
}

int main(int argc, char **argv)
{
	if (occupy_standard() != 0)
		return TL_EXIT_FAILED;
	tl_json_init();
	if (argc < 2) {
		print_usage(stderr);
		return TL_EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
		print_usage(stdout);
		return TL_EXIT_OK;
	}
	if (strcmp(argv[1], "--version") == 0) {
		printf("tapline %s\n", TL_VERSION);
		return TL_EXIT_OK;
	}
	if (strcmp(argv[1], "--dump-options") == 0) // for docs/generate.py
		return dump_options();
	if (tl_extcap_is_meant(argv[1]))
		return tl_extcap(argc, argv);
	for (size_t i = 0; i < TL_ARRAY_LEN(commands); i++)
		if (strcmp(argv[1], commands[i].command->name) == 0)
			return commands[i].run(argc - 1, argv + 1);
	fprintf(stderr, "tapline: error: no such command: \"%s\"\n\n", argv[1]);
	print_usage(stderr);
	return TL_EXIT_USAGE;
}
