// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// selftest: sends frames from one port to another that is connected by a cable, or around one port, and compares the
// frames received with the counts of the card, of its driver and of the account: link, counters, RSS, stamps, drops,
// rate. A check passes, fails, or was not available for a reason; nothing unobservable is judged.
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
#define TL_SELFTEST_RX_QUEUES 4 // recommended for ports, if they have them

enum tl_selftest_verdict { TL_SELFTEST_PASS, TL_SELFTEST_FAIL, TL_SELFTEST_NOT_AVAILABLE, TL_SELFTEST_VERDICTS };

struct tl_selftest_check {
	const char *id;	   // "link", "cable", ...; static
	unsigned from, to; // ports: sender and receiver
	enum tl_selftest_verdict verdict;
	char text[256];	 // a sentence: the observation, or why there is none
	json_t *figures; // an object
};

struct tl_selftest_cfg {
	struct tl_port *ports[TL_SELFTEST_PORTS]; // started, promiscuous, with a send queue each
	unsigned n_ports;			  // 1: its own frames return to it
	struct tl_clock *clock;
	uint32_t run;		 // random: distinguishes frames of another run
	uint64_t link_wait_ns;	 // for links that are not up yet
	uint64_t silence_ns;	 // time after which a frame that has not arrived is lost
	uint64_t rate_ns;	 // of each measurement of a rate
	const atomic_bool *stop; // NULL: never
	void (*progress)(void *ctx, const struct tl_selftest_check *check); // called before each check, with id and way
	void *ctx;
};

struct tl_selftest_result {
	unsigned n;
	struct tl_selftest_check checks[TL_SELFTEST_CHECKS];
	unsigned counts[TL_SELFTEST_VERDICTS];
	uint64_t foreign_pkts; // received frames of other senders
};

// Run the checks. Return 0 with every check in *out, -EINTR when it was stopped, or another -errno with a message. In
// each case the caller passes *out to fini().
int tl_selftest_run(const struct tl_selftest_cfg *cfg, struct tl_selftest_result *out, struct tl_err *err);
void tl_selftest_fini(struct tl_selftest_result *result);

const char *tl_selftest_verdict_name(enum tl_selftest_verdict verdict); // "pass", "fail", "not available"

// Return the checks as an array; NULL without memory. The caller's.
json_t *tl_selftest_checks_json(const struct tl_selftest_result *result);

// Return the facts reported by a started port and its driver, with every counter that is not 0; NULL without memory. It
// has no address of the port's own. The caller's.
json_t *tl_selftest_port_json(struct tl_port *port);
