// SPDX-License-Identifier: BSD-3-Clause
// Sessions of captured frames: frames to segments of sessions, and memory.

#include "session_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// ---- memory

void *session_realloc(struct tl_session_set *set, void *p, uint64_t old_bytes, uint64_t bytes, int *rc)
{
	struct tl_session_stats *stats = &set->stats;

	if (stats->memory_bytes - old_bytes + bytes > set->cfg.memory_bytes)
		return NULL;
	void *grown = realloc(p, bytes);
	if (grown == NULL) {
		*rc = -ENOMEM;
		return NULL;
	}
	stats->memory_bytes += bytes - old_bytes;
	stats->memory_max_bytes = tl_max_u64(stats->memory_max_bytes, stats->memory_bytes);
	return grown;
}

void session_free(struct tl_session_set *set, void *p, uint64_t bytes)
{
	if (p == NULL)
		return;
	free(p);
	set->stats.memory_bytes -= bytes;
}

void session_empty(struct tl_session_set *set, struct session *s, enum tl_session_class class)
{
	for (int side = 0; side < 2; side++) {
		struct session_stream *stream = &s->stream[side];
		session_free_held(set, stream);
		session_free(set, stream->data, stream->room);
		stream->data = NULL;
		stream->room = 0;
	}
	session_free(set, s->steps, s->steps_room * sizeof(*s->steps));
	s->steps = NULL;
	s->steps_room = s->pub.n_steps = 0;
	s->pub.class = class;
	s->empty = true;
}

int tl_session_create(const struct tl_session_cfg *cfg, struct tl_session_set **out)
{
	struct tl_session_set *set = calloc(1, sizeof(*set));

	if (set == NULL)
		return -ENOMEM;
	set->cfg = *cfg;
	set->stats.memory_bytes = set->stats.memory_max_bytes = sizeof(*set);
	TAILQ_INIT(&set->recent);
	STAILQ_INIT(&set->waiting);
	*out = set;
	return 0;
}

void tl_session_destroy(struct tl_session_set *set)
{
	if (set == NULL)
		return;
	for (uint64_t i = 0; i < set->n; i++) {
		session_empty(set, set->list[i], TL_SESSION_BEYOND);
		free(set->list[i]);
	}
	free(set->list);
	free(set->bucket);
	free(set);
}

// ---- frames

static void read_ends(const uint8_t *data, const struct tl_pkt *pkt, struct tl_session_end end[2])
{
	memset(end, 0, 2 * sizeof(end[0])); // they are hashed and compared as bytes
	if (pkt->kind == TL_PKT_IP6) {
		end[0].ip = tl_wire_ip6(data, pkt)->src;
		end[1].ip = tl_wire_ip6(data, pkt)->dst;
	} else {
		memcpy(&end[0].ip, &pkt->src_be, sizeof(pkt->src_be));
		memcpy(&end[1].ip, &pkt->dst_be, sizeof(pkt->dst_be));
	}
	end[0].port_be = pkt->src_port_be;
	end[1].port_be = pkt->dst_port_be;
}

// Return the kind of a frame's connection. Count a frame with a VLAN ID.
static uint32_t kind_of(
	struct tl_session_set *set, const uint8_t *data, const struct tl_pkt *pkt, const struct tl_session_frame *frame)
{
	uint32_t kind = pkt->kind == TL_PKT_IP6 ? SESSION_IP6 : 0;
	uint16_t vlan[2];

	tl_link_vlans(frame->link, data, pkt, vlan);
	set->stats.tagged_pkts += (vlan[0] | vlan[1]) != 0;
	if (set->cfg.any_vlan)
		return kind;
	return kind | (uint32_t)vlan[0] << SESSION_VLAN_SHIFT | (uint32_t)vlan[1] << SESSION_INNER_SHIFT;
}

static void read_segment(const uint8_t *data, const struct tl_pkt *pkt, const struct tl_session_frame *frame,
	struct session_segment *out)
{
	const struct tl_tcp_hdr *tcp = (const void *)(data + pkt->l4_off);
	uint32_t have = frame->cap_bytes > pkt->payload_off ? frame->cap_bytes - pkt->payload_off : 0;

	*out = (struct session_segment){.data = data + pkt->payload_off,
		.len = pkt->payload_len,
		.have = have < pkt->payload_len ? have : pkt->payload_len,
		.seq = tl_be32(tcp->seq_be) + ((pkt->tcp_flags & TL_TCP_SYN) != 0),
		.ack = tl_be32(tcp->ack_be),
		.flags = pkt->tcp_flags,
		.ts_ns = frame->ts_ns};
}

static enum tl_session_side side_of(const struct session *s, bool from_first)
{
	return s->client_is_first == from_first ? TL_SESSION_CLIENT : TL_SESSION_SERVER;
}

// True if the segment is the SYN of another session of the same addresses and ports, or data of one whose SYN is
// missing.
static bool begins_another(const struct session *s, bool from_first, const struct session_segment *segment)
{
	const struct session_stream *stream = &s->stream[side_of(s, from_first)];
	bool is_answer = (segment->flags & TL_TCP_ACK) != 0;

	if ((segment->flags & TL_TCP_RST) != 0)
		return false;
	if ((segment->flags & TL_TCP_SYN) == 0)
		return segment->len != 0 && stream->known && session_has_ended(s) &&
		       !session_is_near(stream, segment->seq);
	if (stream->known && segment->seq == stream->base)
		return s->reset && !is_answer; // the next attempt, or the same SYN once more
	if (session_is_over(s))
		return true;
	return !is_answer && stream->known;
}

// Tell which side is the client of a session that begins with this segment; without a SYN the one with the higher port.
static bool is_from_client(const struct session_segment *segment, const struct tl_session_end end[2])
{
	if ((segment->flags & TL_TCP_SYN) != 0)
		return (segment->flags & TL_TCP_ACK) == 0;
	return tl_be16(end[0].port_be) > tl_be16(end[1].port_be);
}

