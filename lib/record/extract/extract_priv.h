// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// extract_priv: declarations shared by the files of this module.
//
//   extract.c  one run over all files and records
//   indexed.c  a file through its sidecar
//   feed.c     input files for other readers
//   files.c    input files
//   input.c    paced reads past the page cache
//   packed.c   the same for compressed recordings
//   stream.c   compressed files of any program, for feed.c
//   walk.c     blocks in memory or through a file, damage
//   section.c  section state: byte order, interfaces and their descriptions
//   match.c    selection of slabs and records
//   decap.c    records without their outer headers
//   output.c   the output file
//   reindex.c  sidecars from recordings
//
// Threads: one. Memory: in struct extract and its members.

#include <stddef.h>
#include <sys/stat.h>

#include <tl_err.h>
#include <tl_extract.h>
#include <tl_filter.h>
#include <tl_pcapng_block.h>

#define EXTRACT_BLOCK_MAX (16u << 20)	   // limit: longer blocks have a corrupt length
#define EXTRACT_SLAB_BYTES_MAX (32u << 20) // limit: longer slabs and compressed units have a corrupt length
#define EXTRACT_AHEAD (1u << 20)	   // bytes per read of a file read from end to end
#define EXTRACT_INTERFACES_MAX 65536u
#define EXTRACT_INTERFACE_BYTES_MAX (64u << 20) // limit of all descriptions of a section
#define EXTRACT_KEPT_MAX 1024u			// interfaces of an output section, beside those of the input section
#define EXTRACT_KEPT_BYTES_MAX (1u << 20)	// the same of their descriptions

struct tl_ahead;
struct tl_ahead_file;

// An input file.
struct extract_file {
	char *path;
	dev_t device;
	ino_t inode;
};

struct extract_files {
	struct extract_file *file;
	uint32_t n;
	size_t capacity;
	bool streams;	 // of directories also files compressed by other programs, which a feed reads
	uint32_t others; // files of the last directory that do not begin like a capture
	char other[256]; // the first of them
};

// A file, and the part of it in memory.
struct extract_input {
	int fd;
	const char *path;
	uint64_t file_bytes;	    // size at open
	bool direct;		    // O_DIRECT
	uint32_t ahead;		    // least number of bytes to read
	struct tl_ahead_file *lane; // reads ahead for requests of up to tl_ahead_longest(); NULL: none
	int broken;		    // -errno of the read after the last bytes returned; 0: none. Without extract
	uint8_t *data;		    // aligned
	size_t capacity;
	uint64_t at; // offset of data[0], a multiple of 4096
	size_t len;
	uint64_t vain_bytes;	       // damaged slabs, by their HEADs
	struct extract_packed *packed; // compressed: the offsets below are in the uncompressed content
	struct extract *extract;       // NULL: read through the page cache, without rate limit
};

// Form of a record in the output: with the link type of its interface, or of what remains without the outer headers.
enum extract_form { EXTRACT_AS_IS, EXTRACT_ETHERNET, EXTRACT_RAW, EXTRACT_FORMS };

// Description of an interface, and its numbers in the output.
struct extract_interface {
	uint8_t *block; // copy of the IDB
	uint32_t block_bytes;
	struct {
		uint32_t id;
		uint64_t section; // output section in which id is valid
	} out[EXTRACT_FORMS];
};

// The current section of the input.
struct extract_section {
	struct tl_pcapng_section parsed;
	struct extract_interface *interface; // parsed.n
	size_t capacity;
	uint32_t interface_bytes; // of their blocks
	uint64_t file;	  // file number in its HEADs; 0: none. Blocks between them may belong to an earlier file
	uint64_t own_end; // end of the block or slab covered by the last HEAD
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
	struct extract_interface *interface; // interfaces of the output section: only block and block_bytes are used
	uint32_t n;
	uint32_t interface_bytes; // of their blocks
	size_t capacity;
	uint64_t *written_bytes;
};

// A packet block, and its packet in the form for the output.
struct extract_record {
	const uint8_t *block;
	struct tl_pcapng_block head;
	struct tl_pcapng_packet packet;
	enum extract_form form;
};

struct extract {
	const struct tl_extract_cfg *cfg;
	struct tl_extract_stats *stats;
	struct tl_filter_links *filter;
	struct extract_files files;
	struct extract_section section;
	struct extract_output output;
	const char *path; // current file
	int lacking_rc;	  // not 0: packets of the file were left out: damaged, or the filter cannot examine them
	struct tl_err lacking;
	uint64_t free_ns;   // earliest time of the next read
	struct tl_err *err; // error of the current file
	bool output_failed;
	uint8_t *peeled; // data of the last record from which VLAN tags were removed
};

// files.c: return 0, or -errno with a message.
int extract_files_list(struct extract_files *files, const struct tl_extract_cfg *cfg, struct tl_err *err);
void extract_files_free(struct extract_files *files);

// input.c: return 0, -ENOENT: removed meanwhile; or another -errno.
int extract_input_open(struct extract_input *input, struct extract *extract, const char *path);
// Read a file opened without extract ahead, if ahead is not NULL and has room for it.
void extract_input_read_ahead(struct extract_input *input, struct tl_ahead *ahead);
void extract_input_close(struct extract_input *input);
// True if a recording is writing the file.
bool extract_input_is_written(const struct extract_input *input);
// Read at this offset: *got bytes, fewer than len only at the end of the file. Valid until the next call.
int extract_input_get(struct extract_input *input, uint64_t offset, size_t len, const uint8_t **out, size_t *got);
// Next offset with data, a multiple of 4096: preallocated space has none.
uint64_t extract_input_data_from(const struct extract_input *input, uint64_t offset);
// Account for a damaged slab of this length. False: a hostile file would cost too many times its size.
bool extract_input_may_skip(struct extract_input *input, uint64_t bytes);
// True if this offset is the end of the file.
bool extract_input_is_end(const struct extract_input *input, uint64_t offset);
// End offset for walking the file.
uint64_t extract_input_end(const struct extract_input *input);
// Read without decompression; otherwise as extract_input_get().
int extract_input_raw(struct extract_input *input, uint64_t offset, size_t len, const uint8_t **out, size_t *got);
void extract_pace(struct extract *extract, uint64_t bytes); // account for read bytes, and wait for the rate

