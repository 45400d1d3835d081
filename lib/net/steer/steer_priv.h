// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Owner table, rings between the lcores of a port, and each lcore's side of them.

#include <string.h>

#include <tl_steer.h>

#define TL_STEER_HERE 0xff  // owner: the receiving lcore
#define TL_STEER_EVERY 0xfe // owner: every lcore gets a copy

#define TL_STEER_GROUP_BITS 15
#define TL_STEER_GROUP_SLOTS (1u << TL_STEER_GROUP_BITS)
#define TL_STEER_GROUPS_MAX (TL_STEER_GROUP_SLOTS * 3 / 4) // bounds the length of a search

#define TL_STEER_RING 2048 // frames in transit from one lcore to another: 32 bursts

struct tl_steer_frame {
	struct rte_mbuf *m;
	uint64_t tsc; // time of reception
	struct tl_pkt pkt;
};

// A ring with a single producer and a single consumer. filled runs ahead of put within a burst, to publish a burst at
// once.
struct tl_steer_ring {
	uint32_t filled TL_CACHE_ALIGNED; // producer only
	uint32_t taken_seen;		  // the producer's latest value of taken
	uint32_t put TL_CACHE_ALIGNED;	  // shared: this and ended
	bool ended;
	uint32_t taken TL_CACHE_ALIGNED;
	struct tl_steer_frame frames[TL_STEER_RING] TL_CACHE_ALIGNED;
};

struct tl_steer_group {
	struct tl_ip6 group; // ::: slot free
	uint8_t owner;
};

struct tl_steer_side {
	struct tl_steer *steer;
	uint16_t queue;
	uint16_t first;				      // source served first by the next take
	bool has_rss;				      // the RSS table is known and maps some values to this queue
	struct tl_steer_ring *to[TL_PORT_QUEUES_MAX]; // NULL: this side itself, or a side without a stack
	struct tl_steer_ring *from[TL_PORT_QUEUES_MAX];
	struct tl_ledger_handoff stats;
	struct tl_burst own, handed;
} TL_CACHE_ALIGNED;

struct tl_steer {
	uint32_t ip_be;
	uint8_t mac[TL_ETHER_ADDR_LEN];
	uint16_t queues;
	uint8_t stacks[TL_PORT_QUEUES_MAX]; // queues with a stack, in ascending order
	uint16_t n_stacks;
	uint32_t n_groups;
	struct tl_port_rss rss;
	struct tl_steer_group groups[TL_STEER_GROUP_SLOTS];
	uint8_t tcp[UINT16_MAX + 1], udp[UINT16_MAX + 1]; // owners by port_be
	struct tl_steer_side sides[TL_PORT_QUEUES_MAX];
	struct tl_steer_ring rings[]; // index: from * queues + to
};

// Function of the service.
void tl_steer_rx(void *side, struct tl_burst *burst);

// Map an IPv4 group to IPv6 (RFC 4291, section 2.5.5.2).
static inline struct tl_ip6 tl_steer_mapped(uint32_t group_be)
{
	struct tl_ip6 group = {{[10] = 0xff, [11] = 0xff}};

	memcpy(group.byte + 12, &group_be, sizeof(group_be));
	return group;
}

// Slot of the group, or the free slot for it.
static inline uint32_t tl_steer_group_slot(const struct tl_steer *steer, const struct tl_ip6 *group)
{
	uint32_t tail;

	memcpy(&tail, group->byte + 12, sizeof(tail));
	uint32_t slot = (tail * 0x9e3779b1u) >> (32 - TL_STEER_GROUP_BITS); // Fibonacci hashing
	while (!tl_ip6_equal(&steer->groups[slot].group, group) && tl_ip6_is_set(&steer->groups[slot].group))
		slot = (slot + 1) % TL_STEER_GROUP_SLOTS;
	return slot;
}
