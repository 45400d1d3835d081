// SPDX-License-Identifier: BSD-3-Clause
// Cost of recording a frame of 60 bytes on the RX lcore, by number of flows, number of files written before, and age of
// the recording. Print a line "NAME FRAMES NANOSECONDS" per scenario, for instructions.sh, which also runs it in
// callgrind and counts the instructions of record_burst() between two calls of end_of_scenario().

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_mbuf.h>

#include <tl_capture.h>
#include <tl_err.h>
#include <tl_flow.h>
#include <tl_inner.h>
#include <tl_test_eal.h>
#include <tl_test_port.h>
#include <tl_wire.h>

#define FRAME_BYTES 60
#define FRAME_NS 67	   // at the line rate of 10GbE
#define BURSTS_AT_ONCE 256 // less than the buffer holds: no loss
#define MEASURED_BURSTS 512
#define TICK_NS (100 * TL_NS_PER_US)
#define FLOWS_MAX 1000000
#define TABLE_FLOWS (4u << 20)
#define FILES_MAX 1000
#define FILE_PKTS 64

struct bench {
	struct tl_clock *clock;
	struct tl_port *port;
	char path[64];
	struct tl_capture *capture;
	struct tl_service service;
	struct tl_burst burst;
	uint64_t next_tick_ns;
	uint64_t sent_pkts;
	uint32_t flows, next_flow;
	bool inner;
	const char *filter;
	const struct tl_police_class *cls; // NULL: no classes
	uint64_t cycles;		   // in record_burst()
};

static _Noreturn void die(const char *text)
{
	fprintf(stderr, "bench_record: %s\n", text);
	exit(1);
}

// Run the RX lcore's work for the recording on a received burst.
static __attribute__((noinline)) void record_burst(struct bench *b)
{
	b->service.rx(b->service.ctx, &b->burst);
	if (b->burst.mono_ns >= b->next_tick_ns) {
		b->next_tick_ns = b->burst.mono_ns + TICK_NS;
		b->service.tick(b->service.ctx, b->burst.mono_ns);
	}
}

// callgrind dumps its counts here and restarts at 0.
static __attribute__((noinline)) void end_of_scenario(void)
{
	__asm__ volatile("");
}

static void make_frames(struct bench *b)
{
	struct tl_ipv4_hdr ip = {.version_ihl = 0x45,
		.total_len_be = tl_be16(FRAME_BYTES - TL_ETHER_LEN),
		.ttl = 64,
		.proto = TL_IPPROTO_UDP,
		.dst_be = tl_be32(0x0b000001)};

	b->burst.n = TL_BURST;
	if (rte_pktmbuf_alloc_bulk(tl_port_pool(b->port), b->burst.pkts, TL_BURST) != 0)
		die("no mbufs");
	for (unsigned i = 0; i < TL_BURST; i++) {
		uint8_t *frame = (uint8_t *)rte_pktmbuf_append(b->burst.pkts[i], FRAME_BYTES);
		memset(frame, 0, FRAME_BYTES);
		frame[12] = TL_ETHERTYPE_IPV4 >> 8;
		memcpy(frame + TL_ETHER_LEN, &ip, sizeof(ip));
		b->burst.wire_bytes[i] = FRAME_BYTES;
	}
}

// Build the next frame of each flow in turn.
static void next_frames(struct bench *b)
{
	b->burst.mono_ns += TL_BURST * FRAME_NS;
	for (unsigned i = 0; i < TL_BURST; i++) {
		uint8_t *frame = rte_pktmbuf_mtod(b->burst.pkts[i], uint8_t *);
		uint32_t src_be = tl_be32(0x0a000000 + b->next_flow / 1000);
		uint16_t port_be = tl_be16((uint16_t)(1000 + b->next_flow % 1000));
		memcpy(frame + TL_ETHER_LEN + offsetof(struct tl_ipv4_hdr, src_be), &src_be, sizeof(src_be));
		memcpy(frame + TL_ETHER_LEN + TL_IPV4_LEN, &port_be, sizeof(port_be));
		b->burst.ts_ns[i] = b->burst.mono_ns + i * FRAME_NS;
		b->next_flow = b->next_flow + 1 < b->flows ? b->next_flow + 1 : 0;
	}
}

