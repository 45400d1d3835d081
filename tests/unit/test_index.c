// SPDX-License-Identifier: BSD-3-Clause
// index: a row has no false negatives for its slab and few false positives, and damage of a sidecar is detected.

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <unistd.h>

#include <tl_index.h>
#include <tl_pcapfile.h>
#include <tl_random.h>
#include <tl_test.h>

#define SLAB_BYTES (1u << 20)
#define FIRST_NS 1700000000000000001u

// A slab being filled.
struct slab {
	uint8_t *data;
	uint32_t used_bytes;
	uint32_t records;
};

static struct slab slab_begin(void)
{
	return (struct slab){.data = calloc(1, SLAB_BYTES), .used_bytes = TL_PCAPNG_HEAD_BYTES};
}

static bool slab_add(struct slab *slab, uint64_t ts_ns, const uint8_t *frame, uint32_t len)
{
	struct tl_pcapng_epb epb = {.cap_bytes = len, .wire_bytes = len, .ts_ns = ts_ns};
	uint32_t bytes = tl_pcapng_epb_bytes(len, 0, 0);

	if (bytes > SLAB_BYTES - TL_PCAPNG_ALIGN - slab->used_bytes)
		return false;
	memcpy(tl_pcapng_put_epb(slab->data + slab->used_bytes, &epb), frame, len);
	slab->used_bytes += bytes;
	slab->records++;
	return true;
}

static uint32_t slab_seal(struct slab *slab)
{
	struct tl_pcapng_head head = {
		.run_id = 7, .sequence = 5, .ring = 3, .used_bytes = slab->used_bytes, .records = slab->records};
	uint32_t pad = tl_pcapng_pad_bytes(slab->used_bytes, TL_PCAPNG_ALIGN);

	tl_pcapng_put_head(slab->data, &head);
	if (pad != 0)
		tl_pcapng_put_pad(slab->data + slab->used_bytes, pad);
	return slab->used_bytes + pad;
}

static void put_be16(uint8_t *p, uint32_t value)
{
	p[0] = (uint8_t)(value >> 8);
	p[1] = (uint8_t)value;
}

static void put_be32(uint8_t *p, uint32_t value)
{
	put_be16(p, value >> 16);
	put_be16(p + 2, value & 0xffff);
}

// Build 60 bytes of UDP over IPv4.
static void make_udp(uint8_t *frame, uint32_t src, uint32_t dst, uint32_t src_port, uint32_t dst_port)
{
	memset(frame, 0, 60);
	put_be16(frame + 12, 0x0800);
	frame[14] = 0x45;
	frame[23] = 17;
	put_be32(frame + 26, src);
	put_be32(frame + 30, dst);
	put_be16(frame + 34, src_port);
	put_be16(frame + 36, dst_port);
}

static struct tl_index_addr v4(uint32_t addr)
{
	return (struct tl_index_addr){.low = 0xffff00000000u | addr};
}

// Fill a slab with packets of this many flows, and query every key of them.
static uint32_t denied(struct tl_index_builder *builder, uint64_t seed, uint32_t flows, struct tl_index_row *row)
{
	struct slab slab = slab_begin();
	uint64_t state = seed;
	uint32_t(*flow)[4] = calloc(flows, sizeof(*flow));
	uint32_t n = 0, wrong = 0;
	uint8_t frame[60];

	for (; n < flows; n++) {
		for (int i = 0; i < 4; i++)
			flow[n][i] = (uint32_t)tl_random_next(&state) >> (i < 2 ? 0 : 16);
		make_udp(frame, flow[n][0], flow[n][1], flow[n][2], flow[n][3]);
		if (!slab_add(&slab, FIRST_NS + n, frame, sizeof(frame)))
			break;
	}
	while (n != 0 && slab_add(&slab, FIRST_NS, frame, sizeof(frame)))
		continue;
	uint32_t sealed = slab_seal(&slab);
	CU_ASSERT_EQUAL(tl_index_build(builder, slab.data, slab.used_bytes, sealed, 4096, row), 0);
	CU_ASSERT_EQUAL(row->records, slab.records);
	for (uint32_t f = 0; f < n; f++)
		for (int i = 0; i < 4; i++) {
			struct tl_index_addr addr = v4(flow[f][i]);
			wrong += i < 2 ? !tl_index_may_have_addr(row, &addr)
				       : !tl_index_may_have_port(row, (uint16_t)flow[f][i]);
		}
	free(flow);
	free(slab.data);
	return wrong;
}

