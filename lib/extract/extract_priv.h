// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// extract_priv: what the files of this module share.
//
//   extract.c  one run: every file, and every record of it
//   indexed.c  a file by its sidecar
//   files.c    which files are meant
//   input.c    reads a file in the background's manner, and counts it
//   packed.c   the same for compressed recordings
//   walk.c     from block to block
//   section.c  what a section says: byte order, interfaces, how they count time
//   match.c    which slabs may matter, and which records do
//   output.c   the file that is written
//   reindex.c  sidecars from recordings
//
// Threads: one. Memory: in struct extract and what it points to.

#include <stddef.h>
#include <sys/stat.h>

#include <tl_err.h>
#include <tl_extract.h>
#include <tl_filter.h>
#include <tl_pcapfile.h>

#define EXTRACT_BLOCK_MAX (16u << 20) // a longer block is a broken length field
#define EXTRACT_PACKET 2u	      // block types: obsolete, an EPB whose interface id has 16 bits
#define EXTRACT_SIMPLE_PACKET 3u
#define EXTRACT_AHEAD (1u << 20) // what is read at once of a file that is read from end to end
#define EXTRACT_INTERFACES_MAX 65536u

// One file that is meant.
struct extract_file {
	char *path;
	dev_t device;
	ino_t inode;
};

struct extract_files {
	struct extract_file *file;
	uint32_t n, capacity;
};

// A file, and the part of it that lies in memory.
struct extract_input {
	int fd;
	const char *path;
	uint64_t file_bytes; // when it was opened
	bool direct;	     // O_DIRECT
	uint32_t ahead;	     // how much to read at least
	uint8_t *data;	     // aligned
	size_t capacity;
	uint64_t at; // of data[0], a multiple of 4096
	size_t len;
	struct extract_packed *packed; // compressed: offsets below are of its content
	struct extract *extract;
};

// An interface of the section that is being read.
struct extract_interface {
	uint8_t *block; // a copy
	uint32_t block_bytes;
	uint16_t linktype;
	uint32_t snaplen;
	uint64_t multiply; // ns = ticks * multiply >> shift / divide + offset_s seconds
	uint64_t divide;
	uint32_t shift;
	int64_t offset_s;
	uint32_t out_id;
	uint64_t out_section; // in which out_id is good
};

struct extract_section {
	bool begun;
	bool swapped; // not our byte order
	struct extract_interface *interface;
	uint32_t n, capacity;
	uint64_t file;	  // that its HEADs name; 0: none. What is between them may be of an earlier file
	uint64_t own_end; // of what the last HEAD is for
};

struct extract_output {
	int fd;
	const char *path;
	dev_t device;
	ino_t inode;
	uint8_t *buffer;
	size_t used;
	uint64_t section; // 0: none yet
	bool swapped;
	struct extract_interface *interface; // written in this section: only block and block_bytes
	uint32_t n, capacity;
	uint64_t *written_bytes;
};

// A packet as a block says it.
struct extract_record {
	const uint8_t *block; // whole
	uint32_t block_bytes;
	uint32_t type;
	uint32_t interface_id;
	uint64_t ts_ns;
	const uint8_t *data;
	uint32_t cap_bytes, wire_bytes;
};

struct extract {
	const struct tl_extract_cfg *cfg;
	struct tl_extract_stats *stats;
	struct tl_filter_links *filter;
	struct extract_files files;
	struct extract_section section;
	struct extract_output output;
	const char *path; // of the file that is being read
	int refused_rc;	  // not 0: it has packets that could not be looked into
	struct tl_err refused;
	uint64_t free_ns;   // when the next read may begin
	struct tl_err *err; // of the file that is being read
	bool output_failed;
};

// files.c. 0, or -errno with a sentence.
int extract_files_list(struct extract_files *files, const struct tl_extract_cfg *cfg, struct tl_err *err);
void extract_files_free(struct extract_files *files);

// input.c
// 0, -ENOENT: it has vanished; or another -errno.
int extract_input_open(struct extract_input *input, struct extract *extract, const char *path);
void extract_input_close(struct extract_input *input);
// Bytes from this offset on: *got of them, fewer than len only at the end of the file. Valid until the next call.
int extract_input_get(struct extract_input *input, uint64_t offset, size_t len, const uint8_t **out, size_t *got);
// Whether this offset is the end of the file.
bool extract_input_is_end(const struct extract_input *input, uint64_t offset);
// Where offsets end: for whoever goes through the file.
uint64_t extract_input_end(const struct extract_input *input);
// The bytes as they lie on the disk; otherwise as extract_input_get().
int extract_input_raw(struct extract_input *input, uint64_t offset, size_t len, const uint8_t **out, size_t *got);
void extract_pace(struct extract *extract, uint64_t bytes); // counts bytes that were read, and waits

