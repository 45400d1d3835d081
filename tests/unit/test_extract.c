// SPDX-License-Identifier: BSD-3-Clause
// extract: a compressed recording yields the same packets as the plain one; byte orders and obsolete packet blocks keep
// their records.

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>

#include <tl_test_extract.h>

TL_TEST("a compressed recording is read like an uncompressed one")
{
	const struct tl_extract_cfg asked[] = {{0}, {.ports = {1007}, .n_ports = 1},
		{.from_ns = FIRST_NS + 5000 * STEP_NS, .to_ns = FIRST_NS + 6000 * STEP_NS},
		{.filter = "udp dst port 1011"}};
	uint32_t records, again;
	size_t plain_size, packed_size, last, out_size[2];
	uint8_t *plain = make_recording(false, &plain_size, &records, &last);
	uint8_t *packed = make_recording(true, &packed_size, &again, &last);

	CU_ASSERT_EQUAL(records, again);
	for (size_t i = 0; i < TL_ARRAY_LEN(asked); i++) {
		write_file(in_path, plain, plain_size);
		struct tl_extract_stats of_plain = run(asked[i], 0);
		uint8_t *out_plain = read_file(out_path, &out_size[0]);
		write_file(in_path, packed, packed_size);
		struct tl_extract_stats of_packed = run(asked[i], 0);
		uint8_t *out_packed = read_file(out_path, &out_size[1]);
		CU_ASSERT(of_plain.records_matched > 0);
		CU_ASSERT_EQUAL(of_plain.records_read, records);
		CU_ASSERT_EQUAL(of_plain.records_matched, of_packed.records_matched);
		CU_ASSERT(of_plain.files_incomplete == 0 && of_packed.files_incomplete == 0);
		CU_ASSERT_EQUAL(of_packed.slabs_total, SLABS);
		CU_ASSERT(of_packed.bytes_read >= packed_size && of_packed.bytes_read < packed_size + 65536);
		CU_ASSERT(out_size[0] == out_size[1] && memcmp(out_plain, out_packed, out_size[0]) == 0);
		free(out_plain);
		free(out_packed);
	}
	free(plain);
	free(packed);
}

// A search with matches in a few slabs, with an index, without, and with a torn one.
TL_TEST("an index finds slabs of plain and of compressed recordings")
{
	const struct tl_extract_cfg asked = {.from_ns = FIRST_NS + 5000 * STEP_NS,
		.to_ns = FIRST_NS + 5600 * STEP_NS,
		.ports = {1007},
		.n_ports = 1};

	for (int packed = 0; packed < 2; packed++) {
		uint32_t records;
		size_t size, last, index_size, out_size[2];
		uint8_t *data = make_recording(packed, &size, &records, &last);
		write_file(in_path, data, size);
		run(asked, 0);
		uint8_t *expected = read_file(out_path, &out_size[0]);
		struct tl_extract_stats stats = reindex();
		CU_ASSERT(stats.files_indexed == 1 && stats.records_matched == records && stats.slabs_total == SLABS);
		uint8_t *index = read_file(index_path, &index_size);
		for (int torn = 0; torn < 2; torn++) {
			write_file(index_path, index, torn ? index_size / 2 : index_size);
			stats = run(asked, 0);
			uint8_t *out = read_file(out_path, &out_size[1]);
			CU_ASSERT(stats.files_indexed == !torn && stats.records_matched == 12);
			CU_ASSERT(torn || (stats.slabs_read <= 3 && stats.slabs_total == SLABS));
			CU_ASSERT(out_size[0] == out_size[1] && memcmp(out, expected, out_size[0]) == 0);
			free(out);
		}
		unlink(index_path);
		free(index);
		free(expected);
		free(data);
	}
}

TL_TEST("the end of the requested time range is exclusive")
{
	uint32_t records;
	size_t size, last;
	uint8_t *data = make_recording(false, &size, &records, &last);
	struct tl_extract_cfg asked = {.from_ns = FIRST_NS + 10 * STEP_NS, .to_ns = FIRST_NS + 12 * STEP_NS};

	write_file(in_path, data, size);
	CU_ASSERT_EQUAL(run(asked, 0).records_matched, 2); // 10 and 11
	asked.to_ns++;
	CU_ASSERT_EQUAL(run(asked, 0).records_matched, 3);
	free(data);
}

