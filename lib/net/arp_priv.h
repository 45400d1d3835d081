// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The neighbour table of both families: what the lookup reads, and ARP and neighbour discovery write.
//
// An entry stands in one of four queues, which decide who makes room in a full table: those that are asked for and have
// not answered, so that spoofed senders replace each other; then those that answered, the longest unused first; never
// those that are kept, for a live connection, the gateway, or as configured.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include <tl_heap.h>
#include <tl_wire.h>

#define TL_ARP_NO_DEADLINE TL_HEAP_NEVER

enum tl_arp_state {
	TL_ARP_FREE,
	TL_ARP_PENDING,	 // MAC unknown: asked for, or silent (without a deadline) until somebody sends to it again
	TL_ARP_RESOLVED, // MAC known, good until the deadline and three unanswered requests
};

TAILQ_HEAD(tl_arp_queue, tl_arp_entry);

struct tl_arp_entry {
	struct tl_arp_entry *next; // in its bucket
	struct tl_arp_queue *queue;
	TAILQ_ENTRY(tl_arp_entry) link; // in that queue
	uint32_t ip_be;
	uint32_t users; // live connections whose next hop it is
	uint8_t mac[TL_ETHER_ADDR_LEN];
	uint8_t state;
	uint8_t asked;	// requests due since it was last heard
	bool wanted;	// we sent to it: worth asking again before it expires
	bool is_static; // configured: neither expires nor changes
	uint64_t deadline_ns;
	struct rte_mbuf *held; // the latest frame that waits for the MAC
};

struct tl_net;

struct tl_arp_table {
	struct tl_arp_entry **bucket;
	struct tl_arp_queue free, pending, resolved, kept;
	uint32_t n_pending;
	uint32_t n_held, held_max; // frames that wait for a MAC
	struct tl_heap due;	   // entries, by deadline or earlier
	uint8_t bucket_shift;
	uint8_t announce_left;
	uint64_t announce_ns; // when the next of announce_left is due
	uint64_t defend_ns;   // not again before
	struct tl_arp_entry entry[];
};

static inline struct tl_arp_entry **tl_arp_bucket(struct tl_arp_table *table, uint32_t ip_be)
{
	// Fibonacci hashing: the high bits depend on all.
	return &table->bucket[(ip_be * UINT32_C(0x9e3779b1)) >> table->bucket_shift];
}

static inline struct tl_arp_entry *tl_arp_find(struct tl_arp_table *table, uint32_t ip_be)
{
	struct tl_arp_entry *e = *tl_arp_bucket(table, ip_be);

	while (e != NULL && e->ip_be != ip_be)
		e = e->next;
	return e;
}

// ---- for ARP and neighbour discovery

// The entry of a neighbour that was heard, made if there is room without forgetting one that answered; NULL: there is
// none.
struct tl_arp_entry *tl_arp_learn(struct tl_net *net, uint32_t ip_be);
// The neighbour is there: mac is good for fresh_ns, and what waited for it goes.
void tl_arp_confirm(struct tl_net *net, struct tl_arp_entry *e, const uint8_t *mac, uint64_t fresh_ns);
// Ask for an IPv4 neighbour: mac, where it was, or NULL.
void tl_arp_request(struct tl_net *net, uint32_t ip_be, const uint8_t *mac);
