// SPDX-License-Identifier: BSD-3-Clause
// Echoes: the send calls of a burst, residence times, stages, and replies with a requested TX stamp.

#include <tl_test_echo.h>

// ---- parts of a burst

static const struct tl_echo_cfg udp_echo = {.name = "u", .kind = TL_ECHO_KIND_UDP, .listen_port_be = PORT(7)};

// Receive one burst: datagrams to another port, which have no reply, then some to the echo.
static void burst_of(unsigned others, unsigned ours)
{
	for (unsigned i = 0; i < others + ours; i++)
		CU_ASSERT_EQUAL(tl_udp_send(bed.peer_udp, OUR_IP, i < others ? PORT(9) : PORT(7), "datagram", 8), 0);
	tl_txq_flush(&bed.peers.tx);
	bed.n_calls = 0;
	settle();
}

static void set_up_parts(const struct tl_echo_cfg *echo, uint16_t early_pkts)
{
	set_up(echo, false);
	burst_of(0, 1); // each end learns the other's MAC
	bed.ours.tx.early_pkts = early_pkts;
}

static void expect_call(unsigned call, unsigned frames, uint64_t received_msgs)
{
	CU_ASSERT_FATAL(call < bed.n_calls);
	CU_ASSERT_EQUAL(bed.calls[call].frames, frames);
	CU_ASSERT_EQUAL(bed.calls[call].received_msgs, received_msgs + 1); // and the one of set_up_parts()
}

TL_TEST("the first reply of a burst is sent before the second message is processed")
{
	set_up_parts(&udp_echo, 8);
	burst_of(0, 20);
	CU_ASSERT_EQUAL(bed.n_calls, 4);
	expect_call(0, 1, 1);
	expect_call(1, 8, 9);
	expect_call(2, 8, 17);
	expect_call(3, 3, 20);
	CU_ASSERT_EQUAL(bed.received, 21 * 8);
	tear_down();
}

// A single message on any queue has one call, too.
TL_TEST("a queue without early sends makes one send call per burst")
{
	set_up_parts(&udp_echo, 0);
	burst_of(0, 20);
	CU_ASSERT_EQUAL(bed.n_calls, 1);
	expect_call(0, 20, 20);
	bed.ours.tx.early_pkts = 8;
	burst_of(0, 1);
	CU_ASSERT_EQUAL(bed.n_calls, 1);
	expect_call(0, 1, 21);
	tear_down();
}

// Up to four frames without a reply at the head of a burst are separate parts.
TL_TEST("the first message of a burst need not be its first frame")
{
	set_up_parts(&udp_echo, 8);
	burst_of(3, 20);
	CU_ASSERT_EQUAL(bed.n_calls, 4);
	expect_call(0, 1, 1);
	expect_call(1, 8, 9);
	burst_of(4, 20);
	CU_ASSERT_EQUAL(bed.n_calls, 3);
	expect_call(0, 8, 28);
	expect_call(1, 8, 36);
	expect_call(2, 4, 40);
	tear_down();
}

static uint64_t since_poll_ns(unsigned call)
{
	return tl_clock_span_ns(test_clock, bed.calls[call].begin_tsc - bed.poll_tsc);
}

TL_TEST("the residence time of each message ends at its own send call")
{
	struct tl_hist before, residence;
	uint64_t sum_ns = 0;

	set_up_parts(&udp_echo, 8);
	tl_echo_residence(bed.host, 0, &before);
	burst_of(0, 20);
	tl_echo_residence(bed.host, 0, &residence);
	for (unsigned i = 0; i < bed.n_calls; i++)
		sum_ns += bed.calls[i].frames * since_poll_ns(i);
	CU_ASSERT_EQUAL(residence.count - before.count, 20);
	CU_ASSERT_EQUAL(residence.sum_ns - before.sum_ns, sum_ns);
	CU_ASSERT(since_poll_ns(0) < since_poll_ns(3));
	tear_down();
}

