// SPDX-License-Identifier: BSD-3-Clause
// writer, rotation: files of a recording, their names, and the start of the next file.

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <tl_err.h>
#include <tl_index.h>
#include <tl_test.h>
#include <tl_test_eal.h>
#include <tl_test_writer_found.h>

#include "writer_priv.h"

static void rotate_with(enum io io)
{
	// Without the reserve for the epilogue, 16 full slabs would fit.
	const uint64_t limit = 16 * SLAB_BYTES + TL_PCAPNG_ALIGN;
	struct rig rig;
	struct stat status;
	char second[128];
	uint32_t n;

	rig_open(&rig, io, limit);
	commit(&rig, 20000);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	check_complete(&rig);
	const char *const *files = tl_writer_files(rig.writer, &n);
	CU_ASSERT_FATAL(n > 16); // more than the initial array of names holds
	for (uint32_t i = 0; i < n; i++) {
		CU_ASSERT_EQUAL(stat(files[i], &status), 0);
		CU_ASSERT((uint64_t)status.st_size <= limit);
		CU_ASSERT(i == n - 1 || (uint64_t)status.st_size > limit - 3 * SLAB_BYTES);
	}
	snprintf(second, sizeof(second), "%s/x_00001.pcapng", rig.dir);
	CU_ASSERT_STRING_EQUAL(files[0], rig.path);
	CU_ASSERT_STRING_EQUAL(files[1], second);
	struct tl_writer_stats stats;
	tl_writer_stats(rig.writer, &stats);
	CU_ASSERT_EQUAL(stats.files, n);
	rig_close(&rig);
}

TL_TEST("a rotated file is complete and within its size")
{
	rotate_with(URING);
	rotate_with(PWRITE);
}

TL_TEST("the number of a rotated file precedes its suffix")
{
	static const struct {
		const char *path;
		const char *second;
	} table[] = {
		{"x.pcapng", "x_00001.pcapng"},
		{"a.b/x", "a.b/x_00001"},
		{"/a/.x", "/a/.x_00001"},
		{"/a/x.y.z", "/a/x.y_00001.z"},
		{"x.%S", "x.36_00001"},
	};

	for (size_t i = 0; i < TL_ARRAY_LEN(table); i++) {
		struct tl_writer_pattern pattern;
		CU_ASSERT_EQUAL(tl_writer_pattern_init(&pattern, table[i].path, NULL), 0);
		char *second = tl_writer_pattern_expand(&pattern, 1234567896, 1);
		CU_ASSERT_STRING_EQUAL(second, table[i].second);
		free(second);
	}
}

// 1234567890 is 2009-02-13 23:31:30 UTC, independent of the host's time zone.
TL_TEST("file names contain the time in UTC")
{
	static const struct {
		const char *path;
		const char *name;
	} table[] = {
		{"x_%Y%m%d-%H%M%S.pcapng", "x_20090213-233130.pcapng"},
		{"%F_%T.pcapng", "2009-02-13_23:31:30.pcapng"},
		{"%y.%j.pcapng", "09.044.pcapng"},
		{"a/%s.pcapng", "a/1234567890.pcapng"},
		{"50%%_%H", "50%_23"},
	};

	setenv("TZ", "Asia/Kolkata", 1);
	tzset();
	for (size_t i = 0; i < TL_ARRAY_LEN(table); i++) {
		struct tl_writer_pattern pattern;
		uint32_t number;
		bool part;
		CU_ASSERT_EQUAL(tl_writer_pattern_init(&pattern, table[i].path, NULL), 0);
		char *path = tl_writer_pattern_expand(&pattern, 1234567890, 0);
		CU_ASSERT_STRING_EQUAL(path, table[i].name);
		CU_ASSERT(tl_writer_pattern_match(&pattern, path + strlen(pattern.dir), &number, &part));
		CU_ASSERT_EQUAL(number, 0);
		free(path);
	}
	unsetenv("TZ");
	tzset();
}