TL_TEST("a row never denies an address or port of its slab")
{
	struct tl_index_builder *builder = tl_index_builder_create();
	struct tl_index_row row;

	for (uint64_t seed = 1; seed <= 20; seed++)
		for (uint32_t flows = 1; flows <= 8192; flows *= 4)
			CU_ASSERT_EQUAL(denied(builder, seed, flows, &row), 0);
	tl_index_builder_destroy(builder);
}

// Flows added to the slab, one after the other.
TL_TEST("flows that differ in one port are all indexed")
{
	struct tl_index_builder *builder = tl_index_builder_create();

	for (int differs = 0; differs < 2; differs++) {
		struct slab slab = slab_begin();
		struct tl_index_row row;
		uint8_t frame[60];
		uint32_t wrong = 0;
		for (uint32_t port = 1000; port < 5000; port++) {
			make_udp(frame, 0x0a000001, 0x0a000002, differs == 0 ? port : 7, differs == 1 ? port : 7);
			CU_ASSERT_TRUE_FATAL(slab_add(&slab, FIRST_NS, frame, sizeof(frame)));
		}
		uint32_t sealed = slab_seal(&slab);
		CU_ASSERT_EQUAL(tl_index_build(builder, slab.data, slab.used_bytes, sealed, 4096, &row), 0);
		for (uint16_t port = 1000; port < 5000; port++)
			wrong += !tl_index_may_have_port(&row, port);
		CU_ASSERT_EQUAL(wrong, 0);
		free(slab.data);
	}
	tl_index_builder_destroy(builder);
}

// Return the false positives per mille among 100 000 addresses and ports that are not in the row.
static uint32_t claimed_per_mille(const struct tl_index_row *row)
{
	uint64_t state = 999;
	uint32_t claimed = 0;

	for (int i = 0; i < 100000; i++) {
		struct tl_index_addr addr = {
			.high = 0x20010db800000000u | (uint32_t)tl_random_next(&state), .low = tl_random_next(&state)};
		claimed += tl_index_may_have_addr(row, &addr);
	}
	return claimed / 100;
}

TL_TEST("the false positive rate of a row is at most 2 % up to its maximum size")
{
	static const struct {
		uint32_t flows, bytes_max, per_mille;
	} table[] = {
		{1, 64, 2}, {10, 64, 21}, {100, 512, 21}, {1000, 8192, 21}, {3600, 16384, 21}, {12000, 16384, 350}};
	struct tl_index_builder *builder = tl_index_builder_create();
	struct tl_index_row row;

	for (size_t i = 0; i < TL_ARRAY_LEN(table); i++) {
		CU_ASSERT_EQUAL(denied(builder, i + 1, table[i].flows, &row), 0);
		uint32_t claimed = claimed_per_mille(&row);
		if (row.bloom_bytes > table[i].bytes_max || claimed > table[i].per_mille)
			printf("# %u flows: %u bytes, %u of 1000\n", table[i].flows, row.bloom_bytes, claimed);
		CU_ASSERT(row.bloom_bytes >= TL_INDEX_BLOOM_MIN && row.bloom_bytes <= table[i].bytes_max);
		CU_ASSERT(claimed <= table[i].per_mille);
	}
	tl_index_builder_destroy(builder);
}

