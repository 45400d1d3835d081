// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// facts: what a benchmark of scale reports beside a cost: the time to set up, and DPDK's memory in use.
//
// Threads: main.

#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include <rte_malloc.h>

#include <tl_base.h>

static inline uint64_t bench_clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * TL_NS_PER_S + (uint64_t)now.tv_nsec;
}

static inline uint64_t bench_now_ns(void)
{
	return bench_clock_ns(CLOCK_MONOTONIC);
}

// Print the facts of a scenario, behind its figures. start_ns: time to set up.
static inline void bench_print_facts(uint64_t start_ns)
{
	struct rte_malloc_socket_stats heap = {0};

	rte_malloc_get_socket_stats(0, &heap);
	printf(" start_ms=%.2f memory_mib=%.2f", (double)start_ns / (double)TL_NS_PER_MS,
		(double)heap.heap_allocsz_bytes / (1 << 20));
}
