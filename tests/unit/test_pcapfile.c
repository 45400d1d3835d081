// SPDX-License-Identifier: BSD-3-Clause
// Capture files: the encoder's output byte by byte, and the blocks of recordings.

#include <tl_test_pcapfile.h>

static uint8_t hex_digit(char c)
{
	return (uint8_t)(c <= '9' ? c - '0' : c - 'a' + 10);
}

// Compare with hex: two lower-case digits per byte, spaces ignored.
static void expect_hex(const void *got, uint32_t got_len, const char *hex)
{
	const uint8_t *bytes = got;
	uint32_t len = 0;

	for (; *hex != '\0'; hex++) {
		if (*hex == ' ')
			continue;
		uint8_t expected = (uint8_t)(hex_digit(hex[0]) << 4 | hex_digit(hex[1]));
		if (len < got_len && bytes[len] != expected)
			printf("# byte %u is %02x, expected %02x\n", len, bytes[len], expected);
		CU_ASSERT_TRUE(len < got_len && bytes[len] == expected);
		len++;
		hex++;
	}
	CU_ASSERT_EQUAL(got_len, len);
}

TL_TEST("a section header is encoded as in the draft")
{
	static const char expected[] = "0a0d0d0a 3c000000"	     // type, length
				       "4d3c2b1a 0100 0000"	     // byte order, version 1.0
				       "ffffffffffffffff"	     // section length unknown
				       "0200 0200 6877 0000"	     // shb_hardware
				       "0300 0400 44656269"	     // shb_os
				       "0400 0700 7461706c696e65 00" // shb_userappl
				       "0000 0000 3c000000";
	uint8_t buf[128];
	struct tl_pcapng_shb shb = {.hardware = "hw", .os = "Debi", .application = "tapline"};

	expect_hex(buf, tl_pcapng_put_shb(buf, sizeof(buf), &shb), expected);
	CU_ASSERT_EQUAL(tl_pcapng_put_shb(buf, sizeof(buf), &(struct tl_pcapng_shb){.os = NULL}), 32);
}

TL_TEST("an interface description is encoded as in the draft")
{
	static const char expected[] = "01000000 48000000"	     // type, length
				       "0100 0000 60000000"	     // Ethernet, snaplen
				       "0200 0400 65746830"	     // if_name
				       "0300 0600 7130206e6963 0000" // if_description
				       "0800 0800 00e40b5402000000"  // if_speed, 10^10
				       "0900 0100 09 000000"	     // if_tsresol, ns
				       "0b00 0400 00 746370"	     // if_filter, as text
				       "0000 0000 48000000";
	uint8_t buf[128];
	struct tl_pcapng_idb idb = {
		.name = "eth0",
		.description = "q0 nic",
		.filter = "tcp",
		.snaplen = 96,
		.speed_bps = UINT64_C(10000000000),
	};

	expect_hex(buf, tl_pcapng_put_idb(buf, sizeof(buf), &idb), expected);
	CU_ASSERT_EQUAL(tl_pcapng_put_idb(buf, sizeof(buf), &(struct tl_pcapng_idb){.snaplen = 0}), 32);
}

TL_TEST("interface statistics are encoded as in the draft")
{
	static const char expected[] = "05000000 64000000"	     // type, length
				       "07000000 04030201 08070605"  // interface, time: high word first
				       "0200 0800 01000000 00000000" // isb_starttime
				       "0300 0800 02000000 01000000" // isb_endtime
				       "0400 0800 0100000001000000"  // isb_ifrecv: one 64-bit number
				       "0600 0800 0900000000000000"  // isb_filteraccept
				       "0700 0800 0300000000000000"  // isb_osdrop
				       "0800 0800 0600000000000000"  // isb_usrdeliv
				       "0000 0000 64000000";
	uint8_t buf[128];
	struct tl_pcapng_isb isb = {
		.interface_id = 7,
		.ts_ns = 0x0102030405060708,
		.start_ns = UINT64_C(1) << 32,
		.end_ns = (UINT64_C(2) << 32) + 1,
		.received_pkts = (UINT64_C(1) << 32) + 1,
		.if_dropped_pkts = UINT64_MAX,
		.accepted_pkts = 9,
		.os_dropped_pkts = 3,
		.delivered_pkts = 6,
	};

	expect_hex(buf, tl_pcapng_put_isb(buf, sizeof(buf), &isb), expected);
}