TL_TEST("the time range of a row covers its records in any order")
{
	static const uint64_t times[] = {FIRST_NS + 50, FIRST_NS + 10, FIRST_NS + 90, FIRST_NS + 30};
	struct tl_index_builder *builder = tl_index_builder_create();
	struct slab slab = slab_begin();
	struct tl_index_row row;
	uint8_t frame[60];

	make_udp(frame, 1, 2, 3, 4);
	for (size_t i = 0; i < TL_ARRAY_LEN(times); i++)
		slab_add(&slab, times[i], frame, sizeof(frame));
	uint32_t sealed = slab_seal(&slab);
	CU_ASSERT_EQUAL(tl_index_build(builder, slab.data, slab.used_bytes, sealed, 8192, &row), 0);
	CU_ASSERT_EQUAL(row.first_ns, FIRST_NS + 10);
	CU_ASSERT_EQUAL(row.last_ns, FIRST_NS + 90);
	CU_ASSERT_EQUAL(row.offset_bytes, 8192);
	CU_ASSERT_EQUAL(row.len_bytes, sealed);
	CU_ASSERT_EQUAL(row.sequence, 5);
	CU_ASSERT_EQUAL(row.ring, 3);
	CU_ASSERT_EQUAL(tl_index_blank_row(slab.data, sealed, 8192, &row), 0);
	CU_ASSERT(row.first_ns == 0 && row.last_ns == UINT64_MAX && row.records == 4);
	CU_ASSERT(tl_index_may_have_port(&row, 9999));
	slab.data[TL_PCAPNG_HEAD_BYTES + 4] = 2; // an invalid block length
	CU_ASSERT_EQUAL(tl_index_build(builder, slab.data, slab.used_bytes, sealed, 8192, &row), -EINVAL);
	free(slab.data);
	tl_index_builder_destroy(builder);
}

// ---- keys

static uint32_t from_hex(const char *hex, uint8_t *out)
{
	uint32_t n = 0;

	for (; hex[0] != '\0' && hex[1] != '\0'; hex += hex[2] == ' ' ? 3 : 2)
		out[n++] = (uint8_t)strtoul((char[]){hex[0], hex[1], 0}, NULL, 16);
	return n;
}

#define MACS "020000000001020000000002"
#define ADDRS4 "c0000201c0000202"
#define ADDRS6                                                                                                         \
	"20010db8000000000000000000000001"                                                                             \
	"20010db8000000000000000000000002"

static const struct {
	const char *what, *hex, *src, *dst;
	int src_port, dst_port; // -1: none
} frames[] = {
	{"UDP",
		MACS "0800"
		     "4500002000010000401100"
		     "00" ADDRS4 "0fa01389000c0000",
		"192.0.2.1", "192.0.2.2", 4000, 5001},
	{"TCP, options",
		MACS "0800"
		     "4600002000010000400600"
		     "00" ADDRS4 "01010100"
		     "0fa01389",
		"192.0.2.1", "192.0.2.2", 4000, 5001},
	{"SCTP, tagged",
		MACS "81000007"
		     "0800"
		     "4500002000010000408400"
		     "00" ADDRS4 "0fa01389",
		"192.0.2.1", "192.0.2.2", 4000, 5001},
	{"UDP, two tags",
		MACS "88a80007"
		     "81000008"
		     "0800"
		     "4500002000010000401100"
		     "00" ADDRS4 "0fa01389",
		"192.0.2.1", "192.0.2.2", 4000, 5001},
	{"first fragment",
		MACS "0800"
		     "4500002000012000401100"
		     "00" ADDRS4 "0fa01389",
		"192.0.2.1", "192.0.2.2", 4000, 5001},
	{"later fragment",
		MACS "0800"
		     "4500002000010001401100"
		     "00" ADDRS4 "0fa01389",
		"192.0.2.1", "192.0.2.2", -1, -1},
	{"ICMP",
		MACS "0800"
		     "4500002000010000400100"
		     "00" ADDRS4 "08000000",
		"192.0.2.1", "192.0.2.2", -1, -1},
	{"cut before the ports",
		MACS "0800"
		     "4500002000010000401100"
		     "00" ADDRS4 "0fa0",
		"192.0.2.1", "192.0.2.2", -1, -1},
	{"ARP",
		MACS "0806"
		     "0001080006040001"
		     "020000000001c0000201000000000000c0000202",
		"192.0.2.1", "192.0.2.2", -1, -1},
	{"UDP over IPv6",
		MACS "86dd"
		     "6000000000081140" ADDRS6 "0fa0138900080000",
		"2001:db8::1", "2001:db8::2", 4000, 5001},
	{"IPv6 extensions",
		MACS "86dd"
		     "6000000000180040" ADDRS6 "3c00000000000000"
		     "0600000000000000"
		     "0fa0138900000000",
		"2001:db8::1", "2001:db8::2", 4000, 5001},
	{"IPv6 with an authentication header of 24 bytes",
		MACS "86dd"
		     "6000000000203340" ADDRS6 "110400000000000100000002"
		     "0000000000000000"
		     "00000000"
		     "0fa0138900080000",
		"2001:db8::1", "2001:db8::2", 4000, 5001},
	{"IPv6 first fragment",
		MACS "86dd"
		     "6000000000102c40" ADDRS6 "1100000100000007"
		     "0fa0138900080000",
		"2001:db8::1", "2001:db8::2", 4000, 5001},
	{"IPv6 later fragment",
		MACS "86dd"
		     "6000000000102c40" ADDRS6 "1100000900000007"
		     "0fa0138900080000",
		"2001:db8::1", "2001:db8::2", -1, -1},
};

