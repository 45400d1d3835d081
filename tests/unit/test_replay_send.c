// SPDX-License-Identifier: BSD-3-Clause
// The lcore of a replay without a device: queued frames, sent to simulated ports at a time that advances at calls of
// the port only.

#include <tl_test.h>
#include <tl_test_replay_port.h>

static struct tl_txq txq, second_txq;

// The second port.
static struct {
	uint32_t numbers[FRAMES_MAX];
	unsigned n, calls;
	atomic_bool *stop; // set by the tenth call
	bool shut;
	unsigned until; // accepts none until the first port has sent this many frames; 0: never
} second;

static void second_flush(struct tl_txq *q)
{
	q->begin_tsc = rte_rdtsc();
	if (++second.calls == 10 && second.stop != NULL)
		atomic_store(second.stop, true);
	if (second.shut && (second.until == 0 || port.n < second.until)) {
		move_time();
		return;
	}
	for (uint16_t i = 0; i < q->n; i++)
		second.numbers[second.n++] = number_of(rte_pktmbuf_mtod(q->pkts[i], const uint8_t *));
	rte_pktmbuf_free_bulk(q->pkts, q->n);
	q->n = 0;
}

// The lcore and its frames.
static struct {
	struct replay_sender s;
	struct tl_clock_swap time;
	struct rte_mempool *pool;
	struct tl_hist lateness, second_lateness, undisturbed;
	atomic_bool stop, read_all;
} rig;

static void begin_rig(uint64_t step_ns)
{
	txq = (struct tl_txq){.flush_fn = port_flush};
	second_txq = (struct tl_txq){.flush_fn = second_flush};
	port = (struct port){.time = &rig.time, .step_ns = step_ns};
	memset(&second, 0, sizeof(second));
	tl_hist_init(&rig.lateness);
	tl_hist_init(&rig.second_lateness);
	tl_hist_init(&rig.undisturbed);
	tl_clock_swap_store(&rig.time, (struct tl_clock_line){0});
	atomic_store(&rig.stop, false);
	atomic_store(&rig.read_all, true);
	rig.s = (struct replay_sender){
		.ring = rte_ring_create("rig", 256, 0, RING_F_SP_ENQ | RING_F_SC_DEQ | RING_F_EXACT_SZ),
		.outs = {{.txq = &txq, .lateness = &rig.lateness},
			{.txq = &second_txq, .lateness = &rig.second_lateness}},
		.n_outs = 1,
		.undisturbed = &rig.undisturbed,
		.stop = &rig.stop,
		.read_all = &rig.read_all,
		.time = &rig.time,
		.late_scale = UINT64_C(1) << TL_CLOCK_SHIFT,
		.late_ns = 100};
}

static void queue_for(unsigned out, uint64_t due_ns, uint32_t number)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(rig.pool);

	CU_ASSERT_PTR_NOT_NULL_FATAL(m);
	m->pkt_len = m->data_len = FRAME_BYTES;
	fill_frame(rte_pktmbuf_mtod(m, uint8_t *), number, FRAME_BYTES);
	*(struct replay_tag *)rte_mbuf_to_priv(m) = (struct replay_tag){.due_ns = due_ns, .out = out};
	CU_ASSERT_EQUAL_FATAL(rte_ring_sp_enqueue(rig.s.ring, m), 0);
}

static void queue(uint64_t due_ns)
{
	queue_for(0, due_ns, 0);
}

static void end_rig(void)
{
	rte_ring_free(rig.s.ring);
	CU_ASSERT_EQUAL(rte_mempool_in_use_count(rig.pool), 0);
}

TL_TEST("only frames that are due together go to the port in one call")
{
	static const uint64_t due[] = {0, 0, 100, 101, 101, 300, 300};

	begin_rig(100);
	for (size_t i = 0; i < TL_ARRAY_LEN(due); i++)
		queue(due[i]);
	replay_send(&rig.s);
	CU_ASSERT_EQUAL(port.calls, 4);
	CU_ASSERT_EQUAL(port.calls_of[0], 2); // at 0
	CU_ASSERT_EQUAL(port.calls_of[1], 1); // at 100
	CU_ASSERT_EQUAL(port.calls_of[2], 2); // at 200
	CU_ASSERT_EQUAL(port.calls_of[3], 2); // at 300
	CU_ASSERT_EQUAL(rig.s.outs[0].sent_pkts, 7);
	end_rig();
}

