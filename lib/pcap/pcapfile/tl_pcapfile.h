// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// pcapfile: the pcapng blocks that a recording is made of (draft-ietf-opsawg-pcapng), encoded in place into the
// caller's buffer, little endian, nanosecond timestamps. Every block is a multiple of 4 bytes long.
//
// Threads: any; every function is pure. Memory: the caller's; an encoder never writes past the size it was given or
// the size its _bytes() function announced.
//
// A recording is: SHB, one IDB per interface, PAD to 4 KiB; then sealed slabs, each HEAD, EPBs, PAD to 4 KiB; then at
// close ISBs and CLOCK. HEAD, PAD and CLOCK have local-use block types, which tshark, capinfos and tcpdump skip in
// silence; Custom Blocks they list.

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <tl_base.h>

#define TL_PCAPNG_SHB 0x0A0D0D0Au
#define TL_PCAPNG_SHB_BYTES_MIN 28u
#define TL_PCAPNG_BYTE_ORDER 0x1A2B3C4Du // in the order of the section
#define TL_PCAPNG_IDB 0x00000001u
#define TL_PCAPNG_EPB 0x00000006u
#define TL_PCAPNG_ISB 0x00000005u
#define TL_PCAPNG_PAD 0x80000001u
#define TL_PCAPNG_HEAD 0x80000002u
#define TL_PCAPNG_CHAIN 0x80000003u // digest of a file (tl_digest.h)
#define TL_PCAPNG_CLOCK 0x80000004u // what the clocks did
#define TL_PCAPNG_ALIGN 4096u	    // O_DIRECT boundary
#define TL_PCAPNG_PAD_MIN 12u	    // the smallest block: type, length, length
#define TL_PCAPNG_HEAD_BYTES 64u
#define TL_PCAPNG_CHECK_AT 52u // of the 8 bytes of a HEAD's check
#define TL_PCAPNG_LINKTYPE_ETHERNET 1
#define TL_PCAPNG_INBOUND 1u // bits 0-1 of epb_flags
#define TL_PCAPNG_OUTBOUND 2u

// Kind of the check in a HEAD: a sum of ours, or the beginning of a digest (tl_digest.h).
enum tl_digest_kind { TL_DIGEST_NONE, TL_DIGEST_CRC32C, TL_DIGEST_SHA256, TL_DIGEST_KINDS };

enum tl_dir { TL_DIR_RX, TL_DIR_TX, TL_DIRS };

// Section header. The strings are borrowed; any may be NULL.
struct tl_pcapng_shb {
	const char *hardware;
	const char *os;
	const char *application;
	const char *comment;
};

// One interface: one RX queue and timestamp source.
struct tl_pcapng_idb {
	const char *name;	 // if_name: the device as the user named it
	const char *description; // if_description: queue, and the source of its timestamps
	const char *filter;	 // if_filter: tcpdump syntax, or NULL
	uint32_t snaplen;	 // bytes; 0 = unlimited; one value for all of a file: libpcap refuses a mixture
	uint64_t speed_bps;	 // 0 = unknown: no option written
};

// End-of-file statistics of one interface. UINT64_MAX in a counter, start or end leaves its option out.
struct tl_pcapng_isb {
	uint32_t interface_id;
	uint64_t ts_ns;		  // when the block was written, ns since 1970
	uint64_t start_ns;	  // isb_starttime
	uint64_t end_ns;	  // isb_endtime
	uint64_t received_pkts;	  // isb_ifrecv
	uint64_t if_dropped_pkts; // isb_ifdrop
	uint64_t accepted_pkts;	  // isb_filteraccept
	uint64_t os_dropped_pkts; // isb_osdrop: our drops between NIC and file
	uint64_t delivered_pkts;  // isb_usrdeliv: what the file holds
};

// The first block of a sealed slab, so that recovery can resynchronise (see docs/recording.md for the layout).
struct tl_pcapng_head {
	uint64_t run_id;     // random per process
	uint64_t sequence;   // of the slab within its ring
	uint32_t ring;	     // which queue's ring
	uint32_t used_bytes; // of the slab, HEAD included, trailing PAD not
	uint32_t records;    // 0: no slab: the file's own blocks follow
	uint64_t file;	     // random per file: what else lies in a file that is written again has another; 0: none
	uint64_t check;	     // tl_pcapng_check() of the slab, 0: none; or, by its kind, of a digest
	enum tl_digest_kind digest;
};

