// SPDX-License-Identifier: BSD-3-Clause
// Payload and connection of a frame. A frame may be truncated by the capture, and frames sent by the capturing host may
// lack a checksum that is left to the network card.

#include "match_priv.h"

static enum tl_pkt_kind parse(
	struct tl_match *match, const struct tl_match_frame *frame, const uint8_t **out_data, struct tl_pkt *out)
{
	uint32_t have = frame->cap_bytes, whole = frame->wire_bytes;

	*out_data = frame->data;
	if (have > MATCH_FRAME_MAX || whole > MATCH_FRAME_MAX)
		return TL_PKT_OTHER;
	if (have < whole) {
		memcpy(match->scratch, frame->data, have);
		memset(match->scratch + have, 0, whole - have);
		*out_data = match->scratch;
	}
	whole = have > whole ? have : whole;
	tl_wire_parse_link(frame->link, *out_data, whole, out);
	if (out->kind == TL_PKT_BAD_CKSUM) {
		if (*out_data != match->scratch)
			memcpy(match->scratch, frame->data, whole);
		*out_data = match->scratch;
		struct tl_ipv4_hdr *ip = (void *)(match->scratch + out->l3_off);
		ip->cksum_be = 0;
		ip->cksum_be = tl_cksum_finish(tl_cksum_add(0, ip, (size_t)(ip->version_ihl & 0x0f) * 4));
		tl_wire_parse_link(frame->link, *out_data, whole, out);
	}
	return out->kind == TL_PKT_IP6 ? out->ip6_kind : out->kind;
}

static void read_tcp(const uint8_t *data, const struct tl_pkt *pkt, struct match_payload *out)
{
	const struct tl_tcp_hdr *tcp = (const void *)(data + pkt->l4_off);
	struct match_stream_key *key = &out->key;

	out->is_tcp = true;
	out->syn = (pkt->tcp_flags & TL_TCP_SYN) != 0;
	out->seq = tl_be32(tcp->seq_be) + out->syn;
	memset(key, 0, sizeof(*key)); // it is hashed and compared as bytes
	key->src_port_be = pkt->src_port_be;
	key->dst_port_be = pkt->dst_port_be;
	key->vlan_id = pkt->vlan_tci & TL_VLAN_ID;
	key->is_ip6 = pkt->kind == TL_PKT_IP6;
	if (key->is_ip6) {
		key->src = tl_wire_ip6(data, pkt)->src;
		key->dst = tl_wire_ip6(data, pkt)->dst;
	} else {
		memcpy(&key->src, &pkt->src_be, sizeof(pkt->src_be));
		memcpy(&key->dst, &pkt->dst_be, sizeof(pkt->dst_be));
	}
}

enum match_use match_read_frame(struct tl_match *match, const struct tl_match_frame *frame, struct match_payload *out)
{
	const uint8_t *data;
	struct tl_pkt pkt;
	enum tl_pkt_kind kind = parse(match, frame, &data, &pkt);

	if (kind == TL_PKT_BAD && frame->cap_bytes < frame->wire_bytes)
		return MATCH_CUT;
	if (kind != TL_PKT_UDP && kind != TL_PKT_TCP)
		return MATCH_IGNORED;
	*out = (struct match_payload){.data = data + pkt.payload_off,
		.len = pkt.payload_len,
		.have = pkt.payload_len,
		.ts_ns = frame->ts_ns,
		.frame = frame->frame};
	if (frame->cap_bytes < (uint32_t)pkt.payload_off + pkt.payload_len)
		out->have = frame->cap_bytes > pkt.payload_off ? frame->cap_bytes - pkt.payload_off : 0;
	if (kind == TL_PKT_TCP)
		read_tcp(data, &pkt, out);
	return MATCH_USED;
}
