// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// counted: the part of a benchmark whose instructions callgrind counts, for lib/callgrind.sh. The rest, such as the
// set-up of a million flows, runs without instrumentation, several times as fast. Outside callgrind the calls do
// nothing.
//
// Without a function to count, the counts include some instructions of the request itself.
//
// Threads: any. The requests and their numbers are those of valgrind/callgrind.h, which a build does not need.

#include <stdint.h>

// A sequence without effect that valgrind recognizes (valgrind.h, amd64): request and arguments at rax, result in rdx.
static inline void bench_request(uint32_t number)
{
	volatile uint64_t request[6] = {'C' << 24 | 'T' << 16 | number};
	uint64_t result = 0;

	__asm__ volatile("rolq $3, %%rdi; rolq $13, %%rdi; rolq $61, %%rdi; rolq $51, %%rdi; xchgq %%rbx, %%rbx"
			 : "+d"(result)
			 : "a"(request)
			 : "cc", "memory");
}

static inline void bench_count_begin(void)
{
	bench_request(4); // CALLGRIND_START_INSTRUMENTATION
	bench_request(1); // CALLGRIND_ZERO_STATS: else the counts of the part before are subtracted
}

// Write the counts of this part to a file of its own.
static inline void bench_count_end(void)
{
	bench_request(0); // CALLGRIND_DUMP_STATS
	bench_request(5); // CALLGRIND_STOP_INSTRUMENTATION
}