TL_TEST("keys are found after tags, options and extension headers")
{
	for (size_t i = 0; i < TL_ARRAY_LEN(frames); i++) {
		uint8_t bytes[128];
		uint32_t len = from_hex(frames[i].hex, bytes);
		uint8_t *exact = malloc(len);
		struct tl_index_addr src, dst;
		struct tl_index_keys keys;
		memcpy(exact, bytes, len);
		tl_index_parse_addr(frames[i].src, &src);
		tl_index_parse_addr(frames[i].dst, &dst);
		tl_index_keys(exact, len, &keys);
		bool addrs = keys.has_addrs && tl_index_same_addr(&keys.addr[0], &src) &&
			     tl_index_same_addr(&keys.addr[1], &dst);
		bool ports = frames[i].src_port < 0 ? !keys.has_ports
						    : keys.has_ports && keys.port[0] == frames[i].src_port &&
							      keys.port[1] == frames[i].dst_port;
		if (!addrs || !ports)
			printf("# %s\n", frames[i].what);
		CU_ASSERT(addrs);
		CU_ASSERT(ports);
		free(exact);
	}
}

TL_TEST("addresses are parsed, IPv4 as IPv4-mapped")
{
	struct tl_index_addr a, b;

	CU_ASSERT_EQUAL(tl_index_parse_addr("192.0.2.1", &a), 0);
	CU_ASSERT_EQUAL(tl_index_parse_addr("::ffff:192.0.2.1", &b), 0);
	CU_ASSERT(tl_index_same_addr(&a, &b));
	CU_ASSERT_EQUAL(tl_index_parse_addr("192.0.2", &a), -EINVAL);
	CU_ASSERT_EQUAL(tl_index_parse_addr("192.0.2.1/24", &a), -EINVAL);
	CU_ASSERT_EQUAL(tl_index_parse_addr("", &a), -EINVAL);
}

// ---- sidecars

#define ROWS 5

// Build a sidecar of ROWS rows in a block of its exact size; the caller frees.
static uint8_t *make_sidecar(size_t *out_size)
{
	uint8_t bloom[TL_INDEX_BLOOM_MIN] = {1, 2, 3};
	uint8_t *data = malloc(TL_INDEX_HEADER_BYTES + ROWS * TL_INDEX_ROW_MAX);
	size_t used = TL_INDEX_HEADER_BYTES;

	for (uint32_t i = 0; i < ROWS; i++) {
		struct tl_index_row row = {.offset_bytes = 4096 + i * 8192,
			.len_bytes = 8192,
			.records = i,
			.first_ns = FIRST_NS + i,
			.last_ns = FIRST_NS + i + 1,
			.bloom_bytes = i % 2 == 0 ? sizeof(bloom) : 0,
			.bloom = bloom};
		used += tl_index_put_row(data + used, &row);
	}
	size_t bytes = used - TL_INDEX_HEADER_BYTES;
	tl_index_put_header(data, &(struct tl_index_header){.file_bytes = 1 << 20,
					  .run_id = 7,
					  .rows = ROWS,
					  .rows_bytes = bytes,
					  .rows_checksum = tl_index_checksum(data + TL_INDEX_HEADER_BYTES, bytes)});
	*out_size = used;
	return realloc(data, used);
}

