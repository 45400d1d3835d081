// SPDX-License-Identifier: BSD-3-Clause
// Payload and connection of a frame.

#include "match_priv.h"

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
	struct tl_pkt pkt;
	const uint8_t *data = tl_wire_parse_captured(
		frame->link, frame->data, frame->cap_bytes, frame->wire_bytes, match->scratch, &pkt);
	uint8_t kind = pkt.kind == TL_PKT_IP6 ? pkt.ip6_kind : pkt.kind;

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
