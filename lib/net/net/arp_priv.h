// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The neighbour table of both families, read by lookup and written by ARP and neighbour discovery.
//
// An entry is in one of four queues. A full table evicts unanswered entries, so that spoofed senders replace each
// other; then resolved ones, least recently used first. Kept entries (of a live connection, the gateway, configured)
// are never evicted.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include <tl_heap.h>
#include <tl_wire.h>

#define TL_ARP_NO_DEADLINE TL_HEAP_NEVER

enum tl_arp_state {
	TL_ARP_FREE,
	TL_ARP_PENDING,	 // MAC unknown: requested, or (without a deadline) unanswered until the next send
	TL_ARP_RESOLVED, // MAC known; expires at the deadline after three unanswered requests
};

TAILQ_HEAD(tl_arp_queue, tl_arp_entry);

struct tl_arp_entry {
	struct tl_arp_entry *next; // in its bucket
	struct tl_arp_queue *queue;
	TAILQ_ENTRY(tl_arp_entry) link; // in *queue
	uint32_t ip_be;
	uint32_t users; // live connections with this next hop
	uint8_t mac[TL_ETHER_ADDR_LEN];
	uint8_t state;
	uint8_t asked;	// requests since the last answer
	bool wanted;	// used since the last answer: refresh it before it expires
	bool is_static; // configured: never expires or changes
	uint64_t deadline_ns;
	struct rte_mbuf *held; // latest frame that waits for the MAC
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
	uint64_t announce_ns; // time of the next announcement
	uint64_t defend_ns;   // earliest time of the next defence
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

// Return the entry of a host that has sent a frame, inserted if that evicts no resolved one; NULL: no space.
struct tl_arp_entry *tl_arp_learn(struct tl_net *net, uint32_t ip_be);
// Set mac, fresh for fresh_ns, and send the held frame.
void tl_arp_confirm(struct tl_net *net, struct tl_arp_entry *e, const uint8_t *mac, uint64_t fresh_ns);
// Request the MAC of an IPv4 neighbour: unicast to mac, or broadcast if NULL.
void tl_arp_request(struct tl_net *net, uint32_t ip_be, const uint8_t *mac);
