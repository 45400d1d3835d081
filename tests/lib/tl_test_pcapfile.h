// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// test_pcapfile: capture files built block by block.

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tl_err.h>
#include <tl_pcapfile.h>

#include "tl_test.h"

#define PAGE_BYTES 4096u
#define BYTE_ORDER_MAGIC 0x1A2B3C4Du
#define BLOCK_PACKET 2u
#define BLOCK_SIMPLE 3u
#define TS_NS UINT64_C(1700000000123456789)

// A capture file under construction, in either byte order.
struct file {
	uint8_t bytes[PAGE_BYTES];
	size_t size;
	bool swap;
	size_t block;	 // offset of the open block
	size_t ends[64]; // offsets at which the file is complete
	uint32_t end_count;
};

static inline void add(struct file *file, const void *bytes, size_t len)
{
	CU_ASSERT_TRUE_FATAL(file->size + len <= sizeof(file->bytes));
	memcpy(file->bytes + file->size, bytes, len);
	file->size += len;
}

// Result of reading a file.
struct walk {
	int rc; // of open or of the last next()
	bool opened;
	uint32_t frames;
	struct tl_pcap_frame frame[16]; // without data, which is unmapped
	uint8_t first[16];		// first byte of each frame
	struct tl_err err;
};

static inline void visit(struct walk *walk, const struct tl_pcap_frame *frame)
{
	uint8_t fill = frame->cap_bytes != 0 ? frame->data[0] : 0;

	for (uint32_t i = 0; i < frame->cap_bytes; i++)
		CU_ASSERT_EQUAL(frame->data[i], fill);
	CU_ASSERT_TRUE(frame->cap_bytes <= frame->wire_bytes);
	CU_ASSERT_TRUE_FATAL(walk->frames < TL_ARRAY_LEN(walk->frame));
	walk->first[walk->frames] = fill;
	walk->frame[walk->frames++] = *frame;
}

// Read the first size bytes of a file, mapped in front of a protected page.
static inline struct walk walk_bytes(const uint8_t *bytes, size_t size)
{
	struct walk walk = {.err = {.text = ""}};
	struct tl_pcap_frame frame;
	struct tl_pcap_reader *reader = NULL;
	size_t room = tl_align_up(size, PAGE_BYTES);
	uint8_t *map = mmap(NULL, room + PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CU_ASSERT_PTR_NOT_EQUAL_FATAL(map, MAP_FAILED);
	CU_ASSERT_EQUAL_FATAL(mprotect(map + room, PAGE_BYTES, PROT_NONE), 0);
	memcpy(map + room - size, bytes, size);
	walk.rc = tl_pcap_open_memory(map + room - size, size, "the-file", &reader, &walk.err);
	walk.opened = walk.rc == 0;
	if (walk.opened) {
		while ((walk.rc = tl_pcap_next(reader, &frame, &walk.err)) == 1)
			visit(&walk, &frame);
		for (int i = 0; i < 3; i++)
			CU_ASSERT_EQUAL(tl_pcap_next(reader, &frame, i == 0 ? NULL : &walk.err), walk.rc);
		tl_pcap_close(reader);
	}
	munmap(map, room + PAGE_BYTES);
	return walk;
}

// Build a recording as the program writes it: two interfaces, one slab, statistics.
static inline void write_recording(struct file *file)
{
	struct tl_pcapng_epb epb = {.cap_bytes = 60, .wire_bytes = 1500, .ts_ns = TS_NS};
	uint32_t buf[64];

	file->size = tl_pcapng_put_shb(file->bytes, 512, &(struct tl_pcapng_shb){.application = "tapline"});
	for (int i = 0; i < 2; i++)
		file->size += tl_pcapng_put_idb(
			file->bytes + file->size, 512, &(struct tl_pcapng_idb){.name = "eth0", .filter = "udp"});
	tl_pcapng_put_pad(file->bytes + file->size, tl_pcapng_pad_bytes(file->size, 512));
	file->size += tl_pcapng_pad_bytes(file->size, 512);
	uint32_t head_at = (uint32_t)file->size;
	file->size += TL_PCAPNG_HEAD_BYTES;
	for (uint32_t i = 0; i < 3; i++) {
		epb.interface_id = i % 2;
		epb.dropped = i;
		epb.cap_bytes = 60 + i;
		memset(tl_pcapng_put_epb(buf, &epb), 'a' + (int)i, epb.cap_bytes);
		add(file, buf, tl_pcapng_epb_bytes(epb.cap_bytes, epb.flags, epb.dropped));
		epb.ts_ns++;
	}
	tl_pcapng_put_head(file->bytes + head_at,
		&(struct tl_pcapng_head){.used_bytes = (uint32_t)file->size - head_at, .records = 3});
	uint32_t pad = tl_pcapng_pad_bytes(file->size, 512);
	tl_pcapng_put_pad(file->bytes + file->size, pad);
	file->size += pad;
	file->size += tl_pcapng_put_isb(file->bytes + file->size, 512, &(struct tl_pcapng_isb){.interface_id = 1});
}

static inline void expect_recording(const struct walk *walk)
{
	CU_ASSERT_EQUAL(walk->rc, 0);
	CU_ASSERT_EQUAL_FATAL(walk->frames, 3);
	for (uint32_t i = 0; i < 3; i++) {
		CU_ASSERT_EQUAL(walk->frame[i].cap_bytes, 60 + i);
		CU_ASSERT_EQUAL(walk->frame[i].wire_bytes, 1500);
		CU_ASSERT_EQUAL(walk->frame[i].ts_ns, TS_NS + i);
		CU_ASSERT_EQUAL(walk->first[i], 'a' + i);
	}
}
