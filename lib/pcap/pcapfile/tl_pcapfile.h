// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// pcapfile: the pcapng blocks of a recording (draft-ietf-opsawg-pcapng), encoded in place into the caller's buffer,
// little endian, nanosecond timestamps. The length of every block is a multiple of 4 bytes.
//
// Threads: any; every function is pure. Memory: the caller's; an encoder never writes past the size passed to it or
// returned by its _bytes() function.
//
// A recording consists of: SHB, one IDB per interface, PAD to 4 KiB; then sealed slabs, each HEAD, EPBs, PAD to 4 KiB;
// at close ISBs and CLOCK. HEAD, PAD and CLOCK have local-use block types, which tshark, capinfos and tcpdump skip
// silently; they list Custom Blocks.

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <tl_base.h>
#include <tl_choices.h>

#define TL_PCAPNG_SHB 0x0A0D0D0Au
#define TL_PCAPNG_SHB_BYTES_MIN 28u
#define TL_PCAPNG_BYTE_ORDER 0x1A2B3C4Du // in the section's byte order
#define TL_PCAPNG_IDB 0x00000001u
#define TL_PCAPNG_EPB 0x00000006u
#define TL_PCAPNG_ISB 0x00000005u
#define TL_PCAPNG_PAD 0x80000001u
#define TL_PCAPNG_HEAD 0x80000002u
#define TL_PCAPNG_CHAIN 0x80000003u // digest of a file (tl_digest.h)
#define TL_PCAPNG_CLOCK 0x80000004u // log of the clocks
#define TL_PCAPNG_ALIGN 4096u	    // O_DIRECT boundary
#define TL_PCAPNG_PAD_MIN 12u	    // the smallest block: type, length, length
#define TL_PCAPNG_HEAD_BYTES 64u
#define TL_PCAPNG_CHECK_AT 52u // offset of the 8-byte check in a HEAD
#define TL_PCAPNG_LINKTYPE_ETHERNET 1
#define TL_PCAPNG_INBOUND 1u // bits 0-1 of epb_flags
#define TL_PCAPNG_OUTBOUND 2u
#define TL_PCAPNG_DIRECTION 3u

enum tl_dir { TL_DIR_RX, TL_DIR_TX, TL_DIRS };

// Section header. The strings are borrowed; any may be NULL.
struct tl_pcapng_shb {
	const char *hardware;
	const char *os;
	const char *application;
	const char *comment;
};

// An interface: one RX queue and timestamp source.
struct tl_pcapng_idb {
	const char *name;	 // if_name: the device as named by the user
	const char *description; // if_description: queue, and source of its timestamps
	const char *filter;	 // if_filter: tcpdump syntax, or NULL
	uint32_t snaplen;	 // bytes; 0 = unlimited; the same for a whole file: libpcap refuses a mixture
	uint64_t speed_bps;	 // 0 = unknown: no option written
};

// End-of-file statistics of one interface. UINT64_MAX in a counter, start or end leaves its option out.
struct tl_pcapng_isb {
	uint32_t interface_id;
	uint64_t ts_ns;		  // time of writing, ns since 1970
	uint64_t start_ns;	  // isb_starttime
	uint64_t end_ns;	  // isb_endtime
	uint64_t received_pkts;	  // isb_ifrecv
	uint64_t if_dropped_pkts; // isb_ifdrop
	uint64_t accepted_pkts;	  // isb_filteraccept
	uint64_t os_dropped_pkts; // isb_osdrop: our drops between NIC and file
	uint64_t delivered_pkts;  // isb_usrdeliv: packets in the file
};

// First block of a sealed slab, for resynchronisation by recovery (layout in docs/recording.md).
struct tl_pcapng_head {
	uint64_t run_id;     // random per process
	uint64_t sequence;   // sequence number of the slab within its ring
	uint32_t ring;	     // ring of the queue
	uint32_t used_bytes; // bytes of the slab, with HEAD, without trailing PAD
	uint32_t records;    // 0: not a slab: the file's own blocks follow
	uint64_t file;	     // random per file: distinguishes it from stale data in a reused file; 0: none
	uint64_t check;	     // tl_pcapng_check() of the slab, 0: none; or, depending on its kind, part of a digest
	enum tl_digest_kind digest;
};

// The clocks behind stamps: the TSC against CLOCK_REALTIME, and a NIC's counter against the TSC.
enum tl_pcapng_clock_id { TL_PCAPNG_CLOCK_WALL, TL_PCAPNG_CLOCK_NIC, TL_PCAPNG_CLOCKS };