TL_TEST("a burst is the most for one call")
{
	begin_rig(0);
	for (unsigned i = 0; i < 200; i++)
		queue(0);
	replay_send(&rig.s);
	CU_ASSERT_EQUAL(rig.s.outs[0].sent_pkts, 200);
	CU_ASSERT_EQUAL(port.calls_of[0], TL_BURST);
	CU_ASSERT_EQUAL(port.calls, 4);
	end_rig();
}

// The port advances the time by 100 ns before it accepts them, which is their lateness.
TL_TEST("lateness is from due to the call that took the frame")
{
	begin_rig(100);
	queue(0);
	queue(0);
	port.refuses = 2;
	replay_send(&rig.s);
	CU_ASSERT_EQUAL(rig.lateness.count, 2);
	CU_ASSERT_EQUAL(rig.lateness.min_ns, 300);
	CU_ASSERT_EQUAL(rig.lateness.max_ns, 300);
	CU_ASSERT_EQUAL(rig.s.outs[0].late_pkts, 2);
	CU_ASSERT_EQUAL(rig.s.last_ns, 300);
	end_rig();
}

// Both are due when the run begins, at 200; the port accepts the first at 300 and the second at 400.
TL_TEST("frames that a port accepts one after the other have their own lateness")
{
	begin_rig(100);
	rig.time.line.base_ns = 200;
	queue(100);
	queue(200);
	port.takes = 1;
	replay_send(&rig.s);
	CU_ASSERT_EQUAL(rig.lateness.count, 2);
	CU_ASSERT_EQUAL(rig.lateness.min_ns, 200);
	CU_ASSERT_EQUAL(rig.lateness.max_ns, 200);
	end_rig();
}

TL_TEST("a frame is late beyond the limit only")
{
	begin_rig(100);
	queue(0);   // 100 late
	queue(100); // taken at 200
	rig.s.late_ns = 100;
	replay_send(&rig.s);
	CU_ASSERT_EQUAL(rig.s.outs[0].late_pkts, 0);
	end_rig();
	begin_rig(101);
	queue(0);
	replay_send(&rig.s);
	CU_ASSERT_EQUAL(rig.s.outs[0].late_pkts, 1);
	end_rig();
}

TL_TEST("a gated run sends only as many frames as are permitted")
{
	begin_rig(0);
	for (unsigned i = 0; i < 10; i++)
		queue(0);
	rig.s.gated = true;
	atomic_store(&rig.s.allowed_pkts, 4);
	port.stop_after = 4;
	port.stop = &rig.stop;
	replay_send(&rig.s);
	CU_ASSERT_EQUAL(rig.s.outs[0].sent_pkts, 4);
	atomic_store(&rig.stop, false);
	atomic_store(&rig.s.allowed_pkts, 11);
	replay_send(&rig.s);
	CU_ASSERT_EQUAL(rig.s.outs[0].sent_pkts, 10);
	end_rig();
}

// ---- two ports

TL_TEST("frames of two ports leave by their own, each when it is due")
{
	static const struct {
		unsigned out;
		uint64_t due_ns;
	} frames[] = {{0, 0}, {1, 0}, {0, 0}, {1, 100}, {0, 100}, {1, 150}};

	begin_rig(100);
	rig.s.n_outs = 2;
	for (uint32_t i = 0; i < TL_ARRAY_LEN(frames); i++)
		queue_for(frames[i].out, frames[i].due_ns, i);
	replay_send(&rig.s);
	CU_ASSERT_EQUAL(port.n, 3);
	CU_ASSERT_TRUE(port.numbers[0] == 0 && port.numbers[1] == 2 && port.numbers[2] == 4);
	CU_ASSERT_EQUAL(second.n, 3);
	CU_ASSERT_TRUE(second.numbers[0] == 1 && second.numbers[1] == 3 && second.numbers[2] == 5);
	CU_ASSERT_EQUAL(port.calls, 2);	  // due at 0 and at 100
	CU_ASSERT_EQUAL(second.calls, 3); // and at 150
	CU_ASSERT_EQUAL(rig.s.outs[0].sent_pkts, 3);
	CU_ASSERT_EQUAL(rig.s.outs[1].sent_pkts, 3);
	CU_ASSERT_EQUAL(rig.lateness.count, 3);
	CU_ASSERT_EQUAL(rig.second_lateness.count, 3);
	end_rig();
}

