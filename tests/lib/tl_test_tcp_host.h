// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// test_tcp_host: one stack against a peer whose segments are all written by the test, on a clock set by the test.
//
// Threads: main. Memory: start() allocates a struct host, stop() frees it and checks that no mbuf is left.

#include "tl_test_tcp.h"

#define PEER test_peer_be
#define PEER_PORT PORT(40000)
#define OUR_PORT PORT(80)
#define OURS 5000u  // ISN of the stack: its first byte is OURS + 1
#define PEERS 1000u // ISN of the peer
#define MSS 1460u
#define WINDOW 65535u

static uint32_t test_peer_be; // address handle of host 2 in the host started last

enum { F = TL_TCP_FIN, S = TL_TCP_SYN, R = TL_TCP_RST, P = TL_TCP_PSH, A = TL_TCP_ACK };

// ---- the host

// Return the mbufs taken since the start, except the one that the stack keeps for its next frame.
static inline unsigned mbufs_taken(const struct host *h)
{
	return rte_mempool_in_use_count(test_pool()) - h->in_use - (h->net->spare != NULL);
}

static inline bool goes_to_peer(const uint8_t *frame, const struct tl_pkt *pkt)
{
	struct tl_ip6 peer = host_ip6(2);

	if (pkt->kind == TL_PKT_IP6)
		return tl_ip6_equal(&tl_wire_ip6(frame, pkt)->dst, &peer);
	return pkt->dst_be == host_ip(2);
}

static uint16_t test_vlan; // of the hosts of a test and their peers; 0: none

static inline void collect(struct tl_txq *q)
{
	struct host *h = q->backend;
	uint16_t n = (uint16_t)tl_min_u32(q->n, TL_BURST - h->ring_taken);

	for (uint16_t i = 0; i < n; i++) {
		const uint8_t *frame = rte_pktmbuf_mtod(q->pkts[i], const uint8_t *);
		struct tl_pkt pkt;
		tl_wire_parse(frame, q->pkts[i]->data_len, &pkt);
		CU_ASSERT(q->pkts[i]->data_len >= TL_ETHER_MIN_FRAME);
		CU_ASSERT_EQUAL(pkt.vlan_tci, test_vlan);
		h->n_arp += pkt.kind == TL_PKT_ARP || (pkt.kind == TL_PKT_IP6 && pkt.ip6_kind == TL_PKT_ICMP);
		if (is_tcp(&pkt) && h->n_sent < SEGMENTS_MAX) {
			const struct tl_tcp_hdr *tcp = (const struct tl_tcp_hdr *)(frame + pkt.l4_off);
			struct sent *s = &h->segment[h->n_sent++];
			CU_ASSERT(tl_wire_l4_cksum_ok(frame, &pkt));
			CU_ASSERT(goes_to_peer(frame, &pkt));
			*s = (struct sent){h->now_ns, tl_be32(tcp->seq_be), tl_be32(tcp->ack_be),
				tl_be16(tcp->window_be), tcp->src_port_be, tcp->dst_port_be, pkt.payload_len,
				tcp->flags, {0}, {0}, (uint8_t)((tcp->data_off >> 4) * 4 - TL_TCP_LEN), {0}};
			tl_tcp_options_parse(tcp, &s->options);
			memcpy(s->option_bytes, tcp + 1, s->options_len);
			memcpy(s->data, frame + pkt.payload_off, pkt.payload_len);
		}
		rte_pktmbuf_free(q->pkts[i]);
	}
	q->n -= n;
	memmove(q->pkts, q->pkts + n, q->n * sizeof(q->pkts[0]));
}

static inline void give_mbuf(struct host *h, struct rte_mbuf *m)
{
	give_frame(h->net, m, h->now_ns);
	rte_pktmbuf_free(m);
	tl_txq_flush(&h->tx);
}

static inline void give_raw(struct host *h, const uint8_t *frame, uint16_t len)
{
	give_mbuf(h, tl_test_mbuf(test_pool(), frame, len));
}

