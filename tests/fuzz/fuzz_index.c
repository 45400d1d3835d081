// SPDX-License-Identifier: BSD-3-Clause
// Fuzz the reader of index sidecars, and, with the bytes as a slab, the builder of rows: every row lies within its
// bytes, the end is final, and a built row can be written and read back.

#include <stdlib.h>
#include <string.h>

#include <tl_index.h>
#include <tl_pcapfile.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int truth)
{
	if (!truth)
		abort();
}

static void read_sidecar(const uint8_t *data, size_t size)
{
	static const struct tl_index_addr addr = {.low = 1};
	struct tl_index_reader reader;
	struct tl_index_row row;
	uint64_t end = 0;
	int rc;

	if (tl_index_open(&reader, data, size) != 0)
		return;
	while ((rc = tl_index_next(&reader, &row)) == 1) {
		require(row.bloom >= data && row.bloom_bytes <= (size_t)(data + size - row.bloom));
		require(row.offset_bytes >= end && row.len_bytes != 0);
		end = row.offset_bytes + row.len_bytes;
		require(end <= reader.header.file_bytes);
		tl_index_may_have_addr(&row, &addr);
		tl_index_may_have_port(&row, 80);
	}
	require(tl_index_next(&reader, &row) == rc);
	(void)tl_index_is_complete(&reader);
}

static void make_row(const uint8_t *data, size_t size)
{
	static uint8_t sidecar[TL_INDEX_HEADER_BYTES + TL_INDEX_ROW_MAX];
	static struct tl_index_builder *builder; // for all slabs, as in a writer
	struct tl_index_reader reader;
	struct tl_index_row row, again;
	struct tl_pcapng_head head;
	uint32_t len = size < UINT32_MAX ? (uint32_t)size : UINT32_MAX;

	if (builder == NULL)
		builder = tl_index_builder_create();
	require(builder != NULL);
	if (tl_pcapng_get_head(data, len, &head) == 0 && head.used_bytes <= len &&
		tl_index_build(builder, data, head.used_bytes, len, 4096, &row) == 0) {
		tl_index_put_header(sidecar, &(struct tl_index_header){.file_bytes = UINT64_MAX, .rows = 1});
		uint32_t used = TL_INDEX_HEADER_BYTES + tl_index_put_row(sidecar + TL_INDEX_HEADER_BYTES, &row);
		require(tl_index_open(&reader, sidecar, used) == 0 && tl_index_next(&reader, &again) == 1);
		require(again.records == row.records && again.first_ns == row.first_ns);
		require(memcmp(again.bloom, row.bloom, row.bloom_bytes) == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tl_index_keys keys;

	read_sidecar(data, size);
	make_row(data, size);
	tl_index_keys(data, size < UINT32_MAX ? (uint32_t)size : UINT32_MAX, &keys);
	return 0;
}