// Queue n_shut frames for a port that accepts none until the other one has sent that many, then 100 for the other.
static void play_past_a_shut_port(unsigned n_shut, unsigned until)
{
	begin_rig(0);
	rig.s.n_outs = 2;
	for (uint32_t i = 0; i < n_shut; i++)
		queue_for(1, 0, i);
	for (uint32_t i = 0; i < 100; i++)
		queue_for(0, 0, i);
	second.shut = true;
	second.until = until;
}

TL_TEST("a port that refuses frames does not stop the other")
{
	play_past_a_shut_port(TL_BURST, 100);
	replay_send(&rig.s);
	CU_ASSERT_EQUAL(port.n, 100);
	CU_ASSERT_EQUAL(second.n, TL_BURST);
	for (uint32_t i = 0; i < second.n; i++)
		CU_ASSERT_EQUAL(second.numbers[i], i);
	CU_ASSERT_FALSE(atomic_load(&rig.s.outs[1].refused));
	CU_ASSERT_EQUAL(rig.s.outs[1].sent_pkts, TL_BURST);
	end_rig();
}

TL_TEST("beyond a burst that waits for one port the other waits, too")
{
	play_past_a_shut_port(TL_BURST + 1, 1);
	second.stop = &rig.stop; // otherwise it would wait indefinitely
	replay_send(&rig.s);
	CU_ASSERT_EQUAL(port.n, 0);
	CU_ASSERT_EQUAL(second.n, 0);
	CU_ASSERT_TRUE(atomic_load(&rig.s.outs[1].refused));
	atomic_store(&rig.stop, false);
	second.shut = false;
	replay_send(&rig.s);
	CU_ASSERT_EQUAL(port.n, 100);
	CU_ASSERT_EQUAL(second.n, TL_BURST + 1);
	end_rig();
}

TL_TEST("a frame that a port accepts later has its own lateness")
{
	begin_rig(100);
	rig.s.n_outs = 2;
	queue_for(1, 0, 0);   // rejected at 0 and 100, accepted at 300
	queue_for(0, 200, 0); // accepted at 300
	second.shut = true;
	second.until = 1;
	replay_send(&rig.s);
	CU_ASSERT_EQUAL(second.calls, 3);
	CU_ASSERT_EQUAL(rig.second_lateness.min_ns, 300);
	CU_ASSERT_EQUAL(rig.lateness.min_ns, 100);
	end_rig();
}

// ---- a NIC that sends at a time

#define NOW 10000
#define NIC_AHEAD 500
#define NIC_TICKS(ns) (7 + 2 * (uint64_t)(ns))

// Let the run's time stand, nearly: a nanosecond takes more than a second.
static void begin_nic(void)
{
	begin_rig(0);
	tl_clock_swap_store(&rig.time, (struct tl_clock_line){.base_ticks = rte_rdtsc(), .base_ns = NOW, .mult = 1});
	rig.s.outs[0].at_offset = at.offset;
	rig.s.outs[0].at_flag = at.flag;
	rig.s.outs[0].ticks.line =
		(struct tl_clock_line){.base_ns = NIC_TICKS(0), .mult = UINT64_C(2) << TL_CLOCK_SHIFT};
	atomic_store(&rig.s.ahead_tsc, (uint64_t)NIC_AHEAD << TL_CLOCK_SHIFT);
}

TL_TEST("a frame to be stamped has its own lateness")
{
	struct tl_tx_stamp stamp = {0};

	begin_rig(100);
	rig.s.outs[0].stamp = &stamp;
	tl_tx_stamp_offer(&stamp);
	port.refuses = 2;
	queue(0);
	queue(0);
	replay_send(&rig.s); // the first frame is marked, and accepted by the third call
	CU_ASSERT_TRUE_FATAL(tl_tx_stamp_is_published(&stamp));
	CU_ASSERT_TRUE(stamp.facts.left && stamp.facts.is_due);
	CU_ASSERT_EQUAL(stamp.facts.late_ns, 300);
	CU_ASSERT_EQUAL(rig.s.outs[0].marked, 0);
	end_rig();
}