// Remove the row with this number from a sidecar. consistent: give it the header of a sidecar written without that row.
static size_t remove_row(uint8_t *index, size_t size, uint32_t number, bool consistent)
{
	struct tl_index_reader reader;
	struct tl_index_row row;
	size_t from = TL_INDEX_HEADER_BYTES, to = from;

	CU_ASSERT_EQUAL_FATAL(tl_index_open(&reader, index, size), 0);
	for (uint32_t i = 0; i <= number; i++) {
		from = to;
		CU_ASSERT_EQUAL_FATAL(tl_index_next(&reader, &row), 1);
		to = reader.at;
	}
	memmove(index + from, index + to, size - to);
	size -= to - from;
	reader.header.rows--;
	if (consistent) {
		reader.header.rows_bytes = size - TL_INDEX_HEADER_BYTES;
		reader.header.rows_checksum =
			tl_index_checksum(index + TL_INDEX_HEADER_BYTES, size - TL_INDEX_HEADER_BYTES);
	}
	tl_index_put_header(index, &reader.header);
	return size;
}

// A missing row loses no packet, with or without a mark in the header.
TL_TEST("a missing index row hides no packet")
{
	const struct tl_extract_cfg asked = {.ports = {1007}, .n_ports = 1};
	static const uint32_t removed[] = {0, 7, SLABS - 1};

	for (uint32_t i = 0; i < 2 * 2 * TL_ARRAY_LEN(removed); i++) {
		bool packed = i & 1, consistent = i & 2;
		uint32_t records;
		size_t size, last, index_size;
		uint8_t *data = make_recording(packed, &size, &records, &last);
		write_file(in_path, data, size);
		uint64_t expected = run(asked, 0).records_matched;
		reindex();
		uint8_t *index = read_file(index_path, &index_size);
		index_size = remove_row(index, index_size, removed[i / 4], consistent);
		write_file(index_path, index, index_size);
		struct tl_extract_stats stats = run(asked, 0);
		CU_ASSERT_EQUAL(stats.files_indexed, consistent);
		CU_ASSERT_EQUAL(stats.slabs_total, SLABS);
		CU_ASSERT_EQUAL(stats.records_matched, expected);
		CU_ASSERT_EQUAL(stats.files_incomplete, 0);
		unlink(index_path);
		free(index);
		free(data);
	}
}

// The recording has grown: its index lacks the last slab.
TL_TEST("an index of a shorter version of the recording is not used")
{
	uint8_t *slab = malloc(SLAB_BYTES + 4096);

	for (int packed = 0; packed < 2; packed++) {
		struct tl_zslab_packer *packer = tl_zslab_packer_create(1);
		uint32_t records, bound = tl_zslab_bound(SLAB_BYTES);
		size_t size, last;
		uint8_t *data = make_recording(packed, &size, &records, &last);
		data = realloc(data, size + bound);
		write_file(in_path, data, size);
		reindex();
		uint32_t len = make_slab(slab, SLABS, &records);
		if (packed)
			size += (size_t)tl_zslab_pack(packer, slab, len, data + size, bound);
		else
			size += (size_t)(memcpy(data + size, slab, len) != NULL) * len;
		write_file(in_path, data, size);
		struct tl_extract_stats stats = run((struct tl_extract_cfg){0}, 0);
		CU_ASSERT_EQUAL(stats.files_indexed, 0);
		CU_ASSERT_EQUAL(stats.records_matched, records);
		unlink(index_path);
		tl_zslab_packer_destroy(packer);
		free(data);
	}
	free(slab);
}

// Rows of the sidecar; index has the Bloom filter of each row.
static void read_rows(
	const uint8_t *index, size_t size, struct tl_index_reader *reader, struct tl_index_row rows[SLABS])
{
	CU_ASSERT_EQUAL_FATAL(tl_index_open(reader, index, size), 0);
	for (uint32_t i = 0; i < SLABS; i++)
		CU_ASSERT_EQUAL_FATAL(tl_index_next(reader, &rows[i]), 1);
}

// Write a plain recording with its index.
struct indexed {
	uint8_t *data, *index;
	size_t size, index_size;
	uint32_t records;
	struct tl_index_reader reader;
	struct tl_index_row rows[SLABS];
};

static void indexed_init(struct indexed *indexed)
{
	size_t last;

	indexed->data = make_recording(false, &indexed->size, &indexed->records, &last);
	write_file(in_path, indexed->data, indexed->size);
	reindex();
	indexed->index = read_file(index_path, &indexed->index_size);
	read_rows(indexed->index, indexed->index_size, &indexed->reader, indexed->rows);
}

