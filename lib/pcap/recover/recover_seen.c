// SPDX-License-Identifier: BSD-3-Clause
// List of the slabs found, as ranges of sequence numbers, to name missing ones. A recording has few rings, each in
// order: sequences of a hostile file are not listed, so the cost per slab is bounded.

#include "recover_priv.h"

#include <stdlib.h>
#include <string.h>

#include <tl_array.h>

static struct tl_recover_ring *ring_of(const struct tl_recover_report *report, const struct tl_pcapng_head *head)
{
	for (uint32_t i = report->n_rings; i-- > 0;)
		if (report->rings[i].run_id == head->run_id && report->rings[i].ring == head->ring)
			return &report->rings[i];
	return NULL;
}

// First range that ends at or after the sequence; n if there is none. Slabs mostly come in order.
static uint32_t range_from(const struct tl_recover_ring *ring, uint64_t sequence)
{
	uint32_t low = 0, high = ring->n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (ring->kept[middle].last < sequence)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool recover_was_seen(const struct tl_recover_report *report, const struct tl_pcapng_head *head)
{
	const struct tl_recover_ring *ring = ring_of(report, head);

	if (ring == NULL)
		return false;
	uint32_t i = range_from(ring, head->sequence);
	return i < ring->n && ring->kept[i].first <= head->sequence;
}

static int add_ring(struct tl_recover_report *report, const struct tl_pcapng_head *head)
{
	struct tl_recover_ring *rings = realloc(report->rings, (report->n_rings + 1) * sizeof(*rings));

	if (rings == NULL)
		return -ENOMEM;
	report->rings = rings;
	rings[report->n_rings++] = (struct tl_recover_ring){.run_id = head->run_id, .ring = head->ring};
	return 0;
}

static int insert_range(struct tl_recover_ring *ring, uint32_t at, uint64_t sequence)
{
	if (tl_array_reserve(&ring->kept, ring->n, &ring->capacity, sizeof(*ring->kept)) != 0)
		return -ENOMEM;
	memmove(&ring->kept[at + 1], &ring->kept[at], (ring->n - at) * sizeof(*ring->kept));
	ring->kept[at] = (struct tl_recover_range){.first = sequence, .last = sequence};
	ring->n++;
	return 0;
}

int recover_add_seen(struct tl_recover_report *report, const struct tl_pcapng_head *head)
{
	struct tl_recover_ring *ring = ring_of(report, head);
	uint64_t sequence = head->sequence;

	if (ring == NULL && report->n_rings == RINGS_MAX)
		return 0;
	if (ring == NULL && add_ring(report, head) != 0)
		return -ENOMEM;
	ring = ring != NULL ? ring : &report->rings[report->n_rings - 1];
	uint32_t i = range_from(ring, sequence);
	if (i < ring->n && ring->kept[i].first <= sequence)
		return 0;
	bool joins_last = i > 0 && ring->kept[i - 1].last + 1 == sequence;
	bool joins_next = i < ring->n && ring->kept[i].first == sequence + 1;
	if (joins_last && joins_next) {
		ring->kept[i - 1].last = ring->kept[i].last;
		memmove(&ring->kept[i], &ring->kept[i + 1], (--ring->n - i) * sizeof(*ring->kept));
	} else if (joins_last) {
		ring->kept[i - 1].last = sequence;
	} else if (joins_next) {
		ring->kept[i].first = sequence;
	} else if (ring->n - i <= RANGES_MOVED_MAX) {
		return insert_range(ring, i, sequence);
	}
	return 0;
}

uint64_t tl_recover_missing(const struct tl_recover_ring *ring)
{
	uint64_t missing = 0;

	for (uint32_t i = 1; i < ring->n; i++)
		missing += ring->kept[i].first - ring->kept[i - 1].last - 1;
	return missing;
}

void tl_recover_report_fini(struct tl_recover_report *report)
{
	for (uint32_t i = 0; i < report->n_rings; i++)
		free(report->rings[i].kept);
	free(report->rings);
	report->rings = NULL;
	report->n_rings = 0;
}
