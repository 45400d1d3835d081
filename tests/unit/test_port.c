// SPDX-License-Identifier: BSD-3-Clause
// Port: syntax of its name, the file port, and transmission with a recording attached, over DPDK's ring device.

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <tl_clock.h>
#include <tl_err.h>
#include <tl_pcapfile.h>
#include <tl_port.h>
#include <tl_test.h>
#include <tl_test_eal.h>
#include <tl_test_port.h>

#include "port_priv.h"

static struct tl_clock *test_clock;

// ---- syntax

static void check_spec(const char *text, enum tl_port_kind kind, const char *arg)
{
	struct tl_port_spec spec;
	struct tl_err err;

	CU_ASSERT_EQUAL_FATAL(tl_port_spec_parse(text, &spec, &err), 0);
	CU_ASSERT_EQUAL(spec.kind, kind);
	CU_ASSERT_STRING_EQUAL(spec.arg, arg);
	CU_ASSERT_STRING_EQUAL(spec.text, text);
}

TL_TEST("every form of a port spec is parsed")
{
	check_spec("0000:3b:00.0", TL_PORT_PCI, "0000:3b:00.0");
	check_spec("0000:3b:00.0,tx_pp=500", TL_PORT_PCI, "0000:3b:00.0");
	check_spec("0000:3b:1f.7", TL_PORT_PCI, "0000:3b:1f.7");
	check_spec("0000:3B:00.0", TL_PORT_PCI, "0000:3b:00.0");
	check_spec("eth0", TL_PORT_KERNEL, "eth0");
	check_spec("Eth0", TL_PORT_KERNEL, "Eth0");
	check_spec("xdp:eth0", TL_PORT_XDP, "eth0");
	check_spec("pcap:/a/b c.pcap", TL_PORT_FILE, "/a/b c.pcap");
	check_spec("vdev:net_null0,size=64", TL_PORT_VDEV, "net_null0,size=64");
}

TL_TEST("only net_tap changes a kernel interface when it is closed")
{
	static const struct {
		const char *text;
		bool changes;
	} ports[] = {{"vdev:net_tap0", true}, {"vdev:net_tap1,iface=tap7,remote=eth0", true}, {"vdev:net_null0", false},
		{"net_tap0", false}, {"0000:3b:00.0", false}};
	struct tl_port_spec spec;

	for (size_t i = 0; i < TL_ARRAY_LEN(ports); i++) {
		CU_ASSERT_EQUAL(tl_port_spec_parse(ports[i].text, &spec, NULL), 0);
		CU_ASSERT_EQUAL(tl_port_changes_iface(&spec), ports[i].changes);
	}
}

TL_TEST("an invalid port is refused, with the valid forms")
{
	static const char *const wrong[] = {"", "xdp:", "pcap:", "vdev:", "eth 0", "a/b", "0000:3b:00.8",
		"0000:3b:00.00", "an_interface_name_too_long", "xdp:a/b"};
	struct tl_port_spec spec;
	struct tl_err err;

	for (size_t i = 0; i < TL_ARRAY_LEN(wrong); i++) {
		CU_ASSERT_EQUAL(tl_port_spec_parse(wrong[i], &spec, &err), -EINVAL);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "pcap:FILE"));
	}
}

// ---- ports

static void put32(FILE *f, uint32_t value)
{
	fwrite(&value, 4, 1, f);
}

// Write a pcap file with nanoseconds whose frame i is sizes[i] bytes of value i.
static void write_pcap(const char *path, const uint32_t *sizes, unsigned n)
{
	FILE *f = fopen(path, "w");

	put32(f, 0xa1b23c4d);
	put32(f, 2 | 4u << 16);
	put32(f, 0);
	put32(f, 0);
	put32(f, 262144);
	put32(f, 1);
	for (unsigned i = 0; i < n; i++) {
		put32(f, 1000 + i);
		put32(f, 7 * i);
		put32(f, sizes[i]);
		put32(f, sizes[i] + 100); // snapped: longer on the wire
		for (uint32_t b = 0; b < sizes[i]; b++)
			fputc((int)i, f);
	}
	fclose(f);
}

static void file_path(char *path, size_t size, const char *prefix)
{
	snprintf(path, size, "%s/tmp/tl_test_port_%d.pcap", prefix, (int)getpid());
}

