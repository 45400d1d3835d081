// SPDX-License-Identifier: BSD-3-Clause
// Frames one by one, and progress of time: triggers and streams some windows old are settled and freed.

#include "match_priv.h"

#include <errno.h>
#include <stdlib.h>

#define KEEP_WINDOWS 3 // replies are decided within one, and may be out of order by one more
#define TICKS 4	       // per window: checks of the streams

int tl_match_create(const struct tl_match_cfg *cfg, struct tl_match **out)
{
	struct tl_match *match = calloc(1, sizeof(*match));

	if (match == NULL)
		return -ENOMEM;
	match->cfg = *cfg;
	*out = match;
	return 0;
}

void tl_match_destroy(struct tl_match *match)
{
	if (match == NULL)
		return;
	match->cfg.unanswered = NULL; // after finish() there is none left; after an error it must not be called
	match_triggers_retire(match, UINT64_MAX);
	match_streams_free(match);
	match_index_free(&match->index);
	match_text_free(&match->datagram);
	free(match);
}

const struct tl_match_stats *tl_match_get_stats(const struct tl_match *match)
{
	return &match->stats;
}

// Advance time: it is at least this late.
static int go_on(struct tl_match *match, uint64_t now_ns)
{
	uint64_t window_ns = match->cfg.window_ns, keep_ns;

	if (now_ns <= match->now_ns)
		return 0;
	match->now_ns = now_ns;
	if (now_ns < match->tick_ns)
		return 0;
	match->tick_ns = now_ns + window_ns / TICKS + 1;
	int rc = match_streams_settle(match, now_ns);
	if (!__builtin_mul_overflow(window_ns, KEEP_WINDOWS, &keep_ns) && keep_ns < now_ns)
		match_triggers_retire(match, now_ns - keep_ns - 1);
	return rc;
}

// Return the bytes of a payload that must be in the capture.
static uint32_t needed_bytes(const struct tl_match *match, const struct match_payload *payload, uint32_t offset)
{
	if (match->cfg.method == TL_MATCH_POSITION)
		return 0;
	if (match->cfg.method == TL_MATCH_SEQUENCE && !payload->is_tcp)
		return (uint32_t)tl_min_u64(payload->len, (uint64_t)offset + match->cfg.number_bytes);
	return payload->len;
}

static enum match_use read_payload(
	struct tl_match *match, const struct tl_match_frame *frame, uint32_t offset, struct match_payload *out)
{
	enum match_use use = match_read_frame(match, frame, out);

	out->cut = use == MATCH_USED && out->have < out->len;
	return use == MATCH_USED && out->have < needed_bytes(match, out, offset) ? MATCH_CUT : use;
}

int tl_match_trigger(struct tl_match *match, const struct tl_match_frame *frame)
{
	struct tl_match_stats *stats = &match->stats;
	struct match_payload payload;
	int rc = 0;

	stats->trigger_frames++;
	if (frame->ts_ns > match->cfg.window_ns)
		rc = go_on(match, frame->ts_ns - match->cfg.window_ns);
	if (rc != 0)
		return rc;
	if (frame->ts_ns == 0) {
		stats->trigger_unstamped++;
		return 0;
	}
	enum match_use use = read_payload(match, frame, match->cfg.trigger_offset, &payload);
	stats->trigger_ignored += use == MATCH_IGNORED;
	stats->trigger_cut += use == MATCH_CUT;
	if (use != MATCH_USED)
		return 0;
	stats->trigger_empty += payload.len == 0;
	payload.key.is_trigger = true;
	if (payload.is_tcp)
		return match_stream_take(match, &payload);
	return payload.len != 0 ? match_trigger_add(match, &payload) : 0;
}

int tl_match_reply(struct tl_match *match, const struct tl_match_frame *frame)
{
	struct tl_match_stats *stats = &match->stats;
	struct match_payload payload;

	stats->reply_frames++;
	if (frame->ts_ns == 0) {
		stats->unstamped++;
		return 0;
	}
	int rc = go_on(match, frame->ts_ns);
	if (rc != 0)
		return rc;
	enum match_use use = read_payload(match, frame, match->cfg.reply_offset, &payload);
	stats->ignored += use == MATCH_IGNORED;
	stats->cut += use == MATCH_CUT;
	if (use != MATCH_USED)
		return 0;
	return payload.is_tcp ? match_stream_take(match, &payload) : match_datagram(match, &payload);
}

int tl_match_finish(struct tl_match *match)
{
	int rc = match_streams_settle(match, UINT64_MAX);

	match->stats.trigger_bytes = match->begin;
	match->stats.reply_bytes = match->only != NULL ? match->only->expected : 0;
	match_triggers_retire(match, UINT64_MAX);
	return rc;
}
