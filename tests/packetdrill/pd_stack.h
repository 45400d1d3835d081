// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// pd_stack: one Tapline host behind a router, IP packets in and out, on a virtual clock.
//
// Threads: one at a time. Memory: init/fini; packets not taken are freed by fini.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include <tl_net.h>
#include <tl_port.h>

#include "pd_flags.h"
#include "pd_like.h"

struct tl_pd_packet {
	STAILQ_ENTRY(tl_pd_packet) link;
	uint64_t at_us;
	size_t len;
	uint8_t bytes[];
};

struct tl_pd_stack {
	const struct tl_pd_flags *flags;
	struct tl_net *net; // NULL until its address is known
	uint32_t ip_be;
	struct rte_mempool *pool;
	struct tl_txq tx;
	uint64_t now_us;   // since 1970, in packetdrill's time
	uint32_t asked_be; // ARP asks for this address; 0: for none
	STAILQ_HEAD(, tl_pd_packet) sent;
	struct tl_pd_like_sent like; // for packets taken
};

// Starts EAL. flags are borrowed for life. Exits 1 when the environment lacks something.
void tl_pd_stack_init(struct tl_pd_stack *stack, const struct tl_pd_flags *flags);
void tl_pd_stack_fini(struct tl_pd_stack *stack);

// The host gets its address, once; ip_be 0: any will do. Returns 0, or -EADDRNOTAVAIL if it has another.
int tl_pd_stack_address(struct tl_pd_stack *stack, uint32_t ip_be);

// The host handles an IP packet. Returns 0, -EMSGSIZE or -ENOBUFS.
int tl_pd_stack_give(struct tl_pd_stack *stack, const void *packet, size_t len);

// Timers up to now_us, and what was pushed leaves: after each call of the host's.
void tl_pd_stack_work(struct tl_pd_stack *stack);

// Moves the clock by one small step, at most to until_us.
void tl_pd_stack_step(struct tl_pd_stack *stack, uint64_t until_us);

// The oldest packet sent, taken off. NULL: none; else the caller frees it.
struct tl_pd_packet *tl_pd_stack_take(struct tl_pd_stack *stack);
