// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Read the files of a rig's writer block by block, and compare them with the ledger.

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tl_test_writer_records.h>

// Contents found in the files.
struct found {
	uint32_t next[RINGS]; // next record number of a ring
	uint64_t records[TL_DIRS];
	uint64_t sequence[RINGS];
	uint64_t bytes;
	bool gaps;	 // records may be missing
	bool stream;	 // with gaps, and without HEAD and PAD
	bool statistics; // ISBs before the last
	uint32_t isbs;
	uint64_t file;	  // file id in the HEADs of the last file
	uint32_t checked; // slabs with a correct sum
};

static inline bool epb_is_right(const uint8_t *block, struct found *found)
{
	uint32_t ring, number, cap_bytes, flags;

	memcpy(&cap_bytes, block + 20, 4);
	memcpy(&ring, block + 28, 4);
	memcpy(&number, block + 32, 4);
	memcpy(&flags, block + 28 + tl_align_up(cap_bytes, 4) + 4, 4);
	if (ring >= RINGS || cap_bytes != frame_bytes(number) || block[28 + cap_bytes - 1] != (number & 0xff))
		return false;
	if (found->gaps ? number < found->next[ring] : number != found->next[ring])
		return false;
	found->next[ring] = number + 1;
	found->records[flags == 1 ? TL_DIR_RX : TL_DIR_TX]++;
	return true;
}

// Check the file id of a HEAD: it is the same in all of a file; the first HEAD follows the opening blocks.
static inline bool own_head_is_right(const struct tl_pcapng_head *head, size_t at, struct found *found)
{
	if (at % TL_PCAPNG_ALIGN == 0)
		return head->file == found->file;
	found->file = head->file;
	return head->file != 0 && at < 2 * TL_PCAPNG_ALIGN;
}

static inline bool head_is_right(const uint8_t *block, uint32_t size, size_t at, struct found *found)
{
	struct tl_pcapng_head head;

	if (found->stream || tl_pcapng_get_head(block, size, &head) != 0)
		return false;
	if (head.records == 0)
		return own_head_is_right(&head, at, found);
	if (head.ring >= RINGS || head.run_id != 7 || head.file != found->file || at % TL_PCAPNG_ALIGN != 0 ||
		(head.check != 0 && head.check != tl_pcapng_check(block, head.used_bytes)))
		return false;
	found->checked += head.check != 0;
	bool right =
		found->gaps ? head.sequence >= found->sequence[head.ring] : head.sequence == found->sequence[head.ring];
	found->sequence[head.ring] = head.sequence + 1;
	return right;
}

// Walk the blocks of a file. Return true if all are complete and in place; *closed: there is an epilogue.
static inline bool blocks_are_right(const uint8_t *data, size_t size, struct found *found, bool *closed)
{
	size_t at = 0;
	uint32_t isbs = 0;

	while (at < size) {
		uint32_t type, len, tail;
		if (size - at < 12)
			return false;
		memcpy(&type, data + at, 4);
		memcpy(&len, data + at + 4, 4);
		if (len < 12 || len % 4 != 0 || len > size - at)
			return false;
		memcpy(&tail, data + at + len - 4, 4);
		bool right = tail == len && (type == TL_PCAPNG_SHB) == (at == 0);
		if (found->statistics && type == TL_PCAPNG_EPB)
			isbs = 0;
		if (type == TL_PCAPNG_EPB)
			right = right && isbs == 0 && epb_is_right(data + at, found);
		else if (type == TL_PCAPNG_HEAD)
			right = right && head_is_right(data + at, (uint32_t)(size - at), at, found);
		else if (type == TL_PCAPNG_PAD)
			right = right && !found->stream;
		isbs += type == TL_PCAPNG_ISB;
		found->isbs += type == TL_PCAPNG_ISB;
		if (!right)
			return false;
		at += len;
	}
	// The last statistics may come right before the epilogue.
	*closed = isbs == RINGS || (found->statistics && isbs == 2 * RINGS);
	return size > 0;
}

static inline bool file_is_right(const char *path, struct found *found, bool *closed)
{
	struct stat status;
	int fd = open(path, O_RDONLY);
	if (fd < 0 || fstat(fd, &status) != 0)
		return false;
	size_t size = (size_t)status.st_size;
	uint8_t *data = malloc(size + 1);
	bool whole = read(fd, data, size) == status.st_size;
	close(fd);
	found->bytes += size;
	bool right = whole && blocks_are_right(data, size, found, closed);
	free(data);
	return right;
}

static inline bool files_are_right(const struct rig *rig, struct found *found, bool *all_closed)
{
	uint32_t n;
	const char *const *files = tl_writer_files(rig->writer, &n);
	bool right = n > 0;

	*all_closed = true;
	for (uint32_t i = 0; i < n; i++) {
		bool closed = false;
		right = right && file_is_right(files[i], found, &closed);
		*all_closed = *all_closed && closed;
	}
	return right;
}

// Check that every committed record is written or dropped, by ring and direction, and that the files hold the written
// ones.
static inline void check_ledger(const struct rig *rig, const struct found *found)
{
	struct tl_writer_stats stats;

	for (uint32_t ring = 0; ring < RINGS; ring++) {
		struct tl_writer_flow flow;
		tl_writer_flow(rig->writer, ring, &flow);
		for (int dir = 0; dir < TL_DIRS; dir++)
			CU_ASSERT_EQUAL(
				rig->committed_flow[ring][dir], flow.written_pkts[dir] + flow.drop_disk_pkts[dir]);
	}
	tl_writer_stats(rig->writer, &stats);
	for (int dir = 0; dir < TL_DIRS; dir++) {
		CU_ASSERT_EQUAL(rig->committed_dir[dir], stats.written_pkts[dir] + stats.drop_disk_pkts[dir]);
		if (found != NULL)
			CU_ASSERT_EQUAL(found->records[dir], stats.written_pkts[dir]);
	}
	if (found != NULL)
		CU_ASSERT_EQUAL(found->bytes, stats.written_bytes);
}

static inline void check_complete(const struct rig *rig)
{
	struct found found = {0};
	bool closed;

	CU_ASSERT(files_are_right(rig, &found, &closed));
	CU_ASSERT(closed);
	for (int ring = 0; ring < RINGS; ring++)
		CU_ASSERT_EQUAL(found.next[ring], rig->committed[ring]);
	check_ledger(rig, &found);
}

// Check that the remaining records are complete, in order, and end with the last one; the rest is counted.
static inline void check_ring(const struct rig *rig)
{
	struct found found = {.gaps = true};
	struct tl_writer_stats stats;
	bool closed;

	tl_writer_stats(rig->writer, &stats);
	CU_ASSERT(files_are_right(rig, &found, &closed));
	CU_ASSERT(closed);
	for (int ring = 0; ring < RINGS; ring++)
		CU_ASSERT_EQUAL(found.next[ring], rig->committed[ring]);
	CU_ASSERT_EQUAL(found.bytes, stats.written_bytes - stats.recycled_bytes);
	CU_ASSERT_EQUAL(tl_test_count_files(rig->dir, ".part"), 0);
	CU_ASSERT_EQUAL(tl_test_count_files(rig->dir, ".next"), 0);
	check_ledger(rig, NULL);
}
