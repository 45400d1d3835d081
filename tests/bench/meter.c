// SPDX-License-Identifier: BSD-3-Clause
// Cost of colouring a frame. Prints a line "NAME FRAMES NANOSECONDS" per scenario; callgrind counts the instructions
// of tl_meter_colour() between bench_count_begin() and bench_count_end().

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <tl_meter.h>

#include "counted.h"

#define FRAMES 10000
#define GAP_NS 67 // 60-byte frames at 10 Gbit/s

static void measure(const char *name, const struct tl_meter_cfg *cfg)
{
	struct tl_meter meter;
	struct timespec from, to;
	uint64_t pkts[TL_METER_COLOURS] = {0};

	if (tl_meter_init(&meter, cfg, NULL) != 0)
		exit(1);
	bench_count_begin();
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (uint64_t i = 0; i < FRAMES; i++)
		pkts[tl_meter_colour(&meter, i * GAP_NS, 60, TL_METER_GREEN)]++;
	clock_gettime(CLOCK_MONOTONIC, &to);
	bench_count_end();
	printf("%s %d %" PRId64 "\n", name, FRAMES,
		(int64_t)(to.tv_sec - from.tv_sec) * TL_NS_PER_S + to.tv_nsec - from.tv_nsec);
}

int main(void)
{
	static const struct tl_meter_cfg green = {.cir = 10000000000, .cbs = 65536};
	static const struct tl_meter_cfg single = {.cir = 3000000000, .cbs = 4096, .ebs = 4096};
	static const struct tl_meter_cfg two = {
		.kind = TL_METER_TRTCM, .cir = 2000000000, .cbs = 4096, .pir = 4000000000, .pbs = 4096};
	static const struct tl_meter_cfg apart = {
		.kind = TL_METER_RFC4115, .cir = 2000000000, .cbs = 4096, .eir = 2000000000, .ebs = 4096};
	static const struct tl_meter_cfg pkts = {.unit = TL_METER_PKTS, .cir = 1000000, .cbs = 32, .ebs = 32};

	measure("meter-green", &green);
	measure("meter-srtcm", &single);
	measure("meter-trtcm", &two);
	measure("meter-rfc4115", &apart);
	measure("meter-pkts", &pkts);
	return 0;
}