TL_TEST("a path with unknown conversions is refused")
{
	static const char *const table[] = {"%q.pcapng", "x%", "%Y/x.pcapng", "dir/", "%c", "%-H.pcapng"};
	struct tl_err err;
	char longest[300];

	for (size_t i = 0; i < TL_ARRAY_LEN(table); i++) {
		err.text[0] = '\0';
		CU_ASSERT_EQUAL(tl_writer_check_path(table[i], &err), -EINVAL);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, table[i]));
	}
	memset(longest, 'x', sizeof(longest));
	longest[240] = '\0';
	CU_ASSERT_EQUAL(tl_writer_check_path(longest, &err), -ENAMETOOLONG);
	longest[239] = '\0';
	CU_ASSERT_EQUAL(tl_writer_check_path(longest, &err), 0);
}

TL_TEST("only names that fit the pattern count as files of the recording")
{
	static const struct {
		const char *path, *name;
		int number; // -1: no match
		bool part;
	} table[] = {
		{"x.pcapng", "x.pcapng", 0, false},
		{"x.pcapng", "x.pcapng.part", 0, true},
		{"x.pcapng", "x_00001.pcapng", 1, false},
		{"x.pcapng", "x_99999.pcapng.part", 99999, true},
		{"x.pcapng", "x_100000.pcapng", 100000, false},
		{"x.pcapng", "x_00000.pcapng", -1, false},
		{"x.pcapng", "x_000001.pcapng", -1, false},
		{"x.pcapng", "x_0001.pcapng", -1, false},
		{"x.pcapng", "x_00001", -1, false},
		{"x.pcapng", "x_.pcapng", -1, false},
		{"x.pcapng", "x_00001a.pcapng", -1, false},
		{"x.pcapng", "x_00001.pcapng.part2", -1, false},
		{"x.pcapng", "xx.pcapng", -1, false},
		{"x.pcapng", "ax.pcapng", -1, false},
		{"x.pcapng", "x.pcapng.gz", -1, false},
		{"x.pcapng", "x", -1, false},
		{"x.pcapng", "", -1, false},
		{"x.pcapng", ".x.pcapng.next", -1, false},
		{"x_%H%M.p", "x_2359.p", 0, false},
		{"x_%H%M.p", "x_2359_00012.p", 12, false},
		{"x_%H%M.p", "x_235.p", -1, false},
		{"x_%H%M.p", "x_23590.p", -1, false},
		{"x_%H%M.p", "x_%H%M.p", -1, false},
		{"x_%H%M.p", "x_00001.p", -1, false},
		{"%%.p", "%.p", 0, false},
		{"%%.p", "%%.p", -1, false},
	};

	for (size_t i = 0; i < TL_ARRAY_LEN(table); i++) {
		struct tl_writer_pattern pattern;
		uint32_t number;
		bool part = false;
		CU_ASSERT_EQUAL(tl_writer_pattern_init(&pattern, table[i].path, NULL), 0);
		bool match = tl_writer_pattern_match(&pattern, table[i].name, &number, &part);
		if (match != (table[i].number >= 0))
			printf("# %s, %s\n", table[i].path, table[i].name);
		CU_ASSERT_EQUAL(match, table[i].number >= 0);
		if (match) {
			CU_ASSERT_EQUAL(number, (uint32_t)table[i].number);
			CU_ASSERT_EQUAL(part, table[i].part);
		}
	}
}

