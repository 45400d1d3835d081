// SPDX-License-Identifier: BSD-3-Clause
// Sidecar file: encoding and decoding of rows, with detection of truncated or foreign files.

#include <tl_index.h>

#include <errno.h>
#include <string.h>

#define MAGIC "TAPINDX2" // eight characters, no NUL; the last is the version

#define ROW_INNER 1u // keys of innermost packets are in the filter, too

struct header_bytes {
	char magic[8];
	uint64_t file_bytes;
	uint64_t run_id;
	uint32_t rows;
	uint32_t reserved[3]; // 0
	uint64_t rows_bytes;
	uint64_t rows_checksum;
	uint64_t checksum;
};

struct row_bytes {
	uint32_t row_bytes; // total size: this struct, the filter, and the final checksum
	uint32_t bloom_bytes;
	uint64_t offset_bytes;
	uint32_t len_bytes;
	uint32_t records;
	uint64_t first_ns;
	uint64_t last_ns;
	uint64_t sequence;
	uint32_t ring;
	uint32_t flags; // ROW_INNER; the other bits are 0
};

_Static_assert(sizeof(struct header_bytes) == TL_INDEX_HEADER_BYTES, "the header has no holes");
_Static_assert(sizeof(struct row_bytes) + sizeof(uint64_t) == TL_INDEX_ROW_BYTES, "a row has no holes");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the sidecar is laid out in the order of the CPU");

// FNV-1a with words of 8 bytes instead of bytes; len is a multiple of 8.
static uint64_t checksum(const uint8_t *data, size_t len)
{
	uint64_t sum = 0xcbf29ce484222325u, word;

	for (size_t at = 0; at < len; at += sizeof(word)) {
		memcpy(&word, data + at, sizeof(word));
		sum = (sum ^ word) * 0x100000001b3u;
	}
	return sum;
}

uint64_t tl_index_checksum(const void *rows, size_t bytes)
{
	return checksum(rows, bytes);
}

void tl_index_put_header(void *buf, const struct tl_index_header *header)
{
	struct header_bytes bytes = {
		.magic = MAGIC,
		.file_bytes = header->file_bytes,
		.run_id = header->run_id,
		.rows = header->rows,
		.rows_bytes = header->rows_bytes,
		.rows_checksum = header->rows_checksum,
	};

	bytes.checksum = checksum((const uint8_t *)&bytes, offsetof(struct header_bytes, checksum));
	memcpy(buf, &bytes, sizeof(bytes));
}

uint32_t tl_index_put_row(void *buf, const struct tl_index_row *row)
{
	struct row_bytes bytes = {
		.row_bytes = TL_INDEX_ROW_BYTES + row->bloom_bytes,
		.bloom_bytes = row->bloom_bytes,
		.offset_bytes = row->offset_bytes,
		.len_bytes = row->len_bytes,
		.records = row->records,
		.first_ns = row->first_ns,
		.last_ns = row->last_ns,
		.sequence = row->sequence,
		.ring = row->ring,
		.flags = row->inner ? ROW_INNER : 0,
	};
	uint8_t *at = buf;

	memcpy(at, &bytes, sizeof(bytes));
	at += sizeof(bytes);
	if (row->bloom_bytes != 0)
		memcpy(at, row->bloom, row->bloom_bytes);
	at += row->bloom_bytes;
	uint64_t sum = checksum(buf, (size_t)(at - (uint8_t *)buf));
	memcpy(at, &sum, sizeof(sum));
	return bytes.row_bytes;
}

int tl_index_open(struct tl_index_reader *reader, const void *data, size_t size)
{
	struct header_bytes bytes;

	if (size < sizeof(bytes))
		return -EINVAL;
	memcpy(&bytes, data, sizeof(bytes));
	if (memcmp(bytes.magic, MAGIC, sizeof(bytes.magic)) != 0 ||
		bytes.checksum != checksum(data, offsetof(struct header_bytes, checksum)))
		return -EINVAL;
	*reader = (struct tl_index_reader){
		.data = data,
		.size = size,
		.at = sizeof(bytes),
		.header = {.file_bytes = bytes.file_bytes,
			.run_id = bytes.run_id,
			.rows = bytes.rows,
			.rows_bytes = bytes.rows_bytes,
			.rows_checksum = bytes.rows_checksum},
	};
	return 0;
}

bool tl_index_is_complete(const struct tl_index_reader *reader)
{
	size_t bytes = reader->size - TL_INDEX_HEADER_BYTES;

	return bytes == reader->header.rows_bytes && bytes % sizeof(uint64_t) == 0 &&
	       tl_index_checksum(reader->data + TL_INDEX_HEADER_BYTES, bytes) == reader->header.rows_checksum;
}

static bool is_bloom_size(uint32_t bytes)
{
	return bytes == 0 || (bytes >= TL_INDEX_BLOOM_MIN && bytes <= TL_INDEX_BLOOM_MAX && (bytes & (bytes - 1)) == 0);
}

// True if the slab is after the last one and within the file. Data between slabs is not records.
static bool follows(const struct tl_index_reader *reader, const struct row_bytes *bytes)
{
	uint64_t room = reader->header.file_bytes;

	return bytes->offset_bytes > 0 && bytes->offset_bytes >= reader->end_bytes && bytes->len_bytes != 0 &&
	       bytes->offset_bytes <= room && bytes->len_bytes <= room - bytes->offset_bytes;
}

int tl_index_next(struct tl_index_reader *reader, struct tl_index_row *out)
{
	const uint8_t *row = reader->data + reader->at;
	size_t left = reader->size - reader->at;
	struct row_bytes bytes;
	uint64_t sum;

	if (reader->rows == reader->header.rows)
		return 0;
	if (left < TL_INDEX_ROW_BYTES)
		return -EINVAL;
	memcpy(&bytes, row, sizeof(bytes));
	if (!is_bloom_size(bytes.bloom_bytes) || bytes.row_bytes != TL_INDEX_ROW_BYTES + bytes.bloom_bytes ||
		bytes.row_bytes > left)
		return -EINVAL;
	memcpy(&sum, row + bytes.row_bytes - sizeof(sum), sizeof(sum));
	if (sum != checksum(row, bytes.row_bytes - sizeof(sum)) || !follows(reader, &bytes))
		return -EINVAL;
	reader->at += bytes.row_bytes;
	reader->rows++;
	reader->end_bytes = bytes.offset_bytes + bytes.len_bytes;
	*out = (struct tl_index_row){
		.offset_bytes = bytes.offset_bytes,
		.sequence = bytes.sequence,
		.ring = bytes.ring,
		.len_bytes = bytes.len_bytes,
		.records = bytes.records,
		.first_ns = bytes.first_ns,
		.last_ns = bytes.last_ns,
		.inner = (bytes.flags & ROW_INNER) != 0,
		.bloom_bytes = bytes.bloom_bytes,
		.bloom = row + sizeof(bytes),
	};
	return 1;
}