// Return the number of rows before the end or the damage; -1: no sidecar.
static int count_rows(const uint8_t *data, size_t size, int *out_end)
{
	struct tl_index_reader reader;
	struct tl_index_row row;
	int n = 0;

	if (tl_index_open(&reader, data, size) != 0)
		return -1;
	while ((*out_end = tl_index_next(&reader, &row)) == 1) {
		CU_ASSERT_EQUAL(row.records, (uint32_t)n);
		CU_ASSERT_EQUAL(row.offset_bytes, 4096 + (uint64_t)n * 8192);
		n++;
	}
	CU_ASSERT_EQUAL(tl_index_next(&reader, &row), *out_end);
	return n;
}

TL_TEST("a sidecar is read back as written")
{
	size_t size;
	uint8_t *data = make_sidecar(&size);
	struct tl_index_reader reader;
	struct tl_index_row row;
	int end;

	CU_ASSERT_EQUAL(count_rows(data, size, &end), ROWS);
	CU_ASSERT_EQUAL(end, 0);
	CU_ASSERT_EQUAL(tl_index_open(&reader, data, size), 0);
	CU_ASSERT(reader.header.file_bytes == 1 << 20 && reader.header.run_id == 7 && reader.header.rows == ROWS);
	CU_ASSERT_EQUAL(tl_index_next(&reader, &row), 1);
	CU_ASSERT(row.bloom_bytes == TL_INDEX_BLOOM_MIN && row.bloom[2] == 3 && row.last_ns == FIRST_NS + 1);
	free(data);
}

// Whichever row is removed, and whatever count the header has.
TL_TEST("a missing row of a sidecar is detected")
{
	size_t size;
	uint8_t *data = make_sidecar(&size);
	struct tl_index_reader reader, whole;
	struct tl_index_row row;

	CU_ASSERT_EQUAL(tl_index_open(&whole, data, size), 0);
	CU_ASSERT(tl_index_is_complete(&whole));
	for (uint32_t i = 0; i < ROWS; i++) {
		uint8_t *exact = malloc(size);
		size_t from = whole.at;
		CU_ASSERT_EQUAL(tl_index_next(&whole, &row), 1);
		memcpy(exact, data, from);
		memcpy(exact + from, data + whole.at, size - whole.at);
		for (uint32_t rows = ROWS - 1; rows <= ROWS; rows++) {
			struct tl_index_header header = whole.header;
			header.rows = rows;
			tl_index_put_header(exact, &header);
			CU_ASSERT_EQUAL(tl_index_open(&reader, exact, size - (whole.at - from)), 0);
			CU_ASSERT_FALSE(tl_index_is_complete(&reader));
		}
		free(exact);
	}
	free(data);
}

TL_TEST("complete rows of a truncated sidecar are used, and the truncation is reported")
{
	size_t size;
	uint8_t *data = make_sidecar(&size);
	int end, n, before = -1;

	for (size_t cut = 0; cut < size; cut++) {
		uint8_t *exact = malloc(cut + 1);
		memcpy(exact, data, cut);
		n = count_rows(exact, cut, &end);
		CU_ASSERT(n < ROWS && n >= before);
		CU_ASSERT_EQUAL(n < 0, cut < TL_INDEX_HEADER_BYTES);
		CU_ASSERT(n < 0 || end == -EINVAL);
		before = n;
		free(exact);
	}
	free(data);
}