static void indexed_fini(struct indexed *indexed)
{
	unlink(index_path);
	free(indexed->index);
	free(indexed->data);
}

TL_TEST("an index of another run is not used")
{
	struct indexed indexed;

	indexed_init(&indexed);
	indexed.reader.header.run_id++;
	tl_index_put_header(indexed.index, &indexed.reader.header);
	write_file(index_path, indexed.index, indexed.index_size);
	struct tl_extract_stats stats = run((struct tl_extract_cfg){0}, 0);
	CU_ASSERT_EQUAL(stats.files_indexed, 0);
	CU_ASSERT_EQUAL(stats.records_matched, indexed.records);
	indexed_fini(&indexed);
}

// The slabs of two rows are exchanged: each row describes the other's slab.
TL_TEST("a row that refers to another slab hides no packet")
{
	struct indexed indexed;

	indexed_init(&indexed);
	const struct tl_index_row *a = &indexed.rows[3], *b = &indexed.rows[4];
	uint8_t *slab = malloc(a->len_bytes);
	CU_ASSERT_EQUAL_FATAL(a->len_bytes, b->len_bytes);
	memcpy(slab, indexed.data + a->offset_bytes, a->len_bytes);
	memcpy(indexed.data + a->offset_bytes, indexed.data + b->offset_bytes, a->len_bytes);
	memcpy(indexed.data + b->offset_bytes, slab, a->len_bytes);
	write_file(in_path, indexed.data, indexed.size);
	struct tl_extract_stats stats =
		run((struct tl_extract_cfg){.from_ns = a->first_ns, .to_ns = a->last_ns + 1}, 0);
	CU_ASSERT_EQUAL(stats.records_matched, a->records);
	free(slab);
	indexed_fini(&indexed);
}

TL_TEST("overlapping rows give each packet once")
{
	struct indexed indexed;
	struct tl_index_rows rows = {0};

	indexed_init(&indexed);
	for (uint32_t i = 0; i < SLABS; i++)
		for (uint32_t times = 0; times < (i == 3 ? 2 : 1); times++)
			CU_ASSERT_EQUAL(tl_index_rows_add(&rows, &indexed.rows[i]), 0);
	unlink(index_path);
	CU_ASSERT_EQUAL(tl_index_rows_write(&rows, in_path, indexed.size, indexed.reader.header.run_id), 0);
	CU_ASSERT_EQUAL(run((struct tl_extract_cfg){0}, 0).records_matched, indexed.records);
	tl_index_rows_free(&rows);
	indexed_fini(&indexed);
}

TL_TEST("an index too large for its recording is not loaded")
{
	for (int packed = 0; packed < 2; packed++) {
		uint32_t records;
		size_t size, last;
		uint8_t *data = make_recording(packed, &size, &records, &last);
		write_file(in_path, data, size);
		reindex();
		CU_ASSERT_EQUAL(truncate(index_path, (off_t)(size / 4096 * TL_INDEX_ROW_MAX + 4096)), 0);
		struct tl_extract_stats stats = run((struct tl_extract_cfg){0}, 0);
		CU_ASSERT_EQUAL(stats.files_indexed, 0);
		CU_ASSERT_EQUAL(stats.records_matched, records);
		CU_ASSERT(stats.bytes_read < size + 65536);
		unlink(index_path);
		free(data);
	}
}

// A HEAD in each page that claims all data to the end: only the first one is walked.
TL_TEST("a slab with embedded HEAD blocks is not accepted as complete")
{
	enum { PAGES = 64 };
	uint8_t *data = calloc(PAGES + 1, 4096);
	size_t size = make_prologue(data);

	for (uint32_t page = 1; page < PAGES; page++) {
		uint8_t *at = data + page * 4096;
		tl_pcapng_put_head(at,
			&(struct tl_pcapng_head){.run_id = 7, .sequence = page, .used_bytes = (PAGES - page) * 4096});
		tl_pcapng_put_pad(at + TL_PCAPNG_HEAD_BYTES, 4096 - TL_PCAPNG_HEAD_BYTES);
	}
	size = PAGES * 4096;
	write_file(in_path, data, size);
	struct tl_extract_stats stats = run((struct tl_extract_cfg){0}, 0);
	CU_ASSERT(stats.files_incomplete == 1 && stats.slabs_total == 0);
	free(data);
}

