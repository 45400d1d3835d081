// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// recover_priv: declarations shared by the files of this module.
//
//   recover.c         scan: whole blocks, damage, conclusions
//   recover_blocks.c  validation of blocks and slabs
//   recover_packed.c  the same for a compressed recording
//   recover_pcap.c    scan of classic pcap
//   recover_repair.c  writes the result of the scan
//   recover_seen.c    list of the slabs found
//   recover_file.c    regular files: lock, read, write, rename
//
// Threads: one per scan. Memory: in struct scan, for the length of a recovery.

#include <errno.h>

#include <tl_err.h>
#include <tl_pcapng_block.h>
#include <tl_recover.h>

#define WINDOW_BYTES (8u << 20)
#define SLAB_BYTES_MAX (4u << 20)			     // same as tl_slab.h
#define INTERFACES_MAX 256u				     // two per queue
#define PAD_BYTES_MAX (1u << 20)			     // libpcap refuses blocks above 16 MiB
#define FRAME_BYTES_MAX 262144u				     // same as libpcap
#define CONTENT_BYTES_MAX (SLAB_BYTES_MAX + TL_PCAPNG_ALIGN) // compressed slab
#define BLOCKS_BYTES_MAX (1u << 18)			     // more than opening or closing blocks need
#define VAIN_TIMES 4u	       // multiple of the file's size: limit for searches inside incomplete slabs
#define RINGS_MAX 1024u	       // over all runs listed
#define RANGES_MOVED_MAX 1024u // limit per insertion: slabs further out of order are not listed
#define NOT_OURS "the file stays as it is"

// Bytes without a whole slab: [from, to).
struct gap {
	uint64_t from, to;
	uint64_t file; // file number in the HEADs of its section
};

// An interface of the section, and its records in the file.
struct interface {
	uint64_t records;
	uint64_t first_ns, last_ns;
	uint64_t statistics_at; // offset of its last ISB; 0: none
};

struct scan;

// Layout of a recording. Each function returns the bytes of the item at the offset, 0 if it is not whole, or -errno.
struct form {
	// Take a slab, and count it, or the file's own blocks after a HEAD. In doubt it must belong to the run and be
	// new. Blocks of another file, partly overwritten by this one, are not accepted.
	int64_t (*take_slab)(struct scan *scan, uint64_t offset, bool in_doubt);
	// Take other blocks of a recording.
	int64_t (*take_block)(struct scan *scan, uint64_t offset);
	// Find statistics with their padding, up to a 4 KiB boundary.
	int64_t (*see_statistics)(struct scan *scan, uint64_t offset);
	bool packed;
};

extern const struct form recover_plain_form;  // pcapng
extern const struct form recover_packed_form; // compressed pcapng

struct scan {
	const struct tl_recover_io *io;
	const struct tl_recover_opts *opts;
	struct tl_recover_report *report;
	struct tl_err *err;

	const struct form *form;
	bool pcap;			    // classic pcap: no form
	struct tl_zslab_unpacker *unpacker; // packed form
	uint8_t *content;		    // a decompressed unit

	uint8_t *window; // [window_at, window_at + window_bytes) of the file
	uint64_t window_at;
	uint32_t window_bytes;

	bool owned; // by its section header
	uint32_t sections;
	bool header_lost; // no section header at the start
	uint64_t section_at;
	uint32_t described;   // interfaces of this section
	uint32_t limit;	      // limit for interface numbers
	uint32_t used;	      // highest number used, plus 1
	uint32_t snaplen;     // snaplen of the first interface
	uint64_t records_end; // end of the last record
	uint64_t trail_at;    // offset of trailing statistics; 0: none
	uint32_t used_before_trail;
	bool prologue_torn; // the first gap is before the first slab
	bool lost_known;    // first section: descriptions of interfaces lost_from to lost_to are lost
	uint32_t lost_from, lost_to;
	uint8_t *made; // rebuilt opening blocks, for offset made_at
	uint64_t made_at;
	uint32_t made_bytes;
	bool run_known;
	uint64_t run_id;
	bool file_known; // file number of this section is known from its HEADs
	uint64_t file;	 // 0: none, as in older versions

	struct interface *interface;
	struct gap *gaps;
	uint32_t n_gaps;
	size_t gaps_capacity;

	uint64_t vain_end; // end of the last incomplete slab
};

// recover.c: view the bytes at offset, at most len. NULL with *out_rc: read error.
const uint8_t *recover_view(struct scan *scan, uint64_t offset, uint32_t len, uint32_t *out_len, int *out_rc);

// Return 0 if the section header is ours, -ENOMSG if not, or -errno if unknown.
int recover_check_owned(const struct tl_recover_io *io);
bool recover_is_application(const char *text, uint32_t len);

// recover_blocks.c: count an incomplete slab at the offset with this size in the file and this cost to search.
void recover_count_torn(struct scan *scan, uint64_t offset, uint64_t file_bytes, uint64_t searched_bytes);
bool recover_is_doubtful(const struct scan *scan, const struct tl_pcapng_head *head);
bool recover_is_repeated(const struct scan *scan, const struct tl_pcapng_head *head);
// Count a slab that ends at an offset if all its blocks are whole: 1, else 0, or -errno.
int recover_take_content(
	struct scan *scan, const uint8_t *slab, uint64_t len, const struct tl_pcapng_head *head, uint64_t end);
// Take a block outside slabs. False: not valid there.
bool recover_take_by_type(struct scan *scan, const uint8_t *block, uint32_t total, uint64_t offset);
bool recover_is_statistics(const struct scan *scan, const uint8_t *block, uint32_t total);
// Decide which interfaces of the first section must be rebuilt, at its end.
void recover_settle_lost(struct scan *scan);

// recover_packed.c: true if the first slab is in its place after the opening unit.
bool recover_has_packed_slab(const uint8_t *head, uint32_t len);
// Check the owner; undecided if everything but slabs is lost. Return 0, or -EMEDIUMTYPE with a message.
int recover_check_packed(struct scan *scan);
void recover_close_packed(struct scan *scan);
// Pack blocks into a unit. Return its bytes, -ENOBUFS or -ENOMEM.
int64_t recover_pack(const uint8_t *blocks, uint32_t len, uint8_t *out, uint32_t size);

// recover_pcap.c: return 0 with *out_end after the last whole record.
int recover_scan_pcap(struct scan *scan, uint64_t *out_end);

// recover_seen.c
bool recover_was_seen(const struct tl_recover_report *report, const struct tl_pcapng_head *head);
int recover_add_seen(struct tl_recover_report *report, const struct tl_pcapng_head *head);

// recover_repair.c: fit the rebuilt opening blocks into the first gap. -ENOMSG with a message if there is no room.
int recover_plan_prologue(struct scan *scan);
int recover_repair(struct scan *scan);
// Force the file to the disk, whole as it is: a killed run may have left it in memory, and a complete name follows.
int recover_force(struct scan *scan);
// Number of interfaces without final statistics.
uint32_t recover_lacking_statistics(const struct scan *scan);
