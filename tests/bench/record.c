// SPDX-License-Identifier: BSD-3-Clause
// Cost of recording a frame of 60 bytes on the RX lcore, by number of flows, recordings, files written before and files
// in the ring, and by age of the recording. Print a line "NAME FRAMES NANOSECONDS" per scenario, for instructions.sh,
// which also runs it in callgrind and counts the instructions of record_burst() between bench_count_begin() and
// bench_count_end(). The argument is the largest number of flows; that of files in the ring is a hundredth of it.

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TL_TEST_EAL_MB "1200"

#include <rte_cycles.h>
#include <rte_mbuf.h>

#include <tl_capture.h>
#include <tl_err.h>
#include <tl_flow.h>
#include <tl_inner.h>
#include <tl_test_eal.h>
#include <tl_test_port.h>
#include <tl_wire.h>

#include "counted.h"
#include "facts.h"

#define FRAME_BYTES 60
#define FRAME_NS 67	   // at the line rate of 10GbE
#define BURSTS_AT_ONCE 256 // less than the buffer holds: no loss
#define MEASURED_BURSTS 512
#define TICK_NS (100 * TL_NS_PER_US)
#define MANY_FLOWS 1000000
#define FLOWS_MAX 10000000
#define TABLE_FLOWS(flows) ((flows) > MANY_FLOWS ? 32u << 20 : 4u << 20) // a third full
#define FILES_MAX 1000
#define FILE_PKTS 64
#define RECORDINGS_MAX 64
#define RING_SHARE 100	// flows per file in the ring
#define LINKS_MAX 50000 // names of one file: ext4 allows 65,000
#define RING_TURNS 64	// files whose cost is measured

