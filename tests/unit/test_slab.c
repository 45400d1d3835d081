// SPDX-License-Identifier: BSD-3-Clause
// Slab rings: layout of a sealed slab, back-pressure of a slow writer, and two threads at full speed.

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <tl_err.h>
#include <tl_slab.h>

#include "tl_test.h"
#include "tl_test_eal.h"

#define SLAB_BYTES (64u << 10)
#define RUN_ID UINT64_C(0x1122334455667788)
#define RING_INDEX 3

static struct tl_slab_ring *create_ring(uint32_t slabs)
{
	struct tl_slab_cfg cfg = {
		.name = "test",
		.slab_bytes = SLAB_BYTES,
		.slabs = slabs,
		.socket_id = -1,
		.run_id = RUN_ID,
		.ring_index = RING_INDEX,
	};
	struct tl_slab_ring *ring = NULL;
	struct tl_err err = {.text = ""};

	CU_ASSERT_EQUAL_FATAL(tl_slab_create(&cfg, &ring, &err), 0);
	return ring;
}

// Record one frame filled with fill; return false if there is no room.
static bool record(struct tl_slab_ring *ring, uint32_t cap_bytes, uint8_t fill, enum tl_dir dir, uint64_t mono_ns)
{
	struct tl_pcapng_epb epb = {.cap_bytes = cap_bytes, .wire_bytes = cap_bytes, .ts_ns = mono_ns};
	uint32_t len = tl_pcapng_epb_bytes(cap_bytes, 0, 0);
	void *room = tl_slab_reserve(ring, len, mono_ns);

	if (room == NULL)
		return false;
	memset(tl_pcapng_put_epb(room, &epb), fill, cap_bytes);
	tl_slab_commit(ring, len, dir);
	return true;
}

