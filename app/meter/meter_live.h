// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// meter_live: received frames of a port, one after the other.
//
// Threads: main, which polls the port. Memory: run() allocates and frees.

#include <stdbool.h>
#include <stdint.h>

struct tl_err;

struct tl_meter_live {
	const char *device;	     // borrowed
	uint64_t duration_ns, count; // 0: no limit
	bool take;		     // allow AF_XDP on the interface of the default route or the login
	// Called for each frame, with its time since 1970, its length on the wire without FCS, and its first bytes.
	// Return 0, or an error that ends the run.
	int (*on_frame)(void *ctx, uint64_t ts_ns, uint32_t wire_bytes, const uint8_t *frame, uint32_t len);
	void *ctx;
	// Results:
	const char *timestamps; // source; NULL: the port was not started
	uint64_t drop_pkts;	// seen by the port, and lost before they could be metered
	bool drops_unknown;	// neither driver nor kernel counts them
};

// Check the port, before anything is started. Return 0, or -errno with a message.
int tl_meter_live_check(const struct tl_meter_live *live, struct tl_err *err);

// Return the file that the port reads in place of a device; NULL: none. After a check.
const char *tl_meter_live_file(const struct tl_meter_live *live);

// Receive frames until a limit, SIGINT, SIGTERM, or the end of the port. Return 0; the error of on_frame, without a
// message; or -errno with a message: the port failed.
int tl_meter_live_run(struct tl_meter_live *live, struct tl_err *err);
