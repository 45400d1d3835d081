// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// recover_priv: what the files of this module share.
//
//   recover.c         goes through a file: what is whole, what is damaged, what follows from it
//   recover_blocks.c  whether a block, or a slab, is whole
//   recover_packed.c  the same of a compressed recording
//   recover_pcap.c    goes through one in classic pcap
//   recover_mend.c    writes what the scan decided
//   recover_seen.c    which slabs of which ring were found
//   recover_file.c    regular files: lock, read, write, name
//
// Threads: one per scan. Memory: in struct scan, for the length of a recovery.

#include <errno.h>

#include <tl_err.h>
#include <tl_pcapfile.h>
#include <tl_recover.h>

#define WINDOW_BYTES (8u << 20)
#define SLAB_BYTES_MAX (4u << 20)			     // as tl_slab.h
#define INTERFACES_MAX 256u				     // a recording has at most two per queue
#define PAD_BYTES_MAX (1u << 20)			     // libpcap refuses a block of more than 16 MiB
#define FRAME_BYTES_MAX 262144u				     // as libpcap
#define CONTENT_BYTES_MAX (SLAB_BYTES_MAX + TL_PCAPNG_ALIGN) // of a compressed slab
#define BLOCKS_BYTES_MAX (1u << 18)			     // more than those that open or close a file have
#define VAIN_TIMES 4u					     // the file's size: what slabs that are not whole may cost
#define RINGS_MAX 1024u					     // of all runs that are listed
#define RANGES_MOVED_MAX 1024u				     // a slab so far out of order is not listed
#define NOT_OURS "the file stays as it is"

// Bytes without a whole slab: [from, to).
struct gap {
	uint64_t from, to;
	uint64_t file; // that the HEADs of its section name
};

// One interface of the section, and what the file holds of it.
struct interface {
	uint64_t records;
	uint64_t first_ns, last_ns;
	uint64_t statistics_at; // its last ISB; 0: none
};

struct scan;

// How a recording's slabs and other blocks lie in its file. Each function returns the bytes of what begins at the
// offset, 0 where that is not whole, or -errno.
struct form {
	// A slab, which is counted, or the file's own blocks behind a HEAD. In doubt it has to belong to the run, and
	// not to have been seen. What belongs to another file is none: this one may have been written over it.
	int64_t (*take_slab)(struct scan *scan, uint64_t offset, bool in_doubt);
	// Any other block that a recording may have, or several.
	int64_t (*take_block)(struct scan *scan, uint64_t offset);
	// Statistics and their padding, up to a boundary of 4 KiB.
	int64_t (*see_statistics)(struct scan *scan, uint64_t offset);
	bool packed;
};

extern const struct form recover_plain_form;  // pcapng
extern const struct form recover_packed_form; // the same, compressed

struct scan {
	const struct tl_recover_io *io;
	const struct tl_recover_opts *opts;
	struct tl_recover_report *report;
	struct tl_err *err;

	const struct form *form;
	bool pcap;			    // classic: it has none
	struct tl_zslab_unpacker *unpacker; // of the packed form
	uint8_t *content;		    // a unit of it, unpacked

	uint8_t *window; // [window_at, window_at + window_bytes) of the file
	uint64_t window_at;
	uint32_t window_bytes;

	bool owned; // the section header says so
	uint32_t sections;
	bool header_lost; // the file does not begin with a section header
	uint64_t section_at;
	uint32_t described;   // interfaces of this section
	uint32_t limit;	      // an interface's number is below this
	uint32_t used;	      // the highest number used, plus 1
	uint32_t snaplen;     // of the first interface
	uint64_t records_end; // behind the last record
	uint64_t trail_at;    // where statistics begin behind which nothing else was found yet; 0: none
	bool prologue_torn;   // the first gap is before the first slab
	bool lost_known;      // of the first section: its interfaces from lost_from to lost_to are not described
	uint32_t lost_from, lost_to;
	uint8_t *made; // what is made up of the prologue, for made_at
	uint64_t made_at;
	uint32_t made_bytes;
	bool run_known;
	uint64_t run_id;
	bool file_known; // of this section: what its HEADs, and no others, say
	uint64_t file;	 // 0: they say nothing, as versions before did, or there are none

	struct interface *interface;
	struct gap *gaps;
	uint32_t n_gaps, gaps_capacity;

	uint64_t vain_end; // behind the last slab that was not whole
};

// recover.c
// The bytes at offset, as many as there are and at most len. NULL with *out_rc: they cannot be had.
const uint8_t *recover_view(struct scan *scan, uint64_t offset, uint32_t len, uint32_t *out_len, int *out_rc);

// Whether what is there says so.
bool recover_is_owned(const struct tl_recover_io *io);
bool recover_is_application(const char *text, uint32_t len);

// recover_blocks.c
// Counts a slab of these bytes of the file, and so many to go through, that begins at the offset and is not whole.
void recover_count_torn(struct scan *scan, uint64_t offset, uint64_t file_bytes, uint64_t searched_bytes);
// The bytes of the block at p, or 0: its two lengths do not agree, or it does not end within left.
uint32_t recover_block_bytes(const uint8_t *p, uint64_t left);
bool recover_is_doubtful(const struct scan *scan, const struct tl_pcapng_head *head);
bool recover_is_repeated(const struct scan *scan, const struct tl_pcapng_head *head);
// Counts a slab that ends at an offset, if all of its blocks are whole: 1, else 0, or -errno.
int recover_take_content(
	struct scan *scan, const uint8_t *slab, uint64_t len, const struct tl_pcapng_head *head, uint64_t end);
// A block that stands by itself. False: a recording has none such there.
bool recover_take_by_type(struct scan *scan, const uint8_t *block, uint32_t total, uint64_t offset);
bool recover_is_statistics(const struct scan *scan, const uint8_t *block, uint32_t total);
// Settles which interfaces of the first section have to be made up: it ends here.
void recover_settle_lost(struct scan *scan);

// recover_packed.c
// Whether the first slab is where it is behind what opens a file.
bool recover_has_packed_slab(const uint8_t *head, uint32_t len);
// Whether it is ours; left open where all but its slabs is lost. Returns 0, or -EMEDIUMTYPE with a sentence.
int recover_check_packed(struct scan *scan);
void recover_close_packed(struct scan *scan);
// Returns the bytes of the unit, -ENOBUFS or -ENOMEM.
int64_t recover_pack(const uint8_t *blocks, uint32_t len, uint8_t *out, uint32_t size);

// recover_pcap.c
// Returns 0 with *out_end behind the last whole record.
int recover_scan_pcap(struct scan *scan, uint64_t *out_end);

// recover_seen.c
bool recover_was_seen(const struct tl_recover_report *report, const struct tl_pcapng_head *head);
int recover_add_seen(struct tl_recover_report *report, const struct tl_pcapng_head *head);

// recover_mend.c
// Fits what is to be made up for a torn prologue into the first gap. -ENOMSG with a sentence where there is no room.
int recover_plan_prologue(struct scan *scan);
int recover_mend(struct scan *scan);
// How many interfaces have no final statistics.
uint32_t recover_lacking_statistics(const struct scan *scan);
