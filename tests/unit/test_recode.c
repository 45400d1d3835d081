// SPDX-License-Identifier: BSD-3-Clause
// Slabs in a merge and a conversion: no record is lost or duplicated, and all are in order.

#include <dlfcn.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tl_err.h>
#include <tl_recode.h>
#include <tl_zslab.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "tl_test.h"
#include "tl_test_eal.h"

#define SLAB_BYTES (64u << 10)
#define RINGS_MAX 4
#define RECORDS_MAX 40000
#define WINDOW_NS (100 * TL_NS_PER_MS)
#define SEAL_AGE_NS (TL_NS_PER_S / 2) // age at which a merged slab is sealed, as in merge.c
#define BOTH_DIRECTIONS true

// A record of the output. Its data has its ring, its direction and its number in that ring.
struct record {
	uint64_t ts_ns;
	uint32_t ring, number;
	enum tl_dir dir;
};

struct stage {
	struct tl_slab_ring *rings[RINGS_MAX];
	uint32_t n_rings;
	struct tl_recode *recode;
	enum tl_recode_form form;
	_Atomic(uint64_t) now_ns, looks; // clock of the merge, and number of its readings
	uint32_t put[RINGS_MAX][TL_DIRS];
	// Output of the stage.
	struct record *records;
	uint32_t n_records;
	uint64_t counted[RINGS_MAX][TL_DIRS]; // by the origins of slabs
	uint64_t slab_records[TL_DIRS];	      // by the slabs
	uint64_t slabs, empty_slabs;
	uint8_t *pcap; // the pcap output, after a file header
	size_t pcap_bytes;
	struct tl_zslab_unpacker *unpacker;
	uint8_t *unpacked;
};

// Let zstd run out of memory once, when this count reaches zero.
static atomic_int calls_until_failure;

static size_t (*real_compress)(ZSTD_CCtx *, void *, size_t, const void *, size_t);

// Look up the symbol before threads exist.
__attribute__((constructor)) static void find_real_compress(void)
{
	*(void **)&real_compress = dlsym(RTLD_NEXT, "ZSTD_compress2");
}

size_t ZSTD_compress2(ZSTD_CCtx *cctx, void *out, size_t size, const void *content, size_t bytes)
{
	if (atomic_fetch_sub(&calls_until_failure, 1) == 1)
		return (size_t)-ZSTD_error_memory_allocation;
	return real_compress(cctx, out, size, content, bytes);
}

static uint64_t virtual_now_ns(void *stage)
{
	struct stage *s = stage;

	atomic_fetch_add(&s->looks, 1);
	return atomic_load(&s->now_ns);
}

static void make_ring(struct stage *s, uint32_t slabs)
{
	static int number;
	char name[16];
	struct tl_err err = {.text = ""};

	snprintf(name, sizeof(name), "in%d", number++);
	struct tl_slab_cfg cfg = {.name = name,
		.slab_bytes = SLAB_BYTES,
		.slabs = slabs,
		.socket_id = -1,
		.run_id = 7,
		.ring_index = s->n_rings};
	CU_ASSERT_EQUAL_FATAL(tl_slab_create(&cfg, &s->rings[s->n_rings++], &err), 0);
}

static struct tl_recode_cfg cfg_of(struct stage *s, uint64_t window_ns, uint32_t threads)
{
	return (struct tl_recode_cfg){.name = "test",
		.rings = s->rings,
		.n_rings = s->n_rings,
		.slab_bytes = SLAB_BYTES,
		.window_ns = window_ns,
		.now_ns = virtual_now_ns,
		.ctx = s,
		.form = s->form,
		.level = 1,
		.threads = threads,
		.socket_id = -1,
		.run_id = 7};
}

static struct stage *set_up(
	uint32_t n_rings, uint32_t slabs, uint64_t window_ns, enum tl_recode_form form, uint32_t threads)
{
	struct stage *s = calloc(1, sizeof(*s));
	struct tl_err err = {.text = ""};

	CU_ASSERT_PTR_NOT_NULL_FATAL(s);
	s->form = form;
	s->records = calloc(RECORDS_MAX, sizeof(*s->records));
	s->pcap = malloc((size_t)RECORDS_MAX * 1600);
	s->unpacked = malloc(SLAB_BYTES);
	s->unpacker = tl_zslab_unpacker_create();
	CU_ASSERT_TRUE_FATAL(s->records != NULL && s->pcap != NULL && s->unpacked != NULL && s->unpacker != NULL);
	s->pcap_bytes = tl_pcap_put_header(s->pcap, 64, 0);
	while (s->n_rings < n_rings)
		make_ring(s, slabs);
	struct tl_recode_cfg cfg = cfg_of(s, window_ns, threads);
	CU_ASSERT_EQUAL_FATAL(tl_recode_create(&cfg, &s->recode, &err), 0);
	return s;
}

