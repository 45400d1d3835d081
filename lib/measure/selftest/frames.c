// SPDX-License-Identifier: BSD-3-Clause
// Generation and recognition of the self-test's frames.

#include "selftest_priv.h"

#include <string.h>

#include <rte_mbuf.h>

// Different from the address of a port: i40e drops received frames whose source is its own.
static const uint8_t source_mac[TL_ETHER_ADDR_LEN] = {0x02, 0x54, 0x4c, 0x53, 0x54, 0x00};

#define NETWORK 0xC6120000u // 198.18.0.0/15
#define FLOW_HOSTS 0xFFFFu
#define PORT_FIRST 1024u
#define HEADERS (TL_ETHER_LEN + TL_IPV4_LEN + TL_TCP_LEN)

struct headers {
	struct tl_ether_hdr eth;
	struct tl_ipv4_hdr ip;
	struct tl_tcp_hdr tcp; // seq: number of the frame; ack: the run; window: way and phase
} __attribute__((packed));

_Static_assert(sizeof(struct headers) == HEADERS, "no gaps");

static uint16_t mark(const struct tl_selftest_way *way)
{
	return (uint16_t)(way->phase << 8 | way->from << 4 | way->to);
}

struct tl_selftest_flow tl_selftest_flow(uint32_t number)
{
	uint32_t scattered = number * 2654435761u; // Knuth's multiplier: neighbours differ in all bits

	return (struct tl_selftest_flow){.src_be = tl_be32(NETWORK | (scattered >> 16 & FLOW_HOSTS)),
		.dst_be = tl_be32(NETWORK | 0x10000u | (scattered & FLOW_HOSTS)),
		.src_port_be = tl_be16((uint16_t)(PORT_FIRST + number % 50000)),
		.dst_port_be = tl_be16(9)}; // discard
}

void tl_selftest_make(
	const struct tl_selftest *t, const struct tl_selftest_flow *flow, uint32_t number, uint32_t bytes, uint8_t *out)
{
	uint16_t l4_len = (uint16_t)(bytes - TL_ETHER_LEN - TL_IPV4_LEN);
	struct headers h = {.eth.type_be = tl_be16(TL_ETHERTYPE_IPV4),
		.ip = {.version_ihl = 0x45,
			.total_len_be = tl_be16((uint16_t)(bytes - TL_ETHER_LEN)),
			.ttl = 1,
			.proto = TL_IPPROTO_TCP,
			.src_be = flow->src_be,
			.dst_be = flow->dst_be},
		.tcp = {.src_port_be = flow->src_port_be,
			.dst_port_be = flow->dst_port_be,
			.seq_be = tl_be32(number),
			.ack_be = tl_be32(t->cfg->run),
			.data_off = TL_TCP_LEN / 4 << 4,
			.flags = TL_TCP_ACK,
			.window_be = tl_be16(mark(&t->way))}};

	memcpy(h.eth.dst, tl_port_mac(t->way.rx_port), sizeof(h.eth.dst));
	memcpy(h.eth.src, source_mac, sizeof(h.eth.src));
	tl_wire_ipv4_finish(&h.ip);
	memcpy(out, &h, sizeof(h));
	for (uint32_t i = HEADERS; i < bytes; i++)
		out[i] = (uint8_t)(number + i);
	uint32_t sum = tl_cksum_pseudo(flow->src_be, flow->dst_be, TL_IPPROTO_TCP, l4_len);
	h.tcp.cksum_be = tl_cksum_finish(tl_cksum_add(sum, out + TL_ETHER_LEN + TL_IPV4_LEN, l4_len));
	memcpy(out + TL_ETHER_LEN + TL_IPV4_LEN, &h.tcp, sizeof(h.tcp));
}

bool tl_selftest_read(const struct tl_selftest *t, const struct rte_mbuf *m, struct tl_selftest_frame *out)
{
	uint8_t room[TL_SELFTEST_BYTES_MAX], expected[TL_SELFTEST_BYTES_MAX];
	struct headers h;

	if (m->pkt_len < HEADERS || m->pkt_len > sizeof(room))
		return false;
	const uint8_t *frame = rte_pktmbuf_read(m, 0, m->pkt_len, room);
	memcpy(&h, frame, sizeof(h));
	if (h.tcp.ack_be != tl_be32(t->cfg->run) || h.tcp.window_be != tl_be16(mark(&t->way)) ||
		memcmp(h.eth.src, source_mac, sizeof(source_mac)) != 0)
		return false;
	struct tl_selftest_flow flow = {h.ip.src_be, h.ip.dst_be, h.tcp.src_port_be, h.tcp.dst_port_be};
	out->number = tl_be32(h.tcp.seq_be);
	if (t->way.compares) {
		tl_selftest_make(t, &flow, out->number, m->pkt_len, expected);
		out->whole = memcmp(frame, expected, m->pkt_len) == 0;
	}
	return true;
}