TL_TEST("messages of all parts return over TCP in order")
{
	set_up(&mcast_echo, true);
	multicast("0000", 4);
	bed.ours.tx.early_pkts = 8;
	for (int i = 1; i < 30; i++) {
		char text[8];
		snprintf(text, sizeof(text), "%04d", i);
		CU_ASSERT_EQUAL(tl_udp_send(bed.peer_udp, GROUP, PORT(5001), text, 4), 0);
	}
	tl_txq_flush(&bed.peers.tx);
	bed.n_calls = 0;
	settle();
	CU_ASSERT_EQUAL(bed.calls[0].frames, 1);
	run_ms(50);
	CU_ASSERT_EQUAL(bed.received, 30 * 4);
	for (int i = 0; i < 30; i++) {
		char text[8];
		snprintf(text, sizeof(text), "%04d", i);
		CU_ASSERT_EQUAL(memcmp(bed.bytes + 4 * i, text, 4), 0);
	}
	CU_ASSERT_EQUAL(stats().echoed_msgs, 30);
	tear_down();
}

// ---- stages

static struct tl_hist stage_of(enum tl_stage stage)
{
	struct tl_hist hist;

	tl_echo_stage(bed.host, 0, stage, &hist);
	return hist;
}

static void expect_stages_to_add_up(uint64_t msgs)
{
	struct tl_hist residence, tx_call;
	uint64_t sum_ns = 0;

	tl_echo_residence(bed.host, 0, &residence);
	tl_echo_tx_call(bed.host, 0, &tx_call);
	CU_ASSERT_EQUAL(residence.count, msgs);
	for (int i = TL_STAGE_PARSE; i < TL_STAGES; i++)
		CU_ASSERT_EQUAL(stage_of(i).count, msgs);
	for (int i = TL_STAGE_PARSE; i <= TL_STAGE_QUEUE; i++)
		sum_ns += stage_of(i).sum_ns;
	CU_ASSERT_EQUAL(sum_ns, residence.sum_ns);
	CU_ASSERT_EQUAL(stage_of(TL_STAGE_TX_CALL).sum_ns, tx_call.sum_ns);
}

TL_TEST("the stages of a message sum up to its residence")
{
	struct tl_echo_cfg cfg = mcast_echo;

	cfg.stages = true;
	set_up(&cfg, true);
	for (int i = 0; i < 100; i++)
		multicast("message", 7);
	expect_stages_to_add_up(100);
	CU_ASSERT(stage_of(TL_STAGE_STACK).min_ns > 0);
	CU_ASSERT_FALSE(tl_echo_has_stage(bed.host, 0, TL_STAGE_WIRE));
	CU_ASSERT(tl_echo_stamp_cost(bed.host)->stamp_ns > 0);
	tear_down();
}

TL_TEST("without stages no stamps are taken")
{
	set_up(&mcast_echo, true);
	multicast("message", 7);
	CU_ASSERT_FALSE(tl_echo_has_stage(bed.host, 0, TL_STAGE_PARSE));
	CU_ASSERT_PTR_NULL(tl_echo_stamp_cost(bed.host));
	CU_ASSERT_PTR_NULL(tl_echo_tail(bed.host, 0));
	CU_ASSERT_PTR_NULL(tl_echo_samples(bed.host, 0));
	tear_down();
}

static const struct tl_echo_cfg late_udp_echo = {.name = "u",
	.kind = TL_ECHO_KIND_UDP,
	.listen_port_be = PORT(7),
	.stages = true,
	.outlier_ns = 1,
	.outliers = 8,
	.samples = 2};

// Receive a burst: datagrams to the echo, then others to another port.
static void datagrams(unsigned ours, unsigned others)
{
	for (unsigned i = 0; i < ours + others; i++)
		CU_ASSERT_EQUAL(tl_udp_send(bed.peer_udp, OUR_IP, i < ours ? PORT(7) : PORT(9), "datagram", 8), 0);
	tl_txq_flush(&bed.peers.tx);
	settle();
}

// The queue filled up before the stack was done: no stage follows the send call.
TL_TEST("with a full queue no stage follows the send call")
{
	set_up(&late_udp_echo, false);
	datagrams(1, 0); // each end learns the other's MAC
	uint64_t before_ns = stage_of(TL_STAGE_QUEUE).sum_ns;
	datagrams(TL_BURST, 0);
	expect_stages_to_add_up(1 + TL_BURST);
	CU_ASSERT_EQUAL(stage_of(TL_STAGE_QUEUE).sum_ns, before_ns);
	tear_down();
}