static void start(struct stage *s)
{
	struct tl_err err = {.text = ""};

	CU_ASSERT_EQUAL_FATAL(tl_recode_start(s->recode, &err), 0);
}

static void tear_down(struct stage *s)
{
	tl_recode_destroy(s->recode);
	for (uint32_t i = 0; i < s->n_rings; i++)
		tl_slab_destroy(s->rings[i]);
	tl_zslab_unpacker_destroy(s->unpacker);
	free(s->unpacked);
	free(s->pcap);
	free(s->records);
	free(s);
}

// ---- input

static void put(struct stage *s, uint32_t ring, enum tl_dir dir, bool both, uint64_t ts_ns, uint32_t cap_bytes)
{
	uint32_t number = s->put[ring][TL_DIR_RX] + s->put[ring][TL_DIR_TX];
	struct tl_pcapng_epb epb = {
		.interface_id = ring, .cap_bytes = cap_bytes, .wire_bytes = cap_bytes + 5, .ts_ns = ts_ns};

	if (both)
		epb.flags = dir == TL_DIR_RX ? TL_PCAPNG_INBOUND : TL_PCAPNG_OUTBOUND;
	epb.dropped = number % 17 == 3 ? 9 : 0; // some records have an additional option
	uint32_t len = tl_pcapng_epb_bytes(cap_bytes, epb.flags, epb.dropped);
	void *room = tl_slab_reserve(s->rings[ring], len, atomic_load(&s->now_ns));
	CU_ASSERT_PTR_NOT_NULL_FATAL(room);
	uint8_t *data = tl_pcapng_put_epb(room, &epb);
	memset(data, (int)number, cap_bytes);
	memcpy(data, &(uint32_t){ring | (uint32_t)dir << 8}, 4);
	memcpy(data + 4, &number, 4);
	tl_slab_commit(s->rings[ring], len, dir);
	s->put[ring][dir]++;
}

// Put a record into its own slab.
static void put_slab(struct stage *s, uint32_t ring, uint64_t ts_ns)
{
	put(s, ring, TL_DIR_RX, false, ts_ns, 60);
	tl_slab_seal(s->rings[ring]);
}

// ---- output

