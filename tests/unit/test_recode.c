// SPDX-License-Identifier: BSD-3-Clause
// Recoding: queues merged by time lose and double nothing, late records are counted, a full ring only delays, and what
// several threads convert comes out in order.

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tl_err.h>
#include <tl_recode.h>
#include <tl_zslab.h>

#include "tl_test.h"
#include "tl_test_eal.h"

#define SLAB_BYTES (64u << 10)
#define SLABS 16
#define RINGS 3
#define CAP_BYTES 60
#define LONG_NS (3600 * TL_NS_PER_S)

struct bench {
	struct tl_slab_ring *rings[RINGS];
	struct tl_recode *recode;
	struct tl_slab_ring *out;
	atomic_bool stopped;
	// What came out.
	uint64_t records, last_ns, late, of_ring[RINGS], slabs;
};

static struct bench set_up(uint64_t window_ns, enum tl_recode_form form, uint32_t threads)
{
	struct bench b = {.records = 0};
	struct tl_err err = {.text = ""};

	for (uint32_t i = 0; i < RINGS; i++) {
		char name[] = {'i', 'n', (char)('0' + i), '\0'};
		struct tl_slab_cfg cfg = {
			.name = name, .slab_bytes = SLAB_BYTES, .slabs = SLABS, .socket_id = -1, .ring_index = i};
		CU_ASSERT_EQUAL_FATAL(tl_slab_create(&cfg, &b.rings[i], &err), 0);
	}
	struct tl_recode_cfg cfg = {.name = "test",
		.rings = b.rings,
		.n_rings = RINGS,
		.slab_bytes = SLAB_BYTES,
		.window_ns = window_ns,
		.form = form,
		.level = 1,
		.threads = threads,
		.socket_id = -1};
	CU_ASSERT_EQUAL_FATAL(tl_recode_create(&cfg, &b.recode, &err), 0);
	b.out = tl_recode_ring(b.recode);
	CU_ASSERT_EQUAL_FATAL(tl_recode_start(b.recode, &err), 0);
	return b;
}

static void tear_down(struct bench *b)
{
	tl_recode_destroy(b->recode);
	for (uint32_t i = 0; i < RINGS; i++)
		tl_slab_destroy(b->rings[i]);
}

static bool record(struct bench *b, uint32_t ring, uint64_t ts_ns)
{
	struct tl_pcapng_epb epb = {
		.interface_id = ring, .cap_bytes = CAP_BYTES, .wire_bytes = CAP_BYTES, .ts_ns = ts_ns};
	uint32_t len = tl_pcapng_epb_bytes(CAP_BYTES, 0, 0);
	void *room = tl_slab_reserve(b->rings[ring], len, 0);

	if (room == NULL)
		return false;
	memset(tl_pcapng_put_epb(room, &epb), (int)ring, CAP_BYTES);
	tl_slab_commit(b->rings[ring], len, TL_DIR_RX);
	return true;
}

static void pause_a_little(void)
{
	nanosleep(&(struct timespec){.tv_nsec = TL_NS_PER_MS}, NULL);
}

static void read_records(struct bench *b, const struct tl_slab *slab)
{
	uint64_t of_ring[RINGS] = {0};

	for (uint32_t at = TL_PCAPNG_HEAD_BYTES; at < slab->used_bytes;) {
		uint32_t words[5];
		memcpy(words, slab->data + at, sizeof(words));
		uint64_t ts_ns = (uint64_t)words[3] << 32 | words[4];
		b->late += ts_ns < b->last_ns;
		b->last_ns = tl_max_u64(b->last_ns, ts_ns);
		of_ring[words[2]]++;
		b->records++;
		at += words[1];
	}
	for (uint32_t i = 0; i < slab->n_origins; i++)
		CU_ASSERT_EQUAL(slab->origins[i].records[TL_DIR_RX], of_ring[i]);
	for (uint32_t i = 0; i < RINGS; i++)
		b->of_ring[i] += of_ring[i];
}

// The writer's part. Returns whether there was a slab.
static bool write_one(struct bench *b)
{
	struct tl_slab *slab = tl_slab_take(b->out);

	if (slab == NULL)
		return false;
	CU_ASSERT_EQUAL(slab->sequence, b->slabs);
	read_records(b, slab);
	b->slabs++;
	tl_slab_give_back(b->out, slab);
	return true;
}

static void write_until(struct bench *b, uint64_t records)
{
	for (unsigned tries = 0; b->records < records && tries < 20000; tries++)
		if (!write_one(b))
			pause_a_little();
	CU_ASSERT_EQUAL(b->records, records);
}

static void *stop(void *arg)
{
	struct bench *b = arg;

	tl_recode_stop(b->recode);
	atomic_store(&b->stopped, true);
	return NULL;
}

// What is left may be more than the last ring has room for: the writer goes on meanwhile.
static void finish(struct bench *b)
{
	pthread_t thread;

	for (uint32_t i = 0; i < RINGS; i++)
		tl_slab_seal(b->rings[i]);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, stop, b), 0);
	while (!atomic_load(&b->stopped))
		if (!write_one(b))
			pause_a_little();
	pthread_join(thread, NULL);
	while (write_one(b))
		;
}