TL_TEST("an outlier is kept with its burst and the adjacent ones")
{
	struct tl_tail_outlier o;

	gap_tsc = 1000000;
	set_up(&late_udp_echo, false);
	datagrams(1, 0);
	datagrams(2, 1);
	datagrams(1, 3);
	const struct tl_tail *tail = tl_echo_tail(bed.host, 0);
	CU_ASSERT_EQUAL(tl_tail_count(tail), 3);
	CU_ASSERT(tl_tail_read(tail, 1, &o));
	CU_ASSERT_EQUAL(o.msgs, 2);
	CU_ASSERT_EQUAL(o.own, 3);
	CU_ASSERT_EQUAL(o.burst.frames, 3);
	CU_ASSERT_EQUAL(o.burst.bytes, (uint32_t)o.frame_bytes[0] + o.frame_bytes[1] + o.frame_bytes[2]);
	CU_ASSERT_EQUAL(o.burst.poll_gap_ns, tl_clock_span_ns(test_clock, gap_tsc));
	CU_ASSERT_EQUAL(o.before.frames, 1);
	CU_ASSERT_EQUAL(o.after.frames, 4);
	CU_ASSERT_EQUAL(
		o.residence_ns, o.stage_ns[TL_STAGE_PARSE] + o.stage_ns[TL_STAGE_STACK] + o.stage_ns[TL_STAGE_QUEUE]);
	CU_ASSERT_EQUAL(o.stage_ns[TL_STAGE_WIRE], TL_TAIL_UNKNOWN);
	CU_ASSERT(tl_tail_read(tail, 2, &o));
	CU_ASSERT_EQUAL(o.after.frames, 0); // not yet
	tear_down();
	gap_tsc = 0;
}

TL_TEST("poll gaps and samples are recorded per message")
{
	struct tl_hist gaps;

	set_up(&late_udp_echo, false);
	datagrams(1, 0);
	tl_echo_poll_gap(bed.host, 0, &gaps);
	CU_ASSERT_EQUAL(gaps.count, 0); // the first poll
	gap_tsc = 1000000;
	datagrams(2, 1);
	datagrams(3, 0);
	tl_echo_poll_gap(bed.host, 0, &gaps);
	CU_ASSERT_EQUAL(gaps.count, 5);
	CU_ASSERT_EQUAL(gaps.sum_ns, 5 * tl_clock_span_ns(test_clock, gap_tsc));
	const struct tl_tail_samples *samples = tl_echo_samples(bed.host, 0);
	CU_ASSERT_EQUAL(tl_tail_samples_count(samples), 3);
	CU_ASSERT_EQUAL(tl_tail_samples_kept(samples), 2);
	CU_ASSERT_EQUAL(tl_tail_samples_at(samples, 0)->msgs, 2);
	CU_ASSERT_EQUAL(tl_tail_samples_at(samples, 1)->msgs, 3);
	tear_down();
	gap_tsc = 0;
}

// The outlier has the times of the last part.
TL_TEST("stages are recorded per part, outliers per burst")
{
	struct tl_tail_outlier o;

	set_up_parts(&late_udp_echo, 8);
	burst_of(0, 20);
	expect_stages_to_add_up(21);
	CU_ASSERT(stage_of(TL_STAGE_PARSE).sum_ns > 0);
	const struct tl_tail *tail = tl_echo_tail(bed.host, 0);
	CU_ASSERT_EQUAL(tl_tail_count(tail), 2);
	CU_ASSERT(tl_tail_read(tail, 1, &o));
	CU_ASSERT_EQUAL(o.msgs, 20);
	CU_ASSERT_EQUAL(o.own, (UINT64_C(1) << 20) - 1);
	CU_ASSERT_EQUAL(o.residence_ns, since_poll_ns(3));
	const struct tl_tail_samples *samples = tl_echo_samples(bed.host, 0);
	CU_ASSERT_EQUAL(tl_tail_samples_count(samples), 1 + 4); // one per send call
	CU_ASSERT_EQUAL(tl_tail_samples_at(samples, 1)->msgs, 3);
	CU_ASSERT_EQUAL(tl_tail_samples_at(samples, 1)->residence_ns, since_poll_ns(3));
	tear_down();
}