#ifdef TEST_IP6
// Introduce a host whose address ends with these two bytes: it sends a Neighbor Solicitation for the stack's address,
// and answers that of the stack.
static inline void introduce(struct host *h, uint8_t high, uint8_t low)
{
	static const struct {
		uint8_t type, flags, target, option;
	} messages[] = {{135, 0, 1, 1}, {136, 0x60, 2, 2}};

	for (unsigned i = 0; i < 2; i++) {
		uint8_t frame[TL_ETHER_LEN + TL_IPV6_LEN + 32] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x86, 0xdd};
		struct tl_ipv6_hdr *ip = (struct tl_ipv6_hdr *)(frame + TL_ETHER_LEN);
		struct tl_ip6 target = host_ip6(messages[i].target);
		uint8_t *nd = (uint8_t *)(ip + 1);
		*ip = (struct tl_ipv6_hdr){tl_be32(6u << 28), tl_be16(32), 58, 255, host_ip6(low), host_ip6(1)};
		ip->src.byte[14] = high;
		if (messages[i].target == 2)
			target = ip->src;
		nd[0] = messages[i].type;
		nd[4] = messages[i].flags;
		memcpy(nd + 8, &target, sizeof(target));
		nd[24] = messages[i].option;
		nd[25] = 1;
		memcpy(nd + 26, frame + TL_ETHER_ADDR_LEN, TL_ETHER_ADDR_LEN);
		uint16_t cksum_be = tl_cksum_finish(tl_cksum_add(tl_cksum_pseudo6(&ip->src, &ip->dst, 58, 32), nd, 32));
		memcpy(nd + 2, &cksum_be, sizeof(cksum_be));
		give_raw(h, frame, sizeof(frame));
	}
}
#else
static inline void introduce(struct host *h, uint8_t high, uint8_t low)
{
	uint8_t frame[TL_ETHER_MIN_FRAME] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 6};
	const struct tl_arp_hdr arp = {
		.hw_type_be = tl_be16(1),
		.proto_be = tl_be16(0x0800),
		.hw_len = 6,
		.proto_len = 4,
		.op_be = tl_be16(1),
		.sender_mac = {2, 0, 0, 0, 0, 2},
		.sender_ip_be = IP(192, 0, high, low),
		.target_ip_be = IP(192, 0, 2, 1),
	};

	memcpy(frame + TL_ETHER_LEN, &arp, sizeof(arp));
	give_raw(h, frame, sizeof(frame));
}
#endif

static inline void introduce_peer(struct host *h)
{
#ifdef TEST_IP6
	introduce(h, 0, 2);
#else
	introduce(h, 2, 2);
#endif
}

// Advance the time. An introduced peer answers ARP.
static inline void pass(struct host *h, uint64_t ns)
{
	uint64_t end_ns = h->now_ns + ns;

	while (h->now_ns < end_ns) {
		unsigned asked = h->n_arp;
		h->now_ns = tl_min_u64(h->now_ns + MS, end_ns);
		tl_net_tick(h->net, h->now_ns);
		tl_txq_flush(&h->tx);
		if (h->introduced && h->n_arp != asked)
			introduce_peer(h);
	}
}

static inline struct host *start_sharing(
	uint32_t pool_users, uint32_t max_conns, uint32_t send_buffer_bytes, uint16_t mtu, bool introduced)
{
	struct host *h = calloc(1, sizeof(*h));

	h->our_port = OUR_PORT;
	h->peer_port = PEER_PORT;
	h->window = WINDOW;
	struct tl_net_cfg cfg = test_cfg(&h->tx, 1, max_conns, send_buffer_bytes);
	cfg.mtu = TEST_MTU(mtu);
	cfg.pool_users = pool_users;
	cfg.vlan = test_vlan;
	host_start(h, &cfg, 1000 * SECOND - TEST_DAD_NS, collect);
	fix_isn(h->net, OURS);
	test_peer_be = host_be(h->net, 2);
	tl_net_announce(h->net, h->now_ns);
	pass(h, TEST_DAD_NS + MS);
	h->n_arp = 0;
	h->introduced = introduced;
	if (introduced)
		introduce_peer(h);
	return h;
}

static inline struct host *start_with(uint32_t max_conns, uint32_t send_buffer_bytes, uint16_t mtu, bool introduced)
{
	return start_sharing(1, max_conns, send_buffer_bytes, mtu, introduced);
}

