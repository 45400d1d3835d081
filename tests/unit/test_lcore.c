// SPDX-License-Identifier: BSD-3-Clause
// Loop of the RX lcore, on the test's thread: if the stop flag is set beforehand, the loop does one round of work and
// returns.

#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_mbuf.h>

#include <tl_clock.h>
#include <tl_err.h>
#include <tl_lcore.h>
#include <tl_port.h>
#include <tl_test.h>
#include <tl_test_eal.h>
#include <tl_test_port.h>

#include "lcore_priv.h"

static struct tl_clock *test_clock;
static char story[256]; // calls of the services, one word each

static void note(const char *word)
{
	size_t len = strlen(story);

	if (len < sizeof(story) - 8)
		snprintf(story + len, sizeof(story) - len, "%s ", word);
}

struct count {
	uint64_t frames, bursts, sent;
	struct tl_txq *echo_to; // one frame in reply to each burst
};

static void first_rx(void *ctx, struct tl_burst *b)
{
	struct count *c = ctx;

	c->frames += b->n;
	c->bursts++;
	note("first");
	if (c->echo_to != NULL) {
		rte_mbuf_refcnt_update(b->pkts[0], 1);
		tl_txq_push(c->echo_to, b->pkts[0]);
	}
}

static void first_after_tx(void *ctx, struct tl_burst *b)
{
	const struct count *c = ctx;

	note(c->echo_to == NULL || c->echo_to->n == 0 ? "flushed" : "unflushed");
}

static void second_rx(void *ctx, struct tl_burst *b)
{
	note("second");
}

static void on_sent(void *ctx, struct tl_burst *b)
{
	struct count *c = ctx;

	c->sent += b->n;
	note("sent");
}

static void finish(void *ctx)
{
	note("finish");
}

static struct tl_lcore *make_lcore(struct tl_port *port, const struct tl_service *services, uint32_t n)
{
	struct tl_lcore *lcore = NULL;
	struct tl_err err;
	struct tl_lcore_cfg cfg = {.rxq = tl_port_rxq(port, 0),
		.txq = tl_port_txq(port, 0),
		.clock = test_clock,
		.services = services,
		.n_services = n};

	CU_ASSERT_EQUAL_FATAL(tl_lcore_create(&cfg, &lcore, &err), 0);
	story[0] = '\0';
	return lcore;
}

// Frames in a ring device, which returns every frame sent.
static void fill(struct tl_port *port, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct rte_mbuf *m = rte_pktmbuf_alloc(tl_port_pool(port));
		CU_ASSERT_PTR_NOT_NULL_FATAL(m);
		memset(rte_pktmbuf_append(m, 60), 0, 60);
		tl_txq_push(tl_port_txq(port, 0), m);
	}
	tl_txq_flush(tl_port_txq(port, 0));
}

TL_TEST("a drain receives all queued frames")
{
	struct tl_port *port = tl_test_port("vdev:net_ring_l1", 1, test_clock);
	struct count c = {0};
	struct tl_service service = {.ctx = &c, .rx = first_rx, .finish = finish};

	CU_ASSERT_PTR_NOT_NULL_FATAL(port);
	fill(port, 500);
	struct tl_lcore *lcore = make_lcore(port, &service, 1);
	tl_lcore_request(lcore, TL_LCORE_DRAIN);
	tl_lcore_loop(lcore);
	CU_ASSERT_EQUAL(c.frames, 500);
	CU_ASSERT_PTR_NOT_NULL(strstr(story, "finish"));
	CU_ASSERT_EQUAL(tl_port_mbufs_in_use(port), 0);
	tl_lcore_destroy(lcore);
	tl_port_close(port);
}

static uint16_t poll_count(void *ctx, uint64_t mono_ns)
{
	struct count *c = ctx;

	CU_ASSERT(mono_ns != 0);
	return c->sent < 5 ? (uint16_t)(c->sent++ % 2) : 0; // 0, 1, 0, 1, 0 ... frames
}

