// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// A recording of UDP frames, plain or compressed, in a file, and its extraction into another.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tl_err.h>
#include <tl_extract.h>
#include <tl_pcapfile.h>
#include <tl_test.h>
#include <tl_zslab.h>

#define SLABS 20
#define SLAB_BYTES 65536u
#define FIRST_NS 1700000000000000000u
#define STEP_NS UINT64_C(1000003)

static char dir[64], in_path[96], out_path[96], index_path[104];

static inline uint8_t *read_file(const char *path, size_t *out_size)
{
	FILE *file = fopen(path, "rb");
	uint8_t *data = malloc(8 << 20);

	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	*out_size = fread(data, 1, 8 << 20, file);
	fclose(file);
	return data;
}

static inline void write_file(const char *path, const void *data, size_t size)
{
	FILE *file = fopen(path, "wb");

	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	CU_ASSERT_EQUAL(fwrite(data, 1, size, file), size);
	fclose(file);
}

// Build a UDP frame from 192.0.2.1, to port 1000 + number % 50.
static inline uint32_t put_frame(uint8_t *frame, uint32_t number)
{
	static const uint8_t head[] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0, 0, 46, 0, 1, 0, 0, 64, 17, 0,
		0, 192, 0, 2, 1, 192, 0, 2, 2, 0x10, 0};
	uint32_t port = 1000 + number % 50;

	memset(frame, (int)number, 60);
	memcpy(frame, head, sizeof(head));
	frame[36] = (uint8_t)(port >> 8);
	frame[37] = (uint8_t)port;
	return 60;
}

static inline uint32_t pad_to_align(uint8_t *buf, uint32_t used)
{
	uint32_t pad = tl_pcapng_pad_bytes(used, TL_PCAPNG_ALIGN);

	if (pad != 0)
		tl_pcapng_put_pad(buf + used, pad);
	return used + pad;
}

static inline uint32_t make_prologue(uint8_t *buf)
{
	uint32_t used = tl_pcapng_put_shb(buf, 4096, &(struct tl_pcapng_shb){.application = "tapline test"});

	used += tl_pcapng_put_idb(buf + used, 4096 - used, &(struct tl_pcapng_idb){.name = "port0"});
	return pad_to_align(buf, used);
}

static inline uint32_t make_slab(uint8_t *buf, uint32_t sequence, uint32_t *number)
{
	struct tl_pcapng_head head = {.run_id = 7, .sequence = sequence, .used_bytes = TL_PCAPNG_HEAD_BYTES};

	while (head.used_bytes < SLAB_BYTES - 8192) {
		struct tl_pcapng_epb epb = {.cap_bytes = 60,
			.wire_bytes = 60,
			.ts_ns = FIRST_NS + *number * STEP_NS,
			.flags = TL_PCAPNG_INBOUND,
			.dropped = *number % 7};
		put_frame(tl_pcapng_put_epb(buf + head.used_bytes, &epb), (*number)++);
		head.used_bytes += tl_pcapng_epb_bytes(60, epb.flags, epb.dropped);
		head.records++;
	}
	tl_pcapng_put_head(buf, &head);
	return pad_to_align(buf, head.used_bytes);
}

// Build the recording, plain or compressed, in memory; the caller frees. *out_last is the offset of its last slab.
static inline uint8_t *make_recording(bool packed, size_t *out_size, uint32_t *out_records, size_t *out_last)
{
	struct tl_zslab_packer *packer = tl_zslab_packer_create(1);
	uint8_t *data = malloc((SLABS + 2) * tl_zslab_bound(SLAB_BYTES)), *slab = malloc(SLAB_BYTES + 4096);
	uint32_t bound = tl_zslab_bound(SLAB_BYTES), len = make_prologue(slab);
	size_t used = 0;

	*out_records = 0;
	for (uint32_t i = 0; i <= SLABS; i++) {
		int64_t put = len;
		*out_last = used;
		if (!packed)
			memcpy(data + used, slab, len);
		else if (i == 0)
			put = tl_zslab_pack_blocks(packer, slab, len, data + used, bound);
		else
			put = tl_zslab_pack(packer, slab, len, data + used, bound);
		CU_ASSERT_FATAL(put > 0);
		used += (size_t)put;
		if (i < SLABS)
			len = make_slab(slab, i, out_records);
	}
	tl_zslab_packer_destroy(packer);
	free(slab);
	*out_size = used;
	return data;
}

static inline struct tl_extract_stats run(struct tl_extract_cfg cfg, int expected)
{
	const char *path = in_path;
	struct tl_extract_stats stats;
	struct tl_err err = {0};

	cfg.paths = &path;
	cfg.n_paths = 1;
	cfg.out = out_path;
	if (cfg.to_ns == 0)
		cfg.to_ns = UINT64_MAX;
	int rc = tl_extract_run(&cfg, &stats, &err);
	if (rc != expected)
		printf("# %s\n", err.text);
	CU_ASSERT_EQUAL(rc, expected);
	return stats;
}

static inline struct tl_extract_stats reindex(void)
{
	const char *path = in_path;
	struct tl_extract_stats stats;
	struct tl_err err;

	CU_ASSERT_EQUAL(tl_extract_reindex(&(struct tl_extract_cfg){.paths = &path, .n_paths = 1}, &stats, &err), 0);
	return stats;
}

// Make the directory of the files, and run the tests.
static inline int run_tests(const char *suite)
{
	strcpy(dir, "/var/tmp/tl-extract-XXXXXX");
	if (mkdtemp(dir) == NULL)
		return 1;
	snprintf(in_path, sizeof(in_path), "%s/in", dir);
	snprintf(out_path, sizeof(out_path), "%s/out", dir);
	snprintf(index_path, sizeof(index_path), "%s" TL_INDEX_SUFFIX, in_path);
	int status = tl_test_run(suite);
	unlink(in_path);
	unlink(out_path);
	rmdir(dir);
	return status;
}
