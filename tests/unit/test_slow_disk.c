// SPDX-License-Identifier: BSD-3-Clause
// A disk that stalls for 5 s at a million frames per second, counted instead of timed: the writer is held, 5 million
// frames are offered, the writer is released.

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_mbuf.h>

#include <tl_capture.h>
#include <tl_clock.h>
#include <tl_err.h>
#include <tl_test.h>
#define TL_TEST_EAL_MB "1024"
#include <tl_test_eal.h>
#include <tl_test_port.h>

#include "capture_priv.h"
#include "writer_priv.h"

#define FRAME_BYTES 60
#define STALL_PKTS 5000000u
#define SLAB_BYTES (1u << 20)

static struct tl_clock *test_clock;
static struct tl_port *port; // a ring device that provides only the pool and the name

// A backend that waits for the gate before each write.
static struct {
	pthread_mutex_t gate;
	const struct tl_writer_backend *disk;
	struct tl_writer_backend held;
} slow = {.gate = PTHREAD_MUTEX_INITIALIZER};

static void start_behind_gate(struct tl_writer *writer, struct tl_writer_write *write)
{
	pthread_mutex_lock(&slow.gate);
	pthread_mutex_unlock(&slow.gate);
	slow.disk->start(writer, write);
}

struct recording {
	struct tl_capture *capture;
	struct tl_service service;
	struct tl_burst burst; // offered repeatedly
	char path[64];
};

static void begin_recording(struct recording *r, uint64_t buffer_bytes)
{
	struct tl_err err = {{0}};
	struct tl_capture_cfg cfg = {.name = "slow",
		.path = r->path,
		.buffer_bytes = buffer_bytes,
		.dir = {[TL_DIR_RX] = true},
		.port = port,
		.clock = test_clock};

	snprintf(r->path, sizeof(r->path), "/var/tmp/tl-slow-disk-%d.pcapng", (int)getpid());
	if (tl_capture_create(&cfg, &r->capture, &err) != 0) {
		printf("# %s\n", err.text);
		CU_FAIL_FATAL("tl_capture_create");
	}
	tl_capture_service(r->capture, 0, &r->service);
	slow.disk = r->capture->writer->backend;
	slow.held = *slow.disk;
	slow.held.start = start_behind_gate;
	r->capture->writer->backend = &slow.held;
	r->burst = (struct tl_burst){.n = TL_BURST};
	for (unsigned i = 0; i < TL_BURST; i++) {
		r->burst.pkts[i] = rte_pktmbuf_alloc(tl_port_pool(port));
		CU_ASSERT_PTR_NOT_NULL_FATAL(r->burst.pkts[i]);
		memset(rte_pktmbuf_append(r->burst.pkts[i], FRAME_BYTES), 0x5a, FRAME_BYTES);
		r->burst.wire_bytes[i] = FRAME_BYTES;
	}
	CU_ASSERT_EQUAL_FATAL(tl_capture_start(r->capture, &err), 0);
}

static void end_recording(struct recording *r)
{
	rte_pktmbuf_free_bulk(r->burst.pkts, TL_BURST);
	tl_capture_destroy(r->capture);
	unlink(r->path);
	CU_ASSERT_EQUAL(tl_port_mbufs_in_use(port), 0);
}

static void offer(struct recording *r, uint32_t pkts)
{
	for (uint32_t done = 0; done < pkts; done += r->burst.n) {
		r->burst.n = (uint16_t)tl_min_u64(TL_BURST, pkts - done);
		r->service.rx(r->service.ctx, &r->burst);
	}
}

static struct tl_ledger_flow flow_of(const struct recording *r)
{
	struct tl_capture_stats stats;

	tl_capture_sample(r->capture, &stats);
	return stats.flow[TL_DIR_RX];
}

static bool wait_written(const struct recording *r, uint64_t pkts)
{
	for (int i = 0; i < 60000; i++) {
		if (flow_of(r).written_pkts >= pkts)
			return true;
		usleep(1000);
	}
	return false;
}

static void write_out(struct recording *r)
{
	struct tl_err err = {{0}};

	r->service.finish(r->service.ctx);
	CU_ASSERT_EQUAL(tl_capture_stop(r->capture, &err), 0);
}

// Contents of a file, from its statistics.
struct contents {
	uint64_t pkts;
	uint64_t dropped; // sum of epb_dropcount
	uint64_t drops;	  // records with epb_dropcount
	uint64_t osdrop;  // isb_osdrop of the last statistics
};