static uint32_t word(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static struct record *next_record(struct stage *s)
{
	CU_ASSERT_TRUE_FATAL(s->n_records < RECORDS_MAX);
	return &s->records[s->n_records++];
}

static void read_slab(struct stage *s, const uint8_t *data, uint32_t used_bytes)
{
	for (uint32_t at = TL_PCAPNG_HEAD_BYTES; at < used_bytes; at += word(data + at + 4)) {
		const uint8_t *epb = data + at;
		CU_ASSERT_EQUAL_FATAL(word(epb), TL_PCAPNG_EPB);
		*next_record(s) = (struct record){.ts_ns = (uint64_t)word(epb + 12) << 32 | word(epb + 16),
			.ring = word(epb + 28) & 0xff,
			.number = word(epb + 32),
			.dir = (enum tl_dir)(word(epb + 28) >> 8)};
	}
}

static void unpack(struct stage *s, const struct tl_slab *slab)
{
	struct tl_zslab_unit unit;

	CU_ASSERT_EQUAL(slab->sealed_bytes % TL_PCAPNG_ALIGN, 0);
	CU_ASSERT_EQUAL_FATAL(tl_zslab_look(slab->data, slab->sealed_bytes, &unit), 0);
	CU_ASSERT_TRUE(unit.slab);
	CU_ASSERT_EQUAL(unit.unit_bytes, slab->sealed_bytes);
	CU_ASSERT_EQUAL(unit.head.records, slab->records[TL_DIR_RX] + slab->records[TL_DIR_TX]);
	CU_ASSERT_EQUAL_FATAL(
		tl_zslab_unpack(s->unpacker, slab->data, &unit, s->unpacked, SLAB_BYTES), unit.content_bytes);
	read_slab(s, s->unpacked, unit.head.used_bytes);
}

static void count_origins(struct stage *s, const struct tl_slab *slab)
{
	uint64_t sum[TL_DIRS] = {0};

	CU_ASSERT_TRUE(slab->n_origins > 0);
	for (uint32_t i = 0; i < slab->n_origins; i++)
		for (int dir = 0; dir < TL_DIRS; dir++) {
			s->counted[slab->origins[i].ring][dir] += slab->origins[i].records[dir];
			sum[dir] += slab->origins[i].records[dir];
		}
	for (int dir = 0; dir < TL_DIRS; dir++) {
		CU_ASSERT_EQUAL(sum[dir], slab->records[dir]);
		s->slab_records[dir] += slab->records[dir];
	}
}

// Take a slab; return false if there is none.
static bool take_one(struct stage *s)
{
	struct tl_slab_ring *ring = tl_recode_ring(s->recode);
	struct tl_slab *slab = tl_slab_take(ring);

	if (slab == NULL)
		return false;
	count_origins(s, slab);
	s->slabs++;
	if (slab->sealed_bytes == 0) {
		s->empty_slabs++;
	} else if (s->form == TL_RECODE_ZSTD) {
		unpack(s, slab);
	} else if (s->form == TL_RECODE_PCAP) {
		CU_ASSERT_EQUAL(slab->head_bytes, 0);
		memcpy(s->pcap + s->pcap_bytes, slab->data, slab->sealed_bytes);
		s->pcap_bytes += slab->sealed_bytes;
	} else {
		read_slab(s, slab->data, slab->used_bytes);
	}
	tl_slab_give_back(ring, slab);
	return true;
}

// Take all that is left, as the writer does, after the lcores have sealed their last slabs.
static void end(struct stage *s)
{
	for (uint32_t i = 0; i < s->n_rings; i++)
		tl_slab_seal(s->rings[i]);
	tl_recode_end(s->recode);
	for (bool ended = false, taken = true; !ended || taken;) {
		ended = tl_recode_ended(s->recode); // before the ring is read
		taken = take_one(s);
		if (!taken)
			sched_yield();
	}
	tl_recode_stop(s->recode);
	for (uint32_t i = 0; i < s->n_rings; i++)
		CU_ASSERT_EQUAL(tl_slab_used(s->rings[i]), 0);
}

// Check that each ring's records occur once, in order, and are counted for their ring.
static void check_complete(struct stage *s)
{
	uint32_t next[RINGS_MAX] = {0}, seen[RINGS_MAX][TL_DIRS] = {{0}};

	for (uint32_t i = 0; i < s->n_records; i++) {
		CU_ASSERT_EQUAL_FATAL(s->records[i].number, next[s->records[i].ring]);
		next[s->records[i].ring]++;
		seen[s->records[i].ring][s->records[i].dir]++;
	}
	for (uint32_t ring = 0; ring < s->n_rings; ring++)
		for (int dir = 0; dir < TL_DIRS; dir++) {
			CU_ASSERT_EQUAL(seen[ring][dir], s->put[ring][dir]);
			CU_ASSERT_EQUAL(s->counted[ring][dir], s->put[ring][dir]);
		}
}

static void check_sorted(const struct stage *s)
{
	for (uint32_t i = 1; i < s->n_records; i++)
		CU_ASSERT_TRUE_FATAL(s->records[i - 1].ts_ns <= s->records[i].ts_ns);
	CU_ASSERT_EQUAL(tl_recode_late_pkts(s->recode), 0);
}

// Wait until the merge has read its rings often enough to have done all work possible at this time.
static void let_it_look(struct stage *s)
{
	uint64_t until = atomic_load(&s->looks) + 4;

	while (atomic_load(&s->looks) < until)
		sched_yield();
}

static void wait_for_used(const struct tl_slab_ring *ring, uint32_t used)
{
	while (tl_slab_used(ring) != used)
		sched_yield();
}

static void wait_for_slabs(struct stage *s, uint64_t slabs)
{
	while (s->slabs < slabs)
		if (!take_one(s))
			sched_yield();
}

// ---- the tests

static uint32_t draw(uint64_t *seed, uint32_t below)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*seed >> 33) % below;
}

