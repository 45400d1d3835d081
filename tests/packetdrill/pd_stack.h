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
	struct tl_net *net; // NULL until its address is set
	uint32_t ip_be;
	struct rte_mempool *pool;
	struct tl_txq tx;
	uint64_t now_us;   // since 1970, in packetdrill's time
	uint32_t asked_be; // pending ARP request for this address; 0: none
	STAILQ_HEAD(, tl_pd_packet) sent;
	struct tl_pd_like_sent like; // state for packets taken
};

// Start EAL. flags are borrowed until fini. Exit with status 1 if the environment lacks a requirement.
void tl_pd_stack_init(struct tl_pd_stack *stack, const struct tl_pd_flags *flags);
void tl_pd_stack_fini(struct tl_pd_stack *stack);

// Set the address of the host, once; ip_be 0: a default. Return 0, or -EADDRNOTAVAIL if it has a different one.
int tl_pd_stack_address(struct tl_pd_stack *stack, uint32_t ip_be);

// Input an IP packet to the host. Return 0, -EMSGSIZE or -ENOBUFS.
int tl_pd_stack_give(struct tl_pd_stack *stack, const void *packet, size_t len);

// Run timers up to now_us, and send pushed data: after each call to the host.
void tl_pd_stack_work(struct tl_pd_stack *stack);

// Advance the clock by one small step, at most to until_us.
void tl_pd_stack_step(struct tl_pd_stack *stack, uint64_t until_us);

// Take the oldest packet sent. NULL: none; otherwise the caller frees it.
struct tl_pd_packet *tl_pd_stack_take(struct tl_pd_stack *stack);