TL_TEST("a drain continues while a service receives frames by polling")
{
	struct tl_port *port = tl_test_port("vdev:net_ring_l6", 1, test_clock);
	struct count c = {0};
	struct tl_service service = {.ctx = &c, .rx = first_rx, .poll = poll_count, .finish = finish};

	CU_ASSERT_PTR_NOT_NULL_FATAL(port);
	struct tl_lcore *lcore = make_lcore(port, &service, 1);
	tl_lcore_request(lcore, TL_LCORE_DRAIN);
	tl_lcore_loop(lcore);
	CU_ASSERT_EQUAL(c.sent, 5);
	tl_lcore_destroy(lcore);
	tl_port_close(port);
}

// A null device has a frame at every poll: a drain until it is empty would never end.
TL_TEST("a stop ends under continuous traffic")
{
	struct tl_port *port = tl_test_port("vdev:net_null_l2", 1, test_clock);
	struct count c = {0};
	struct tl_service service = {.ctx = &c, .rx = first_rx, .finish = finish};

	CU_ASSERT_PTR_NOT_NULL_FATAL(port);
	CU_ASSERT_FALSE(tl_port_quiesce(port));
	struct tl_lcore *lcore = make_lcore(port, &service, 1);
	tl_port_rxq(port, 0)->descriptors = 8192; // mlx5's ring size
	tl_lcore_request(lcore, TL_LCORE_STOP);
	tl_lcore_loop(lcore);
	CU_ASSERT(c.frames >= 8192);
	CU_ASSERT_EQUAL(c.frames, tl_port_rxq(port, 0)->stats.rx_pkts);
	CU_ASSERT_EQUAL(tl_port_mbufs_in_use(port), 0);
	tl_lcore_destroy(lcore);
	tl_port_close(port);
}

// The reply is sent before the second service gets the burst, and sent frames are recorded last.
TL_TEST("services run in order, and each sends before the next")
{
	struct tl_port *port = tl_test_port("vdev:net_ring_l3", 1, test_clock);
	struct count c = {0};

	CU_ASSERT_PTR_NOT_NULL_FATAL(port);
	fill(port, 1);
	c.echo_to = tl_port_txq(port, 0);
	struct tl_service services[] = {
		{.ctx = &c, .rx = first_rx, .after_tx = first_after_tx, .sent = on_sent}, {.ctx = &c, .rx = second_rx}};
	struct tl_lcore *lcore = make_lcore(port, services, 2);
	lcore->burst.n = 0;
	tl_lcore_request(lcore, TL_LCORE_STOP);
	tl_lcore_loop(lcore); // each reply returns as the next burst
	CU_ASSERT_EQUAL(strncmp(story, "first flushed second sent ", 26), 0);
	CU_ASSERT_EQUAL(c.sent, c.bursts);
	tl_lcore_destroy(lcore);
	tl_port_close(port);
}

// A queue that returns one burst, then nothing; it stops its lcore after a few polls.
struct scripted {
	struct tl_port *port;
	struct tl_lcore *lcore;
	unsigned polls;
	uint64_t asked_ns[4];
};

static uint16_t scripted_burst(struct tl_rxq *q, struct tl_burst *b)
{
	struct scripted *s = q->backend;

	b->mono_ns = tl_clock_mono_ns(test_clock, rte_rdtsc());
	b->n = s->polls == 0 ? TL_BURST : 0;
	if (b->n != 0)
		CU_ASSERT_EQUAL_FATAL(rte_pktmbuf_alloc_bulk(tl_port_pool(s->port), b->pkts, b->n), 0);
	if (s->polls < TL_ARRAY_LEN(s->asked_ns))
		s->asked_ns[s->polls] = b->mono_ns;
	if (++s->polls == TL_ARRAY_LEN(s->asked_ns))
		tl_lcore_request(s->lcore, TL_LCORE_DRAIN);
	return b->n;
}

