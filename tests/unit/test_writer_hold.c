// SPDX-License-Identifier: BSD-3-Clause
// writer, holding: data around a trigger reaches a file, all other data is counted as expired, and no record is both.

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <tl_err.h>
#include <tl_pcapfile.h>
#include <tl_index.h>
#include <tl_test.h>
#include <tl_test_eal.h>
#include <tl_test_writer_rig.h>
#include <tl_writer.h>

#include <writer_priv.h>

#define FRAME_BYTES 64
#define S TL_NS_PER_S
#define SETTLE_NS S // and some more: an episode ends a second after its last slab may have been begun
#define NUMBERS 256

static uint64_t now_ns(void *ctx)
{
	struct rig *rig = ctx;
	uint64_t late_ns = atomic_exchange(&rig->late_ns, 0);

	if (late_ns != 0) {
		atomic_store(&rig->trigger_ns, atomic_load(&rig->now_ns));
		atomic_store(&rig->now_ns, late_ns);
	}
	return atomic_load(&rig->now_ns);
}

static uint64_t triggered(void *ctx, bool saving)
{
	struct rig *rig = ctx;

	atomic_fetch_add(&rig->looks, 1);
	return atomic_exchange(&rig->trigger_ns, 0);
}

static struct tl_writer_cfg holding(struct tl_writer_hold_cfg hold, struct tl_writer_policy policy)
{
	hold.settle_ns = SETTLE_NS;
	hold.now_ns = now_ns;
	hold.triggered = triggered;
	return (struct tl_writer_cfg){.policy = policy, .hold = hold};
}

static void rig_create(struct rig *rig, struct tl_writer_hold_cfg hold, struct tl_writer_policy policy)
{
	rig_dir(rig);
	atomic_store(&rig->now_ns, 1000 * S);
	rig_make(rig, holding(hold, policy));
}

static void rig_start(struct rig *rig, struct tl_writer_hold_cfg hold)
{
	rig_create(rig, hold, (struct tl_writer_policy){0});
	rig_run(rig);
}

// Wait until the writer has seen the current state: its second poll from here began after this call.
static void wait_for_looks(struct rig *rig)
{
	unsigned from = atomic_load(&rig->looks);

	CU_ASSERT_FATAL(tl_test_until(atomic_load(&rig->looks) - from >= 3));
}

static void set_time(struct rig *rig, uint64_t second)
{
	atomic_store(&rig->now_ns, second * S);
	wait_for_looks(rig);
}

static void trigger(struct rig *rig)
{
	atomic_store(&rig->trigger_ns, atomic_load(&rig->now_ns));
	wait_for_looks(rig);
}

// A record that contains only its number: 0, 1, 2 …
static void commit(struct rig *rig, uint32_t ring)
{
	CU_ASSERT_FATAL(put_frame(rig, ring, FRAME_BYTES, atomic_load(&rig->now_ns)));
}

// Write a slab of one record.
static void slab(struct rig *rig, uint32_t ring)
{
	commit(rig, ring);
	tl_slab_seal(rig->rings[ring]);
	wait_for_looks(rig);
}

// Write a slab at each of these seconds.
static void slabs(struct rig *rig, uint32_t ring, uint64_t from, uint64_t to)
{
	for (uint64_t second = from; second <= to; second++) {
		set_time(rig, second);
		slab(rig, ring);
	}
}

// ---- results

// Count the records of a file by number. Return true if the file is complete.
static bool count_records(const char *path, unsigned seen[NUMBERS])
{
	struct tl_pcap_reader *reader;
	struct tl_pcap_frame frame;
	struct tl_err err = {{0}};

	if (tl_pcap_open(path, &reader, &err) != 0)
		return false;
	while (tl_pcap_next(reader, &frame, &err) == 1)
		seen[frame.data[0]]++;
	tl_pcap_close(reader);
	return err.text[0] == '\0';
}

static bool is_part(const struct rig *rig, uint32_t index)
{
	uint32_t n;
	const char *const *files = tl_writer_files(rig->writer, &n);

	return index < n && strstr(files[index], ".part") != NULL;
}