TL_TEST("a packet is encoded as in the draft")
{
	static const char expected[] = "06000000 40000000"	    // type, length
				       "02000000 04030201 08070605" // interface, time: high word first
				       "05000000 64000000"	    // captured, on the wire
				       "68656c6c6f 000000"	    // data
				       "0200 0400 02000000"	    // epb_flags: outbound
				       "0400 0800 1100000000000000" // epb_dropcount
				       "0000 0000 40000000";
	uint32_t buf[32];
	struct tl_pcapng_epb epb = {
		.interface_id = 2,
		.cap_bytes = 5,
		.wire_bytes = 100,
		.flags = TL_PCAPNG_OUTBOUND,
		.ts_ns = 0x0102030405060708,
		.dropped = 17,
	};

	memset(buf, 0xee, sizeof(buf));
	memcpy(tl_pcapng_put_epb(buf, &epb), "hello", 5);
	expect_hex(buf, tl_pcapng_epb_bytes(5, TL_PCAPNG_OUTBOUND, 17), expected);
	CU_ASSERT_EQUAL(buf[16], 0xeeeeeeee);
}

TL_TEST("a packet that needs no option has none")
{
	static const char tail[] = "20000000";
	uint32_t buf[32];
	struct tl_pcapng_epb epb = {0};

	memset(buf, 0xee, sizeof(buf));
	tl_pcapng_put_epb(buf, &epb);
	CU_ASSERT_EQUAL(tl_pcapng_epb_bytes(0, 0, 0), 32);
	CU_ASSERT_EQUAL(tl_pcapng_epb_bytes(60, 0, 0), 92);
	expect_hex((uint8_t *)buf + 28, 4, tail);
	CU_ASSERT_EQUAL(buf[8], 0xeeeeeeee);
}

TL_TEST("a packet may have the direction as its only option")
{
	static const char tail[] = "0200 0400 01000000" // epb_flags: inbound
				   "0000 0000 2c000000";
	uint32_t buf[32];
	struct tl_pcapng_epb epb = {.flags = TL_PCAPNG_INBOUND};

	memset(buf, 0xee, sizeof(buf));
	tl_pcapng_put_epb(buf, &epb);
	CU_ASSERT_EQUAL(tl_pcapng_epb_bytes(0, TL_PCAPNG_INBOUND, 0), 44);
	expect_hex((uint8_t *)buf + 28, 16, tail);
	CU_ASSERT_EQUAL(buf[11], 0xeeeeeeee);
}

TL_TEST("an encoder does not exceed the size of its buffer")
{
	static const struct tl_pcapng_shb shb = {.hardware = "hw", .os = "Debi", .application = "tapline"};
	static const struct tl_pcapng_idb idb = {.name = "a", .description = "b", .filter = "c", .speed_bps = 1};
	static const struct tl_pcapng_isb isb = {.interface_id = 0};
	uint8_t buf[128];

	for (uint32_t size = 0; size <= 116; size++) {
		memset(buf, 0xee, sizeof(buf));
		uint32_t used[3] = {tl_pcapng_put_shb(buf, size, &shb), tl_pcapng_put_idb(buf, size, &idb),
			tl_pcapng_put_isb(buf, size, &isb)};
		CU_ASSERT_EQUAL(used[0], size < 60 ? 0 : 60);
		CU_ASSERT_EQUAL(used[1], size < 68 ? 0 : 68);
		CU_ASSERT_EQUAL(used[2], size < 112 ? 0 : 112);
		for (uint32_t i = size; i < sizeof(buf); i++)
			CU_ASSERT_EQUAL_FATAL(buf[i], 0xee);
	}
}

TL_TEST("a text too long for an option is truncated")
{
	size_t len = 70000;
	char *text = calloc(1, len + 1);
	uint8_t *buf = malloc(2 * len);

	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	CU_ASSERT_PTR_NOT_NULL_FATAL(buf);
	memset(text, 'x', len);
	struct tl_pcapng_idb idb = {.filter = text};
	CU_ASSERT_EQUAL(tl_pcapng_put_idb(buf, (uint32_t)(2 * len), &idb), 32 + 4 + 65536);
	CU_ASSERT_EQUAL(buf[16 + 8 + 2], 0xff);
	CU_ASSERT_EQUAL(buf[16 + 8 + 3], 0xff);
	free(buf);
	free(text);
}