struct bench {
	struct tl_clock *clock;
	struct tl_port *port;
	char dir[32];
	uint32_t recordings; // of each frame
	struct recording {
		char path[64];
		struct tl_capture *capture;
		struct tl_service service;
	} recording[RECORDINGS_MAX];
	uint32_t keep_files;
	uint64_t start_ns; // time to begin the recordings
	double file_us;	   // CPU time of their threads per file; 0: not measured
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

// Run the RX lcore's work for the recordings on a received burst.
static __attribute__((noinline)) void record_burst(struct bench *b)
{
	const struct recording *end = b->recording + b->recordings;

	for (const struct recording *r = b->recording; r < end; r++)
		r->service.rx(r->service.ctx, &b->burst);
	if (b->burst.mono_ns >= b->next_tick_ns) {
		b->next_tick_ns = b->burst.mono_ns + TICK_NS;
		for (const struct recording *r = b->recording; r < end; r++)
			r->service.tick(r->service.ctx, b->burst.mono_ns);
	}
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

static void wait_for_writer(struct tl_capture *capture, uint64_t sent_pkts)
{
	struct tl_capture_stats stats;

	do {
		usleep(100);
		tl_capture_sample(capture, &stats);
	} while (stats.flow[TL_DIR_RX].written_pkts + stats.flow[TL_DIR_RX].cut_pkts < sent_pkts &&
		 tl_capture_error(capture) == NULL);
	if (stats.flow[TL_DIR_RX].drop_ring_pkts + stats.flow[TL_DIR_RX].drop_disk_pkts != 0)
		die("frames were lost");
}

static void wait_for_writers(struct bench *b)
{
	for (uint32_t i = 0; i < b->recordings; i++)
		b->recording[i].service.finish(b->recording[i].service.ctx);
	for (uint32_t i = 0; i < b->recordings; i++)
		wait_for_writer(b->recording[i].capture, b->sent_pkts);
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
			wait_for_writers(b);
	}
	wait_for_writers(b);
}

static void forget_what_was_counted(struct bench *b)
{
	b->cycles = 0;
	bench_count_begin();
}

static void measure(struct bench *b, const char *name, uint32_t bursts)
{
	forget_what_was_counted(b);
	send_bursts(b, bursts);
	bench_count_end();
	printf("%s %" PRIu32 " %" PRIu64, name, bursts * TL_BURST * b->recordings,
		b->cycles * TL_NS_PER_S / rte_get_tsc_hz());
	bench_print_facts(b->start_ns);
	if (b->file_us != 0)
		printf(" file_us=%.1f", b->file_us);
	printf("\n");
	fflush(stdout);
}

// Measure a scenario of a scale.
static void measure_of(struct bench *b, const char *what, uint32_t n)
{
	char name[32];

	snprintf(name, sizeof(name), "%s-%" PRIu32, what, n);
	measure(b, name, MEASURED_BURSTS);
}

static void begin_recording(struct bench *b, uint32_t i, uint32_t cutoff_bytes, uint32_t table_flows)
{
	struct recording *r = &b->recording[i];
	struct tl_err err = {{0}};
	char name[16];
	struct tl_capture_cfg cfg = {.name = name,
		.path = r->path,
		.dir = {[TL_DIR_RX] = true},
		.policy = {.rotate_packets = FILE_PKTS, .keep_files = b->keep_files},
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

	snprintf(name, sizeof(name), "bench%" PRIu32, i);
	snprintf(r->path, sizeof(r->path), "%s/%" PRIu32 ".%%s.pcapng", b->dir, i);
	if (tl_capture_create(&cfg, &r->capture, &err) != 0 || tl_capture_start(r->capture, &err) != 0)
		die(err.text);
	tl_capture_service(r->capture, 0, &r->service);
}

static void begin(struct bench *b, uint32_t flows, uint32_t cutoff_bytes, uint32_t table_flows)
{
	uint64_t begin_ns = bench_now_ns();

	for (uint32_t i = 0; i < b->recordings; i++)
		begin_recording(b, i, cutoff_bytes, table_flows);
	b->start_ns = bench_now_ns() - begin_ns;
	b->flows = flows;
	b->next_flow = 0;
	b->sent_pkts = 0;
}

static void stop(struct bench *b)
{
	struct tl_err err = {{0}};

	for (uint32_t i = 0; i < b->recordings; i++)
		if (tl_capture_stop(b->recording[i].capture, &err) != 0)
			die(err.text);
}

static void destroy(struct bench *b)
{
	for (uint32_t i = 0; i < b->recordings; i++)
		tl_capture_destroy(b->recording[i].capture);
}

// End the recordings, and remove all files.
static void end(struct bench *b)
{
	struct dirent *file;

	stop(b);
	destroy(b);
	DIR *dir = opendir(b->dir);
	while (dir != NULL && (file = readdir(dir)) != NULL)
		unlinkat(dirfd(dir), file->d_name, 0); // refused for the directories . and ..
	if (dir == NULL || closedir(dir) != 0)
		die("the directory cannot be emptied");
}

static void measure_flows(struct bench *b, uint32_t most)
{
	static const uint32_t counts[] = {1, 1000, MANY_FLOWS, FLOWS_MAX};

	for (unsigned i = 0; i < TL_ARRAY_LEN(counts) && counts[i] <= most; i++) {
		begin(b, counts[i], 0, 0);
		measure_of(b, "plain-flows", counts[i]);
		end(b);
	}
	for (unsigned i = 0; i < TL_ARRAY_LEN(counts) && counts[i] <= most; i++) {
		begin(b, counts[i], TL_FLOW_CUTOFF_MAX, TABLE_FLOWS(counts[i]));
		send_bursts(b, counts[i] / TL_BURST + 1);
		measure_of(b, "cutoff-flows", counts[i]);
		end(b);
	}
}

// Each frame in all recordings: the cost is that of a frame in one of them.
static void measure_recordings(struct bench *b)
{
	for (b->recordings = 1; b->recordings <= RECORDINGS_MAX; b->recordings *= 8) {
		begin(b, 1000, 0, 0);
		measure_of(b, "recordings", b->recordings);
		end(b);
	}
	b->recordings = 1;
}

// The frames are not encapsulated, but the parser has to check.
static void measure_inner(struct bench *b)
{
	b->inner = true;
	begin(b, 1000, TL_FLOW_CUTOFF_MAX, TABLE_FLOWS(1000));
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
	struct tl_service *service = &b->recording[0].service, recording = *service;
	if (tl_inner_create(&cfg, &inner, &err) != 0)
		die(err.text);
	tl_inner_end(inner, 1); // the end of lcore 0 does not wait for it
	tl_inner_service(inner, 0, &recording, 1, service);
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
	begin(b, MANY_FLOWS, TL_FLOW_CUTOFF_MAX, TL_FLOW_ENTRIES_MIN);
	send_bursts(b, MEASURED_BURSTS);
	measure(b, "cutoff-table-full", MEASURED_BURSTS);
	end(b);
}

static uint64_t files_begun(struct bench *b)
{
	struct tl_capture_stats stats;
	uint32_t n;

	tl_capture_sample(b->recording[0].capture, &stats);
	tl_capture_files(b->recording[0].capture, &n);
	return stats.recycled_files + n;
}

static void measure_files(struct bench *b)
{
	begin(b, 1000, 0, 0);
	for (uint32_t files = 1; files <= FILES_MAX; files = files == 1 ? 100 : files * 10) {
		while (files_begun(b) < files)
			send_bursts(b, FILE_PKTS / TL_BURST);
		measure_of(b, "files", files);
	}
	end(b);
}

// Record a file, and return a copy of its name.
static char *record_file(struct bench *b)
{
	uint32_t n;

	begin(b, 1000, 0, 0);
	send_bursts(b, 1);
	stop(b);
	char *name = strdup(tl_capture_files(b->recording[0].capture, &n)[0]);
	destroy(b);
	return name;
}

// Leave this many files of earlier runs: names of a few.
static void leave_files(struct bench *b, uint32_t files)
{
	char name[64], *file = NULL;

	for (uint32_t i = 0; i < files; i++) {
		if (i % LINKS_MAX == 0) {
			free(file);
			file = record_file(b);
		}
		snprintf(name, sizeof(name), "%s/0.0000000000_%05" PRIu32 ".pcapng", b->dir, i + 1);
		if (file == NULL || link(file, name) != 0)
			die("cannot link files");
	}
	free(file);
}

// CPU time of the threads of the recording.
static uint64_t writers_ns(void)
{
	return bench_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - bench_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static uint64_t recycled(struct bench *b)
{
	struct tl_capture_stats stats;

	tl_capture_sample(b->recording[0].capture, &stats);
	return stats.recycled_files;
}

// Record until some files have been removed for new ones; return their number.
static uint64_t turn_ring(struct bench *b)
{
	uint64_t before = recycled(b), turns = 0;

	for (; turns < RING_TURNS; turns = recycled(b) - before)
		send_bursts(b, 1);
	return turns;
}

// A full ring: each new file removes the oldest. The files are found at the start.
static void measure_ring(struct bench *b, uint32_t files)
{
	b->keep_files = files + RING_TURNS; // the recordings of leave_files() remove nothing
	leave_files(b, files);
	b->keep_files = files;
	begin(b, 1000, 0, 0);
	turn_ring(b);
	uint64_t cpu_ns = writers_ns();
	uint64_t turns = turn_ring(b);
	b->file_us = (double)(writers_ns() - cpu_ns) / (double)TL_NS_PER_US / (double)turns;
	measure_of(b, "ring", files);
	end(b);
	b->file_us = 0;
	b->keep_files = 2;
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

int main(int argc, char **argv)
{
	static struct bench b = {.dir = "/tmp/tapline-bench-XXXXXX", .recordings = 1, .keep_files = 2};
	uint32_t most = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : FLOWS_MAX;

	if (mkdtemp(b.dir) == NULL)
		die("no directory under /tmp");
	tl_test_eal_start();
	b.clock = tl_clock_create();
	b.port = tl_test_port("vdev:net_ring_record", 0, b.clock);
	if (b.clock == NULL || b.port == NULL)
		die("no port");
	make_frames(&b);
	measure_flows(&b, most);
	measure_inner(&b);
	measure_rss_inner(&b);
	measure_police(&b);
	measure_full_table(&b);
	measure_recordings(&b);
	measure_files(&b);
	for (uint32_t files = 10; files <= most / RING_SHARE; files *= 100)
		measure_ring(&b, files);
	measure_age(&b);
	rte_pktmbuf_free_bulk(b.burst.pkts, TL_BURST);
	rmdir(b.dir);
	return 0;
}
