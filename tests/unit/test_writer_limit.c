// SPDX-License-Identifier: BSD-3-Clause
// writer: the limit of the bytes taken from the rings, and the load. Limits are so low or high that the time between
// two calls does not matter.

#include <signal.h>

#include <tl_test.h>
#include <tl_test_eal.h>
#include <tl_test_writer_found.h>
#include <tl_units.h>

#include "writer_priv.h"

#define LOW UINT64_C(64)	       // bytes per second
#define HIGH (UINT64_C(1) << 41)       // the largest: a slab in 30 ns
#define LONG_NS (100000 * TL_NS_PER_S) // earns more than the largest credit

// A writer without threads.
static void rig_idle(struct rig *rig)
{
	struct tl_err err;

	rig_dir(rig);
	CU_ASSERT_EQUAL_FATAL(rig_create(rig, PWRITE, 0, &err), 0);
}

static const struct tl_slab full = {.sealed_bytes = SLAB_BYTES};

static void wait_long(struct tl_writer *writer)
{
	writer->share.earned_ns = tl_mono_ns() - LONG_NS;
}

TL_TEST("the credit of a limited writer is a slab and a 32nd part of a second")
{
	struct rig rig;

	rig_idle(&rig);
	struct tl_writer *writer = rig.writer;
	CU_ASSERT(tl_writer_may_take(writer)); // no limit
	tl_writer_count_taken(writer, &full);
	CU_ASSERT_EQUAL(writer->share.credit_bytes, 0);
	tl_writer_set_limit(writer, LOW);
	wait_long(writer);
	CU_ASSERT(tl_writer_may_take(writer));
	CU_ASSERT_EQUAL(writer->share.credit_bytes, SLAB_BYTES + 2);
	tl_writer_count_taken(writer, &full);
	CU_ASSERT(tl_writer_may_take(writer));
	tl_writer_count_taken(writer, &full);
	CU_ASSERT(!tl_writer_may_take(writer)); // below 0
	rig_close(&rig);
}

TL_TEST("a new limit applies at once, to a writer that waits, too")
{
	struct rig rig;

	rig_idle(&rig);
	struct tl_writer *writer = rig.writer;
	tl_writer_set_limit(writer, 0);
	wait_long(writer);
	CU_ASSERT(!tl_writer_may_take(writer));
	for (int i = 0; i < 100; i++)
		tl_writer_count_taken(writer, &full);
	tl_writer_set_limit(writer, HIGH);
	CU_ASSERT(tl_test_until(tl_writer_may_take(writer)));
	wait_long(writer);
	CU_ASSERT(tl_writer_may_take(writer));
	tl_writer_set_limit(writer, 0);
	(void)tl_writer_may_take(writer);
	CU_ASSERT(writer->share.credit_bytes <= SLAB_BYTES); // credit of the higher limit is lost
	rig_close(&rig);
}

// The ring fills up, as with a disk that stalls: the lcore finds no slab. Return the records committed.
static uint32_t fill(struct rig *rig, uint32_t most)
{
	for (uint32_t i = 0; i < most; i++) {
		if (tl_slab_reserve(rig->rings[0], 2048, 0) == NULL)
			return i;
		commit_one(rig, 0);
	}
	return most;
}

static atomic_uint rounds; // of the writer's thread

static void start_now(struct tl_writer *writer, struct tl_writer_write *write)
{
	write->result = tl_writer_file_write(write->file, write->data, write->len_bytes, write->offset_bytes);
}

static void reap_and_count(struct tl_writer *writer, bool wait)
{
	atomic_fetch_add(&rounds, 1);
}

static void fini_nothing(struct tl_writer *writer)
{
}

static const struct tl_writer_backend counting = {
	.depth = 1, .start = start_now, .reap = reap_and_count, .fini = fini_nothing};

TL_TEST("slabs above the limit wait in the ring, and are the backlog")
{
	struct rig rig;
	struct tl_writer_load load;

	rig_idle(&rig);
	rig.writer->backend = &counting;
	tl_writer_set_limit(rig.writer, 0);
	CU_ASSERT_EQUAL_FATAL(tl_writer_start(rig.writer, &(struct tl_err){{0}}), 0);
	uint32_t most = 4 * SLABS * SLAB_BYTES / 700;
	CU_ASSERT(fill(&rig, most) < most);
	unsigned from = atomic_load(&rounds);
	CU_ASSERT(tl_test_until(atomic_load(&rounds) - from >= 3)); // it has looked at the full ring
	tl_writer_load(rig.writer, &load);
	CU_ASSERT_EQUAL(load.backlog_bytes, SLABS * SLAB_BYTES);
	CU_ASSERT_EQUAL(load.in_bytes, load.backlog_bytes);
	CU_ASSERT_EQUAL(load.done_bytes, 0);
	tl_writer_set_limit(rig.writer, HIGH);
	CU_ASSERT(tl_test_until((tl_writer_load(rig.writer, &load), load.done_bytes > 0 && load.backlog_bytes == 0)));
	CU_ASSERT(tl_test_until((tl_writer_load(rig.writer, &load), load.done_bytes == load.in_bytes)));
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	check_complete(&rig);
	rig_close(&rig);
}

TL_TEST("the end of the recording lifts the limit")
{
	struct rig rig;

	rig_idle(&rig);
	tl_writer_set_limit(rig.writer, 0);
	CU_ASSERT_EQUAL_FATAL(tl_writer_start(rig.writer, &(struct tl_err){{0}}), 0);
	for (int i = 0; i < 100; i++)
		commit_one(&rig, i % RINGS);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	CU_ASSERT_EQUAL(count(&rig, false), 100);
	check_complete(&rig);
	rig_close(&rig);
}

// ---- a disk that does not answer

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void start_behind_gate(struct tl_writer *writer, struct tl_writer_write *write)
{
	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
	start_now(writer, write);
}

static const struct tl_writer_backend gated = {
	.depth = 1, .start = start_behind_gate, .reap = reap_and_count, .fini = fini_nothing};

TL_TEST("time spent waiting for the disk is busy time")
{
	struct rig rig;
	struct tl_writer_load load;

	rig_idle(&rig);
	rig.writer->backend = &gated;
	pthread_mutex_lock(&gate);
	CU_ASSERT_EQUAL_FATAL(tl_writer_start(rig.writer, &(struct tl_err){{0}}), 0);
	commit_one(&rig, 0);
	seal(&rig);
	CU_ASSERT(tl_test_until((tl_writer_load(rig.writer, &load), load.busy_ns > TL_NS_PER_MS))); // goes on meanwhile
	CU_ASSERT(load.in_bytes != 0 && load.backlog_bytes == 0 && load.done_bytes == 0);
	pthread_mutex_unlock(&gate);
	CU_ASSERT(tl_test_until((tl_writer_load(rig.writer, &load), load.done_bytes == load.in_bytes)));
	CU_ASSERT(load.busy_ns > TL_NS_PER_MS);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	rig_close(&rig);
}

int main(void)
{
	signal(SIGXFSZ, SIG_IGN);
	tl_test_eal_start();
	return tl_test_run("writer with a limit");
}
