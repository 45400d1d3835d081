// SPDX-License-Identifier: BSD-3-Clause
// Path of a frame: from the send queue into its class, and back.

#include "shape_priv.h"

#include <string.h>

#include <rte_cycles.h>
#include <rte_mbuf.h>

#include <tl_wire.h>

#define SHAPE_BURST (TL_BURST / 2) // limit of dequeued frames in the queue, which keeps room for pushes

// Hash an address in two words.
static inline uint64_t shape_hash_ip(const uint64_t *keys, const uint64_t ip[2])
{
	return shape_fold(ip[0] ^ keys[0], ip[1] ^ keys[1]);
}

// Fields of a frame that select its queue. Frames other than IP, and malformed ones, have no addresses, and share one.
struct shape_fields {
	uint64_t src[2], dst[2]; // of IPv4 the first four bytes
	struct tl_pkt pkt;
};

static void shape_read(const struct rte_mbuf *m, struct shape_fields *f)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);

	tl_wire_parse(frame, m->data_len, &f->pkt);
	const struct tl_ipv4_hdr *ip = (const void *)(frame + f->pkt.l3_off);
	f->src[1] = f->dst[1] = 0;
	if (f->pkt.kind == TL_PKT_IP6 && m->data_len >= f->pkt.l3_off + TL_IPV6_LEN) {
		memcpy(f->src, &tl_wire_ip6(frame, &f->pkt)->src, sizeof(f->src));
		memcpy(f->dst, &tl_wire_ip6(frame, &f->pkt)->dst, sizeof(f->dst));
	} else if (TL_UNLIKELY(f->pkt.kind == TL_PKT_BAD_CKSUM)) { // that of a NIC, or wrong: the addresses hold
		f->src[0] = ip->src_be;
		f->dst[0] = ip->dst_be;
	} else {
		f->src[0] = f->pkt.src_be;
		f->dst[0] = f->pkt.dst_be;
	}
}

static uint32_t shape_hash(const struct tl_shape *s, enum tl_fair fair, const struct shape_fields *f)
{
	const struct tl_pkt *pkt = &f->pkt;
	uint64_t hash = s->keys[0];

	if (fair != TL_FAIR_DESTINATION)
		hash = shape_fold(hash ^ shape_hash_ip(s->keys, f->src), s->keys[2]);
	if (fair != TL_FAIR_SOURCE)
		hash = shape_fold(hash ^ shape_hash_ip(s->keys, f->dst), s->keys[3]);
	if (fair == TL_FAIR_FLOW)
		hash = shape_fold(
			hash ^ s->keys[4], s->keys[5] ^ ((uint64_t)pkt->kind << 40 | (uint64_t)pkt->ip6_kind << 32 |
								(uint64_t)pkt->src_port_be << 16 | pkt->dst_port_be));
	return (uint32_t)(hash >> 32);
}

// Return the weight of the host to whose queue a frame belongs.
static uint32_t shape_weight(const struct shape_weights *weights, enum tl_fair fair, const struct shape_fields *f)
{
	const uint64_t *ip = fair == TL_FAIR_SOURCE ? f->src : f->dst;
	bool is_ip6 = f->pkt.kind == TL_PKT_IP6;

	for (uint32_t i = 0; i < weights->n; i++) {
		const struct shape_prefix *p = &weights->of[i];
		if ((ip[0] & p->mask[0]) == p->ip[0] && (ip[1] & p->mask[1]) == p->ip[1] && is_ip6 == p->is_ip6)
			return p->weight;
	}
	return 1;
}

// Select the queue of a frame in a class with several. Return its hash.
static uint32_t shape_queue(struct tl_shape *s, uint32_t leaf, const struct rte_mbuf *m)
{
	enum tl_fair fair = s->set.work[leaf] & SHAPE_FAIR;
	struct shape_fields fields;

	shape_read(m, &fields);
	uint32_t hash = shape_hash(s, fair, &fields);
	if ((s->set.work[leaf] & SHAPE_WEIGHTED) != 0)
		tl_tree_set_weight(s->set.tree, leaf, hash, shape_weight(s->set.weights[leaf], fair, &fields));
	return hash;
}

static inline uint32_t shape_classify(const struct tl_shape *s, const struct rte_mbuf *m)
{
	uint32_t next;

	for (uint32_t i = 0; i < s->set.n_rules; i = next) {
		const struct shape_rule *rule = &s->set.rules[i];
		next = i + 1;
		if (TL_UNLIKELY(rule->index != NULL)) {
			next = i + rule->index->n;
			rule = shape_index_find(&s->set, rule->index, m);
		}
		if (rule != NULL && tl_filter_match(rule->filter, m, m->pkt_len))
			return rule->leaf;
	}
	return s->set.fallback;
}

// Colour a frame for its class, and mark it. Return whether it was dropped.
static bool shape_police(struct tl_shape *s, uint64_t now_ns, uint32_t leaf, struct rte_mbuf *m)
{
	struct tl_policer *policer = &s->set.policers[leaf];
	enum tl_meter_colour colour =
		tl_policer_colour_frame(policer, now_ns, m->pkt_len, rte_pktmbuf_mtod(m, uint8_t *), m->data_len);

	tl_tree_count_colour(s->set.tree, leaf, colour, m->pkt_len);
	if (tl_policer_drops(policer, colour)) {
		tl_tree_drop_policed(s->set.tree, leaf, m->pkt_len, m);
		return true;
	}
	tl_policer_mark(policer, colour, rte_pktmbuf_mtod(m, uint8_t *), m->data_len);
	return false;
}

