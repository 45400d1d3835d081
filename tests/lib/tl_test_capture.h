// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// test_capture: a recording from burst to file, on a port without frames, and its account of every frame.

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_mbuf.h>

#include <tl_capture.h>
#include <tl_clock.h>
#include <tl_err.h>
#include <tl_pcapfile.h>
#include <tl_test.h>
#include <tl_test_eal.h>
#include <tl_test_port.h>

#include "capture_priv.h"
#include <tl_wire.h>
#include <tl_zslab.h>

static struct tl_clock *test_clock;

static struct tl_port *port; // a ring device that provides only the pool and the name

static struct tl_port *two_queues;

struct recording {
	struct tl_capture *capture;
	struct tl_service service;
	char path[64];
};

static inline void start_recording(struct recording *r, struct tl_capture_cfg cfg)
{
	static int number;
	struct tl_err err = {{0}};
	char name[12];

	snprintf(name, sizeof(name), "cap%d", number++);
	snprintf(r->path, sizeof(r->path), "/tmp/tl_test_capture_%d.pcapng", (int)getpid());
	cfg.name = name;
	cfg.path = r->path;
	cfg.port = port;
	cfg.clock = test_clock;
	if (cfg.buffer_bytes == 0)
		cfg.buffer_bytes = 4 << 20;
	if (!cfg.dir[TL_DIR_RX] && !cfg.dir[TL_DIR_TX])
		cfg.dir[TL_DIR_RX] = cfg.dir[TL_DIR_TX] = true;
	if (tl_capture_create(&cfg, &r->capture, &err) != 0) {
		printf("# %s\n", err.text);
		CU_FAIL_FATAL("tl_capture_create");
	}
	tl_capture_service(r->capture, 0, &r->service);
}

// Make a burst of n frames of len bytes; the first byte of each is mark, the times are ts_ns, ts_ns + 1 …
static inline void make_burst(struct tl_burst *b, unsigned n, uint32_t len, uint8_t mark, uint64_t ts_ns)
{
	*b = (struct tl_burst){.n = (uint16_t)n, .mono_ns = tl_clock_mono_ns(test_clock, rte_rdtsc())};
	for (unsigned i = 0; i < n; i++) {
		b->pkts[i] = rte_pktmbuf_alloc(tl_port_pool(port));
		CU_ASSERT_PTR_NOT_NULL_FATAL(b->pkts[i]);
		memset(rte_pktmbuf_append(b->pkts[i], (uint16_t)len), mark, len);
		b->ts_ns[i] = ts_ns + i;
		b->wire_bytes[i] = len;
	}
}

static inline void record(const struct recording *r, enum tl_dir dir, unsigned n, uint32_t len, uint8_t mark)
{
	static struct tl_burst burst;

	make_burst(&burst, n, len, mark, 5 * TL_NS_PER_S);
	(dir == TL_DIR_RX ? r->service.rx : r->service.sent)(r->service.ctx, &burst);
	rte_pktmbuf_free_bulk(burst.pkts, burst.n);
}

static inline void write_out(const struct recording *r)
{
	struct tl_err err = {{0}};

	r->service.finish(r->service.ctx);
	CU_ASSERT_EQUAL(tl_capture_start(r->capture, &err), 0);
	CU_ASSERT_EQUAL(tl_capture_stop(r->capture, &err), 0);
}

static inline struct tl_ledger_flow flow_of(const struct recording *r, enum tl_dir dir)
{
	struct tl_capture_stats stats;

	tl_capture_sample(r->capture, &stats);
	const struct tl_ledger_flow *f = &stats.flow[dir];
	CU_ASSERT_EQUAL(f->offered_pkts, f->written_pkts + f->filtered_pkts + f->expired_pkts + f->paused_pkts +
						 f->cut_pkts + f->drop_ring_pkts + f->policed_pkts + f->drop_disk_pkts);
	return *f;
}

static inline unsigned count_frames(const char *path, struct tl_pcap_frame *last)
{
	struct tl_pcap_reader *reader;
	struct tl_pcap_frame frame;
	struct tl_err err = {{0}};
	unsigned n = 0;

	CU_ASSERT_EQUAL_FATAL(tl_pcap_open(path, &reader, &err), 0);
	while (tl_pcap_next(reader, &frame, &err) == 1) {
		n++;
		if (last != NULL)
			*last = frame;
	}
	CU_ASSERT_STRING_EQUAL(err.text, "");
	if (last != NULL)
		last->data = NULL; // tl_pcap_close() unmaps it
	tl_pcap_close(reader);
	return n;
}

static inline void end_recording(struct recording *r)
{
	tl_capture_destroy(r->capture);
	unlink(r->path);
	CU_ASSERT_EQUAL(tl_port_mbufs_in_use(port), 0);
}

