// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// dclient: a host on a DPDK port, as a transport of the client (tl_client_link.h): messages and echoes use tapline's
// stack, and the client's own thread polls the port without sleeping.
//
// Stamps: a message leaves at the return of the send call of its last byte, by the TSC; a frame that the port rejected,
// or that may have left in an earlier call, has no stamp. An echo's arrival is stamped by the port's source. If the
// port sends frames at a time (tl_port_sends_at()), and cfg.lead_ns is set, a datagram leaves at its message's due
// time, and that is its stamp, of the clock that stamps arrivals; a frame too late for that leaves without a stamp.
//
// Threads: one, that of tl_client_run(); it need not be an lcore's, but the process's main one. Memory: create/destroy;
// port and clock are borrowed for life, and the clock is disciplined here.

#include <stdint.h>

#include <tl_client_link.h>
#include <tl_port.h>

struct tl_dclient;

struct tl_dclient_cfg {
	struct tl_port *port; // started; its queues 0 are used
	struct tl_clock *clock;
	uint32_t ip_be, mask_be;
	uint32_t gateway_be;	// 0: none
	uint16_t vlan;		// 0: untagged
	uint64_t lead_ns;	// lead of a datagram's transfer to the port over its send time; 0: no send time
	uint64_t send_grain_ns; // precision of that send time
	uint64_t seed;
};

// Transport; its context is a struct tl_dclient. One run at a time.
extern const struct tl_client_ops tl_dclient_ops;

// Create the host and announce its address. Return 0, or -errno with a message.
int tl_dclient_create(const struct tl_dclient_cfg *cfg, struct tl_dclient **out, struct tl_err *err);

// Stop the intake, if the port can, and receive admitted frames, so that its account can be closed.
void tl_dclient_end(struct tl_dclient *host);

void tl_dclient_destroy(struct tl_dclient *host);

const struct tl_net *tl_dclient_net(const struct tl_dclient *host);