TL_TEST("padding is never 4 or 8 bytes long and ends on the boundary")
{
	for (uint32_t align = 16; align <= 8192; align *= 2) {
		for (uint64_t used = 0; used <= 2 * align; used += 4) {
			uint32_t pad = tl_pcapng_pad_bytes(used, align);
			CU_ASSERT_EQUAL_FATAL((used + pad) % align, 0);
			CU_ASSERT_TRUE_FATAL(pad == 0 || pad >= TL_PCAPNG_PAD_MIN);
			CU_ASSERT_TRUE_FATAL(pad < align + TL_PCAPNG_PAD_MIN);
		}
	}
	CU_ASSERT_EQUAL(tl_pcapng_pad_bytes((UINT64_C(1) << 40) - 16, 4096), 16);
}

TL_TEST("a PAD is one block of zeros")
{
	uint8_t buf[24];

	memset(buf, 0xee, sizeof(buf));
	tl_pcapng_put_pad(buf, 20);
	expect_hex(buf, sizeof(buf), "01000080 14000000 0000000000000000 14000000 eeeeeeee");
	tl_pcapng_put_pad(buf, 12);
	expect_hex(buf, 12, "01000080 0c000000 0c000000");
}

TL_TEST("a HEAD is read back")
{
	static const struct tl_pcapng_head head = {
		.run_id = 0x1112131415161718,
		.sequence = 0x2122232425262728,
		.ring = 0x31323334,
		.used_bytes = 0x41424344,
		.records = 0x51525354,
	};
	static const char expected[] = "02000080 40000000"	    // type, length
				       "544150534c414231"	    // TAPSLAB1
				       "1817161514131211"	    // run
				       "2827262524232221"	    // sequence
				       "34333231 44434241 54535251" // ring, used bytes, records
				       "00000000000000000000000000000000"
				       "40000000";
	uint8_t buf[TL_PCAPNG_HEAD_BYTES];
	struct tl_pcapng_head back;

	tl_pcapng_put_head(buf, &head);
	expect_hex(buf, sizeof(buf), expected);
	CU_ASSERT_EQUAL(tl_pcapng_get_head(buf, sizeof(buf), &back), 0);
	CU_ASSERT_EQUAL(back.run_id, head.run_id);
	CU_ASSERT_EQUAL(back.sequence, head.sequence);
	CU_ASSERT_EQUAL(back.ring, head.ring);
	CU_ASSERT_EQUAL(back.used_bytes, head.used_bytes);
	CU_ASSERT_EQUAL(back.records, head.records);
}

TL_TEST("foreign blocks are not read as HEADs")
{
	static const uint8_t checked[] = {0, 3, 4, 7, 8, 15, 60, 63};
	uint8_t good[TL_PCAPNG_HEAD_BYTES];
	uint8_t buf[TL_PCAPNG_HEAD_BYTES];
	struct tl_pcapng_head head = {.used_bytes = 64};

	tl_pcapng_put_head(good, &head);
	CU_ASSERT_EQUAL(tl_pcapng_get_head(good, sizeof(good), &head), 0);
	CU_ASSERT_EQUAL(tl_pcapng_get_head(good, sizeof(good) - 1, &head), -EINVAL);
	for (size_t i = 0; i < sizeof(checked); i++) {
		memcpy(buf, good, sizeof(buf));
		buf[checked[i]] ^= 1;
		CU_ASSERT_EQUAL(tl_pcapng_get_head(buf, sizeof(buf), &head), -EINVAL);
	}
	head.used_bytes = 60;
	tl_pcapng_put_head(buf, &head);
	CU_ASSERT_EQUAL(tl_pcapng_get_head(buf, sizeof(buf), &head), -EINVAL);
	head.used_bytes = 66;
	tl_pcapng_put_head(buf, &head);
	CU_ASSERT_EQUAL(tl_pcapng_get_head(buf, sizeof(buf), &head), -EINVAL);
}

static const struct tl_pcapng_clock_record clock_records[] = {
	{.number = 7,
		.time_ns = 0x1817161514131211,
		.age_ns = TL_NS_PER_S,
		.offset_ns = -3000000,
		.half_ns = 25,
		.bound_ns = 2000,
		.rate_uhz = 2596096018000000,
		.flags = TL_PCAPNG_CLOCK_STEPPED},
	{.number = 8, .time_ns = 9, .clock = TL_PCAPNG_CLOCK_NIC},
};

static const struct tl_pcapng_clock clock_block = {
	.start_ns = 0x2827262524232221, .bound_max_ns = {3000000, UINT64_MAX}, .steps = 1, .records = 2};