static int take_segment(struct tl_session_set *set, const struct tl_session_end end[2], uint32_t kind,
	const struct session_segment *segment)
{
	int order = memcmp(&end[0], &end[1], sizeof(end[0])), rc = 0;
	bool from_first = order < 0;
	struct session_key key = {.end = {end[from_first ? 0 : 1], end[from_first ? 1 : 0]}, .kind = kind};
	struct session *s = order != 0 ? session_find(set, &key) : NULL;
	bool is_known = s != NULL && !begins_another(s, from_first, segment);

	if (order == 0 || (!is_known && (segment->flags & TL_TCP_RST) != 0)) {
		set->stats.stray_pkts++;
		return 0;
	}
	if (s != NULL && !is_known && set->cfg.idle_ns != 0)
		session_retire(set, s);
	if (!is_known)
		rc = session_begin(set, &key, is_from_client(segment, end) == from_first, segment->ts_ns, &s);
	if (rc != 0)
		return rc;
	if (s == NULL) {
		set->stats.beyond_pkts++;
		set->stats.beyond_sessions += (segment->flags & (TL_TCP_SYN | TL_TCP_ACK)) == TL_TCP_SYN;
		return 0;
	}
	set->stats.used_pkts++;
	if (!is_known && (segment->flags & TL_TCP_SYN) == 0)
		session_empty(set, s, TL_SESSION_NO_SYN);
	rc = session_segment(set, s, side_of(s, from_first), segment);
	session_note(set, s);
	return rc;
}

// ---- datagrams

static bool is_to_group(const uint8_t *data, const struct tl_pkt *pkt)
{
	return pkt->kind == TL_PKT_IP6 ? tl_ip6_is_mcast(&tl_wire_ip6(data, pkt)->dst)
				       : tl_be32(pkt->dst_be) >> 29 == 7; // 224.0.0.0/3: groups, reserved, broadcast
}

static int take_datagram(struct tl_session_set *set, const struct tl_session_end end[2], uint32_t kind,
	const struct session_segment *datagram)
{
	int order = memcmp(&end[0], &end[1], sizeof(end[0])), rc = 0;
	bool from_first = order < 0;
	struct session_key key = {
		.end = {end[from_first ? 0 : 1], end[from_first ? 1 : 0]}, .kind = kind | SESSION_UDP};
	struct session *s = order != 0 ? session_find(set, &key) : NULL;

	if (order == 0) {
		set->stats.stray_pkts++;
		return 0;
	}
	if (s == NULL)
		rc = session_begin(set, &key, from_first, datagram->ts_ns, &s);
	if (rc != 0)
		return rc;
	if (s == NULL) {
		set->stats.beyond_pkts++;
		return 0;
	}
	set->stats.used_pkts++;
	rc = session_datagram(set, s, side_of(s, from_first), datagram);
	session_note(set, s);
	return rc;
}

static int add_udp(
	struct tl_session_set *set, const uint8_t *data, const struct tl_pkt *pkt, const struct tl_session_frame *frame)
{
	uint32_t have = frame->cap_bytes > pkt->payload_off ? frame->cap_bytes - pkt->payload_off : 0;
	const struct session_segment datagram = {.data = data + pkt->payload_off,
		.len = pkt->payload_len,
		.have = have < pkt->payload_len ? have : pkt->payload_len,
		.ts_ns = frame->ts_ns};
	struct tl_session_end end[2];

	if (frame->cap_bytes < (uint32_t)pkt->l4_off + TL_UDP_LEN) {
		set->stats.truncated_pkts++;
		return 0;
	}
	if (is_to_group(data, pkt)) {
		set->stats.ignored_pkts++;
		return 0;
	}
	read_ends(data, pkt, end);
	return take_datagram(set, end, kind_of(set, data, pkt, frame), &datagram);
}

int tl_session_add(struct tl_session_set *set, const struct tl_session_frame *frame)
{
	struct tl_session_end end[2];
	struct session_segment segment;
	struct tl_pkt pkt;
	const uint8_t *data = tl_wire_parse_captured(
		frame->link, frame->data, frame->cap_bytes, frame->wire_bytes, set->scratch, &pkt);
	uint8_t kind = pkt.kind == TL_PKT_IP6 ? pkt.ip6_kind : pkt.kind;

	set->stats.frames_pkts++;
	session_tick(set, frame->ts_ns);
	if (kind == TL_PKT_BAD && frame->cap_bytes < frame->wire_bytes) {
		set->stats.truncated_pkts++;
	} else if (kind == TL_PKT_UDP && set->cfg.udp) {
		return add_udp(set, data, &pkt, frame);
	} else if (kind != TL_PKT_TCP) {
		set->stats.ignored_pkts++;
	} else if (frame->cap_bytes < (uint32_t)pkt.l4_off + TL_TCP_LEN) {
		set->stats.truncated_pkts++;
	} else {
		read_ends(data, &pkt, end);
		read_segment(data, &pkt, frame, &segment);
		return take_segment(set, end, kind_of(set, data, &pkt, frame), &segment);
	}
	return 0;
}

// ---- results

void tl_session_finish(struct tl_session_set *set)
{
	for (uint64_t i = 0; i < set->n; i++)
		session_classify(set, set->list[i]);
}

uint64_t tl_session_count(const struct tl_session_set *set)
{
	return set->n;
}

const struct tl_session *tl_session_at(const struct tl_session_set *set, uint64_t i)
{
	return &set->list[i]->pub;
}

const struct tl_session_stats *tl_session_get_stats(const struct tl_session_set *set)
{
	return &set->stats;
}
