// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// dclient: a host of our own on a port, as a transport of the client (tl_client_link.h): messages and echoes go through
// our stack, and the client's own thread polls the port without ever sleeping.
//
// Stamps: a message has left when the send call of its last byte has returned, by the TSC; what the port refused, or
// what may have left in an earlier call, has no stamp. An echo arrives when the port says so, by the port's source of
// stamps. Where the port sends frames at a time (tl_port_sends_at()), and cfg.lead_ns says so, a datagram leaves when
// its message is due, and that is its stamp, of the clock that stamps arrivals; what comes too late for that leaves
// without a stamp.
//
// Threads: one, that of tl_client_run(); it need not be an lcore's, but the process's main one. Memory: create/destroy;
// port and clock are borrowed for life, and the clock is steered here.

#include <stdint.h>

#include <tl_client_link.h>
#include <tl_port.h>

struct tl_dclient;

struct tl_dclient_cfg {
	struct tl_port *port; // started; its queues 0 are ours
	struct tl_clock *clock;
	uint32_t ip_be, mask_be;
	uint32_t gateway_be;	// 0: none
	uint16_t vlan;		// 0: untagged
	uint64_t lead_ns;	// how long before its time the port is given a datagram; 0: it has no time
	uint64_t send_grain_ns; // the port keeps such a time to this
	uint64_t seed;
};

// The transport; its context is a struct tl_dclient. One run at a time.
extern const struct tl_client_ops tl_dclient_ops;

// Announces the address. Returns 0, or -errno and the sentence.
int tl_dclient_create(const struct tl_dclient_cfg *cfg, struct tl_dclient **out, struct tl_err *err);

// Lets nothing more in, where the port can do that, and receives what it has let in, so that its account can be closed.
void tl_dclient_end(struct tl_dclient *host);

void tl_dclient_destroy(struct tl_dclient *host);

const struct tl_net *tl_dclient_net(const struct tl_dclient *host);
