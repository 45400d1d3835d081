// SPDX-License-Identifier: BSD-3-Clause
// Fuzz the matcher with frames in any order and at any time. Input: settings of the match, then frames, each a word
// with its properties (trigger or reply, captured length, time since the previous one, link type) and its bytes. The
// counters add up, links refer to given frames only, and each trigger occurs in one link at most.

#include <stdlib.h>
#include <string.h>

#include <tl_match.h>

#define FRAMES_MAX 4096
#define HEAD_BYTES 4
#define STEP_NS 1000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
	uint64_t frames; // number of frames so far
	uint64_t links;
	bool is_trigger[FRAMES_MAX + 1], is_reply[FRAMES_MAX + 1];
};

static void require(int truth)
{
	if (!truth)
		abort();
}

static int take_link(void *ctx, const struct tl_match_link *link)
{
	struct seen *seen = ctx;

	require(link->number == ++seen->links);
	require(link->trigger_frame >= 1 && link->trigger_frame <= seen->frames &&
		seen->is_trigger[link->trigger_frame]);
	require(link->segments >= 1);
	require(link->reply_frame >= 1 && link->reply_frame <= seen->frames && seen->is_reply[link->reply_frame]);
	return 0;
}

// Heap block of exactly the captured length.
static void give(struct tl_match *match, struct seen *seen, bool is_trigger, struct tl_match_frame *frame)
{
	uint8_t *exact = malloc(frame->cap_bytes != 0 ? frame->cap_bytes : 1);

	require(exact != NULL);
	if (frame->cap_bytes != 0)
		memcpy(exact, frame->data, frame->cap_bytes);
	frame->data = exact;
	frame->frame = ++seen->frames;
	seen->is_trigger[frame->frame] = is_trigger;
	seen->is_reply[frame->frame] = !is_trigger;
	require((is_trigger ? tl_match_trigger(match, frame) : tl_match_reply(match, frame)) == 0);
	free(exact);
}

static void give_all(struct tl_match *match, struct seen *seen, const uint8_t *data, size_t size)
{
	uint64_t ts_ns = 1700000000 * TL_NS_PER_S;

	while (size >= HEAD_BYTES && seen->frames < FRAMES_MAX) {
		uint32_t len = (uint32_t)(data[0] | (data[1] & 7) << 8);
		uint32_t missing = data[1] & 8 ? 20 : 0;
		bool is_trigger = data[1] & 16;
		ts_ns += (uint64_t)(data[2] | data[3] << 8) * STEP_NS;
		if (data[1] & 32)
			ts_ns -= 10000 * STEP_NS;
		data += HEAD_BYTES;
		size -= HEAD_BYTES;
		len = len < size ? len : (uint32_t)size;
		struct tl_match_frame frame = {.data = data,
			.cap_bytes = len,
			.wire_bytes = len + missing,
			.ts_ns = data[-3] & 64 ? 0 : ts_ns,
			.link = data[-3] & 128 ? data[-1] % TL_LINKS : TL_LINK_ETHERNET};
		give(match, seen, is_trigger, &frame);
		data += len;
		size -= len;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct seen *seen = calloc(1, sizeof(*seen));
	struct tl_match *match;

	require(seen != NULL);
	if (size >= 2) {
		struct tl_match_cfg cfg = {.method = data[0] % 3,
			.trigger_offset = data[1] & 3,
			.reply_offset = data[1] >> 2 & 3,
			.number_bytes = 1 + (data[1] >> 4 & 7),
			.reply_bytes = data[0] & 128 ? 16 : 0,
			.unique = data[1] & 128,
			.window_ns = (uint64_t)20000 * STEP_NS,
			.linked = take_link,
			.ctx = seen};
		require(tl_match_create(&cfg, &match) == 0);
		give_all(match, seen, data + 2, size - 2);
		require(tl_match_finish(match) == 0);
		const struct tl_match_stats *stats = tl_match_get_stats(match);
		require(stats->matched == seen->links);
		require(stats->triggers == stats->matched + stats->unmatched_triggers);
		require(stats->trigger_frames + stats->reply_frames == seen->frames);
		tl_match_destroy(match);
	}
	free(seen);
	return 0;
}
