// SPDX-License-Identifier: BSD-3-Clause
// tapline capture: records a port; the configuration of `tapline run` made from a command line.

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tl_err.h>
#include <tl_log.h>
#include <tl_units.h>

#include "app.h"
#include "appliance.h"
#include "finish.h"
#include "hugepages.h"
#include "plan.h"

#define MEMORY_MB 160 // beside the buffers: EAL, mbufs

static const char help[] =
	"usage: tapline capture -i PORT -w FILE [options] [FILTER]\n"
	"\n"
	"Records the frames of PORT that pass FILTER (tcpdump's syntax) to FILE, pcapng with nanoseconds, until SIGINT or\n"
	"SIGTERM, and prints the loss ledger. SIGHUP begins a new file.\n"
	"\n"
	"PORT: a kernel interface (eth0), xdp:INTERFACE, pcap:FILE, a PCI address (0000:3b:00.0) or vdev:DEVARGS.\n"
	"\n"
	"  -i, --port PORT         what to record\n"
	"  -w, --write FILE        where to; - is stdout, and results go to stderr then; null: discards, to measure\n"
	"      --buffer SIZE       memory between the port and the disk, per receive queue (default 64M)\n"
	"      --count N           end after N recorded frames\n"
	"      --direction DIR     rx, tx or both (default both)\n"
	"      --duration S        end after S seconds\n"
	"      --fail-on-loss      exit 1 if a frame was lost, even though it was counted\n"
	"      --fsync WHEN        force a file to the disk: never (default), or at its close\n"
	"      --json              the results as one JSON object\n"
	"      --no-promisc        leave promiscuous mode as it is\n"
	"      --queues N          receive queues, one CPU each (default 1)\n"
	"      --snaplen N         record at most N bytes of each frame (14..262144)\n"
	"      --take              allow xdp: on the interface of the default route or of the login\n"
	"  -h, --help              this text\n"
	"\n"
	"Several files: FILE may hold %Y %m %d %H %M %S %j %y %s %F %T, in UTC; a name that is taken gets a number. With one\n"
	"of the first three options nothing is overwritten, and a file is called FILE.part until it is complete.\n"
	"\n"
	"      --rotate SIZE       begin a new file when this one would be larger (at least 4M)\n"
	"      --rotate-seconds S  at multiples of S since 1970, so 3600 is every full hour\n"
	"      --rotate-packets N  when this one would hold more frames\n"
	"      --keep-files N      drop the oldest file when there are more than N (at least 2)\n"
	"      --keep-bytes SIZE   drop the oldest file when all take more (at least 8M and twice --rotate)\n"
	"      --min-free SIZE     drop the oldest file when less is free on the disk\n"
	"      --on-full WHAT      pause: count what is lost until there is room (default); recycle: drop the oldest file\n";

struct options {
	struct tl_config config;
	struct tl_appliance_opts run;
	struct tl_finish_opts finish;
};

static int usage(const char *what, const char *value)
{
	tl_error("%s%s%s (see `tapline capture --help`)", what, value != NULL ? ": " : "", value != NULL ? value : "");
	return TL_EXIT_USAGE;
}

// The index of text among n names, or -1.
static int choose(const char *text, const char *const *names, int n)
{
	for (int i = 0; i < n; i++)
		if (strcmp(text, names[i]) == 0)
			return i;
	return -1;
}

static int parse_direction(const char *text, enum tl_config_direction *out)
{
	static const char *const names[] = {[TL_CONFIG_BOTH] = "both", [TL_CONFIG_RX] = "rx", [TL_CONFIG_TX] = "tx"};
	int i = choose(text, names, TL_ARRAY_LEN(names));

	*out = (enum tl_config_direction)i;
	return i < 0 ? -1 : 0;
}

static const struct option option_table[] = {{"port", required_argument, NULL, 'i'},
	{"write", required_argument, NULL, 'w'}, {"buffer", required_argument, NULL, 'b'},
	{"count", required_argument, NULL, 'c'}, {"direction", required_argument, NULL, 'D'},
	{"duration", required_argument, NULL, 'd'}, {"fail-on-loss", no_argument, NULL, 'f'},
	{"json", no_argument, NULL, 'j'}, {"no-promisc", no_argument, NULL, 'P'},
	{"queues", required_argument, NULL, 'q'}, {"rotate", required_argument, NULL, 'r'},
	{"rotate-seconds", required_argument, NULL, 'S'}, {"rotate-packets", required_argument, NULL, 'N'},
	{"keep-files", required_argument, NULL, 'k'}, {"keep-bytes", required_argument, NULL, 'K'},
	{"min-free", required_argument, NULL, 'm'}, {"on-full", required_argument, NULL, 'F'},
	{"fsync", required_argument, NULL, 'y'}, {"snaplen", required_argument, NULL, 's'},
	{"take", no_argument, NULL, 't'}, {"help", no_argument, NULL, 'h'}, {0}};

