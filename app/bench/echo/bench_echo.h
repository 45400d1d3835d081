// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// bench_echo: what each way of returning bytes costs on this host: the relays of lib/measure/relay and Tapline itself,
// one after another, between two network namespaces of bench_rig, measured by `tapline client`.
//
// Threads: main. Memory: the result is the caller's; tl_bench_echo_free() releases its rows.

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <tl_hist.h>
#include <tl_relay.h>

#include "bench_list.h"

#define TL_BENCH_ECHO_SIZE_MIN 8
#define TL_BENCH_ECHO_SIZE_MAX 1048576
#define TL_BENCH_ECHO_DATAGRAM 1472    // largest that is one frame
#define TL_BENCH_ECHO_RATE_PPS 5000    // messages per second while round trips are measured
#define TL_BENCH_ECHO_BULK_MSGS 100000 // messages of a bulk run of 1 s, and
#define TL_BENCH_ECHO_BULK_BYTES 400e6 // bytes at most
#define TL_BENCH_ECHO_RUNGS_MAX 16

enum tl_bench_echo_protocol { TL_BENCH_ECHO_UDP_TCP, TL_BENCH_ECHO_TCP_TCP, TL_BENCH_ECHO_PROTOCOLS };

struct tl_bench_echo_rung {
	const char *name, *than, *why;
	const struct tl_relay *relay;	   // NULL: the appliance
	const char *device, *idle, *never; // of the appliance; never: why no host can run it
	bool nic;			   // its device is tl_bench_echo_cfg.port
};

struct tl_bench_echo_cfg {
	double seconds; // of a run
	uint32_t sizes[TL_BENCH_SIZES_MAX], n_sizes;
	const char *rungs; // names, separated by commas; NULL: all
	const char *port;  // PCI address or vdev: of the appliance; NULL: none
	const char *peer;  // with it: PORT of the client
	const atomic_bool *stop;
};

// Messages of one run of the client.
struct tl_bench_echo_run {
	uint64_t sent, received, lost, corrupt, duplicated, reordered; // sent 0: there was no such run
	uint64_t elapsed_ns;	    // from the first message due to the last echo, or the last send if one was lost
	struct tl_hist_summary rtt; // of user space, without the first echo
	char invalid[160];	    // the client's doubt about its times; "": none
};

struct tl_bench_echo_row {
	const struct tl_bench_echo_rung *rung;
	enum tl_bench_echo_protocol protocol;
	uint32_t size_bytes;		      // as asked for
	uint32_t message_bytes;		      // of each message: a datagram has a limit
	char refused[512];		      // "": it ran
	bool hugepages;			      // of the appliance on a NIC
	struct tl_bench_echo_run paced, bulk; // paced: of messages that fit into a datagram
};

struct tl_bench_echo_result {
	double seconds;
	uint32_t cpus;
	const char *port, *peer; // as of the configuration; NULL: none
	bool interrupted;
	struct tl_bench_echo_rung rungs[TL_BENCH_ECHO_RUNGS_MAX];
	struct tl_bench_echo_row *rows;
	unsigned n_rows;
};

// Check whether every name of a list is a rung.
bool tl_bench_echo_known(const char *names);

// "udp-tcp" or "tcp-tcp".
const char *tl_bench_echo_protocol_name(enum tl_bench_echo_protocol protocol);

// Return messages per second of the bulk run; 0: there was none.
double tl_bench_echo_bulk_pps(const struct tl_bench_echo_row *row);

// Run the benchmark. Return 0, also if it was interrupted; or -errno with a message in *err.
int tl_bench_echo(const struct tl_bench_echo_cfg *cfg, struct tl_bench_echo_result *result, struct tl_err *err);
void tl_bench_echo_free(struct tl_bench_echo_result *result);