TL_TEST("an adaptive lcore sleeps immediately on a port that gathers frames")
{
	struct scripted s = {.port = tl_test_port("vdev:net_ring_l5", 1, test_clock)};
	struct tl_rxq queue = {.burst = scripted_burst, .backend = &s, .gathers = true, .wait_fd = -1};
	struct tl_lcore_cfg cfg = {.rxq = &queue, .clock = test_clock, .adaptive = true};
	struct tl_err err;

	CU_ASSERT_PTR_NOT_NULL_FATAL(s.port);
	CU_ASSERT_EQUAL_FATAL(tl_lcore_create(&cfg, &s.lcore, &err), 0);
	tl_lcore_loop(s.lcore);
	// The first poll returns frames, the second none. A sleep of 8 ms lasts at least as long as requested.
	CU_ASSERT(s.asked_ns[2] - s.asked_ns[1] >= 8 * TL_NS_PER_MS * 99 / 100);
	tl_lcore_destroy(s.lcore);
	tl_port_close(s.port);
}

static uint64_t sleep_beside_frames_ns(const char *device, uint64_t buffer_bytes)
{
	struct scripted s = {.port = tl_test_port(device, 1, test_clock)};
	struct tl_rxq queue = {.burst = scripted_burst, .backend = &s, .gathers = true, .stats.rx_bytes = 60};
	struct tl_lcore_cfg cfg = {.rxq = &queue, .clock = test_clock, .adaptive = true, .buffer_bytes = buffer_bytes};
	struct tl_err err;
	int ends[2];

	CU_ASSERT_PTR_NOT_NULL_FATAL(s.port);
	CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
	CU_ASSERT_EQUAL(write(ends[1], "x", 1), 1);
	queue.wait_fd = ends[0];
	CU_ASSERT_EQUAL_FATAL(tl_lcore_create(&cfg, &s.lcore, &err), 0);
	tl_lcore_loop(s.lcore);
	CU_ASSERT_NOT_EQUAL(s.lcore->patience.woken_ns, 0); // by the descriptor: without a nap, or after the last
	tl_lcore_destroy(s.lcore);
	tl_port_close(s.port);
	close(ends[0]);
	close(ends[1]);
	return s.asked_ns[2] - s.asked_ns[1];
}

TL_TEST("on such a port frames do not end a nap")
{
	CU_ASSERT(sleep_beside_frames_ns("vdev:net_ring_l12", 16000000) >= 4 * TL_NS_PER_MS * 99 / 100);
	(void)sleep_beside_frames_ns("vdev:net_ring_l13", 0);
}

// Frames may be handed over by the lcore of the queue that received them.
TL_TEST("a frame on any queue of the port ends the wait if configured")
{
	struct tl_port *port = tl_test_port_queues("vdev:net_null_wait", 2, 0, test_clock);
	int ends[2][2];

	CU_ASSERT_PTR_NOT_NULL_FATAL(port);
	for (uint16_t q = 0; q < 2; q++) {
		CU_ASSERT_EQUAL_FATAL(pipe(ends[q]), 0);
		tl_port_rxq(port, q)->wait_fd = ends[q][0];
	}
	CU_ASSERT_FALSE(tl_rxq_wait(tl_port_rxq(port, 0), true, 0));
	CU_ASSERT_EQUAL(write(ends[1][1], "x", 1), 1);
	CU_ASSERT(tl_rxq_wait(tl_port_rxq(port, 0), true, 60000000));
	CU_ASSERT(tl_rxq_wait(tl_port_rxq(port, 1), false, 60000000));
	CU_ASSERT_FALSE(tl_rxq_wait(tl_port_rxq(port, 0), false, 0));
	tl_port_rxq(port, 1)->wait_fd = -1; // the device has none
	CU_ASSERT_FALSE(tl_rxq_wait(tl_port_rxq(port, 0), true, 0));
	for (uint16_t q = 0; q < 2; q++) {
		tl_port_rxq(port, q)->wait_fd = -1;
		close(ends[q][0]);
		close(ends[q][1]);
	}
	tl_port_close(port);
}