// Return the value of a numeric option of 8 bytes among those from at on, or 0.
static uint64_t option(const uint8_t *at, const uint8_t *end, uint16_t wanted)
{
	uint16_t head[2];
	uint64_t value;

	for (; end - at >= 4; at += 4 + tl_align_up(head[1], 4)) {
		memcpy(head, at, 4);
		if (head[0] == wanted && head[1] == 8) {
			memcpy(&value, at + 4, 8);
			return value;
		}
		if (head[0] == 0)
			break;
	}
	return 0;
}

static struct contents read_file(const char *path)
{
	struct contents found = {0};
	struct stat status;
	uint32_t head[2], cap_bytes;
	int fd = open(path, O_RDONLY);

	CU_ASSERT_FATAL(fd >= 0 && fstat(fd, &status) == 0);
	const uint8_t *data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	CU_ASSERT_FATAL(data != MAP_FAILED);
	for (const uint8_t *at = data, *end; at < data + status.st_size; at = end) {
		memcpy(head, at, 8);
		end = at + head[1];
		CU_ASSERT_FATAL(head[1] >= 12 && end <= data + status.st_size);
		if (head[0] == TL_PCAPNG_EPB) {
			memcpy(&cap_bytes, at + 20, 4);
			uint64_t dropped = option(at + 28 + tl_align_up(cap_bytes, 4), end - 4, 4);
			found.pkts++;
			found.dropped += dropped;
			found.drops += dropped != 0;
		} else if (head[0] == TL_PCAPNG_ISB) {
			found.osdrop += option(at + 20, end - 4, 7);
		}
	}
	munmap((void *)data, (size_t)status.st_size);
	close(fd);
	return found;
}

TL_TEST("a buffer of 768 MiB covers a disk stall of 5 million frames")
{
	static struct recording r;

	begin_recording(&r, UINT64_C(768) << 20);
	pthread_mutex_lock(&slow.gate);
	offer(&r, STALL_PKTS);
	CU_ASSERT_EQUAL(flow_of(&r).drop_ring_pkts, 0);
	CU_ASSERT_EQUAL(flow_of(&r).written_pkts, 0); // the stall was effective
	pthread_mutex_unlock(&slow.gate);
	write_out(&r);
	struct contents found = read_file(r.path);
	CU_ASSERT_EQUAL(flow_of(&r).written_pkts, STALL_PKTS);
	CU_ASSERT_EQUAL(found.pkts, STALL_PKTS);
	CU_ASSERT_EQUAL(found.drops, 0);
	end_recording(&r);
}

TL_TEST("frames beyond 64 MiB during a stall are counted exactly, in the ledger and in the file")
{
	// A slab holds records except for its HEAD and the smallest PAD.
	const uint64_t record_bytes = tl_pcapng_epb_bytes(FRAME_BYTES, 0, 0);
	const uint64_t per_slab = (SLAB_BYTES - TL_PCAPNG_HEAD_BYTES - TL_PCAPNG_PAD_MIN) / record_bytes;
	const uint64_t held = 64 * per_slab, lost = STALL_PKTS - held;
	static struct recording r;

	begin_recording(&r, UINT64_C(64) << 20); // the default
	pthread_mutex_lock(&slow.gate);
	offer(&r, STALL_PKTS);
	CU_ASSERT_EQUAL(flow_of(&r).drop_ring_pkts, lost);
	pthread_mutex_unlock(&slow.gate);
	CU_ASSERT(wait_written(&r, held));
	offer(&r, 1000);
	write_out(&r);
	struct tl_ledger_flow flow = flow_of(&r);
	CU_ASSERT_EQUAL(flow.offered_pkts, STALL_PKTS + 1000);
	CU_ASSERT_EQUAL(flow.written_pkts, held + 1000);
	CU_ASSERT_EQUAL(flow.drop_ring_pkts, lost);
	CU_ASSERT_EQUAL(flow.offered_pkts, flow.written_pkts + flow.drop_ring_pkts);
	struct contents found = read_file(r.path);
	CU_ASSERT_EQUAL(found.pkts, held + 1000);
	CU_ASSERT_EQUAL(found.dropped, lost);
	CU_ASSERT_EQUAL(found.drops, 1); // the first record after the gap
	CU_ASSERT_EQUAL(found.osdrop, lost);
	end_recording(&r);
}

int main(void)
{
	tl_test_eal_start();
	test_clock = tl_clock_create();
	port = tl_test_port("vdev:net_ring_s", 1, test_clock);
	if (port == NULL)
		return 1;
	return tl_test_run("slow_disk");
}
