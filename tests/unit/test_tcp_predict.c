// SPDX-License-Identifier: BSD-3-Clause
// Header prediction: two hosts get the same segments, one of them with a flag that prediction rejects and the state
// machine ignores. After each segment both have the same state and have sent the same frames.

#include "tl_test_tcp_host.h"
#include "tcp_input.h"
#include "tcp_output.h"

#define STEPS 4000
#define FRAME_MAX 1600
#define ECE 0x40 // RFC 3168: not supported

// Reaction of the application to data.
enum reply { ECHO_HELD, ECHO, NONE, ROOM, REPLIES };

struct plan {
	bool stamped, follows_room, without_cwnd;
	enum reply reply;
	uint32_t seed;
};

// State after a step, and a digest of the frames sent in it.
struct look {
	struct tl_tcp c;
	struct tl_net_stats stats;
	uint64_t frames;
	struct tl_tcp_unacked unacked;
	unsigned rooms;
	size_t received;
	int failed_sends;
};

struct script {
	struct plan plan;
	struct host *h;
	struct app app;
	struct tl_tcp_ops ops;
	uint64_t rng;
	uint8_t flag;	   // in each segment: 0 or ECE
	uint32_t held_seq; // next segment beyond a gap
	uint64_t frames;
	struct look *looks;
};

// ---- the script

static uint32_t draw(struct script *s, uint32_t n)
{
	s->rng = s->rng * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (uint32_t)(s->rng >> 33) % n;
}

static struct script *flushed; // the queue's callback has no other context

static void digest_frames(struct tl_txq *q)
{
	for (uint16_t i = 0; i < q->n; i++) {
		const uint8_t *frame = rte_pktmbuf_mtod(q->pkts[i], const uint8_t *);
		for (uint16_t k = 0; k < q->pkts[i]->data_len; k++)
			flushed->frames = (flushed->frames ^ frame[k]) * UINT64_C(0x100000001b3);
		flushed->frames += q->pkts[i]->data_len;
	}
	collect(q);
	forget(q->backend);
}

static void reply(struct app *app, struct tl_tcp *c, const uint8_t *data, uint32_t len)
{
	const struct script *s = app->user;

	if (s->plan.reply == ECHO || s->plan.reply == ROOM)
		app->failed_sends += tl_tcp_send(c, data, len) < 0;
	else if (s->plan.reply == ECHO_HELD)
		app->failed_sends += tl_tcp_send_held(c, data, len) < 0;
}

// Send after some of the ACKs that made room.
static void refill(struct app *app, struct tl_tcp *c)
{
	struct script *s = app->user;

	if (s->plan.reply == ROOM && draw(s, 4) == 0)
		(void)tl_tcp_send(c, "made room", 9);
}

static void finish_burst(struct script *s, struct rte_mbuf **m, uint16_t n)
{
	tl_txq_flush(&s->h->tx);
	tl_net_sent(s->h->net);
	for (uint16_t i = 0; i < n; i++) { // buffered data was copied before
		memset(rte_pktmbuf_mtod(m[i], uint8_t *), 0xee, m[i]->data_len);
		rte_pktmbuf_free(m[i]);
	}
}

static struct rte_mbuf *stamped_segment(struct script *s, uint32_t seq, uint32_t ack, uint16_t len, uint32_t stamp)
{
	uint32_t stamps_be[] = {tl_be32(TL_TCP_STAMP_WORD), tl_be32(stamp), tl_be32(tl_tcp_stamp_now(s->app.c))};
	uint8_t data[MSS], flags = A | s->flag | (draw(s, 2) != 0 ? P : 0);

	for (uint16_t i = 0; i < len; i++)
		data[i] = byte_at(seq + i);
	return segment(
		s->h, flags, seq, ack, (const uint8_t *)stamps_be, s->plan.stamped ? sizeof(stamps_be) : 0, data, len);
}

// Make an acknowledgment: mostly of all data, of a part, or none; rarely an old one, or of data never sent.
static uint32_t draw_ack(struct script *s)
{
	const struct tl_tcp *c = s->app.c;
	uint32_t flight = c->snd_max - c->snd_una;

	switch (draw(s, 12)) {
	case 0:
		return c->snd_una;
	case 1:
		return c->snd_una + draw(s, flight + 1);
	case 2:
		return c->snd_una - draw(s, 100);
	case 3:
		return c->snd_max + draw(s, 2);
	default:
		return c->snd_max;
	}
}