static uint32_t word(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

// Walk a sealed slab block by block and compare both lengths of each: HEAD, EPBs, at most one PAD. Return the EPBs.
static uint32_t walk(const struct tl_slab *slab)
{
	uint32_t at = TL_PCAPNG_HEAD_BYTES;
	uint32_t epbs = 0;
	struct tl_pcapng_head head = {.ring = 0};

	CU_ASSERT_EQUAL((uintptr_t)slab->data % TL_PCAPNG_ALIGN, 0);
	CU_ASSERT_EQUAL(slab->sealed_bytes % TL_PCAPNG_ALIGN, 0);
	CU_ASSERT_TRUE(slab->sealed_bytes <= SLAB_BYTES);
	CU_ASSERT_EQUAL_FATAL(tl_pcapng_get_head(slab->data, slab->sealed_bytes, &head), 0);
	CU_ASSERT_EQUAL(head.run_id, RUN_ID);
	CU_ASSERT_EQUAL(head.ring, RING_INDEX);
	CU_ASSERT_EQUAL(head.sequence, slab->sequence);
	CU_ASSERT_EQUAL(head.used_bytes, slab->used_bytes);
	for (; at < slab->used_bytes; epbs++) {
		uint32_t total = word(slab->data + at + 4);
		CU_ASSERT_EQUAL_FATAL(word(slab->data + at), TL_PCAPNG_EPB);
		CU_ASSERT_EQUAL_FATAL(word(slab->data + at + total - 4), total);
		at += total;
	}
	CU_ASSERT_EQUAL_FATAL(at, slab->used_bytes);
	if (at < slab->sealed_bytes) {
		CU_ASSERT_EQUAL(word(slab->data + at), TL_PCAPNG_PAD);
		CU_ASSERT_EQUAL(word(slab->data + at + 4), slab->sealed_bytes - at);
		CU_ASSERT_EQUAL(word(slab->data + slab->sealed_bytes - 4), slab->sealed_bytes - at);
	}
	CU_ASSERT_EQUAL(head.records, epbs);
	CU_ASSERT_EQUAL(slab->records[TL_DIR_RX] + slab->records[TL_DIR_TX], epbs);
	return epbs;
}

TL_TEST("a sealed slab consists of a HEAD, complete records and a PAD")
{
	struct tl_slab_ring *ring = create_ring(2);

	CU_ASSERT_PTR_NULL(tl_slab_take(ring));
	CU_ASSERT_TRUE(record(ring, 60, 1, TL_DIR_RX, 0));
	CU_ASSERT_TRUE(record(ring, 61, 2, TL_DIR_TX, 0));
	CU_ASSERT_TRUE(record(ring, 0, 0, TL_DIR_RX, 0));
	CU_ASSERT_PTR_NULL(tl_slab_take(ring));
	tl_slab_seal(ring);
	struct tl_slab *slab = tl_slab_take(ring);
	CU_ASSERT_PTR_NOT_NULL_FATAL(slab);
	CU_ASSERT_EQUAL(walk(slab), 3);
	CU_ASSERT_EQUAL(slab->used_bytes, 64 + 92 + 96 + 32);
	CU_ASSERT_EQUAL(slab->sealed_bytes, 4096);
	CU_ASSERT_EQUAL(slab->records[TL_DIR_RX], 2);
	CU_ASSERT_EQUAL(slab->records[TL_DIR_TX], 1);
	CU_ASSERT_EQUAL(slab->data[64 + 28], 1);
	tl_slab_destroy(ring);
}

// The length of the record determines the rest of the slab: every multiple of 4 occurs, including those without room
// for a PAD.
TL_TEST("a slab ends on a 4 KiB boundary for any record lengths")
{
	struct tl_slab_ring *ring = create_ring(2);

	for (uint32_t last = 0; last <= 4096; last += 4) {
		for (int i = 0; i < 15; i++)
			CU_ASSERT_TRUE_FATAL(record(ring, 4096, 3, TL_DIR_RX, 0));
		CU_ASSERT_TRUE_FATAL(record(ring, last, 4, TL_DIR_RX, 0));
		tl_slab_seal(ring);
		struct tl_slab *slab;
		while ((slab = tl_slab_take(ring)) != NULL) {
			CU_ASSERT_TRUE_FATAL(walk(slab) > 0);
			tl_slab_give_back(ring, slab);
		}
	}
	tl_slab_destroy(ring);
}

TL_TEST("the longest permitted record fits a slab, a longer one is refused")
{
	struct tl_slab_ring *ring = create_ring(2);

	CU_ASSERT_TRUE(record(ring, 60, 0, TL_DIR_RX, 0));
	CU_ASSERT_PTR_NOT_NULL(tl_slab_reserve(ring, SLAB_BYTES - 4096, 0));
	CU_ASSERT_PTR_NULL(tl_slab_reserve(ring, SLAB_BYTES, 0));
	tl_slab_destroy(ring);
}

TL_TEST("an empty slab is not sealed")
{
	struct tl_slab_ring *ring = create_ring(2);

	tl_slab_seal(ring);
	tl_slab_seal_if_older(ring, 1000, 0);
	CU_ASSERT_PTR_NOT_NULL(tl_slab_reserve(ring, 64, 0)); // reserved, never committed
	tl_slab_seal(ring);
	tl_slab_seal_if_older(ring, 1000, 0);
	CU_ASSERT_PTR_NULL(tl_slab_take(ring));
	tl_slab_destroy(ring);
}

TL_TEST("only a slab whose first record exceeds the requested age is sealed")
{
	struct tl_slab_ring *ring = create_ring(2);

	CU_ASSERT_TRUE(record(ring, 60, 0, TL_DIR_RX, 5000));
	CU_ASSERT_TRUE(record(ring, 60, 0, TL_DIR_RX, 5900)); // a later record does not change the slab's age
	tl_slab_seal_if_older(ring, 6000, 1000);
	CU_ASSERT_PTR_NULL(tl_slab_take(ring));
	tl_slab_seal_if_older(ring, 6001, 1000);
	CU_ASSERT_PTR_NOT_NULL(tl_slab_take(ring));
	CU_ASSERT_TRUE(record(ring, 60, 0, TL_DIR_RX, 9000));
	tl_slab_seal_if_older(ring, 9500, 1000);
	CU_ASSERT_PTR_NULL(tl_slab_take(ring));
	tl_slab_destroy(ring);
}

TL_TEST("a slow writer causes record drops until it returns a slab")
{
	struct tl_slab_ring *ring = create_ring(3);
	struct tl_slab *taken[3];
	uint32_t recorded = 0;
	uint32_t held = 0;

	while (record(ring, 1500, (uint8_t)recorded, TL_DIR_RX, 0))
		recorded++;
	CU_ASSERT_FALSE(record(ring, 60, 0, TL_DIR_RX, 0));
	CU_ASSERT_EQUAL(recorded, 3 * ((SLAB_BYTES - 64 - 12) / tl_pcapng_epb_bytes(1500, 0, 0)));
	for (uint64_t i = 0; i < 3; i++) {
		taken[i] = tl_slab_take(ring);
		CU_ASSERT_PTR_NOT_NULL_FATAL(taken[i]);
		CU_ASSERT_EQUAL(taken[i]->sequence, i);
		held += walk(taken[i]);
	}
	CU_ASSERT_EQUAL(held, recorded);
	CU_ASSERT_FALSE(record(ring, 60, 0, TL_DIR_RX, 0)); // a slab taken is not yet returned
	tl_slab_give_back(ring, taken[1]);
	CU_ASSERT_TRUE(record(ring, 60, 9, TL_DIR_TX, 0));
	tl_slab_seal(ring);
	struct tl_slab *again = tl_slab_take(ring);
	CU_ASSERT_PTR_EQUAL_FATAL(again, taken[1]);
	CU_ASSERT_EQUAL(again->sequence, 3);
	CU_ASSERT_EQUAL(walk(again), 1);
	CU_ASSERT_EQUAL(again->records[TL_DIR_RX], 0);
	tl_slab_destroy(ring);
}

TL_TEST("the number of used slabs is that held by the writer")
{
	struct tl_slab_ring *ring = create_ring(4);

	CU_ASSERT_EQUAL(tl_slab_count(ring), 4);
	CU_ASSERT_EQUAL(tl_slab_used(ring), 0);
	CU_ASSERT_TRUE(record(ring, 60, 1, TL_DIR_RX, 1));
	CU_ASSERT_EQUAL(tl_slab_used(ring), 0);
	tl_slab_seal(ring);
	CU_ASSERT_TRUE(record(ring, 60, 1, TL_DIR_RX, 1));
	tl_slab_seal(ring);
	CU_ASSERT_EQUAL(tl_slab_used(ring), 2);
	struct tl_slab *slab = tl_slab_take(ring);
	CU_ASSERT_EQUAL(tl_slab_used(ring), 2);
	tl_slab_give_back(ring, slab);
	CU_ASSERT_EQUAL(tl_slab_used(ring), 1);
	tl_slab_destroy(ring);
}

TL_TEST("an invalid configuration is refused with an error")
{
	const struct tl_slab_cfg good = {.name = "cfg", .slab_bytes = SLAB_BYTES, .slabs = 2, .socket_id = -1};
	struct tl_slab_ring *ring = NULL;
	struct tl_err err = {.text = ""};
	struct tl_slab_cfg cfg = good;

	cfg.slab_bytes = 100000;
	CU_ASSERT_EQUAL(tl_slab_create(&cfg, &ring, &err), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "100000 bytes"));
	cfg.slab_bytes = 8u << 20;
	CU_ASSERT_EQUAL(tl_slab_create(&cfg, &ring, &err), -EINVAL);
	cfg = good;
	cfg.slabs = 1;
	CU_ASSERT_EQUAL(tl_slab_create(&cfg, &ring, &err), -EINVAL);
	cfg = good;
	cfg.name = "a name longer than twenty";
	CU_ASSERT_EQUAL(tl_slab_create(&cfg, &ring, &err), -EINVAL);
	cfg = good;
	cfg.slab_bytes = 4u << 20;
	cfg.slabs = 65536;
	CU_ASSERT_EQUAL(tl_slab_create(&cfg, &ring, &err), -ENOMEM);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "256.0 GiB"));
	CU_ASSERT_PTR_NULL(ring);
}