TL_TEST("a truncated recording gives its complete slabs")
{
	for (int packed = 0; packed < 2; packed++) {
		uint32_t records;
		size_t size, last;
		uint8_t *data = make_recording(packed, &size, &records, &last);
		write_file(in_path, data, size - 4096);
		struct tl_extract_stats stats = run((struct tl_extract_cfg){0}, 0);
		CU_ASSERT_EQUAL(stats.files_incomplete, 1);
		CU_ASSERT_EQUAL(stats.records_matched, records / SLABS * (SLABS - 1));
		data[last + 200] ^= 1; // within the last slab, or its compressed frame
		write_file(in_path, data, size);
		stats = run((struct tl_extract_cfg){0}, 0);
		CU_ASSERT(!packed || (stats.files_incomplete == 1 && stats.slabs_read == SLABS - 1));
		free(data);
	}
}

// ---- queries

TL_TEST("a host filter matches source or destination")
{
	uint32_t records;
	size_t size, last;
	uint8_t *data = make_recording(false, &size, &records, &last);

	write_file(in_path, data, size);
	for (uint64_t host = 1; host <= 3; host++) {
		struct tl_extract_cfg asked = {.hosts = {{.low = 0xffffc0000200 | host}}, .n_hosts = 1};
		CU_ASSERT_EQUAL(run(asked, 0).records_matched, host < 3 ? records : 0);
	}
	free(data);
}

// Add a packet of this interface to a file whose prologue has two.
static size_t put_packet(uint8_t *file, size_t at, uint32_t interface, uint64_t ts_ns, const uint8_t *frame)
{
	struct tl_pcapng_epb epb = {.interface_id = interface, .cap_bytes = 60, .wire_bytes = 60, .ts_ns = ts_ns};

	memcpy(tl_pcapng_put_epb(file + at, &epb), frame, 60);
	return at + tl_pcapng_epb_bytes(60, 0, 0);
}

static size_t put_two_interfaces(uint8_t *file)
{
	uint32_t used = tl_pcapng_put_shb(file, 4096, &(struct tl_pcapng_shb){.application = "tapline test"});

	used += tl_pcapng_put_idb(file + used, 4096 - used, &(struct tl_pcapng_idb){.name = "port0"});
	return used + tl_pcapng_put_idb(file + used, 4096 - used, &(struct tl_pcapng_idb){.name = "port1"});
}

TL_TEST("a packet without ports matches no port filter")
{
	uint8_t file[8192], frame[64];
	size_t size = put_two_interfaces(file);

	put_frame(frame, 7);
	size = put_packet(file, size, 0, FIRST_NS, frame);
	frame[23] = 1; // ICMP, with bytes that look like ports
	size = put_packet(file, size, 0, FIRST_NS, frame);
	write_file(in_path, file, size);
	CU_ASSERT_EQUAL(run((struct tl_extract_cfg){.ports = {1007}, .n_ports = 1}, 0).records_matched, 1);
}

TL_TEST("interfaces that differ in one letter stay separate")
{
	uint8_t file[8192], frame[64];
	struct tl_pcap_reader *reader;
	struct tl_pcap_frame got;
	struct tl_pcap_more more;
	struct tl_err err;
	size_t size = put_two_interfaces(file);

	put_frame(frame, 7);
	for (uint32_t i = 0; i < 4; i++)
		size = put_packet(file, size, i % 2, FIRST_NS + i, frame);
	write_file(in_path, file, size);
	CU_ASSERT_EQUAL(run((struct tl_extract_cfg){0}, 0).records_matched, 4);
	CU_ASSERT_EQUAL_FATAL(tl_pcap_open(out_path, &reader, &err), 0);
	for (uint32_t i = 0; i < 4; i++) {
		CU_ASSERT_EQUAL_FATAL(tl_pcap_next(reader, &got, &err), 1);
		tl_pcap_get_more(reader, &more);
		CU_ASSERT(more.name_bytes == 5 && more.name[4] == "01"[i % 2]);
	}
	tl_pcap_close(reader);
}