TL_TEST("a NIC gets frames ahead with their times, and late ones without")
{
	static const uint64_t due[] = {NOW - 1000, NOW + 200, NOW + 400, NOW + NIC_AHEAD + 100};

	begin_nic();
	for (unsigned i = 0; i < TL_ARRAY_LEN(due); i++)
		queue(due[i]);
	port.stop = &rig.stop;
	port.stop_after = 3;
	replay_send(&rig.s);
	CU_ASSERT_EQUAL(port.calls, 1);
	CU_ASSERT_EQUAL(port.n, 3);
	CU_ASSERT_EQUAL(rig.s.last_ns, due[2]);
	atomic_store(&rig.stop, false);
	rig.time.line.base_ns += 300;
	replay_send(&rig.s);
	CU_ASSERT_EQUAL(port.n, 4);
	CU_ASSERT_EQUAL(port.ticks[0], 0);
	for (unsigned i = 1; i < TL_ARRAY_LEN(due); i++)
		CU_ASSERT_EQUAL(port.ticks[i], NIC_TICKS(due[i]));
	CU_ASSERT_EQUAL(rig.s.outs[0].sent_pkts, 4);
	CU_ASSERT_EQUAL(rig.s.outs[0].timed_pkts, 3);
	CU_ASSERT_EQUAL(rig.lateness.count, 4);
	CU_ASSERT_EQUAL(rig.lateness.min_ns, 0);
	CU_ASSERT(rig.lateness.max_ns >= 1000 && rig.lateness.max_ns < 1200);
	CU_ASSERT_EQUAL(rig.s.outs[0].late_pkts, 1);
	end_rig();
}

TL_TEST("no frame gets a time before its predecessor's")
{
	begin_nic();
	rig.s.outs[0].timed_pkts = 1;
	rig.s.outs[0].last_ticks = NIC_TICKS(NOW + 300); // by a line that has bent since
	queue(NOW + 200);
	queue(NOW + 290);
	queue(NOW + 310);
	replay_send(&rig.s);
	CU_ASSERT_EQUAL(port.ticks[0], NIC_TICKS(NOW + 300));
	CU_ASSERT_EQUAL(port.ticks[1], NIC_TICKS(NOW + 300));
	CU_ASSERT_EQUAL(port.ticks[2], NIC_TICKS(NOW + 310));
	end_rig();
}

TL_TEST("the first frame has no predecessor, whatever the NIC's clock reads")
{
	begin_nic();
	rig.s.outs[0].ticks.line.base_ns = UINT64_C(1) << 63;
	queue(NOW + 200);
	replay_send(&rig.s);
	CU_ASSERT_EQUAL(port.ticks[0], (UINT64_C(1) << 63) + 2 * (NOW + 200));
	end_rig();
}

TL_TEST("a frame that the port refuses keeps its time")
{
	begin_nic();
	port.refuses = 2;
	port.takes = 1;
	queue(NOW + 100);
	queue(NOW + 200);
	queue(NOW - 100); // late
	queue(NOW + 300);
	replay_send(&rig.s);
	CU_ASSERT_EQUAL(port.n, 4);
	CU_ASSERT_EQUAL(port.ticks[0], NIC_TICKS(NOW + 100));
	CU_ASSERT_EQUAL(port.ticks[1], NIC_TICKS(NOW + 200));
	CU_ASSERT_EQUAL(port.ticks[2], 0);
	CU_ASSERT_EQUAL(port.ticks[3], NIC_TICKS(NOW + 300));
	CU_ASSERT_EQUAL(rig.s.outs[0].timed_pkts, 3);
	CU_ASSERT_EQUAL(rig.s.outs[0].timed, 0);
	end_rig();
}

TL_TEST("a full burst of frames with times is counted")
{
	begin_nic();
	for (unsigned i = 0; i < TL_BURST + 1; i++)
		queue(NOW + 100 + i);
	replay_send(&rig.s);
	CU_ASSERT_EQUAL(port.calls_of[0], TL_BURST);
	CU_ASSERT_EQUAL(rig.s.outs[0].timed_pkts, TL_BURST + 1);
	CU_ASSERT_EQUAL(rig.s.outs[0].timed, 0);
	end_rig();
}