TL_TEST("a name is used by one ring at a time")
{
	const struct tl_slab_cfg cfg = {.name = "twice", .slab_bytes = SLAB_BYTES, .slabs = 2, .socket_id = -1};
	struct tl_slab_ring *first = NULL;
	struct tl_slab_ring *second = NULL;
	struct tl_err err = {.text = ""};

	CU_ASSERT_EQUAL_FATAL(tl_slab_create(&cfg, &first, &err), 0);
	CU_ASSERT_EQUAL(tl_slab_create(&cfg, &second, &err), -EEXIST);
	tl_slab_destroy(first);
	CU_ASSERT_EQUAL_FATAL(tl_slab_create(&cfg, &first, &err), 0);
	tl_slab_destroy(first);
	tl_slab_destroy(NULL);
}

#define RACE_RECORDS 300000u

// Observations of the writer. Each record has its number and bytes derived from it.
struct race {
	struct tl_slab_ring *ring;
	uint32_t next_number;
	uint32_t broken;
	uint64_t next_sequence;
};

static void check_record(struct race *race, const uint8_t *block)
{
	uint32_t cap_bytes = word(block + 20);
	const uint8_t *data = block + 28;

	race->broken += word(data) != race->next_number;
	for (uint32_t i = 4; i < cap_bytes; i++)
		race->broken += data[i] != (uint8_t)(race->next_number + i);
	race->next_number++;
}

