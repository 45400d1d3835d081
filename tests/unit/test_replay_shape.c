// SPDX-License-Identifier: BSD-3-Clause
// Replay through a class tree, without a device: the lcore at a simulated time that advances when the tree has nothing
// to do, and whole replays.

#include "replay_priv.h"

#include <stdlib.h>
#include <string.h>

#include <tl_shape.h>
#include <tl_test.h>
#include <tl_test_eal.h>
#include <tl_test_replay.h>
#include <tl_wire.h>

#define FRAMES_MAX 4000
#define QUEUED_BYTES 1000
#define LIMIT 1514
#define STEP_NS 1000
#define GBIT UINT64_C(1000000000)

static struct tl_err err;
static struct tl_clock *real_clock;

static struct {
	struct replay_sender s;
	struct tl_clock clock; // stands until a test advances it
	struct tl_clock_swap time;
	struct tl_txq txq;
	struct tl_shape *shape;
	struct tl_service real; // of the shape
	struct rte_mempool *pool;
	struct tl_hist lateness, undisturbed;
	atomic_bool stop, read_all;
	// The port.
	unsigned refuses; // this many calls accept none
	uint32_t stop_after;
	uint32_t numbers[FRAMES_MAX];
	uint64_t at_ns[FRAMES_MAX]; // time of departure
	uint32_t n, calls;
} rig;

// ---- the port, and time

static void advance(uint64_t ns)
{
	struct tl_clock_line line = rig.time.line;

	rig.clock.mono.base_ns += ns;
	line.base_ns += ns;
	tl_clock_swap_store(&rig.time, line);
}

static void port_flush(struct tl_txq *q)
{
	rig.calls++;
	q->begin_tsc = rte_rdtsc();
	if (rig.refuses != 0) {
		rig.refuses--;
		advance(STEP_NS);
		return;
	}
	for (uint16_t i = 0; i < q->n && rig.n < FRAMES_MAX; i++) {
		rig.numbers[rig.n] = number_of(rte_pktmbuf_mtod(q->pkts[i], const uint8_t *));
		rig.at_ns[rig.n++] = rig.clock.mono.base_ns;
		rte_pktmbuf_free(q->pkts[i]);
		tl_count(&q->tx_pkts, 1);
	}
	q->n = 0;
	if (rig.stop_after != 0 && rig.n >= rig.stop_after)
		atomic_store(&rig.stop, true);
}

// Poll the tree a step later.
static uint16_t poll_later(void *ctx, uint64_t mono_ns)
{
	advance(STEP_NS);
	return rig.real.poll(rig.shape, mono_ns + STEP_NS);
}

static bool is_closed(void *ctx)
{
	return rig.real.closed(rig.shape);
}

static void finish(void *ctx)
{
	rig.real.finish(rig.shape);
}

// ---- the lcore

static void make_shape(const struct tl_shape_class *classes, uint32_t n, struct tl_txq *txq,
	const struct tl_clock *clock, struct tl_shape **out)
{
	struct tl_shape_cfg cfg = {.txq = txq,
		.clock = clock,
		.classes = classes,
		.n_classes = n,
		.fallback = n - 1,
		.mtu = LIMIT,
		.frames = FRAMES_MAX,
		.now_ns = clock == &rig.clock ? 0 : tl_clock_mono_ns(clock, rte_rdtsc())};
	int rc = tl_shape_create(&cfg, out, &err);

	if (rc != 0)
		printf("# %s\n", err.text);
	CU_ASSERT_EQUAL_FATAL(rc, 0);
}

