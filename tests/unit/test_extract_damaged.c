// SPDX-License-Identifier: BSD-3-Clause
// extract: damaged units of a compressed recording are skipped, counted and reported, all others extracted; hostile
// files take limited memory.

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>

#include <tl_test_extract.h>

// Offset of the n-th unit of a compressed recording; 0: opening blocks.
static size_t unit_at(const uint8_t *data, size_t size, uint32_t n, struct tl_zslab_unit *out)
{
	size_t at = 0;

	CU_ASSERT_EQUAL_FATAL(tl_zslab_look(data, size, out), 0);
	for (uint32_t i = 0; i < n; i++) {
		at += out->unit_bytes;
		CU_ASSERT_EQUAL_FATAL(tl_zslab_look(data + at, size - at, out), 0);
	}
	return at;
}

// Damage the units 3 to 6 of a compressed recording: the first in its content, the others whole, with an earlier unit
// in their place, as if it were recorded payload.
static uint8_t *make_damaged(size_t *out_size, uint32_t *out_lost, size_t *out_bytes)
{
	uint32_t records;
	size_t last;
	struct tl_zslab_unit early, unit;
	uint8_t *data = make_recording(true, out_size, &records, &last);
	size_t from = unit_at(data, *out_size, 1, &early), to = unit_at(data, *out_size, 7, &unit), at = to;

	*out_lost = 0;
	for (uint32_t n = 6; n >= 3; n--) {
		at = unit_at(data, *out_size, n, &unit);
		*out_lost += unit.head.records;
	}
	*out_bytes = to - at;
	data[at + unit.frame_at + 500] ^= 1;
	at += unit.unit_bytes;
	CU_ASSERT_FATAL(at + 4096 + early.unit_bytes <= to);
	memset(data + at, 0xee, to - at);
	memcpy(data + at + 4096, data + from, early.unit_bytes);
	return data;
}

TL_TEST("damaged units cost only their own packets")
{
	for (int indexed = 0; indexed < 2; indexed++) {
		uint32_t records, lost;
		size_t size, last, bytes;
		uint8_t *whole = make_recording(true, &size, &records, &last);
		write_file(in_path, whole, size);
		if (indexed)
			reindex();
		uint8_t *data = make_damaged(&size, &lost, &bytes);
		write_file(in_path, data, size);
		struct tl_extract_stats stats = run((struct tl_extract_cfg){0}, -EBADMSG);
		CU_ASSERT_EQUAL(stats.records_matched, records - lost);
		CU_ASSERT(stats.slabs_damaged == 0 && stats.areas_damaged == 1 && stats.bytes_damaged == bytes);
		CU_ASSERT(stats.slabs_read == SLABS - 4 && stats.files_incomplete == 0);
		unlink(index_path);
		free(whole);
		free(data);
	}
}

// Slabs in flight may be missing before others.
TL_TEST("what a recording is still writing is no error")
{
	uint32_t lost;
	size_t size, bytes;
	uint8_t *data = make_damaged(&size, &lost, &bytes);

	write_file(in_path, data, size);
	int fd = open(in_path, O_RDONLY);
	CU_ASSERT_FATAL(fd >= 0 && flock(fd, LOCK_EX) == 0);
	struct tl_extract_stats stats = run((struct tl_extract_cfg){0}, 0);
	CU_ASSERT(stats.areas_damaged == 1 && stats.slabs_read == SLABS - 4);
	close(fd);
	run((struct tl_extract_cfg){0}, -EBADMSG);
	free(data);
}