// Created in an order that differs from that of the names; x_100000 comes after x_99999.
TL_TEST("the files of a directory are read in name order")
{
	static const uint32_t numbers[] = {99999, 3, 100001, 1, 100000, 12, 2};
	const char *path = dir;
	struct tl_extract_cfg asked = {.paths = &path, .n_paths = 1, .out = out_path, .to_ns = UINT64_MAX};
	struct tl_extract_stats stats;
	struct tl_pcap_reader *reader;
	struct tl_pcap_frame got;
	struct tl_err err;
	uint8_t file[8192], frame[64];
	char name[128];
	uint64_t last_ns = 0;

	unlink(in_path);
	unlink(out_path);
	put_frame(frame, 7);
	for (size_t i = 0; i < TL_ARRAY_LEN(numbers); i++) {
		snprintf(name, sizeof(name), "%s/x_%05u.pcapng", dir, numbers[i]);
		size_t size = put_packet(file, put_two_interfaces(file), 0, FIRST_NS + numbers[i], frame);
		write_file(name, file, size);
	}
	CU_ASSERT_EQUAL(tl_extract_run(&asked, &stats, &err), 0);
	CU_ASSERT_EQUAL(stats.records_matched, TL_ARRAY_LEN(numbers));
	CU_ASSERT_EQUAL_FATAL(tl_pcap_open(out_path, &reader, &err), 0);
	while (tl_pcap_next(reader, &got, &err) == 1) {
		CU_ASSERT(got.ts_ns > last_ns);
		last_ns = got.ts_ns;
	}
	tl_pcap_close(reader);
	for (size_t i = 0; i < TL_ARRAY_LEN(numbers); i++) {
		snprintf(name, sizeof(name), "%s/x_%05u.pcapng", dir, numbers[i]);
		unlink(name);
	}
}

// ---- sections of other programs, in the other byte order, with every kind of packet block

static uint8_t *put_be32(uint8_t *p, uint32_t value)
{
	value = __builtin_bswap32(value);
	memcpy(p, &value, sizeof(value));
	return p + sizeof(value);
}

// Write a big-endian block: words, then bytes.
static uint8_t *put_block(
	uint8_t *p, uint32_t type, const uint32_t *words, uint32_t n, const void *data, uint32_t data_bytes)
{
	uint32_t total = 12 + n * 4 + data_bytes;

	p = put_be32(put_be32(p, type), total);
	for (uint32_t i = 0; i < n; i++)
		p = put_be32(p, words[i]);
	if (data_bytes != 0)
		memcpy(p, data, data_bytes);
	return put_be32(p + data_bytes, total);
}

// Write slabs of a reused file, with packet numbers from *number on. Return the number of bytes; *out_at is the offset
// of the last slab.
static size_t make_life(uint8_t *data, uint64_t file, uint32_t slabs, uint32_t *number, size_t *out_at)
{
	uint32_t used = tl_pcapng_put_shb(data, 4096, &(struct tl_pcapng_shb){.application = "tapline test"});

	used += tl_pcapng_put_idb(data + used, 4096 - used, &(struct tl_pcapng_idb){.name = "port0"});
	tl_pcapng_put_head(data + used, &(struct tl_pcapng_head){.file = file, .used_bytes = TL_PCAPNG_HEAD_BYTES});
	size_t size = pad_to_align(data, used + TL_PCAPNG_HEAD_BYTES);
	for (uint32_t i = 0; i < slabs; i++) {
		struct tl_pcapng_head head;
		*out_at = size;
		size += make_slab(data + size, i, number);
		CU_ASSERT_EQUAL(tl_pcapng_get_head(data + *out_at, SLAB_BYTES, &head), 0);
		tl_pcapng_sign_head(data + *out_at, file, tl_pcapng_check(data + *out_at, head.used_bytes));
	}
	return size;
}

TL_TEST("data of the previous file is not read from a reused file")
{
	uint8_t *data = calloc(SLABS + 1, SLAB_BYTES), *earlier = calloc(SLABS + 1, SLAB_BYTES);
	uint32_t before = 0, number = 7 * 50; // records of both generations have the same lengths
	size_t at;

	CU_ASSERT_FATAL(data != NULL && earlier != NULL);
	size_t size = make_life(earlier, 1, SLABS, &before, &at);
	uint32_t first = number;
	memcpy(data, earlier, size);
	make_life(data, 2, 3, &number, &at);
	write_file(in_path, data, size);
	struct tl_extract_stats stats = run((struct tl_extract_cfg){0}, 0);
	CU_ASSERT(stats.records_matched == number - first && stats.slabs_total == 3 && stats.files_incomplete == 1);
	stats = reindex();
	CU_ASSERT(stats.files_indexed == 0 && stats.files_incomplete == 1);

	memcpy(data + at + 4096, earlier + at + 4096, size - at - 4096); // the third one is in flight
	write_file(in_path, data, size);
	stats = run((struct tl_extract_cfg){0}, 0);
	CU_ASSERT(stats.records_matched == (number - first) / 3 * 2 && stats.slabs_total == 2);
	CU_ASSERT_EQUAL(stats.files_incomplete, 1);
	free(earlier);
	free(data);
}