// Make a frame of len bytes, no two neighbours alike, in segments of at most segment_bytes.
static inline struct rte_mbuf *make_chain(uint32_t len, uint32_t segment_bytes)
{
	struct rte_mbuf *head = NULL, *last = NULL;
	uint32_t done = 0;

	do {
		struct rte_mbuf *m = rte_pktmbuf_alloc(tl_port_pool(port));
		CU_ASSERT_PTR_NOT_NULL_FATAL(m);
		uint32_t part = len - done < segment_bytes ? len - done : segment_bytes;
		uint8_t *data = (uint8_t *)rte_pktmbuf_append(m, (uint16_t)part);
		CU_ASSERT_PTR_NOT_NULL_FATAL(data);
		for (uint32_t i = 0; i < part; i++)
			data[i] = (uint8_t)((done + i) * 7 + (done + i) / 251);
		done += part;
		if (head == NULL) {
			head = m;
		} else {
			last->next = m;
			head->nb_segs++;
		}
		last = m;
	} while (done < len);
	head->pkt_len = len;
	return head;
}

static inline void record_chain(const struct recording *r, uint32_t len, uint32_t segment_bytes)
{
	static struct tl_burst burst;

	burst = (struct tl_burst){.n = 1, .pkts = {make_chain(len, segment_bytes)}, .wire_bytes = {len}};
	r->service.rx(r->service.ctx, &burst);
	rte_pktmbuf_free_bulk(burst.pkts, 1);
}

// Record n frames of len bytes of the UDP flow between 192.0.2.1:src_port and 192.0.2.2:dst_port, in the reverse
// direction for TL_DIR_TX. The original length of the last one is greater by longer_bytes.
static inline void record_flow_at(const struct recording *r, enum tl_dir dir, unsigned n, uint32_t len,
	uint16_t src_port, uint64_t ts_ns, uint32_t longer_bytes)
{
	static struct tl_burst burst;
	struct tl_ipv4_hdr ip = {.version_ihl = 0x45, .ttl = 64, .proto = TL_IPPROTO_UDP};
	uint32_t ends[2] = {tl_be32(0xc0000201), tl_be32(0xc0000202)};
	uint16_t ports[2] = {tl_be16(src_port), tl_be16(2000)};

	ip.total_len_be = tl_be16((uint16_t)(len - TL_ETHER_LEN));
	ip.src_be = ends[dir];
	ip.dst_be = ends[1 - dir];
	struct tl_udp_hdr udp = {.src_port_be = ports[dir], .dst_port_be = ports[1 - dir]};
	make_burst(&burst, n, len, 1, ts_ns);
	burst.wire_bytes[n - 1] += longer_bytes;
	for (unsigned i = 0; i < n; i++) {
		uint8_t *frame = rte_pktmbuf_mtod(burst.pkts[i], uint8_t *);
		frame[12] = TL_ETHERTYPE_IPV4 >> 8;
		frame[13] = TL_ETHERTYPE_IPV4 & 0xff;
		memcpy(frame + TL_ETHER_LEN, &ip, sizeof(ip));
		memcpy(frame + TL_ETHER_LEN + TL_IPV4_LEN, &udp, sizeof(udp));
	}
	(dir == TL_DIR_RX ? r->service.rx : r->service.sent)(r->service.ctx, &burst);
	rte_pktmbuf_free_bulk(burst.pkts, burst.n);
}

static inline void record_flow(const struct recording *r, enum tl_dir dir, unsigned n, uint32_t len, uint16_t src_port)
{
	record_flow_at(r, dir, n, len, src_port, 5 * TL_NS_PER_S, 0);
}

static inline struct tl_capture_cfg cutoff(uint32_t bytes)
{
	return (struct tl_capture_cfg){.cutoff_bytes = bytes, .cutoff_flows = 1024};
}

// ---- statistics and clock blocks in the file

#define INTERFACES_MAX 4

// Counters of the last statistics block of an interface; UINT64_MAX: absent.
struct told {
	uint64_t received, if_dropped, accepted, os_dropped, delivered;
};

static inline void read_counter(struct told *told, const struct tl_pcap_option *option)
{
	uint64_t *const counters[] = {[4] = &told->received,
		[5] = &told->if_dropped,
		[6] = &told->accepted,
		[7] = &told->os_dropped,
		[8] = &told->delivered};

	if (option->code >= 4 && option->code < TL_ARRAY_LEN(counters))
		memcpy(counters[option->code], option->value, sizeof(uint64_t));
}

static inline void read_statistics(const char *path, struct told told[INTERFACES_MAX])
{
	static uint8_t bytes[8 << 20];
	FILE *file = fopen(path, "r");
	uint32_t block[3]; // type, length, interface

	memset(told, 0xff, INTERFACES_MAX * sizeof(*told));
	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	size_t size = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	for (size_t at = 0; at < size; at += block[1]) {
		struct tl_pcap_option option;
		uint32_t option_at = 0;
		memcpy(block, bytes + at, sizeof(block));
		CU_ASSERT_TRUE_FATAL(block[1] >= 12);
		if (block[0] != TL_PCAPNG_ISB)
			continue;
		CU_ASSERT_TRUE_FATAL(block[2] < INTERFACES_MAX);
		while (tl_pcap_next_option(bytes + at + 20, block[1] - 24, false, &option_at, &option) == 1)
			read_counter(&told[block[2]], &option);
	}
}

static inline int test_capture_run(const char *suite)
{
	tl_test_eal_start();
	test_clock = tl_clock_create();
	port = tl_test_port("vdev:net_ring_c", 1, test_clock);
	two_queues = tl_test_port_queues("vdev:net_null_c", 2, 1, test_clock);
	if (port == NULL || two_queues == NULL)
		return 1;
	return tl_test_run(suite);
}
