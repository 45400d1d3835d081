// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Numbered records in the two rings of a rig, and the counters of its writer.

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <tl_test_writer_rig.h>

enum io { URING, PWRITE, FAULTY };

static inline int rig_create_ring(struct rig *rig, enum io io, struct tl_writer_policy policy, struct tl_err *err)
{
	struct tl_writer_cfg cfg = {.io = io == URING ? TL_WRITER_IO_URING : TL_WRITER_IO_PWRITE,
		.policy = policy,
		.index = rig->index,
		.statistics_ns = rig->statistics_ns,
		.reader_may_leave = rig->reader_may_leave};

	rig_rings(rig);
	int rc = rig_writer(rig, cfg, err);
	if (rc == 0 && io == FAULTY) {
		memset(&tl_test_faulty, 0, sizeof(tl_test_faulty));
		rig->writer->backend = &tl_test_faulty_backend;
	}
	return rc;
}

static inline int rig_create(struct rig *rig, enum io io, uint64_t rotate_bytes, struct tl_err *err)
{
	return rig_create_ring(rig, io, (struct tl_writer_policy){.rotate_bytes = rotate_bytes}, err);
}

static inline void rig_start_ring(struct rig *rig, enum io io, struct tl_writer_policy policy)
{
	struct tl_err err;
	int rc = rig_create_ring(rig, io, policy, &err);

	if (rc != 0)
		printf("# %s\n", err.text);
	CU_ASSERT_EQUAL_FATAL(rc, 0);
	rig_run(rig);
}

static inline void rig_start(struct rig *rig, enum io io, uint64_t rotate_bytes)
{
	rig_start_ring(rig, io, (struct tl_writer_policy){.rotate_bytes = rotate_bytes});
}

static inline void rig_open(struct rig *rig, enum io io, uint64_t rotate_bytes)
{
	rig_dir(rig);
	rig_start(rig, io, rotate_bytes);
}

static inline uint32_t frame_bytes(uint32_t number)
{
	return 60 + number * 37 % 1400;
}

// Commit one record: its ring and number, then its number's low byte.
static inline void commit_one(struct rig *rig, uint32_t ring)
{
	uint32_t number = rig->committed[ring]++;
	enum tl_dir dir = number % 3 == 0 ? TL_DIR_TX : TL_DIR_RX;
	struct tl_pcapng_epb epb = {
		.interface_id = ring, .cap_bytes = frame_bytes(number), .flags = TL_PCAPNG_INBOUND + dir};
	uint32_t len = tl_pcapng_epb_bytes(epb.cap_bytes, epb.flags, 0);
	void *room;

	epb.wire_bytes = epb.cap_bytes;
	while ((room = tl_slab_reserve(rig->rings[ring], len, 0)) == NULL)
		usleep(50);
	uint8_t *data = tl_pcapng_put_epb(room, &epb);
	memset(data, (int)(number & 0xff), epb.cap_bytes);
	memcpy(data, &ring, 4);
	memcpy(data + 4, &number, 4);
	tl_slab_commit(rig->rings[ring], len, dir);
	rig->committed_dir[dir]++;
	rig->committed_flow[ring][dir]++;
}

static inline void commit(struct rig *rig, uint32_t records)
{
	for (uint32_t i = 0; i < records; i++)
		commit_one(rig, i % 3 == 0 ? 1 : 0);
}

static inline uint64_t count(const struct rig *rig, bool dropped)
{
	struct tl_writer_stats stats;

	tl_writer_stats(rig->writer, &stats);
	const uint64_t *pkts = dropped ? stats.drop_disk_pkts : stats.written_pkts;
	return pkts[TL_DIR_RX] + pkts[TL_DIR_TX];
}

// Wait until the sum of one of two counters has reached a value.
static inline bool wait_for(const struct rig *rig, bool dropped, uint64_t least)
{
	return tl_test_until(count(rig, dropped) >= least);
}

// Create a file of a few bytes, or one that begins like a recording.
static inline void put_file(const struct rig *rig, const char *name, const char *application)
{
	char path[192];
	uint8_t text[256] = "not a recording";
	uint32_t len = 15;

	snprintf(path, sizeof(path), "%s/%s", rig->dir, name);
	if (application != NULL)
		len = tl_pcapng_put_shb(text, sizeof(text), &(struct tl_pcapng_shb){.application = application});
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	CU_ASSERT(write(fd, text, len) == (ssize_t)len);
	close(fd);
}

static inline uint64_t count_begun(const struct rig *rig)
{
	struct tl_writer_stats stats;

	tl_writer_stats(rig->writer, &stats);
	return stats.files;
}

static inline bool wait_files(const struct rig *rig, uint64_t files)
{
	return tl_test_until(count_begun(rig) >= files);
}

static inline uint64_t bytes_of(const struct rig *rig, const char *end)
{
	const char *const *files;
	struct stat status;
	uint64_t bytes = 0;
	uint32_t n;

	files = tl_writer_files(rig->writer, &n);
	for (uint32_t i = 0; i < n; i++)
		if (strcmp(strrchr(files[i], '.'), end) == 0 && stat(files[i], &status) == 0)
			bytes += (uint64_t)status.st_size;
	return bytes;
}

static inline void limit_file_size(rlim_t bytes)
{
	struct rlimit limit;

	getrlimit(RLIMIT_FSIZE, &limit);
	limit.rlim_cur = bytes == 0 ? limit.rlim_max : bytes;
	CU_ASSERT_EQUAL(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static inline uint64_t sum(const uint64_t pkts[TL_DIRS])
{
	return pkts[TL_DIR_RX] + pkts[TL_DIR_TX];
}