// Check that the n-th file holds exactly the records from..to.
static void check_records(const struct rig *rig, uint32_t index, unsigned from, unsigned to)
{
	unsigned seen[NUMBERS] = {0};
	uint32_t n;
	const char *const *files = tl_writer_files(rig->writer, &n);

	CU_ASSERT_FATAL(index < n);
	CU_ASSERT(count_records(files[index], seen));
	for (unsigned number = 0; number < NUMBERS; number++) {
		CU_ASSERT_EQUAL(seen[number], number >= from && number <= to);
		if (seen[number] != (number >= from && number <= to))
			printf("# record %u: %u times in file %u\n", number, seen[number], index);
	}
}

// Check that the file is complete, too.
static void check_file(const struct rig *rig, uint32_t index, unsigned from, unsigned to)
{
	CU_ASSERT_FALSE(is_part(rig, index));
	check_records(rig, index, from, to);
}

static uint64_t expired(const struct rig *rig)
{
	struct tl_writer_stats stats;

	tl_writer_stats(rig->writer, &stats);
	return stats.expired_pkts[TL_DIR_RX] + stats.expired_pkts[TL_DIR_TX];
}

// Check that every record has one outcome, and that the directory has this number of files and no others.
static void check_ledger(const struct rig *rig, uint64_t written, uint64_t dropped, unsigned files)
{
	struct tl_writer_stats stats;
	struct dirent *entry;
	unsigned found = 0;

	tl_writer_stats(rig->writer, &stats);
	CU_ASSERT_EQUAL(stats.written_pkts[TL_DIR_RX], written);
	CU_ASSERT_EQUAL(stats.drop_disk_pkts[TL_DIR_RX], dropped);
	CU_ASSERT_EQUAL(expired(rig), rig->frames - written - dropped);
	DIR *dir = opendir(rig->dir);
	while ((entry = readdir(dir)) != NULL)
		found += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
	closedir(dir);
	CU_ASSERT_EQUAL(found, files);
}

// Check that the frames counted as written are in the files, except for the expired ones.
static void check_sums(const struct rig *rig)
{
	struct tl_writer_stats stats;
	unsigned seen[NUMBERS] = {0};
	uint64_t sum = 0;
	uint32_t n;
	const char *const *files = tl_writer_files(rig->writer, &n);

	for (uint32_t i = 0; i < n; i++)
		CU_ASSERT(count_records(files[i], seen));
	for (unsigned number = 0; number < NUMBERS; number++)
		sum += seen[number];
	tl_writer_stats(rig->writer, &stats);
	CU_ASSERT_EQUAL(stats.written_pkts[TL_DIR_RX], sum);
	CU_ASSERT_EQUAL(sum + expired(rig), rig->frames);
}

static uint32_t count_complete(const struct rig *rig)
{
	uint32_t n, done = 0;
	const char *const *files = tl_writer_files(rig->writer, &n);

	for (uint32_t f = 0; f < n; f++)
		done += strstr(files[f], ".part") == NULL;
	return done;
}

static bool wait_for_files(const struct rig *rig, uint32_t complete)
{
	return tl_test_until(count_complete(rig) >= complete);
}

// ---- the tests

TL_TEST("without a trigger nothing is written and no file remains")
{
	struct rig rig;

	rig_start(&rig, (struct tl_writer_hold_cfg){.pre_ns = 10 * S, .post_ns = 5 * S});
	slabs(&rig, 0, 1001, 1005);
	CU_ASSERT_EQUAL(expired(&rig), 0);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	check_ledger(&rig, 0, 0, 0);
	rig_close(&rig);
}

TL_TEST("the pre-trigger window has the configured duration")
{
	struct rig rig;

	rig_start(&rig, (struct tl_writer_hold_cfg){.pre_ns = 5 * S});
	slabs(&rig, 0, 1001, 1009); // records 0..8, of which 1004 and later are in the window
	CU_ASSERT_EQUAL(expired(&rig), 3);
	trigger(&rig);
	set_time(&rig, 1012);
	CU_ASSERT(wait_for_files(&rig, 1));
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	check_file(&rig, 0, 3, 8);
	check_ledger(&rig, 6, 0, 1);
	rig_close(&rig);
}