static void wait_for_writer(struct bench *b)
{
	struct tl_capture_stats stats;

	b->service.finish(b->service.ctx);
	do {
		usleep(100);
		tl_capture_sample(b->capture, &stats);
	} while (stats.flow[TL_DIR_RX].written_pkts + stats.flow[TL_DIR_RX].cut_pkts < b->sent_pkts &&
		 tl_capture_error(b->capture) == NULL);
	if (stats.flow[TL_DIR_RX].drop_ring_pkts + stats.flow[TL_DIR_RX].drop_disk_pkts != 0)
		die("frames were lost");
}

static void send_bursts(struct bench *b, uint32_t bursts)
{
	for (uint32_t i = 0; i < bursts; i++) {
		next_frames(b);
		uint64_t begin = rte_rdtsc();
		record_burst(b);
		b->cycles += rte_rdtsc() - begin;
		b->sent_pkts += TL_BURST;
		if (i % BURSTS_AT_ONCE == BURSTS_AT_ONCE - 1)
			wait_for_writer(b);
	}
	wait_for_writer(b);
}

static void forget_what_was_counted(struct bench *b)
{
	b->cycles = 0;
	end_of_scenario();
}

static void measure(struct bench *b, const char *name, uint32_t bursts)
{
	forget_what_was_counted(b);
	send_bursts(b, bursts);
	end_of_scenario();
	printf("%s %" PRIu32 " %" PRIu64 "\n", name, bursts * TL_BURST, b->cycles * TL_NS_PER_S / rte_get_tsc_hz());
}

static void begin(struct bench *b, uint32_t flows, uint32_t cutoff_bytes, uint32_t table_flows)
{
	struct tl_err err = {{0}};
	struct tl_capture_cfg cfg = {.name = "bench",
		.path = b->path,
		.dir = {[TL_DIR_RX] = true},
		.policy = {.rotate_packets = FILE_PKTS, .keep_files = 2},
		.buffer_bytes = 8 << 20,
		.io = TL_WRITER_IO_PWRITE,
		.cutoff_bytes = cutoff_bytes,
		.cutoff_flows = table_flows,
		.inner = b->inner,
		.filter = b->filter,
		.classes = b->cls,
		.n_classes = b->cls != NULL,
		.port = b->port,
		.clock = b->clock};

	if (tl_capture_create(&cfg, &b->capture, &err) != 0 || tl_capture_start(b->capture, &err) != 0)
		die(err.text);
	tl_capture_service(b->capture, 0, &b->service);
	b->flows = flows;
	b->next_flow = 0;
	b->sent_pkts = 0;
}

static void end(struct bench *b)
{
	struct tl_err err = {{0}};
	uint32_t n;

	if (tl_capture_stop(b->capture, &err) != 0)
		die(err.text);
	const char *const *files = tl_capture_files(b->capture, &n);
	for (uint32_t i = 0; i < n; i++)
		unlink(files[i]);
	tl_capture_destroy(b->capture);
}

static void measure_flows(struct bench *b)
{
	static const uint32_t counts[] = {1, 1000, FLOWS_MAX};
	char name[32];

	for (unsigned i = 0; i < TL_ARRAY_LEN(counts); i++) {
		begin(b, counts[i], 0, 0);
		snprintf(name, sizeof(name), "plain-flows-%" PRIu32, counts[i]);
		measure(b, name, MEASURED_BURSTS);
		end(b);
	}
	for (unsigned i = 0; i < TL_ARRAY_LEN(counts); i++) {
		begin(b, counts[i], TL_FLOW_CUTOFF_MAX, TABLE_FLOWS);
		send_bursts(b, counts[i] / TL_BURST + 1);
		snprintf(name, sizeof(name), "cutoff-flows-%" PRIu32, counts[i]);
		measure(b, name, MEASURED_BURSTS);
		end(b);
	}
}

// The frames are not encapsulated, but the parser has to check.
static void measure_inner(struct bench *b)
{
	b->inner = true;
	begin(b, 1000, TL_FLOW_CUTOFF_MAX, TABLE_FLOWS);
	send_bursts(b, 1000 / TL_BURST + 1);
	measure(b, "inner-flows-1000", MEASURED_BURSTS);
	end(b);
	b->inner = false;
}