// The clocks behind stamps: the TSC against CLOCK_REALTIME, and a NIC's counter against the TSC.
enum tl_pcapng_clock_id { TL_PCAPNG_CLOCK_WALL, TL_PCAPNG_CLOCK_NIC, TL_PCAPNG_CLOCKS };

// One comparison of a counter, about one a second. Stamps of the counter were off by bound_ns at most until then, if
// the clock was not set meanwhile: offset_ns tells.
struct tl_pcapng_clock_record {
	uint64_t number;   // of the comparison of this clock, from 1: a gap in a log shows
	uint64_t time_ns;  // since 1970, as stamps say it from then on
	uint64_t age_ns;   // since the comparison before
	int64_t offset_ns; // the time minus what stamps said it was until then
	uint64_t half_ns;  // how far apart the two readings may be: half the bracket
	uint64_t bound_ns; // of stamps right before, against CLOCK_REALTIME
	uint64_t rate_uhz; // of the counter, against CLOCK_REALTIME, 10^-6 Hz
	uint32_t clock;	   // enum tl_pcapng_clock_id
	uint32_t flags;
};

#define TL_PCAPNG_CLOCK_STEPPED 1u   // time was set: stamps jump, or bend to it
#define TL_PCAPNG_CLOCK_SET_ASIDE 2u // off, and not believed yet
#define TL_PCAPNG_CLOCK_NOT_READ 4u  // the counter could not be read

// A stretch of the log, and an account of the recording's whole life until then.
struct tl_pcapng_clock {
	uint64_t start_ns;			 // since 1970: what follows is of the time from then on
	uint64_t bound_max_ns[TL_PCAPNG_CLOCKS]; // largest of this clock's stamps; UINT64_MAX: it has none, or none is
						 // known
	uint32_t steps;				 // so far, of all clocks
	uint32_t records;
};

// One captured frame.
struct tl_pcapng_epb {
	uint32_t interface_id;
	uint32_t cap_bytes;  // stored
	uint32_t wire_bytes; // on the wire, without FCS
	uint32_t flags;	     // epb_flags: TL_PCAPNG_INBOUND or OUTBOUND; option written only when not 0
	uint64_t ts_ns;	     // since 1970
	uint64_t dropped;    // frames lost since the previous record; option written only when not 0
};

// These return the bytes written, or 0 if size is too small. The header is that of a classic pcap file of Ethernet
// frames with nanoseconds; snaplen 0 = unlimited. Its second reserved field, which readers ignore
// (draft-ietf-opsawg-pcap, section 4), says that the file is ours: a ring and recover know it by that.
#define TL_PCAP_HEADER_BYTES 24u
#define TL_PCAP_RECORD_BYTES 16u // before each frame: seconds, nanoseconds, captured, on the wire
uint32_t tl_pcap_put_header(void *buf, uint32_t size, uint32_t snaplen);
bool tl_pcap_is_ours(const void *buf, uint32_t size);
uint32_t tl_pcapng_put_shb(void *buf, uint32_t size, const struct tl_pcapng_shb *shb);
uint32_t tl_pcapng_put_idb(void *buf, uint32_t size, const struct tl_pcapng_idb *idb);
uint32_t tl_pcapng_put_isb(void *buf, uint32_t size, const struct tl_pcapng_isb *isb);

// Into an interface description that stands at buf, of Ethernet so far: another link type.
void tl_pcapng_set_linktype(void *buf, uint16_t linktype);
// Writes clock->records records, oldest first, and TL_PCAPNG_CLOCK_BYTES around them.
#define TL_PCAPNG_CLOCK_BYTES 52u
#define TL_PCAPNG_CLOCK_RECORD_BYTES 64u
uint32_t tl_pcapng_put_clock(
	void *buf, uint32_t size, const struct tl_pcapng_clock *clock, const struct tl_pcapng_clock_record *records);