// A busy writer notices the trigger late: the window is that of the trigger nevertheless.
TL_TEST("a trigger reported late counts from its own time")
{
	struct rig rig;

	rig_start(&rig, (struct tl_writer_hold_cfg){.pre_ns = 3 * S});
	slabs(&rig, 0, 1001, 1005); // records 0..4, of which 1002 and later are in the window
	atomic_store(&rig.late_ns, 1007 * S);
	wait_for_looks(&rig);
	slabs(&rig, 0, 1008, 1008);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	check_file(&rig, 0, 1, 4);
	check_ledger(&rig, 4, 0, 1);
	rig_close(&rig);
}

TL_TEST("the window does not exceed its configured bytes over all rings")
{
	const uint64_t slab_bytes = TL_PCAPNG_HEAD_BYTES + tl_pcapng_epb_bytes(FRAME_BYTES, 0, 0);
	struct rig rig;

	rig_start(&rig, (struct tl_writer_hold_cfg){.pre_ns = 100 * S, .pre_bytes = 4 * slab_bytes});
	for (uint32_t i = 0; i < 5; i++) { // the oldest are evicted, from either ring
		slabs(&rig, 0, 1001 + 2 * i, 1001 + 2 * i);
		slabs(&rig, 1, 1002 + 2 * i, 1002 + 2 * i);
	}
	CU_ASSERT_EQUAL(expired(&rig), 6);
	trigger(&rig);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	check_file(&rig, 0, 6, 9);
	check_ledger(&rig, 4, 0, 1);
	rig_close(&rig);
}

TL_TEST("the window always leaves free slabs to the lcore")
{
	struct rig rig;

	rig_start(&rig, (struct tl_writer_hold_cfg){.pre_ns = 1000 * S});
	for (int i = 0; i < 5 * SLABS; i++)
		slab(&rig, 0); // fails if there is no room
	CU_ASSERT_EQUAL(expired(&rig), 5 * SLABS - (SLABS - tl_writer_hold_spare(SLABS)));
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	check_ledger(&rig, 0, 0, 0);
	rig_close(&rig);
}

TL_TEST("data is saved until the post-trigger time has passed")
{
	struct rig rig;

	rig_start(&rig, (struct tl_writer_hold_cfg){.pre_ns = 2 * S, .post_ns = 3 * S});
	trigger(&rig); // at 1000, when no slab is held
	slabs(&rig, 0, 1001, 1004);
	slabs(&rig, 0, 1010, 1010);
	CU_ASSERT(wait_for_files(&rig, 1));
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	check_file(&rig, 0, 0, 2); // 1001, 1002, 1003
	check_ledger(&rig, 3, 0, 1);
	rig_close(&rig);
}

// The age of a slab is that of its first record.
TL_TEST("a slab sealed late belongs to the episode in which it was opened")
{
	struct rig rig;

	rig_start(&rig, (struct tl_writer_hold_cfg){.post_ns = 3 * S});
	trigger(&rig);
	set_time(&rig, 1003);
	commit(&rig, 1);
	slabs(&rig, 0, 1004, 1004); // not saved, and not the end either, as the other ring may have more
	tl_slab_seal(rig.rings[1]);
	wait_for_looks(&rig);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	check_file(&rig, 0, 0, 0);
	check_ledger(&rig, 1, 0, 1);
	rig_close(&rig);
}

TL_TEST("a trigger during an episode extends it")
{
	struct rig rig;

	rig_start(&rig, (struct tl_writer_hold_cfg){.pre_ns = S, .post_ns = 3 * S});
	slabs(&rig, 0, 1001, 1001);
	trigger(&rig);
	slabs(&rig, 0, 1002, 1003);
	trigger(&rig);
	slabs(&rig, 0, 1004, 1008);
	set_time(&rig, 1020);
	CU_ASSERT(wait_for_files(&rig, 1));
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	check_file(&rig, 0, 0, 5); // 1001 to 1006
	check_ledger(&rig, 6, 0, 1);
	rig_close(&rig);
}

