// SPDX-License-Identifier: BSD-3-Clause
// Capture files: the reader on files of every kind, complete, truncated and damaged.

#include <tl_test_pcapfile.h>

static void add_u16(struct file *file, uint16_t value)
{
	value = file->swap ? __builtin_bswap16(value) : value;
	add(file, &value, sizeof(value));
}

static void add_u32(struct file *file, uint32_t value)
{
	value = file->swap ? __builtin_bswap32(value) : value;
	add(file, &value, sizeof(value));
}

static void add_u64(struct file *file, uint64_t value)
{
	value = file->swap ? __builtin_bswap64(value) : value;
	add(file, &value, sizeof(value));
}

static void add_frame(struct file *file, uint8_t fill, uint32_t len, bool pad)
{
	for (uint32_t i = 0; i < len; i++)
		add(file, &fill, 1);
	while (pad && file->size % 4 != 0)
		add(file, "", 1);
}

static void mark_whole(struct file *file)
{
	CU_ASSERT_TRUE_FATAL(file->end_count < TL_ARRAY_LEN(file->ends));
	file->ends[file->end_count++] = file->size;
}

static void begin_block(struct file *file, uint32_t type)
{
	file->block = file->size;
	add_u32(file, type);
	add_u32(file, 0);
}

static void end_block(struct file *file)
{
	uint32_t total = (uint32_t)(file->size - file->block) + 4;
	uint32_t stored = file->swap ? __builtin_bswap32(total) : total;

	add_u32(file, total);
	memcpy(file->bytes + file->block + 4, &stored, 4);
	mark_whole(file);
}

static void add_section(struct file *file, bool swap)
{
	file->swap = swap;
	begin_block(file, TL_PCAPNG_SHB);
	add_u32(file, BYTE_ORDER_MAGIC);
	add_u16(file, 1);
	add_u16(file, 0);
	add_u64(file, UINT64_MAX);
	end_block(file);
}

// Add an interface; tsresol -1 and tsoffset 0 omit the options.
static void add_interface(struct file *file, uint32_t snaplen, int tsresol, int64_t tsoffset)
{
	begin_block(file, TL_PCAPNG_IDB);
	add_u16(file, TL_PCAPNG_LINKTYPE_ETHERNET);
	add_u16(file, 0);
	add_u32(file, snaplen);
	add_u16(file, 2); // if_name, an option to be skipped
	add_u16(file, 5);
	add(file, "veth0\0\0", 8);
	if (tsresol >= 0) {
		add_u16(file, 9);
		add_u16(file, 1);
		add(file, (uint8_t[4]){(uint8_t)tsresol}, 4);
	}
	if (tsoffset != 0) {
		add_u16(file, 14);
		add_u16(file, 8);
		add_u64(file, (uint64_t)tsoffset);
	}
	add_u32(file, 0);
	end_block(file);
}

static void add_epb(struct file *file, uint32_t interface, uint64_t ticks, uint8_t fill, uint32_t cap, uint32_t wire)
{
	begin_block(file, TL_PCAPNG_EPB);
	add_u32(file, interface);
	add_u32(file, (uint32_t)(ticks >> 32));
	add_u32(file, (uint32_t)ticks);
	add_u32(file, cap);
	add_u32(file, wire);
	add_frame(file, fill, cap, true);
	end_block(file);
}

static void add_spb(struct file *file, uint8_t fill, uint32_t cap, uint32_t wire)
{
	begin_block(file, BLOCK_SIMPLE);
	add_u32(file, wire);
	add_frame(file, fill, cap, true);
	end_block(file);
}

static void add_unknown_block(struct file *file)
{
	begin_block(file, 0x80000001u);
	add_u64(file, 0x0123456789abcdef);
	end_block(file);
}

static void add_pcap_header(struct file *file, bool swap, uint32_t magic)
{
	file->swap = swap;
	add_u32(file, magic);
	add_u16(file, 2);
	add_u16(file, 4);
	add_u64(file, 0);
	add_u32(file, 65535);
	add_u32(file, TL_PCAPNG_LINKTYPE_ETHERNET);
	mark_whole(file);
}