// Frames rejected by the port are sent again after each part, not after each message.
TL_TEST("a part that is not sent has no residence time")
{
	struct tl_hist residence;

	set_up_parts(&late_udp_echo, 8);
	bed.stuck = true;
	burst_of(0, 20);
	CU_ASSERT_EQUAL(bed.n_calls, 4);
	tl_echo_residence(bed.host, 0, &residence);
	CU_ASSERT_EQUAL(residence.count, 1);
	CU_ASSERT_EQUAL(stage_of(TL_STAGE_TX_CALL).count, 1);
	CU_ASSERT_EQUAL(stats().echoed_msgs, 21);
	bed.stuck = false;
	run_ms(1);
	CU_ASSERT_EQUAL(bed.received, 21 * 8);
	tear_down();
}

// Each frame has its own stamp; of five frames one has no stamp, one has a stamp in the future, and one is not for the
// echo.
TL_TEST("with NIC timestamps the first stage begins on the wire")
{
	struct tl_tail_outlier o;

	stamped = true;
	set_up(&late_udp_echo, false);
	datagrams(1, 0);
	datagrams(4, 1);
	CU_ASSERT_EQUAL(stage_of(TL_STAGE_WIRE).count, 3);
	CU_ASSERT_EQUAL(stage_of(TL_STAGE_WIRE).sum_ns, 4 * TL_NS_PER_US);
	CU_ASSERT_EQUAL(tl_echo_unstamped_pkts(bed.host, 0), 1);
	CU_ASSERT_EQUAL(tl_echo_after_poll_pkts(bed.host, 0), 1);
	CU_ASSERT(tl_tail_read(tl_echo_tail(bed.host, 0), 1, &o));
	CU_ASSERT_EQUAL(o.stage_ns[TL_STAGE_WIRE], 2 * TL_NS_PER_US);
	tear_down();
	stamped = false;
}

// The second of two frames in one burst has another source.
TL_TEST("a frame of another timestamp source is not attributed to the echo")
{
	struct tl_echo_cfg cfg = mcast_echo;

	stamped = true;
	cfg.source_be = PEER_IP;
	cfg.stages = true;
	set_up(&cfg, true);
	for (int i = 0; i < 2; i++)
		CU_ASSERT_EQUAL(tl_udp_send(bed.peer_udp, GROUP, PORT(5001), "message", 7), 0);
	tl_txq_flush(&bed.peers.tx);
	CU_ASSERT_EQUAL_FATAL(bed.ours.n, 2);
	struct tl_ipv4_hdr *ip = rte_pktmbuf_mtod_offset(bed.ours.inbox[1], struct tl_ipv4_hdr *, TL_ETHER_LEN);
	ip->src_be ^= IP(0, 0, 0, 1);
	tl_wire_ipv4_finish(ip);
	settle();
	CU_ASSERT_EQUAL(stats().echoed_msgs, 1);
	CU_ASSERT_EQUAL(stage_of(TL_STAGE_WIRE).count, 1);
	tear_down();
	stamped = false;
}

// ---- replies with a requested TX stamp

static const struct tl_echo_cfg tcp_echo = {.name = "t",
	.kind = TL_ECHO_KIND_TCP,
	.listen_port_be = PORT(7),
	.send_buffer_bytes = 8192,
	.max_connections = 4};

static struct tl_tx_stamp stamp;

static void set_up_marking(const struct tl_echo_cfg *echo)
{
	stamp = (struct tl_tx_stamp){0};
	tx_stamp = &stamp;
	set_up(echo, true);
}

static void tear_down_marking(void)
{
	tear_down();
	tx_stamp = NULL;
}

static void expect_told(bool left)
{
	CU_ASSERT_EQUAL(bed.marked, 1);
	CU_ASSERT_TRUE(tl_tx_stamp_is_published(&stamp));
	CU_ASSERT_EQUAL(stamp.facts.left, left);
	CU_ASSERT(stamp.facts.poll_tsc != 0 && stamp.facts.poll_tsc <= stamp.facts.begin_tsc);
}

