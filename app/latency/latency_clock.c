// SPDX-License-Identifier: BSD-3-Clause
// Gather the clock log of a recording, and judge stamps by it.

#include "latency_clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <tl_array.h>

#define LATE_NS                                                                                                        \
	(2 * TL_NS_PER_S) // margin around the log: the next comparison would have been due, and a NIC stamps a frame
			  // before it is received

static int append(struct tl_latency_clocks *clocks, const struct tl_pcapng_clock_record *record)
{
	if (tl_array_reserve(&clocks->record, clocks->n, &clocks->room, sizeof(*record)) != 0)
		return -ENOMEM;
	clocks->record[clocks->n++] = *record;
	return 0;
}

// Take a CLOCK block. A recording continues from file to file: its largest bound is that of its last block.
void tl_latency_clocks_take(void *ctx, const uint8_t *block, uint32_t bytes)
{
	struct tl_latency_clocks *clocks = ctx;
	struct tl_pcapng_clock clock;

	if (tl_pcapng_get_clock(block, bytes, &clock) != 0)
		return;
	for (int id = 0; id < TL_PCAPNG_CLOCKS; id++) {
		uint64_t before_ns = clocks->known ? clocks->bound_max_ns[id] : 0;
		clocks->bound_max_ns[id] = tl_max_u64(before_ns, clock.bound_max_ns[id]);
	}
	clocks->start_ns = clocks->known ? tl_min_u64(clocks->start_ns, clock.start_ns) : clock.start_ns;
	clocks->known = true;
	clocks->steps = clock.steps > clocks->steps ? clock.steps : clocks->steps;
	for (uint32_t i = 0; i < clock.records; i++) {
		struct tl_pcapng_clock_record record = tl_pcapng_get_clock_record(block, i);
		if (record.clock < TL_PCAPNG_CLOCKS && append(clocks, &record) != 0)
			clocks->no_memory = true;
		clocks->end_ns = tl_max_u64(clocks->end_ns, record.time_ns);
	}
}

static int compare(const void *left, const void *right)
{
	const struct tl_pcapng_clock_record *a = left, *b = right;

	if (a->clock != b->clock)
		return a->clock < b->clock ? -1 : 1;
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

// Sort the records and remove duplicates: blocks overlap.
int tl_latency_clocks_end(struct tl_latency_clocks *clocks)
{
	size_t n = 0;

	if (clocks->no_memory)
		return -ENOMEM;
	if (clocks->n != 0)
		qsort(clocks->record, clocks->n, sizeof(*clocks->record), compare);
	for (size_t i = 0; i < clocks->n; i++)
		if (n == 0 || compare(&clocks->record[n - 1], &clocks->record[i]) != 0)
			clocks->record[n++] = clocks->record[i];
	clocks->n = n;
	return 0;
}

void tl_latency_clocks_free(struct tl_latency_clocks *clocks)
{
	free(clocks->record);
}

uint64_t tl_latency_clocks_bound_ns(
	const struct tl_latency_clocks *clocks, const char *source, uint64_t first_ns, uint64_t last_ns)
{
	bool nic = strcmp(source, "nic-rx") == 0;
	bool covers = clocks->known && first_ns + LATE_NS >= clocks->start_ns && last_ns <= clocks->end_ns + LATE_NS;

	if (!covers || (!nic && strcmp(source, "tsc") != 0))
		return TL_LATENCY_UNBOUNDED;
	return clocks->bound_max_ns[nic ? TL_PCAPNG_CLOCK_NIC : TL_PCAPNG_CLOCK_WALL];
}

// Return the interval of a step: CLOCK_REALTIME jumped, or began to bend, at the comparison; the kernel's own time at
// some point since the one before.
static struct tl_latency_clock_step step_of(const struct tl_pcapng_clock_record *record)
{
	uint64_t before_ns = record->time_ns - (uint64_t)record->offset_ns; // by the line until then

	return (struct tl_latency_clock_step){.from_ns = tl_min_u64(before_ns, record->time_ns) - record->age_ns,
		.until_ns = tl_max_u64(before_ns, record->time_ns),
		.offset_ns = record->offset_ns};
}

// Check whether a step moves stamps of the source. All stamps end on CLOCK_REALTIME; the NIC's by way of the NIC's
// clock.
static bool moves(const struct tl_pcapng_clock_record *record, const char *source)
{
	return (record->flags & TL_PCAPNG_CLOCK_STEPPED) != 0 &&
	       (record->clock == TL_PCAPNG_CLOCK_WALL || strcmp(source, "nic-rx") == 0);
}

uint32_t tl_latency_clocks_steps(const struct tl_latency_clocks *clocks, const char *source, uint64_t first_ns,
	uint64_t last_ns, struct tl_latency_clock_step *out)
{
	uint32_t n = 0;

	for (size_t i = 0; i < clocks->n && strcmp(source, "file") != 0; i++) {
		if (!moves(&clocks->record[i], source))
			continue;
		struct tl_latency_clock_step step = step_of(&clocks->record[i]);
		if (step.until_ns >= first_ns && step.from_ns <= last_ns && n++ == 0)
			*out = step;
	}
	return n;
}

static struct tl_latency_clock_point point_of(const struct tl_pcapng_clock_record *record)
{
	return (struct tl_latency_clock_point){.time_ns = record->time_ns,
		.offset_ns = record->offset_ns,
		.bound_ns = record->bound_ns,
		.half_ns = record->half_ns,
		.rate_hz = (double)record->rate_uhz / 1e6,
		.stepped = (record->flags & TL_PCAPNG_CLOCK_STEPPED) != 0};
}

int tl_latency_clocks_report(const struct tl_latency_clocks *clocks, const char *file, struct tl_latency *report)
{
	static const char *const names[] = {[TL_PCAPNG_CLOCK_WALL] = "REALTIME", [TL_PCAPNG_CLOCK_NIC] = "NIC"};
	struct tl_latency_clock_point *points = calloc(clocks->n + 1, sizeof(*points));
	size_t at = 0;
	int rc = points != NULL ? 0 : -ENOMEM;

	for (uint32_t id = 0; id < TL_PCAPNG_CLOCKS && rc == 0; id++) {
		size_t n = 0;
		while (at < clocks->n && clocks->record[at].clock == id)
			points[n++] = point_of(&clocks->record[at++]);
		uint64_t most_ns = clocks->bound_max_ns[id] != UINT64_MAX ? clocks->bound_max_ns[id] : 0;
		if (n != 0)
			rc = tl_latency_add_clock(report, file, names[id], most_ns, points, n);
	}
	free(points);
	return rc;
}