static void add_pcap_frame(struct file *file, uint32_t s, uint32_t fraction, uint8_t fill, uint32_t cap, uint32_t wire)
{
	add_u32(file, s);
	add_u32(file, fraction);
	add_u32(file, cap);
	add_u32(file, wire);
	add_frame(file, fill, cap, false);
	mark_whole(file);
}

static struct walk walk_file(const struct file *file)
{
	return walk_bytes(file->bytes, file->size);
}

static void expect_refusal(const struct file *file, const char *reason)
{
	struct walk walk = walk_file(file);

	CU_ASSERT_EQUAL(walk.rc, -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(walk.err.text, "the-file, byte "));
	CU_ASSERT_PTR_NOT_NULL(strstr(walk.err.text, reason));
	if (strstr(walk.err.text, reason) == NULL)
		printf("# expected '%s' in '%s'\n", reason, walk.err.text);
}

TL_TEST("a recording of ours is read back")
{
	struct file file = {.size = 0};

	write_recording(&file);
	struct walk walk = walk_file(&file);
	expect_recording(&walk);
}

TL_TEST("a file is mapped and read")
{
	char path[] = "/tmp/tl-pcapfile-XXXXXX";
	struct file file = {.size = 0};
	struct walk walk = {.err = {.text = ""}};
	struct tl_pcap_reader *reader = NULL;
	struct tl_pcap_frame frame;
	int fd = mkstemp(path);

	CU_ASSERT_TRUE_FATAL(fd >= 0);
	write_recording(&file);
	CU_ASSERT_EQUAL_FATAL(write(fd, file.bytes, file.size), (ssize_t)file.size);
	close(fd);
	CU_ASSERT_EQUAL_FATAL(tl_pcap_open(path, &reader, &walk.err), 0);
	unlink(path);
	while ((walk.rc = tl_pcap_next(reader, &frame, &walk.err)) == 1)
		visit(&walk, &frame);
	expect_recording(&walk);
	tl_pcap_close(reader);
	tl_pcap_close(NULL);
}

// Return the bytes of mapped files that are resident in this process.
static unsigned long mapped_bytes(void)
{
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	CU_ASSERT_EQUAL_FATAL(fscanf(file, "%*u %*u %lu", &pages), 1);
	fclose(file);
	return pages * (unsigned long)sysconf(_SC_PAGESIZE);
}

TL_TEST("released frames take no memory and stay readable")
{
	static uint8_t zeros[1 << 16];
	static const uint8_t head[16] = {[9] = 0, [10] = 1, [14] = 1}; // 65536 bytes
	char path[] = "/tmp/tl-pcapfile-XXXXXX";
	struct file file = {.size = 0};
	struct tl_pcap_reader *reader = NULL;
	struct tl_pcap_frame frame, first;
	unsigned frames = 1;
	struct tl_err err;
	int fd = mkstemp(path);

	CU_ASSERT_TRUE_FATAL(fd >= 0);
	add_pcap_header(&file, false, 0xa1b2c3d4);
	CU_ASSERT_EQUAL_FATAL(write(fd, file.bytes, file.size), (ssize_t)file.size);
	for (unsigned i = 0; i < 512; i++)
		CU_ASSERT(write(fd, head, sizeof(head)) == sizeof(head) && write(fd, zeros, sizeof(zeros)) > 0);
	close(fd);
	CU_ASSERT_EQUAL_FATAL(tl_pcap_open(path, &reader, &err), 0);
	unlink(path);
	unsigned long before = mapped_bytes(), most = 0;
	CU_ASSERT_EQUAL(tl_pcap_next(reader, &first, &err), 1);
	for (; tl_pcap_next(reader, &frame, &err) == 1; frames++) {
		CU_ASSERT_EQUAL(memcmp(frame.data, zeros, frame.cap_bytes), 0); // reads all of it
		tl_pcap_release(reader);
		most = mapped_bytes() > most ? mapped_bytes() : most;
	}
	CU_ASSERT_EQUAL(frames, 512);
	CU_ASSERT(most - before < 16u << 20); // of 32 MiB
	CU_ASSERT_EQUAL(memcmp(first.data, zeros, first.cap_bytes), 0);
	tl_pcap_close(reader);
}

