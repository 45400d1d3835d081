// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// inner: brings encapsulated frames to the lcore of their innermost flow, before the recordings. Most NICs hash the
// outer headers: of VXLAN and GENEVE these differ in each direction of an inner flow, of GRE they are the same for all.
// So each recorded lcore looks up the lcore of an encapsulated frame by a hash of its innermost flow that is the same
// in both directions, and hands frames of others over by reference: through a ring per pair of lcores, with one
// producer and one consumer. Plain frames stay, and encapsulated ones without a flow (tl_flow.h).
//
// Each lcore has a single service in place of those of its recordings, which calls them with the frames that stay and
// with those of other lcores. A frame that finds no room in a ring stays, too: it is recorded on the receiving lcore.
//
// Threads: create, add, destroy and sample on main; the service's functions run on the lcore of their queue.
// Memory:  create/destroy. Frames in a ring hold a reference of their mbuf; received frames are never modified.

#include <stdint.h>

#include <tl_base.h>
#include <tl_clock.h>
#include <tl_ledger.h>

struct tl_err;
struct tl_inner; // one per port
struct tl_port_rss;
struct tl_service;

struct tl_inner_cfg {
	const char *name; // of the port, for messages; borrowed for the call
	uint16_t queues;  // 2..TL_PORT_QUEUES_MAX
	uint32_t skipped; // bit i: queue i is not recorded; at least two are
	const struct tl_clock *clock;
	uint64_t seed; // of the hash: random, secret
	int socket_id;
};

// Return 0, or -EINVAL, -ENOMEM with a message.
int tl_inner_create(const struct tl_inner_cfg *cfg, struct tl_inner **out, struct tl_err *err);
void tl_inner_destroy(struct tl_inner *inner);

// Before the lcores run: take the queue that a NIC gives to the innermost flow as its owner, so that only frames that
// the NIC hashed otherwise are handed over. Its key must repeat every 16 bits: tl_port_hashes_inner().
void tl_inner_follow(struct tl_inner *inner, const struct tl_port_rss *rss);

// Replace the n services of the recordings of a queue, which are copied, by one. None may need parsed frames, poll or
// close. At most TL_LCORE_SERVICES_MAX.
void tl_inner_service(
	struct tl_inner *inner, uint16_t queue, const struct tl_service *services, uint32_t n, struct tl_service *out);

// Announce that an lcore which is not run hands over no frames.
void tl_inner_end(struct tl_inner *inner, uint16_t queue);

void tl_inner_sample(const struct tl_inner *inner, struct tl_ledger_inner *out);