TL_TEST("damaged padding hides no packet, with and without an index")
{
	struct tl_pcapng_head head;
	uint32_t records;
	size_t size, last;
	uint8_t *data = make_recording(false, &size, &records, &last), *slab = data + TL_PCAPNG_ALIGN;

	CU_ASSERT_EQUAL_FATAL(tl_pcapng_get_head(slab, TL_PCAPNG_HEAD_BYTES, &head), 0);
	memset(slab + head.used_bytes, 0xee, 8);
	unlink(index_path);
	write_file(in_path, data, size);
	for (int indexed = 0; indexed < 2; indexed++) {
		CU_ASSERT_EQUAL(run((struct tl_extract_cfg){.to_ns = UINT64_MAX}, 0).records_matched, records);
		CU_ASSERT_EQUAL(reindex().records_matched, records);
	}
	free(data);
}

// With a checksum or digest per slab: slabs after a damaged one are extracted, with and without an index.
TL_TEST("a damaged slab loses only its own packets")
{
	uint8_t *data = calloc(SLABS + 1, SLAB_BYTES);
	uint32_t number = 0;
	size_t at;

	CU_ASSERT_FATAL(data != NULL);
	size_t size = make_life(data, 1, SLABS, &number, &at);
	write_file(in_path, data, size);
	reindex();
	data[4096 + 3000] ^= 1; // within a frame of the first slab
	write_file(in_path, data, size);
	for (int no_index = 0; no_index < 2; no_index++) {
		struct tl_extract_stats stats = run((struct tl_extract_cfg){.no_index = no_index}, -EBADMSG);
		CU_ASSERT(stats.slabs_damaged == 1 && stats.records_damaged == number - stats.records_matched);
		CU_ASSERT_EQUAL(stats.slabs_total, SLABS - 1);
		CU_ASSERT(stats.records_matched > number / SLABS * (SLABS - 2) && stats.records_matched < number);
		CU_ASSERT_EQUAL(stats.files_incomplete, 0);
	}
	unlink(index_path);
	free(data);
}

// A damaged HEAD hides how long its slab is: the next slab of the file is found, but none of an earlier file.
TL_TEST("a damaged HEAD loses only its slab's packets")
{
	enum { LATER = 3 };
	uint8_t *data = calloc(SLABS + 1, SLAB_BYTES);
	uint32_t before = 0, first = 7 * 50, number = first;
	struct tl_extract_stats stats;
	struct tl_pcapng_head head;
	size_t at;

	CU_ASSERT_FATAL(data != NULL);
	size_t whole = make_life(data, 1, SLABS, &before, &at), size = make_life(data, 2, LATER, &number, &at);
	for (int reused = 0; reused < 2; reused++) {
		write_file(in_path, data, size);
		reindex();
		CU_ASSERT_EQUAL_FATAL(tl_pcapng_get_head(data + 4096, SLAB_BYTES, &head), 0);
		write_file(in_path, data, reused ? whole : size);
		int fd = open(in_path, O_RDWR);
		CU_ASSERT_EQUAL(pwrite(fd, "damaged", 7, 4096), 7);
		for (int no_index = 0; no_index < 2; no_index++) {
			stats = run((struct tl_extract_cfg){.no_index = no_index}, -EBADMSG);
			CU_ASSERT_EQUAL(stats.records_matched, number - first - head.records);
			CU_ASSERT(stats.areas_damaged == 1 && stats.slabs_damaged == 0 && stats.records_damaged == 0);
			CU_ASSERT_EQUAL(stats.bytes_damaged, tl_align_up(head.used_bytes, TL_PCAPNG_ALIGN));
			CU_ASSERT_EQUAL(stats.files_incomplete, (uint64_t)reused);
		}
		CU_ASSERT_EQUAL(flock(fd, LOCK_EX), 0); // being written: it ends there
		stats = run((struct tl_extract_cfg){.no_index = true}, 0);
		CU_ASSERT(stats.records_matched == 0 && stats.areas_damaged == 0 && stats.files_incomplete == 1);
		close(fd);
		unlink(index_path);
	}
	free(data);
}