TL_TEST("if the next file cannot be opened the recording continues in the current one")
{
	struct rig rig;
	struct tl_err err;
	char name[128];
	uint32_t n;

	rig_dir(&rig);
	snprintf(name, sizeof(name), "%s/.x.pcapng.next", rig.dir);
	CU_ASSERT_EQUAL_FATAL(rig_create(&rig, URING, 1 << 20, &err), 0);
	int in_use = open(name, O_WRONLY | O_CREAT | O_EXCL, 0600); // the name of the next file
	CU_ASSERT_EQUAL(flock(in_use, LOCK_EX), 0);
	CU_ASSERT_EQUAL(tl_writer_start(rig.writer, &err), 0);
	commit(&rig, 5000);
	CU_ASSERT(wait_for(&rig, false, 3000));
	tl_writer_files(rig.writer, &n);
	CU_ASSERT_EQUAL(n, 1);
	CU_ASSERT_EQUAL(unlink(name), 0);
	close(in_use);
	CU_ASSERT(tl_test_until(tl_test_has_next(rig.writer))); // it retries
	commit(&rig, 5000);
	CU_ASSERT_EQUAL(rig_stop(&rig), -EBUSY);
	CU_ASSERT_PTR_NOT_NULL_FATAL(tl_writer_error(rig.writer));
	CU_ASSERT_PTR_NOT_NULL(strstr(tl_writer_error(rig.writer), name));
	tl_writer_files(rig.writer, &n);
	CU_ASSERT(n > 1);
	check_complete(&rig);
	rig_close(&rig);
}

// Check whether the helper has no pending work.
static bool all_but_one_are_complete(const struct rig *rig)
{
	struct tl_writer_stats stats;

	tl_writer_stats(rig->writer, &stats);
	return tl_test_count_files(rig->dir, ".pcapng") == stats.files - 1 &&
	       tl_test_count_files(rig->dir, ".part") == 1;
}

TL_TEST("a file of a ring is called .part until it is complete")
{
	struct rig rig;
	struct tl_writer_stats stats;
	uint32_t n;

	rig_open(&rig, URING, 1 << 20);
	CU_ASSERT(tl_test_exists(rig.dir, "x.pcapng.part"));
	CU_ASSERT_FALSE(tl_test_exists(rig.dir, "x.pcapng"));
	commit(&rig, 3000);
	seal(&rig);
	CU_ASSERT(wait_for(&rig, false, 3000));
	CU_ASSERT(tl_test_until(all_but_one_are_complete(&rig)));
	const char *const *files = tl_writer_files(rig.writer, &n);
	CU_ASSERT(n > 1);
	CU_ASSERT_STRING_EQUAL(files[0], rig.path);
	CU_ASSERT_PTR_NOT_NULL(strstr(files[n - 1], ".pcapng.part"));
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	tl_writer_stats(rig.writer, &stats);
	CU_ASSERT_EQUAL(stats.files, n);
	check_complete(&rig);
	check_ring(&rig);
	rig_close(&rig);
}

// At full seconds, even without records.
TL_TEST("timed rotation occurs at full periods, even without packets")
{
	struct rig rig;
	struct found found = {0};
	uint32_t n;
	bool closed;

	rig_dir(&rig);
	strcpy(strrchr(rig.path, '/'), "/x_%s.pcapng");
	rig_start_ring(&rig, URING, (struct tl_writer_policy){.rotate_seconds = 1});
	CU_ASSERT(wait_files(&rig, 3));
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	const char *const *files = tl_writer_files(rig.writer, &n);
	CU_ASSERT_FATAL(n >= 3);
	for (uint32_t i = 1; i < n; i++) { // no two begin in one second, therefore none needs a number
		long before = strtol(strrchr(files[i - 1], '_') + 1, NULL, 10);
		CU_ASSERT(strtol(strrchr(files[i], '_') + 1, NULL, 10) > before);
	}
	CU_ASSERT(files_are_right(&rig, &found, &closed));
	CU_ASSERT(closed);
	rig_close(&rig);
}

// The clock was an hour fast when the time of the next rotation was set.
TL_TEST("a backward clock step does not postpone the next rotation")
{
	struct rig rig;
	struct tl_err err;
	uint64_t now_s = (uint64_t)time(NULL);

	rig_dir(&rig);
	CU_ASSERT_EQUAL_FATAL(rig_create_ring(&rig, PWRITE, (struct tl_writer_policy){.rotate_seconds = 10}, &err), 0);
	tl_writer_set_rotation_time(rig.writer, now_s + 3600);
	CU_ASSERT(rig.writer->rotate_at_s > now_s + 3600);
	tl_writer_rotate_if_due(rig.writer);
	CU_ASSERT(rig.writer->rotate_at_s > now_s);
	CU_ASSERT(rig.writer->rotate_at_s <= (uint64_t)time(NULL) + 10);
	CU_ASSERT_EQUAL(rig.writer->rotate_at_s % 10, 0);
	rig_close(&rig);
}

