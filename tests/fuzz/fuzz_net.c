// SPDX-License-Identifier: BSD-3-Clause
// Feed frames to a host with a TCP listener, a UDP port and a group. Input: a sequence of frames: two bytes of length
// (big-endian, limited to the rest), one byte whose low seven bits are the time since the previous frame (units of 16
// ms) and whose high bit requests repairs of values that no fuzzer guesses, and the frame.

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <tl_err.h>
#include <tl_net.h>
#include <tl_tcp.h>
#include <tl_wire.h>

#include "tl_test_eal.h"
#include "tl_test_mbuf.h"

#define POOL "fuzz_net"
#define FRAME_MAX 2048
#define PREFIX_LEN 3
#define MEND 0x80
#define ADDR(a, b, c, d) tl_be32((uint32_t)(a) << 24 | (uint32_t)(b) << 16 | (uint32_t)(c) << 8 | (uint32_t)(d))

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Note the sequence number of our last SYN, in the queue's backend.
static void note_iss(struct tl_txq *q, struct rte_mbuf *m)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
	struct tl_pkt pkt;

	tl_wire_parse(frame, m->data_len, &pkt);
	if ((pkt.tcp_flags & TL_TCP_SYN) != 0)
		*(uint32_t *)q->backend = tl_be32(((const struct tl_tcp_hdr *)(frame + pkt.l4_off))->seq_be);
}

static void discard(struct tl_txq *q)
{
	for (uint16_t i = 0; i < q->n; i++) {
		note_iss(q, q->pkts[i]);
		rte_pktmbuf_free(q->pkts[i]);
	}
	q->n = 0;
}

// Reply to and read every byte, so that a wrong length is detected.
static void echo_datagram(void *ctx, const struct tl_udp_datagram *d)
{
	struct tl_udp **udp = ctx;

	if (tl_udp_send(*udp, d->src_ip_be, d->src_port_be, d->payload, d->len) == -EMSGSIZE)
		(void)tl_udp_send(*udp, d->src_ip_be, d->src_port_be, d->payload + d->len - 1, 1);
}

static void echo_data(void *ctx, struct tl_tcp *c, const uint8_t *data, uint32_t len)
{
	(void)tl_tcp_send(c, data, len);
}

static void ignore_closed(void *ctx, struct tl_tcp *c, enum tl_tcp_reason reason)
{
}

static void require(bool ok)
{
	if (!ok)
		abort();
}

static void check_partition(const struct tl_net *net)
{
	struct tl_counter all[128];
	unsigned n = tl_net_counters(net, all, TL_ARRAY_LEN(all));
	uint64_t sum = 0;

	for (unsigned i = 1; i < n; i++) {
		if (strncmp(all[i].name, "rx_", 3) == 0 || strncmp(all[i].name, "drop_", 5) == 0)
			sum += all[i].value;
	}
	require(sum == all[0].value);
}

static struct tl_net *create(struct tl_txq *tx, struct tl_udp **unicast, struct tl_udp **group, struct tl_udp **group6)
{
	static const struct tl_ip6 ff05_1234 = {{0xff, 0x05, [14] = 0x12, 0x34}};
	static const struct tl_tcp_ops ops = {.data = echo_data, .closed = ignore_closed};
	const struct tl_net_cfg cfg = {
		.name = "fuzz",
		.tx = tx,
		.pool = rte_mempool_lookup(POOL),
		.mac = {0x02, 0, 0, 0, 0, 1},
		.ip_be = ADDR(192, 0, 2, 1),
		.mask_be = ADDR(255, 255, 255, 0),
		.gateway_be = ADDR(192, 0, 2, 254),
		.ip6 = {{0x20, 0x01, 0x0d, 0xb8, [15] = 1}},
		.ip6_bits = 64,
		.gateway6 = {{0x20, 0x01, 0x0d, 0xb8, [15] = 0xfe}},
		.mtu = 1500,
		.max_conns = 8,
		.send_buffer_bytes = 4096,
		.reassemble = true,
		.socket_id = SOCKET_ID_ANY,
		.seed = 1,
	};
	struct tl_tcp_listener *listener;
	struct tl_net *net = NULL;
	struct tl_err err;

	require(tl_net_create(&cfg, &net, &err) == 0);
	require(tl_tcp_listen(net, tl_be16(80), 4, &ops, NULL, NULL, &listener) == 0);
	require(tl_udp_open(net, 0, 0, tl_be16(5000), echo_datagram, unicast, unicast) == 0);
	require(tl_udp_open(net, ADDR(239, 1, 2, 3), 0, tl_be16(5000), echo_datagram, group, group) == 0);
	require(tl_udp_open(net, tl_net_ip6(net, &ff05_1234), 0, tl_be16(5000), echo_datagram, group6, group6) == 0);
	return net;
}

