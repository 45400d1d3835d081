// SPDX-License-Identifier: BSD-3-Clause
// tapline bench: measure this host.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tl_err.h>
#include <tl_log.h>
#include <tl_options.h>
#include <tl_rates.h>
#include <tl_units.h>

#include "app.h"
#include "bench_echo.h"
#include "bench_ladders.h"
#include "bench_qualify.h"
#include "bench_rx.h"
#include "bench_show.h"
#include "manifest.h"
#include "stop.h"

#define DISK_BYTES (UINT64_C(4) << 30)
#define DISK_BYTES_MIN (UINT64_C(64) << 20)
#define CACHE_BYTES_MIN (UINT64_C(1) << 20)

struct options {
	struct tl_bench_overhead_cfg cfg;
	struct tl_bench_rx_cfg rx;
	struct tl_bench_echo_cfg echo;
	struct tl_qualify_cfg qualify;
	uint64_t seconds_ns; // 0: the benchmark's default
	const char *sizes;   // NULL: the benchmark's default
	const char *rungs;   // NULL: all
	const char *interface, *peer;
	uint64_t rounds, rate_pps, payload_bytes; // of overhead; 0: the default
	uint64_t senders, disk_bytes;		  // of rx, of qualify; 0: the default
	uint64_t cache_bytes;			  // of qualify; 0: unknown
	const char *html;
	bool json;
	const char *benchmark;
};

static const struct tl_option options[] = {
	{"seconds", 0, "S",
		"length of each run, at most 3600: overhead, from 0.1 (default 1), for single messages and for bursts; rx, from 0.01 (default 0.25); echo, from 0.01 (default 1); qualify, per stage (default 5)",
		TL_INTO(SECONDS, struct options, seconds_ns, "--seconds is a number from 0.01 to 3600",
			TL_NS_PER_S / 100, 3600 * TL_NS_PER_S)},
	{"json", 0, NULL,
		"print the results as one JSON object; overhead: order, residence, wire_round_trip, back_to_back, round_trip, outside, wire_to_poll or the reason for its absence; rx and echo: host, rungs",
		TL_INTO(FLAG, struct options, json)},
	{"html", 0, "FILE", "write a page: the tables of overhead, or a bar per rung and size",
		.choices = TL_CHOICES_FILE, TL_INTO(TEXT, struct options, html)},
	TL_OPTION_HELP,
	{.help = "Options of rx and echo:"},
	{"sizes", 0, "N,...",
		"up to 8 sizes; rx: bytes of a frame without FCS, 60 to 1514 (default 60,512,1514); echo: bytes of a message, 8 to 1048576 (default 16,1000000)",
		TL_INTO(TEXT, struct options, sizes)},
	{"rungs", 0, "NAME,...", "run these methods only", TL_INTO(TEXT, struct options, rungs)},
	{"interface", 'i', "PORT",
		"rx: receive the traffic of this interface or port, and send nothing without --peer; echo: run the appliance on this port, with --peer. A kernel interface (not echo), a PCI address or vdev:DEVARGS (default: a private veth pair)",
		.choices = TL_CHOICES_INTERFACE, TL_INTO(TEXT, struct options, interface)},
	{"peer", 0, "PORT",
		"a port wired to that of -i: rx sends on it, the client of echo runs on it. A kernel interface, a PCI address or vdev:DEVARGS",
		.choices = TL_CHOICES_INTERFACE, TL_INTO(TEXT, struct options, peer)},
	{.help = "Options of overhead:"},
	{"rounds", 0, "N",
		"number of rounds, 6 to 840 (default: the least that is balanced and bounds all differences, 10 to 14)",
		TL_INTO(NUMBER, struct options, rounds,
			"--rounds is a whole number from 6 to 840: fewer rounds bound no difference",
			TL_BENCH_ROUNDS_MIN, TL_BENCH_ROUNDS_MAX)},
	{"rate", 0, "N", "messages per second, 1 to 1000000 (default 10000)",
		TL_INTO(NUMBER, struct options, rate_pps, "--rate is a whole number from 1 to 1000000", 1, 1000000)},
	{"payload", 0, "N", "bytes of a message, 8 to 1472 (default 16)",
		TL_INTO(NUMBER, struct options, payload_bytes, "--payload is a whole number from 8 to 1472", 8, 1472)},
	{.help = "Options of rx:"},
	{"senders", 0, "N",
		"threads that send, on the first CPUs, 1 to 8 (default: half of the CPUs); a port of a DPDK driver sends with one",
		TL_INTO(NUMBER, struct options, senders, "--senders is a whole number from 1 to 8", 1,
			TL_BENCH_RX_SENDERS_MAX)},
	{"take", 0, NULL,
		"with -i: allow AF_XDP and io_uring-zc rungs, which take the frames from the kernel during their run, and dpdk-af_packet, which clears the interface's neighbour entries",
		TL_INTO(FLAG, struct options, rx.take)},
	{.help = "Options of qualify:"},
	{"config", 'c', "CONFIG", "configuration to qualify; required", .choices = TL_CHOICES_FILE,
		TL_INTO(TEXT, struct options, qualify.config)},
	{"disk", 0, "SIZE", "limit of the disk space for all recordings during the runs (default 4G)",
		TL_INTO(SIZE, struct options, disk_bytes, "--disk is a size of at least 64M, such as 4G",
			DISK_BYTES_MIN, UINT64_MAX)},
	{"cache", 0, "SIZE",
		"cache of the drive: stages that write go on until twice of it is written, and --disk is by default at least as much",
		TL_INTO(SIZE, struct options, cache_bytes, "--cache is a size of at least 1M, such as 6G",
			CACHE_BYTES_MIN, UINT64_C(1) << 50)},
};