// An option about the files. Returns NULL, or what is wrong with its value.
static const char *set_file_value(struct tl_config_capture *capture, int c, const char *value)
{
	static const char *const fulls[] = {[TL_CONFIG_FULL_PAUSE] = "pause", [TL_CONFIG_FULL_RECYCLE] = "recycle"};
	static const char *const fsyncs[] = {[TL_CONFIG_FSYNC_NEVER] = "never", [TL_CONFIG_FSYNC_CLOSE] = "close"};
	uint64_t n = 0;
	int i;

	switch (c) {
	case 'r':
		return tl_parse_bytes(value, &capture->rotate_bytes) == 0 && capture->rotate_bytes >= 4u << 20
			       ? NULL
			       : "--rotate takes a size of at least 4M";
	case 'S':
		return tl_parse_u64(value, 1, 31536000, &capture->rotate_seconds) == 0
			       ? NULL
			       : "--rotate-seconds takes a number from 1 to 31536000";
	case 'N':
		return tl_parse_u64(value, 1, UINT64_C(1) << 53, &capture->rotate_packets) == 0
			       ? NULL
			       : "--rotate-packets takes a whole number from 1";
	case 'k':
		if (tl_parse_u64(value, 2, 1000000, &n) != 0)
			return "--keep-files takes a number from 2 to 1000000";
		capture->keep_files = (uint32_t)n;
		return NULL;
	case 'K':
		return tl_parse_bytes(value, &capture->keep_bytes) == 0 && capture->keep_bytes >= 8u << 20
			       ? NULL
			       : "--keep-bytes takes a size of at least 8M";
	case 'm':
		return tl_parse_bytes(value, &capture->min_free_bytes) == 0 ? NULL : "--min-free takes a size";
	case 'F':
		i = choose(value, fulls, TL_ARRAY_LEN(fulls));
		capture->on_full = (enum tl_config_disk_full)i;
		return i >= 0 ? NULL : "--on-full is pause or recycle";
	case 'y':
		i = choose(value, fsyncs, TL_ARRAY_LEN(fsyncs));
		capture->fsync = (enum tl_config_fsync)i;
		return i >= 0 ? NULL : "--fsync is never or close";
	default:
		return "unknown option";
	}
}

// Options about the files that contradict each other. Returns NULL, or what is wrong.
static const char *check_files(const struct tl_config_capture *capture)
{
	bool rotates = capture->rotate_bytes != 0 || capture->rotate_seconds != 0 || capture->rotate_packets != 0;
	bool limited = capture->keep_files != 0 || capture->keep_bytes != 0 || capture->min_free_bytes != 0 ||
		       capture->on_full == TL_CONFIG_FULL_RECYCLE;

	if (limited && !rotates)
		return "only a recording that begins new files has old ones to drop: give --rotate, --rotate-seconds or "
		       "--rotate-packets";
	if (capture->keep_bytes != 0 && capture->keep_bytes / 2 < capture->rotate_bytes)
		return "--keep-bytes is less than two files of --rotate";
	return NULL;
}