TL_TEST("files rotate by packet count")
{
	struct rig rig;
	uint32_t n;

	rig_dir(&rig);
	rig_start_ring(&rig, URING, (struct tl_writer_policy){.rotate_packets = 500});
	for (int i = 0; i < 50; i++) {
		commit(&rig, 100);
		seal(&rig);
		tl_test_settle(rig.writer, rig.rings, RINGS);
	}
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	check_complete(&rig);
	const char *const *files = tl_writer_files(rig.writer, &n);
	CU_ASSERT(n >= 10 && n <= 15);
	for (uint32_t i = 0; i < n; i++) {
		struct found found = {.gaps = true};
		bool closed;
		CU_ASSERT(file_is_right(files[i], &found, &closed));
		CU_ASSERT(found.records[TL_DIR_RX] + found.records[TL_DIR_TX] <= 500);
	}
	rig_close(&rig);
}

TL_TEST("a file is rotated on demand")
{
	struct rig rig;

	rig_open(&rig, URING, 0);
	commit(&rig, 1000);
	tl_writer_rotate(rig.writer);
	CU_ASSERT(wait_files(&rig, 2));
	commit(&rig, 1000);
	tl_writer_rotate(rig.writer);
	CU_ASSERT(wait_files(&rig, 3));
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	CU_ASSERT(tl_test_exists(rig.dir, "x.pcapng") && tl_test_exists(rig.dir, "x_00001.pcapng") &&
		  tl_test_exists(rig.dir, "x_00002.pcapng"));
	check_complete(&rig);
	check_ring(&rig);
	rig_close(&rig);
}

TL_TEST("a file that rotates by size is preallocated and truncated at its end")
{
	const uint64_t limit = 8 << 20;
	struct rig rig;
	struct stat status;

	rig_dir(&rig);
	rig_start_ring(&rig, URING, (struct tl_writer_policy){.rotate_bytes = limit});
	commit(&rig, 2000);
	CU_ASSERT(wait_for(&rig, false, 1000));
	uint32_t n;
	const char *const *files = tl_writer_files(rig.writer, &n);
	CU_ASSERT_EQUAL_FATAL(n, 1);
	CU_ASSERT_EQUAL(stat(files[0], &status), 0);
	CU_ASSERT_EQUAL((uint64_t)status.st_size, limit);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	CU_ASSERT_EQUAL(stat(rig.path, &status), 0);
	CU_ASSERT((uint64_t)status.st_size < limit / 2);
	check_complete(&rig);
	rig_close(&rig);
}

TL_TEST("an existing name is skipped")
{
	struct rig rig;

	rig_dir(&rig);
	put_file(&rig, "x.pcapng", NULL);
	put_file(&rig, "x_00002.pcapng", NULL);
	rig_start(&rig, URING, 1 << 20);
	commit(&rig, 4000);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	CU_ASSERT(tl_test_exists(rig.dir, "x_00001.pcapng") && tl_test_exists(rig.dir, "x_00003.pcapng"));
	check_complete(&rig);
	rig_close(&rig);
}

static atomic_bool gate_is_open;

static uint32_t put_gated_epilogue(void *ctx, void *buf, uint32_t size)
{
	CU_ASSERT(tl_test_until(atomic_load(&gate_is_open)));
	return put_epilogue(ctx, buf, size);
}

// No file is completed before all slabs are taken, therefore no next file is opened; the writer continues in the
// current one.
TL_TEST("a slow close does not stall the writing")
{
	struct rig rig;
	struct tl_err err;

	rig_dir(&rig);
	CU_ASSERT_EQUAL_FATAL(rig_create(&rig, URING, 1 << 20, &err), 0);
	rig.writer->patience_ns = TL_WRITER_PATIENCE_NS;
	rig.writer->cfg.epilogue = put_gated_epilogue;
	atomic_store(&gate_is_open, false);
	CU_ASSERT_EQUAL(tl_writer_start(rig.writer, &err), 0);
	commit(&rig, 10000); // 8 files, far more than fits in the rings
	atomic_store(&gate_is_open, true);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	check_complete(&rig);
	rig_close(&rig);
}