TL_TEST("lost packets are counted where a unit states their number")
{
	for (uint32_t n = 1; n < SLABS; n++) {
		for (int head = 0; head < 2; head++) {
			struct tl_zslab_unit unit;
			uint32_t records;
			size_t size, last;
			uint8_t *data = make_recording(true, &size, &records, &last);
			size_t at = unit_at(data, size, n, &unit);
			data[at + (head ? 0 : unit.frame_at + 500)] ^= 1;
			write_file(in_path, data, size);
			struct tl_extract_stats stats = run((struct tl_extract_cfg){0}, -EBADMSG);
			CU_ASSERT_EQUAL(stats.records_matched, records - unit.head.records);
			CU_ASSERT_EQUAL(stats.records_damaged, head ? 0 : unit.head.records);
			CU_ASSERT(stats.slabs_damaged == !head && stats.areas_damaged == (uint64_t)head);
			CU_ASSERT_EQUAL(stats.bytes_damaged, unit.unit_bytes);
			free(data);
		}
	}
}

// Write three frames as pcapng, or as classic pcap. Return the offset of the second one's record.
static size_t put_three(uint8_t *data, bool classic, size_t *out_size)
{
	const uint32_t file[] = {TL_PCAP_MAGIC_NS, 4 << 16 | 2, 0, 0, 65535, 1}, frame[] = {1, 0, 60, 60};
	const struct tl_pcapng_epb epb = {.cap_bytes = 60, .wire_bytes = 60, .ts_ns = FIRST_NS};
	size_t second = 0, at = classic ? sizeof(file) : make_prologue(data);

	if (classic)
		memcpy(data, file, sizeof(file));
	for (uint32_t i = 0; i < 3; i++) {
		second = i == 1 ? at : second;
		if (classic)
			memcpy(data + at, frame, sizeof(frame));
		put_frame(classic ? data + at + sizeof(frame) : tl_pcapng_put_epb(data + at, &epb), i);
		at += classic ? sizeof(frame) + 60 : tl_pcapng_epb_bytes(60, epb.flags, epb.dropped);
	}
	*out_size = at;
	return second;
}

TL_TEST("a file of another program misses no packets in silence if it is damaged in the middle")
{
	for (int classic = 0; classic < 2; classic++) {
		uint8_t data[8192];
		size_t size, second = put_three(data, classic, &size);

		write_file(in_path, data, size - 20); // as it is being written
		struct tl_extract_stats stats = run((struct tl_extract_cfg){0}, 0);
		CU_ASSERT(stats.records_matched == 2 && stats.files_incomplete == 1);
		memset(data + second + (classic ? 8 : 4), 0xff, 4); // length of the record
		write_file(in_path, data, size);
		stats = run((struct tl_extract_cfg){0}, -EBADMSG);
		CU_ASSERT(stats.records_matched == 1 && stats.files_incomplete == 1);
	}
}

TL_TEST("a compressed file of another program is no empty recording")
{
	static const uint8_t magic[] = {0x28, 0xb5, 0x2f, 0xfd};
	uint8_t data[8192] = {0};

	memcpy(data, magic, sizeof(magic));
	write_file(in_path, data, sizeof(data));
	run((struct tl_extract_cfg){0}, -EBADMSG);
	write_file(in_path, data, 4000); // less than the smallest part of a recording: it may have just begun
	run((struct tl_extract_cfg){0}, 0);
}

// Interface descriptions are kept, and compress well: a small file must not take all memory.
TL_TEST("interface descriptions above 64 MiB end a file")
{
	enum { BLOCK = 15 << 20, BLOCKS = 5 };
	const uint32_t begin[] = {TL_PCAPNG_IDB, BLOCK, 1}, end = BLOCK;
	struct tl_zslab_packer *packer = tl_zslab_packer_create(1);
	uint8_t *block = calloc(1, BLOCK), *data = malloc((BLOCKS + 1) * tl_zslab_bound(4096));
	struct tl_extract_stats stats;

	memcpy(block, begin, sizeof(begin));
	memcpy(block + BLOCK - sizeof(end), &end, sizeof(end));
	uint8_t *packed = malloc(tl_zslab_bound(BLOCK)), *prologue = malloc(4096);
	for (uint32_t n = BLOCKS - 1; n <= BLOCKS; n++) { // 60 and 75 MiB
		int64_t size =
			tl_zslab_pack_blocks(packer, prologue, make_prologue(prologue), data, tl_zslab_bound(4096));
		int64_t bytes = tl_zslab_pack_blocks(packer, block, BLOCK, packed, tl_zslab_bound(BLOCK));
		CU_ASSERT_FATAL(size > 0 && bytes > 0 && bytes <= tl_zslab_bound(4096));
		for (uint32_t i = 0; i < n; i++, size += bytes)
			memcpy(data + size, packed, (size_t)bytes);
		write_file(in_path, data, (size_t)size);
		stats = run((struct tl_extract_cfg){0}, 0);
		CU_ASSERT_EQUAL(stats.files_incomplete, n == BLOCKS);
	}
	tl_zslab_packer_destroy(packer);
	free(prologue);
	free(packed);
	free(block);
	free(data);
}

