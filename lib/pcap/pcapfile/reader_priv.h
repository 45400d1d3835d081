// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// reader: declarations shared by the files of the reader: the position in the file, and fields in the file's byte
// order.
//
// Threads: one per reader. Memory: allocated at open; the calls that walk the file allocate nothing.

#include <errno.h>
#include <stdbool.h>

#include <tl_pcapng_block.h>

#define READER_INTERFACES 4096u	 // per section; dumpcap and mergecap write one per device and source file
#define READER_FRAME_MAX 262144u // as libpcap: a longer frame has a corrupt length field

// Error in the file: a static sentence, the number in it, and the offset.
struct reader_fault {
	const char *text;
	uint64_t value;
	size_t offset;
	bool at_end; // the data ends inside the record
};

struct tl_pcap_reader {
	const uint8_t *data;
	size_t size;
	uint64_t base; // offset of data[0] in the file
	size_t offset; // in data, of the next frame header or block
	int (*next)(struct tl_pcap_reader *reader, struct tl_pcap_frame *out);
	int ended;	   // 1 while there may be frames, then the final result of tl_pcap_next()
	bool any_linktype; // else Ethernet only

	uint32_t ns_per_unit; // pcap: unit of the fraction field
	uint32_t linktype;    // pcap: link type of every frame
	bool fcs;	      // pcap: every frame has an FCS

	tl_pcap_block_fn *watch; // callback for blocks of watched_type, or NULL
	void *watch_ctx;
	uint32_t watched_type;

	uint32_t sections;		  // pcapng: begun so far
	struct tl_pcapng_section section; // pcap: the byte order of the file
	struct tl_pcapng_interface interface[READER_INTERFACES];
	size_t described_at[READER_INTERFACES]; // offsets of their descriptions

	struct reader_fault fault;
	const char *name; // for errors
	char *owned_name; // the part of it to be freed, or NULL
	bool mapped;	  // data is a mapping owned by the reader
	size_t forgotten; // leading bytes already released
};

// Read the file's header and find the first frame. Return 0, or -EINVAL with reader->fault set.
int tl_pcap_classic_begin(struct tl_pcap_reader *reader);
int tl_pcapng_begin(struct tl_pcap_reader *reader);

// HOT. As tl_pcap_next(), with the reason in reader->fault.
int tl_pcap_classic_next(struct tl_pcap_reader *reader, struct tl_pcap_frame *out);
int tl_pcapng_next(struct tl_pcap_reader *reader, struct tl_pcap_frame *out);

// Cold. Format reader->fault as a message and return -EINVAL.
int tl_pcap_report(const struct tl_pcap_reader *reader, struct tl_err *err);

static inline int reader_broken(struct tl_pcap_reader *reader, size_t offset, const char *text, uint64_t value)
{
	reader->fault = (struct reader_fault){.text = text, .value = value, .offset = offset};
	return -EINVAL;
}

// Set the fault: the data ends inside a record.
static inline int reader_short(struct tl_pcap_reader *reader, size_t offset, const char *text, uint64_t value)
{
	reader->fault = (struct reader_fault){.text = text, .value = value, .offset = offset, .at_end = true};
	return -EINVAL;
}

static inline uint16_t reader_u16(const struct tl_pcap_reader *reader, size_t offset)
{
	return tl_pcapng_u16(reader->section.swapped, reader->data + offset);
}

static inline uint32_t reader_u32(const struct tl_pcap_reader *reader, size_t offset)
{
	return tl_pcapng_u32(reader->section.swapped, reader->data + offset);
}