// Make a segment after *seq: mostly the next, otherwise old bytes or beyond a gap.
static struct rte_mbuf *draw_segment(struct script *s, uint32_t *seq)
{
	static const uint16_t lens[] = {0, 0, 0, 1, 16, 16, 16, 64, 65, 333, MSS - TL_TCP_STAMP_LEN};
	uint16_t len = lens[draw(s, TL_ARRAY_LEN(lens))];
	uint32_t kind = draw(s, 40), from = *seq, stamp = s->h->stamp;

	if (kind == 0)
		from -= draw(s, 2000);
	else if (kind == 1)
		from += 1 + draw(s, 3000);
	else
		*seq += len;
	if (kind == 2)
		stamp -= 5;
	else
		s->h->stamp += draw(s, 2);
	if (draw(s, 8) == 0)
		s->h->window = draw(s, 4) == 0 ? draw(s, 3000) : WINDOW - draw(s, 2000);
	struct rte_mbuf *m = stamped_segment(s, from, draw_ack(s), len, stamp);
	if (kind == 3) // corrupted
		*rte_pktmbuf_mtod_offset(m, uint8_t *, m->data_len - 1) ^= 1;
	return m;
}

static void give_burst(struct script *s)
{
	struct tl_burst burst = {.n = (uint16_t)(1 + (draw(s, 4) == 0 ? draw(s, 4) : 0)), .mono_ns = s->h->now_ns};
	uint32_t seq = s->app.c->rcv_nxt;

	for (uint16_t i = 0; i < burst.n; i++) {
		burst.pkts[i] = draw_segment(s, &seq);
		tl_wire_parse(rte_pktmbuf_mtod(burst.pkts[i], uint8_t *), burst.pkts[i]->data_len, &burst.pkt[i]);
	}
	tl_net_input(s->h->net, &burst);
	finish_burst(s, burst.pkts, burst.n);
}

static void step(struct script *s)
{
	uint32_t kind = draw(s, 20);

	s->h->now_ns += draw(s, 300 * 1000);
	if (kind == 0)
		pass(s->h, (draw(s, 10) == 0 ? 300 : 1 + draw(s, 20)) * MS);
	else if (kind == 1 && tl_tcp_room(s->app.c) >= 2000)
		say(&s->app, 1 + draw(s, 2000));
	else
		give_burst(s);
}

// ---- the comparison

// Clear fields that differ between two hosts in one process, and the ready header, whose effect is in the frames.
static void take_look(struct script *s, struct look *look)
{
	struct tl_tcp *c = &look->c;

	memset(look, 0, sizeof(*look)); // padding is compared, too
	look->stats = s->h->net->stats;
	look->frames = s->frames;
	look->unacked = tl_tcp_unacked(s->app.c);
	look->rooms = s->app.rooms;
	look->received = s->app.len;
	look->failed_sends = s->app.failed_sends;
	memcpy(c, s->app.c, sizeof(*c));
	memset(&c->ready, 0, sizeof(c->ready));
	c->hash_next = NULL;
	c->net = NULL;
	c->flight = NULL;
	c->ops = NULL;
	c->ctx = NULL;
	c->listener = NULL;
	c->far = NULL;
	c->armed_next = NULL;
	c->opening = NULL;
	c->ooo = NULL;
	memset(&c->wheel, 0, sizeof(c->wheel));
	memset(&c->pending_link, 0, sizeof(c->pending_link));
	memset(&c->link, 0, sizeof(c->link));
}

static void open_script(struct script *s)
{
	struct tl_tcp_opts opts = {.window_follows_room = s->plan.follows_room,
		.send_buffer_bytes = s->plan.seed % 2 == 0 ? 0 : 4096,
		.recv_window_bytes = s->plan.seed % 3 == 0 ? 3000 : 0,
		.without_cwnd = s->plan.without_cwnd,
		.user_timeout_ms = 3600 * 1000};

	flushed = s;
	s->app = (struct app){.on_data = reply, .on_room = refill, .user = s};
	s->rng = s->plan.seed;
	s->h = start();
	s->h->tx.flush_fn = digest_frames;
	s->h->stamped = s->plan.stamped;
	s->h->stamp = 77;
	(void)hear(s->h, &s->app, &opts);
	if (s->plan.stamped)
		give_stamped_syn(s->h, 0, PEERS, 0);
	else
		give_syn(s->h, 0, PEERS, 0);
	give(s->h, A, PEERS + 1, OURS + 1, 0);
	CU_ASSERT_EQUAL_FATAL(s->app.opened, 1);
	s->ops = *s->app.c->ops;
	if (s->plan.reply != ROOM)
		s->ops.room = NULL;
	s->app.c->ops = &s->ops;
	if (s->plan.seed % 5 == 0)
		s->app.c->srtt_ns = 0; // as after a SYN cookie
}