// Put n records into random rings while the stage runs. Its clock does not advance, so it waits for every ring.
static void put_at_random(struct stage *s, uint32_t n, uint64_t seed)
{
	uint64_t ts_ns = UINT64_C(1700000000) * TL_NS_PER_S;

	start(s);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t ring = draw(&seed, s->n_rings);
		ts_ns += draw(&seed, 3); // including equal times
		// Records of a ring with one direction have no direction flag.
		bool both = ring % 2 == 0;
		put(s, ring,
			both	    ? (enum tl_dir)draw(&seed, TL_DIRS)
			: ring == 1 ? TL_DIR_RX
				    : TL_DIR_TX,
			both, ts_ns, 8 + draw(&seed, draw(&seed, 8) == 0 ? 1500 : 60));
		if (draw(&seed, 200) == 0)
			tl_slab_seal(s->rings[ring]);
		if (draw(&seed, 50) == 0)
			take_one(s);
	}
	end(s);
}

TL_TEST("records of all rings are written once, in time order")
{
	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct stage *s = set_up(1 + seed % RINGS_MAX, 128, WINDOW_NS, TL_RECODE_PCAPNG, 1);
		put_at_random(s, 3000, seed);
		CU_ASSERT_EQUAL(s->n_records, 3000);
		CU_ASSERT_EQUAL(s->slab_records[TL_DIR_RX] + s->slab_records[TL_DIR_TX], 3000);
		check_sorted(s);
		check_complete(s);
		tear_down(s);
	}
}

TL_TEST("an idle ring delays the others by at most the window")
{
	struct stage *s = set_up(2, 8, WINDOW_NS, TL_RECODE_PCAPNG, 1);

	atomic_store(&s->now_ns, TL_NS_PER_S);
	start(s);
	for (uint32_t i = 0; i < 3; i++)
		put_slab(s, 0, 100 + i);
	atomic_fetch_add(&s->now_ns, WINDOW_NS - 1);
	let_it_look(s);
	CU_ASSERT_EQUAL(tl_slab_used(s->rings[0]), 3);
	atomic_fetch_add(&s->now_ns, 1);
	wait_for_used(s->rings[0], 0); // all three: each has waited since it was opened, not since the one before it
	CU_ASSERT_EQUAL(tl_slab_used(tl_recode_ring(s->recode)), 0);
	atomic_fetch_add(&s->now_ns, SEAL_AGE_NS + 1);
	wait_for_slabs(s, 1);
	CU_ASSERT_EQUAL(s->n_records, 3);
	end(s);
	check_sorted(s);
	check_complete(s);
	tear_down(s);
}

TL_TEST("a ring with few free slabs does not wait for others")
{
	struct stage *s = set_up(2, 8, WINDOW_NS, TL_RECODE_PCAPNG, 1);

	start(s);
	for (uint32_t i = 0; i < 4; i++)
		put_slab(s, 0, 100 + i);
	let_it_look(s);
	CU_ASSERT_EQUAL(tl_slab_used(s->rings[0]), 4);
	for (uint32_t i = 0; i < 100; i++) {
		put_slab(s, 0, 200 + i);
		wait_for_used(s->rings[0], 4);
	}
	end(s);
	CU_ASSERT_EQUAL(s->n_records, 104);
	check_sorted(s);
	check_complete(s);
	tear_down(s);
}

TL_TEST("late records are written and counted")
{
	struct stage *s = set_up(2, 8, WINDOW_NS, TL_RECODE_PCAPNG, 1);

	start(s);
	put_slab(s, 0, 100);
	atomic_fetch_add(&s->now_ns, WINDOW_NS);
	wait_for_used(s->rings[0], 0);
	CU_ASSERT_EQUAL(tl_recode_late_pkts(s->recode), 0);
	put(s, 1, TL_DIR_RX, false, 50, 60);
	put(s, 1, TL_DIR_RX, false, 99, 60);
	put(s, 1, TL_DIR_RX, false, 100, 60); // not too late
	end(s);
	CU_ASSERT_EQUAL(tl_recode_late_pkts(s->recode), 2);
	CU_ASSERT_EQUAL(s->n_records, 4);
	check_complete(s);
	tear_down(s);
}

TL_TEST("a reused slab has its own origins")
{
	struct stage *s = set_up(2, 8, WINDOW_NS, TL_RECODE_PCAPNG, 1);

	start(s);
	for (uint32_t i = 0; i < 40; i++) {
		put_slab(s, i % 2, 100 + i);
		atomic_fetch_add(&s->now_ns, WINDOW_NS);
		wait_for_used(s->rings[i % 2], 0);
		atomic_fetch_add(&s->now_ns, SEAL_AGE_NS + 1);
		wait_for_slabs(s, i + 1);
	}
	end(s);
	check_sorted(s);
	check_complete(s);
	tear_down(s);
}