// "rss": "inner": each frame is looked at for a tunnel, none is handed over.
static void measure_rss_inner(struct bench *b)
{
	struct tl_inner_cfg cfg = {
		.name = "bench", .queues = 2, .clock = b->clock, .seed = 1, .socket_id = SOCKET_ID_ANY};
	struct tl_inner *inner;
	struct tl_err err = {{0}};

	begin(b, 1000, 0, 0);
	struct tl_service recording = b->service;
	if (tl_inner_create(&cfg, &inner, &err) != 0)
		die(err.text);
	tl_inner_end(inner, 1); // the end of lcore 0 does not wait for it
	tl_inner_service(inner, 0, &recording, 1, &b->service);
	measure(b, "rss-inner-1000", MEASURED_BURSTS);
	end(b);
	tl_inner_destroy(inner);
}

// A class that all frames match, with one meter and with one per flow, and as much filtering without classes. All
// frames are green.
static void measure_police(struct bench *b)
{
	struct tl_police_class cls = {.name = "udp",
		.match = "udp",
		.meter = {.cir = 100000000000, .cbs = 1 << 20, .ebs = 1 << 20},
		.meters = 65536};

	b->filter = "udp";
	begin(b, 1000, 0, 0);
	measure(b, "filter-flows-1000", MEASURED_BURSTS);
	end(b);
	b->filter = NULL;
	b->cls = &cls;
	begin(b, 1000, 0, 0);
	measure(b, "police-class-1000", MEASURED_BURSTS);
	end(b);
	cls.per = TL_POLICE_PER_FLOW;
	begin(b, 1000, 0, 0);
	send_bursts(b, 1000 / TL_BURST + 1);
	measure(b, "police-flow-1000", MEASURED_BURSTS);
	end(b);
	b->cls = NULL;
}

// More flows than the table holds: each frame adds one and evicts another.
static void measure_full_table(struct bench *b)
{
	begin(b, FLOWS_MAX, TL_FLOW_CUTOFF_MAX, TL_FLOW_ENTRIES_MIN);
	send_bursts(b, MEASURED_BURSTS);
	measure(b, "cutoff-table-full", MEASURED_BURSTS);
	end(b);
}

static uint64_t files_begun(struct bench *b)
{
	struct tl_capture_stats stats;
	uint32_t n;

	tl_capture_sample(b->capture, &stats);
	tl_capture_files(b->capture, &n);
	return stats.recycled_files + n;
}

static void measure_files(struct bench *b)
{
	char name[32];

	begin(b, 1000, 0, 0);
	for (uint32_t files = 1; files <= FILES_MAX; files = files == 1 ? 100 : files * 10) {
		while (files_begun(b) < files)
			send_bursts(b, FILE_PKTS / TL_BURST);
		snprintf(name, sizeof(name), "files-%" PRIu32, files);
		measure(b, name, MEASURED_BURSTS);
	}
	end(b);
}

// A recording of ten times as many frames: measure its first and its last tenth.
static void measure_age(struct bench *b)
{
	begin(b, 1000, 0, 0);
	measure(b, "age-first-tenth", MEASURED_BURSTS);
	send_bursts(b, 8 * MEASURED_BURSTS);
	measure(b, "age-last-tenth", MEASURED_BURSTS);
	end(b);
}

int main(void)
{
	char dir[] = "/tmp/tapline-bench-XXXXXX";
	static struct bench b;

	if (mkdtemp(dir) == NULL)
		die("no directory under /tmp");
	snprintf(b.path, sizeof(b.path), "%s/%%s.pcapng", dir);
	tl_test_eal_start();
	b.clock = tl_clock_create();
	b.port = tl_test_port("vdev:net_ring_record", 0, b.clock);
	if (b.clock == NULL || b.port == NULL)
		die("no port");
	make_frames(&b);
	measure_flows(&b);
	measure_inner(&b);
	measure_rss_inner(&b);
	measure_police(&b);
	measure_full_table(&b);
	measure_files(&b);
	measure_age(&b);
	rte_pktmbuf_free_bulk(b.burst.pkts, TL_BURST);
	rmdir(dir);
	return 0;
}
