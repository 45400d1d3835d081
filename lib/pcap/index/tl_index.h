// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// index: what each slab of a recording holds, so that a search reads only the slabs that matter: a row per slab with
// its place, its span of time, and a Bloom filter of addresses and ports; and the sidecar file that keeps the rows of
// one recording (docs/index.md). Bytes in, structs out.
//
// Threads: any; a builder belongs to one at a time. Memory: the caller's; builders and rows
// allocate theirs.

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

#include <tl_base.h>

#define TL_INDEX_SUFFIX ".tlx"
#define TL_INDEX_HEADER_BYTES 64u
#define TL_INDEX_ROW_BYTES 64u // of a row without its Bloom filter
#define TL_INDEX_BLOOM_MIN 64u
#define TL_INDEX_BLOOM_MAX 16384u
#define TL_INDEX_ROW_MAX (TL_INDEX_ROW_BYTES + TL_INDEX_BLOOM_MAX)

// ---- what a frame is found by

// An IPv6 address; an IPv4 address as ::ffff:a.b.c.d (RFC 4291, section 2.5.5.2). Both words in host order.
struct tl_index_addr {
	uint64_t high, low;
};

// Of the outermost IP header, or of an ARP packet. 802.1Q, 802.1ad and 0x9100 tags before it are skipped.
struct tl_index_keys {
	struct tl_index_addr addr[2]; // source and destination
	uint16_t port[2];	      // host order
	bool has_addrs;
	bool has_ports; // TCP, UDP, UDP-Lite, SCTP, DCCP; of fragments only the first has them
};

// The keys of an Ethernet frame of cap_bytes, which may have been cut: what is not there is not found.
void tl_index_keys(const uint8_t *frame, uint32_t cap_bytes, struct tl_index_keys *out);

// The keys of a packet of cap_bytes that begins with the header of this EtherType.
void tl_index_keys_network(uint16_t ethertype, const uint8_t *packet, uint32_t cap_bytes, struct tl_index_keys *out);

// "192.0.2.1" or "2001:db8::1". Returns 0 or -EINVAL.
int tl_index_parse_addr(const char *text, struct tl_index_addr *out);

static inline bool tl_index_same_addr(const struct tl_index_addr *a, const struct tl_index_addr *b)
{
	return a->high == b->high && a->low == b->low;
}

// ---- rows

struct tl_index_row {
	uint64_t offset_bytes; // in the file, of the slab's HEAD
	uint64_t sequence;     // as in the HEAD
	uint32_t ring;	       // as in the HEAD
	uint32_t len_bytes;    // of the slab, with its PAD
	uint32_t records;
	uint64_t first_ns, last_ns; // the least and the greatest timestamp; 0 and UINT64_MAX: not known
	uint32_t bloom_bytes;	    // a power of two; 0: addresses and ports are not known
	const uint8_t *bloom;	    // borrowed
};

struct tl_index_builder;

struct tl_index_builder *tl_index_builder_create(void); // NULL without memory
void tl_index_builder_destroy(struct tl_index_builder *builder);

// The row of a sealed slab of used_bytes (HEAD and records, nanosecond timestamps, little endian) that lies at this
// offset of its file with len_bytes. out->bloom is the builder's, until its next call. Returns 0, or -EINVAL when this
// is no whole slab.
int tl_index_build(struct tl_index_builder *builder, const uint8_t *slab, uint32_t used_bytes, uint32_t len_bytes,
	uint64_t offset_bytes, struct tl_index_row *out);

// A row of which only the place is known: every search has to read the slab. Returns as tl_index_build() does.
int tl_index_blank_row(const uint8_t *slab, uint32_t len_bytes, uint64_t offset_bytes, struct tl_index_row *out);

// Whether the slab may hold such a frame. False is certain.
bool tl_index_may_have_addr(const struct tl_index_row *row, const struct tl_index_addr *addr);
bool tl_index_may_have_port(const struct tl_index_row *row, uint16_t port);

// ---- the sidecar of a recording: a header, then its rows in the order of their offsets

struct tl_index_header {
	uint64_t file_bytes; // of the recording
	uint64_t run_id;     // as in its HEADs
	uint32_t rows;
	uint64_t rows_bytes;	// of all rows
	uint64_t rows_checksum; // tl_index_checksum() of all rows
};

void tl_index_put_header(void *buf, const struct tl_index_header *header); // TL_INDEX_HEADER_BYTES

// Checksum over rows as they stand in the sidecar.
uint64_t tl_index_checksum(const void *rows, size_t bytes);

// Returns the bytes written, TL_INDEX_ROW_MAX at most.
uint32_t tl_index_put_row(void *buf, const struct tl_index_row *row);

// Rows as they will stand in the sidecar; zeros are none.
struct tl_index_rows {
	uint8_t *data;
	size_t used_bytes, capacity_bytes;
	uint32_t n;
};

int tl_index_rows_add(struct tl_index_rows *rows, const struct tl_index_row *row); // copies; 0 or -ENOMEM
void tl_index_rows_free(struct tl_index_rows *rows);

// Writes the sidecar of this recording, RECORDING.tlx. Where the file system has files without a name (O_TMPFILE), it
// has its name only when it is whole. Returns 0 or -errno: -EEXIST where something is.
int tl_index_rows_write(const struct tl_index_rows *rows, const char *recording, uint64_t file_bytes, uint64_t run_id);

// Gives the sidecar of a recording that was renamed its new name. If that cannot be, the recording has none.
void tl_index_move(const char *from, const char *to);

// Removes RECORDING.tlx if it begins as a sidecar does. Returns false when another file has that name: it stays.
bool tl_index_remove(const char *recording);

struct tl_index_reader {
	const uint8_t *data; // borrowed
	size_t size, at;
	struct tl_index_header header;
	uint32_t rows;	    // read so far
	uint64_t end_bytes; // of the last row's slab; 0: there was none yet
};

// Returns 0, or -EINVAL: no sidecar, another version, or a damaged header.
int tl_index_open(struct tl_index_reader *reader, const void *data, size_t size);

// Tell whether the rows are those that the header was written for: none is missing, added or changed.
bool tl_index_is_complete(const struct tl_index_reader *reader);

// 1 with *out filled (its bloom borrowed from data), 0 after the last row, -EINVAL where the sidecar is damaged or cut
// off: the rows before that are good. After 0 or an error it keeps giving the same answer.
int tl_index_next(struct tl_index_reader *reader, struct tl_index_row *out);
