// SPDX-License-Identifier: BSD-3-Clause
// Preloaded: make a device of one queue, which returns frames at every poll, return them at a rate, like a wire. Due
// frames that are not fetched wait in a ring; frames beyond a full ring are lost, and counted.
//
// TL_PACED_PPS is the rate, TL_PACED_RING the size of the ring in frames, TL_PACED_FILE the file of the counters of
// struct paced, during the run and after it. Without TL_PACED_PPS the library has no effect. The clock starts with the
// first poll.

#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>

#define RING_DEFAULT 4096

// Contents of the shared file, in one cache line.
struct counters {
	uint64_t due_pkts;
	uint64_t missed_pkts;
	uint64_t deepest_pkts; // maximum fill of the ring
};

// An interposer has no context argument: one port, one polling thread.
static struct {
	eth_rx_burst_t burst; // the driver's
	uint64_t last_tsc;
	uint64_t step_q32;     // frames per tick
	uint64_t fraction_q32; // of the next frame
	uint64_t waiting_pkts;
	uint64_t ring_pkts;
	uint64_t longest_tsc; // accounted for at most at once: more would overflow, and fills any ring anyway
	struct counters *counters;
} paced;

static void arrive(void)
{
	uint64_t now_tsc = rte_rdtsc();
	uint64_t ticks = paced.last_tsc != 0 ? now_tsc - paced.last_tsc : 0;

	paced.last_tsc = now_tsc;
	if (ticks > paced.longest_tsc)
		ticks = paced.longest_tsc;
	paced.fraction_q32 += ticks * paced.step_q32;
	uint64_t due = paced.fraction_q32 >> 32;
	paced.fraction_q32 &= UINT32_MAX;
	paced.waiting_pkts += due;
	paced.counters->due_pkts += due;
	if (paced.waiting_pkts > paced.counters->deepest_pkts)
		paced.counters->deepest_pkts = paced.waiting_pkts;
	if (paced.waiting_pkts > paced.ring_pkts) {
		paced.counters->missed_pkts += paced.waiting_pkts - paced.ring_pkts;
		paced.waiting_pkts = paced.ring_pkts;
	}
}

static uint16_t paced_burst(void *queue, struct rte_mbuf **pkts, uint16_t n)
{
	arrive();
	if (n > paced.waiting_pkts)
		n = (uint16_t)paced.waiting_pkts;
	if (n == 0)
		return 0;
	n = paced.burst(queue, pkts, n);
	paced.waiting_pkts -= n;
	return n;
}

static struct counters *map_counters(const char *path)
{
	int fd = path != NULL ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0640) : -1;
	void *mapped = MAP_FAILED;

	if (fd >= 0 && ftruncate(fd, sizeof(struct counters)) == 0)
		mapped = mmap(NULL, sizeof(struct counters), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (fd >= 0)
		close(fd);
	if (mapped == MAP_FAILED) {
		perror("paced: TL_PACED_FILE");
		exit(2);
	}
	return mapped;
}

// Map the counters before main(): the sandbox of an appliance allows no other files later. Every program started by a
// shell with this preload does the same, without effect on the counters of the polling one.
static __attribute__((constructor)) void map_at_load(void)
{
	if (getenv("TL_PACED_PPS") != NULL)
		paced.counters = map_counters(getenv("TL_PACED_FILE"));
}

static void pace(uint16_t port_id, uint64_t pps)
{
	const char *ring = getenv("TL_PACED_RING");
	uint64_t hz = rte_get_tsc_hz();

	*paced.counters = (struct counters){0};
	paced.ring_pkts = ring != NULL ? strtoull(ring, NULL, 10) : RING_DEFAULT;
	paced.step_q32 = (uint64_t)(((unsigned __int128)pps << 32) / hz);
	paced.longest_tsc = hz;
	paced.burst = rte_eth_fp_ops[port_id].rx_pkt_burst;
	rte_eth_fp_ops[port_id].rx_pkt_burst = paced_burst;
}

// Called by the program instead of DPDK's. A started device has its burst function in rte_eth_fp_ops.
int rte_eth_dev_start(uint16_t port_id)
{
	int (*start)(uint16_t) = (int (*)(uint16_t))dlsym(RTLD_NEXT, "rte_eth_dev_start");
	const char *pps = getenv("TL_PACED_PPS");
	int rc = start(port_id);

	if (rc == 0 && pps != NULL)
		pace(port_id, strtoull(pps, NULL, 10));
	return rc;
}