// Run the script; return the number of steps until the connection ended.
static unsigned run(struct plan plan, uint8_t flag, struct look *looks)
{
	struct script s = {.plan = plan, .flag = flag};
	unsigned n = 0;

	open_script(&s);
	while (n < STEPS && s.app.closed == 0) {
		step(&s);
		if (s.app.closed == 0)
			take_look(&s, &looks[n++]);
	}
	stop(s.h);
	app_free(&s.app);
	return n;
}

// Compare the runs; report the first step, and the offset in the state, where they differ.
static void compare(struct plan plan, struct look *fast, struct look *slow)
{
	unsigned n = run(plan, 0, fast), m = run(plan, ECE, slow), i = 0;

	CU_ASSERT_EQUAL(n, m);
	CU_ASSERT(n > 100);
	while (i < n && memcmp(&fast[i], &slow[i], sizeof(fast[i])) == 0)
		i++;
	CU_ASSERT_EQUAL(i, n);
	for (size_t k = 0; i < n && k < sizeof(struct look); k++) {
		if (((uint8_t *)&fast[i])[k] != ((uint8_t *)&slow[i])[k]) {
			printf("# seed %u, stamped %d, follows %d, reply %d: step %u, byte %zu of the state\n",
				plan.seed, plan.stamped, plan.follows_room, (int)plan.reply, i, k);
			return;
		}
	}
}

TL_TEST("the fast path processes an expected segment like the state machine")
{
	struct look *fast = calloc(STEPS, sizeof(*fast)), *slow = calloc(STEPS, sizeof(*slow));

	CU_ASSERT_FATAL(fast != NULL && slow != NULL);
	for (uint32_t i = 0; i < 8u * REPLIES * 2; i++)
		compare((struct plan){.stamped = i & 1,
				.follows_room = i >> 1 & 1,
				.without_cwnd = i >> 2 & 1,
				.reply = (enum reply)(i >> 3) % REPLIES,
				.seed = i + 1},
			fast, slow);
	free(fast);
	free(slow);
}

// ---- expectations

static bool is_watched, is_refused;

// Header prediction calls it for a segment that it does not expect: the linker puts this in its place (--wrap).
void __real_tl_net_take_frame(struct tl_net *net, struct rte_mbuf *m, const uint8_t *frame, struct tl_pkt *pkt);
void __wrap_tl_net_take_frame(struct tl_net *net, struct rte_mbuf *m, const uint8_t *frame, struct tl_pkt *pkt);
void __wrap_tl_net_take_frame(struct tl_net *net, struct rte_mbuf *m, const uint8_t *frame, struct tl_pkt *pkt)
{
	is_refused = true;
	if (!is_watched)
		__real_tl_net_take_frame(net, m, frame, pkt);
}

#ifdef TEST_IP6
#define take_expected tl_tcp_take_expected6
#else
#define take_expected tl_tcp_take_expected
#endif

// Return true if header prediction takes the segment. The state machine does not get it otherwise.
static inline bool is_predicted(struct host *h, struct rte_mbuf *m, struct tl_pkt *pkt)
{
	is_refused = false;
	is_watched = true;
	take_expected(h->net, m, rte_pktmbuf_mtod(m, const uint8_t *), pkt);
	is_watched = false;
	return !is_refused;
}

static bool is_taken(struct host *h, uint8_t flags, uint32_t seq, uint32_t ack, uint8_t options_len, uint16_t len)
{
	static const uint8_t options[] = {1, 1, 1, 1}, data[MSS + 1];
	struct rte_mbuf *m = segment(h, flags, seq, ack, options, options_len, data, len);
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
	struct tl_pkt pkt;

	tl_wire_parse(frame, m->data_len, &pkt);
	bool taken = is_predicted(h, m, &pkt);
	rte_pktmbuf_free(m);
	tl_txq_flush(&h->tx);
	return taken;
}