static void *run_sender(void *arg)
{
	(void)arg;
	replay_send(&rig.s);
	return NULL;
}

TL_TEST("a reader that is late is counted")
{
	pthread_t thread;
	unsigned queued = 0;

	begin_rig(0);
	atomic_store(&rig.read_all, false);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, run_sender, NULL), 0);
	while (tl_count_read(&rig.s.reader_late_times) == 0 && queued < 60000) {
		queue(0);
		queued++;
		CU_ASSERT_TRUE_FATAL(tl_test_until(tl_count_read(&rig.s.outs[0].sent_pkts) == queued));
	}
	CU_ASSERT_TRUE(tl_count_read(&rig.s.reader_late_times) > 0);
	CU_ASSERT_TRUE(tl_count_read(&rig.s.reader_late_pkts) > 0);
	atomic_store(&rig.read_all, true);
	pthread_join(thread, NULL);
	end_rig();
}

// A port that refuses all frames until the time is 100.
static void refusing_flush(struct tl_txq *q)
{
	__atomic_fetch_add(&port.calls, 1, __ATOMIC_RELAXED);
	if (tl_clock_swap_load(&rig.time).base_ns < 100)
		return;
	q->begin_tsc = rte_rdtsc();
	rte_pktmbuf_free_bulk(q->pkts, q->n);
	q->n = 0;
}

static bool has_run(pthread_t thread)
{
	struct timespec cpu_time = {0};
	clockid_t clock;

	return pthread_getcpuclockid(thread, &clock) == 0 && clock_gettime(clock, &cpu_time) == 0 &&
	       (cpu_time.tv_sec != 0 || cpu_time.tv_nsec > 1000000);
}

TL_TEST("gaps in which the lcore did not run are counted while it only waits, if they are long")
{
	static const struct {
		uint64_t gap_tsc;
		bool refused, counted;
	} cases[] = {{0, false, true}, {UINT64_MAX, false, false}, {0, true, false}};
	pthread_t thread;

	for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++) {
		begin_rig(0);
		txq.flush_fn = refusing_flush;
		rig.s.gap_tsc = cases[i].gap_tsc;
		if (cases[i].refused)
			queue(0); // waits for the port all the time
		queue(100);
		uint64_t before_tsc = rte_rdtsc();
		CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, run_sender, NULL), 0);
		CU_ASSERT_TRUE(tl_test_until(has_run(thread)));
		if (cases[i].refused)
			CU_ASSERT_TRUE(tl_test_until(__atomic_load_n(&port.calls, __ATOMIC_RELAXED) > 1000));
		CU_ASSERT_EQUAL(tl_count_read(&rig.s.interrupted_tsc) != 0, cases[i].counted);
		tl_clock_swap_store(&rig.time, (struct tl_clock_line){.base_ns = 100});
		pthread_join(thread, NULL);
		CU_ASSERT(rig.s.interrupted_tsc == 0 || rig.s.gap_tsc == 0);
		CU_ASSERT(rig.s.interrupted_tsc <= rte_rdtsc() - before_tsc);
		end_rig();
	}
}

// Every look at the clock is a gap here. The first frame is due in one that ends at 150; the port takes it at 250,
// when the second one has been due for 50.
TL_TEST("a frame that falls due in a gap is not in the undisturbed lateness, the next one is")
{
	pthread_t thread;

	begin_rig(100);
	queue(100);
	queue(200);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, run_sender, NULL), 0);
	CU_ASSERT_TRUE(tl_test_until(tl_count_read(&rig.s.interrupted_tsc) != 0));
	tl_clock_swap_store(&rig.time, (struct tl_clock_line){.base_ns = 150});
	pthread_join(thread, NULL);
	CU_ASSERT_EQUAL(rig.lateness.count, 2);
	CU_ASSERT_EQUAL(rig.undisturbed.count, 1);
	CU_ASSERT_EQUAL(rig.undisturbed.max_ns, 150); // the port takes it at 350
	end_rig();
}