TL_TEST("a trigger after an episode begins the next file")
{
	struct rig rig;
	struct tl_writer_stats stats;

	rig_start(&rig, (struct tl_writer_hold_cfg){.pre_ns = 2 * S, .post_ns = S});
	slabs(&rig, 0, 1001, 1001);
	trigger(&rig);
	set_time(&rig, 1010);
	CU_ASSERT(wait_for_files(&rig, 1));
	slabs(&rig, 1, 1020, 1021);
	trigger(&rig);
	set_time(&rig, 1030);
	CU_ASSERT(wait_for_files(&rig, 2));
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	check_file(&rig, 0, 0, 0);
	check_file(&rig, 1, 1, 2);
	check_ledger(&rig, 3, 0, 2);
	tl_writer_stats(rig.writer, &stats);
	CU_ASSERT_EQUAL(stats.files, 2);
	rig_close(&rig);
}

// The windows overlap, the files do not: a record is in one of them.
TL_TEST("no record is saved twice in overlapping windows")
{
	struct rig rig;

	rig_start(&rig, (struct tl_writer_hold_cfg){.pre_ns = 50 * S});
	slabs(&rig, 0, 1001, 1003);
	trigger(&rig);
	slabs(&rig, 0, 1010, 1012);
	CU_ASSERT(wait_for_files(&rig, 1));
	trigger(&rig);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	check_file(&rig, 0, 0, 2);
	check_file(&rig, 1, 3, 5);
	check_ledger(&rig, 6, 0, 2);
	rig_close(&rig);
}

TL_TEST("the end completes an episode with the slabs sealed last")
{
	struct rig rig;

	rig_start(&rig, (struct tl_writer_hold_cfg){.pre_ns = 9 * S, .post_ns = 100 * S});
	slabs(&rig, 0, 1001, 1003);
	atomic_store(&rig.trigger_ns, 1003 * S);
	commit(&rig, 0);
	commit(&rig, 1); // both sealed only at the end
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	check_file(&rig, 0, 0, 4);
	check_ledger(&rig, 5, 0, 1);
	rig_close(&rig);
}

// Wait until the helper has the next file open, which the writer does not wait for long.
static void wait_for_next_file(struct rig *rig)
{
	CU_ASSERT_FATAL(tl_test_until(tl_test_has_next(rig->writer)));
}

TL_TEST("an episode longer than the rotation period continues in further files")
{
	struct rig rig;

	rig_create(&rig, (struct tl_writer_hold_cfg){.pre_ns = 99 * S, .post_ns = 9 * S},
		(struct tl_writer_policy){.rotate_packets = 4});
	rig_run(&rig);
	slabs(&rig, 0, 1001, 1004);
	trigger(&rig);
	wait_for_next_file(&rig);
	slabs(&rig, 0, 1005, 1006);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	check_file(&rig, 0, 0, 3);
	check_file(&rig, 1, 4, 5);
	check_ledger(&rig, 6, 0, 2);
	rig_close(&rig);
}

// Without a limit on files, a new episode is added to the existing ones.
TL_TEST("a rotation between episodes has no effect")
{
	struct rig rig;

	rig_start(&rig, (struct tl_writer_hold_cfg){.pre_ns = 9 * S});
	slabs(&rig, 0, 1001, 1001);
	tl_writer_rotate(rig.writer);
	wait_for_looks(&rig);
	trigger(&rig);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	check_file(&rig, 0, 0, 0);
	check_ledger(&rig, 1, 0, 1);
	rig_close(&rig);
}

static void limit_file_size(rlim_t bytes)
{
	static rlim_t unlimited;
	struct rlimit limit;

	getrlimit(RLIMIT_FSIZE, &limit);
	if (bytes != 0)
		unlimited = limit.rlim_cur;
	limit.rlim_cur = bytes != 0 ? bytes : unlimited;
	setrlimit(RLIMIT_FSIZE, &limit);
}

