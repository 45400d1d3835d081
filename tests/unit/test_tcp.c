// SPDX-License-Identifier: BSD-3-Clause
// One stack against a peer whose every segment the test writes by hand: the state machine of RFC 9293, case by case.

#include <errno.h>

#include "tl_test_tcp.h"

#define PEER IP(192, 0, 2, 2)
#define PEER_PORT PORT(40000)
#define OUR_PORT PORT(80)
#define OURS 5000u  // our ISN: our first byte is OURS + 1
#define PEERS 1000u // the peer's
#define MSS 1460u
#define WINDOW 65535u
#define SENT_MAX 400

enum { F = TL_TCP_FIN, S = TL_TCP_SYN, R = TL_TCP_RST, P = TL_TCP_PSH, A = TL_TCP_ACK };

struct sent {
	uint64_t at_ns;
	uint32_t seq, ack, window;
	uint16_t src_port, dst_port, len;
	uint8_t flags;
	struct tl_tcp_options options;
	uint8_t data[1500];
};

struct host {
	struct tl_net *net;
	struct tl_txq tx;
	uint64_t now_ns;
	unsigned in_use, n_sent, n_seen, n_arp;
	uint16_t our_port, peer_port; // of the segments given
	uint32_t window;	      // in them
	struct sent sent[SENT_MAX];
};

// ---- the host

static void collect(struct tl_txq *q)
{
	struct host *h = q->backend;

	for (uint16_t i = 0; i < q->n; i++) {
		const uint8_t *frame = rte_pktmbuf_mtod(q->pkts[i], const uint8_t *);
		struct tl_pkt pkt;
		tl_wire_parse(frame, q->pkts[i]->data_len, &pkt);
		CU_ASSERT(q->pkts[i]->data_len >= TL_ETHER_MIN_FRAME);
		h->n_arp += pkt.kind == TL_PKT_ARP;
		if (pkt.kind == TL_PKT_TCP && h->n_sent < SENT_MAX) {
			const struct tl_tcp_hdr *tcp = (const struct tl_tcp_hdr *)(frame + pkt.l4_off);
			struct sent *s = &h->sent[h->n_sent++];
			CU_ASSERT(tl_wire_l4_cksum_ok(frame, &pkt));
			CU_ASSERT_EQUAL(pkt.dst_be, PEER);
			*s = (struct sent){h->now_ns, tl_be32(tcp->seq_be), tl_be32(tcp->ack_be),
				tl_be16(tcp->window_be), tcp->src_port_be, tcp->dst_port_be, pkt.payload_len,
				tcp->flags, {0}, {0}};
			tl_tcp_options_parse(tcp, &s->options);
			memcpy(s->data, frame + pkt.payload_off, pkt.payload_len);
		}
		rte_pktmbuf_free(q->pkts[i]);
	}
	q->n = 0;
}

static void pass(struct host *h, uint64_t ns)
{
	uint64_t end_ns = h->now_ns + ns;

	while (h->now_ns < end_ns) {
		h->now_ns = tl_min_u64(h->now_ns + MS, end_ns);
		tl_net_tick(h->net, h->now_ns);
		tl_txq_flush(&h->tx);
	}
}

static void give_raw(struct host *h, const uint8_t *frame, uint16_t len)
{
	struct rte_mbuf *m = tl_test_mbuf(test_pool(), frame, len);

	give_frame(h->net, m, h->now_ns);
	rte_pktmbuf_free(m);
	tl_txq_flush(&h->tx);
}

static void introduce_peer(struct host *h)
{
	uint8_t frame[TL_ETHER_MIN_FRAME] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 6};
	const struct tl_arp_hdr arp = {
		.hw_type_be = tl_be16(1),
		.proto_be = tl_be16(0x0800),
		.hw_len = 6,
		.proto_len = 4,
		.op_be = tl_be16(1),
		.sender_mac = {2, 0, 0, 0, 0, 2},
		.sender_ip_be = PEER,
		.target_ip_be = IP(192, 0, 2, 1),
	};

	memcpy(frame + TL_ETHER_LEN, &arp, sizeof(arp));
	give_raw(h, frame, sizeof(frame));
}

static struct host *start_with(uint32_t max_conns, uint32_t send_buffer_bytes, uint16_t mtu, bool introduced)
{
	struct host *h = calloc(1, sizeof(*h));