// A queue whose polls return at scripted times, and the gaps noted by its service.
struct timed {
	struct tl_lcore *lcore;
	struct rte_mempool *pool;
	unsigned polls;
	uint64_t gap_seen_tsc;
};

#define LONG_TSC (UINT64_C(1) << 32)

// Each poll is one tick after the previous one, except the third, which returns a frame.
static uint16_t timed_burst(struct tl_rxq *q, struct tl_burst *b)
{
	struct timed *t = q->backend;

	b->tsc = 4 * LONG_TSC + t->polls + (t->polls >= 2 ? LONG_TSC : 0);
	b->mono_ns = 1;
	b->n = t->polls == 2;
	if (b->n != 0)
		CU_ASSERT_EQUAL_FATAL(rte_pktmbuf_alloc_bulk(t->pool, b->pkts, 1), 0);
	if (++t->polls == 6)
		tl_lcore_request(t->lcore, TL_LCORE_DRAIN);
	return b->n;
}

static void see_gap(void *ctx, struct tl_burst *b)
{
	struct timed *t = ctx;

	t->gap_seen_tsc = b->tsc - b->last_tsc;
}

TL_TEST("a poll gap is recorded and passed to the next burst")
{
	struct tl_port *port = tl_test_port("vdev:net_ring_l7", 1, test_clock);
	struct timed t = {.pool = tl_port_pool(port)};
	struct tl_rxq queue = {.burst = timed_burst, .backend = &t, .wait_fd = -1};
	struct tl_service service = {.ctx = &t, .rx = see_gap};
	struct tl_lcore_cfg cfg = {.rxq = &queue, .clock = test_clock, .services = &service, .n_services = 1};
	struct tl_hist gaps;
	struct tl_err err;

	CU_ASSERT_EQUAL_FATAL(tl_lcore_create(&cfg, &t.lcore, &err), 0);
	tl_lcore_loop(t.lcore);
	tl_lcore_gaps(t.lcore, &gaps);
	CU_ASSERT_EQUAL(gaps.count, 1); // the first poll has no predecessor
	CU_ASSERT_EQUAL(gaps.sum_ns, tl_clock_span_ns(test_clock, LONG_TSC + 1));
	CU_ASSERT_EQUAL(t.gap_seen_tsc, LONG_TSC + 1);
	tl_lcore_destroy(t.lcore);
	tl_port_close(port);
}

// A queue with polls 200 us apart that return these numbers of frames.
struct sized {
	struct tl_lcore *lcore;
	struct rte_mempool *pool;
	unsigned polls;
};

static const uint16_t sizes[] = {0, 0, 1, 3, 3, 40, TL_BURST, TL_BURST, 0};

static uint16_t sized_burst(struct tl_rxq *q, struct tl_burst *b)
{
	struct sized *s = q->backend;
	unsigned i = s->polls++;

	b->mono_ns = TL_NS_PER_S + 200 * TL_NS_PER_US * i;
	b->n = i < TL_ARRAY_LEN(sizes) ? sizes[i] : 0;
	if (b->n != 0)
		CU_ASSERT_EQUAL_FATAL(rte_pktmbuf_alloc_bulk(s->pool, b->pkts, b->n), 0);
	if (i + 1 == TL_ARRAY_LEN(sizes))
		tl_lcore_request(s->lcore, TL_LCORE_DRAIN);
	return b->n;
}

// Hand over a burst, as another lcore does, in the turn of the second full one.
static uint16_t poll_handed_over(void *ctx, uint64_t mono_ns)
{
	const struct sized *s = ctx;

	return s->polls == TL_ARRAY_LEN(sizes) - 1 ? TL_BURST : 0;
}