static bool holds_only(const struct rte_mbuf *m, uint8_t value)
{
	for (; m != NULL; m = m->next)
		for (uint16_t i = 0; i < m->data_len; i++)
			if (rte_pktmbuf_mtod(m, const uint8_t *)[i] != value)
				return false;
	return true;
}

static unsigned count_segments(const struct rte_mbuf *m)
{
	unsigned n = 0;

	for (; m != NULL; m = m->next)
		n++;
	return n;
}

TL_TEST("a file delivers every frame with its recorded time and then ends")
{
	static const uint32_t sizes[] = {60, 1514, 9000, 65536, 0, 61};
	static struct tl_burst burst;
	struct tl_port_stats stats;
	char path[96], text[96];

	file_path(path, sizeof(path), "");
	file_path(text, sizeof(text), "pcap:");
	write_pcap(path, sizes, TL_ARRAY_LEN(sizes));
	struct tl_port *port = tl_test_port(text, 0, test_clock);
	CU_ASSERT_PTR_NOT_NULL_FATAL(port);
	struct tl_rxq *q = tl_port_rxq(port, 0);
	CU_ASSERT_EQUAL(q->burst(q, &burst), TL_ARRAY_LEN(sizes));
	for (unsigned i = 0; i < TL_ARRAY_LEN(sizes); i++) {
		CU_ASSERT_EQUAL(burst.pkts[i]->pkt_len, sizes[i]);
		CU_ASSERT_EQUAL(burst.wire_bytes[i], sizes[i] + 100);
		CU_ASSERT_EQUAL(burst.ts_ns[i], (1000 + i) * TL_NS_PER_S + 7 * i);
		CU_ASSERT(holds_only(burst.pkts[i], (uint8_t)i));
		CU_ASSERT_EQUAL(burst.pkts[i]->nb_segs, count_segments(burst.pkts[i]));
	}
	rte_pktmbuf_free_bulk(burst.pkts, burst.n);
	CU_ASSERT_EQUAL(q->burst(q, &burst), 0);
	CU_ASSERT(tl_port_ended(port, NULL));
	tl_port_sample(port, &stats);
	CU_ASSERT_EQUAL(stats.hw_seen_pkts, TL_ARRAY_LEN(sizes));
	CU_ASSERT_EQUAL(q->stats.rx_pkts, TL_ARRAY_LEN(sizes));
	CU_ASSERT(stats.verified);
	CU_ASSERT_EQUAL(tl_port_mbufs_in_use(port), 0);
	tl_port_close(port);
	unlink(path);
}

TL_TEST("a damaged file delivers its intact frames and then an error")
{
	static const uint32_t sizes[] = {60, 60};
	static struct tl_burst burst;
	struct tl_err err = {{0}};
	char path[96], text[96];

	file_path(path, sizeof(path), "");
	file_path(text, sizeof(text), "pcap:");
	write_pcap(path, sizes, 2);
	CU_ASSERT_EQUAL(truncate(path, 24 + 16 + 60 + 16 + 30), 0);
	struct tl_port *port = tl_test_port(text, 0, test_clock);
	CU_ASSERT_PTR_NOT_NULL_FATAL(port);
	struct tl_rxq *q = tl_port_rxq(port, 0);
	CU_ASSERT_EQUAL(q->burst(q, &burst), 1);
	rte_pktmbuf_free_bulk(burst.pkts, burst.n);
	CU_ASSERT_EQUAL(q->burst(q, &burst), 0);
	CU_ASSERT(tl_port_ended(port, &err));
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, path));
	tl_port_close(port);
	unlink(path);
}

TL_TEST("a missing file or interface is named")
{
	struct tl_port_cfg cfg = {.name = "p", .rx_queues = 1, .mtu = 1500, .clock = test_clock};
	struct tl_port *port;
	struct tl_err err;

	tl_port_spec_parse("pcap:/no/such/file", &cfg.spec, &err);
	CU_ASSERT(tl_port_open(&cfg, &port, &err) < 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "/no/such/file"));
	tl_port_spec_parse("nosuchif0", &cfg.spec, &err);
	CU_ASSERT_EQUAL(tl_port_open(&cfg, &port, &err), -ENODEV);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "nosuchif0"));
}

// ---- transmission, over a ring device that returns every frame