// Hold two slabs at a time and return them in the reverse order, as after out-of-order completion.
static void *write_slabs(void *arg)
{
	struct race *race = arg;
	struct tl_slab *held = NULL;

	while (race->next_number < RACE_RECORDS) {
		struct tl_slab *slab = tl_slab_take(race->ring);
		if (slab == NULL) {
			sched_yield();
			continue;
		}
		race->broken += slab->sequence != race->next_sequence++;
		for (uint32_t at = TL_PCAPNG_HEAD_BYTES; at < slab->used_bytes; at += word(slab->data + at + 4))
			check_record(race, slab->data + at);
		if (held == NULL) {
			held = slab;
			continue;
		}
		memset(slab->data, 0xff, slab->sealed_bytes); // owned until returned
		tl_slab_give_back(race->ring, slab);
		tl_slab_give_back(race->ring, held);
		held = NULL;
	}
	return NULL;
}

static void record_number(struct tl_slab_ring *ring, uint32_t number, uint32_t cap_bytes)
{
	struct tl_pcapng_epb epb = {.cap_bytes = cap_bytes, .wire_bytes = cap_bytes, .dropped = number % 7 == 0};
	uint32_t len = tl_pcapng_epb_bytes(cap_bytes, 0, epb.dropped);
	void *room;

	while ((room = tl_slab_reserve(ring, len, number)) == NULL)
		sched_yield();
	uint8_t *data = tl_pcapng_put_epb(room, &epb);
	memcpy(data, &number, sizeof(number));
	for (uint32_t i = 4; i < cap_bytes; i++)
		data[i] = (uint8_t)(number + i);
	tl_slab_commit(ring, len, TL_DIR_RX);
}

TL_TEST("two threads at full speed neither lose nor corrupt records")
{
	struct race race = {.ring = create_ring(5)};
	unsigned seed = 1;
	pthread_t writer;

	CU_ASSERT_EQUAL_FATAL(pthread_create(&writer, NULL, write_slabs, &race), 0);
	for (uint32_t number = 0; number < RACE_RECORDS; number++) {
		record_number(race.ring, number, 4 + (uint32_t)rand_r(&seed) % 600);
		if (number % 1000 == 0)
			tl_slab_seal_if_older(race.ring, number, 100);
	}
	tl_slab_seal(race.ring);
	pthread_join(writer, NULL);
	CU_ASSERT_EQUAL(race.next_number, RACE_RECORDS);
	CU_ASSERT_EQUAL(race.broken, 0);
	CU_ASSERT_TRUE(race.next_sequence > RACE_RECORDS / 1000);
	tl_slab_destroy(race.ring);
}

int main(void)
{
	tl_test_eal_start();
	return tl_test_run("slab");
}
