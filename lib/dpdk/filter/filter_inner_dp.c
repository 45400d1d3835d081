// SPDX-License-Identifier: BSD-3-Clause
// Match of one frame against an expression with inner(...) terms: first the terms, then the rest for what they gave.

#include "filter_priv.h"

#include <rte_mbuf.h>

#include <tl_encap.h>

// Length of the innermost packet on the wire. That of a truncated frame includes what the outer headers put behind it.
static uint32_t inner_wire_bytes(const struct tl_encap *encap, uint32_t cap_bytes, uint32_t wire_bytes)
{
	return (wire_bytes > cap_bytes ? wire_bytes : encap->end) - encap->network_off;
}

// Terms that hold, as bits.
static unsigned match_terms(const struct filter_inner *inner, const uint8_t *data, uint32_t cap_bytes,
	uint32_t wire_bytes, const struct tl_encap *encap)
{
	uint32_t bytes = encap->end - encap->network_off;
	uint32_t inner_wire = inner_wire_bytes(encap, cap_bytes, wire_bytes);
	unsigned set = 0;

	for (uint32_t i = 0; i < inner->n && tl_encap_is_ip(encap); i++)
		set |= (unsigned)tl_filter_match_bytes(inner->term[i], data + encap->network_off, bytes, inner_wire)
		       << i;
	return set;
}

bool tl_filter_match_inner_bytes(
	const struct filter_inner *inner, const uint8_t *data, uint32_t cap_bytes, uint32_t wire_bytes)
{
	struct tl_encap encap;

	tl_encap_parse_link(inner->link, data, cap_bytes, &encap);
	const struct tl_filter *rest = inner->rest[match_terms(inner, data, cap_bytes, wire_bytes, &encap)];
	return rest != NULL && tl_filter_match_bytes(rest, data, cap_bytes, wire_bytes);
}

// Native code takes an mbuf: one with the packet only, without its own memory.
bool tl_filter_match_inner(const struct filter_inner *inner, const struct rte_mbuf *m, uint32_t wire_bytes)
{
	uint8_t *data = rte_pktmbuf_mtod(m, uint8_t *);
	struct tl_encap encap;
	unsigned set = 0;

	tl_encap_parse(data, m->data_len, &encap);
	if (TL_LIKELY(tl_encap_is_ip(&encap))) {
		uint32_t bytes = encap.end - encap.network_off;
		uint32_t inner_wire = inner_wire_bytes(&encap, m->data_len, wire_bytes);
		struct rte_mbuf packet;
		packet.buf_addr = data + encap.network_off;
		packet.data_off = 0;
		packet.data_len = (uint16_t)bytes;
		packet.pkt_len = bytes;
		packet.nb_segs = 1;
		packet.next = NULL;
		for (uint32_t i = 0; i < inner->n; i++)
			set |= (unsigned)tl_filter_match(inner->term[i], &packet, inner_wire) << i;
	}
	const struct tl_filter *rest = inner->rest[set];
	return rest != NULL && tl_filter_match(rest, m, wire_bytes);
}