static inline struct host *start(void)
{
	return start_with(8, 65536, 1500, true);
}

// ---- segments from the peer

// Write EtherType and IP header of a segment from the peer. Return the header's length, and store the pseudo-header's
// sum in *sum.
static inline uint16_t peer_ip(uint8_t *frame, uint16_t l4_len, uint32_t *sum)
{
#ifdef TEST_IP6
	struct tl_ipv6_hdr *ip = (struct tl_ipv6_hdr *)(frame + TL_ETHER_LEN);

	memcpy(frame + 12, "\x86\xdd", 2);
	*ip = (struct tl_ipv6_hdr){tl_be32(6u << 28), tl_be16(l4_len), TL_IPPROTO_TCP, 64, host_ip6(2), host_ip6(1)};
	*sum = tl_cksum_pseudo6(&ip->src, &ip->dst, TL_IPPROTO_TCP, l4_len);
#else
	struct tl_ipv4_hdr *ip = (struct tl_ipv4_hdr *)(frame + TL_ETHER_LEN);

	memcpy(frame + 12, "\x08\x00", 2);
	*ip = (struct tl_ipv4_hdr){
		.version_ihl = 0x45,
		.total_len_be = tl_be16(TL_IPV4_LEN + l4_len),
		.ttl = 64,
		.proto = TL_IPPROTO_TCP,
		.src_be = host_ip(2),
		.dst_be = host_ip(1),
	};
	tl_wire_ipv4_finish(ip);
	*sum = tl_cksum_pseudo(ip->src_be, ip->dst_be, TL_IPPROTO_TCP, l4_len);
#endif
	return sizeof(*ip);
}

static inline struct rte_mbuf *segment(const struct host *h, uint8_t flags, uint32_t seq, uint32_t ack,
	const uint8_t *options, uint8_t options_len, const void *data, uint16_t len)
{
	uint8_t frame[1600] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2};
	uint16_t l4_len = TL_TCP_LEN + options_len + len;
	uint32_t sum;
	struct tl_tcp_hdr *tcp = (struct tl_tcp_hdr *)(frame + TL_ETHER_LEN + peer_ip(frame, l4_len, &sum));

	*tcp = (struct tl_tcp_hdr){
		.src_port_be = h->peer_port,
		.dst_port_be = h->our_port,
		.seq_be = tl_be32(seq),
		.ack_be = tl_be32(ack),
		.data_off = (uint8_t)((TL_TCP_LEN + options_len) << 2),
		.flags = flags,
		.window_be = tl_be16((uint16_t)h->window),
	};
	if (options_len > 0)
		memcpy(tcp + 1, options, options_len);
	memcpy((uint8_t *)(tcp + 1) + options_len, data, len);
	tcp->cksum_be = tl_cksum_finish(tl_cksum_add(sum, tcp, l4_len));
	return tl_test_mbuf(test_pool(), frame, (uint16_t)((uint8_t *)tcp - frame + l4_len));
}

static inline void give_options(struct host *h, uint8_t flags, uint32_t seq, uint32_t ack, const uint8_t *options,
	uint8_t options_len, const void *data, uint16_t len)
{
	give_mbuf(h, segment(h, flags, seq, ack, options, options_len, data, len));
}

// Return the byte of a stream at a sequence number, which identifies its position.
static inline uint8_t byte_at(uint32_t seq)
{
	return (uint8_t)(seq * 7 + (seq >> 8));
}

static inline void give(struct host *h, uint8_t flags, uint32_t seq, uint32_t ack, uint16_t len)
{
	uint8_t data[1500] = {0};

	const uint32_t stamps_be[] = {tl_be32(TL_TCP_STAMP_WORD), tl_be32(h->stamp), tl_be32(h->echo)};

	for (uint16_t i = 0; i < len; i++)
		data[i] = byte_at(seq + i);
	give_options(h, flags, seq, ack, (const uint8_t *)stamps_be, h->stamped ? sizeof(stamps_be) : 0, data, len);
}