// Comparison of a counter, about one per second. Stamps of the counter had an error of at most bound_ns until then, if
// the clock was not set meanwhile: see offset_ns.
struct tl_pcapng_clock_record {
	uint64_t number;   // number of the comparison of this clock, from 1: exposes gaps in a log
	uint64_t time_ns;  // since 1970, on the time base of later stamps
	uint64_t age_ns;   // time since the previous comparison
	int64_t offset_ns; // the time minus the stamps' time until then
	uint64_t half_ns;  // uncertainty between the two readings: half the bracket
	uint64_t bound_ns; // error bound of the preceding stamps, against CLOCK_REALTIME
	uint64_t rate_uhz; // frequency of the counter, against CLOCK_REALTIME, 10^-6 Hz
	uint32_t clock;	   // enum tl_pcapng_clock_id
	uint32_t flags;
};

#define TL_PCAPNG_CLOCK_STEPPED 1u   // time was set: stamps step, or are slewed to it
#define TL_PCAPNG_CLOCK_SET_ASIDE 2u // outlier, not accepted yet
#define TL_PCAPNG_CLOCK_NOT_READ 4u  // the counter could not be read

// Section of the log, and summary of the recording until then.
struct tl_pcapng_clock {
	uint64_t start_ns;			 // since 1970: start of the period covered
	uint64_t bound_max_ns[TL_PCAPNG_CLOCKS]; // largest of this clock's stamps; UINT64_MAX: it has none, or none is
						 // known
	uint32_t steps;				 // so far, over all clocks
	uint32_t records;
};

// A captured frame.
struct tl_pcapng_epb {
	uint32_t interface_id;
	uint32_t cap_bytes;  // stored
	uint32_t wire_bytes; // on the wire, without FCS
	uint32_t flags;	     // epb_flags: TL_PCAPNG_INBOUND or OUTBOUND; option written only when not 0
	uint64_t ts_ns;	     // since 1970
	uint64_t dropped;    // frames lost since the previous record; option written only when not 0
};

// Write a block or header. Return the bytes written, or 0 if size is too small. The header is that of a classic pcap
// file of Ethernet frames with nanoseconds; snaplen 0 = unlimited. Its second reserved field, which readers ignore
// (draft-ietf-opsawg-pcap, section 4), marks the file as ours, for rings and recover.
#define TL_PCAP_MAGIC_US 0xa1b2c3d4u // first word, in the file's byte order
#define TL_PCAP_MAGIC_NS 0xa1b23c4du
#define TL_PCAP_HEADER_BYTES 24u
#define TL_PCAP_RECORD_BYTES 16u // before each frame: seconds, nanoseconds, captured, on the wire
uint32_t tl_pcap_put_header(void *buf, uint32_t size, uint32_t snaplen);
bool tl_pcap_is_ours(const void *buf, uint32_t size);
// True for the first word of a classic pcap file of either byte order.
static inline bool tl_pcap_is_magic(uint32_t word)
{
	return word == TL_PCAP_MAGIC_US || word == TL_PCAP_MAGIC_NS || word == __builtin_bswap32(TL_PCAP_MAGIC_US) ||
	       word == __builtin_bswap32(TL_PCAP_MAGIC_NS);
}

uint32_t tl_pcapng_put_shb(void *buf, uint32_t size, const struct tl_pcapng_shb *shb);
uint32_t tl_pcapng_put_idb(void *buf, uint32_t size, const struct tl_pcapng_idb *idb);
uint32_t tl_pcapng_put_isb(void *buf, uint32_t size, const struct tl_pcapng_isb *isb);

// Set another link type in an interface description at buf, which has that of Ethernet.
void tl_pcapng_set_linktype(void *buf, uint16_t linktype);
// Write clock->records records, oldest first, and TL_PCAPNG_CLOCK_BYTES around them.
#define TL_PCAPNG_CLOCK_BYTES 52u
#define TL_PCAPNG_CLOCK_RECORD_BYTES 64u
uint32_t tl_pcapng_put_clock(
	void *buf, uint32_t size, const struct tl_pcapng_clock *clock, const struct tl_pcapng_clock_record *records);

// Read a CLOCK block. Return 0, or -EINVAL if the size bytes at buf do not begin with a whole one.
int tl_pcapng_get_clock(const void *buf, uint32_t size, struct tl_pcapng_clock *out);
// Read a record of such a block, index < records.
struct tl_pcapng_clock_record tl_pcapng_get_clock_record(const void *buf, uint32_t index);

// Write one PAD block of exactly len bytes: len is a multiple of 4 and at least TL_PCAPNG_PAD_MIN.
void tl_pcapng_put_pad(void *buf, uint32_t len);