	h->in_use = rte_mempool_in_use_count(test_pool());
	h->now_ns = 1000 * SECOND;
	h->tx.flush_fn = collect;
	h->tx.backend = h;
	h->our_port = OUR_PORT;
	h->peer_port = PEER_PORT;
	h->window = WINDOW;
	struct tl_net_cfg cfg = test_cfg(&h->tx, 1, max_conns, send_buffer_bytes);
	cfg.mtu = mtu;
	h->net = test_net(&cfg);
	fix_isn(h->net, OURS);
	pass(h, MS);
	if (introduced)
		introduce_peer(h);
	return h;
}

static struct host *start(void)
{
	return start_with(8, 65536, 1500, true);
}

static void stop(struct host *h)
{
	tl_net_destroy(h->net);
	tl_txq_flush(&h->tx);
	CU_ASSERT_EQUAL(rte_mempool_in_use_count(test_pool()), h->in_use);
	free(h);
}

// ---- segments of the peer

static void give_options(struct host *h, uint8_t flags, uint32_t seq, uint32_t ack, const uint8_t *options,
	uint8_t options_len, const void *data, uint16_t len)
{
	uint8_t frame[1600] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0};
	struct tl_ipv4_hdr *ip = (struct tl_ipv4_hdr *)(frame + TL_ETHER_LEN);
	struct tl_tcp_hdr *tcp = (struct tl_tcp_hdr *)(ip + 1);
	uint16_t l4_len = TL_TCP_LEN + options_len + len;

	*ip = (struct tl_ipv4_hdr){.version_ihl = 0x45,
		.total_len_be = tl_be16(TL_IPV4_LEN + l4_len),
		.ttl = 64,
		.proto = TL_IPPROTO_TCP,
		.src_be = PEER,
		.dst_be = IP(192, 0, 2, 1)};
	tl_wire_ipv4_finish(ip);
	*tcp = (struct tl_tcp_hdr){.src_port_be = h->peer_port,
		.dst_port_be = h->our_port,
		.seq_be = tl_be32(seq),
		.ack_be = tl_be32(ack),
		.data_off = (uint8_t)((TL_TCP_LEN + options_len) << 2),
		.flags = flags,
		.window_be = tl_be16((uint16_t)h->window)};
	memcpy(tcp + 1, options, options_len);
	memcpy((uint8_t *)(tcp + 1) + options_len, data, len);
	tcp->cksum_be = tl_cksum_finish(
		tl_cksum_add(tl_cksum_pseudo(ip->src_be, ip->dst_be, TL_IPPROTO_TCP, l4_len), tcp, l4_len));
	give_raw(h, frame, TL_ETHER_LEN + TL_IPV4_LEN + l4_len);
}

// A byte of a stream tells where it belongs.
static uint8_t byte_at(uint32_t seq)
{
	return (uint8_t)(seq * 7 + (seq >> 8));
}

static void give(struct host *h, uint8_t flags, uint32_t seq, uint32_t ack, uint16_t len)
{
	uint8_t data[1500];

	for (uint16_t i = 0; i < len; i++)
		data[i] = byte_at(seq + i);
	give_options(h, flags, seq, ack, NULL, 0, data, len);
}

static void give_syn(struct host *h, uint8_t flags, uint32_t seq, uint32_t ack)
{
	static const uint8_t mss_1460[] = {2, 4, 1460 >> 8, 1460 & 0xff};

	give_options(h, flags | S, seq, ack, mss_1460, sizeof(mss_1460), "", 0);
}

// ---- looking at what was sent

static const struct sent *next_sent(struct host *h)
{
	static const struct sent nothing;

	return h->n_seen < h->n_sent ? &h->sent[h->n_seen++] : &nothing;
}

static bool sends(struct host *h, uint8_t flags, uint32_t seq, uint32_t ack, uint16_t len)
{
	const struct sent *s = next_sent(h);
	bool ok = s->flags == flags && s->seq == seq && s->ack == ack && s->len == len;

	if (!ok)
		printf("# sent %02x seq %u ack %u len %u, not %02x seq %u ack %u len %u\n", s->flags, s->seq, s->ack,
			s->len, flags, seq, ack, len);
	return ok;
}

// The next segment sent is this, or the test fails.
#define SENDS(h, flags, seq, ack, len) CU_ASSERT(sends(h, flags, seq, ack, len))
#define SILENT(h) CU_ASSERT_EQUAL((h)->n_sent, (h)->n_seen)

