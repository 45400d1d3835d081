// SPDX-License-Identifier: BSD-3-Clause
// Replay of frames longer than an mbuf, and of frames that a port never takes.

#include "replay_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tl_test.h>
#include <tl_test_eal.h>

#define LIMIT (65536u + TL_ETHER_LEN) // of the loopback
#define FRAMES_MAX 64

static char dir[] = "/tmp/tapline-test-long-XXXXXX";
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

static void put_frame(FILE *file, uint32_t bytes)
{
	const uint32_t head[] = {0, 0, bytes, bytes};

	fwrite(head, sizeof(head), 1, file);
	for (uint32_t i = 0; i < bytes; i++)
		fputc(byte_of(i), file);
}

// Write frames of these lengths, and send them.
static struct tl_replay_stats play(
	const uint32_t *bytes, size_t n, enum tl_replay_mtu action, const struct tl_edit *edit)
{
	uint8_t head[TL_PCAP_HEADER_BYTES];
	struct tl_replay_stats stats;
	struct tl_replay *replay;
	char path[64];

	snprintf(path, sizeof(path), "%s/long.pcap", dir);
	FILE *file = fopen(path, "wb");
	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	fwrite(head, tl_pcap_put_header(head, sizeof(head), 262144), 1, file);
	for (size_t i = 0; i < n; i++)
		put_frame(file, bytes[i]);
	fclose(file);
	const char *paths[] = {path};
	const struct tl_replay_cfg cfg = {.paths = paths,
		.n_paths = 1,
		.loops = 1,
		.pacing = {.pace = TL_REPLAY_RECORDED, .speed = TL_REPLAY_MILLION, .max_gap_ns = UINT64_MAX},
		.mtu_action = action,
		.edit = edit,
		.outs = {{.txq = &txq, .frame_limit = LIMIT, .held_pkts = 64}},
		.n_outs = 1,
		.clock = test_clock,
		.ahead_pkts = 64,
		.late_ns = TL_NS_PER_S};
	txq = (struct tl_txq){.flush_fn = port_flush};
	CU_ASSERT_EQUAL_FATAL(tl_replay_create(&cfg, &replay, &err), 0);
	CU_ASSERT_EQUAL_FATAL(tl_replay_start(replay, &err), 0);
	CU_ASSERT_TRUE(tl_test_until(tl_replay_is_ready(replay)));
	tl_replay_begin(replay, 0);
	CU_ASSERT_EQUAL(tl_replay_send(replay), 0);
	tl_replay_finish(replay);
	tl_replay_sample(replay, &stats);
	tl_replay_destroy(replay);
	CU_ASSERT_TRUE(tl_replay_ledger_ok(&stats.ledger));
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
	char command[96];

	tl_test_eal_start();
	test_clock = tl_clock_create();
	if (mkdtemp(dir) == NULL || test_clock == NULL)
		return EXIT_FAILURE;
	int status = tl_test_run("replay_long");
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	(void)!system(command);
	tl_clock_destroy(test_clock);
	return status;
}