TL_TEST("packet blocks of all kinds and of the other byte order are kept")
{
	uint8_t file[16384], frame[64], *p = file;
	struct tl_pcap_reader *reader;
	struct tl_pcap_frame got;
	struct tl_err err;
	uint32_t len = put_frame(frame, 7); // to port 1007

	p = put_block(p, TL_PCAPNG_SHB, (const uint32_t[]){0x1a2b3c4d, 0x00010000, UINT32_MAX, UINT32_MAX}, 4, NULL, 0);
	p = put_block(p, TL_PCAPNG_IDB, (const uint32_t[]){1 << 16, 0}, 2, NULL, 0); // microseconds
	uint64_t us = FIRST_NS / 1000 + 5;
	p = put_block(
		p, TL_PCAPNG_EPB, (const uint32_t[]){0, (uint32_t)(us >> 32), (uint32_t)us, len, 1514}, 5, frame, len);
	us++;
	p = put_block(
		p, 2, (const uint32_t[]){3 /* drops */, (uint32_t)(us >> 32), (uint32_t)us, len, len}, 5, frame, len);
	p = put_block(p, 3, (const uint32_t[]){len}, 1, frame, len);
	p += make_prologue(p); // a section in the host's byte order
	struct tl_pcapng_epb epb = {.cap_bytes = len, .wire_bytes = len, .ts_ns = FIRST_NS};
	memcpy(tl_pcapng_put_epb(p, &epb), frame, len);
	p += tl_pcapng_epb_bytes(len, 0, 0);
	write_file(in_path, file, (size_t)(p - file));
	struct tl_extract_stats stats = run((struct tl_extract_cfg){.ports = {1007}, .n_ports = 1}, 0);
	CU_ASSERT(stats.records_read == 4 && stats.records_matched == 4 && stats.files_incomplete == 0);
	CU_ASSERT_EQUAL_FATAL(tl_pcap_open(out_path, &reader, &err), 0);
	CU_ASSERT_EQUAL(tl_pcap_next(reader, &got, &err), 1);
	CU_ASSERT(got.ts_ns == FIRST_NS + 5000 && got.wire_bytes == 1514 && memcmp(got.data, frame, len) == 0);
	CU_ASSERT_EQUAL(tl_pcap_next(reader, &got, &err), 1);
	CU_ASSERT(got.ts_ns == FIRST_NS + 6000 && got.cap_bytes == len && memcmp(got.data, frame, len) == 0);
	CU_ASSERT_EQUAL(tl_pcap_next(reader, &got, &err), 1);
	CU_ASSERT(got.ts_ns == 0 && got.cap_bytes == len && memcmp(got.data, frame, len) == 0);
	CU_ASSERT_EQUAL(tl_pcap_next(reader, &got, &err), 1);
	CU_ASSERT(got.ts_ns == FIRST_NS && got.cap_bytes == len && memcmp(got.data, frame, len) == 0);
	CU_ASSERT_EQUAL(tl_pcap_next(reader, &got, &err), 0);
	tl_pcap_close(reader);
}

// By another name, too.
TL_TEST("an output that is an input is refused, and stays")
{
	uint32_t records;
	size_t size, last, kept_size;
	uint8_t *data = make_recording(false, &size, &records, &last);

	write_file(in_path, data, size);
	unlink(out_path);
	CU_ASSERT_EQUAL_FATAL(link(in_path, out_path), 0);
	run((struct tl_extract_cfg){0}, -EINVAL);
	unlink(out_path);
	uint8_t *kept = read_file(in_path, &kept_size);
	CU_ASSERT(kept_size == size && memcmp(kept, data, size) == 0);
	free(kept);
	free(data);
}

TL_TEST("a file in another format is an error; an empty or removed one is not")
{
	write_file(in_path, "neither pcap nor pcapng", 23);
	struct tl_extract_stats stats = run((struct tl_extract_cfg){0}, -EINVAL);
	CU_ASSERT_EQUAL(stats.files, 1);
	write_file(in_path, "", 0);
	run((struct tl_extract_cfg){0}, 0);
	unlink(in_path);
	stats = run((struct tl_extract_cfg){0}, 0);
	CU_ASSERT(stats.files == 0 && stats.files_gone == 1);
}

int main(void)
{
	return run_tests("extract");
}