// Do the work of a class for its frame, and enqueue it.
static void shape_enter(struct tl_shape *s, uint64_t now_ns, uint32_t leaf, struct rte_mbuf *m)
{
	if ((s->set.work[leaf] & SHAPE_POLICED) != 0 && shape_police(s, now_ns, leaf, m))
		return;
	uint32_t hash = (s->set.work[leaf] & SHAPE_FAIR) != TL_FAIR_NONE ? shape_queue(s, leaf, m) : 0;
	tl_tree_enqueue(s->set.tree, now_ns, leaf, hash, m->pkt_len, m);
}

// Move pushed frames into the tree. Frames that bypass it stay, behind those that the port did not accept.
static void shape_take(struct tl_shape *s, uint64_t now_ns)
{
	struct tl_txq *q = s->txq;
	uint16_t kept = s->waiting;

	for (uint16_t i = kept; i < q->n; i++) {
		struct rte_mbuf *m = q->pkts[i];
		if (TL_UNLIKELY(s->leaving == NULL && tl_filter_match(s->bypass, m, m->pkt_len))) {
			tl_count(&s->bypass_pkts, 1);
			q->pkts[kept++] = m;
			continue;
		}
		uint32_t leaf = shape_classify(s, m);
		s->backlog++; // before: the tree may drop it
		if (TL_LIKELY(s->set.work[leaf] == 0))
			tl_tree_enqueue(s->set.tree, now_ns, leaf, 0, m->pkt_len, m);
		else
			shape_enter(s, now_ns, leaf, m);
	}
	q->n = kept;
}

// Dequeue frames into the room of the queue.
static void shape_give(struct tl_shape *s, uint64_t now_ns)
{
	struct tl_txq *q = s->txq;
	void *due[SHAPE_BURST];
	uint32_t room = q->n < SHAPE_BURST ? SHAPE_BURST - q->n : 0;
	uint32_t n = tl_tree_dequeue(s->set.tree, now_ns, due, room);

	memcpy(&q->pkts[q->n], due, n * sizeof(due[0]));
	q->n += (uint16_t)n;
	s->backlog -= n;
}

// Count the time since the last turn, which left frames that the port did not accept. A turn of the lcore's loop may
// have an earlier time than a flush before it.
static void shape_count_busy(struct tl_shape *s, uint64_t now_ns)
{
	if (now_ns <= s->refused_ns)
		return;
	tl_count(&s->busy_ns, now_ns - s->refused_ns);
	s->refused_ns = now_ns;
}

// Take other classes, with the frames that wait. Policers of classes that stay continue.
static void shape_adopt(struct tl_shape *s, uint64_t now_ns)
{
	struct shape_change *change = atomic_exchange_explicit(&s->offered, NULL, memory_order_acquire);

	if (change == NULL) // main has taken it back
		return;
	struct shape_set old = s->set, *set = &change->set;
	struct tl_tree_moved moved = tl_tree_adopt(set->tree, old.tree, now_ns, change->to, set->fallback);
	for (uint32_t i = 0; i < old.n_classes; i++)
		if (change->to[i] != TL_TREE_REMOVED && (old.work[i] & SHAPE_POLICED) != 0)
			set->policers[change->to[i]] = old.policers[i];
	if ((set->work[set->fallback] & SHAPE_POLICED) != 0)
		tl_tree_count_moved(set->tree, set->fallback, &moved);
	s->set = *set;
	*set = old;
	atomic_store_explicit(&change->done, true, memory_order_release);
}

// With a backlog the send call does not belong to the frames just pushed: begin_tsc is cleared, so that no residence
// time is derived from it.
uint16_t shape_turn(struct tl_shape *s, uint64_t now_ns)
{
	struct tl_txq *q = s->txq;
	uint64_t before = q->tx_pkts;

	if (TL_UNLIKELY(atomic_load_explicit(&s->offered, memory_order_relaxed) != NULL))
		shape_adopt(s, now_ns);
	if (TL_UNLIKELY(s->waiting != 0))
		shape_count_busy(s, now_ns);
	shape_take(s, now_ns);
	shape_give(s, now_ns);
	if (q->n != 0 && s->leaving != NULL)
		s->leaving(s->leaving_ctx, q);
	if (q->n != 0)
		s->flush(q);
	if (TL_UNLIKELY(q->n != 0 && s->waiting == 0))
		s->refused_ns = now_ns;
	s->waiting = q->n;
	if (s->backlog != 0)
		q->begin_tsc = 0;
	return (uint16_t)(q->tx_pkts - before);
}

void shape_flush(struct tl_txq *q)
{
	struct tl_shape *s = q->shaper;

	(void)shape_turn(s, tl_clock_mono_ns(s->clock, rte_rdtsc()));
}

uint64_t shape_next_ns(void *shape)
{
	const struct tl_shape *s = shape;

	bool now = s->waiting != 0 || atomic_load_explicit(&s->offered, memory_order_relaxed) != NULL;

	return now ? 0 : tl_tree_next_ns(s->set.tree);
}

uint16_t shape_poll(void *shape, uint64_t mono_ns)
{
	return TL_UNLIKELY(mono_ns >= shape_next_ns(shape)) ? shape_turn(shape, mono_ns) : 0;
}

void shape_drop(void *shape, void *frame)
{
	struct tl_shape *s = shape;

	s->backlog--;
	tl_txq_free_dropped(s->txq, frame);
	tl_count(&s->txq->drop_shaped_pkts, 1);
}