static void begin_rig(const struct tl_shape_class *classes, uint32_t n)
{
	struct rte_mempool *pool = rig.pool;

	memset(&rig, 0, sizeof(rig));
	rig.pool = pool;
	rig.txq.flush_fn = port_flush;
	tl_hist_init(&rig.lateness);
	tl_hist_init(&rig.undisturbed);
	tl_clock_swap_store(&rig.time, (struct tl_clock_line){0});
	atomic_store(&rig.read_all, true);
	make_shape(classes, n, &rig.txq, &rig.clock, &rig.shape);
	tl_shape_service(rig.shape, &rig.real);
	rig.s = (struct replay_sender){
		.ring = rte_ring_create("rig", 4096, 0, RING_F_SP_ENQ | RING_F_SC_DEQ | RING_F_EXACT_SZ),
		.outs = {{.txq = &rig.txq,
			.lateness = &rig.lateness,
			.pass = &rig.s.pass_seen,
			.shaper = {.ctx = &rig, .poll = poll_later, .closed = is_closed, .finish = finish}}},
		.n_outs = 1,
		.undisturbed = &rig.undisturbed,
		.stop = &rig.stop,
		.read_all = &rig.read_all,
		.time = &rig.time,
		.clock = &rig.clock,
		.late_scale = UINT64_C(1) << TL_CLOCK_SHIFT,
		.late_ns = TL_NS_PER_S,
		.drain_ns = TL_NS_PER_S};
	tl_shape_set_leaving(rig.shape, replay_leaving, &rig.s.outs[0]);
}

// Queue a frame of this EtherType with its number.
static void queue(uint64_t due_ns, uint32_t number, uint16_t type, uint32_t pass)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(rig.pool);

	CU_ASSERT_PTR_NOT_NULL_FATAL(m);
	m->pkt_len = m->data_len = QUEUED_BYTES;
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
	memset(frame, 0, QUEUED_BYTES);
	frame[12] = (uint8_t)(type >> 8);
	frame[13] = (uint8_t)type;
	memcpy(frame + TL_ETHER_LEN, &number, sizeof(number));
	*(struct replay_tag *)rte_mbuf_to_priv(m) = (struct replay_tag){.due_ns = due_ns, .pass = pass};
	CU_ASSERT_EQUAL_FATAL(rte_ring_sp_enqueue(rig.s.ring, m), 0);
}

static struct tl_tree_stats class_stats(uint32_t cls)
{
	struct tl_tree_stats stats;

	tl_shape_sample(rig.shape, cls, &stats);
	return stats;
}

static void end_rig(void)
{
	tl_shape_destroy(rig.shape);
	rte_ring_free(rig.s.ring);
	CU_ASSERT_EQUAL(rte_mempool_in_use_count(rig.pool), 0);
}

// A shape with two leaves, which do not borrow: EtherType 0x88b5, and the others.
static void two_classes(struct tl_shape_class out[3], uint64_t a_bps, uint64_t b_bps, uint32_t limit)
{
	const struct tl_tree_class leaf = {.burst = LIMIT, .cburst = LIMIT, .limit_pkts = limit};

	out[0] = (struct tl_shape_class){
		.tree = {.name = "all", .rate = 40 * GBIT, .burst = 64 * LIMIT, .cburst = 64 * LIMIT}};
	out[1] = (struct tl_shape_class){.tree = leaf, .match = "ether proto 0x88b5"};
	out[1].tree.name = "a";
	out[1].tree.rate = out[1].tree.ceil = a_bps;
	out[2] = (struct tl_shape_class){.tree = leaf};
	out[2].tree.name = "b";
	out[2].tree.rate = out[2].tree.ceil = b_bps;
}

// ---- departures, beside an oracle

struct oracle {
	uint64_t tokens, last_ns, rate; // bytes, bytes per 1000 ns
};

// Return the first step from now_ns on at which a bucket of one frame has tokens for the longest one.
static uint64_t oracle_departure(struct oracle *o, uint64_t due_ns)
{
	uint64_t now_ns = tl_max_u64(due_ns, o->last_ns);

	for (;; now_ns += STEP_NS) {
		o->tokens = tl_min_u64(LIMIT, o->tokens + (now_ns - o->last_ns) / STEP_NS * o->rate);
		o->last_ns = now_ns;
		if (o->tokens >= LIMIT)
			break;
	}
	o->tokens -= QUEUED_BYTES;
	return now_ns;
}

