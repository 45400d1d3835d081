// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The neighbour table of both families: what the lookup reads, and ARP and neighbour discovery write.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tl_wire.h>

#define TL_ARP_ENTRIES 256
#define TL_ARP_BUCKETS 256

enum tl_arp_state {
	TL_ARP_FREE,
	TL_ARP_PENDING,	 // asked, MAC unknown
	TL_ARP_RESOLVED, // MAC known, good until the deadline and three unanswered requests
};

struct tl_arp_entry {
	struct tl_arp_entry *next; // in its bucket
	uint32_t ip_be;
	uint8_t mac[TL_ETHER_ADDR_LEN];
	uint8_t state;
	uint8_t asked; // requests due since it was last heard
	bool wanted;   // we sent to it: worth asking again before it expires
	uint64_t used_ns;
	uint64_t deadline_ns;
	struct rte_mbuf *held; // the latest frame that waits for the MAC
};

struct tl_net;

struct tl_arp_table {
	struct tl_arp_entry *bucket[TL_ARP_BUCKETS];
	uint64_t next_deadline_ns; // nothing to do before
	uint64_t announce_ns;	   // when the next of announce_left is due
	uint64_t defend_ns;	   // not again before
	uint8_t announce_left;
	struct tl_arp_entry entry[TL_ARP_ENTRIES];
};

static inline struct tl_arp_entry **tl_arp_bucket(struct tl_arp_table *table, uint32_t ip_be)
{
	return &table->bucket[(ip_be * UINT32_C(0x9e3779b1)) >> 24]; // Fibonacci hashing: the high bits depend on all
}

static inline struct tl_arp_entry *tl_arp_find(struct tl_arp_table *table, uint32_t ip_be)
{
	struct tl_arp_entry *e = *tl_arp_bucket(table, ip_be);

	while (e != NULL && e->ip_be != ip_be)
		e = e->next;
	return e;
}

// ---- for neighbour discovery

// The entry of a neighbour, made if there is a free one; NULL: there is none.
struct tl_arp_entry *tl_arp_learn(struct tl_net *net, uint32_t ip_be);
// The neighbour is there: mac is good for fresh_ns, and what waited for it goes.
void tl_arp_confirm(struct tl_net *net, struct tl_arp_entry *e, const uint8_t *mac, uint64_t fresh_ns);
