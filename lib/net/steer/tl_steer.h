// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// steer: owner lookup for received frames, and hand-off between the lcores of a port. One lcore owns an echo with its
// group, listening port and connections, while the NIC distributes frames by RSS. Each lcore therefore looks up the
// owner of a frame, and hands over frames of others by reference: through a ring per pair of lcores, with one producer
// and one consumer.
//
//   TCP and UDP to our address    owner of the destination port
//   UDP and fragments to a group  owner of the group
//   an ICMP error                 owner of the quoted packet
//   ARP, IGMP, fragments to us,   every lcore: each gets a copy
//   neighbour discovery, MLD
//   all others                    the receiving lcore
//
// An lcore without a stack hands over all frames to the port's address, those without an owner to the first with a
// stack.
//
// Threads: create, the owners, end of an lcore that never ran, destroy and sample on main; after the first frame the
//          table is only read, and the hot functions run on the lcore of their side.
// Memory:  create/destroy, 96 KiB per ring. A frame in a ring holds a reference of its mbuf and has the result of its
//          parse with it; received frames are never modified.

#include <stdbool.h>
#include <stdint.h>

#include <tl_ledger.h>
#include <tl_port.h>

struct tl_err;
struct tl_service;
struct tl_steer;      // one per port
struct tl_steer_side; // one per lcore of the port

struct tl_steer_cfg {
	uint32_t ip_be; // own address of the port
	uint8_t mac[TL_ETHER_ADDR_LEN];
	uint16_t queues;	// 2..TL_PORT_QUEUES_MAX, one lcore each
	uint32_t without_stack; // bit i: the lcore of queue i has no stack; not all of them
	int socket_id;
};

int tl_steer_create(const struct tl_steer_cfg *cfg, struct tl_steer **out, struct tl_err *err);
void tl_steer_destroy(struct tl_steer *steer);
struct tl_steer_side *tl_steer_side(struct tl_steer *steer, uint16_t queue);
uint16_t tl_steer_stacks(const struct tl_steer_side *side); // lcores of the port with a stack

// Service for the lcore of a side without a stack, before the recordings. It parses the frames.
void tl_steer_service(struct tl_steer_side *side, struct tl_service *out);

// Make this side the owner of a TCP or UDP port, or a group. Ephemeral ports (RFC 6335, section 6) are divided at
// create(). Return 0, -ENOSPC: 24576 groups, or -EEXIST: owned by another side.
void tl_steer_own_tcp(struct tl_steer_side *side, uint16_t port_be);
void tl_steer_own_udp(struct tl_steer_side *side, uint16_t port_be);
int tl_steer_own_group(struct tl_steer_side *side, uint32_t group_be);
int tl_steer_own_group6(struct tl_steer_side *side, const struct tl_ip6 *group);

// Set the port's RSS parameters, known after its start. Without them the queue of a flow cannot be computed.
void tl_steer_set_rss(struct tl_steer *steer, const struct tl_port_rss *rss);

// True if this side may connect from port_be: it owns replies and, with known RSS, receives them. For struct
// tl_net_cfg.
bool tl_steer_may_connect(void *side, uint32_t peer_be, uint16_t peer_port_be, uint16_t port_be);

// HOT. Hand over the frames of other lcores, of a parsed burst. Return the rest: burst itself if that is all. The
// mbufs stay the caller's.
struct tl_burst *tl_steer_split(struct tl_steer_side *side, struct tl_burst *burst);

// HOT. Take a parsed burst handed over by others; tsc is the earliest time of reception. The caller owns the mbufs.
// Return NULL if there is none.
struct tl_burst *tl_steer_take(struct tl_steer_side *side, uint64_t mono_ns);

// Announce that this side hands over no more.
void tl_steer_end(struct tl_steer_side *side);

// True if all others have ended: the next tl_steer_take() that returns NULL is then final.
bool tl_steer_all_ended(const struct tl_steer_side *side);

void tl_steer_sample(const struct tl_steer_side *side, struct tl_ledger_handoff *out);