const struct tl_command tl_bench_command = {
	.name = "bench",
	.summary = "measure the cost of recording, receiving and echoing on this host",
	.usage = "bench overhead [options]\n"
		 "bench rx [options]\n"
		 "bench echo [options]\n"
		 "bench qualify -c CONFIG [options]",
	.about =
		"overhead: cost of a recording to an echo. Runs the appliance between two private network namespaces, multicast in and\n"
		"TCP out: without a recording, with one, with an index, with the stamps of the stages, and with tcpdump or dumpcap on\n"
		"the same interface if they are installed. Each variant follows each other one equally often. Shows the residence time\n"
		"of a message in the appliance, its round trip on the wire, that of the second of two messages back to back, and the\n"
		"round trip seen by a client; and the differences to the echo alone, with intervals that hold jointly per table with\n"
		"95 % confidence. A recording runs after the echo: the first table cannot show its cost.\n\n"
		"rx: cost of receiving a frame. Runs the receive methods of Linux and DPDK, and a capture to null, on the same frames:\n"
		"highest rate without loss, CPU time, wake-ups and latency, with the cause of each difference. Methods refused by the\n"
		"kernel or the driver have the reason in their row. On a port that a DPDK driver has, its own methods run.\n\n"
		"echo: cost of echoing. Runs the echo methods of kernel sockets, and the appliance, between two private network\n"
		"namespaces, UDP in and TCP out, and TCP both ways: round trips of small messages, throughput, lost and wrong\n"
		"messages, all with the same client, with the cause of each difference. With -i and --peer also the appliance on a\n"
		"port that a DPDK driver has, with Tapline's own client.\n\n"
		"qualify: capacity of this host for a configuration. Runs its ports on frames in memory: without recordings, with\n"
		"discarded slabs, with the filters, with the writer, with the disk, with the index, and as configured. Shows the rate of\n"
		"each stage, the limiting stage, the longest write stall and the time covered by the buffers. Writes to a ring of files of\n"
		"at most --disk beside the recordings, and removes it. With --cache a run writes at least twice the cache of the drive,\n"
		"for the rate beyond it.\n\n"
		"Needs root and iproute2, all but rx also ethtool, and an otherwise idle host.",
	.words = "overhead rx echo qualify",
	TL_OPTIONS(options),
};

static double seconds(const struct options *o, double fallback)
{
	return o->seconds_ns != 0 ? (double)o->seconds_ns / (double)TL_NS_PER_S : fallback;
}

// True if an option of `bench rx` alone is given.
static bool is_rx_only(const struct options *o)
{
	return o->rx.take || o->senders != 0;
}