TL_TEST("any flipped bit of a sidecar is detected")
{
	size_t size;
	uint8_t *data = make_sidecar(&size);
	int end;

	for (size_t bit = 0; bit < size * 8; bit++) {
		data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		int n = count_rows(data, size, &end);
		CU_ASSERT(n < ROWS);
		data[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	free(data);
}

// ---- sidecars on disk

// Make a directory, and the path of a recording in it.
static void make_dir(char dir[64], char recording[80])
{
	snprintf(dir, 64, "/tmp/tl_test_index_XXXXXX");
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(dir));
	snprintf(recording, 80, "%s/r.pcapng", dir);
}

static void remove_dir(const char *dir, const char *recording)
{
	char path[96];

	snprintf(path, sizeof(path), "%s" TL_INDEX_SUFFIX, recording);
	unlink(path);
	CU_ASSERT_EQUAL(rmdir(dir), 0);
}

static int write_rows(const char *recording, uint32_t n)
{
	struct tl_index_row row = {.len_bytes = SLAB_BYTES, .first_ns = FIRST_NS, .last_ns = FIRST_NS};
	struct tl_index_rows rows = {0};

	for (uint32_t i = 0; i < n; i++, row.offset_bytes += SLAB_BYTES)
		tl_index_rows_add(&rows, &row);
	int rc = tl_index_rows_write(&rows, recording, row.offset_bytes, 7);
	tl_index_rows_free(&rows);
	return rc;
}

// Write these bytes to the path of the sidecar.
static void put_file(const char *recording, const void *data, size_t bytes)
{
	char path[96];

	snprintf(path, sizeof(path), "%s" TL_INDEX_SUFFIX, recording);
	FILE *file = fopen(path, "we");
	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	fwrite(data, 1, bytes, file);
	fclose(file);
}

TL_TEST("only files with the header of a sidecar are removed or moved")
{
	static const uint8_t zeros[4096];
	char dir[64], recording[80], other[80], text[] = "a list of my own";
	const struct {
		const void *data;
		size_t bytes;
	} foreign[] = {{zeros, 0}, {zeros, sizeof(zeros)}, {text, strlen(text)}};

	make_dir(dir, recording);
	snprintf(other, sizeof(other), "%s/s.pcapng", dir);
	for (size_t i = 0; i < TL_ARRAY_LEN(foreign); i++) {
		put_file(recording, foreign[i].data, foreign[i].bytes);
		CU_ASSERT_FALSE(tl_index_remove(recording));
		tl_index_move(recording, other);
		CU_ASSERT_FALSE(tl_index_remove(recording));
		CU_ASSERT_EQUAL(write_rows(recording, 1), -EEXIST);
	}
	remove_dir(dir, recording);
}

TL_TEST("a sidecar is moved and removed")
{
	char dir[64], recording[80], other[80];

	make_dir(dir, recording);
	snprintf(other, sizeof(other), "%s/s.pcapng", dir);
	CU_ASSERT_EQUAL(write_rows(recording, 2), 0);
	CU_ASSERT_EQUAL(write_rows(recording, 2), -EEXIST);
	tl_index_move(recording, other);
	CU_ASSERT_TRUE(tl_index_remove(recording)); // already absent
	CU_ASSERT_EQUAL(write_rows(other, 2), -EEXIST);
	CU_ASSERT_TRUE(tl_index_remove(other));
	CU_ASSERT_EQUAL(rmdir(dir), 0);
}

// Collect renames in the watched directory.
static uint32_t events_of(int watch)
{
	_Alignas(struct inotify_event) char buf[4096];
	uint32_t mask = 0;
	ssize_t n = read(watch, buf, sizeof(buf));

	for (ssize_t at = 0; at < n;) {
		const struct inotify_event *event = (const struct inotify_event *)(buf + at);
		if (strcmp(event->name, "r.pcapng" TL_INDEX_SUFFIX) == 0)
			mask |= event->mask;
		at += (ssize_t)sizeof(*event) + event->len;
	}
	return mask;
}

TL_TEST("a sidecar gets its name only when complete")
{
	char dir[64], recording[80];

	make_dir(dir, recording);
	int nameless = open(dir, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	CU_ASSERT_FATAL(watch >= 0 && inotify_add_watch(watch, dir, IN_CREATE | IN_MODIFY) > 0);
	CU_ASSERT_EQUAL(write_rows(recording, 3), 0);
	uint32_t events = events_of(watch);
	CU_ASSERT_TRUE((events & IN_CREATE) != 0);
	CU_ASSERT_TRUE(nameless < 0 || (events & IN_MODIFY) == 0); // exception: no O_TMPFILE
	close(watch);
	if (nameless >= 0)
		close(nameless);
	remove_dir(dir, recording);
}

TL_TEST("a sidecar that cannot be written leaves no file")
{
	char dir[64], recording[80];
	struct rlimit before, small;

	make_dir(dir, recording);
	getrlimit(RLIMIT_FSIZE, &before);
	small = (struct rlimit){.rlim_cur = 100, .rlim_max = before.rlim_max};
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &small);
	int rc = write_rows(recording, 3);
	setrlimit(RLIMIT_FSIZE, &before);
	CU_ASSERT_EQUAL(rc, -EFBIG);
	CU_ASSERT_EQUAL(rmdir(dir), 0);
}

int main(void)
{
	return tl_test_run("index");
}
