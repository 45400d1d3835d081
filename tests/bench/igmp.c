// SPDX-License-Identifier: BSD-3-Clause
// Cost of an IGMP message on a host that has joined few or many groups. Prints a line "NAME FRAMES NANOSECONDS" per
// scenario; callgrind counts the instructions of tl_mcast_input() between bench_count_begin() and bench_count_end().

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tl_mcast.h>
#include <tl_wire.h>

#include "counted.h"

#define ALL_HOSTS tl_be32(0xe0000001)
#define GROUP(n) tl_be32(0xef000000u + (n))
#define QUERIER tl_be32(0x0a0000fe)
#define FRAMES 1000

struct bench {
	struct tl_mcast *m;
	uint32_t groups;
	uint64_t now_ns;
};

static void drop_message(void *ctx, uint32_t dst_be, const uint8_t *igmp, uint16_t len)
{
}

static void begin(struct bench *b, uint32_t groups)
{
	const struct tl_mcast_cfg cfg = {.send = drop_message, .groups = groups};

	*b = (struct bench){.groups = groups, .now_ns = TL_NS_PER_S};
	if (tl_mcast_create(&cfg, &b->m) != 0)
		exit(1);
	for (uint32_t i = 0; i < groups; i++)
		if (tl_mcast_join(b->m, GROUP(i), 0, b->now_ns) != 0)
			exit(1);
	while (tl_mcast_next_deadline(b->m) != TL_MCAST_NEVER)
		tl_mcast_tick(b->m, b->now_ns += TL_NS_PER_S);
}

// Make a message of that type and length about group after group, or about all.
static void receive(struct bench *b, uint8_t type, uint16_t len, bool general, uint32_t frames)
{
	for (uint32_t i = 0; i < frames; i++) {
		uint8_t message[12] = {type, 100, [8] = 2, [9] = 125};
		uint32_t group_be = general ? 0 : GROUP(i * 7919 % b->groups);
		memcpy(message + 4, &group_be, sizeof(group_be));
		const struct tl_mcast_packet packet = {.message = message,
			.len = len,
			.src_be = QUERIER,
			.dst_be = ALL_HOSTS,
			.hop_limit = 1,
			.alert = true};
		tl_mcast_input(b->m, &packet, b->now_ns);
	}
}

static void measure(struct bench *b, const char *name, uint8_t type, uint16_t len, bool general, uint32_t frames)
{
	struct timespec from, to;

	bench_count_begin();
	clock_gettime(CLOCK_MONOTONIC, &from);
	receive(b, type, len, general, frames);
	clock_gettime(CLOCK_MONOTONIC, &to);
	bench_count_end();
	printf("%s-%" PRIu32 " %" PRIu32 " %" PRId64 "\n", name, b->groups, frames,
		(int64_t)(to.tv_sec - from.tv_sec) * TL_NS_PER_S + to.tv_nsec - from.tv_nsec);
}

int main(void)
{
	static const uint32_t groups[] = {16, 16000};

	for (size_t i = 0; i < TL_ARRAY_LEN(groups); i++) {
		struct bench b;
		begin(&b, groups[i]);
		measure(&b, "igmp-group-query", 0x11, 12, false, FRAMES);
		measure(&b, "igmp-general-query", 0x11, 12, true, FRAMES);
		measure(&b, "igmp-unknown", 0x99, 12, true, FRAMES);
		measure(&b, "igmp-older-querier", 0x11, 8, true, 1);
		measure(&b, "igmp-older-query", 0x11, 8, true, FRAMES);
		measure(&b, "igmp-older-report", 0x16, 8, false, FRAMES);
		tl_mcast_destroy(b.m);
	}
	return 0;
}
