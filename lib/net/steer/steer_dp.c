// SPDX-License-Identifier: BSD-3-Clause
// Owner lookup for a frame, and hand-off through the rings.

#include <string.h>

#include "steer_priv.h"

#define ICMP_UNREACHABLE 3
#define ICMP_TIME_EXCEEDED 11
#define ICMP_PARAMETER 12
#define ICMP6_INFORMATIONAL 128 // errors are below
#define ICMP6_ECHO_REQUEST 128
#define ICMP6_ECHO_REPLY 129

// The start of our packet is quoted behind the ICMP header (RFC 792, RFC 4443): its source port is ours.
static uint8_t quoted_owner(const struct tl_steer *steer, const uint8_t *port, const uint8_t *end)
{
	uint16_t port_be;

	if (port + sizeof(port_be) > end)
		return TL_STEER_HERE;
	memcpy(&port_be, port, sizeof(port_be));
	return steer->tcp[port_be];
}

static uint8_t icmp_owner(const struct tl_steer *steer, const uint8_t *frame, const struct tl_pkt *pkt)
{
	const uint8_t type = frame[pkt->l4_off];
	const uint8_t *quote = frame + pkt->payload_off;
	struct tl_ipv4_hdr ip;

	if ((type != ICMP_UNREACHABLE && type != ICMP_TIME_EXCEEDED && type != ICMP_PARAMETER) ||
		pkt->payload_len < sizeof(ip))
		return TL_STEER_HERE;
	memcpy(&ip, quote, sizeof(ip));
	if (ip.proto != TL_IPPROTO_TCP)
		return TL_STEER_HERE;
	return quoted_owner(steer, quote + (ip.version_ihl & 0x0f) * 4, quote + pkt->payload_len);
}

static uint8_t icmp6_owner(const struct tl_steer *steer, const uint8_t *frame, const struct tl_pkt *pkt)
{
	const uint8_t type = frame[pkt->l4_off];
	const uint8_t *quote = frame + pkt->payload_off;
	struct tl_ipv6_hdr ip;

	if (type == ICMP6_ECHO_REQUEST || type == ICMP6_ECHO_REPLY)
		return TL_STEER_HERE;
	if (type >= ICMP6_INFORMATIONAL) // neighbour discovery, multicast listeners
		return TL_STEER_EVERY;
	if (pkt->payload_len < sizeof(ip))
		return TL_STEER_HERE;
	memcpy(&ip, quote, sizeof(ip));
	if (ip.next != TL_IPPROTO_TCP)
		return TL_STEER_HERE;
	return quoted_owner(steer, quote + sizeof(ip), quote + pkt->payload_len);
}

static uint8_t group_owner(const struct tl_steer *steer, const struct tl_ip6 *group)
{
	const struct tl_steer_group *found = &steer->groups[tl_steer_group_slot(steer, group)];

	return tl_ip6_is_set(&found->group) ? found->owner : TL_STEER_HERE;
}

static uint8_t group4_owner(const struct tl_steer *steer, uint32_t group_be)
{
	struct tl_ip6 group = tl_steer_mapped(group_be);

	return tl_ipv4_is_mcast(group_be) ? group_owner(steer, &group) : TL_STEER_HERE;
}

// Compare the MAC: a port has several IPv6 addresses.
static uint8_t ip6_owner(const struct tl_steer *steer, const uint8_t *frame, const struct tl_pkt *pkt)
{
	bool to_us = memcmp(frame, steer->mac, sizeof(steer->mac)) == 0;

	switch (pkt->ip6_kind) {
	case TL_PKT_TCP:
		return to_us ? steer->tcp[pkt->dst_port_be] : TL_STEER_HERE;
	case TL_PKT_UDP:
		return to_us ? steer->udp[pkt->dst_port_be] : group_owner(steer, &tl_wire_ip6(frame, pkt)->dst);
	case TL_PKT_ICMP:
		return icmp6_owner(steer, frame, pkt);
	case TL_PKT_FRAG:
		return to_us ? TL_STEER_EVERY : group_owner(steer, &tl_wire_ip6(frame, pkt)->dst);
	default:
		return TL_STEER_HERE;
	}
}

static inline __attribute__((always_inline)) uint8_t owner_of(
	const struct tl_steer *steer, const uint8_t *frame, const struct tl_pkt *pkt)
{
	bool to_us = pkt->dst_be == steer->ip_be;

	switch (pkt->kind) {
	case TL_PKT_TCP:
		return to_us ? steer->tcp[pkt->dst_port_be] : TL_STEER_HERE;
	case TL_PKT_UDP:
		return to_us ? steer->udp[pkt->dst_port_be] : group4_owner(steer, pkt->dst_be);
	case TL_PKT_ICMP:
		return to_us ? icmp_owner(steer, frame, pkt) : TL_STEER_HERE;
	case TL_PKT_IP6:
		return ip6_owner(steer, frame, pkt);
	case TL_PKT_FRAG: // only the first fragment has ports
		return to_us ? TL_STEER_EVERY : group4_owner(steer, pkt->dst_be);
	case TL_PKT_ARP:
	case TL_PKT_IGMP:
		return TL_STEER_EVERY;
	default:
		return TL_STEER_HERE;
	}
}