// 100 frames of each class at once, at 0.8 and 0.2 Gbit/s: 100 and 25 bytes per step.
TL_TEST("frames leave at the rates of their classes, and are late by that")
{
	struct oracle oracles[] = {{LIMIT, 0, 100}, {LIMIT, 0, 25}};
	struct tl_shape_class classes[3];
	uint32_t seen[2] = {0}, wrong = 0;
	uint64_t most_ns = 0, sum_ns = 0;

	two_classes(classes, 8 * GBIT / 10, 2 * GBIT / 10, 1000);
	begin_rig(classes, 3);
	for (uint32_t i = 0; i < 200; i++)
		queue(0, i, i % 2 == 0 ? 0x88b5 : 0x88b6, 0);
	replay_send(&rig.s);
	CU_ASSERT_EQUAL_FATAL(rig.n, 200);
	for (uint32_t i = 0; i < rig.n; i++) {
		unsigned cls = rig.numbers[i] % 2;
		uint64_t wanted_ns = oracle_departure(&oracles[cls], 0);
		wrong += rig.numbers[i] != 2 * seen[cls]++ + cls || rig.at_ns[i] != wanted_ns;
		most_ns = tl_max_u64(most_ns, wanted_ns);
		sum_ns += wanted_ns;
	}
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT_TRUE(most_ns > TL_NS_PER_MS);
	CU_ASSERT_EQUAL(rig.lateness.count, 200);
	CU_ASSERT_EQUAL(rig.lateness.max_ns, most_ns);
	CU_ASSERT_EQUAL(rig.lateness.sum_ns, sum_ns);
	CU_ASSERT_EQUAL(rig.s.last_ns, most_ns);
	CU_ASSERT_EQUAL(rig.s.outs[0].sent_pkts, 200);
	end_rig();
}

// A frame due later than the tokens for it leaves when it is due, or a step later: frames are taken and polled in turn.
TL_TEST("a frame that its class does not delay is not late")
{
	struct tl_shape_class classes[3];

	two_classes(classes, 8 * GBIT / 10, 2 * GBIT / 10, 1000);
	begin_rig(classes, 3);
	for (uint32_t i = 0; i < 50; i++)
		queue(i * 100 * STEP_NS, i, 0x88b5, 0);
	replay_send(&rig.s);
	CU_ASSERT_EQUAL(rig.n, 50);
	CU_ASSERT_EQUAL(rig.lateness.max_ns, 0);
	end_rig();
}

TL_TEST("ARP of a recording is classified")
{
	struct tl_shape_class classes[3];

	two_classes(classes, 8 * GBIT / 10, 2 * GBIT / 10, 1000);
	begin_rig(classes, 3);
	queue(0, 0, TL_ETHERTYPE_ARP, 0);
	replay_send(&rig.s);
	CU_ASSERT_EQUAL(class_stats(2).sent_pkts, 1);
	CU_ASSERT_EQUAL(tl_shape_bypassed(rig.shape), 0);
	end_rig();
}

// ---- a port that refuses

// 500 frames fall due while the port refuses: more than the limit of their class.
TL_TEST("a port that refuses frames costs none, whatever the limits of the classes")
{
	struct tl_shape_class classes[3];

	two_classes(classes, 30 * GBIT, GBIT, 70);
	classes[1].tree.burst = classes[1].tree.cburst = 64 * LIMIT;
	begin_rig(classes, 3);
	for (uint32_t i = 0; i < 500; i++)
		queue(i * STEP_NS, i, 0x88b5, 0);
	rig.refuses = 600;
	replay_send(&rig.s);
	CU_ASSERT_EQUAL(rig.n, 500);
	for (uint32_t i = 0; i < rig.n; i++)
		CU_ASSERT_EQUAL(rig.numbers[i], i);
	CU_ASSERT_EQUAL(class_stats(0).drop_pkts[TL_TREE_DROP_LIMIT], 0);
	CU_ASSERT_TRUE(rig.lateness.max_ns >= 600 * STEP_NS);
	CU_ASSERT_EQUAL(rig.lateness.count, 500);
	end_rig();
}

