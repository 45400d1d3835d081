// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// test_replay: capture files of numbered frames, made in memory and saved in a directory that is removed at the end,
// and whole replays of them.
//
// Threads: main. Memory: static.

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tl_pcapfile.h>
#include <tl_replay.h>
#include <tl_units.h>
#include <tl_wire.h>

#include "tl_test.h"

#define FRAME_BYTES 60

static char dir[] = "/tmp/tapline-test-replay-XXXXXX";
static uint8_t image[4 << 20];
static size_t image_bytes;

static inline void put32(uint32_t value)
{
	memcpy(image + image_bytes, &value, sizeof(value));
	image_bytes += sizeof(value);
}

static inline void begin_pcap(void)
{
	image_bytes = tl_pcap_put_header(image, sizeof(image), 0);
}

// Make a frame with its number after the header.
static inline void fill_frame(uint8_t *frame, uint32_t number, uint32_t bytes)
{
	memset(frame, 0xee, bytes);
	if (bytes >= TL_ETHER_LEN + sizeof(number))
		memcpy(frame + TL_ETHER_LEN, &number, sizeof(number));
}

static inline void add_pcap(uint32_t number, uint64_t ts_ns, uint32_t cap_bytes, uint32_t wire_bytes)
{
	put32((uint32_t)(ts_ns / TL_NS_PER_S));
	put32((uint32_t)(ts_ns % TL_NS_PER_S));
	put32(cap_bytes);
	put32(wire_bytes);
	fill_frame(image + image_bytes, number, cap_bytes);
	image_bytes += cap_bytes;
}

static inline void begin_pcapng(uint16_t linktype)
{
	image_bytes = tl_pcapng_put_shb(image, sizeof(image), &(struct tl_pcapng_shb){0});
	uint8_t *idb = image + image_bytes;
	image_bytes += tl_pcapng_put_idb(idb, (uint32_t)(sizeof(image) - image_bytes), &(struct tl_pcapng_idb){0});
	tl_pcapng_set_linktype(idb, linktype);
}

static inline void add_pcapng(uint32_t number, uint64_t ts_ns, uint32_t interface_id)
{
	const struct tl_pcapng_epb epb = {
		.interface_id = interface_id, .cap_bytes = FRAME_BYTES, .wire_bytes = FRAME_BYTES, .ts_ns = ts_ns};

	fill_frame(tl_pcapng_put_epb(image + image_bytes, &epb), number, FRAME_BYTES);
	image_bytes += tl_pcapng_epb_bytes(FRAME_BYTES, 0, 0);
}

static inline void add_padding(uint32_t bytes)
{
	tl_pcapng_put_pad(image + image_bytes, bytes);
	image_bytes += bytes;
}

static inline const char *save_as(const char *name)
{
	static char paths[8][64];
	static unsigned n;
	char *path = paths[n++ % TL_ARRAY_LEN(paths)];

	snprintf(path, sizeof(paths[0]), "%s/%s", dir, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	CU_ASSERT_EQUAL_FATAL(write(fd, image, image_bytes), (ssize_t)image_bytes);
	close(fd);
	return path;
}

static inline uint32_t number_of(const uint8_t *frame)
{
	uint32_t number;

	memcpy(&number, frame + TL_ETHER_LEN, sizeof(number));
	return number;
}

// Return the configuration of a replay at recorded times through one port.
static inline struct tl_replay_cfg recorded_cfg(
	const char *const *paths, size_t n, struct tl_txq *txq, uint32_t frame_limit, struct tl_clock *clock)
{
	return (struct tl_replay_cfg){.paths = paths,
		.n_paths = n,
		.loops = 1,
		.pacing = {.pace = TL_REPLAY_RECORDED, .speed = TL_REPLAY_MILLION, .max_gap_ns = UINT64_MAX},
		.outs = {{.txq = txq, .frame_limit = frame_limit, .held_pkts = 64}},
		.n_outs = 1,
		.clock = clock,
		.ahead_pkts = 64,
		.late_ns = TL_NS_PER_S};
}

// Play all frames, and check the ledger.
static inline void play_to_end(struct tl_replay *replay, struct tl_replay_stats *out)
{
	struct tl_err err;

	CU_ASSERT_EQUAL_FATAL(tl_replay_start(replay, &err), 0);
	CU_ASSERT_TRUE(tl_test_until(tl_replay_is_ready(replay)));
	CU_ASSERT_EQUAL_FATAL(tl_replay_begin(replay, 0, &err), 0);
	CU_ASSERT_EQUAL(tl_replay_send(replay), 0);
	tl_replay_finish(replay);
	tl_replay_sample(replay, out);
	CU_ASSERT_TRUE(tl_replay_ledger_ok(&out->ledger));
}

// Return false if there is no directory.
static inline bool make_dir(void)
{
	return mkdtemp(dir) != NULL;
}

static inline void remove_dir(void)
{
	char command[96];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	(void)!system(command);
}
