// SPDX-License-Identifier: BSD-3-Clause
// writer, sidecar: a sidecar describes exactly the slabs of its file.

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tl_err.h>
#include <tl_index.h>
#include <tl_test.h>
#include <tl_test_eal.h>
#include <tl_test_writer_found.h>

#include "writer_priv.h"

// Sums over the sidecars of all files.
struct indexed {
	uint64_t rows, records, blank;
};

// Each row refers to an existing slab and equals a row computed from the file.
static void check_sidecar(const char *path, struct indexed *sum)
{
	char name[192];
	size_t size = 0, file_size = 0;
	struct tl_index_reader reader;
	struct tl_index_row row, again;
	struct tl_index_builder *builder = tl_index_builder_create();

	snprintf(name, sizeof(name), "%s" TL_INDEX_SUFFIX, path);
	uint8_t *sidecar = tl_test_read_file(name, &size), *file = tl_test_read_file(path, &file_size);
	CU_ASSERT_PTR_NOT_NULL_FATAL(sidecar);
	CU_ASSERT_EQUAL_FATAL(tl_index_open(&reader, sidecar, size), 0);
	CU_ASSERT(reader.header.file_bytes == file_size && reader.header.run_id == 7);
	int rc;
	while ((rc = tl_index_next(&reader, &row)) == 1) {
		struct tl_pcapng_head head;
		CU_ASSERT_EQUAL_FATAL(tl_pcapng_get_head(file + row.offset_bytes, row.len_bytes, &head), 0);
		CU_ASSERT_EQUAL(tl_index_build(builder, file + row.offset_bytes, head.used_bytes, row.len_bytes,
					row.offset_bytes, &again),
			0);
		bool blank = row.bloom_bytes == 0;
		CU_ASSERT(row.records == again.records && row.sequence == again.sequence && row.ring == again.ring);
		CU_ASSERT(blank || (row.first_ns == again.first_ns && row.last_ns == again.last_ns));
		CU_ASSERT(blank || (row.bloom_bytes == again.bloom_bytes &&
					   memcmp(row.bloom, again.bloom, row.bloom_bytes) == 0));
		sum->rows++;
		sum->records += row.records;
		sum->blank += blank;
	}
	CU_ASSERT_EQUAL(rc, 0);
	tl_index_builder_destroy(builder);
	free(sidecar);
	free(file);
}

// Record with rotation and an index; everything written must be in the index.
static void record_indexed(enum io io, void (*prepare)(struct rig *), struct indexed *sum)
{
	struct rig rig;
	struct tl_err err;
	struct tl_writer_stats stats;
	uint32_t n;

	rig_dir(&rig);
	rig.index = true;
	CU_ASSERT_EQUAL_FATAL(rig_create(&rig, io, 1 << 20, &err), 0);
	if (prepare != NULL)
		prepare(&rig);
	CU_ASSERT_EQUAL_FATAL(tl_writer_start(rig.writer, &err), 0);
	commit(&rig, 20000);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	check_complete(&rig);
	tl_writer_stats(rig.writer, &stats);
	const char *const *files = tl_writer_files(rig.writer, &n);
	for (uint32_t i = 0; i < n; i++)
		check_sidecar(files[i], sum);
	CU_ASSERT_EQUAL(sum->records, stats.written_pkts[TL_DIR_RX] + stats.written_pkts[TL_DIR_TX]);
	rig_close(&rig);
}

TL_TEST("a sidecar has a row for each slab of its file")
{
	struct indexed sum = {0};

	record_indexed(URING, NULL, &sum);
	CU_ASSERT(sum.rows > 16);
	CU_ASSERT(sum.blank < sum.rows);
}

// Submit slabs one by one, each after the previous one was returned: the index keeps up.
TL_TEST("every row is complete when slabs arrive slowly")
{
	struct indexed sum = {0};
	struct rig rig;

	rig_dir(&rig);
	rig.index = true;
	rig_start(&rig, PWRITE, 0);
	for (int slab = 0; slab < 3 * SLABS; slab++) {
		commit_one(&rig, 0);
		seal(&rig);
		CU_ASSERT(tl_test_until(tl_slab_used(rig.rings[0]) == 0));
	}
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	check_sidecar(rig.path, &sum);
	CU_ASSERT_EQUAL(sum.rows, 3 * SLABS);
	CU_ASSERT_EQUAL(sum.blank, 0);
	rig_close(&rig);
}

TL_TEST("a sidecar is correct after failed writes")
{
	struct indexed sum = {0};

	record_indexed(FAULTY, NULL, &sum);
	CU_ASSERT(tl_test_faulty.failed > 10);
}

static void hold_nothing(struct rig *rig)
{
	rig->writer->index.held_max = 0;
}

TL_TEST("when the indexer is behind, rows hold only slab positions")
{
	struct indexed sum = {0};

	record_indexed(URING, hold_nothing, &sum);
	CU_ASSERT(sum.rows > 16);
	CU_ASSERT_EQUAL(sum.blank, sum.rows);
}

TL_TEST("a ring removes a sidecar with its file")
{
	struct rig rig;

	rig_dir(&rig);
	rig.index = true;
	rig_start_ring(&rig, URING, (struct tl_writer_policy){.rotate_bytes = 1 << 20, .keep_files = 3});
	put_file(&rig, "x.pcapng.tlx", NULL); // of another program
	commit(&rig, 20000);
	CU_ASSERT_EQUAL(rig_stop(&rig), 0);
	CU_ASSERT_EQUAL(tl_test_count_files(rig.dir, ".pcapng"), 3);
	CU_ASSERT(tl_test_count_files(rig.dir, ".tlx") <= 3 + 1); // fewer if the index thread fell too far behind
	CU_ASSERT(tl_test_exists(rig.dir, "x.pcapng.tlx"));
	check_ring(&rig);
	rig_close(&rig);
}

// A large slab is rejected, and a small one after it is not: it takes the large one's offset.
TL_TEST("a sidecar has no rows for refused slabs")
{
	struct rig rig;
	struct tl_err err;
	struct tl_writer_stats stats;
	struct indexed sum = {0};

	rig_dir(&rig);
	rig.index = true;
	CU_ASSERT_EQUAL_FATAL(rig_create(&rig, URING, 0, &err), 0);
	for (int slab = 0; slab < 2; slab++) {
		for (int i = 0; i < 100; i++)
			commit_one(&rig, 0);
		commit_one(&rig, 1);
		seal(&rig);
	}
	limit_file_size(TL_PCAPNG_ALIGN + SLAB_BYTES + 10 * TL_PCAPNG_ALIGN);
	CU_ASSERT_EQUAL(tl_writer_start(rig.writer, &err), 0);
	CU_ASSERT_EQUAL(rig_stop(&rig), -EFBIG);
	limit_file_size(0);
	tl_writer_stats(rig.writer, &stats);
	CU_ASSERT(stats.drop_disk_pkts[TL_DIR_RX] > 0);
	check_sidecar(rig.path, &sum);
	CU_ASSERT(sum.rows >= 3);
	CU_ASSERT_EQUAL(sum.records, stats.written_pkts[TL_DIR_RX] + stats.written_pkts[TL_DIR_TX]);
	rig_close(&rig);
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	tl_test_eal_start();
	return tl_test_run("writer_sidecar");
}
