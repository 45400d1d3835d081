// SPDX-License-Identifier: BSD-3-Clause
// tapline: finds the command and runs it.

#include <stdio.h>
#include <string.h>

#include <tl_base.h>

#include "app.h"
#include "extcap.h"

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *summary;
} commands[] = {
	{"run", tl_cmd_run, "run the appliance that a configuration describes"},
	{"capture", tl_cmd_capture, "record a port to a pcapng file"},
	{"doctor", tl_cmd_doctor, "is this host fit, and how to mend it"},
	{"client", tl_cmd_client, "measure an echo from outside"},
	{"latency", tl_cmd_latency, "tell latencies out of captures"},
	{"extract", tl_cmd_extract, "copy packets out of recordings"},
	{"recover", tl_cmd_recover, "make what a crash left of recordings valid files"},
	{"bench", tl_cmd_bench, "measure what a recording costs on this host"},
	{"bind", tl_cmd_bind, "give NICs to DPDK"},
	{"unbind", tl_cmd_unbind, "give NICs back to the kernel"},
	{"status", tl_cmd_status, "ask a running appliance for its counters"},
	{"top", tl_cmd_top, "watch what a running appliance does per second"},
	{"control", tl_cmd_control, "trigger, pause, resume or rotate the recordings of a running appliance"},
};

static void print_usage(FILE *out)
{
	fprintf(out, "usage: tapline COMMAND [options]\n\n");
	for (size_t i = 0; i < TL_ARRAY_LEN(commands); i++)
		fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
	fprintf(out, "\n`tapline COMMAND --help` explains a command; `tapline --version` prints the version.\n"
		     "Exit status: 0 ok, 1 the work failed, 2 the call or the configuration was wrong.\n");
}

int main(int argc, char **argv)
{
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
	if (tl_extcap_is_meant(argv[1]))
		return tl_extcap(argc, argv);
	for (size_t i = 0; i < TL_ARRAY_LEN(commands); i++)
		if (strcmp(argv[1], commands[i].name) == 0)
			return commands[i].run(argc - 1, argv + 1);
	fprintf(stderr, "tapline: error: there is no command \"%s\"\n\n", argv[1]);
	print_usage(stderr);
	return TL_EXIT_USAGE;
}