static void mend_l4(uint8_t *frame, const struct tl_pkt *pkt, uint32_t iss)
{
	bool is6 = pkt->kind == TL_PKT_IP6;
	uint8_t kind = is6 ? pkt->ip6_kind : pkt->kind;
	struct tl_icmp_hdr *icmp = (struct tl_icmp_hdr *)(frame + pkt->l4_off);
	struct tl_tcp_hdr *tcp = (struct tl_tcp_hdr *)(frame + pkt->l4_off);
	uint16_t len = pkt->payload_off - pkt->l4_off + pkt->payload_len;

	if (kind == TL_PKT_TCP)
		tcp->ack_be = tl_be32(tl_be32(tcp->ack_be) + iss);
	if (kind == TL_PKT_ICMP || kind == TL_PKT_IGMP) {
		const struct tl_ipv6_hdr *ip = tl_wire_ip6(frame, pkt);
		uint32_t sum = is6 ? tl_cksum_pseudo6(&ip->src, &ip->dst, TL_IPPROTO_ICMP6, len) : 0;
		icmp->cksum_be = 0;
		icmp->cksum_be = tl_cksum_finish(tl_cksum_add(sum, icmp, len));
	}
}

static void mend_ip(uint8_t *frame, uint16_t len)
{
	struct tl_ipv4_hdr *ip = (struct tl_ipv4_hdr *)(frame + TL_ETHER_LEN);

	if (len < TL_ETHER_LEN + TL_IPV4_LEN || len < TL_ETHER_LEN + (ip->version_ihl & 0x0f) * 4)
		return;
	ip->cksum_be = 0;
	ip->cksum_be = tl_cksum_finish(tl_cksum_add(0, ip, (ip->version_ihl & 0x0f) * 4));
}

// Make the IP, ICMP and IGMP checksums valid, let the NIC confirm those of UDP and TCP, and make a TCP acknowledgment
// relative to our initial sequence number.
static void mend(struct rte_mbuf *m, uint32_t iss)
{
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
	struct tl_pkt pkt;

	tl_wire_parse(frame, m->data_len, &pkt);
	if (pkt.kind != TL_PKT_IP6)
		mend_ip(frame, m->data_len);
	tl_wire_parse(frame, m->data_len, &pkt);
	mend_l4(frame, &pkt, iss);
	m->ol_flags |= RTE_MBUF_F_RX_L4_CKSUM_GOOD;
}

static void feed(struct tl_net *net, struct rte_mbuf *m, uint64_t mono_ns)
{
	struct tl_burst burst = {.n = 1, .mono_ns = mono_ns, .pkts = {m}};

	tl_wire_parse(rte_pktmbuf_mtod(m, uint8_t *), m->data_len, &burst.pkt[0]);
	tl_net_input(net, &burst);
	rte_pktmbuf_free(m);
	tl_net_tick(net, mono_ns);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	tl_test_eal_start();
	require(rte_pktmbuf_pool_create(POOL, 1023, 0, 0, RTE_PKTMBUF_HEADROOM + FRAME_MAX, SOCKET_ID_ANY) != NULL);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t iss = 0;
	struct tl_txq tx = {.flush_fn = discard, .backend = &iss};
	struct tl_udp *unicast, *group, *group6;
	struct tl_net *net = create(&tx, &unicast, &group, &group6);
	uint64_t mono_ns = TL_NS_PER_S;

	tl_net_announce(net, mono_ns);
	tl_net_tick(net, mono_ns);
	mono_ns += 2 * TL_NS_PER_S; // duplicate address detection is done
	tl_net_tick(net, mono_ns);
	tl_txq_flush(&tx);
	while (size >= PREFIX_LEN) {
		size_t len = tl_min_u64((size_t)data[0] << 8 | data[1], tl_min_u64(size - PREFIX_LEN, FRAME_MAX));
		struct rte_mbuf *m = tl_test_mbuf(rte_mempool_lookup(POOL), data + PREFIX_LEN, (uint16_t)len);
		require(m != NULL);
		if (data[2] & MEND)
			mend(m, iss);
		mono_ns += (data[2] & ~MEND) * 16 * TL_NS_PER_MS;
		feed(net, m, mono_ns);
		tl_txq_flush(&tx);
		data += PREFIX_LEN + len;
		size -= PREFIX_LEN + len;
	}
	check_partition(net);
	tl_net_destroy(net);
	tl_txq_flush(&tx);
	require(rte_mempool_in_use_count(rte_mempool_lookup(POOL)) == 0);
	return 0;
}
