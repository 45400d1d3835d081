// SPDX-License-Identifier: BSD-3-Clause
// Replay of frames longer than an mbuf, and of frames that a port never takes.

#include "replay_priv.h"

#include <tl_test.h>
#include <tl_test_eal.h>
#include <tl_test_replay.h>

#define LIMIT (65536u + TL_ETHER_LEN) // of the loopback
#define FRAMES_MAX 64

static struct tl_clock *test_clock;
static struct tl_err err;

// ---- the port

static struct {
	uint32_t bytes[FRAMES_MAX];
	unsigned segments[FRAMES_MAX];
	unsigned n, wrong;
	uint32_t never; // frames of this length are never taken
} port;
static struct tl_txq txq;

static uint8_t byte_of(uint32_t at)
{
	return (uint8_t)(at % 251);
}

// Count the bytes of a frame that are not those of the file.
static unsigned wrong_bytes(const struct rte_mbuf *m)
{
	unsigned wrong = 0;
	uint32_t at = 0;

	for (; m != NULL; m = m->next)
		for (uint32_t i = 0; i < m->data_len; i++, at++)
			wrong += rte_pktmbuf_mtod(m, const uint8_t *)[i] != byte_of(at);
	return wrong;
}

static void port_flush(struct tl_txq *q)
{
	q->begin_tsc = rte_rdtsc();
	for (uint16_t i = 0; i < q->n && port.n < FRAMES_MAX; i++) {
		const struct rte_mbuf *m = q->pkts[i];
		if (m->pkt_len == port.never) {
			q->drop_tx_pkts++;
			continue;
		}
		port.bytes[port.n] = m->pkt_len;
		port.segments[port.n++] = m->nb_segs;
		port.wrong += wrong_bytes(m) + (m->data_len > TL_PORT_SEGMENT_BYTES);
	}
	rte_pktmbuf_free_bulk(q->pkts, q->n);
	q->n = 0;
}

// ---- a run

static void add_frame(uint32_t bytes)
{
	const uint32_t head[] = {0, 0, bytes, bytes};

	for (size_t i = 0; i < TL_ARRAY_LEN(head); i++)
		put32(head[i]);
	for (uint32_t i = 0; i < bytes; i++)
		image[image_bytes++] = byte_of(i);
}

// Write frames of these lengths, and send them.
static struct tl_replay_stats play(
	const uint32_t *bytes, size_t n, enum tl_replay_mtu action, const struct tl_edit *edit)
{
	struct tl_replay_stats stats;
	struct tl_replay *replay;

	begin_pcap();
	for (size_t i = 0; i < n; i++)
		add_frame(bytes[i]);
	const char *path = save_as("long.pcap");
	struct tl_replay_cfg cfg = recorded_cfg(&path, 1, &txq, LIMIT, test_clock);
	cfg.mtu_action = action;
	cfg.edit = edit;
	txq = (struct tl_txq){.flush_fn = port_flush};
	CU_ASSERT_EQUAL_FATAL(tl_replay_create(&cfg, &replay, &err), 0);
	play_to_end(replay, &stats);
	tl_replay_destroy(replay);
	return stats;
}

TL_TEST("frames of 14 bytes to 64 KiB are sent whole, longer ones are counted")
{
	static const uint32_t bytes[] = {TL_ETHER_LEN, 60, TL_PORT_SEGMENT_BYTES - TL_VLAN_LEN, TL_PORT_SEGMENT_BYTES,
		TL_PORT_SEGMENT_BYTES + 1, 65536, LIMIT, LIMIT + 1, 100};
	static const unsigned segments[] = {1, 1, 1, 1, 2, 2, 2, 1};

	memset(&port, 0, sizeof(port));
	struct tl_replay_stats stats = play(bytes, TL_ARRAY_LEN(bytes), TL_REPLAY_MTU_DROP, NULL);
	CU_ASSERT_EQUAL(stats.ledger.sent_pkts, TL_ARRAY_LEN(bytes) - 1);
	CU_ASSERT_EQUAL(stats.ledger.skipped_long_pkts, 1);
	CU_ASSERT_EQUAL_FATAL(port.n, TL_ARRAY_LEN(bytes) - 1);
	CU_ASSERT_EQUAL(port.wrong, 0);
	for (unsigned i = 0; i < port.n; i++) {
		CU_ASSERT_EQUAL(port.bytes[i], bytes[i < 7 ? i : 8]);
		CU_ASSERT_EQUAL(port.segments[i], segments[i]);
	}
}

TL_TEST("a long frame is cut, or gets a tag")
{
	const struct tl_edit tag = {.vlan = TL_EDIT_VLAN_ADD, .vlan_id = 5, .ttl = TL_EDIT_KEEP, .dscp = TL_EDIT_KEEP};
	static const uint32_t long_bytes[] = {LIMIT + 1}, limit_bytes[] = {LIMIT};

	memset(&port, 0, sizeof(port));
	struct tl_replay_stats stats = play(long_bytes, 1, TL_REPLAY_MTU_CUT, NULL);
	CU_ASSERT_EQUAL(stats.cut_pkts, 1);
	CU_ASSERT(port.n == 1 && port.bytes[0] == LIMIT && port.segments[0] == 2 && port.wrong == 0);
	stats = play(limit_bytes, 1, TL_REPLAY_MTU_DROP, &tag);
	CU_ASSERT_EQUAL(stats.ledger.sent_pkts, 1);
	CU_ASSERT(port.n == 2 && port.bytes[1] == LIMIT + TL_VLAN_LEN && port.segments[1] == 2);
}

TL_TEST("frames that the port never takes are refused, and those behind them are sent")
{
	static const uint32_t bytes[] = {60, 1500, 61, 1500, 62};

	memset(&port, 0, sizeof(port));
	port.never = 1500;
	struct tl_replay_stats stats = play(bytes, TL_ARRAY_LEN(bytes), TL_REPLAY_MTU_DROP, NULL);
	CU_ASSERT_EQUAL(stats.ledger.sent_pkts, 3);
	CU_ASSERT_EQUAL(stats.ledger.refused_pkts, 2);
	CU_ASSERT_EQUAL(stats.outs[0].refused_pkts, 2);
	CU_ASSERT_EQUAL(port.n, 3);
}

int main(void)
{
	tl_test_eal_start();
	test_clock = tl_clock_create();
	if (!make_dir() || test_clock == NULL)
		return EXIT_FAILURE;
	int status = tl_test_run("replay_long");
	remove_dir();
	tl_clock_destroy(test_clock);
	return status;
}