TL_TEST("one reply is marked and published per offer")
{
	set_up_marking(&mcast_echo);
	multicast("message", 7);
	CU_ASSERT_EQUAL(bed.marked, 0); // not offered
	tl_tx_stamp_offer(&stamp);
	uint64_t before_tsc = rte_rdtsc();
	multicast("message", 7);
	multicast("message", 7);
	expect_told(true);
	CU_ASSERT(stamp.facts.poll_tsc >= before_tsc);
	CU_ASSERT_FALSE(stamp.facts.stamped); // this port has no TX stamps
	CU_ASSERT_FALSE(tl_tx_stamp_withdraw(&stamp));
	tl_tx_stamp_clear(&stamp);
	CU_ASSERT_TRUE(tl_tx_stamp_withdraw(&stamp));
	CU_ASSERT_EQUAL(stats().echoed_msgs, 3);
	tear_down_marking();
}

TL_TEST("a TCP reply is marked, a pure ACK is not")
{
	struct tl_tcp *c;

	set_up_marking(&tcp_echo);
	tl_tx_stamp_offer(&stamp);
	CU_ASSERT_EQUAL_FATAL(tl_tcp_connect(bed.peer, OUR_IP, PORT(7), &peer_ops, NULL, NULL, &c), 0);
	run_ms(5);
	CU_ASSERT_EQUAL(bed.marked, 0); // a SYN-ACK has no data
	CU_ASSERT_EQUAL(tl_tcp_send(c, "hello", 5), 0);
	tl_txq_flush(&bed.peers.tx);
	settle();
	CU_ASSERT_EQUAL(bed.received, 5);
	expect_told(true);
	tear_down_marking();
}

TL_TEST("an ARP request is not marked")
{
	static const struct tl_echo_cfg cfg = {.name = "u", .kind = TL_ECHO_KIND_UDP, .listen_port_be = PORT(7)};

	set_up_marking(&cfg);
	datagrams(1, 0); // each end learns the other's MAC
	tl_tx_stamp_offer(&stamp);
	give_datagram_of(77); // the reply waits for ARP
	CU_ASSERT_EQUAL(stats().received_msgs, 2);
	CU_ASSERT_EQUAL(bed.marked, 0);
	datagrams(1, 0);
	expect_told(true);
	tear_down_marking();
}

TL_TEST("a message delayed by the window is not marked")
{
	static const uint8_t message[1000];
	struct tl_echo_cfg cfg = mcast_echo;

	cfg.send_buffer_bytes = 65536;
	set_up_marking(&cfg);
	bed.peer_deaf = true;
	for (int i = 0; i < 30; i++) // more than the congestion window
		multicast(message, sizeof(message));
	tl_tx_stamp_offer(&stamp);
	multicast(message, sizeof(message));
	CU_ASSERT_EQUAL(stats().echoed_msgs, 31);
	CU_ASSERT_EQUAL(bed.marked, 0);
	CU_ASSERT_TRUE(tl_tx_stamp_withdraw(&stamp));
	tear_down_marking();
}

TL_TEST("the data of a marked reply belongs to its own send call")
{
	stamp = (struct tl_tx_stamp){0};
	tx_stamp = &stamp;
	set_up_parts(&udp_echo, 8);
	tl_tx_stamp_offer(&stamp);
	burst_of(0, 20);
	expect_told(true);
	CU_ASSERT_EQUAL(stamp.facts.begin_tsc, bed.calls[0].begin_tsc);
	tear_down_marking();
}

// Put a frame into our TX queue.
static void push_another(void)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);

	CU_ASSERT_PTR_NOT_NULL_FATAL(m);
	memset(rte_pktmbuf_append(m, 60), 0, 60);
	tl_txq_push(&bed.ours.tx, m);
}

TL_TEST("a marked reply that was refused or sent early has no departure time")
{
	static const struct tl_echo_cfg cfg = {.name = "u", .kind = TL_ECHO_KIND_UDP, .listen_port_be = PORT(7)};

	set_up_marking(&cfg);
	datagrams(1, 0);
	bed.refuses = true;
	tl_tx_stamp_offer(&stamp);
	datagrams(1, 0);
	expect_told(false);
	bed.refuses = false;
	bed.marked = 0;
	tl_tx_stamp_offer(&stamp);
	datagrams(TL_BURST, 0); // a full queue is sent at once, with all replies of the burst
	expect_told(true);
	bed.marked = 0;
	tl_tx_stamp_offer(&stamp);
	push_another(); // before them: the last of them is sent by a second call
	datagrams(TL_BURST, 0);
	expect_told(false);
	tear_down_marking();
}

int main(void)
{
	return test_echo_run("echo_stages");
}