static void forget(struct host *h)
{
	h->n_sent = 0;
	h->n_seen = 0;
}

static void say(struct app *app, uint32_t len)
{
	uint8_t data[65536];

	for (uint32_t i = 0; i < len; i++)
		data[i] = byte_at(app->c->snd_end + i);
	CU_ASSERT_EQUAL(tl_tcp_send(app->c, data, len), 0);
	tl_txq_flush(app->c->net->cfg.tx);
}

static void hang_up(struct host *h, struct app *app)
{
	tl_tcp_close(app->c);
	tl_txq_flush(&h->tx);
}

static bool in_state(const struct app *app, const char *name)
{
	return strcmp(tl_tcp_state_name(app->c), name) == 0;
}

// What came in is the peer's stream from its first byte.
static bool has_stream(const struct app *app, size_t len)
{
	for (size_t i = 0; i < app->len; i++) {
		if (app->data[i] != byte_at(PEERS + 1 + (uint32_t)i))
			return false;
	}
	return app->len == len;
}

// ---- opening

static struct tl_tcp_listener *hear(struct host *h, struct app *app, const struct tl_tcp_opts *opts)
{
	struct tl_tcp_listener *listener = NULL;

	CU_ASSERT_EQUAL_FATAL(tl_tcp_listen(h->net, OUR_PORT, 4, &APP_OPS, app, opts, &listener), 0);
	return listener;
}

static void accept_with(struct host *h, struct app *app, const struct tl_tcp_opts *opts)
{
	(void)hear(h, app, opts);
	give_syn(h, 0, PEERS, 0);
	SENDS(h, S | A, OURS, PEERS + 1, 0);
	give(h, A, PEERS + 1, OURS + 1, 0);
	CU_ASSERT_EQUAL_FATAL(app->opened, 1);
	forget(h);
}

static void accept_peer(struct host *h, struct app *app)
{
	accept_with(h, app, NULL);
}

static void call(struct host *h, struct app *app, const struct tl_tcp_opts *opts)
{
	CU_ASSERT_EQUAL_FATAL(tl_tcp_connect(h->net, PEER, PEER_PORT, &APP_OPS, app, opts, &app->c), 0);
	tl_txq_flush(&h->tx);
	h->our_port = tl_tcp_key_own_port(app->c->key);
}

static void passive_open(void)
{
	struct host *h = start();
	struct app app = {0};

	(void)hear(h, &app, NULL);
	give_syn(h, 0, PEERS, 0);
	SENDS(h, S | A, OURS, PEERS + 1, 0);
	CU_ASSERT_EQUAL(h->sent[0].options.mss, MSS);
	CU_ASSERT_FALSE(h->sent[0].options.has_scale);
	CU_ASSERT_EQUAL(h->sent[0].src_port, OUR_PORT);
	CU_ASSERT_EQUAL(h->sent[0].dst_port, PEER_PORT);
	CU_ASSERT_EQUAL(app.opened, 0);
	give(h, A, PEERS + 1, OURS + 1, 0);
	CU_ASSERT_EQUAL(app.opened, 1);
	CU_ASSERT(in_state(&app, "ESTABLISHED"));
	SILENT(h);
	uint32_t ip_be;
	uint16_t port_be;
	tl_tcp_peer(app.c, &ip_be, &port_be);
	CU_ASSERT_EQUAL(ip_be, PEER);
	CU_ASSERT_EQUAL(port_be, PEER_PORT);
	stop(h);
	CU_ASSERT_EQUAL(app.closed, 1);
	CU_ASSERT_EQUAL(app.reason, TL_TCP_ABORTED);
}

static void syn_again_is_answered_again(void)
{
	struct host *h = start();
	struct app app = {0};

	(void)hear(h, &app, NULL);
	give_syn(h, 0, PEERS, 0);
	SENDS(h, S | A, OURS, PEERS + 1, 0);
	give_syn(h, 0, PEERS, 0);
	SENDS(h, S | A, OURS, PEERS + 1, 0);
	pass(h, 3500 * MS);
	SENDS(h, S | A, OURS, PEERS + 1, 0);
	SENDS(h, S | A, OURS, PEERS + 1, 0);
	CU_ASSERT_EQUAL(tl_tcp_in_use(h->net, NULL), 1);
	pass(h, 7 * SECOND);
	CU_ASSERT_EQUAL(tl_tcp_in_use(h->net, NULL), 0);
	stop(h);
	CU_ASSERT_EQUAL(app.opened + app.closed, 0);
}

