// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// selftest: sends frames of its own from one port to another that a cable joins it to, or around one port, and compares
// what arrives with what the card, its driver and our account of both say: link, counters, RSS, stamps, drops, rate.
// A check passes, fails, or was not available for a reason; none is judged by what could not be seen.
//
// Threads: one; *stop may be set from anywhere, also from a signal handler.
// Memory:  run() allocates, fini() frees; ports and clock are borrowed for the call. Needs EAL.

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include <tl_clock.h>
#include <tl_port.h>

struct tl_err;

#define TL_SELFTEST_PORTS 2
#define TL_SELFTEST_CHECKS 32
#define TL_SELFTEST_RX_QUEUES 4 // what a port should be opened with, where it has them

enum tl_selftest_verdict { TL_SELFTEST_PASS, TL_SELFTEST_FAIL, TL_SELFTEST_NOT_AVAILABLE, TL_SELFTEST_VERDICTS };

struct tl_selftest_check {
	const char *id;	   // "link", "cable", ...; static
	unsigned from, to; // ports: what was sent by the first and received by the second
	enum tl_selftest_verdict verdict;
	char text[256];	 // a sentence: what was seen, or why nothing was
	json_t *figures; // an object
};

struct tl_selftest_cfg {
	struct tl_port *ports[TL_SELFTEST_PORTS]; // started, promiscuous, with a send queue each
	unsigned n_ports;			  // 1: what it sends comes back to it
	struct tl_clock *clock;
	uint32_t run;		 // random: frames of another run are not taken for ours
	uint64_t link_wait_ns;	 // for links that are not up yet
	uint64_t silence_ns;	 // after which a frame that has not arrived is lost
	uint64_t rate_ns;	 // of each measurement of a rate
	const atomic_bool *stop; // NULL: never
	void (*progress)(void *ctx, const struct tl_selftest_check *check); // before each check, which has id and way
	void *ctx;
};

struct tl_selftest_result {
	unsigned n;
	struct tl_selftest_check checks[TL_SELFTEST_CHECKS];
	unsigned counts[TL_SELFTEST_VERDICTS];
	uint64_t foreign_pkts; // received frames that were none of ours
};

// Returns 0 with every check in *out, -EINTR when it was stopped, or another -errno with a sentence. In each case *out
// is the caller's to give to fini().
int tl_selftest_run(const struct tl_selftest_cfg *cfg, struct tl_selftest_result *out, struct tl_err *err);
void tl_selftest_fini(struct tl_selftest_result *result);

const char *tl_selftest_verdict_name(enum tl_selftest_verdict verdict); // "pass", "fail", "not available"

// The checks as an array; NULL without memory. The caller's.
json_t *tl_selftest_checks_json(const struct tl_selftest_result *result);

// What a started port and its driver say of themselves, with every counter that is not 0; NULL without memory. No
// address of the port's own is in it. The caller's.
json_t *tl_selftest_port_json(struct tl_port *port);