TL_TEST("data of an episode refused by the disk is counted as dropped")
{
	struct rig rig;

	limit_file_size(TL_PCAPNG_ALIGN); // the prologue
	rig_start(&rig, (struct tl_writer_hold_cfg){.pre_ns = 4 * S});
	slabs(&rig, 0, 1001, 1009);
	trigger(&rig);
	slabs(&rig, 1, 1010, 1010);
	CU_ASSERT_EQUAL(rig_stop(&rig), -EFBIG);
	limit_file_size(0);
	check_ledger(&rig, 0, 5, 1);
	rig_close(&rig);
}

TL_TEST("an episode larger than the rotation size continues in the next file")
{
	struct rig rig;

	limit_file_size(4 * TL_PCAPNG_ALIGN); // the prologue and three slabs of one record
	rig_start(&rig, (struct tl_writer_hold_cfg){.pre_ns = 4 * S});
	slabs(&rig, 0, 1001, 1009);
	trigger(&rig);
	slabs(&rig, 1, 1010, 1010);
	rig_stop(&rig);
	limit_file_size(0);
	check_records(&rig, 0, 4, 6);
	CU_ASSERT(is_part(&rig, 0)); // no room for its last blocks
	check_ledger(&rig, 5, 0, 2);
	rig_close(&rig);
}

// The directory is removed: the first file is open already, the second cannot be created.
TL_TEST("an episode without a file is dropped, and the lcore always has free slabs")
{
	struct tl_writer_stats stats;
	struct rig rig;
	char away[80];

	rig_start(&rig, (struct tl_writer_hold_cfg){.pre_ns = 9 * S});
	slabs(&rig, 0, 1001, 1001);
	snprintf(away, sizeof(away), "%s.away", rig.dir);
	CU_ASSERT_EQUAL(rename(rig.dir, away), 0);
	trigger(&rig);
	set_time(&rig, 1010);
	slabs(&rig, 0, 1020, 1020);
	trigger(&rig);
	for (int i = 0; i < 3 * SLABS; i++) {
		slab(&rig, 0); // there is always room
		trigger(&rig);
	}
	CU_ASSERT_EQUAL(rig_stop(&rig), -ENOENT);
	tl_writer_stats(rig.writer, &stats);
	CU_ASSERT_EQUAL(stats.written_pkts[TL_DIR_RX], 1);
	CU_ASSERT_EQUAL(stats.drop_disk_pkts[TL_DIR_RX], 3 * SLABS + 1);
	CU_ASSERT_EQUAL(expired(&rig), 0);
	CU_ASSERT_EQUAL(rename(away, rig.dir), 0);
	rig_close(&rig);
}

// ---- in the files of a ring

static void rig_start_ring(struct rig *rig, struct tl_writer_hold_cfg hold, struct tl_writer_policy policy)
{
	hold.in_files = true;
	rig_create(rig, hold, policy);
	rig_run(rig);
}

static bool wait_for_name(const struct rig *rig, const char *name)
{
	return tl_test_until(tl_test_exists(rig->dir, name));
}

static uint64_t files_begun(const struct rig *rig)
{
	struct tl_writer_stats stats;

	tl_writer_stats(rig->writer, &stats);
	return stats.files;
}

static void rotate(struct rig *rig)
{
	uint64_t begun = files_begun(rig);

	tl_writer_rotate(rig->writer);
	CU_ASSERT_FATAL(tl_test_until(files_begun(rig) == begun + 1));
}

static const struct tl_writer_policy ring_of_three = {.rotate_packets = 100, .keep_files = 3};

// Including the current one: those of 1006, 1007 and 1008.
TL_TEST("data removed by the ring counts as expired")
{
	struct rig rig;

	rig_start_ring(&rig, (struct tl_writer_hold_cfg){.pre_ns = 2 * S}, ring_of_three);
	slabs(&rig, 0, 1001, 1001);
	for (uint64_t second = 1002; second <= 1008; second++) {
		rotate(&rig);
		slabs(&rig, 0, second, second);
	}
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	check_ledger(&rig, 3, 0, 3);
	CU_ASSERT_EQUAL(expired(&rig), 5);
	rig_close(&rig);
}