static void active_open(void)
{
	struct host *h = start();
	struct app app = {0};

	call(h, &app, NULL);
	SENDS(h, S, OURS, 0, 0);
	CU_ASSERT_EQUAL(h->sent[0].options.mss, MSS);
	CU_ASSERT(h->sent[0].options.has_scale);
	CU_ASSERT(tl_be16(h->our_port) >= 49152);
	CU_ASSERT(in_state(&app, "SYN-SENT"));
	CU_ASSERT_EQUAL(tl_tcp_send(app.c, "x", 1), -ENOTCONN);
	CU_ASSERT_EQUAL(tl_tcp_room(app.c), 0);
	give_syn(h, A, PEERS, OURS + 1);
	SENDS(h, A, OURS + 1, PEERS + 1, 0);
	CU_ASSERT_EQUAL(app.opened, 1);
	CU_ASSERT(in_state(&app, "ESTABLISHED"));
	CU_ASSERT_EQUAL(tl_tcp_room(app.c), 65536);
	give_syn(h, A, PEERS, OURS + 1); // our ACK was lost
	SENDS(h, A, OURS + 1, PEERS + 1, 0);
	SILENT(h);
	stop(h);
}

static void send_hello(struct app *app, struct tl_tcp *c)
{
	CU_ASSERT_EQUAL(tl_tcp_send(c, "hello", 5), 0);
}

static void first_data_carries_the_ack(void)
{
	struct host *h = start();
	struct app app = {.on_opened = send_hello};

	call(h, &app, NULL);
	forget(h);
	give_syn(h, A, PEERS, OURS + 1);
	SENDS(h, A | P, OURS + 1, PEERS + 1, 5);
	SILENT(h);
	stop(h);
}

static void both_call_at_once(void)
{
	struct host *h = start();
	struct app app = {0};

	call(h, &app, NULL);
	SENDS(h, S, OURS, 0, 0);
	give_syn(h, 0, PEERS, 0);
	SENDS(h, S | A, OURS, PEERS + 1, 0);
	CU_ASSERT(in_state(&app, "SYN-RECEIVED"));
	give_syn(h, A, PEERS, OURS + 1);
	CU_ASSERT(in_state(&app, "ESTABLISHED"));
	CU_ASSERT_EQUAL(app.opened, 1);
	CU_ASSERT_EQUAL(app.c->snd_wnd, WINDOW);
	say(&app, 10);
	SENDS(h, A | P, OURS + 1, PEERS + 1, 10);
	stop(h);
}

static uint16_t mss_after(const uint8_t *options, uint8_t len, uint16_t mtu)
{
	struct host *h = start_with(4, 65536, mtu, true);
	struct app app = {0};

	(void)hear(h, &app, NULL);
	give_options(h, S, PEERS, 0, options, len, "", 0);
	give(h, A, PEERS + 1, OURS + 1, 0);
	CU_ASSERT_EQUAL_FATAL(app.opened, 1);
	forget(h);
	say(&app, 9000);
	uint16_t mss = h->sent[0].len;
	stop(h);
	return mss;
}

static void mss_is_the_smaller(void)
{
	static const uint8_t mss_1460[] = {2, 4, 1460 >> 8, 1460 & 0xff};
	static const uint8_t mss_700[] = {1, 1, 2, 4, 700 >> 8, 700 & 0xff, 0, 9};
	static const uint8_t mss_8000[] = {3, 3, 0, 2, 4, 8000 >> 8, 8000 & 0xff, 0};
	static const uint8_t mss_1[] = {2, 4, 0, 1};
	static const uint8_t broken[] = {8, 0, 2, 4, 700 >> 8, 700 & 0xff, 0, 0};
	static const uint8_t cut[] = {1, 1, 1, 2};
	static const uint8_t too_long[] = {2, 40, 5, 180};

	CU_ASSERT_EQUAL(mss_after(NULL, 0, 1500), 536);
	CU_ASSERT_EQUAL(mss_after(mss_1460, 4, 1500), 1460);
	CU_ASSERT_EQUAL(mss_after(mss_700, 8, 1500), 700);
	CU_ASSERT_EQUAL(mss_after(mss_8000, 8, 1500), 1460);
	CU_ASSERT_EQUAL(mss_after(mss_1460, 4, 1000), 960);
	CU_ASSERT_EQUAL(mss_after(mss_1, 4, 1500), TL_TCP_MIN_MSS);
	CU_ASSERT_EQUAL(mss_after(broken, 8, 1500), 536);
	CU_ASSERT_EQUAL(mss_after(cut, 4, 1500), 536);
	CU_ASSERT_EQUAL(mss_after(too_long, 4, 1500), 536);
}