static void while_there_is_no_room_all_waits_and_goes_on_then(
	enum tl_recode_form form, uint32_t threads, uint64_t window_ns)
{
	struct stage *s = set_up(1, 64, window_ns, form, threads);

	for (uint32_t i = 0; i < 2400; i++)
		put(s, 0, TL_DIR_RX, false, 100 + i, 1400);
	tl_slab_seal(s->rings[0]);
	start(s);
	wait_for_used(tl_recode_ring(s->recode), tl_slab_count(tl_recode_ring(s->recode)));
	CU_ASSERT_TRUE(tl_slab_used(s->rings[0]) > 0);
	tl_recode_end(s->recode);
	CU_ASSERT_FALSE(tl_recode_ended(s->recode));
	end(s);
	CU_ASSERT_EQUAL(s->slab_records[TL_DIR_RX], 2400);
	if (form != TL_RECODE_PCAP)
		check_complete(s);
	check_sorted(s);
	tear_down(s);
}

TL_TEST("records without space wait and continue later")
{
	while_there_is_no_room_all_waits_and_goes_on_then(TL_RECODE_PCAPNG, 1, WINDOW_NS);
	while_there_is_no_room_all_waits_and_goes_on_then(TL_RECODE_ZSTD, 4, 0);
	while_there_is_no_room_all_waits_and_goes_on_then(TL_RECODE_PCAP, 2, 0);
	while_there_is_no_room_all_waits_and_goes_on_then(TL_RECODE_ZSTD, 3, WINDOW_NS);
}

// Check that the reader of pcap files returns the n frames put into the only ring.
static void check_pcap(struct stage *s, uint32_t n)
{
	struct tl_pcap_reader *reader;
	struct tl_pcap_frame frame;
	struct tl_err err = {.text = ""};

	CU_ASSERT_EQUAL(word(s->pcap), 0xa1b23c4d);
	CU_ASSERT_EQUAL_FATAL(tl_pcap_open_memory(s->pcap, s->pcap_bytes, "test", &reader, &err), 0);
	for (uint32_t i = 0; i < n; i++) {
		CU_ASSERT_EQUAL_FATAL(tl_pcap_next(reader, &frame, &err), 1);
		CU_ASSERT_EQUAL(frame.ts_ns, UINT64_C(1700000000999999990) + i);
		CU_ASSERT_EQUAL(frame.cap_bytes, 8 + i % 1400);
		CU_ASSERT_EQUAL(frame.wire_bytes, frame.cap_bytes + 5);
		CU_ASSERT_EQUAL(word(frame.data + 4), i);
		for (uint32_t at = 8; at < frame.cap_bytes; at++)
			CU_ASSERT_EQUAL_FATAL(frame.data[at], (uint8_t)i);
	}
	CU_ASSERT_EQUAL(tl_pcap_next(reader, &frame, &err), 0);
	tl_pcap_close(reader);
}

TL_TEST("pcap output has identical frames in order")
{
	static const uint32_t threads[] = {1, 4};

	for (size_t t = 0; t < TL_ARRAY_LEN(threads); t++) {
		struct stage *s = set_up(1, 64, 0, TL_RECODE_PCAP, threads[t]);
		start(s);
		for (uint32_t i = 0; i < 2000; i++) {
			put(s, 0, i % 3 == 0 ? TL_DIR_TX : TL_DIR_RX, BOTH_DIRECTIONS,
				UINT64_C(1700000000999999990) + i, 8 + i % 1400);
			if (i % 10 == 0)
				take_one(s);
		}
		end(s);
		check_pcap(s, 2000);
		CU_ASSERT_EQUAL(s->counted[0][TL_DIR_TX], s->put[0][TL_DIR_TX]);
		CU_ASSERT_EQUAL(s->counted[0][TL_DIR_RX], s->put[0][TL_DIR_RX]);
		tear_down(s);
	}
}

// Return the slab with this number, before its ring reuses it.
static const uint8_t *sealed_before(const struct tl_slab_ring *ring, uint64_t sequence)
{
	struct tl_pcapng_head head;
	uint8_t *at;
	uint64_t bytes = tl_slab_memory(ring, &at);

	for (const uint8_t *last = at + bytes; at < last; at += SLAB_BYTES)
		if (tl_pcapng_get_head(at, SLAB_BYTES, &head) == 0 && head.sequence == sequence)
			return at;
	return NULL;
}