// packed.c
#define EXTRACT_PACKED_MAGIC 0xFD2FB528u	       // magic of a zstd frame (RFC 8878, section 3.1.1)
#define EXTRACT_PACKED_FIRST (128u << 10)	       // more than the opening or closing unit of a file
bool extract_is_packed(const void *data, size_t size); // true for the start of a compressed recording
int extract_packed_open(struct extract_input *input);
void extract_packed_close(struct extract_packed *packed);
int extract_packed_get(struct extract_input *input, uint64_t offset, size_t len, const uint8_t **out, size_t *got);
// Read the unit at this offset of the file, and set the offset of the next. Return 0, -ENODATA: no whole unit, or
// another -errno.
int extract_packed_unit(
	struct extract_input *input, uint64_t unit_at, const uint8_t **out, size_t *got, uint64_t *out_next);
// Make this unit offset 0.
void extract_packed_seek(struct extract_input *input, uint64_t unit_at);
bool extract_packed_is_end(const struct extract_input *input, uint64_t offset);

// stream.c: the content of a compressed file, of any program. The offset of get() must not decrease beyond what is in
// memory; otherwise as extract_input_get(). why(): the reason why the content ends before the file; NULL: it does not.
struct extract_stream;
bool extract_stream_is(const void *data, size_t size); // true for the start of such a file
struct extract_stream *extract_stream_open(void);      // NULL: out of memory
void extract_stream_close(struct extract_stream *stream);
int extract_stream_get(struct extract_stream *stream, struct extract_input *input, uint64_t offset, size_t len,
	const uint8_t **out, size_t *got);
bool extract_stream_is_end(const struct extract_stream *stream, uint64_t offset);
const char *extract_stream_why(const struct extract_stream *stream);

// section.c: return 0, -EINVAL or -ENOMEM.
int extract_section_add(struct extract_section *section, const uint8_t *block, uint32_t size);
// Take a block that may begin a section or describe an interface.
int extract_section_take(struct extract_section *section, const struct tl_pcapng_block *head, const uint8_t *block);
void extract_section_free(struct extract_section *section);

// walk.c: parse the type and length of the block at p, of which size bytes are present. False: there is none.
bool extract_get_block(
	const struct extract_section *section, const uint8_t *p, size_t size, struct tl_pcapng_block *out);

// True if the slab at p, with this head and offset, has all its records.
bool extract_slab_is_whole(const uint8_t *p, size_t size, const struct tl_pcapng_head *head, uint64_t offset);

// Block handler; a result other than 0 ends the walk.
typedef int extract_block_fn(struct extract *extract, const struct tl_pcapng_block *head, const uint8_t *block);

// Walk the blocks in memory. Return 0, the first nonzero result of fn, or -EINVAL.
int extract_walk_memory(struct extract *extract, const uint8_t *data, size_t size, extract_block_fn *fn);

// Walk the blocks of the file from *at to end; *at becomes the end of the last whole one. Return 0 or -errno.
int extract_walk_file(
	struct extract *extract, struct extract_input *input, uint64_t *at, uint64_t end, extract_block_fn *fn);

// extract.c: call fn for each file, with extract->err for its message. Return the first error with its message in *err;
// later ones are logged.
typedef int extract_file_fn(struct extract *extract, const char *path);
int extract_each_file(struct extract *extract, extract_file_fn *fn, struct tl_err *err);
extract_block_fn extract_take_block;
extract_block_fn extract_take_scanned; // a block without an index row: counts slabs
// Walk from at to the end of the file.
int extract_scan(struct extract *extract, struct extract_input *input, uint64_t at);
// Warn about a file without a whole block at this offset.
void extract_warn_truncated(struct extract *extract, const struct extract_input *input, uint64_t at);
// Report and count a damaged slab before other slabs, in this part of the file. head: as read, NULL if that is damaged.
void extract_leave_out(struct extract *extract, const struct extract_input *input, uint64_t from, uint64_t to,
	const struct tl_pcapng_head *head);

// indexed.c: return 0, or an error; *out_done is set if the sidecar was used.
int extract_indexed(struct extract *extract, struct extract_input *input, bool *out_done);

// match.c
bool extract_match_row(const struct tl_extract_cfg *cfg, const struct tl_index_row *row);
// Match a packet. One of an unsupported link type does not match, and sets extract->lacking_rc.
bool extract_match_record(struct extract *extract, const struct tl_pcapng_packet *packet, uint16_t linktype);

// output.c
int extract_output_open(struct extract *extract, struct tl_err *err);
int extract_output_put(struct extract *extract, const struct extract_record *record);

// decap.c: remove VLAN tags and tunnels, where there are any. Return 0 or -ENOMEM. The data of the record is valid
// until the next call.
int extract_decap(struct extract *extract, uint16_t linktype, struct extract_record *record);
// Copy a clock block, after the first record only.
int extract_output_put_clock(struct extract *extract, const uint8_t *block, uint32_t size);
int extract_output_close(struct extract *extract); // with flush
void extract_output_free(struct extract_output *output);