static void window_scale_needs_both(void)
{
	static const uint8_t scale_7[] = {1, 3, 3, 7};
	const struct tl_tcp_opts opts = {.recv_window_bytes = 1 << 20};

	for (int offered = 0; offered < 2; offered++) {
		struct host *h = start();
		struct app app = {0};
		(void)hear(h, &app, &opts);
		give_options(h, S, PEERS, 0, scale_7, offered ? 4 : 0, "", 0);
		const struct sent *s = next_sent(h);
		CU_ASSERT_EQUAL(s->options.has_scale, offered);
		CU_ASSERT_EQUAL(s->options.scale, offered ? 5 : 0); // 2^20 >> 5 is the first to fit 16 bits
		CU_ASSERT_EQUAL(s->window, 65535);		    // never scaled in a SYN
		h->window = 100;
		give(h, A, PEERS + 1, OURS + 1, 0);
		CU_ASSERT_EQUAL(app.c->snd_wnd, offered ? 12800 : 100);
		say(&app, 10);
		CU_ASSERT_EQUAL(next_sent(h)->window, offered ? 32768 : 65535);
		stop(h);
	}
}

static void handshake_patience(void)
{
	struct host *h = start();
	struct app app = {0};
	static const unsigned at_s[] = {0, 1, 3, 7};

	call(h, &app, NULL);
	uint64_t from_ns = h->sent[0].at_ns;
	pass(h, 9900 * MS);
	CU_ASSERT_EQUAL(h->n_sent, 4);
	for (unsigned i = 0; i < 4; i++)
		CU_ASSERT(h->sent[i].at_ns - from_ns - at_s[i] * SECOND < 5 * MS);
	CU_ASSERT_EQUAL(app.closed, 0);
	pass(h, 200 * MS);
	CU_ASSERT_EQUAL(app.closed, 1);
	CU_ASSERT_EQUAL(app.reason, TL_TCP_TIMEOUT);
	stop(h);
	CU_ASSERT_EQUAL(app.closed, 1);
}

static void refused(void)
{
	struct host *h = start();
	struct app app = {0};

	call(h, &app, NULL);
	forget(h);
	give(h, R | A, 0, OURS, 0); // for another SYN
	give(h, R, OURS + 1, 0, 0); // says nothing about ours
	CU_ASSERT_EQUAL(app.closed, 0);
	give(h, A, PEERS, OURS + 9, 0); // left from an earlier life
	SENDS(h, R, OURS + 9, 0, 0);
	give(h, R | A, 0, OURS + 1, 0);
	CU_ASSERT_EQUAL(app.closed, 1);
	CU_ASSERT_EQUAL(app.reason, TL_TCP_REFUSED);
	CU_ASSERT_EQUAL(tl_tcp_in_use(h->net, NULL), 0);
	SILENT(h);
	stop(h);
}

static void connect_says_no(void)
{
	struct host *h = start_with(2, 4096, 1500, true);
	struct app app = {0};
	struct tl_tcp *c = NULL;
	struct tl_tcp_ops deaf = {0};

	CU_ASSERT_EQUAL(tl_tcp_connect(h->net, PEER, PEER_PORT, &deaf, &app, NULL, &c), -EINVAL);
	CU_ASSERT_EQUAL(tl_tcp_connect(h->net, PEER, 0, &APP_OPS, &app, NULL, &c), -EINVAL);
	CU_ASSERT_EQUAL(tl_tcp_connect(h->net, IP(239, 1, 1, 1), PEER_PORT, &APP_OPS, &app, NULL, &c), -EINVAL);
	CU_ASSERT_EQUAL(
		tl_tcp_connect(h->net, IP(198, 51, 100, 1), PEER_PORT, &APP_OPS, &app, NULL, &c), -EHOSTUNREACH);
	CU_ASSERT_EQUAL(tl_tcp_connect(h->net, PEER, PEER_PORT, &APP_OPS, &app, NULL, &c), 0);
	CU_ASSERT_EQUAL(tl_tcp_connect(h->net, PEER, PEER_PORT, &APP_OPS, &app, NULL, &c), 0);
	CU_ASSERT_EQUAL(tl_tcp_connect(h->net, PEER, PEER_PORT, &APP_OPS, &app, NULL, &c), -ENOSPC);
	tl_tcp_close(c); // SYN-SENT: over at once
	CU_ASSERT_EQUAL(app.closed, 1);
	CU_ASSERT_EQUAL(tl_tcp_connect(h->net, PEER, PEER_PORT, &APP_OPS, &app, NULL, &c), 0);
	stop(h);
	CU_ASSERT_EQUAL(app.closed, 3);
}

