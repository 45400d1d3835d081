// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// index: content of each slab of a recording, so that a search reads only relevant slabs: a row per slab with its
// position, its time range, and a Bloom filter of addresses and ports; and the sidecar file that contains the rows of
// one recording (docs/extract.md). Bytes in, structs out.
//
// Threads: any; a builder is used by one at a time. Memory: the caller's; builders and rows allocate theirs.

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

#include <tl_base.h>

#define TL_INDEX_SUFFIX ".tlx"
#define TL_INDEX_HEADER_BYTES 64u
#define TL_INDEX_ROW_BYTES 64u // size of a row without its Bloom filter
#define TL_INDEX_BLOOM_MIN 64u
#define TL_INDEX_BLOOM_MAX 16384u
#define TL_INDEX_ROW_MAX (TL_INDEX_ROW_BYTES + TL_INDEX_BLOOM_MAX)

// ---- search keys of a frame

// An IPv6 address; an IPv4 address as ::ffff:a.b.c.d (RFC 4291, section 2.5.5.2). Both words in host order.
struct tl_index_addr {
	uint64_t high, low;
};

// Keys of the outermost IP header, or of an ARP packet. 802.1Q, 802.1ad and 0x9100 tags before it are skipped.
struct tl_index_keys {
	struct tl_index_addr addr[2]; // source and destination
	uint16_t port[2];	      // host order
	bool has_addrs;
	bool has_ports; // TCP, UDP, UDP-Lite, SCTP, DCCP; of fragments only the first
};

// Extract the keys of an Ethernet frame of cap_bytes, possibly truncated: missing parts yield no keys.
void tl_index_keys(const uint8_t *frame, uint32_t cap_bytes, struct tl_index_keys *out);

// Extract the keys of a packet of cap_bytes that begins with the header of this EtherType.
void tl_index_keys_network(uint16_t ethertype, const uint8_t *packet, uint32_t cap_bytes, struct tl_index_keys *out);

// Parse "192.0.2.1" or "2001:db8::1". Return 0 or -EINVAL.
int tl_index_parse_addr(const char *text, struct tl_index_addr *out);

static inline bool tl_index_same_addr(const struct tl_index_addr *a, const struct tl_index_addr *b)
{
	return a->high == b->high && a->low == b->low;
}

// ---- rows

struct tl_index_row {
	uint64_t offset_bytes; // offset of the slab's HEAD in the file
	uint64_t sequence;     // as in the HEAD
	uint32_t ring;	       // as in the HEAD
	uint32_t len_bytes;    // length of the slab, with its PAD
	uint32_t records;
	uint64_t first_ns, last_ns; // lowest and highest timestamp; 0 and UINT64_MAX: unknown
	bool inner;		    // addresses and ports of innermost packets (tl_encap.h) are among the keys
	uint32_t bloom_bytes;	    // a power of two; 0: addresses and ports are unknown
	const uint8_t *bloom;	    // borrowed
};

struct tl_index_builder;

struct tl_index_builder *tl_index_builder_create(void); // NULL without memory
// Add the keys of innermost packets (tl_encap.h) to those of the outermost.
void tl_index_builder_set_inner(struct tl_index_builder *builder, bool inner);
void tl_index_builder_destroy(struct tl_index_builder *builder);

// Build the row of a sealed slab of used_bytes (HEAD and records, nanosecond timestamps, little endian) that occupies
// len_bytes of its file at this offset. out->bloom is owned by the builder, valid until its next call. Return 0, or
// -EINVAL if this is not a whole slab.
int tl_index_build(struct tl_index_builder *builder, const uint8_t *slab, uint32_t used_bytes, uint32_t len_bytes,
	uint64_t offset_bytes, struct tl_index_row *out);

// Build a row that contains only the position: every search has to read the slab. Return as tl_index_build() does.
int tl_index_blank_row(const uint8_t *slab, uint32_t len_bytes, uint64_t offset_bytes, struct tl_index_row *out);

// True if the slab may contain such a frame. False is certain.
bool tl_index_may_have_addr(const struct tl_index_row *row, const struct tl_index_addr *addr);
bool tl_index_may_have_port(const struct tl_index_row *row, uint16_t port);

// ---- the sidecar of a recording: a header, then its rows in the order of their offsets

struct tl_index_header {
	uint64_t file_bytes; // size of the recording
	uint64_t run_id;     // as in its HEADs
	uint32_t rows;
	uint64_t rows_bytes;	// size of all rows
	uint64_t rows_checksum; // tl_index_checksum() of all rows
};

void tl_index_put_header(void *buf, const struct tl_index_header *header); // TL_INDEX_HEADER_BYTES

// Compute the checksum over rows as encoded in the sidecar.
uint64_t tl_index_checksum(const void *rows, size_t bytes);

// Write a row. Return the bytes written, at most TL_INDEX_ROW_MAX.
uint32_t tl_index_put_row(void *buf, const struct tl_index_row *row);

// Rows as encoded in the sidecar; all zero: no rows.
struct tl_index_rows {
	uint8_t *data;
	size_t used_bytes, capacity_bytes;
	uint32_t n;
};

int tl_index_rows_add(struct tl_index_rows *rows, const struct tl_index_row *row); // copies; 0 or -ENOMEM
void tl_index_rows_free(struct tl_index_rows *rows);

// Write the sidecar of this recording, RECORDING.tlx. If the file system supports unnamed files (O_TMPFILE), it is
// named only when complete. Return 0 or -errno: -EEXIST if the name is taken.
int tl_index_rows_write(const struct tl_index_rows *rows, const char *recording, uint64_t file_bytes, uint64_t run_id);

// Rename the sidecar of a renamed recording. After a failure the recording has none.
void tl_index_move(const char *from, const char *to);

// Remove RECORDING.tlx if it begins like a sidecar. Return false if another file has that name: it is kept.
bool tl_index_remove(const char *recording);

struct tl_index_reader {
	const uint8_t *data; // borrowed
	size_t size, at;
	struct tl_index_header header;
	uint32_t rows;	    // read so far
	uint64_t end_bytes; // end of the last row's slab; 0: no row yet
};

// Open a sidecar. Return 0, or -EINVAL: not a sidecar, another version, or a damaged header.
int tl_index_open(struct tl_index_reader *reader, const void *data, size_t size);

// Check whether the rows are those that the header was written for: none is missing, added or changed.
bool tl_index_is_complete(const struct tl_index_reader *reader);

// Read the next row. Return 1 with *out filled (its bloom borrowed from data), 0 after the last row, -EINVAL if the
// sidecar is damaged or truncated: the rows before that are valid. After 0 or an error the result stays the same.
int tl_index_next(struct tl_index_reader *reader, struct tl_index_row *out);
