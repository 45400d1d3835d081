// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// A writer in a private directory, and one or two rings of slabs that the test fills.

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include <tl_err.h>
#include <tl_test.h>
#include <tl_test_writer.h>

#include "writer_priv.h"

#define RINGS 2
#define SLAB_BYTES 65536
#define SLABS 16

struct rig {
	char dir[64];
	char path[96];
	uint32_t n_rings, slabs; // of the rings that are created next
	struct tl_slab_ring *rings[RINGS];
	struct tl_writer *writer;
	uint32_t frames; // committed by put_frame()
	// Numbered records, see tl_test_writer_records.h:
	uint32_t committed[RINGS];
	uint64_t committed_dir[TL_DIRS];
	uint64_t committed_flow[RINGS][TL_DIRS];
	uint64_t statistics_ns;
	bool reader_may_leave;
	bool index;
	// The writer's threads:
	uint32_t epilogues; // requests for statistics blocks
	bool gated;	    // the helper's prologues wait for the gate
	uint32_t prologues; // prologues that have reached the gate
	pthread_mutex_t gate;
	// A recording that is held. Its time advances only when the test moves it, so that the window is exact.
	_Atomic(uint64_t) now_ns;
	_Atomic(uint64_t) trigger_ns;
	_Atomic(uint64_t) late_ns; // time of the writer's next poll, at which it notices the current trigger
	atomic_uint looks;	   // polls of the writer
};

static inline uint32_t put_prologue(void *ctx, void *buf, uint32_t size)
{
	struct rig *rig = ctx;

	if (rig->gated && pthread_equal(pthread_self(), rig->writer->helper.thread)) {
		__atomic_add_fetch(&rig->prologues, 1, __ATOMIC_ACQ_REL);
		pthread_mutex_lock(&rig->gate);
		pthread_mutex_unlock(&rig->gate);
	}
	uint32_t used = tl_pcapng_put_shb(buf, size, &(struct tl_pcapng_shb){.application = "tapline test"});
	for (uint32_t i = 0; i < rig->n_rings; i++)
		used += tl_pcapng_put_idb((uint8_t *)buf + used, size - used, &(struct tl_pcapng_idb){.name = "test0"});
	return used;
}

static inline uint32_t put_epilogue(void *ctx, void *buf, uint32_t size)
{
	struct rig *rig = ctx;
	uint32_t used = 0;

	__atomic_fetch_add(&rig->epilogues, 1, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < rig->n_rings; i++)
		used += tl_pcapng_put_isb(
			(uint8_t *)buf + used, size - used, &(struct tl_pcapng_isb){.interface_id = i});
	return used;
}

// Initialize a rig without a directory.
static inline void rig_init(struct rig *rig)
{
	memset(rig, 0, sizeof(*rig));
	rig->n_rings = RINGS;
	rig->slabs = SLABS;
}

static inline void rig_dir(struct rig *rig)
{
	rig_init(rig);
	tl_test_make_dir(rig->dir, rig->path);
}

static inline void rig_rings(struct rig *rig)
{
	struct tl_err err;

	for (uint32_t i = 0; i < rig->n_rings; i++) {
		char name[24];
		snprintf(name, sizeof(name), "writer%u", i);
		struct tl_slab_cfg cfg = {.name = name,
			.slab_bytes = SLAB_BYTES,
			.slabs = rig->slabs,
			.socket_id = -1,
			.run_id = 7,
			.ring_index = i};
		CU_ASSERT_EQUAL_FATAL(tl_slab_create(&cfg, &rig->rings[i], &err), 0);
	}
}

// Create the writer of the rings. cfg is without path, rings and their blocks.
static inline int rig_writer(struct rig *rig, struct tl_writer_cfg cfg, struct tl_err *err)
{
	cfg.path = rig->path;
	cfg.rings = rig->rings;
	cfg.n_rings = rig->n_rings;
	cfg.prologue = put_prologue;
	cfg.epilogue = put_epilogue;
	cfg.ctx = rig;
	int rc = tl_writer_create(&cfg, &rig->writer, err);
	if (rc == 0)
		tl_test_wait_for_files(rig->writer);
	return rc;
}

// Create rings and writer.
static inline void rig_make(struct rig *rig, struct tl_writer_cfg cfg)
{
	struct tl_err err = {{0}};

	rig_rings(rig);
	CU_ASSERT_EQUAL_FATAL(rig_writer(rig, cfg, &err), 0);
}

static inline void rig_run(struct rig *rig)
{
	struct tl_err err = {{0}};

	CU_ASSERT_EQUAL_FATAL(tl_writer_start(rig->writer, &err), 0);
}

static inline void seal(struct rig *rig)
{
	for (uint32_t i = 0; i < rig->n_rings; i++)
		tl_slab_seal(rig->rings[i]);
}

static inline int rig_stop(struct rig *rig)
{
	struct tl_err err;

	seal(rig);
	return tl_writer_stop(rig->writer, &err);
}

// Destroy writer and rings, so that the next run can begin in the directory.
static inline void rig_end(struct rig *rig)
{
	tl_writer_destroy(rig->writer);
	rig->writer = NULL;
	for (uint32_t i = 0; i < rig->n_rings; i++) {
		tl_slab_destroy(rig->rings[i]);
		rig->rings[i] = NULL;
	}
}

static inline void rig_close(struct rig *rig)
{
	rig_end(rig);
	tl_test_remove_dir(rig->dir);
}

// Commit a frame with its number, repeated as a byte; false without a free slab.
static inline bool put_frame(struct rig *rig, uint32_t ring, uint32_t bytes, uint64_t ts_ns)
{
	const struct tl_pcapng_epb epb = {.cap_bytes = bytes, .wire_bytes = bytes};
	uint32_t len = tl_pcapng_epb_bytes(bytes, 0, 0), number = rig->frames;
	void *room = tl_slab_reserve(rig->rings[ring], len, ts_ns);

	if (room == NULL)
		return false;
	uint8_t *data = tl_pcapng_put_epb(room, &epb);
	memset(data, (int)number, bytes);
	memcpy(data, &number, sizeof(number));
	tl_slab_commit(rig->rings[ring], len, TL_DIR_RX);
	rig->frames++;
	return true;
}

// Commit frames of a size, waiting for free slabs.
static inline void put_frames(struct rig *rig, uint32_t frames, uint32_t bytes)
{
	while (frames > 0)
		if (put_frame(rig, 0, bytes, 0))
			frames--;
		else
			usleep(50);
}