// Return NULL, or an error text.
static const char *choose_overhead(struct options *o)
{
	if (o->sizes != NULL || o->rungs != NULL || o->interface != NULL || o->peer != NULL || is_rx_only(o))
		return "--take and --senders are options of `bench rx`, --interface and --peer of rx and echo, --sizes and --rungs of the others";
	o->cfg.rounds = (unsigned)o->rounds;
	o->cfg.rate_pps = o->rate_pps != 0 ? o->rate_pps : 10000;
	o->cfg.payload_bytes = o->payload_bytes != 0 ? o->payload_bytes : 16;
	o->cfg.seconds = seconds(o, 1);
	return o->cfg.seconds < 0.1 ? "--seconds of `bench overhead` is a number from 0.1 to 3600" : NULL;
}

// Return NULL, or what is wrong with the ports.
static const char *check_ports(const struct options *o)
{
	if (o->peer == NULL)
		return NULL;
	if (o->interface == NULL)
		return "--peer needs --interface, the port at the other end of the wire";
	return strcmp(o->peer, o->interface) == 0 ? "--peer and --interface are the same port" : NULL;
}

static const char *choose_rx(struct options *o)
{
	o->rx.seconds = seconds(o, 0.25);
	o->rx.senders = (uint32_t)o->senders;
	o->rx.rungs = o->rungs;
	o->rx.ifname = o->interface;
	o->rx.peer = o->peer;
	if (tl_bench_sizes(o->sizes != NULL ? o->sizes : "60,512,1514", TL_LADDER_SIZE_MIN, TL_LADDER_SIZE_MAX,
		    o->rx.sizes, &o->rx.n_sizes) != 0)
		return "--sizes is up to 8 different whole numbers from 60 to 1514, such as 60,512,1514";
	if (o->rungs != NULL && !tl_bench_rx_known(o->rungs))
		return "--rungs has a name that is no rung";
	if (o->rx.senders != 0 && o->rx.ifname != NULL && o->rx.peer == NULL)
		return "--senders: with --interface nothing is sent without --peer";
	return o->rx.take && o->rx.ifname == NULL ? "--take needs --interface" : check_ports(o);
}

static const char *choose_echo(struct options *o)
{
	if (is_rx_only(o))
		return "--take and --senders are options of `bench rx`";
	if (o->interface != NULL && o->peer == NULL)
		return "--interface needs --peer, the port on which the client runs";
	o->echo.seconds = seconds(o, 1);
	o->echo.rungs = o->rungs;
	o->echo.port = o->interface;
	o->echo.peer = o->peer;
	if (tl_bench_sizes(o->sizes != NULL ? o->sizes : "16,1000000", TL_BENCH_ECHO_SIZE_MIN, TL_BENCH_ECHO_SIZE_MAX,
		    o->echo.sizes, &o->echo.n_sizes) != 0)
		return "--sizes is up to 8 different whole numbers from 8 to 1048576, such as 16,1000000";
	return o->rungs != NULL && !tl_bench_echo_known(o->rungs) ? "--rungs has a name that is no rung"
								  : check_ports(o);
}

static const char *choose_qualify(struct options *o)
{
	if (is_rx_only(o) || o->interface != NULL || o->peer != NULL || o->rungs != NULL)
		return "--interface, --peer, --take, --senders and --rungs are not options of `bench qualify`";
	if (o->html != NULL)
		return "`bench qualify` has no page: give --json";
	if (o->qualify.config == NULL)
		return "`bench qualify` needs a configuration: give -c CONFIG";
	o->qualify.seconds = seconds(o, 5);
	o->qualify.cache_bytes = o->cache_bytes;
	o->qualify.disk_bytes = o->disk_bytes != 0 ? o->disk_bytes : tl_max_u64(DISK_BYTES, 2 * o->cache_bytes);
	return tl_bench_sizes(o->sizes != NULL ? o->sizes : "60,508,1514", TL_LADDER_SIZE_MIN, TL_LADDER_SIZE_MAX,
		       o->qualify.sizes, &o->qualify.n_sizes) == 0
		       ? NULL
		       : "--sizes is up to 8 different whole numbers from 60 to 1514, such as 60,508,1514";
}