struct recording {
	unsigned frames;
	uint64_t last_ts_ns;
};

static void on_sent(void *ctx, struct tl_burst *sent)
{
	struct recording *r = ctx;

	r->frames += sent->n;
	if (sent->n != 0)
		r->last_ts_ns = sent->ts_ns[sent->n - 1];
}

static void push(struct tl_txq *q, struct rte_mempool *pool, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
		CU_ASSERT_PTR_NOT_NULL_FATAL(m);
		rte_pktmbuf_append(m, 60);
		tl_txq_push(q, m);
	}
}

static unsigned drain(struct tl_rxq *q)
{
	static struct tl_burst burst;
	unsigned total = 0;

	while (q->burst(q, &burst) != 0) {
		total += burst.n;
		rte_pktmbuf_free_bulk(burst.pkts, burst.n);
	}
	return total;
}

TL_TEST("pushed frames are sent at the flush and counted")
{
	struct tl_port *port = tl_test_port("vdev:net_ring_a", 1, test_clock);

	CU_ASSERT_PTR_NOT_NULL_FATAL(port);
	struct tl_txq *tx = tl_port_txq(port, 0);
	push(tx, tl_port_pool(port), 3);
	CU_ASSERT_EQUAL(drain(tl_port_rxq(port, 0)), 0);
	tl_txq_flush(tx);
	CU_ASSERT_EQUAL(drain(tl_port_rxq(port, 0)), 3);
	CU_ASSERT_EQUAL(tx->tx_pkts, 3);
	CU_ASSERT_EQUAL(tx->tx_bytes, 180);
	CU_ASSERT(tx->end_tsc >= tx->begin_tsc && tx->begin_tsc != 0);
	CU_ASSERT_EQUAL(tl_port_mbufs_in_use(port), 0);
	tl_port_close(port);
}

// The ring holds 1023 frames.
TL_TEST("frames without space in the TX ring wait for the next flush")
{
	struct tl_port *port = tl_test_port("vdev:net_ring_w", 1, test_clock);
	struct recording recording = {0};

	CU_ASSERT_PTR_NOT_NULL_FATAL(port);
	struct tl_txq *tx = tl_port_txq(port, 0);
	tx->on_sent = on_sent;
	tx->on_sent_ctx = &recording;
	push(tx, tl_port_pool(port), 1100);
	tl_txq_flush(tx);
	CU_ASSERT_EQUAL(tx->tx_pkts, 1023);
	CU_ASSERT_EQUAL(tx->n, 77);
	CU_ASSERT_FALSE(tl_txq_has_room(tx));
	CU_ASSERT_EQUAL(drain(tl_port_rxq(port, 0)), 1023);
	tl_txq_flush(tx);
	CU_ASSERT(tl_txq_has_room(tx));
	tl_txq_flush(tx);
	CU_ASSERT_EQUAL(drain(tl_port_rxq(port, 0)), 77);
	tl_txq_record_sent(tx);
	CU_ASSERT_EQUAL(recording.frames, 1100);
	CU_ASSERT_EQUAL(tx->drop_tx_pkts, 0);
	CU_ASSERT_EQUAL(tl_port_mbufs_in_use(port), 0);
	tl_port_close(port);
}

struct story {
	unsigned calls, frames;
	uint64_t ts_ns[TL_BURST];
};

static void keep_story(void *ctx, struct tl_burst *sent)
{
	struct story *s = ctx;

	s->calls++;
	for (uint16_t i = 0; i < sent->n && s->frames < TL_BURST; i++)
		s->ts_ns[s->frames++] = sent->ts_ns[i];
}