// A file without an index could be of any other program.
TL_TEST("a recording in a directory is not left out in silence if its beginning is damaged")
{
	const char *path = dir;
	const struct tl_extract_cfg asked = {.paths = &path, .n_paths = 1, .out = out_path, .to_ns = UINT64_MAX};
	struct tl_extract_stats stats;
	struct tl_err err = {{0}};
	uint32_t records;
	size_t size, last;
	uint8_t *data = make_recording(false, &size, &records, &last);

	unlink(out_path);
	write_file(in_path, data, size);
	reindex();
	data[0] ^= 1;
	write_file(in_path, data, size);
	CU_ASSERT_EQUAL(tl_extract_run(&asked, &stats, &err), -EINVAL);
	CU_ASSERT_EQUAL(stats.files, 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, in_path));
	unlink(index_path);
	CU_ASSERT_EQUAL_FATAL(symlink(index_path, index_path), 0);
	CU_ASSERT_EQUAL(tl_extract_run(&asked, &stats, &err), -ELOOP); // unknown whether it has one
	unlink(index_path);
	unlink(out_path);
	CU_ASSERT_EQUAL(tl_extract_run(&asked, &stats, &err), 0);
	CU_ASSERT_EQUAL(stats.files, 0);
	free(data);
}

static void write_blocks(FILE *file, const void *blocks, uint32_t bytes)
{
	CU_ASSERT_EQUAL(fwrite(blocks, 1, bytes, file), bytes);
}

static void write_section(FILE *file)
{
	uint8_t block[256];

	write_blocks(
		file, block, tl_pcapng_put_shb(block, sizeof(block), &(struct tl_pcapng_shb){.application = "test"}));
}

// Write an interface whose name is a number, with this many bytes of comments: a multiple of 32768.
static void write_interface(FILE *file, uint32_t number, uint32_t comment_bytes)
{
	static const uint16_t comment[] = {1, 32768 - 4};
	uint8_t *block = calloc(1, 256 + comment_bytes);
	char name[16];

	CU_ASSERT_PTR_NOT_NULL_FATAL(block);
	snprintf(name, sizeof(name), "%u", number);
	uint32_t end = tl_pcapng_put_idb(block, 256, &(struct tl_pcapng_idb){.name = name}) - 8; // of the options
	uint32_t used = end + comment_bytes + 8;
	memset(block + end, 0, 8);
	for (uint32_t at = end; at < end + comment_bytes; at += 32768)
		memcpy(block + at, comment, sizeof(comment));
	memcpy(block + 4, &used, sizeof(used));
	memcpy(block + used - 4, &used, sizeof(used));
	write_blocks(file, block, used);
	free(block);
}

static void write_packet(FILE *file, uint32_t number, uint32_t interface_id)
{
	struct tl_pcapng_epb epb = {
		.interface_id = interface_id, .cap_bytes = 60, .wire_bytes = 60, .ts_ns = FIRST_NS + number};
	uint8_t block[256];

	put_frame(tl_pcapng_put_epb(block, &epb), number);
	write_blocks(file, block, tl_pcapng_epb_bytes(60, 0, 0));
}