// Compute the length of a PAD after used_bytes that ends on the next multiple of align (a power of two >= 16): 0 if
// already aligned, never 4 or 8.
uint32_t tl_pcapng_pad_bytes(uint64_t used_bytes, uint32_t align);

// Compute a sum over the slab after its HEAD, never 0: it detects a slab with unwritten parts if the stale data there
// looks similar.
uint64_t tl_pcapng_check(const void *slab, uint32_t used_bytes);

// Write TL_PCAPNG_HEAD_BYTES.
void tl_pcapng_put_head(void *buf, const struct tl_pcapng_head *head);

// Set the file number and the check in a HEAD block at buf.
void tl_pcapng_sign_head(void *buf, uint64_t file, uint64_t check);
// Same for a digest: set its kind first, as the digest covers it.
void tl_pcapng_set_kind(void *buf, uint64_t file, enum tl_digest_kind kind);
void tl_pcapng_set_check(void *buf, uint64_t check);

// Read a HEAD block. Return 0, or -EINVAL if the size bytes at buf do not begin with one of ours.
int tl_pcapng_get_head(const void *buf, uint32_t size, struct tl_pcapng_head *out);

// Get the application named by a section header at buf; borrowed from buf, not terminated. Only our own byte order is
// supported. Return 0, -EINVAL (no whole section header), or -ENOENT (no name).
int tl_pcapng_get_application(const void *buf, uint32_t size, const char **out_text, uint32_t *out_len);

// HOT. Size of an EPB with cap_bytes of data and the options required by flags and dropped.
static inline uint32_t tl_pcapng_epb_bytes(uint32_t cap_bytes, uint32_t flags, uint64_t dropped)
{
	uint32_t options = (flags ? 8u : 0u) + (dropped ? 12u : 0u);

	// Header 28, data padded to 4, [options, their end 4], trailing length 4.
	return 28u + ((cap_bytes + 3u) & ~3u) + (options ? options + 4u : 0u) + 4u;
}

// Write two words with one store: assembled on the stack, they would be read back wider than they were written, which
// no CPU forwards.
static inline void tl_pcapng_put_words(uint8_t *to, uint32_t first, uint32_t second)
{
	uint64_t words = (uint64_t)second << 32 | first;

	memcpy(to, &words, sizeof(words));
}

// HOT. Write all of an EPB except its data, and return the address for the cap_bytes of data; the padding after them is
// zeroed here. buf has tl_pcapng_epb_bytes() bytes and is 4-byte aligned.
static inline uint8_t *tl_pcapng_put_epb(void *buf, const struct tl_pcapng_epb *epb)
{
	uint32_t total = tl_pcapng_epb_bytes(epb->cap_bytes, epb->flags, epb->dropped);
	uint32_t padded = (epb->cap_bytes + 3u) & ~3u;
	uint8_t *head = buf, *data = head + 28, *option = data + padded;

	memset(option - 4, 0, 4); // the data overwrites all except its padding; without data, the words do
	tl_pcapng_put_words(head, TL_PCAPNG_EPB, total);
	tl_pcapng_put_words(head + 8, epb->interface_id, (uint32_t)(epb->ts_ns >> 32));
	tl_pcapng_put_words(head + 16, (uint32_t)epb->ts_ns, epb->cap_bytes);
	memcpy(head + 24, &epb->wire_bytes, 4);
	if (epb->flags != 0) {
		tl_pcapng_put_words(option, 2u | 4u << 16, epb->flags); // epb_flags (2), 4 bytes
		option += 8;
	}
	if (TL_UNLIKELY(epb->dropped != 0)) {
		uint32_t code = 4u | 8u << 16; // epb_dropcount (4), 8 bytes
		memcpy(option, &code, 4);
		memcpy(option + 4, &epb->dropped, 8);
		option += 12;
	}
	if (option != data + padded) {
		memset(option, 0, 4); // opt_endofopt
		option += 4;
	}
	memcpy(option, &total, 4);
	return data;
}

// Reader: frames of a pcap or pcapng file, in file order, mapped read-only.
struct tl_pcap_reader; // opaque

struct tl_pcap_frame {
	const uint8_t *data; // borrowed from the mapping: valid until close
	uint32_t cap_bytes;
	uint32_t wire_bytes;
	uint64_t ts_ns;	   // since 1970; exact to the file's resolution
	uint32_t linktype; // LINKTYPE_ number
	bool fcs;	   // the lengths and the data, unless cut, include an FCS: 4 bytes of Ethernet
};

struct tl_err;