// Make a sidecar without rows.
static void put_sidecar(const struct rig *rig, const char *recording)
{
	char path[200];

	snprintf(path, sizeof(path), "%s/%s", rig->dir, recording);
	CU_ASSERT_EQUAL_FATAL(tl_index_rows_write(&(struct tl_index_rows){0}, path, 0, 0), 0);
}

TL_TEST("a trigger exempts the files of its time from removal")
{
	struct rig rig;

	rig_start_ring(&rig, (struct tl_writer_hold_cfg){.pre_ns = 2 * S, .post_ns = S},
		(struct tl_writer_policy){.rotate_packets = 100, .keep_files = 5});
	for (uint64_t second = 1001; second <= 1005; second++) { // x.pcapng, x_00001.pcapng …
		slabs(&rig, 0, second, second);
		if (second < 1005)
			rotate(&rig);
	}
	CU_ASSERT(wait_for_name(&rig, "x_00003.pcapng"));
	put_sidecar(&rig, "x_00003.pcapng");
	trigger(&rig);
	CU_ASSERT(wait_for_name(&rig, "x_00003.saved.pcapng.tlx"));
	CU_ASSERT(wait_for_name(&rig, "x_00003.saved.pcapng"));
	slabs(&rig, 0, 1006, 1007); // 1007 is after the window, but in the same file as 1006
	set_time(&rig, 1009);
	CU_ASSERT(wait_for_name(&rig, "x_00004.saved.pcapng"));
	for (uint64_t second = 1010; second <= 1014; second++) {
		slabs(&rig, 0, second, second);
		rotate(&rig);
	}
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	CU_ASSERT(tl_test_exists(rig.dir, "x_00002.saved.pcapng")); // of 1003, when the window began
	CU_ASSERT_FALSE(tl_test_exists(rig.dir, "x_00001.saved.pcapng"));
	CU_ASSERT_FALSE(tl_test_exists(rig.dir, "x_00005.saved.pcapng"));
	check_sums(&rig);
	CU_ASSERT_EQUAL(expired(&rig), 3); // 1001, 1002 and 1010
	rig_close(&rig);
}

static atomic_bool completing; // otherwise the helper waits before it completes a file

static uint32_t put_gated_epilogue(void *ctx, void *buf, uint32_t size)
{
	while (!atomic_load(&completing))
		usleep(1000);
	return put_epilogue(ctx, buf, size);
}

// When the helper reaches the file, it has the window of the last trigger, no longer the file's.
TL_TEST("the file with the end of an episode is saved even if completed late")
{
	struct rig rig;

	rig_create(&rig, (struct tl_writer_hold_cfg){.in_files = true, .pre_ns = S, .post_ns = 2 * S}, ring_of_three);
	rig.writer->cfg.epilogue = put_gated_epilogue;
	atomic_store(&completing, false);
	rig_run(&rig);
	slabs(&rig, 0, 1001, 1001);
	trigger(&rig);
	wait_for_next_file(&rig);
	rotate(&rig);
	slabs(&rig, 0, 1003, 1003); // the end of the window
	set_time(&rig, 1005);
	slabs(&rig, 0, 1010, 1010);
	trigger(&rig);
	atomic_store(&completing, true);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	CU_ASSERT(tl_test_exists(rig.dir, "x.saved.pcapng"));
	CU_ASSERT(tl_test_exists(rig.dir, "x_00001.saved.pcapng"));
	check_sums(&rig);
	rig_close(&rig);
}

TL_TEST("a file of an earlier run is not saved")
{
	const struct tl_writer_hold_cfg hold = {.pre_ns = 2000 * S};
	const struct tl_writer_policy policy = {.keep_files = 10, .rotate_packets = 100};
	struct rig rig;

	rig_start_ring(&rig, hold, policy);
	slabs(&rig, 0, 1001, 1001);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	rig_end(&rig);
	rig_make(&rig, holding((struct tl_writer_hold_cfg){.in_files = true, .pre_ns = 2000 * S}, policy));
	rig_run(&rig);
	slabs(&rig, 0, 1002, 1002);
	trigger(&rig);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	CU_ASSERT(tl_test_exists(rig.dir, "x.pcapng"));
	CU_ASSERT(tl_test_exists(rig.dir, "x_00001.saved.pcapng"));
	rig_close(&rig);
}