TL_TEST("a clock block is read back as written")
{
	static const char begins[] = "04000080 b4000000" // type, length
				     "544150434c4f4b31"	 // TAPCLOK1
				     "2122232425262728"	 // start
				     "c0c62d0000000000"	 // largest bounds
				     "ffffffffffffffff"	 //
				     "01000000 02000000" // steps, records
				     "0700000000000000"	 // number of the first record
				     "1112131415161718"; // and time
	uint8_t buf[TL_PCAPNG_CLOCK_BYTES + 2 * TL_PCAPNG_CLOCK_RECORD_BYTES];
	struct tl_pcapng_clock back;

	CU_ASSERT_EQUAL(tl_pcapng_put_clock(buf, sizeof(buf) - 1, &clock_block, clock_records), 0);
	CU_ASSERT_EQUAL(tl_pcapng_put_clock(buf, TL_PCAPNG_CLOCK_BYTES - 1, &clock_block, clock_records), 0);
	CU_ASSERT_EQUAL_FATAL(tl_pcapng_put_clock(buf, sizeof(buf), &clock_block, clock_records), sizeof(buf));
	expect_hex(buf, 64, begins);
	CU_ASSERT_EQUAL(memcmp(buf + sizeof(buf) - 4, buf + 4, 4), 0);
	CU_ASSERT_EQUAL(tl_pcapng_get_clock(buf, sizeof(buf), &back), 0);
	CU_ASSERT_EQUAL(memcmp(&back, &clock_block, sizeof(back)), 0);
	for (uint32_t i = 0; i < back.records; i++) {
		struct tl_pcapng_clock_record record = tl_pcapng_get_clock_record(buf, i);
		CU_ASSERT_EQUAL(memcmp(&record, &clock_records[i], sizeof(record)), 0);
	}
}

TL_TEST("other blocks are not read as clock blocks")
{
	static const uint8_t checked[] = {0, 3, 4, 5, 7, 8, 15, 44, 47};
	uint8_t good[TL_PCAPNG_CLOCK_BYTES + 2 * TL_PCAPNG_CLOCK_RECORD_BYTES], buf[sizeof(good)];
	struct tl_pcapng_clock back;

	CU_ASSERT_EQUAL(tl_pcapng_put_clock(good, sizeof(good), &clock_block, clock_records), sizeof(good));
	for (uint32_t size = 0; size < sizeof(good); size++) {
		uint8_t *exact = malloc(size + 1);
		memcpy(exact, good, size);
		CU_ASSERT_EQUAL(tl_pcapng_get_clock(exact, size, &back), -EINVAL);
		free(exact);
	}
	for (size_t i = 0; i < sizeof(checked); i++) {
		memcpy(buf, good, sizeof(buf));
		buf[checked[i]] ^= 1;
		CU_ASSERT_EQUAL(tl_pcapng_get_clock(buf, sizeof(buf), &back), -EINVAL);
	}
}

static void count_block(void *ctx, const uint8_t *block, uint32_t bytes)
{
	struct tl_pcapng_clock clock;
	uint32_t *seen = ctx;

	CU_ASSERT_EQUAL(tl_pcapng_get_clock(block, bytes, &clock), 0);
	*seen += clock.records;
}

TL_TEST("observed block types are reported to the observer only")
{
	struct file file = {.size = 0};
	struct tl_pcap_reader *reader;
	struct tl_pcap_frame frame;
	uint32_t seen = 0, frames = 0;

	write_recording(&file);
	file.size += tl_pcapng_put_clock(file.bytes + file.size, 512, &clock_block, clock_records);
	struct walk walk = walk_bytes(file.bytes, file.size);
	expect_recording(&walk);
	CU_ASSERT_EQUAL_FATAL(tl_pcap_open_memory(file.bytes, file.size, "x", &reader, NULL), 0);
	tl_pcap_watch(reader, TL_PCAPNG_CLOCK, count_block, &seen);
	while (tl_pcap_next(reader, &frame, NULL) == 1)
		frames++;
	CU_ASSERT_EQUAL(frames, 3);
	CU_ASSERT_EQUAL(seen, 2);
	tl_pcap_close(reader);
}