TL_TEST("the time of an lcore is counted by the frames of a turn, those of other lcores included")
{
	struct tl_port *port = tl_test_port("vdev:net_ring_l9", 1, test_clock);
	struct sized s = {.pool = tl_port_pool(port)};
	struct tl_rxq queue = {.burst = sized_burst, .backend = &s, .wait_fd = -1};
	struct tl_service service = {.ctx = &s, .poll = poll_handed_over};
	struct tl_lcore_cfg cfg = {.rxq = &queue, .clock = test_clock, .services = &service, .n_services = 1};
	struct tl_lcore_load load;
	struct tl_err err;

	CU_ASSERT_EQUAL_FATAL(tl_lcore_create(&cfg, &s.lcore, &err), 0);
	tl_lcore_loop(s.lcore);
	tl_lcore_load(s.lcore, &load);
	// The first turn has no predecessor.
	const uint64_t turns[TL_LCORE_SIZES] = {[0] = s.polls - 7, [1] = 1, [2] = 2, [6] = 1, [7] = 2};
	for (unsigned i = 0; i < TL_LCORE_SIZES; i++)
		CU_ASSERT_EQUAL(load.turn_ns[i], turns[i] * 200 * TL_NS_PER_US);
	CU_ASSERT_EQUAL(load.ring_samples, 0); // unsupported by the device
	tl_lcore_destroy(s.lcore);
	tl_port_close(port);
}

// A frame ends the sleep after the first poll.
static uint16_t woken_burst(struct tl_rxq *q, struct tl_burst *b)
{
	struct scripted *s = q->backend;

	b->mono_ns = tl_clock_mono_ns(test_clock, rte_rdtsc());
	b->n = s->polls == 1;
	if (b->n != 0)
		CU_ASSERT_EQUAL_FATAL(rte_pktmbuf_alloc_bulk(tl_port_pool(s->port), b->pkts, 1), 0);
	if (++s->polls == 2)
		tl_lcore_request(s->lcore, TL_LCORE_DRAIN);
	return b->n;
}

TL_TEST("sleep counts as idle time")
{
	struct scripted s = {.port = tl_test_port("vdev:net_ring_l10", 1, test_clock)};
	struct tl_rxq queue = {.burst = woken_burst, .backend = &s, .gathers = true, .wait_fd = -1};
	struct tl_lcore_cfg cfg = {.rxq = &queue, .clock = test_clock, .adaptive = true};
	struct tl_lcore_load load;
	struct tl_err err;

	CU_ASSERT_EQUAL_FATAL(tl_lcore_create(&cfg, &s.lcore, &err), 0);
	tl_lcore_loop(s.lcore);
	tl_lcore_load(s.lcore, &load);
	CU_ASSERT(load.turn_ns[0] >= TL_NS_PER_MS * 99 / 100);
	CU_ASSERT_EQUAL(load.turn_ns[1], 0);
	tl_lcore_destroy(s.lcore);
	tl_port_close(s.port);
}

static uint64_t work_ns; // due time of a service's next work

static uint64_t next_work_ns(void *ctx)
{
	return work_ns;
}

static bool sleeps(struct tl_lcore *lcore, uint64_t after_ns)
{
	uint64_t before_ns = tl_clock_mono_ns(test_clock, rte_rdtsc());

	lcore->slept = false;
	lcore->burst.mono_ns = TL_NS_PER_S;
	work_ns = after_ns != UINT64_MAX ? TL_NS_PER_S + after_ns : UINT64_MAX;
	tl_lcore_idle(lcore);
	uint64_t slept_ns = tl_clock_mono_ns(test_clock, rte_rdtsc()) - before_ns;
	CU_ASSERT(after_ns < TL_NS_PER_S || slept_ns >= TL_NS_PER_MS * 99 / 100); // as long as without such a service
	return lcore->slept;
}