TL_TEST("only the next data and the next ACK take the fast path")
{
	const struct tl_tcp_opts opts = {.recv_window_bytes = 1000};
	struct app app = {0};
	struct host *h = start();

	accept_with(h, &app, &opts);
	say(&app, 100);
	const uint32_t next = app.c->rcv_nxt, first = app.c->snd_una, end = app.c->snd_max;
	CU_ASSERT_FALSE(is_taken(h, A, next, first, 0, 0)); // duplicate ACK
	CU_ASSERT_FALSE(is_taken(h, A, next, first - 1, 0, 16));
	CU_ASSERT_FALSE(is_taken(h, A, next, end + 1, 0, 16));
	CU_ASSERT_FALSE(is_taken(h, A, next - 1, first, 0, 16));
	CU_ASSERT_FALSE(is_taken(h, A, next + 1, first, 0, 16));
	CU_ASSERT_FALSE(is_taken(h, A, next, first, 0, 1001));
	CU_ASSERT_FALSE(is_taken(h, A, next, first, 4, 16)); // with options
	for (unsigned flags = 0; flags < 256; flags++) {
		if (flags != A && flags != (A | P))
			CU_ASSERT_FALSE(is_taken(h, (uint8_t)flags, next, end, 0, 16));
	}
	CU_ASSERT_EQUAL(app.c->rcv_nxt, next);
	CU_ASSERT_EQUAL(app.c->snd_una, first);
	CU_ASSERT(is_taken(h, A, next, first + 1, 0, 0));
	CU_ASSERT(is_taken(h, A, next, first + 1, 0, 16));
	CU_ASSERT(is_taken(h, A | P, next + 16, end, 0, 16));
	CU_ASSERT_EQUAL(app.c->rcv_nxt, next + 32);
	CU_ASSERT_EQUAL(app.c->snd_una, end);
	hang_up(h, &app);
	CU_ASSERT_FALSE(is_taken(h, A, next + 32, app.c->snd_una, 0, 16));
	stop(h);
	app_free(&app);
}

// RFC 7323, section 2.2: the window of a SYN is not scaled.
TL_TEST("data with the window field of the SYN-ACK scales the window")
{
	static const uint8_t scale_7[] = {1, 3, 3, 7};
	struct app app = {0};
	struct host *h = start();

	call(h, &app, NULL);
	h->window = 1000;
	give_options(h, A | S, PEERS, OURS + 1, scale_7, sizeof(scale_7), "", 0);
	CU_ASSERT_EQUAL(app.c->snd_wnd, 1000);
	give(h, A, PEERS + 1, OURS + 1, 16);
	CU_ASSERT_EQUAL(app.c->rcv_nxt, PEERS + 17);
	CU_ASSERT_EQUAL(app.c->snd_wnd, 1000 << 7);
	stop(h);
	app_free(&app);
}

static bool is_taken_with(struct host *h, uint64_t ol_flags, uint32_t seq, uint32_t ack, uint16_t len)
{
	static const uint8_t data[16];
	struct rte_mbuf *m = segment(h, A, seq, ack, NULL, 0, data, len);
	struct tl_pkt pkt;

	m->ol_flags |= ol_flags;
	tl_wire_parse(rte_pktmbuf_mtod(m, uint8_t *), m->data_len, &pkt);
	bool taken = is_predicted(h, m, &pkt);
	tl_txq_flush(&h->tx);
	tl_net_sent(h->net); // reads the payload
	rte_pktmbuf_free(m);
	return taken;
}

static void reply_held(struct app *app, struct tl_tcp *c, const uint8_t *data, uint32_t len)
{
	CU_ASSERT_EQUAL(tl_tcp_send_held(c, data, len), TL_TCP_SENT);
}

TL_TEST("a segment with a stripped tag does not take the fast path")
{
	const uint64_t stripped = RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
	const struct tl_tcp_opts opts = {.window_follows_room = true, .without_cwnd = true};
	struct app app = {.on_data = reply_held};
	struct host *h = start();

	accept_with(h, &app, &opts);
	for (uint64_t good = 0; good <= RTE_MBUF_F_RX_L4_CKSUM_GOOD; good += RTE_MBUF_F_RX_L4_CKSUM_GOOD) {
		uint32_t next = app.c->rcv_nxt, una = app.c->snd_una;
		CU_ASSERT_FALSE(is_taken_with(h, stripped | good, next, una, 16));
		CU_ASSERT(is_taken_with(h, good, next, una, 16));
		CU_ASSERT_FALSE(is_taken_with(h, stripped | good, next + 16, una + 16, 0));
		CU_ASSERT(is_taken_with(h, good, next + 16, una + 16, 0));
	}
	stop(h);
	app_free(&app);
}