static void grow_beyond_the_limit(enum io io, struct tl_writer_policy policy)
{
	struct rig rig;
	uint32_t n;

	rig_dir(&rig);
	limit_file_size((1 << 20) + 3 * TL_PCAPNG_ALIGN);
	rig_start_ring(&rig, io, policy);
	commit(&rig, 10000);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	limit_file_size(0);
	CU_ASSERT_PTR_NULL(tl_writer_error(rig.writer));
	tl_writer_files(rig.writer, &n);
	CU_ASSERT(n > 5);
	check_complete(&rig);
	rig_close(&rig);
}

TL_TEST("a file at its size limit is closed for the next without losses")
{
	grow_beyond_the_limit(URING, (struct tl_writer_policy){.rotate_bytes = 64 << 20});
	grow_beyond_the_limit(PWRITE, (struct tl_writer_policy){.rotate_seconds = 3600});
	grow_beyond_the_limit(FAULTY, (struct tl_writer_policy){.rotate_packets = 100000});
}

// The helper is held in the prologue of the next file. Waiting loses no data as long as the rings have room: with
// origins those of the origins.
static void wait_for_next_file(struct tl_slab_ring *const *origins, uint32_t slabs)
{
	const struct tl_writer_policy policy = {.rotate_packets = 100};
	const char *const *files;
	struct rig rig;
	struct tl_err err;
	uint32_t n;

	rig_dir(&rig);
	pthread_mutex_init(&rig.gate, NULL);
	rig.gated = true;
	pthread_mutex_lock(&rig.gate);
	CU_ASSERT_EQUAL_FATAL(rig_create_ring(&rig, URING, policy, &err), 0);
	rig.writer->patience_ns = 1;
	rig.writer->cfg.origins = origins;
	rig.writer->cfg.n_origins = origins != NULL ? RINGS : 0;
	CU_ASSERT_EQUAL_FATAL(tl_writer_start(rig.writer, &err), 0);
	commit(&rig, 90);
	seal(&rig);
	CU_ASSERT(wait_for(&rig, false, 90));
	for (uint32_t i = 0; i < slabs; i++) {
		commit(&rig, 60 / slabs);
		seal(&rig);
	}
	CU_ASSERT(tl_test_until(tl_test_wants_next(rig.writer)));
	usleep(20000); // time in which it could continue in the first file
	pthread_mutex_unlock(&rig.gate);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	files = tl_writer_files(rig.writer, &n);
	CU_ASSERT_EQUAL(n, 2);
	for (uint32_t i = 0; i < n; i++) {
		struct found found = {.gaps = true};
		bool closed;
		CU_ASSERT(file_is_right(files[i], &found, &closed));
		CU_ASSERT(found.records[TL_DIR_RX] + found.records[TL_DIR_TX] <= 100);
	}
	check_complete(&rig);
	rig_close(&rig);
}

TL_TEST("a rotation waits for the next file while the buffer is half free")
{
	wait_for_next_file(NULL, 1);
}

TL_TEST("a rotation of converted slabs waits while the source rings have space")
{
	struct tl_slab_cfg cfg = {.name = "lcore", .slab_bytes = SLAB_BYTES, .slabs = SLABS, .socket_id = -1};
	struct tl_slab_ring *origin;
	struct tl_err err;

	CU_ASSERT_EQUAL_FATAL(tl_slab_create(&cfg, &origin, &err), 0);
	wait_for_next_file((struct tl_slab_ring *const[RINGS]){origin, origin}, 12);
	tl_slab_destroy(origin);
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	tl_test_eal_start();
	return tl_test_run("writer_rotation");
}