// A port that refuses the first frame until it is 1000 ns late, when the reader queues two more. Each further call
// takes all frames, 60 ns later.
static void underrun_flush(struct tl_txq *q)
{
	if (++port.calls > 1)
		move_time();
	q->begin_tsc = rte_rdtsc();
	if (port.calls == 2) {
		port.step_ns = 60;
		queue(100);
		queue(150);
		atomic_store(&rig.read_all, true);
	}
	if (port.calls <= 2)
		return;
	rte_pktmbuf_free_bulk(q->pkts, q->n);
	q->n = 0;
}

TL_TEST("after an underrun due times are kept, or shifted by the time lost")
{
	static const struct {
		uint64_t shifted_ns, min_ns, last_ns;
		unsigned calls;
	} expected[] = {{0, 910, 1060, 3}, {900, 60, 220, 4}}; // kept: late by 1060, 960, 910; shifted: 1060, 60, 70

	for (int shifts = 0; shifts < 2; shifts++) {
		begin_rig(1000);
		txq.flush_fn = underrun_flush;
		rig.s.shifts = shifts;
		atomic_store(&rig.read_all, false);
		queue(0);
		replay_send(&rig.s);
		CU_ASSERT_EQUAL(rig.s.reader_late_times, 1);
		CU_ASSERT_EQUAL(rig.s.reader_late_pkts, 2);
		CU_ASSERT_EQUAL(rig.s.shifted_ns, expected[shifts].shifted_ns);
		CU_ASSERT_EQUAL(port.calls, expected[shifts].calls);
		CU_ASSERT_EQUAL(rig.lateness.count, 3);
		CU_ASSERT_EQUAL(rig.lateness.max_ns, 1060); // the first frame waited for the port, not for the reader
		CU_ASSERT_EQUAL(rig.lateness.min_ns, expected[shifts].min_ns);
		CU_ASSERT_EQUAL(rig.s.last_ns, expected[shifts].last_ns);
		end_rig();
	}
}

// The same port; its last call ends a seek, or permits all frames.
static void released_flush(struct tl_txq *q)
{
	underrun_flush(q);
	atomic_store(&rig.s.held, !rig.s.gated && port.calls == 2);
	atomic_store(&rig.s.allowed_pkts, port.calls < 3 ? 1 : 3);
}

TL_TEST("a wait for the reader in a seek, or for frames not permitted yet, is no underrun")
{
	for (int gated = 0; gated < 2; gated++) {
		begin_rig(1000);
		txq.flush_fn = released_flush;
		rig.s.gated = gated;
		atomic_store(&rig.s.allowed_pkts, 1);
		atomic_store(&rig.read_all, false);
		queue(0);
		replay_send(&rig.s);
		CU_ASSERT_EQUAL(rig.s.reader_late_times, 0);
		CU_ASSERT_EQUAL(rig.s.reader_late_pkts, 0);
		CU_ASSERT_EQUAL(rig.s.outs[0].sent_pkts, 3);
		end_rig();
	}
}

TL_TEST("after an underrun a frame of the latest due time is still due after all others")
{
	begin_rig(0);
	rig.time.line.base_ns = 100 * UINT64_C(365) * 86400 * TL_NS_PER_S;
	rig.s.shifted_ns = rig.time.line.base_ns;
	queue(0);
	queue(TL_REPLAY_DUE_MAX);
	port.stop = &rig.stop;
	port.stop_after = 1;
	replay_send(&rig.s);
	CU_ASSERT_EQUAL(port.n, 1);
	CU_ASSERT_EQUAL(rig.s.n - rig.s.at, 1);
	rte_pktmbuf_free(rig.s.next[rig.s.at]);
	end_rig();
}

TL_TEST("a reader that is ahead is never counted as late")
{
	begin_rig(50);
	for (unsigned i = 0; i < 200; i++)
		queue(i);
	replay_send(&rig.s);
	CU_ASSERT_EQUAL(rig.s.outs[0].sent_pkts, 200);
	CU_ASSERT_EQUAL(rig.s.reader_late_pkts, 0);
	CU_ASSERT_EQUAL(rig.s.reader_late_times, 0);
	end_rig();
}

int main(void)
{
	port_set_up();
	rig.pool = rte_pktmbuf_pool_create("rig", 511, 0, sizeof(struct replay_tag), 2048, 0);
	return rig.pool == NULL ? 1 : tl_test_run("replay_send");
}
