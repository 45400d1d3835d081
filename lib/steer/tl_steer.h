// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// steer: which lcore of a port a frame is for, and the way there. An echo lives on one lcore with its group, its
// listening port and its connections, and the port spreads frames over its queues by a rule of its own. So each lcore
// looks up whose a received frame is, keeps its own, and hands the others over by reference: through a ring per pair of
// lcores, with one producer and one consumer.
//
//   TCP and UDP to our address    the destination port's owner
//   UDP and fragments to a group  the group's owner
//   an ICMP error                 the owner of the packet it quotes
//   ARP, IGMP, fragments to us,   everybody: each has a copy
//   neighbour discovery, MLD
//   the rest                      the lcore that received it
//
// Threads: create, the owners, end of an lcore that never ran, destroy and sample on main; from the first frame on the
// table is only read, and the hot functions run on the lcore whose side they are given.
// Memory:  create/destroy. Frames in a ring hold a reference of their mbuf; nobody writes to a frame that was received.

#include <stdbool.h>
#include <stdint.h>

#include <tl_port.h>

struct tl_err;
struct tl_steer;      // of a port
struct tl_steer_side; // of one of its lcores

struct tl_steer_cfg {
	uint32_t ip_be; // the port's own
	uint8_t mac[TL_ETHER_ADDR_LEN];
	uint16_t queues; // 2..TL_PORT_QUEUES_MAX, an lcore each
	int socket_id;
};

struct tl_steer_stats {
	uint64_t handoff_pkts;	     // frames for another lcore = taken by it + dropped
	uint64_t handoff_taken_pkts; // frames that others handed to this one
	uint64_t drop_handoff_pkts;  // frames for another lcore whose ring was full
};

int tl_steer_create(const struct tl_steer_cfg *cfg, struct tl_steer **out, struct tl_err *err);
void tl_steer_destroy(struct tl_steer *steer);
struct tl_steer_side *tl_steer_side(struct tl_steer *steer, uint16_t queue);
uint16_t tl_steer_lcores(const struct tl_steer_side *side); // of its port

// From now on what comes for this TCP or UDP port, or group, belongs to this side. The ports that active opens use (RFC
// 6335, section 6) are shared out from the start. Returns 0, -ENOSPC: 24576 groups, or -EEXIST: another side's.
void tl_steer_own_tcp(struct tl_steer_side *side, uint16_t port_be);
void tl_steer_own_udp(struct tl_steer_side *side, uint16_t port_be);
int tl_steer_own_group(struct tl_steer_side *side, uint32_t group_be);
int tl_steer_own_group6(struct tl_steer_side *side, const struct tl_ip6 *group);

// The port spreads frames so, which is known when it has been started. Without this it cannot be computed.
void tl_steer_set_rss(struct tl_steer *steer, const struct tl_port_rss *rss);

// Whether this side may connect from port_be: what the peer answers is its own then and, where RSS is known, arrives
// here. For struct tl_net_cfg.
bool tl_steer_may_connect(void *side, uint32_t peer_be, uint16_t peer_port_be, uint16_t port_be);

// HOT. Hands over the frames of others. Returns the frames to handle here: burst itself if that is all of it. The mbufs
// stay the caller's.
struct tl_burst *tl_steer_split(struct tl_steer_side *side, struct tl_burst *burst);

// HOT. Takes a burst of what others handed over: parsed, tsc is when the first of them was received. The mbufs are the
// caller's from then on. Returns NULL when there is none.
struct tl_burst *tl_steer_take(struct tl_steer_side *side, uint64_t mono_ns);

// This side hands over no more.
void tl_steer_end(struct tl_steer_side *side);

// Whether all others have said so: what tl_steer_take() gives after that is the last.
bool tl_steer_all_ended(const struct tl_steer_side *side);

void tl_steer_sample(const struct tl_steer_side *side, struct tl_steer_stats *out);