// Open a pcap (us or ns, either byte order) or pcapng file (either byte order, several sections, EPB and SPB,
// if_tsresol and if_tsoffset honoured) of link type Ethernet. Return 0, or -errno with a message: file, offset and
// cause.
int tl_pcap_open(const char *path, struct tl_pcap_reader **out, struct tl_err *err);

// Same for files of any link type; the caller checks that of each frame.
int tl_pcap_open_any(const char *path, struct tl_pcap_reader **out, struct tl_err *err);

// Release the memory of the frames so far, including those returned: later accesses read the file again. Periodic calls
// keep a large file from filling the memory.
void tl_pcap_release(struct tl_pcap_reader *reader);

// Link type of a file, for pcapng that of its first interface; 0: none.
uint32_t tl_pcap_linktype(const struct tl_pcap_reader *reader);

// Same as tl_pcap_open() over size bytes of memory, borrowed until close (tests, fuzzing). name is borrowed too, for
// errors.
int tl_pcap_open_memory(
	const void *data, size_t size, const char *name, struct tl_pcap_reader **out, struct tl_err *err);

// Open the start of a file that is read piece by piece instead of mapped, of any link type; data and name are borrowed
// as above. Fails like the others if size does not cover the file header, for pcapng also the blocks up to the first
// frame: with more of the file it may succeed.
int tl_pcap_open_window(
	const void *data, size_t size, const char *name, struct tl_pcap_reader **out, struct tl_err *err);

// True if tl_pcap_next() has returned 0 or an error at the end of the data, between two records or inside one. With
// more of the file it may succeed.
bool tl_pcap_needs_more(const struct tl_pcap_reader *reader);

// Continue in another window: size bytes of the file from this offset on, which is tl_pcap_offset(). Frames returned so
// far become invalid, and tl_pcap_get_more() may not be used.
void tl_pcap_move(struct tl_pcap_reader *reader, const void *data, size_t size, uint64_t offset);

// Continue after the bad record that caused an error. False if its end is unknown.
bool tl_pcap_skip(struct tl_pcap_reader *reader);

// Offset of the next record in the file, and after an error that of the fault.
uint64_t tl_pcap_offset(const struct tl_pcap_reader *reader);
uint64_t tl_pcap_fault_offset(const struct tl_pcap_reader *reader);

// HOT. Read the next frame. Return 1 with *out filled, 0 at the end of the file, -EINVAL if the file is damaged here
// (including a frame truncated by the end of the file); after 0 or an error the result stays the same. err may be NULL.
int tl_pcap_next(struct tl_pcap_reader *reader, struct tl_pcap_frame *out, struct tl_err *err);

// Time unit of the file; 0: per interface.
uint32_t tl_pcap_unit_ns(const struct tl_pcap_reader *reader);

// Call fn from now on for each pcapng block of this type that tl_pcap_next() passes, as stored in the file, one at a
// time. fn must not keep pointers to the block.
typedef void tl_pcap_block_fn(void *ctx, const uint8_t *block, uint32_t bytes);
void tl_pcap_watch(struct tl_pcap_reader *reader, uint32_t type, tl_pcap_block_fn *fn, void *ctx);

// Further properties of the last frame returned by tl_pcap_next(), not after tl_pcap_move(). Text is borrowed from the
// mapping, in the file's byte order and not terminated; NULL: not present.
struct tl_pcap_more {
	uint32_t section;	// 0: no sections
	uint32_t interface_id;	// within the section
	const uint8_t *options; // of the frame
	uint32_t options_bytes;
	bool swapped;			// the byte order differs from the host's
	const char *name, *description; // of the interface
	uint32_t name_bytes, description_bytes;
	uint8_t tsresol; // unit of the interface's stamps, as in if_tsresol: 10^-n s, or above 128 2^-(n - 128) s
	bool has_stamp;
};
void tl_pcap_get_more(const struct tl_pcap_reader *reader, struct tl_pcap_more *out);

// Interface and direction of the last frame, as far as its own record has them: valid after tl_pcap_move(), too.
struct tl_pcap_origin {
	uint32_t interface_id; // within the section; 0 in pcap
	uint32_t flags;	       // epb_flags; 0: none
};
void tl_pcap_get_origin(const struct tl_pcap_reader *reader, struct tl_pcap_origin *out);

// Iterate over options. Return 1 with *out filled, 0 at the end. *at is initially 0.
struct tl_pcap_option {
	uint16_t code, len;
	const uint8_t *value;
};
int tl_pcap_next_option(const uint8_t *options, uint32_t bytes, bool swapped, uint32_t *at, struct tl_pcap_option *out);

void tl_pcap_close(struct tl_pcap_reader *reader);