static void no_port_left(void)
{
	struct host *h = start_with(20000, 4096, 1500, true);
	struct app app = {0};
	struct tl_tcp *c = NULL;
	unsigned opened = 0;

	while (tl_tcp_connect(h->net, PEER, PEER_PORT, &APP_OPS, &app, NULL, &c) == 0)
		opened++;
	CU_ASSERT_EQUAL(opened, 16384);
	CU_ASSERT_EQUAL(tl_tcp_connect(h->net, PEER, PEER_PORT, &APP_OPS, &app, NULL, &c), -EADDRNOTAVAIL);
	CU_ASSERT_EQUAL(tl_tcp_connect(h->net, PEER, PORT(7), &APP_OPS, &app, NULL, &c), 0);
	stop(h);
}

static void no_connection_no_word_but_rst(void)
{
	struct host *h = start();

	give_syn(h, 0, PEERS, 0);
	SENDS(h, R | A, 0, PEERS + 1, 0);
	give(h, A, PEERS, 77, 10);
	SENDS(h, R, 77, 0, 0);
	give(h, F, PEERS, 0, 10);
	SENDS(h, R | A, 0, PEERS + 11, 0);
	give(h, R, PEERS, 0, 0);
	give(h, R | A, PEERS, 5, 0);
	SILENT(h);
	stop(h);
}

static void listen_is_picky(void)
{
	struct host *h = start();
	struct app app = {0};
	struct tl_tcp_listener *listener = hear(h, &app, NULL), *other = NULL;

	give(h, A, PEERS, 77, 0);
	SENDS(h, R, 77, 0, 0);
	give(h, R, PEERS, 0, 0);
	give(h, 0, PEERS, 0, 5);
	SILENT(h);
	CU_ASSERT_EQUAL(tl_tcp_in_use(h->net, NULL), 0);
	CU_ASSERT_EQUAL(tl_tcp_listen(h->net, OUR_PORT, 1, &APP_OPS, &app, NULL, &other), -EADDRINUSE);
	for (unsigned i = 1; i < 8; i++)
		CU_ASSERT_EQUAL(tl_tcp_listen(h->net, PORT(80 + i), 1, &APP_OPS, &app, NULL, &other), 0);
	CU_ASSERT_EQUAL(tl_tcp_listen(h->net, PORT(99), 1, &APP_OPS, &app, NULL, &other), -ENOSPC);
	tl_tcp_unlisten(other);
	CU_ASSERT_EQUAL(tl_tcp_listen(h->net, PORT(99), 1, &APP_OPS, &app, NULL, &other), 0);

	give_syn(h, 0, PEERS, 0);
	SENDS(h, S | A, OURS, PEERS + 1, 0);
	tl_tcp_unlisten(listener); // takes the half-open with it
	tl_txq_flush(&h->tx);
	SENDS(h, R | A, OURS + 1, PEERS + 1, 0);
	CU_ASSERT_EQUAL(tl_tcp_in_use(h->net, NULL), 0);
	give_syn(h, 0, PEERS, 0);
	SENDS(h, R | A, 0, PEERS + 1, 0);
	stop(h);
}

static void backlog(void)
{
	struct host *h = start();
	struct app app = {0};

	(void)hear(h, &app, NULL); // four
	for (unsigned i = 0; i < 6; i++) {
		h->peer_port = PORT(40000 + i);
		give_syn(h, 0, PEERS, 0);
	}
	CU_ASSERT_EQUAL(h->n_sent, 4);
	CU_ASSERT_EQUAL(tl_tcp_in_use(h->net, NULL), 4);
	CU_ASSERT_EQUAL(h->net->stats.tcp_backlog_drops, 2);
	h->peer_port = PORT(40000);
	give(h, R, PEERS + 1, 0, 0); // one gives up: its place is free
	forget(h);
	h->peer_port = PORT(40005);
	give_syn(h, 0, PEERS, 0);
	SENDS(h, S | A, OURS, PEERS + 1, 0);
	stop(h);
	CU_ASSERT_EQUAL(app.opened + app.closed, 0);
}