static inline void give_syn(struct host *h, uint8_t flags, uint32_t seq, uint32_t ack)
{
	static const uint8_t mss_1460[] = {2, 4, 1460 >> 8, 1460 & 0xff};

	give_options(h, flags | S, seq, ack, mss_1460, sizeof(mss_1460), "", 0);
}

// Input a SYN with the options of Linux: MSS, SACK permitted, timestamps, NOP, window scale.
static inline void give_stamped_syn(struct host *h, uint8_t flags, uint32_t seq, uint32_t ack)
{
	uint8_t options[] = {2, 4, 1460 >> 8, 1460 & 0xff, 4, 2, 8, 10, 0, 0, 0, 0, 0, 0, 0, 0, 1, 3, 3, 7};
	const uint32_t stamps_be[] = {tl_be32(h->stamp), tl_be32(h->echo)};

	memcpy(options + 8, stamps_be, sizeof(stamps_be));
	give_options(h, flags | S, seq, ack, options, sizeof(options), "", 0);
}

// ---- checks of sent segments

static inline const struct sent *next_sent(struct host *h)
{
	static const struct sent nothing;

	return h->n_seen < h->n_sent ? &h->segment[h->n_seen++] : &nothing;
}

static inline bool sends(struct host *h, uint8_t flags, uint32_t seq, uint32_t ack, uint16_t len)
{
	const struct sent *s = next_sent(h);
	bool ok = s->flags == flags && s->seq == seq && s->ack == ack && s->len == len;

	if (!ok)
		printf("# sent %02x seq %u ack %u len %u, not %02x seq %u ack %u len %u\n", s->flags, s->seq, s->ack,
			s->len, flags, seq, ack, len);
	return ok;
}

// Fail the test unless the next segment sent is this one.
#define SENDS(h, flags, seq, ack, len) CU_ASSERT(sends(h, flags, seq, ack, len))
#define SILENT(h) CU_ASSERT_EQUAL((h)->n_sent, (h)->n_seen)

static inline void forget(struct host *h)
{
	h->n_sent = 0;
	h->n_seen = 0;
}

static inline void say(struct app *app, uint32_t len)
{
	uint8_t data[65536];

	for (uint32_t i = 0; i < len; i++)
		data[i] = byte_at(app->c->snd_end + i);
	CU_ASSERT_EQUAL(tl_tcp_send(app->c, data, len), 0);
	tl_txq_flush(app->c->net->cfg.tx);
}

static inline void send_hello(struct app *app, struct tl_tcp *c)
{
	CU_ASSERT_EQUAL(tl_tcp_send(c, "hello", 5), 0);
}

static inline void hang_up(struct host *h, struct app *app)
{
	tl_tcp_close(app->c);
	tl_txq_flush(&h->tx);
}

static inline bool in_state(const struct app *app, const char *name)
{
	static const char *const names[] = {
		[TL_TCPS_CLOSED] = "CLOSED",
		[TL_TCPS_SYN_SENT] = "SYN-SENT",
		[TL_TCPS_SYN_RECEIVED] = "SYN-RECEIVED",
		[TL_TCPS_ESTABLISHED] = "ESTABLISHED",
		[TL_TCPS_FIN_WAIT_1] = "FIN-WAIT-1",
		[TL_TCPS_FIN_WAIT_2] = "FIN-WAIT-2",
		[TL_TCPS_CLOSE_WAIT] = "CLOSE-WAIT",
		[TL_TCPS_CLOSING] = "CLOSING",
		[TL_TCPS_LAST_ACK] = "LAST-ACK",
		[TL_TCPS_TIME_WAIT] = "TIME-WAIT",
	};

	return strcmp(names[app->c->state], name) == 0;
}

// Check whether the received data is the peer's stream from its first byte.
static inline bool has_stream(const struct app *app, size_t len)
{
	for (size_t i = 0; i < app->len; i++) {
		if (app->data[i] != byte_at(PEERS + 1 + (uint32_t)i))
			return false;
	}
	return app->len == len;
}

// ---- opening