// Parts in which an echo sends the replies of a burst.
TL_TEST("frames of several flushes are recorded together, each with its own time")
{
	static const unsigned parts[] = {1, TL_BURST / 2, TL_BURST / 2 - 1};
	struct tl_port *port = tl_test_port("vdev:net_ring_s", 1, test_clock);
	struct story story = {0};
	uint64_t ends_ns[TL_ARRAY_LEN(parts)];

	CU_ASSERT_PTR_NOT_NULL_FATAL(port);
	struct tl_txq *tx = tl_port_txq(port, 0);
	CU_ASSERT(tx->early_pkts != 0 && 1 + 2 * tx->early_pkts >= TL_BURST); // all fit the burst of sent frames
	tx->on_sent = keep_story;
	tx->on_sent_ctx = &story;
	for (unsigned i = 0; i < TL_ARRAY_LEN(parts); i++) {
		push(tx, tl_port_pool(port), parts[i]);
		tl_txq_flush(tx);
		ends_ns[i] = tl_clock_wall_ns(test_clock, tx->end_tsc);
	}
	CU_ASSERT_EQUAL(story.calls, 0);
	tl_txq_record_sent(tx);
	CU_ASSERT_EQUAL(story.calls, 1);
	CU_ASSERT_EQUAL(story.frames, TL_BURST);
	for (unsigned i = 0; i < TL_BURST; i++)
		CU_ASSERT_EQUAL(story.ts_ns[i], ends_ns[i == 0 ? 0 : i <= parts[1] ? 1 : 2]);
	CU_ASSERT_EQUAL(drain(tl_port_rxq(port, 0)), TL_BURST);
	CU_ASSERT_EQUAL(tl_port_mbufs_in_use(port), 0);
	tl_port_close(port);
}

// Frames beyond ring and queue are rejected, counted, freed and not recorded.
TL_TEST("refused frames are counted and not recorded")
{
	struct tl_port *port = tl_test_port("vdev:net_ring_b", 1, test_clock);
	struct recording recording = {0};

	CU_ASSERT_PTR_NOT_NULL_FATAL(port);
	struct tl_txq *tx = tl_port_txq(port, 0);
	tx->on_sent = on_sent;
	tx->on_sent_ctx = &recording;
	push(tx, tl_port_pool(port), 1200);
	CU_ASSERT_EQUAL(tx->n, TL_TXQ_MAX - 1);
	CU_ASSERT_EQUAL(tx->drop_tx_pkts, 1200 - 1023 - (TL_TXQ_MAX - 1));
	tl_txq_drop_waiting(tx);
	tl_txq_record_sent(tx);
	CU_ASSERT_EQUAL(tx->tx_pkts + tx->drop_tx_pkts, 1200);
	CU_ASSERT_EQUAL(recording.frames, tx->tx_pkts);
	CU_ASSERT(recording.last_ts_ns > 1000 * TL_NS_PER_S);
	CU_ASSERT_EQUAL(drain(tl_port_rxq(port, 0)), tx->tx_pkts);
	CU_ASSERT_EQUAL(tl_port_mbufs_in_use(port), 0);
	tl_port_close(port);
}

TL_TEST("a file drops and counts pushed frames")
{
	static const uint32_t sizes[] = {60};
	char path[96], text[96];

	file_path(path, sizeof(path), "");
	file_path(text, sizeof(text), "pcap:");
	write_pcap(path, sizes, TL_ARRAY_LEN(sizes));
	struct tl_port *port = tl_test_port(text, 1, test_clock);
	CU_ASSERT_PTR_NOT_NULL_FATAL(port);
	struct tl_txq *tx = tl_port_txq(port, 0);
	push(tx, tl_port_pool(port), 3);
	tl_txq_flush(tx);
	push(tx, tl_port_pool(port), 2);
	tl_txq_flush(tx);
	CU_ASSERT_EQUAL(tx->drop_tx_pkts, 5);
	CU_ASSERT_EQUAL(tx->tx_pkts, 0);
	CU_ASSERT_EQUAL(tl_port_mbufs_in_use(port), 0);
	tl_port_close(port);
	unlink(path);
}

TL_TEST("drops are reported by queue only if they add up")
{
	struct tl_port *port = tl_test_port_queues("vdev:net_null_q", 2, 0, test_clock);
	struct tl_port_stats stats = {0};

	CU_ASSERT_PTR_NOT_NULL_FATAL(port);
	tl_port_queue_drops(port, &stats);
	CU_ASSERT(stats.drops_by_queue);
	stats = (struct tl_port_stats){.drop_nic_pkts = 3};
	tl_port_queue_drops(port, &stats);
	CU_ASSERT_FALSE(stats.drops_by_queue);
	tl_port_close(port);
	port = tl_test_port("vdev:net_null_q", 0, test_clock);
	CU_ASSERT_PTR_NOT_NULL_FATAL(port);
	stats = (struct tl_port_stats){.drop_nic_pkts = 3};
	tl_port_queue_drops(port, &stats);
	CU_ASSERT(stats.drops_by_queue);
	CU_ASSERT_EQUAL(stats.queue_drop_nic_pkts[0], 3);
	tl_port_close(port);
}