TL_TEST("an existing saved name is skipped")
{
	struct rig rig;
	char path[128];

	rig_start_ring(&rig, (struct tl_writer_hold_cfg){.pre_ns = S}, ring_of_three);
	snprintf(path, sizeof(path), "%s/x.saved.pcapng", rig.dir);
	close(open(path, O_CREAT | O_WRONLY, 0600));
	slabs(&rig, 0, 1001, 1001);
	trigger(&rig);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	CU_ASSERT(tl_test_exists(rig.dir, "x.saved_1.pcapng"));
	check_sums(&rig);
	rig_close(&rig);
}

// ---- a directory that rejects the names of saved files: renameat2() replaced

static atomic_int refusal; // an errno; 0: none

int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
	int code = atomic_load(&refusal); // read it once: the test clears it at any time

	if (code == 0 || strstr(to, ".saved") == NULL)
		return (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, flags);
	errno = code;
	return -1;
}

// One file is complete when its trigger occurs, the other is completed later. Then the ring wraps.
static void save_refused(struct rig *rig)
{
	rig_start_ring(rig, (struct tl_writer_hold_cfg){.pre_ns = 10 * S}, ring_of_three);
	slabs(rig, 0, 1001, 1001);
	rotate(rig);
	CU_ASSERT(wait_for_name(rig, "x.pcapng"));
	slabs(rig, 0, 1002, 1002);
	atomic_store(&refusal, EACCES);
	trigger(rig);
	for (uint64_t second = 1004; second <= 1009; second++) {
		rotate(rig);
		slabs(rig, 0, second, second);
	}
	CU_ASSERT(wait_for_name(rig, "x_00001.pcapng"));
	CU_ASSERT(tl_test_exists(rig->dir, "x.pcapng"));
}

TL_TEST("a failed save is retried")
{
	struct rig rig;

	save_refused(&rig);
	atomic_store(&refusal, 0);
	CU_ASSERT(wait_for_name(&rig, "x.saved.pcapng"));
	CU_ASSERT(wait_for_name(&rig, "x_00001.saved.pcapng"));
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	CU_ASSERT_PTR_NULL(tl_writer_error(rig.writer));
	check_sums(&rig);
	rig_close(&rig);
}

TL_TEST("a save that still fails at the end is an error")
{
	struct rig rig;

	save_refused(&rig);
	CU_ASSERT_EQUAL(rig_stop(&rig), -EACCES);
	atomic_store(&refusal, 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(tl_writer_error(rig.writer));
	CU_ASSERT_PTR_NOT_NULL(strstr(tl_writer_error(rig.writer), "x_00001.pcapng"));
	CU_ASSERT(tl_test_exists(rig.dir, "x.pcapng") &&
		  tl_test_exists(rig.dir, "x_00001.pcapng")); // the ring leaves them alone
	check_sums(&rig);
	rig_close(&rig);
}

TL_TEST("a pipe is refused")
{
	struct tl_err err = {{0}};
	struct rig rig;

	rig_dir(&rig);
	rmdir(rig.dir);
	strcpy(rig.path, "/dev/null");
	rig_rings(&rig);
	CU_ASSERT_EQUAL(
		rig_writer(&rig, holding((struct tl_writer_hold_cfg){0}, (struct tl_writer_policy){0}), &err), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "/dev/null"));
	rig_end(&rig);
}

TL_TEST("a writer that was not started leaves no file")
{
	struct rig rig;

	rig_create(&rig, (struct tl_writer_hold_cfg){.pre_ns = S}, (struct tl_writer_policy){0});
	rig_end(&rig);
	CU_ASSERT_EQUAL(rmdir(rig.dir), 0);
}

int main(void)
{
	signal(SIGXFSZ, SIG_IGN);
	tl_test_eal_start();
	return tl_test_run("writer_hold");
}