// 3000 frames are due at once, at a rate that lets all of them leave: only 64 go into the tree between two send calls.
TL_TEST("a late lcore drops no frame that may leave")
{
	struct tl_shape_class classes[3];

	two_classes(classes, 30 * GBIT, GBIT, 70);
	for (unsigned i = 0; i < 2; i++)
		classes[i].tree.burst = classes[i].tree.cburst = 4000 * LIMIT;
	begin_rig(classes, 3);
	for (uint32_t i = 0; i < 3000; i++)
		queue(0, i, 0x88b5, 0);
	replay_send(&rig.s);
	CU_ASSERT_EQUAL(rig.n, 3000);
	CU_ASSERT_EQUAL(class_stats(0).drop_pkts[TL_TREE_DROP_LIMIT], 0);
	end_rig();
}

// ---- the end

TL_TEST("frames in the tree are sent before the end, for a limited time")
{
	struct tl_shape_class classes[3];

	two_classes(classes, 8 * GBIT / 1000, GBIT, 1000); // a millisecond each
	begin_rig(classes, 3);
	rig.s.drain_ns = 20 * TL_NS_PER_MS;
	for (uint32_t i = 0; i < 50; i++)
		queue(0, i, 0x88b5, 0);
	replay_send(&rig.s);
	CU_ASSERT_TRUE(rig.n >= 20 && rig.n <= 22);
	CU_ASSERT_EQUAL(class_stats(1).drop_pkts[TL_TREE_DROP_END], 50 - rig.n);
	CU_ASSERT_EQUAL(class_stats(1).backlog_pkts, 0);
	CU_ASSERT_EQUAL(rig.txq.drop_shaped_pkts, 50 - rig.n);
	end_rig();
}

TL_TEST("a stop drops and counts the frames in the tree")
{
	struct tl_shape_class classes[3];

	two_classes(classes, 8 * GBIT / 1000, GBIT, 1000);
	begin_rig(classes, 3);
	for (uint32_t i = 0; i < 50; i++)
		queue(0, i, 0x88b5, 0);
	rig.stop_after = 5;
	replay_send(&rig.s);
	CU_ASSERT_EQUAL(rig.n, 5);
	CU_ASSERT_EQUAL(class_stats(1).drop_pkts[TL_TREE_DROP_END], 45);
	end_rig();
}

// ---- seeks

// Frames of pass 0 are in the tree when the run seeks: their due times are of a run's time that is gone.
TL_TEST("after a seek frames in the tree are not late")
{
	struct tl_shape_class classes[3];

	two_classes(classes, 8 * GBIT / 1000, GBIT, 1000);
	begin_rig(classes, 3);
	queue(0, 0, 0x88b5, 0);
	queue(0, 1, 0x88b5, 0);
	queue(0, 2, 0x88b5, 1);
	atomic_store(&rig.s.pass_seen, 1);
	replay_send(&rig.s);
	CU_ASSERT_EQUAL(rig.n, 3);
	CU_ASSERT_EQUAL(rig.lateness.count, 3);
	CU_ASSERT_EQUAL(rig.lateness.sum_ns, rig.at_ns[2]);
	CU_ASSERT_TRUE(rig.at_ns[2] > rig.at_ns[1] && rig.at_ns[1] > 0);
	end_rig();
}

static uint16_t seek_then_poll(void *ctx, uint64_t mono_ns)
{
	if (rig.n == 2 && atomic_load(&rig.s.pass) == 0) {
		queue(0, 100, 0x88b5, 1);
		atomic_store(&rig.s.held, true);
		atomic_store(&rig.s.pass, 1);
	} else if (atomic_load(&rig.s.pass_seen) == 1) {
		atomic_store(&rig.s.held, false);
	}
	return poll_later(ctx, mono_ns);
}