TL_TEST("data does not take the fast path without a free buffer for its echo")
{
	const struct tl_tcp_opts opts = {.window_follows_room = true};
	struct app app = {0};
	struct host *h = start();

	accept_with(h, &app, &opts);
	struct tl_tcp_pool *pool = &h->net->tcp->flights;
	void *block = pool->free;
	pool->free = NULL; // all are lent
	CU_ASSERT_FALSE(is_taken(h, A, app.c->rcv_nxt, app.c->snd_una, 0, 16));
	pool->free = block;
	CU_ASSERT(is_taken(h, A, app.c->rcv_nxt, app.c->snd_una, 0, 16));
	stop(h);
	app_free(&app);
}

static void relay(struct app *app, struct tl_tcp *c, const uint8_t *data, uint32_t len)
{
	CU_ASSERT_EQUAL(tl_tcp_send_held(app->user, data, len), TL_TCP_SENT);
}

TL_TEST("data forwarded on another connection is acknowledged")
{
	struct app app = {0};
	struct host *h = start();

	accept_peer(h, &app);
	app.user = app.c;
	app.on_data = relay;
	h->peer_port = PORT(40001);
	h->net->tcp->isn_next = OURS;
	give_syn(h, 0, PEERS, 0);
	give(h, A, PEERS + 1, OURS + 1, 0);
	CU_ASSERT_EQUAL_FATAL(app.opened, 2);
	forget(h);
	give(h, A, PEERS + 1, OURS + 1, 16);
	CU_ASSERT_EQUAL(h->n_sent, 2); // the data to one peer, and the ACK to the other
	CU_ASSERT_EQUAL(app.c->rcv_acked, PEERS + 1 + 16);
	stop(h);
	app_free(&app);
}

// With twice as many buckets as connections, some have a connection before them in their bucket.
TL_TEST("each of many connections takes the fast path")
{
	enum { CONNS = 64 };
	struct host *h = start_with(CONNS, 65536, 1500, true);
	struct tl_tcp_listener *listener = NULL;
	struct app app = {0};

	CU_ASSERT_EQUAL_FATAL(tl_tcp_listen(h->net, OUR_PORT, CONNS, &APP_OPS, &app, NULL, &listener), 0);
	for (uint16_t i = 0; i < CONNS; i++) {
		h->peer_port = PORT(40001 + i);
		h->net->tcp->isn_next = OURS;
		give_syn(h, 0, PEERS, 0);
		give(h, A, PEERS + 1, OURS + 1, 0);
	}
	CU_ASSERT_EQUAL_FATAL(app.opened, CONNS);
	for (uint16_t i = 0; i < CONNS; i++) {
		h->peer_port = PORT(40001 + i);
		CU_ASSERT(is_taken_with(h, 0, PEERS + 1, OURS + 1, 16));
	}
	stop(h);
	app_free(&app);
}

// Hash of the n-th of consecutive ports and addresses.
static uint32_t hash_of(const uint64_t seed[TL_TCP_KEY_SEEDS], unsigned n)
{
	struct tl_tcp_key key = tl_tcp_key(tl_be32(0x0a000002 + n % 4), PORT(40001 + n / 4), OUR_PORT);
#ifdef TEST_IP6
	struct tl_ip6 peer = host_ip6(2 + n % 4);

	return tl_tcp_key_hash6(seed, &peer, tl_tcp_key_ports_be(&key));
#else
	return tl_tcp_key_hash(seed, key);
#endif
}

// With twice as many buckets as connections a chain of more than 12 is improbable, of consecutive ports and addresses,
// too.
TL_TEST("consecutive ports and addresses are spread over the buckets")
{
	enum { KEYS = 1024, TRIES = 500, LONGEST = 12 };
	static uint8_t chain[2 * KEYS];
	uint64_t seed[TL_TCP_KEY_SEEDS], rng = 1;
	unsigned longest = 0;

	for (unsigned i = 0; i < TRIES; i++) {
		for (unsigned k = 0; k < TL_TCP_KEY_SEEDS; k++)
			seed[k] = rng = (rng ^ rng >> 29) * UINT64_C(0xbf58476d1ce4e5b9) + 1442695040888963407u;
		memset(chain, 0, sizeof(chain));
		for (unsigned n = 0; n < KEYS; n++) {
			uint32_t at = hash_of(seed, n) % TL_ARRAY_LEN(chain);
			longest = ++chain[at] > longest ? chain[at] : longest;
		}
	}
	CU_ASSERT(longest <= LONGEST);
}