TL_TEST("compressed slabs unpack to the same bytes, in order")
{
	static const uint32_t threads[] = {1, 4};

	for (size_t t = 0; t < TL_ARRAY_LEN(threads); t++) {
		struct stage *s = set_up(1, 64, 0, TL_RECODE_ZSTD, threads[t]);
		for (uint32_t i = 0; i < 2000; i++)
			put(s, 0, TL_DIR_TX, false, 100 + i, 8 + i * 7 % 1400);
		tl_slab_seal(s->rings[0]);
		start(s);
		for (uint64_t i = 0; s->n_records < 2000; i++) {
			wait_for_slabs(s, i + 1);
			const uint8_t *slab = sealed_before(s->rings[0], i);
			CU_ASSERT_PTR_NOT_NULL_FATAL(slab);
			struct tl_pcapng_head head;
			tl_pcapng_get_head(slab, SLAB_BYTES, &head);
			CU_ASSERT_EQUAL(memcmp(s->unpacked, slab, tl_align_up(head.used_bytes, TL_PCAPNG_ALIGN)), 0);
		}
		end(s);
		check_complete(s);
		check_sorted(s);
		tear_down(s);
	}
}

TL_TEST("a slab that cannot be compressed is passed on empty with its counts")
{
	struct stage *s = set_up(1, 64, 0, TL_RECODE_ZSTD, 1);

	for (uint32_t i = 0; i < 3; i++)
		put_slab(s, 0, 100 + i);
	atomic_store(&calls_until_failure, 2);
	start(s);
	end(s);
	CU_ASSERT_EQUAL(s->slabs, 3);
	CU_ASSERT_EQUAL(s->empty_slabs, 1);
	CU_ASSERT_EQUAL(s->counted[0][TL_DIR_RX], s->put[0][TL_DIR_RX]);
	CU_ASSERT_EQUAL(s->n_records, s->put[0][TL_DIR_RX] * 2 / 3);
	tear_down(s);
}

TL_TEST("without merging each ring keeps its order")
{
	struct stage *s = set_up(3, 128, 0, TL_RECODE_ZSTD, 4);

	put_at_random(s, 6000, 99);
	CU_ASSERT_EQUAL(s->n_records, 6000);
	check_complete(s);
	tear_down(s);
}

TL_TEST("both stages together sort and compress")
{
	for (uint64_t seed = 20; seed < 24; seed++) {
		struct stage *s = set_up(1 + seed % RINGS_MAX, 128, WINDOW_NS, TL_RECODE_ZSTD, 1 + seed % 3);
		put_at_random(s, 6000, seed);
		CU_ASSERT_EQUAL(s->n_records, 6000);
		check_sorted(s);
		check_complete(s);
		tear_down(s);
	}
}

TL_TEST("a recoder that was not started or has no work ends")
{
	struct stage *s = set_up(2, 8, WINDOW_NS, TL_RECODE_ZSTD, 2);

	CU_ASSERT_TRUE(tl_recode_ended(s->recode));
	start(s);
	CU_ASSERT_FALSE(tl_recode_ended(s->recode));
	end(s);
	CU_ASSERT_EQUAL(s->slabs, 0);
	tear_down(s);
}

TL_TEST("a failed creation leaves no resources")
{
	struct stage *s = set_up(1, 8, 0, TL_RECODE_ZSTD, 1);
	struct tl_recode_cfg cfg = cfg_of(s, WINDOW_NS, 1); // the first ring succeeds, the second exists already
	struct tl_recode *second = NULL;
	struct tl_err err = {.text = ""};
	uint8_t *memory;

	CU_ASSERT_TRUE(tl_recode_create(&cfg, &second, &err) < 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "there is one of this name already"));
	CU_ASSERT_PTR_NULL(second);
	cfg.form = TL_RECODE_PCAPNG;
	CU_ASSERT_EQUAL_FATAL(tl_recode_create(&cfg, &second, &err), 0);
	CU_ASSERT_EQUAL(tl_recode_memory_bytes(&cfg), tl_slab_memory(tl_recode_ring(second), &memory));
	tl_recode_destroy(second);
	cfg = cfg_of(s, 0, 1);
	CU_ASSERT_EQUAL(tl_recode_memory_bytes(&cfg), tl_slab_memory(tl_recode_ring(s->recode), &memory));
	tear_down(s);
}

int main(void)
{
	tl_test_eal_start();
	return tl_test_run("recode");
}