// Reads a CLOCK block back. Returns 0, or -EINVAL if the size bytes at buf do not begin with a whole one.
int tl_pcapng_get_clock(const void *buf, uint32_t size, struct tl_pcapng_clock *out);
// One record of such a block, index < records.
struct tl_pcapng_clock_record tl_pcapng_get_clock_record(const void *buf, uint32_t index);

// Writes one PAD block of exactly len bytes: len is a multiple of 4 and at least TL_PCAPNG_PAD_MIN.
void tl_pcapng_put_pad(void *buf, uint32_t len);

// How long the PAD after used_bytes must be to end on the next multiple of align (a power of two >= 16): 0 if it
// already does, never 4 or 8.
uint32_t tl_pcapng_pad_bytes(uint64_t used_bytes, uint32_t align);

// A sum over the slab behind its HEAD, never 0: it tells a slab of which a part was not written, where what lay there
// before looks alike.
uint64_t tl_pcapng_check(const void *slab, uint32_t used_bytes);

// Writes TL_PCAPNG_HEAD_BYTES.
void tl_pcapng_put_head(void *buf, const struct tl_pcapng_head *head);

// Into a HEAD block that stands at buf: which file it goes to, and its check.
void tl_pcapng_sign_head(void *buf, uint64_t file, uint64_t check);
// The same of a digest: its kind comes first, as the digest covers it.
void tl_pcapng_set_kind(void *buf, uint64_t file, enum tl_digest_kind kind);
void tl_pcapng_set_check(void *buf, uint64_t check);

// Reads a HEAD block back. Returns 0, or -EINVAL if the size bytes at buf do not begin with one of ours.
int tl_pcapng_get_head(const void *buf, uint32_t size, struct tl_pcapng_head *out);

// The application that a section header at buf names; borrowed from buf, not terminated. Only the byte order that we
// write is understood. Returns 0, -EINVAL (no whole section header), or -ENOENT (it names none).
int tl_pcapng_get_application(const void *buf, uint32_t size, const char **out_text, uint32_t *out_len);

// HOT. Bytes of an EPB with cap_bytes of data and the options that these two ask for.
static inline uint32_t tl_pcapng_epb_bytes(uint32_t cap_bytes, uint32_t flags, uint64_t dropped)
{
	uint32_t options = (flags ? 8u : 0u) + (dropped ? 12u : 0u);

	// header 28, data padded to 4, [options, their end 4], trailing length 4
	return 28u + ((cap_bytes + 3u) & ~3u) + (options ? options + 4u : 0u) + 4u;
}

// Two words at once: laid out on the stack first, they would be read back wider than they were written, which no CPU
// forwards.
static inline void tl_pcapng_put_words(uint8_t *to, uint32_t first, uint32_t second)
{
	uint64_t words = (uint64_t)second << 32 | first;

	memcpy(to, &words, sizeof(words));
}

// HOT. Writes everything of an EPB but its data, and returns where the cap_bytes of data go; the padding after them is
// zeroed here. buf has tl_pcapng_epb_bytes() bytes and is 4-byte aligned.
static inline uint8_t *tl_pcapng_put_epb(void *buf, const struct tl_pcapng_epb *epb)
{
	uint32_t total = tl_pcapng_epb_bytes(epb->cap_bytes, epb->flags, epb->dropped);
	uint32_t padded = (epb->cap_bytes + 3u) & ~3u;
	uint8_t *head = buf, *data = head + 28, *option = data + padded;

	tl_pcapng_put_words(head, TL_PCAPNG_EPB, total);
	tl_pcapng_put_words(head + 8, epb->interface_id, (uint32_t)(epb->ts_ns >> 32));
	tl_pcapng_put_words(head + 16, (uint32_t)epb->ts_ns, epb->cap_bytes);
	memcpy(head + 24, &epb->wire_bytes, 4);
	if (padded != 0)
		memset(option - 4, 0, 4); // the data overwrites all but its padding
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
};

struct tl_err;

// Opens a pcap (us or ns, either byte order) or pcapng file (either byte order, several sections, EPB and SPB,
// if_tsresol and if_tsoffset honoured) of link type Ethernet. Returns 0, or -errno with a sentence naming file, offset
// and cause.
int tl_pcap_open(const char *path, struct tl_pcap_reader **out, struct tl_err *err);