TL_TEST("a seek while the tree is emptied goes on with its frames")
{
	struct tl_shape_class classes[3];

	two_classes(classes, 8 * GBIT / 1000, GBIT, 1000);
	begin_rig(classes, 3);
	rig.s.outs[0].shaper.poll = seek_then_poll;
	for (uint32_t i = 0; i < 4; i++)
		queue(0, i, 0x88b5, 0);
	replay_send(&rig.s);
	CU_ASSERT_EQUAL(rig.n, 5);
	CU_ASSERT_EQUAL(rig.numbers[4], 100);
	CU_ASSERT_EQUAL(rig.s.passed_pkts, 0);
	end_rig();
}

// ---- whole replays, at the real time

TL_TEST("the ledger has the drops of the tree by reason")
{
	struct tl_txq txq = {.flush_fn = port_flush};
	struct tl_shape_class classes[3];
	struct tl_replay_stats stats;
	struct tl_replay *replay;
	struct tl_shape *shape;

	begin_pcap();
	for (uint32_t i = 0; i < 1000; i++)
		add_pcap(i, 0, FRAME_BYTES, FRAME_BYTES);
	const char *path = save_as("shaped.pcap");
	rig.n = rig.refuses = rig.stop_after = 0;
	two_classes(classes, GBIT, 8, 10); // a byte per second
	make_shape(classes, 3, &txq, real_clock, &shape);
	struct tl_replay_cfg cfg = recorded_cfg(&path, 1, &txq, LIMIT, real_clock);
	cfg.outs[0].shape = shape;
	cfg.outs[0].shape_pkts = 20;
	CU_ASSERT_EQUAL_FATAL(tl_replay_create(&cfg, &replay, &err), 0);
	play_to_end(replay, &stats);
	CU_ASSERT_EQUAL(stats.ledger.read_pkts, 1000);
	CU_ASSERT_EQUAL(stats.ledger.sent_pkts, rig.n);
	CU_ASSERT_TRUE(rig.n >= 1 && rig.n < 100);
	CU_ASSERT_TRUE(stats.ledger.drop_limit_pkts > 800);
	CU_ASSERT_EQUAL(stats.ledger.drop_end_pkts, 10);
	CU_ASSERT_EQUAL(tl_replay_lateness(replay)->count, rig.n);
	tl_replay_destroy(replay);
	tl_shape_destroy(shape);
}

TL_TEST("the rows of the ledger have all reasons")
{
	const struct tl_replay_ledger ledger = {.read_pkts = 21,
		.drop_long_pkts = 1,
		.drop_limit_pkts = 2,
		.drop_late_pkts = 3,
		.drop_codel_pkts = 4,
		.drop_memory_pkts = 5,
		.drop_end_pkts = 6};
	struct tl_counter rows[TL_REPLAY_COUNTERS];

	tl_replay_ledger_rows(&ledger, rows);
	CU_ASSERT_TRUE(tl_replay_ledger_ok(&ledger));
	for (unsigned i = 0; i < 6; i++)
		CU_ASSERT_EQUAL(rows[TL_REPLAY_COUNTERS - 6 + i].value, i + 1);
	CU_ASSERT_STRING_EQUAL(rows[TL_REPLAY_COUNTERS - 5].name, "drop_limit_pkts");
}

int main(void)
{
	tl_test_eal_start();
	real_clock = tl_clock_create();
	rig.pool = rte_pktmbuf_pool_create("rig", 4095, 0, sizeof(struct replay_tag), 2048, 0);
	if (real_clock == NULL || rig.pool == NULL || !make_dir())
		return 1;
	int status = tl_test_run("replay_shape");
	remove_dir();
	rte_mempool_free(rig.pool);
	tl_clock_destroy(real_clock);
	return status;
}