// An option that takes a value. Returns NULL, or what is wrong with the value.
static const char *set_value(struct options *o, int c, char *value)
{
	struct tl_config_port *port = &o->config.ports[0];
	struct tl_config_capture *capture = &o->config.captures[0];
	uint64_t n = 0;

	switch (c) {
	case 'i':
		port->device = value;
		return NULL;
	case 'w':
		capture->path = value;
		return NULL;
	case 'b':
		return tl_parse_bytes(value, &capture->buffer_bytes) == 0 && capture->buffer_bytes >= 4u << 20 &&
				       capture->buffer_bytes <= UINT64_C(64) << 30
			       ? NULL
			       : "--buffer takes a size from 4M to 64G";
	case 'c':
		return tl_parse_u64(value, 1, INT64_MAX, &capture->count) == 0 ? NULL
									       : "--count takes a whole number from 1";
	case 'D':
		return parse_direction(value, &capture->direction) == 0 ? NULL : "--direction is rx, tx or both";
	case 'd':
		return tl_parse_seconds(value, &o->run.duration_ns) == 0 && o->run.duration_ns != 0
			       ? NULL
			       : "--duration takes a number of seconds greater than 0";
	case 'q':
		if (tl_parse_u64(value, 1, TL_CONFIG_QUEUES_MAX, &n) != 0)
			return "--queues takes a number from 1 to 16";
		port->rx_queues = (uint32_t)n;
		return NULL;
	case 's':
		if (tl_parse_u64(value, 14, 262144, &n) != 0)
			return "--snaplen takes a number of bytes from 14 to 262144";
		capture->snaplen = (uint32_t)n;
		return NULL;
	default:
		return set_file_value(capture, c, value);
	}
}

static void set_flag(struct options *o, int c)
{
	o->finish.fail_on_loss |= c == 'f';
	o->finish.json |= c == 'j';
	o->config.ports[0].promisc &= c != 'P';
	o->config.ports[0].take |= c == 't';
}

static void set_defaults(struct options *o)
{
	static char place[] = "command line", port_name[] = "port0";

	*o = (struct options){.config = {.file = place, .n_ports = 1, .n_captures = 1},
		.run = {.expire = true, .end_with_input = true, .progress = true}};
	o->config.ports[0] = (struct tl_config_port){.name = port_name, .rx_queues = 1, .mtu = 1500, .promisc = true};
	for (unsigned q = 0; q < TL_CONFIG_QUEUES_MAX; q++)
		o->config.ports[0].lcores[q] = TL_CONFIG_LCORE_AUTO;
	o->config.captures[0] = (struct tl_config_capture){.port_name = port_name, .buffer_bytes = 64u << 20};
}

// The rest of the command line, joined by spaces as tcpdump does. Empty: NULL. The caller frees.
static char *join_filter(int argc, char **argv)
{
	size_t size = 1;

	for (int i = optind; i < argc; i++)
		size += strlen(argv[i]) + 1;
	char *filter = size > 1 ? calloc(1, size) : NULL;
	for (int i = optind; i < argc && filter != NULL; i++) {
		strcat(filter, argv[i]);
		if (i + 1 < argc)
			strcat(filter, " ");
	}
	return filter;
}

// Returns -1 to go on, else an exit status.
static int parse(int argc, char **argv, struct options *o)
{
	int c;

	while ((c = getopt_long(argc, argv, "+i:w:h", option_table, NULL)) != -1) {
		if (c == 'h') {
			fputs(help, stdout);
			return TL_EXIT_OK;
		}
		if (c == '?') // getopt has said what is wrong
			return TL_EXIT_USAGE;
		if (optarg == NULL || strchr("fjPt", c) != NULL) {
			set_flag(o, c);
			continue;
		}
		const char *wrong = set_value(o, c, optarg);
		if (wrong != NULL)
			return usage(wrong, optarg);
	}
	if (o->config.ports[0].device == NULL)
		return usage("which port? give -i PORT", NULL);
	if (o->config.captures[0].path == NULL)
		return usage("where to? give -w FILE", NULL);
	const char *wrong = check_files(&o->config.captures[0]);
	if (wrong != NULL)
		return usage(wrong, NULL);
	o->config.captures[0].filter = join_filter(argc, argv);
	o->finish.to_stderr = strcmp(o->config.captures[0].path, "-") == 0;
	return -1;
}

int tl_cmd_capture(int argc, char **argv)
{
	struct options o;

	set_defaults(&o);
	int status = parse(argc, argv, &o);
	if (status >= 0)
		return status;
	tl_appliance_block_signals();
	uint64_t buffers_mb = (o.config.captures[0].buffer_bytes >> 20) * o.config.ports[0].rx_queues;
	o.config.eal.main_lcore = tl_plan_first_cpu();
	o.config.eal.memory_mb = (uint32_t)(MEMORY_MB + buffers_mb);
	o.config.eal.huge = tl_hugepages_free_mb() >= o.config.eal.memory_mb;
	status = tl_run_and_report(&o.config, &o.run, &o.finish);
	free(o.config.captures[0].filter);
	return status;
}