#ifdef TEST_IP6
// True if the fast path takes the next 16 bytes, with another value in a byte of the frame. The fast path has the
// checksum of addresses and ports from the connection.
static bool is_taken_with_byte(struct host *h, struct app *app, uint16_t at, uint8_t value)
{
	static const uint8_t data[16];
	struct rte_mbuf *m = segment(h, A, app->c->rcv_nxt, app->c->snd_una, NULL, 0, data, sizeof(data));
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
	struct tl_pkt pkt;

	frame[at] = value;
	tl_wire_parse(frame, m->data_len, &pkt);
	bool taken = is_predicted(h, m, &pkt);
	tl_net_sent(h->net);
	rte_pktmbuf_free(m);
	tl_txq_flush(&h->tx);
	return taken;
}

TL_TEST("only a segment between both addresses and ports takes the fast path")
{
	struct app app = {0};
	struct host *h = start();
	unsigned taken = 0;

	accept_peer(h, &app);
	for (uint16_t at = TL_ETHER_LEN + 8; at < TL_ETHER_LEN + TL_IPV6_LEN + 4; at++) {
		for (unsigned value = 0; value < 256; value++)
			taken += is_taken_with_byte(h, &app, at, (uint8_t)value);
	}
	CU_ASSERT_EQUAL(taken, 2 * sizeof(struct tl_ip6) + 4); // the right value of each byte
	stop(h);
	app_free(&app);
}

// The reachability of the neighbour ends 30 s after the last ACK, within the time that tl_tcp_confirm_hop() saves.
TL_TEST("an ACK on the fast path confirms the neighbour")
{
	const struct tl_tcp_opts opts = {.window_follows_room = true, .without_cwnd = true};
	struct app app = {.on_data = reply_held};
	struct host *h = start();

	accept_with(h, &app, &opts);
	struct tl_tcp_ops ops = *app.c->ops;
	ops.room = NULL; // as of an echo
	app.c->ops = &ops;
	uint64_t asked = h->net->stats.nd_solicitations_tx;
	for (unsigned i = 0; i < 40; i++) {
		CU_ASSERT(is_taken_with(h, 0, app.c->rcv_nxt, app.c->snd_una, 16));
		pass(h, 2 * MS);
		CU_ASSERT(is_taken_with(h, 0, app.c->rcv_nxt, app.c->snd_max, 0));
		pass(h, 2 * SECOND);
	}
	CU_ASSERT_EQUAL(h->net->stats.nd_solicitations_tx, asked);
	stop(h);
	app_free(&app);
}

// Internal numbers of IPv6 addresses are not IPv4 sources; a forged segment reaches no connection.
TL_TEST("an IPv4 segment whose source equals the index of an IPv6 peer is refused")
{
	struct app app = {0};
	struct host *h = start();

	accept_peer(h, &app);
	uint8_t frame[TL_ETHER_LEN + TL_IPV4_LEN + TL_TCP_LEN + 16] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0};
	struct tl_ipv4_hdr *ip = (struct tl_ipv4_hdr *)(frame + TL_ETHER_LEN);
	struct tl_tcp_hdr *tcp = (struct tl_tcp_hdr *)(ip + 1);
	*ip = (struct tl_ipv4_hdr){.version_ihl = 0x45,
		.total_len_be = tl_be16(TL_IPV4_LEN + TL_TCP_LEN + 16),
		.ttl = 64,
		.proto = TL_IPPROTO_TCP,
		.src_be = PEER,
		.dst_be = host_ip(1)};
	tl_wire_ipv4_finish(ip);
	*tcp = (struct tl_tcp_hdr){.src_port_be = PEER_PORT,
		.dst_port_be = OUR_PORT,
		.seq_be = tl_be32(app.c->rcv_nxt),
		.ack_be = tl_be32(app.c->snd_una),
		.data_off = TL_TCP_LEN << 2,
		.flags = A,
		.window_be = tl_be16(WINDOW)};
	uint32_t sum = tl_cksum_pseudo(ip->src_be, ip->dst_be, TL_IPPROTO_TCP, TL_TCP_LEN + 16);
	tcp->cksum_be = tl_cksum_finish(tl_cksum_add(sum, tcp, TL_TCP_LEN + 16));
	give_raw(h, frame, sizeof(frame));
	CU_ASSERT_EQUAL(app.len, 0);
	CU_ASSERT_EQUAL(h->net->stats.drop_malformed_pkts, 1);
	stop(h);
	app_free(&app);
}
#endif

int main(void)
{
	tl_test_eal_start();
	return tl_test_run("tcp_predict");
}