static void merged_records_are_in_order_and_complete(void)
{
	for (unsigned seed = 1; seed <= 8; seed++) {
		struct bench b = set_up(LONG_NS, TL_RECODE_PCAPNG, 1);
		uint64_t sent[RINGS] = {0}, ts_ns = 1;
		unsigned state = seed;
		for (unsigned i = 0; i < 6000; i++) {
			uint32_t ring = (uint32_t)rand_r(&state) % RINGS;
			ts_ns += (uint64_t)rand_r(&state) % 3;
			CU_ASSERT_TRUE_FATAL(record(&b, ring, ts_ns));
			sent[ring]++;
			if (rand_r(&state) % 500 == 0)
				tl_slab_seal(b.rings[ring]);
		}
		finish(&b);
		CU_ASSERT_EQUAL(b.records, 6000);
		CU_ASSERT_EQUAL(b.late, 0);
		CU_ASSERT_EQUAL(tl_recode_late_pkts(b.recode), 0);
		for (uint32_t i = 0; i < RINGS; i++)
			CU_ASSERT_EQUAL(b.of_ring[i], sent[i]);
		tear_down(&b);
	}
}

static void an_idle_queue_holds_up_nobody_for_longer_than_the_window(void)
{
	struct bench b = set_up(TL_NS_PER_MS, TL_RECODE_PCAPNG, 1);

	for (uint64_t round = 1; round <= 3; round++) {
		record(&b, 0, round * 1000);
		tl_slab_seal(b.rings[0]);
		write_until(&b, round);
	}
	record(&b, 1, 1500); // later than the window
	tl_slab_seal(b.rings[1]);
	write_until(&b, 4);
	CU_ASSERT_EQUAL(b.late, 1);
	CU_ASSERT_EQUAL(tl_recode_late_pkts(b.recode), 1);
	finish(&b);
	tear_down(&b);
}

// With a window that never ends, slabs of the one busy queue go on as soon as half of them wait.
static void waiting_leaves_a_queue_half_of_its_slabs(void)
{
	struct bench b = set_up(LONG_NS, TL_RECODE_PCAPNG, 1);
	uint64_t sent = 0;

	while (b.slabs < SLABS) {
		while (record(&b, 0, sent + 1))
			sent++;
		unsigned tries = 0;
		while (!write_one(&b) && ++tries < 3000)
			pause_a_little();
		CU_ASSERT_TRUE_FATAL(tries < 3000);
	}
	finish(&b);
	CU_ASSERT_EQUAL(b.records, sent);
	CU_ASSERT_EQUAL(b.late, 0);
	tear_down(&b);
}

static void a_writer_that_stands_still_only_delays(void)
{
	struct bench b = set_up(TL_NS_PER_MS, TL_RECODE_PCAPNG, 1);
	uint64_t sent = 0;
	unsigned refused = 0;

	while (refused < 200) { // until nothing has gone on for a while
		if (record(&b, 0, sent + 1)) {
			sent++;
			refused = 0;
		} else {
			refused++;
			pause_a_little();
		}
	}
	tl_slab_seal(b.rings[0]);
	write_until(&b, sent);
	finish(&b);
	CU_ASSERT_EQUAL(b.late, 0);
	tear_down(&b);
}

static void threads_convert_in_order(void)
{
	struct bench b = set_up(0, TL_RECODE_ZSTD, 3);
	struct tl_zslab_unpacker *unpacker = tl_zslab_unpacker_create();
	uint8_t *content = malloc(SLAB_BYTES);
	uint64_t next = 0, packed = 0;

	while (next < 40) {
		struct tl_zslab_unit unit;
		if (packed < 40 && record(&b, 0, packed + 1)) {
			tl_slab_seal(b.rings[0]);
			packed++;
		}
		struct tl_slab *slab = tl_slab_take(b.out);
		if (slab == NULL)
			continue;
		CU_ASSERT_EQUAL_FATAL(tl_zslab_look(slab->data, slab->sealed_bytes, &unit), 0);
		CU_ASSERT_TRUE(tl_zslab_unpack(unpacker, slab->data, &unit, content, SLAB_BYTES) > 0);
		CU_ASSERT_EQUAL(unit.head.sequence, next++);
		CU_ASSERT_EQUAL(slab->records[TL_DIR_RX], 1);
		tl_slab_give_back(b.out, slab);
	}
	tl_recode_stop(b.recode);
	CU_ASSERT_PTR_NULL(tl_slab_take(b.out));
	tl_zslab_unpacker_destroy(unpacker);
	free(content);
	tear_down(&b);
}

int main(void)
{
	static const struct tl_test tests[] = {
		{"merged records are in order and complete", merged_records_are_in_order_and_complete},
		{"an idle queue holds up nobody for longer than the window",
			an_idle_queue_holds_up_nobody_for_longer_than_the_window},
		{"waiting leaves a queue half of its slabs", waiting_leaves_a_queue_half_of_its_slabs},
		{"a writer that stands still only delays", a_writer_that_stands_still_only_delays},
		{"threads convert in order", threads_convert_in_order},
	};

	tl_test_eal_start();
	return tl_test_main("recode", tests, sizeof(tests) / sizeof(tests[0]));
}