// packed.c
#define EXTRACT_PACKED_MAGIC 0xFD2FB528u	       // of a zstd frame (RFC 8878, section 3.1.1)
#define EXTRACT_PACKED_FIRST (128u << 10)	       // more than the unit has that opens or closes a file
bool extract_is_packed(const void *data, size_t size); // whether it begins like a compressed recording
int extract_packed_open(struct extract_input *input);
void extract_packed_close(struct extract_packed *packed);
int extract_packed_get(struct extract_input *input, uint64_t offset, size_t len, const uint8_t **out, size_t *got);
// All that the unit at this offset of the file holds, and where the next one begins. Returns 0, -ENODATA: none that is
// whole is there, or another -errno.
int extract_packed_unit(
	struct extract_input *input, uint64_t unit_at, const uint8_t **out, size_t *got, uint64_t *out_next);
// From now on offset 0 is the beginning of this unit.
void extract_packed_seek(struct extract_input *input, uint64_t unit_at);
bool extract_packed_is_end(const struct extract_input *input, uint64_t offset);

// section.c
int extract_section_begin(struct extract_section *section, const uint8_t *block, uint32_t size);
int extract_section_add(struct extract_section *section, const uint8_t *block, uint32_t size);
void extract_section_free(struct extract_section *section);
uint32_t extract_u32(const struct extract_section *section, const uint8_t *p);
uint16_t extract_u16(const struct extract_section *section, const uint8_t *p);

// walk.c
// How long the block at p says it is, of which size bytes are there; 0: too few to tell, -EINVAL: this is none.
int64_t extract_block(const struct extract_section *section, const uint8_t *p, size_t size, uint32_t *out_type);

// Whether the length at the end of a block is that at its beginning.
bool extract_block_closes(const uint8_t *p, uint32_t total);

// Whether the packet is whole, and what it says. False: broken.
bool extract_read_record(
	const struct extract_section *section, const uint8_t *block, uint32_t size, struct extract_record *out);

// Tell whether the slab at p, which begins with head and lies at this offset, is there with every record.
bool extract_slab_is_whole(const uint8_t *p, size_t size, const struct tl_pcapng_head *head, uint64_t offset);

// What to do with a block; not 0 ends the walk.
typedef int extract_block_fn(struct extract *extract, uint32_t type, const uint8_t *block, uint32_t size);

// Each block of a piece of memory. Returns 0, the first result of fn that is not 0, or -EINVAL.
int extract_walk_memory(struct extract *extract, const uint8_t *data, size_t size, extract_block_fn *fn);

// Each block of the file from *at on to end; *at is then the end of the last whole one. Returns 0 or -errno.
int extract_walk_file(
	struct extract *extract, struct extract_input *input, uint64_t *at, uint64_t end, extract_block_fn *fn);

// extract.c
int extract_take_block(struct extract *extract, uint32_t type, const uint8_t *block, uint32_t size);
// The same where no row says what comes: slabs count as they come.
int extract_take_scanned(struct extract *extract, uint32_t type, const uint8_t *block, uint32_t size);
// From at to the end of the file.
int extract_scan(struct extract *extract, struct extract_input *input, uint64_t at);
// What follows is no block, or none that is whole.
void extract_say_incomplete(struct extract *extract, const struct extract_input *input, uint64_t at);
// The slab from a byte to before another is not whole, but others follow.
void extract_say_damaged(struct extract *extract, const struct extract_input *input, uint64_t from, uint64_t to);

// indexed.c. Returns 0, or an error; *out_done tells whether the sidecar was of any use.
int extract_indexed(struct extract *extract, struct extract_input *input, bool *out_done);

// match.c
bool extract_match_row(const struct tl_extract_cfg *cfg, const struct tl_index_row *row);
// A packet of a link type that cannot be looked into does not match, and extract->refused says so.
bool extract_match_record(struct extract *extract, const struct extract_record *record, uint16_t linktype);

// output.c
int extract_output_open(struct extract *extract, struct tl_err *err);
int extract_output_put(struct extract *extract, const struct extract_record *record);
// Copy a clock block with the records around it; before the first record nothing is written.
int extract_output_put_clock(struct extract *extract, const uint8_t *block, uint32_t size);
int extract_output_close(struct extract *extract); // flushes
void extract_output_free(struct extract_output *output);