TL_TEST("an lcore does not sleep beyond the next work of a service")
{
	struct tl_port *port = tl_test_port("vdev:net_ring_l11", 1, test_clock);
	struct count c = {0};
	struct tl_service services[] = {{.ctx = &c, .poll = poll_count, .next_ns = next_work_ns}, {.ctx = &c}};
	struct tl_lcore *lcore = make_lcore(port, services, 2);

	CU_ASSERT_TRUE(sleeps(lcore, UINT64_MAX));
	CU_ASSERT_TRUE(sleeps(lcore, 10 * TL_NS_PER_S));
	CU_ASSERT_TRUE(sleeps(lcore, 100 * TL_NS_PER_US));
	CU_ASSERT_FALSE(sleeps(lcore, 40 * TL_NS_PER_US)); // a sleep takes longer
	CU_ASSERT_FALSE(sleeps(lcore, 0));
	CU_ASSERT_FALSE(lcore->handover);
	tl_lcore_destroy(lcore);
	services[1].poll = poll_count; // frames handed over by other lcores may come at any time
	lcore = make_lcore(port, services, 2);
	CU_ASSERT_TRUE(lcore->handover);
	tl_lcore_destroy(lcore);
	tl_port_close(port);
}

// A queue without frames, with polls a tick apart, and a service that takes three turns to close.
struct closing {
	struct tl_lcore *lcore;
	unsigned polls, closes, asked, closed_at;
};

static uint16_t closing_burst(struct tl_rxq *q, struct tl_burst *b)
{
	struct closing *c = q->backend;

	c->polls++;
	b->n = 0;
	b->mono_ns = c->polls * TL_NS_PER_MS;
	if (c->polls == 2)
		tl_lcore_request(c->lcore, TL_LCORE_CLOSE);
	if (c->polls == 10)
		tl_lcore_request(c->lcore, TL_LCORE_DRAIN);
	if (c->closed_at == 0 && tl_lcore_closed(c->lcore))
		c->closed_at = c->polls;
	return 0;
}

static void begin_to_close(void *ctx)
{
	((struct closing *)ctx)->closes++;
}

static bool has_closed(void *ctx)
{
	return ++((struct closing *)ctx)->asked >= 3;
}

TL_TEST("an lcore closes after its last service, and its beat counter advances with each tick")
{
	struct tl_port *port = tl_test_port("vdev:net_ring_l8", 1, test_clock);
	struct closing c = {0};
	struct tl_rxq queue = {.burst = closing_burst, .backend = &c, .wait_fd = -1};
	struct tl_service services[] = {{.ctx = &c, .close = begin_to_close, .closed = has_closed}, {.ctx = &c}};
	struct tl_lcore_cfg cfg = {.rxq = &queue, .clock = test_clock, .services = services, .n_services = 2};
	struct tl_err err;

	CU_ASSERT_EQUAL_FATAL(tl_lcore_create(&cfg, &c.lcore, &err), 0);
	tl_lcore_loop(c.lcore);
	CU_ASSERT_EQUAL(c.closes, 1);
	CU_ASSERT_EQUAL(c.closed_at, 5); // called before the third, fourth and fifth poll
	CU_ASSERT_EQUAL(tl_lcore_beats(c.lcore), c.polls);
	tl_lcore_destroy(c.lcore);
	tl_port_close(port);
}

TL_TEST("too many services are refused")
{
	struct tl_port *port = tl_test_port("vdev:net_ring_l4", 1, test_clock);
	static const struct tl_service services[TL_LCORE_SERVICES_MAX + 1];
	struct tl_lcore_cfg cfg = {.services = services, .n_services = TL_ARRAY_LEN(services)};
	struct tl_lcore *lcore;
	struct tl_err err;

	CU_ASSERT_PTR_NOT_NULL_FATAL(port);
	cfg.rxq = tl_port_rxq(port, 0);
	CU_ASSERT(tl_lcore_create(&cfg, &lcore, &err) < 0);
	tl_port_close(port);
}

int main(void)
{
	tl_test_eal_start();
	test_clock = tl_clock_create();
	return tl_test_run("lcore");
}