static inline struct tl_tcp_listener *hear(struct host *h, struct app *app, const struct tl_tcp_opts *opts)
{
	struct tl_tcp_listener *listener = NULL;

	CU_ASSERT_EQUAL_FATAL(tl_tcp_listen(h->net, OUR_PORT, 4, &APP_OPS, app, opts, &listener), 0);
	return listener;
}

static inline void accept_with(struct host *h, struct app *app, const struct tl_tcp_opts *opts)
{
	(void)hear(h, app, opts);
	give_syn(h, 0, PEERS, 0);
	SENDS(h, S | A, OURS, PEERS + 1, 0);
	give(h, A, PEERS + 1, OURS + 1, 0);
	CU_ASSERT_EQUAL_FATAL(app->opened, 1);
	forget(h);
}

static inline void accept_peer(struct host *h, struct app *app)
{
	accept_with(h, app, NULL);
}

static inline void call(struct host *h, struct app *app, const struct tl_tcp_opts *opts)
{
	CU_ASSERT_EQUAL_FATAL(tl_tcp_connect(h->net, PEER, PEER_PORT, &APP_OPS, app, opts, &app->c), 0);
	tl_txq_flush(&h->tx);
	h->our_port = app->c->key.own_port_be;
}

// ---- SACK

#define RTT (20 * MS)

static inline void accept_with_sack(struct host *h, struct app *app)
{
	static const uint8_t options[] = {2, 4, 1460 >> 8, 1460 & 0xff, 1, 1, 4, 2};

	(void)hear(h, app, NULL);
	give_options(h, S, PEERS, 0, options, sizeof(options), "", 0);
	pass(h, RTT);
	give(h, A, PEERS + 1, OURS + 1, 0);
	CU_ASSERT_EQUAL_FATAL(app->opened, 1);
	forget(h);
}

// Check the SACK blocks of the next segment sent: count pairs of distances from the peer's first byte.
static inline bool sacks(struct host *h, const uint32_t (*blocks)[2], unsigned count)
{
	const struct sent *s = next_sent(h);
	bool ok = s->flags == A && s->options.n_blocks == count && s->options_len == (count > 0 ? 4 + 8 * count : 0);

	for (unsigned i = 0; i < count && ok; i++)
		ok = s->options.block[i].from == PEERS + 1 + blocks[i][0] &&
		     s->options.block[i].to == PEERS + 1 + blocks[i][1];
	for (unsigned i = 0; !ok && i < s->options.n_blocks; i++)
		printf("# block %u to %u\n", s->options.block[i].from - PEERS - 1, s->options.block[i].to - PEERS - 1);
	return ok;
}

#define SACKS(h, ...) CU_ASSERT(sacks(h, (const uint32_t[][2]){__VA_ARGS__}, sizeof((uint32_t[][2]){__VA_ARGS__}) / 8))

// Input an ACK of all bytes before segment first of the stack (of MSS bytes), with SACK blocks: pairs of segments,
// from..to-1.
static inline void give_sack(struct host *h, uint32_t first, const uint32_t (*blocks)[2], unsigned count)
{
	uint8_t options[4 + 8 * TL_TCP_SACK_BLOCKS] = {1, 1, 5, (uint8_t)(2 + 8 * count)};

	for (unsigned i = 0; i < 2 * count; i++) {
		uint32_t edge_be = tl_be32(OURS + 1 + blocks[i / 2][i % 2] * MSS);
		memcpy(options + 4 + 4 * i, &edge_be, 4);
	}
	give_options(h, A, PEERS + 1, OURS + 1 + first * MSS, options, (uint8_t)(4 + 8 * count), "", 0);
}

#define GIVE_SACK(h, first, ...)                                                                                       \
	give_sack(h, first, (const uint32_t[][2]){__VA_ARGS__}, sizeof((uint32_t[][2]){__VA_ARGS__}) / 8)
#define SENDS_SEGMENT(h, n) SENDS(h, A, OURS + 1 + (n)*MSS, PEERS + 1, MSS)

static inline struct host *start_sacked(struct app *app, uint32_t segments)
{
	struct host *h = start();

	accept_with_sack(h, app);
	say(app, segments * MSS + 1); // these tests do not depend on the last byte
	CU_ASSERT_EQUAL(h->n_sent, 10);
	forget(h);
	return h;
}