// ---- data

static void sends_at_once(void)
{
	struct host *h = start();
	struct app app = {0};

	accept_peer(h, &app);
	say(&app, 100);
	SENDS(h, A | P, OURS + 1, PEERS + 1, 100);
	CU_ASSERT_EQUAL(h->sent[0].data[99], byte_at(OURS + 100));
	say(&app, 2 * MSS + 80);
	SENDS(h, A, OURS + 101, PEERS + 1, MSS);
	SENDS(h, A, OURS + 101 + MSS, PEERS + 1, MSS);
	SENDS(h, A | P, OURS + 101 + 2 * MSS, PEERS + 1, 80);
	CU_ASSERT_EQUAL(tl_tcp_room(app.c), 65536 - 180 - 2 * MSS);
	give(h, A, PEERS + 1, OURS + 101, 0);
	CU_ASSERT_EQUAL(app.rooms, 1);
	CU_ASSERT_EQUAL(tl_tcp_room(app.c), 65536 - 80 - 2 * MSS);
	CU_ASSERT_EQUAL(tl_tcp_send(app.c, h, 65536), -ENOBUFS);
	CU_ASSERT_EQUAL(tl_tcp_send(app.c, "", 0), 0);
	pass(h, 100 * MS);
	SILENT(h);
	stop(h);
}

static void acks_ride_on_answers(void)
{
	struct host *h = start();
	struct app app = {.on_data = app_echo};

	accept_peer(h, &app);
	give(h, A | P, PEERS + 1, OURS + 1, 100);
	SENDS(h, A | P, OURS + 1, PEERS + 101, 100);
	SILENT(h);
	app.on_data = NULL;
	give(h, A | P, PEERS + 101, OURS + 101, 100); // no answer: at the end of the burst
	SENDS(h, A, OURS + 101, PEERS + 201, 0);
	SILENT(h);
	CU_ASSERT(has_stream(&app, 200));
	stop(h);
}

static void one_ack_for_a_burst(void)
{
	struct host *h = start();
	struct app app = {0};
	struct tl_burst burst = {.n = 3};

	accept_peer(h, &app);
	burst.mono_ns = h->now_ns;
	// Make the frames by giving them to a stack that does not know the port, which answers RST.
	struct host *mold = start();
	for (uint16_t i = 0; i < 3; i++) {
		uint8_t frame[54 + 10] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0};
		struct tl_ipv4_hdr *ip = (struct tl_ipv4_hdr *)(frame + TL_ETHER_LEN);
		struct tl_tcp_hdr *tcp = (struct tl_tcp_hdr *)(ip + 1);
		*ip = (struct tl_ipv4_hdr){.version_ihl = 0x45,
			.total_len_be = tl_be16(50),
			.ttl = 64,
			.proto = TL_IPPROTO_TCP,
			.src_be = PEER,
			.dst_be = IP(192, 0, 2, 1)};
		tl_wire_ipv4_finish(ip);
		*tcp = (struct tl_tcp_hdr){.src_port_be = PEER_PORT,
			.dst_port_be = OUR_PORT,
			.seq_be = tl_be32(PEERS + 1 + 10u * i),
			.ack_be = tl_be32(OURS + 1),
			.data_off = 0x50,
			.flags = A,
			.window_be = 0xffff};
		for (unsigned k = 0; k < 10; k++)
			frame[54 + k] = byte_at(PEERS + 1 + 10u * i + k);
		tcp->cksum_be = tl_cksum_finish(
			tl_cksum_add(tl_cksum_pseudo(ip->src_be, ip->dst_be, TL_IPPROTO_TCP, 30), tcp, 30));
		burst.pkts[i] = tl_test_mbuf(test_pool(), frame, sizeof(frame));
		tl_wire_parse(frame, sizeof(frame), &burst.pkt[i]);
	}
	tl_net_input(h->net, &burst);
	tl_txq_flush(&h->tx);
	SENDS(h, A, OURS + 1, PEERS + 31, 0);
	SILENT(h);
	for (uint16_t i = 0; i < 3; i++)
		rte_pktmbuf_free(burst.pkts[i]);
	CU_ASSERT(has_stream(&app, 30));
	stop(mold);
	stop(h);
}