// Return NULL, or an error text: which benchmark, and do the options belong to it?
static const char *choose(struct options *o, int words, char **word)
{
	o->benchmark = words == 1 ? word[0] : "";
	if (strcmp(o->benchmark, "qualify") != 0 &&
		(o->qualify.config != NULL || o->disk_bytes != 0 || o->cache_bytes != 0))
		return "--config, --disk and --cache are options of `bench qualify`";
	if (strcmp(o->benchmark, "overhead") == 0)
		return choose_overhead(o);
	if (o->rounds != 0 || o->rate_pps != 0 || o->payload_bytes != 0)
		return "--rounds, --rate and --payload are options of `bench overhead`";
	if (strcmp(o->benchmark, "rx") == 0)
		return choose_rx(o);
	if (strcmp(o->benchmark, "echo") == 0)
		return choose_echo(o);
	return strcmp(o->benchmark, "qualify") == 0 ? choose_qualify(o)
						    : "which benchmark? there are four: overhead, rx, echo, qualify";
}

// Return -1 to continue, else the exit status of the program.
static int parse(int argc, char **argv, struct options *o)
{
	int status = tl_set_options(&tl_bench_command, argc, argv, NULL, o);

	if (status >= 0)
		return status;
	const char *wrong = choose(o, argc - optind, argv + optind);
	return wrong != NULL ? tl_misuse(&tl_bench_command, wrong, NULL) : -1;
}

static int print(const struct options *o, const struct tl_bench_result *result, const json_t *manifest)
{
	if (!o->json) {
		int rc = tl_bench_print(result, stdout);
		return rc == 0 ? tl_manifest_print(manifest, stdout) : rc;
	}
	json_t *json = tl_bench_json(result);
	tl_manifest_put(manifest, TL_SCHEMA_BENCH_OVERHEAD, json);
	int rc = tl_latency_json_print(json, stdout);
	json_decref(json);
	return rc;
}

static int bench(const struct options *o, struct tl_bench_result *result, json_t *manifest)
{
	const struct tl_latency_files files = {.html = o->html};
	struct tl_err err;

	if (tl_latency_files_check(&files, &err) != 0) {
		tl_error("%s", err.text);
		return TL_EXIT_USAGE;
	}
	if (tl_bench_overhead(&o->cfg, result, &err) != 0) {
		tl_error("%s", err.text);
		return TL_EXIT_FAILED;
	}
	tl_manifest_set_match(manifest, json_pack("{s:s, s:n}", "method", "number", "window_ns"));
	int rc = print(o, result, manifest); // first: a file error must not lose the results of a long run
	if (rc != 0)
		tl_error("cannot print the results: %s", strerror(-rc));
	result->views[0]->manifest = manifest; // on the page; in the JSON it is beside the views
	if (tl_latency_save(result->views[0], &files, &err) != 0) {
		tl_error("%s", err.text);
		return TL_EXIT_FAILED;
	}
	return rc == 0 ? TL_EXIT_OK : TL_EXIT_FAILED;
}

static bool create_views(struct tl_bench_result *result)
{
	for (enum tl_bench_view view = 0; view < TL_BENCH_VIEWS; view++)
		if ((result->views[view] = tl_latency_create()) == NULL)
			return false;
	return true;
}

static int bench_overhead(const struct options *o, json_t *manifest)
{
	struct tl_bench_result result = {.variants = 0};
	int status = TL_EXIT_FAILED;

	if (manifest != NULL && create_views(&result))
		status = bench(o, &result, manifest);
	else
		tl_error("not enough memory");
	for (enum tl_bench_view view = 0; view < TL_BENCH_VIEWS; view++)
		tl_latency_destroy(result.views[view]);
	return status;
}

int tl_cmd_bench(int argc, char **argv)
{
	const atomic_bool *stop = tl_stop_on_signals();
	struct options o = {
		.cfg = {.stop = stop}, .rx = {.stop = stop}, .echo = {.stop = stop}, .qualify = {.stop = stop}};
	int status = parse(argc, argv, &o);

	if (status >= 0)
		return status;
	json_t *manifest = tl_manifest_create("");
	const struct tl_bench_output output = {o.json, o.html, manifest};
	if (strcmp(o.benchmark, "rx") == 0)
		status = tl_bench_rx_main(&o.rx, &output);
	else if (strcmp(o.benchmark, "echo") == 0)
		status = tl_bench_echo_main(&o.echo, &output);
	else if (strcmp(o.benchmark, "qualify") == 0)
		status = tl_qualify_main(&o.qualify, &output);
	else
		status = bench_overhead(&o, manifest);
	json_decref(manifest);
	return status;
}