TL_TEST("the application of a section header is read back")
{
	static const struct tl_pcapng_shb table[] = {
		{.application = "tapline 1"},
		{.hardware = "a", .os = "Linux 6.1", .application = "tapline"},
		{.os = "only this"},
		{0},
	};

	for (size_t i = 0; i < TL_ARRAY_LEN(table); i++) {
		uint8_t buf[256];
		const char *text = NULL;
		uint32_t len = 0;
		uint32_t size = tl_pcapng_put_shb(buf, sizeof(buf), &table[i]);
		int rc = tl_pcapng_get_application(buf, size, &text, &len);
		CU_ASSERT_EQUAL(rc, table[i].application != NULL ? 0 : -ENOENT);
		if (rc == 0)
			CU_ASSERT(len == strlen(table[i].application) && memcmp(text, table[i].application, len) == 0);
	}
}

// In malloc'd pieces of exact size, so that a sanitizer detects a read beyond them.
TL_TEST("a section header truncated or damaged anywhere is not read past its end")
{
	uint8_t whole[256];
	const char *text;
	uint32_t len;
	uint32_t size = tl_pcapng_put_shb(whole, sizeof(whole), &(struct tl_pcapng_shb){.os = "a", .application = "b"});

	for (uint32_t cut = 0; cut < size; cut++) {
		uint8_t *piece = malloc(cut + 1);
		memcpy(piece, whole, cut);
		CU_ASSERT_EQUAL(tl_pcapng_get_application(piece, cut, &text, &len), -EINVAL);
		free(piece);
	}
	for (uint32_t at = 0; at < size; at++) {
		uint8_t *piece = malloc(size);
		memcpy(piece, whole, size);
		piece[at] ^= 0xff;
		if (tl_pcapng_get_application(piece, size, &text, &len) == 0)
			CU_ASSERT((const uint8_t *)text >= piece && (const uint8_t *)text + len <= piece + size - 4);
		free(piece);
	}
}

TL_TEST("only a pcap header with our mark counts as ours")
{
	uint8_t header[TL_PCAP_HEADER_BYTES];

	CU_ASSERT_EQUAL(tl_pcap_put_header(header, sizeof(header), 0), sizeof(header));
	CU_ASSERT_TRUE(tl_pcap_is_ours(header, sizeof(header)));
	CU_ASSERT_FALSE(tl_pcap_is_ours(header, sizeof(header) - 1));
	for (size_t at = 0; at < sizeof(header); at += 4) {
		bool told = at == 0 || at == 12 || at == 20; // magic number, byte order, link type
		header[at] ^= 1;
		CU_ASSERT_EQUAL(tl_pcap_is_ours(header, sizeof(header)), !told);
		header[at] ^= 1;
	}
}

TL_TEST("an option may not exceed its block")
{
	static const uint8_t options[] = {2, 0, 5, 0, 'a', 'b', 'c', 'd', 'e', 0, 0, 0, 2, 0, 4, 0, 'e', 'n', 'd', '.'};
	struct tl_pcap_option option;

	for (uint32_t bytes = 0; bytes <= sizeof(options); bytes++) {
		uint32_t at = 0;
		CU_ASSERT_EQUAL(tl_pcap_next_option(options, bytes, false, &at, &option), bytes >= 12);
		if (bytes < 12)
			continue;
		CU_ASSERT_EQUAL(option.len, 5);
		CU_ASSERT_EQUAL(tl_pcap_next_option(options, bytes, false, &at, &option), bytes == sizeof(options));
	}
}

TL_TEST("the checksum of a slab depends on each byte and its position")
{
	uint8_t slab[TL_PCAPNG_HEAD_BYTES + 3 * 64 + 12], lane[64];

	for (size_t i = 0; i < sizeof(slab); i++)
		slab[i] = (uint8_t)(i * i + 7);
	uint64_t check = tl_pcapng_check(slab, sizeof(slab));
	for (size_t i = TL_PCAPNG_HEAD_BYTES; i < sizeof(slab); i++) {
		slab[i] ^= 0x10;
		CU_ASSERT_NOT_EQUAL(tl_pcapng_check(slab, sizeof(slab)), check);
		slab[i] ^= 0x10;
	}
	slab[0] ^= 0x10; // of its HEAD, which has the check
	CU_ASSERT_EQUAL(tl_pcapng_check(slab, sizeof(slab)), check);
	uint8_t *first = slab + TL_PCAPNG_HEAD_BYTES;
	memcpy(lane, first, sizeof(lane));
	memcpy(first, first + 64, sizeof(lane));
	memcpy(first + 64, lane, sizeof(lane));
	CU_ASSERT_NOT_EQUAL(tl_pcapng_check(slab, sizeof(slab)), check);
}

int main(void)
{
	return tl_test_run("pcapfile");
}