static void expect_no_open(const char *path, int rc, const char *reason)
{
	struct tl_pcap_reader *reader = NULL;
	struct tl_err err = {.text = ""};

	CU_ASSERT_EQUAL(tl_pcap_open(path, &reader, &err), rc);
	CU_ASSERT_PTR_NULL(reader);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, path));
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, reason));
}

TL_TEST("a file that is not a regular capture file is refused with its name")
{
	char dir[] = "/tmp/tl-pcapfile-XXXXXX";
	char path[64];

	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/file", dir);
	expect_no_open(path, -ENOENT, "No such file");
	CU_ASSERT_EQUAL_FATAL(mkfifo(path, 0600), 0);
	expect_no_open(path, -EINVAL, "not a regular file"); // returns without waiting for a writer
	unlink(path);
	FILE *file = fopen(path, "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	fclose(file);
	expect_no_open(path, -EINVAL, "empty");
	file = fopen(path, "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	fputs("\x1f\x8b\x08 and so on", file);
	fclose(file);
	expect_no_open(path, -EINVAL, "neither pcap nor pcapng");
	unlink(path);
	expect_no_open(dir, -EINVAL, "not a regular file");
	rmdir(dir);
}

static void write_pcap(struct file *file, bool swap, bool nanoseconds)
{
	add_pcap_header(file, swap, nanoseconds ? 0xa1b23c4d : 0xa1b2c3d4);
	add_pcap_frame(file, 1700000000, 123456, 'a', 60, 60);
	add_pcap_frame(file, 4294967295u, 999999, 'b', 61, 1514); // until 2106
	add_pcap_frame(file, 0, 1, 'c', 0, 0);
}

TL_TEST("pcap of either byte order, in us or ns, is read")
{
	for (int kind = 0; kind < 4; kind++) {
		struct file file = {.size = 0};
		uint64_t unit = kind & 2 ? 1 : 1000;

		write_pcap(&file, kind & 1, kind & 2);
		struct walk walk = walk_file(&file);
		CU_ASSERT_EQUAL(walk.rc, 0);
		CU_ASSERT_EQUAL_FATAL(walk.frames, 3);
		CU_ASSERT_EQUAL(walk.frame[0].ts_ns, 1700000000 * TL_NS_PER_S + 123456 * unit);
		CU_ASSERT_EQUAL(walk.frame[1].ts_ns, 4294967295 * TL_NS_PER_S + 999999 * unit);
		CU_ASSERT_EQUAL(walk.frame[1].cap_bytes, 61);
		CU_ASSERT_EQUAL(walk.frame[1].wire_bytes, 1514);
		CU_ASSERT_EQUAL(walk.first[1], 'b');
		CU_ASSERT_EQUAL(walk.frame[2].cap_bytes, 0);
	}
}

TL_TEST("times follow the resolution and offset of the interface exactly")
{
	static const struct {
		int tsresol;
		int64_t tsoffset;
		uint64_t ticks;
		uint64_t ns;
	} cases[] = {
		{-1, 0, 1700000000123456, UINT64_C(1700000000123456000)}, // microseconds by default
		{0, 0, 1700000000, UINT64_C(1700000000000000000)},
		{3, 0, 1700000000123, UINT64_C(1700000000123000000)},
		{6, 0, 1700000000123456, UINT64_C(1700000000123456000)},
		{9, 0, TS_NS, TS_NS},
		{9, 0, UINT64_MAX, UINT64_MAX},
		{12, 0, UINT64_C(1700000000123456789), UINT64_C(1700000000123456)},
		{10, 0, 99, 9},
		{127, 0, UINT64_MAX, 0},
		{0x80, 0, 1700000000, UINT64_C(1700000000000000000)},
		{0x80 | 1, 0, 3, 1500000000},
		{0x80 | 32, 0, (UINT64_C(1700000000) << 32) + 0x80000000, UINT64_C(1700000000500000000)},
		{0x80 | 63, 0, UINT64_MAX, 1999999999},
		{0x80 | 127, 0, UINT64_MAX, 0},
		{9, 1700000000, 123456789, TS_NS},
		{-1, -10, 1700000010123456, UINT64_C(1700000000123456000)},
	};

	for (int swap = 0; swap < 2; swap++) {
		for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++) {
			struct file file = {.size = 0};

			add_section(&file, swap);
			add_interface(&file, 0, cases[i].tsresol, cases[i].tsoffset);
			add_epb(&file, 0, cases[i].ticks, 'a', 60, 60);
			struct walk walk = walk_file(&file);
			CU_ASSERT_EQUAL(walk.rc, 0);
			CU_ASSERT_EQUAL_FATAL(walk.frames, 1);
			CU_ASSERT_EQUAL(walk.frame[0].ts_ns, cases[i].ns);
		}
	}
}

TL_TEST("a time outside 1970 to 2554 is refused")
{
	static const int64_t offsets[] = {-1700000001, INT64_MAX, INT64_MIN};

	for (size_t i = 0; i < TL_ARRAY_LEN(offsets); i++) {
		struct file file = {.size = 0};

		add_section(&file, false);
		add_interface(&file, 0, 9, offsets[i]);
		add_epb(&file, 0, TS_NS, 'a', 60, 60);
		expect_refusal(&file, "a timestamp before 1970 or after 2554: 1700000000123456789");
	}
}

// Build sections of both byte orders with their own interfaces, and a packet block of every kind.
static void write_sections(struct file *file)
{
	add_section(file, false);
	add_interface(file, 0, 9, 1);
	add_interface(file, 40, 6, 0);
	add_unknown_block(file);
	add_epb(file, 0, 1000, 'a', 61, 61);
	add_epb(file, 1, 1000, 'b', 40, 1514);
	add_section(file, true);
	add_interface(file, 50, -1, 0);
	add_spb(file, 'c', 50, 1514);
	add_spb(file, 'd', 43, 43);
	begin_block(file, BLOCK_PACKET);
	add_u16(file, 0);
	add_u16(file, 7); // drops
	add_u64(file, 2000);
	add_u32(file, 42);
	add_u32(file, 64);
	add_frame(file, 'e', 42, true);
	end_block(file);
	add_section(file, false);
	add_interface(file, 0, 9, 0);
	add_epb(file, 0, 3, 'f', 1, 1);
	add_unknown_block(file);
}

TL_TEST("sections of both byte orders and packet blocks of every kind are read")
{
	static const struct tl_pcap_frame expected[] = {
		{.cap_bytes = 61, .wire_bytes = 61, .ts_ns = TL_NS_PER_S + 1000},
		{.cap_bytes = 40, .wire_bytes = 1514, .ts_ns = 1000000},
		{.cap_bytes = 50, .wire_bytes = 1514},
		{.cap_bytes = 43, .wire_bytes = 43},
		{.cap_bytes = 42, .wire_bytes = 64, .ts_ns = 2000000},
		{.cap_bytes = 1, .wire_bytes = 1, .ts_ns = 3},
	};
	struct file file = {.size = 0};

	write_sections(&file);
	struct walk walk = walk_file(&file);
	CU_ASSERT_EQUAL(walk.rc, 0);
	CU_ASSERT_EQUAL_FATAL(walk.frames, TL_ARRAY_LEN(expected));
	for (size_t i = 0; i < TL_ARRAY_LEN(expected); i++) {
		CU_ASSERT_EQUAL(walk.first[i], 'a' + i);
		CU_ASSERT_EQUAL(walk.frame[i].cap_bytes, expected[i].cap_bytes);
		CU_ASSERT_EQUAL(walk.frame[i].wire_bytes, expected[i].wire_bytes);
		CU_ASSERT_EQUAL(walk.frame[i].ts_ns, expected[i].ts_ns);
	}
}

static bool is_whole(const struct file *file, size_t size)
{
	for (uint32_t i = 0; i < file->end_count; i++) {
		if (file->ends[i] == size)
			return true;
	}
	return false;
}

static void expect_cuts_to_be_seen(const struct file *file)
{
	for (size_t size = 0; size <= file->size; size++) {
		struct walk walk = walk_bytes(file->bytes, size);

		CU_ASSERT_EQUAL(walk.rc, is_whole(file, size) ? 0 : -EINVAL);
		if (walk.rc != 0)
			CU_ASSERT_PTR_NOT_NULL(strstr(walk.err.text, "the-file, byte "));
	}
}

TL_TEST("a file truncated at any offset ends with an error")
{
	struct file pcapng = {.size = 0};

	write_sections(&pcapng);
	expect_cuts_to_be_seen(&pcapng);
	for (int kind = 0; kind < 4; kind++) {
		struct file pcap = {.size = 0};

		write_pcap(&pcap, kind & 1, kind & 2);
		expect_cuts_to_be_seen(&pcap);
	}
}

// Preallocated space, and bytes that a disk has lost, read back as zeros.
TL_TEST("zeros after the last frame are no frames")
{
	struct file pcap = {.size = 0};

	write_pcap(&pcap, false, true);
	uint32_t frames = walk_file(&pcap).frames;
	memset(pcap.bytes + pcap.size, 0, 64);
	struct walk walk = walk_bytes(pcap.bytes, pcap.size + 64);
	CU_ASSERT(walk.rc == -EINVAL && walk.frames == frames);
	CU_ASSERT_PTR_NOT_NULL(strstr(walk.err.text, "a frame's header of zeros"));
}

// No content of a file makes the reader leave it: the guard page or a sanitizer would end the run.
TL_TEST("a file with any damaged byte is not read past its end")
{
	static const uint8_t values[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
	struct file files[2] = {{.size = 0}, {.size = 0}};

	write_sections(&files[0]);
	write_pcap(&files[1], false, true);
	for (size_t f = 0; f < TL_ARRAY_LEN(files); f++) {
		for (size_t i = 0; i < files[f].size; i++) {
			uint8_t kept = files[f].bytes[i];
			for (size_t v = 0; v < TL_ARRAY_LEN(values); v++) {
				struct tl_pcap_reader *reader;
				struct tl_pcap_frame frame;
				uint8_t *exact = malloc(files[f].size);

				CU_ASSERT_PTR_NOT_NULL_FATAL(exact);
				files[f].bytes[i] = values[v];
				memcpy(exact, files[f].bytes, files[f].size);
				if (tl_pcap_open_memory(exact, files[f].size, "x", &reader, NULL) == 0) {
					while (tl_pcap_next(reader, &frame, NULL) == 1)
						CU_ASSERT_TRUE(frame.data >= exact &&
							       frame.data + frame.cap_bytes <= exact + files[f].size);
					tl_pcap_close(reader);
				}
				free(exact);
			}
			files[f].bytes[i] = kept;
		}
	}
}

TL_TEST("a frame requires an interface described in the same section")
{
	struct file file = {.size = 0};
	struct file simple = {.size = 0};

	add_section(&file, false);
	add_interface(&file, 0, 9, 0);
	add_section(&file, false);
	add_epb(&file, 0, 0, 'a', 60, 60);
	expect_refusal(&file, "a frame of an interface not described before it: 0");
	add_section(&simple, false);
	add_spb(&simple, 'a', 60, 60);
	expect_refusal(&simple, "a frame of an interface not described before it: 0");
}

TL_TEST("a simple packet longer than its block is refused")
{
	struct file file = {.size = 0};

	add_section(&file, false);
	add_interface(&file, 0, 9, 0);
	add_spb(&file, 'a', 60, 61);
	expect_refusal(&file, "a frame longer than its block: 61");
}

// Overwrite 4 bytes of a small valid file; expect this message.
static void expect_patch_refused(size_t at, uint32_t value, const char *reason)
{
	struct file file = {.size = 0};

	add_section(&file, false);	       // 28 bytes
	add_interface(&file, 0, 9, 0);	       // 44 more: options at 44, 56
	add_epb(&file, 0, TS_NS, 'a', 60, 60); // from 72, 92 bytes
	CU_ASSERT_EQUAL_FATAL(file.size, 164);
	memcpy(file.bytes + at, &value, sizeof(value));
	expect_refusal(&file, reason);
}

TL_TEST("every damaged field is named")
{
	expect_patch_refused(0, 0x0d0a0a0d, "neither pcap nor pcapng");
	expect_patch_refused(4, 24, "no block has this length: 24");
	expect_patch_refused(8, 0x12345678, "without byte order magic, but: 305419896");
	expect_patch_refused(12, 2, "another pcapng version than 1: 2");
	expect_patch_refused(24, 32, "the lengths before and after a block differ; before it: 28");
	expect_patch_refused(32, 0, "no block has this length: 0");
	expect_patch_refused(32, 45, "no block has this length: 45");
	expect_patch_refused(32, 4096, "the file ends inside a block of bytes: 4096");
	expect_patch_refused(36, 113, "a link type other than Ethernet (1): 113");
	expect_patch_refused(44, 2u | 21u << 16, "an option reaches past its block; its code: 2");
	expect_patch_refused(76, 0xfffffffc, "the file ends inside a block of bytes: 4294967292");
	expect_patch_refused(80, 1, "a frame of an interface not described before it: 1");
	expect_patch_refused(92, 61, "a frame longer than its block: 61");
	expect_patch_refused(92, 0xffffffff, "a frame longer than its block: 4294967295");
}

TL_TEST("blocks shorter than their fields are refused")
{
	static const struct {
		uint32_t type;
		const char *reason;
	} cases[] = {
		{TL_PCAPNG_IDB, "an interface description too short: 12"},
		{TL_PCAPNG_EPB, "a packet block too short: 12"},
		{BLOCK_PACKET, "a packet block too short: 12"},
		{BLOCK_SIMPLE, "a packet block too short: 12"},
	};

	for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++) {
		struct file file = {.size = 0};

		add_section(&file, true);
		add_interface(&file, 0, 9, 0);
		begin_block(&file, cases[i].type);
		end_block(&file);
		expect_refusal(&file, cases[i].reason);
	}
}

TL_TEST("an unsupported pcap header is reported")
{
	struct file version = {.size = 0};
	struct file linktype = {.size = 0};
	struct file frame = {.size = 0};

	add_pcap_header(&version, false, 0xa1b2c3d4);
	version.bytes[6] = 3;
	expect_refusal(&version, "another version than 2.4");
	add_pcap_header(&linktype, false, 0xa1b2c3d4);
	linktype.bytes[20] = 113;
	expect_refusal(&linktype, "a link type other than Ethernet (1): 113");
	add_pcap_header(&frame, true, 0xa1b2c3d4);
	add_u64(&frame, 0);
	add_u32(&frame, 262145);
	add_u32(&frame, 262145);
	expect_refusal(&frame, "a frame longer than 262144 bytes: 262145");
}

TL_TEST("an original length below the captured length is raised to it")
{
	struct file file = {.size = 0};
	struct file pcap = {.size = 0};

	add_section(&file, false);
	add_interface(&file, 0, 9, 0);
	add_epb(&file, 0, 0, 'a', 60, 10);
	struct walk walk = walk_file(&file);
	CU_ASSERT_EQUAL_FATAL(walk.frames, 1);
	CU_ASSERT_EQUAL(walk.frame[0].wire_bytes, 60);
	add_pcap_header(&pcap, false, 0xa1b2c3d4);
	add_pcap_frame(&pcap, 0, 0, 'a', 60, 10);
	walk = walk_file(&pcap);
	CU_ASSERT_EQUAL_FATAL(walk.frames, 1);
	CU_ASSERT_EQUAL(walk.frame[0].wire_bytes, 60);
}

TL_TEST("more interfaces than the reader's limit are refused")
{
	static const uint8_t idb[20] = {1, 0, 0, 0, 20, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0};
	struct file file = {.size = 0};
	size_t size = 28 + 4097 * sizeof(idb);
	uint8_t *bytes = malloc(size);

	CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
	add_section(&file, false);
	memcpy(bytes, file.bytes, 28);
	for (size_t i = 0; i < 4097; i++)
		memcpy(bytes + 28 + i * sizeof(idb), idb, sizeof(idb));
	struct walk whole = walk_bytes(bytes, size);
	CU_ASSERT_EQUAL(whole.rc, -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(whole.err.text, "more interfaces in a section than: 4096"));
	CU_ASSERT_EQUAL(walk_bytes(bytes, size - sizeof(idb)).rc, 0);
	free(bytes);
}

TL_TEST("options of frames and texts of interfaces are returned")
{
	struct tl_pcapng_idb idb = {.name = "eth7", .description = "queue 0, timestamps: nic-rx"};
	struct tl_pcapng_epb epb = {
		.cap_bytes = 5, .wire_bytes = 5, .flags = TL_PCAPNG_OUTBOUND, .ts_ns = 1, .dropped = 3};
	_Alignas(4) uint8_t file[512];
	struct tl_pcap_reader *reader;
	struct tl_pcap_option option;
	struct tl_pcap_frame frame;
	struct tl_pcap_origin origin;
	struct tl_pcap_more more;
	uint32_t at = 0, len = tl_pcapng_put_shb(file, sizeof(file), &(struct tl_pcapng_shb){0});

	len += tl_pcapng_put_idb(file + len, sizeof(file) - len, &(struct tl_pcapng_idb){0});
	len += tl_pcapng_put_idb(file + len, sizeof(file) - len, &idb);
	epb.interface_id = 1;
	memcpy(tl_pcapng_put_epb(file + len, &epb), "frame", 5);
	len += tl_pcapng_epb_bytes(5, epb.flags, epb.dropped);
	CU_ASSERT_EQUAL_FATAL(tl_pcap_open_memory(file, len, "x", &reader, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(tl_pcap_next(reader, &frame, NULL), 1);
	tl_pcap_get_more(reader, &more);
	CU_ASSERT(more.has_stamp);
	CU_ASSERT_EQUAL(more.section, 1);
	CU_ASSERT_EQUAL(more.interface_id, 1);
	CU_ASSERT_EQUAL(more.tsresol, 9);
	CU_ASSERT(more.name_bytes == 4 && memcmp(more.name, "eth7", 4) == 0);
	CU_ASSERT(more.description_bytes == strlen(idb.description) &&
		  memcmp(more.description, idb.description, more.description_bytes) == 0);
	CU_ASSERT_EQUAL(tl_pcap_next_option(more.options, more.options_bytes, more.swapped, &at, &option), 1);
	CU_ASSERT(option.code == 2 && option.len == 4 && option.value[0] == TL_PCAPNG_OUTBOUND);
	CU_ASSERT_EQUAL(tl_pcap_next_option(more.options, more.options_bytes, more.swapped, &at, &option), 1);
	CU_ASSERT(option.code == 4 && option.len == 8 && option.value[0] == 3);
	tl_pcap_get_origin(reader, &origin);
	CU_ASSERT(origin.interface_id == 1 && origin.flags == TL_PCAPNG_OUTBOUND);
	file[more.options - file] = 6; // epb_queue instead of epb_flags
	tl_pcap_get_origin(reader, &origin);
	CU_ASSERT(origin.interface_id == 1 && origin.flags == 0);
	CU_ASSERT_EQUAL(tl_pcap_next_option(more.options, more.options_bytes, more.swapped, &at, &option), 0);
	tl_pcap_close(reader);
}

int main(void)
{
	return tl_test_run("pcapfile_read");
}
