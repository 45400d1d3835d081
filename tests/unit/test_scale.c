// SPDX-License-Identifier: BSD-3-Clause
// Ten thousand groups; a million connections in one table, the memory of an idle one, and the cost of their timers.

#include <errno.h>

#define TL_TEST_EAL_MB "1200"

#include "tl_test_crowd.h"

#include <tl_sanitizer.h>

#include "tl_test.h"
#include "tl_test_eal.h"
#include "tcp_lend.h"
#include "tcp_ooo.h"

#define MANY (TL_SANITIZED ? 50000u : 1000000u)

#define IDLE_BYTES_MAX 802 // docs/tcp.md states 786 of a million; the table has up to four places per connection
#define CHAIN_MAX 16
#define TICK_NS (UINT64_C(1) << TL_TCP_TICK_SHIFT)
#define SECOND TL_NS_PER_S

static struct rte_mempool *pool(void)
{
	struct rte_mempool *mbufs = rte_mempool_lookup("crowd");

	if (mbufs == NULL)
		mbufs = rte_pktmbuf_pool_create("crowd", 4095, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	CU_ASSERT_PTR_NOT_NULL_FATAL(mbufs);
	return mbufs;
}

static size_t heap_bytes(void)
{
	struct rte_malloc_socket_stats stats = {0};

	rte_malloc_get_socket_stats(0, &stats);
	return stats.heap_allocsz_bytes;
}

// Advance the time by one tick of the wheel at a time; return the largest number of connections touched by one tick.
static uint64_t pass(struct crowd *crowd, uint64_t ns)
{
	uint64_t end_ns = crowd->now_ns + ns, most = 0;

	while (crowd->now_ns < end_ns) {
		uint64_t before = crowd->net->tcp->wheel.visits;
		crowd->now_ns += TICK_NS;
		crowd_tick(crowd);
		most = tl_max_u64(most, crowd->net->tcp->wheel.visits - before);
	}
	return most;
}

static uint32_t count_wrong(const struct crowd *crowd, uint8_t flags, uint16_t len)
{
	uint32_t wrong = 0;

	for (uint32_t i = 0; i < crowd->n; i++) {
		const struct crowd_peer *peer = &crowd->peers[i];
		wrong += peer->wrong || peer->flags != flags || peer->len != len;
	}
	return wrong;
}

static uint32_t longest_chain(const struct tl_tcp_table *table)
{
	uint32_t longest = 0;

	for (uint32_t i = 0; i <= table->bucket_mask; i++) {
		uint32_t n = 0;
		for (const struct tl_tcp *c = table->bucket[i]; c != NULL; c = c->hash_next)
			n++;
		longest = longest > n ? longest : n;
	}
	return longest;
}

TL_TEST("a million open connections each echo a byte and close, in bounded memory")
{
	static const struct tl_tcp_opts opts = {.window_follows_room = true};
	struct crowd crowd;
	struct rte_mempool *mbufs = pool();
	size_t empty_bytes = heap_bytes();

	crowd_start(&crowd, MANY, mbufs, &opts);
	size_t full_bytes = heap_bytes();
	for (uint32_t i = 0; i < MANY; i++)
		crowd_open(&crowd, i);
	CU_ASSERT_EQUAL(crowd.opened, MANY);
	CU_ASSERT_EQUAL(tl_tcp_in_use(crowd.net, NULL), MANY);
	CU_ASSERT(longest_chain(crowd.net->tcp) < CHAIN_MAX);

	for (uint32_t i = 0; i < MANY; i++) { // the echoed data, and its ACK
		crowd_give(&crowd, i, TL_TCP_ACK | TL_TCP_PSH, 1);
		if (i % 1024 == 1023)
			crowd_tick(&crowd);
		CU_ASSERT_FATAL(crowd.peers[i].len == 1);
		crowd_give(&crowd, i, TL_TCP_ACK, 0);
	}
	CU_ASSERT_EQUAL(crowd.echoed_bytes, MANY);
	CU_ASSERT_EQUAL(count_wrong(&crowd, TL_TCP_ACK | TL_TCP_PSH, 1), 0);

	for (uint32_t i = 0; i < MANY; i++) {
		crowd_give(&crowd, i, TL_TCP_ACK | TL_TCP_FIN, 0);
		crowd_give(&crowd, i, TL_TCP_ACK, 0);
	}
	CU_ASSERT_EQUAL(crowd.closed, MANY);
	CU_ASSERT_EQUAL(tl_tcp_in_use(crowd.net, NULL), 0);
	CU_ASSERT_EQUAL(crowd.strays, 0);
	CU_ASSERT_EQUAL(heap_bytes(), full_bytes); // memory is allocated at set-up only
	size_t lent_bytes = 4096 * (4096 + 4096 / 8 + 768) + 1024 * TL_TCP_OOO_MAX * sizeof(struct tl_tcp_held);
	size_t fixed_bytes = 1 << 20; // ARP, groups, the wheel: the same for one connection
	CU_ASSERT(full_bytes - empty_bytes < (size_t)MANY * IDLE_BYTES_MAX + lent_bytes + fixed_bytes);
	if (MANY == 1000000u)
		printf("# %.1f bytes per idle connection\n", (double)(full_bytes - empty_bytes - lent_bytes) / MANY);
	crowd_stop(&crowd);
}

// With these secrets all keys share a chain: the worst case.
TL_TEST("a chain of the table holds at most 16 connections")
{
	struct crowd crowd;

	crowd_start(&crowd, 64, pool(), NULL);
	memset(crowd.net->tcp->secrets.hash, 0, sizeof(crowd.net->tcp->secrets.hash));
	crowd.net->tcp->bucket_mask = 0;
	for (uint32_t i = 0; i < 20; i++)
		crowd_open(&crowd, i);
	CU_ASSERT_EQUAL(crowd.opened, CHAIN_MAX);
	CU_ASSERT_EQUAL(tl_count_read(&crowd.net->stats.tcp_backlog_drops), 20 - CHAIN_MAX);
	CU_ASSERT_EQUAL(longest_chain(crowd.net->tcp), CHAIN_MAX);
	crowd_stop(&crowd);
}

// ---- buffers are lent

// Return the number of 4096 connections with a lent buffer.
static unsigned lent(const struct tl_tcp_pool *pool)
{
	unsigned idle = 0;

	for (const void *block = pool->free; block != NULL; block = *(void *const *)block)
		idle++;
	return 4096 - idle;
}

TL_TEST("a send buffer is held while data is unacknowledged, and data received without a free one is dropped")
{
	static const struct tl_tcp_opts opts = {.window_follows_room = true};
	struct crowd crowd;

	crowd_start(&crowd, 4098, pool(), &opts);
	for (uint32_t i = 0; i < crowd.n; i++)
		crowd_open(&crowd, i);
	CU_ASSERT_EQUAL(lent(&crowd.net->tcp->flights), 0);
	for (uint32_t i = 0; i < 4096; i++)
		crowd_give(&crowd, i, TL_TCP_ACK, 10);
	CU_ASSERT_EQUAL(lent(&crowd.net->tcp->flights), 4096);
	CU_ASSERT_EQUAL(count_wrong(&crowd, TL_TCP_ACK | TL_TCP_PSH, 10), 2);

	crowd_give(&crowd, 4096, TL_TCP_ACK, 10); // rejected, as if lost
	CU_ASSERT_EQUAL(crowd.echoed_bytes, 40960);
	CU_ASSERT_EQUAL(crowd.peers[4096].len, 0);
	CU_ASSERT_EQUAL(tl_count_read(&crowd.net->stats.tcp_no_send_buffer_pkts), 1);
	crowd_give(&crowd, 4097, TL_TCP_ACK | TL_TCP_FIN, 0); // a FIN needs no buffer
	CU_ASSERT_EQUAL(crowd.peers[4097].flags, TL_TCP_ACK | TL_TCP_FIN);
	crowd_give(&crowd, 4097, TL_TCP_ACK, 0);
	CU_ASSERT_EQUAL(crowd.closed, 1);

	crowd_give(&crowd, 0, TL_TCP_ACK, 0); // all is acknowledged
	CU_ASSERT_EQUAL(lent(&crowd.net->tcp->flights), 4095);
	crowd.peers[4096].next -= 10;
	crowd_give(&crowd, 4096, TL_TCP_ACK, 10); // once more
	CU_ASSERT_EQUAL(crowd.echoed_bytes, 40970);
	CU_ASSERT_EQUAL(crowd.peers[4096].len, 10);
	CU_ASSERT_EQUAL(lent(&crowd.net->tcp->flights), 4096);
	tl_tcp_close_all(crowd.net, true);
	CU_ASSERT_EQUAL(lent(&crowd.net->tcp->flights), 0);
	crowd_stop(&crowd);
}

TL_TEST("a connection with its own send buffer does not open without one")
{
	static const struct tl_tcp_opts opts = {.own_buffer = true};
	struct crowd crowd;

	crowd_start(&crowd, 4097, pool(), &opts);
	for (uint32_t i = 0; i < 4096; i++)
		crowd_open(&crowd, i);
	CU_ASSERT_EQUAL(lent(&crowd.net->tcp->owned), 4096);
	crowd.peers[4096].flags = 0;
	crowd_open(&crowd, 4096); // no connection without a buffer
	CU_ASSERT_EQUAL(crowd.opened, 4096);
	for (uint32_t i = 0; i < 2; i++) {
		crowd_give(&crowd, 0, TL_TCP_ACK, 10);
		CU_ASSERT_EQUAL(crowd.peers[0].len, 10);
		crowd_give(&crowd, 0, TL_TCP_ACK, 0);
		CU_ASSERT_EQUAL(lent(&crowd.net->tcp->owned), 4096);
	}
	crowd_give(&crowd, 0, TL_TCP_ACK | TL_TCP_FIN, 0);
	crowd_give(&crowd, 0, TL_TCP_ACK, 0);
	CU_ASSERT_EQUAL(lent(&crowd.net->tcp->owned), 4095);
	CU_ASSERT_EQUAL(lent(&crowd.net->tcp->flights), 0);
	crowd_stop(&crowd);
}

// ---- the wheel

TL_TEST("connections without a deadline have no timer cost")
{
	struct crowd crowd;

	crowd_start(&crowd, 20000, pool(), NULL);
	for (uint32_t i = 0; i < crowd.n; i++)
		crowd_open(&crowd, i);
	pass(&crowd, 15 * SECOND); // once each: the handshake timeout
	uint64_t before = crowd.net->tcp->wheel.visits;
	CU_ASSERT(before <= 3 * crowd.n);
	CU_ASSERT_EQUAL(pass(&crowd, 60 * SECOND), 0);
	CU_ASSERT_EQUAL(crowd.net->tcp->wheel.visits, before);
	crowd_stop(&crowd);
}

// Opened one per tick, each with a deadline: one is examined per tick, when it is due, and once before.
TL_TEST("the work per wheel tick is bounded: due connections and those of the next round")
{
	static const struct tl_tcp_opts opts = {.keepalive_idle_ns = 30 * SECOND};
	struct crowd crowd;

	crowd_start(&crowd, 60000, pool(), &opts);
	for (uint32_t i = 0; i < crowd.n; i++) {
		crowd_open(&crowd, i);
		pass(&crowd, TICK_NS);
	}
	pass(&crowd, 16 * SECOND);
	uint64_t before = crowd.net->tcp->wheel.visits;
	uint64_t probes = tl_count_read(&crowd.net->stats.tcp_keepalives_tx);
	uint64_t most = pass(&crowd, 10 * SECOND);
	probes = tl_count_read(&crowd.net->stats.tcp_keepalives_tx) - probes;
	CU_ASSERT(probes > 10000);
	CU_ASSERT(crowd.net->tcp->wheel.visits - before <= 3 * probes);
	CU_ASSERT(most <= 8);
	crowd_stop(&crowd);
}

// A deadline at any distance is met within two ticks, and never early.
TL_TEST("a deadline fires on time in any slot of the wheel")
{
	static const uint64_t idle_ms[] = {
		1, 500, 1073, 1074, 2146, 2147, 2148, 3000, 59000, 1097000, 1100000, 4000000};

	for (unsigned i = 0; i < TL_ARRAY_LEN(idle_ms); i++) {
		struct tl_tcp_opts opts = {.keepalive_idle_ns = idle_ms[i] * TL_NS_PER_MS};
		struct crowd crowd;
		crowd_start(&crowd, 1, pool(), &opts);
		crowd_open(&crowd, 0);
		uint64_t due_ns = crowd.now_ns + opts.keepalive_idle_ns;
		while (crowd.now_ns + TICK_NS < due_ns && crowd.net->stats.tcp_keepalives_tx == 0)
			pass(&crowd, TICK_NS);
		CU_ASSERT_EQUAL(crowd.net->stats.tcp_keepalives_tx, 0);
		pass(&crowd, 3 * TICK_NS);
		CU_ASSERT_EQUAL(crowd.net->stats.tcp_keepalives_tx, 1);
		crowd_stop(&crowd);
	}
}

// Return how many of the crowd are due by now, if opened one every SPREAD_NS, each with a deadline IDLE_NS later.
#define SPREAD_NS (40 * TL_NS_PER_MS)
#define IDLE_NS (30 * SECOND)

static uint64_t count_due(const struct crowd *crowd, uint64_t first_ns, uint64_t now_ns)
{
	return now_ns < first_ns + IDLE_NS ? 0 : tl_min_u64((now_ns - first_ns - IDLE_NS) / SPREAD_NS + 1, crowd->n);
}

// After a gap between ticks all due timers fire; others fire at their time, in the current turn of the wheel, the next
// or a later one.
TL_TEST("missed ticks lose no deadline")
{
	static const unsigned away_ms[] = {
		1000, 2000, 2200, 5000, 27500, 28000, 28500, 29000, 29500, 30200, 31000, 500000, 5000000};
	static const struct tl_tcp_opts opts = {.keepalive_idle_ns = IDLE_NS};

	for (unsigned i = 0; i < TL_ARRAY_LEN(away_ms); i++) {
		struct crowd crowd;
		crowd_start(&crowd, 100, pool(), &opts);
		uint64_t first_ns = crowd.now_ns;
		for (uint32_t peer = 0; peer < crowd.n; peer++) {
			crowd_open(&crowd, peer);
			pass(&crowd, SPREAD_NS - (crowd.now_ns - first_ns) % SPREAD_NS);
		}
		crowd.now_ns = first_ns + tl_max_u64(away_ms[i] * TL_NS_PER_MS, crowd.now_ns - first_ns);
		crowd_tick(&crowd);
		for (uint64_t end_ns = first_ns + IDLE_NS + crowd.n * SPREAD_NS; crowd.now_ns < end_ns;
			pass(&crowd, SPREAD_NS)) {
			uint64_t probes = crowd.net->stats.tcp_keepalives_tx;
			CU_ASSERT(probes <= count_due(&crowd, first_ns, crowd.now_ns));
			CU_ASSERT(probes >= count_due(&crowd, first_ns, crowd.now_ns - 4 * TICK_NS));
		}
		CU_ASSERT_EQUAL(crowd.net->stats.tcp_keepalives_tx, crowd.n);
		crowd_stop(&crowd);
	}
}

// ---- groups

struct heard {
	uint32_t n, last_be;
};

static void hear(void *ctx, const struct tl_udp_datagram *datagram)
{
	struct heard *heard = ctx;

	heard->n++;
	heard->last_be = datagram->dst_ip_be;
}

TL_TEST("ten thousand groups of one port are received, and no others")
{
	struct tl_udp *first = NULL, *rest = NULL, *more = NULL;
	struct heard one = {0}, others = {0};
	struct crowd crowd;

	crowd_start(&crowd, 1, pool(), NULL);
	CU_ASSERT_EQUAL(tl_udp_open(crowd.net, CROWD_GROUP(0), 0, tl_be16(30001), hear, &one, &first), 0);
	CU_ASSERT_EQUAL(
		tl_udp_open_groups(crowd.net, CROWD_GROUP(1), 9999, 0, tl_be16(30001), hear, &others, &rest), 0);
	CU_ASSERT_EQUAL(
		tl_udp_open_groups(crowd.net, CROWD_GROUP(20000), 2, 0, tl_be16(30001), hear, &one, &more), -ENOSPC);
	CU_ASSERT_EQUAL(tl_net_group_macs(crowd.net, NULL, 0), 10001); // and 224.0.0.1; those two are removed
	for (uint32_t i = 0; i < 10000; i++) {
		crowd_write_datagram(&crowd, i);
		tl_net_input(crowd.net, &crowd.burst);
		CU_ASSERT_FATAL((i == 0 ? one.last_be : others.last_be) == CROWD_GROUP(i));
	}
	CU_ASSERT_EQUAL(one.n, 1);
	CU_ASSERT_EQUAL(others.n, 9999);
	crowd_write_datagram(&crowd, 10000);
	tl_net_input(crowd.net, &crowd.burst);
	CU_ASSERT_EQUAL(tl_count_read(&crowd.net->stats.drop_not_ours_pkts), 1);
	tl_udp_close(rest);
	pass(&crowd, 3 * SECOND); // all reports are sent
	CU_ASSERT_EQUAL(tl_net_group_macs(crowd.net, NULL, 0), 2);
	crowd_write_datagram(&crowd, 9999);
	tl_net_input(crowd.net, &crowd.burst);
	crowd_write_datagram(&crowd, 0);
	tl_net_input(crowd.net, &crowd.burst);
	CU_ASSERT_EQUAL(one.n, 2);
	CU_ASSERT_EQUAL(others.n, 9999);
	crowd_stop(&crowd);
}

// ---- ports

#define PORTS 1000

static void give_datagram(struct crowd *crowd, uint32_t group)
{
	crowd_write_datagram(crowd, group);
	tl_net_input(crowd->net, &crowd->burst);
}

// Scattered, so that some are in one bucket.
static uint32_t scattered(uint32_t i)
{
	return i * i * 13;
}

TL_TEST("a thousand UDP ports each receive the datagrams of their group, whichever open and close")
{
	static struct heard heard[PORTS];
	struct tl_udp *udp[PORTS], *second = NULL;
	struct heard also = {0};
	struct crowd crowd;

	memset(heard, 0, sizeof(heard));
	crowd_start(&crowd, 1, pool(), NULL);
	for (uint32_t i = 0; i < PORTS; i++)
		CU_ASSERT_EQUAL_FATAL(
			tl_udp_open(crowd.net, CROWD_GROUP(scattered(i)), 0, tl_be16(30001), hear, &heard[i], &udp[i]),
			0);
	for (uint32_t i = 0; i < 2 * PORTS; i++) {
		give_datagram(&crowd, scattered(i / 2));
		CU_ASSERT_FATAL(heard[i / 2].n == 1 + i % 2 && heard[i / 2].last_be == CROWD_GROUP(scattered(i / 2)));
	}
	for (uint32_t i = 0; i < PORTS; i += 2)
		tl_udp_close(udp[i]);
	give_datagram(&crowd, scattered(1));
	CU_ASSERT_EQUAL(tl_udp_open_groups(crowd.net, CROWD_GROUP(0), 14, 0, tl_be16(30001), hear, &also, &second), 0);
	for (uint32_t i = 0; i < PORTS; i++) {
		give_datagram(&crowd, scattered(i));
		CU_ASSERT_FATAL(heard[i].n == (i % 2 == 0 ? 2 : i == 1 ? 4 : 3) && also.n == tl_min_u32(i + 1, 2));
	}
	tl_udp_close(second);
	give_datagram(&crowd, scattered(0));
	give_datagram(&crowd, scattered(1));
	CU_ASSERT(also.n == 2 && heard[0].n == 2 && heard[1].n == 5);
	CU_ASSERT_EQUAL(udp[1]->n_shared, 0);
	crowd_stop(&crowd);
}

TL_TEST("a thousand TCP ports are listened to, and a closed one is not")
{
	static const struct tl_tcp_ops ops = {.closed = crowd_closed};
	struct tl_tcp_listener *l[PORTS], *other;
	struct crowd crowd;

	crowd_start(&crowd, 1, pool(), NULL); // listens to port 7; some of the others are in one bucket
	for (uint32_t i = 0; i < PORTS; i++)
		CU_ASSERT_EQUAL_FATAL(
			tl_tcp_listen(crowd.net, tl_be16((uint16_t)(1000 + 64 * i)), 1, &ops, &crowd, NULL, &l[i]), 0);
	CU_ASSERT_EQUAL(tl_tcp_listen(crowd.net, tl_be16(999), 1, &ops, &crowd, NULL, &other), -ENOSPC);
	for (uint32_t i = 0; i < PORTS; i += 2)
		tl_tcp_unlisten(l[i]);
	for (uint32_t i = 0; i < PORTS; i++)
		CU_ASSERT_EQUAL_FATAL(tl_tcp_find_listener(crowd.net->tcp, tl_be16((uint16_t)(1000 + 64 * i))),
			i % 2 == 0 ? NULL : l[i]);
	crowd_open(&crowd, 0);
	CU_ASSERT_EQUAL(crowd.opened, 1);
	crowd_stop(&crowd);
}

int main(void)
{
	tl_test_eal_start();
	return tl_test_run("scale");
}