// The same for files of any link type; it is the caller's work to know that of each frame.
int tl_pcap_open_any(const char *path, struct tl_pcap_reader **out, struct tl_err *err);

// Gives back to the kernel the memory of the frames so far, of those that were handed out too: what is asked for of
// them again is read from the file again. Called now and then, it keeps a large file from filling the memory.
void tl_pcap_forget(struct tl_pcap_reader *reader);

// The link type of a file, of pcapng that of its first interface; 0 where it has none.
uint32_t tl_pcap_linktype(const struct tl_pcap_reader *reader);

// Same as tl_pcap_open() over size bytes of memory, borrowed until close (tests, fuzzing). name is borrowed too, for
// errors.
int tl_pcap_open_memory(
	const void *data, size_t size, const char *name, struct tl_pcap_reader **out, struct tl_err *err);

// A file that is read piece by piece instead of mapped. Opens its beginning, of any link type; data and name are
// borrowed as above. Fails as the others do where size holds no whole file header, of pcapng also the blocks up to the
// first frame: with more of the file it may succeed.
int tl_pcap_open_window(
	const void *data, size_t size, const char *name, struct tl_pcap_reader **out, struct tl_err *err);

// After tl_pcap_next() has returned 0 or an error: whether it came to the end of the data, between two records or
// inside one. With more of the file it may succeed.
bool tl_pcap_wants_more(const struct tl_pcap_reader *reader);

// Goes on in another window: size bytes of the file from this offset on, which is tl_pcap_offset(). Frames handed out
// so far are invalid, and tl_pcap_get_more() may not be used.
void tl_pcap_move(struct tl_pcap_reader *reader, const void *data, size_t size, uint64_t offset);

// After an error: goes on behind the record that is wrong. False where its end is not known.
bool tl_pcap_skip(struct tl_pcap_reader *reader);

// Where in the file the next record begins, and after an error the place that is wrong.
uint64_t tl_pcap_offset(const struct tl_pcap_reader *reader);
uint64_t tl_pcap_fault_offset(const struct tl_pcap_reader *reader);

// HOT. Next frame: 1 with *out filled, 0 at the end of the file, -EINVAL when the file is broken here (a frame cut off
// by the end of the file included); after 0 or an error it keeps giving the same answer. err may be NULL.
int tl_pcap_next(struct tl_pcap_reader *reader, struct tl_pcap_frame *out, struct tl_err *err);

// The unit of the file's times; 0: each of its interfaces has its own.
uint32_t tl_pcap_unit_ns(const struct tl_pcap_reader *reader);

// From now on calls fn with each pcapng block of this type that tl_pcap_next() passes, as it lies in the file; one at a
// time. It may keep nothing of the block.
typedef void tl_pcap_block_fn(void *ctx, const uint8_t *block, uint32_t bytes);
void tl_pcap_watch(struct tl_pcap_reader *reader, uint32_t type, tl_pcap_block_fn *fn, void *ctx);

// What else the file says of the frame that tl_pcap_next() gave last. Text is borrowed from the mapping, in the file's
// byte order and not terminated; NULL where there is none.
struct tl_pcap_more {
	uint32_t section;	// 0: there are none
	uint32_t interface_id;	// of the section
	const uint8_t *options; // of the frame
	uint32_t options_bytes;
	bool swapped;			// the byte order is not ours
	const char *name, *description; // of the interface
	uint32_t name_bytes, description_bytes;
	uint8_t tsresol; // of the interface's stamps, as if_tsresol says it: 10^-n s, or above 128 2^-(n - 128) s
	bool has_stamp;
};
void tl_pcap_get_more(const struct tl_pcap_reader *reader, struct tl_pcap_more *out);

// One option after the other: 1 with *out filled, 0 at the end. *at is 0 at first.
struct tl_pcap_option {
	uint16_t code, len;
	const uint8_t *value;
};
int tl_pcap_next_option(const uint8_t *options, uint32_t bytes, bool swapped, uint32_t *at, struct tl_pcap_option *out);

void tl_pcap_close(struct tl_pcap_reader *reader);