TL_TEST("RSS is known if the driver reports it")
{
	struct tl_port *tells = tl_test_port_queues("vdev:net_null_r", 2, 0, test_clock),
		       *none = tl_test_port_queues("vdev:net_ring_r", 1, 1, test_clock);
	struct rte_eth_rss_reta_entry64 table[2] = {{0}};
	struct tl_port_rss rss;

	CU_ASSERT_PTR_NOT_NULL_FATAL(tells);
	CU_ASSERT_PTR_NOT_NULL_FATAL(none);
	CU_ASSERT(tl_port_rss(tells, &rss));
	CU_ASSERT_EQUAL(rss.reta[70], 0);
	table[1] = (struct rte_eth_rss_reta_entry64){.mask = 1 << 6, .reta = {[6] = 1}};
	CU_ASSERT_EQUAL(rte_eth_dev_rss_reta_update(tells->port_id, table, rss.reta_size), 0);
	CU_ASSERT(tl_port_rss(tells, &rss));
	CU_ASSERT(rss.reta[70] == 1 && rss.reta[6] == 0);
	CU_ASSERT_EQUAL(rss.reta_size, 128);
	CU_ASSERT(rss.key[0] != 0 && rss.key[39] != 0);
	struct rte_eth_rss_conf addresses_alone = {.rss_hf = RTE_ETH_RSS_IPV4};
	CU_ASSERT_EQUAL(rte_eth_dev_rss_hash_update(tells->port_id, &addresses_alone), 0);
	CU_ASSERT_FALSE(tl_port_rss(tells, &rss));
	CU_ASSERT_FALSE(tl_port_rss(none, &rss));
	tl_port_close(tells);
	tl_port_close(none);
}

// ---- account of a NIC that keeps receiving

static struct tl_port_stats device_says(uint64_t seen, uint64_t dropped)
{
	return (struct tl_port_stats){.hw_seen_pkts = seen, .drop_nic_pkts = dropped, .verified = true};
}

// The device reports (100 seen, 3 dropped) at the end of the run, and (seen, dropped) after rx frames have been polled.
static void expect_account(
	uint64_t rx, uint64_t seen, uint64_t dropped, uint64_t account_seen, uint64_t account_dropped)
{
	struct tl_port_stats end = device_says(100, 3), now = device_says(seen, dropped);

	tl_port_close_account(&end, rx, &now);
	CU_ASSERT_EQUAL(now.hw_seen_pkts, account_seen);
	CU_ASSERT_EQUAL(now.drop_nic_pkts, account_dropped);
	CU_ASSERT(now.verified);
}

TL_TEST("a run that polled all frames seen by the NIC reports no loss")
{
	expect_account(97, 100, 3, 100, 3);
}

TL_TEST("frames received and dropped after the end are not accounted")
{
	expect_account(97, 5000, 900, 100, 3);
}

TL_TEST("polled frames after the end count as seen")
{
	expect_account(110, 5000, 900, 113, 3);
}

TL_TEST("frames seen before the end and dropped after it are lost")
{
	expect_account(95, 5000, 900, 100, 5);
}

TL_TEST("frames neither polled nor dropped stay unaccounted")
{
	expect_account(95, 100, 3, 100, 3);
	expect_account(95, 101, 4, 100, 4);
}

TL_TEST("the account never exceeds the frames seen by the device")
{
	expect_account(110, 105, 3, 105, 3);
}

TL_TEST("losses before the run are subtracted on both sides")
{
	struct tl_port_stats before = device_says(0, 7), now = device_says(50, 9);

	now.drop_error_pkts = 4;
	before.drop_error_pkts = 1;
	tl_port_subtract(&now, &before);
	CU_ASSERT_EQUAL(now.hw_seen_pkts, 42);
	CU_ASSERT_EQUAL(now.drop_nic_pkts, 2);
	CU_ASSERT_EQUAL(now.drop_error_pkts, 3);
}

int main(void)
{
	tl_test_eal_start();
	test_clock = tl_clock_create();
	return tl_test_run("port");
}
