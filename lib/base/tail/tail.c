// SPDX-License-Identifier: BSD-3-Clause
// Two rings: outliers, readable during writes (a sequence number per slot, odd while it is written), and samples, read
// afterwards.

#include <tl_tail.h>

#include <stdlib.h>
#include <string.h>

#define TRIES 1000 // attempts on a slot under construction, whose writer may be preempted
#define WORDS (sizeof(struct tl_tail_outlier) / sizeof(uint64_t))

struct place {
	uint64_t sequence;
	uint64_t word[WORDS];
};

struct tl_tail {
	uint64_t count;
	uint32_t keep;
	struct place places[];
};

struct tl_tail_samples {
	uint64_t count;
	uint32_t keep, next;
	struct tl_tail_sample at[];
};

_Static_assert(sizeof(struct tl_tail_outlier) % sizeof(uint64_t) == 0, "it is copied word by word");

const char *tl_stage_name(enum tl_stage stage)
{
	static const char *const names[TL_STAGES] = {
		"wire_to_poll", "poll_to_parsed", "parsed_to_ready", "ready_to_tx", "tx_call"};

	return names[stage];
}

// Allocate touched memory, so that no page faults occur later. Compilers would turn malloc() and memset() into
// calloc().
static void *alloc_touched(size_t bytes)
{
	size_t whole = tl_align_up(bytes, TL_CACHE_LINE);
	void *at = aligned_alloc(TL_CACHE_LINE, whole);

	return at != NULL ? memset(at, 0, whole) : NULL;
}

struct tl_tail *tl_tail_create(uint32_t keep)
{
	struct tl_tail *tail = alloc_touched(sizeof(*tail) + keep * sizeof(tail->places[0]));

	if (tail != NULL)
		tail->keep = keep;
	return tail;
}

void tl_tail_destroy(struct tl_tail *tail)
{
	free(tail);
}

uint32_t tl_tail_kept_frames(const struct tl_tail *tail)
{
	return tail->keep;
}

static struct place *place_of(struct tl_tail *tail, uint64_t number)
{
	return &tail->places[number % tail->keep];
}

// Write a slot: every word is released after the odd number, the even number after every word.
static void write_place(struct place *place, const struct tl_tail_outlier *outlier)
{
	uint64_t word[WORDS];

	memcpy(word, outlier, sizeof(word));
	__atomic_store_n(&place->sequence, place->sequence + 1, __ATOMIC_RELAXED);
	for (size_t i = 0; i < WORDS; i++)
		__atomic_store_n(&place->word[i], word[i], __ATOMIC_RELEASE);
	__atomic_store_n(&place->sequence, place->sequence + 1, __ATOMIC_RELEASE);
}

void tl_tail_put(struct tl_tail *tail, struct tl_tail_outlier *outlier)
{
	outlier->number = tail->count;
	write_place(place_of(tail, tail->count), outlier);
	__atomic_store_n(&tail->count, tail->count + 1, __ATOMIC_RELEASE);
}

void tl_tail_set_after(struct tl_tail *tail, const struct tl_tail_burst *after)
{
	struct place *last = place_of(tail, tail->count - 1);
	struct tl_tail_outlier outlier;

	memcpy(&outlier, last->word, sizeof(outlier));
	outlier.after = *after;
	write_place(last, &outlier);
}

uint64_t tl_tail_count(const struct tl_tail *tail)
{
	return __atomic_load_n(&tail->count, __ATOMIC_ACQUIRE);
}

static bool read_place(const struct place *place, struct tl_tail_outlier *out)
{
	uint64_t word[WORDS];
	uint64_t before = __atomic_load_n(&place->sequence, __ATOMIC_ACQUIRE);

	for (size_t i = 0; i < WORDS; i++)
		word[i] = __atomic_load_n(&place->word[i], __ATOMIC_ACQUIRE);
	memcpy(out, word, sizeof(*out));
	return (before & 1) == 0 && before == __atomic_load_n(&place->sequence, __ATOMIC_ACQUIRE);
}

bool tl_tail_read(const struct tl_tail *tail, uint64_t number, struct tl_tail_outlier *out)
{
	if (number >= tl_tail_count(tail))
		return false;
	for (int i = 0; i < TRIES; i++)
		if (read_place(&tail->places[number % tail->keep], out))
			return out->number == number;
	return false;
}

// ---- samples

struct tl_tail_samples *tl_tail_samples_create(uint32_t keep)
{
	struct tl_tail_samples *samples = alloc_touched(sizeof(*samples) + keep * sizeof(samples->at[0]));

	if (samples != NULL)
		samples->keep = keep;
	return samples;
}

void tl_tail_samples_destroy(struct tl_tail_samples *samples)
{
	free(samples);
}

void tl_tail_samples_add(struct tl_tail_samples *samples, const struct tl_tail_sample *sample)
{
	samples->at[samples->next] = *sample;
	samples->next = samples->next + 1 < samples->keep ? samples->next + 1 : 0;
	tl_count(&samples->count, 1);
}

uint32_t tl_tail_samples_kept(const struct tl_tail_samples *samples)
{
	return (uint32_t)tl_min_u64(samples->count, samples->keep);
}

uint64_t tl_tail_samples_count(const struct tl_tail_samples *samples)
{
	return tl_count_read(&samples->count);
}

const struct tl_tail_sample *tl_tail_samples_at(const struct tl_tail_samples *samples, uint32_t index)
{
	uint32_t oldest = samples->count > samples->keep ? samples->next : 0;

	return &samples->at[(oldest + index) % samples->keep];
}