// Write a file of sections with one interface and one packet each.
static void write_sections(uint32_t sections, uint32_t comment_bytes)
{
	FILE *file = fopen(in_path, "wb");

	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	for (uint32_t i = 0; i < sections; i++) {
		write_section(file);
		write_interface(file, i, comment_bytes);
		write_packet(file, i, 0);
	}
	fclose(file);
}

// Write a file of one section, whose packets are of its interfaces in turn.
static void write_in_turn(uint32_t interfaces, uint32_t packets)
{
	FILE *file = fopen(in_path, "wb");

	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	write_section(file);
	for (uint32_t i = 0; i < interfaces; i++)
		write_interface(file, i, 0);
	for (uint32_t i = 0; i < packets; i++)
		write_packet(file, i, i % interfaces);
	fclose(file);
}

struct sections {
	uint64_t n, interfaces, interface_bytes; // the last two of the section with most
};

// Count the sections of the output.
static struct sections count_sections(void)
{
	struct sections most = {0}, now = {0};
	FILE *file = fopen(out_path, "rb");
	uint32_t words[2];

	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	while (fread(words, sizeof(words), 1, file) == 1 && fseek(file, (long)words[1] - 8, SEEK_CUR) == 0) {
		if (words[0] == TL_PCAPNG_SHB)
			now = (struct sections){.n = now.n + 1};
		if (words[0] == TL_PCAPNG_IDB) {
			now.interfaces++;
			now.interface_bytes += words[1];
		}
		most.n = now.n;
		most.interfaces = tl_max_u64(most.interfaces, now.interfaces);
		most.interface_bytes = tl_max_u64(most.interface_bytes, now.interface_bytes);
	}
	fclose(file);
	return most;
}

// Extract, and check that the output has all packets, each with its interface.
static struct sections extract_interfaces(uint32_t interfaces, uint32_t packets)
{
	struct tl_pcap_reader *reader;
	struct tl_pcap_frame got;
	struct tl_pcap_more more;
	struct tl_err err;
	char name[16];

	CU_ASSERT_EQUAL(run((struct tl_extract_cfg){0}, 0).records_matched, packets);
	CU_ASSERT_EQUAL_FATAL(tl_pcap_open(out_path, &reader, &err), 0);
	for (uint32_t i = 0; i < packets; i++) {
		size_t len = (size_t)snprintf(name, sizeof(name), "%u", i % interfaces);
		CU_ASSERT_EQUAL_FATAL(tl_pcap_next(reader, &got, &err), 1);
		tl_pcap_get_more(reader, &more);
		CU_ASSERT_EQUAL(got.ts_ns, FIRST_NS + i);
		CU_ASSERT(more.name_bytes == len && memcmp(more.name, name, len) == 0);
	}
	CU_ASSERT_EQUAL(tl_pcap_next(reader, &got, &err), 0);
	tl_pcap_close(reader);
	return count_sections();
}

// A hostile file describes another interface in each of its sections.
TL_TEST("the interfaces in memory are limited in number, and each packet keeps its own")
{
	write_sections(5000, 0);
	struct sections out = extract_interfaces(5000, 5000);
	CU_ASSERT_EQUAL(out.n, 5);
	CU_ASSERT_EQUAL(out.interfaces, 1024 + 3);
}

TL_TEST("the interfaces in memory are limited in bytes, and each packet keeps its own")
{
	write_sections(30, 512 << 10);
	struct sections out = extract_interfaces(30, 30);
	CU_ASSERT(out.n >= 5 && out.n <= 8);
	CU_ASSERT(out.interface_bytes >= 1 << 20 && out.interface_bytes <= 4 << 20);
}

TL_TEST("many interfaces in turn are described once")
{
	write_in_turn(2000, 6000);
	struct sections out = extract_interfaces(2000, 6000);
	CU_ASSERT(out.n == 1 && out.interfaces == 2000);
}

int main(void)
{
	return run_tests("extract_damaged");
}