static void hand_over(struct tl_steer_side *side, struct tl_steer_ring *ring, const struct tl_burst *b, uint16_t i)
{
	tl_count(&side->stats.handoff_pkts, 1);
	if (TL_UNLIKELY(ring->filled - ring->taken_seen == TL_STEER_RING)) {
		ring->taken_seen = __atomic_load_n(&ring->taken, __ATOMIC_ACQUIRE);
		if (ring->filled - ring->taken_seen == TL_STEER_RING) {
			tl_count(&side->stats.drop_handoff_pkts, 1);
			return;
		}
	}
	rte_pktmbuf_refcnt_update(b->pkts[i], 1);
	ring->frames[ring->filled++ % TL_STEER_RING] =
		(struct tl_steer_frame){.m = b->pkts[i], .tsc = b->tsc, .pkt = b->pkt[i]};
}

static void hand_to_all(struct tl_steer_side *side, const struct tl_burst *b, uint16_t i)
{
	for (uint16_t q = 0; q < side->steer->queues; q++)
		if (side->to[q] != NULL)
			hand_over(side, side->to[q], b, i);
}

static void publish(struct tl_steer_side *side)
{
	for (uint16_t q = 0; q < side->steer->queues; q++) {
		struct tl_steer_ring *ring = side->to[q];
		if (ring != NULL && ring->put != ring->filled)
			__atomic_store_n(&ring->put, ring->filled, __ATOMIC_RELEASE);
	}
}

// Collect the frames of b that stay on this lcore.
static struct tl_burst *rest_of(struct tl_steer_side *side, const struct tl_burst *b, uint64_t away)
{
	struct tl_burst *own = &side->own;

	own->n = 0;
	own->queue = b->queue;
	own->tsc = b->tsc;
	own->mono_ns = b->mono_ns;
	for (uint16_t i = 0; i < b->n; i++) {
		if ((away >> i & 1) != 0)
			continue;
		own->pkts[own->n] = b->pkts[i];
		own->pkt[own->n++] = b->pkt[i];
	}
	return own;
}

struct tl_burst *tl_steer_split(struct tl_steer_side *side, struct tl_burst *b)
{
	uint64_t away = 0; // one bit per frame

	_Static_assert(TL_BURST <= 64, "one bit per frame");
	for (uint16_t i = 0; i < b->n; i++) {
		const uint8_t *frame = rte_pktmbuf_mtod(b->pkts[i], const uint8_t *);
		uint8_t owner = owner_of(side->steer, frame, &b->pkt[i]);
		if (TL_LIKELY(owner == side->queue || owner == TL_STEER_HERE))
			continue;
		if (owner == TL_STEER_EVERY) {
			hand_to_all(side, b, i);
		} else {
			hand_over(side, side->to[owner], b, i);
			away |= UINT64_C(1) << i;
		}
	}
	publish(side);
	return away == 0 ? b : rest_of(side, b, away);
}

// Owner for a side without a stack: the first stack answers what the others would answer where it arrived.
static uint8_t owner_elsewhere(const struct tl_steer *steer, const uint8_t *frame, const struct tl_pkt *pkt)
{
	uint8_t owner = owner_of(steer, frame, pkt);
	bool to_us = steer->ip_be != 0 && pkt->dst_be == steer->ip_be;

	if (pkt->kind == TL_PKT_IP6) // ICMP: also a ping of all nodes (RFC 4291, section 2.7.1)
		to_us = memcmp(frame, steer->mac, sizeof(steer->mac)) == 0 || pkt->ip6_kind == TL_PKT_ICMP;
	return owner == TL_STEER_HERE && to_us ? steer->stacks[0] : owner;
}

void tl_steer_rx(void *ctx, struct tl_burst *b)
{
	struct tl_steer_side *side = ctx;

	for (uint16_t i = 0; i < b->n; i++) {
		const uint8_t *frame = rte_pktmbuf_mtod(b->pkts[i], const uint8_t *);
		if (i + 1 < b->n)
			__builtin_prefetch(rte_pktmbuf_mtod(b->pkts[i + 1], void *));
		tl_wire_parse(frame, b->pkts[i]->data_len, &b->pkt[i]);
		uint8_t owner = owner_elsewhere(side->steer, frame, &b->pkt[i]);
		if (owner == TL_STEER_EVERY)
			hand_to_all(side, b, i);
		else if (owner != TL_STEER_HERE)
			hand_over(side, side->to[owner], b, i);
	}
	publish(side);
}

// Move frames from the ring to the end of the burst.
static void take_from(struct tl_steer_ring *ring, struct tl_burst *b)
{
	uint32_t taken = ring->taken;
	uint32_t n = __atomic_load_n(&ring->put, __ATOMIC_ACQUIRE) - taken;

	if (n > (uint32_t)(TL_BURST - b->n))
		n = TL_BURST - b->n;
	for (uint32_t i = 0; i < n; i++) {
		const struct tl_steer_frame *f = &ring->frames[(taken + i) % TL_STEER_RING];
		b->tsc = b->n == 0 || f->tsc < b->tsc ? f->tsc : b->tsc;
		b->pkt[b->n] = f->pkt;
		b->pkts[b->n++] = f->m;
	}
	if (n != 0)
		__atomic_store_n(&ring->taken, taken + n, __ATOMIC_RELEASE);
}

struct tl_burst *tl_steer_take(struct tl_steer_side *side, uint64_t mono_ns)
{
	struct tl_burst *b = &side->handed;

	b->n = 0;
	side->first = side->first + 1 < side->steer->queues ? side->first + 1 : 0; // round robin
	for (uint16_t q = side->first; q < side->steer->queues; q++)
		if (side->from[q] != NULL)
			take_from(side->from[q], b);
	for (uint16_t q = 0; q < side->first; q++)
		if (side->from[q] != NULL)
			take_from(side->from[q], b);
	if (b->n == 0)
		return NULL;
	b->queue = side->queue;
	b->mono_ns = mono_ns;
	tl_count(&side->stats.handoff_taken_pkts, b->n);
	return b;
}
