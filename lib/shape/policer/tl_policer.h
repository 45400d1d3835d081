// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// policer: a meter (tl_meter.h), colour-blind or colour-aware, with an action for each colour: pass, drop, or mark the
// frame with a DSCP (RFC 2474) or a priority of its VLAN tag (IEEE 802.1Q).
//
// Threads: one at a time per policer. Memory: the caller's; nothing is allocated.

#include <stdbool.h>
#include <stdint.h>

#include <tl_base.h>
#include <tl_edit.h>
#include <tl_link.h>
#include <tl_meter.h>

struct tl_err;

struct tl_policer_action {
	bool drop;
	int8_t dscp; // 0 to 63; TL_EDIT_KEEP: unchanged
	int8_t pcp;  // 0 to 7, of frames with a tag; TL_EDIT_KEEP: unchanged
};

struct tl_policer_cfg {
	struct tl_meter_cfg meter;
	bool aware; // frames arrive with the colour of their DSCP, else green
	struct tl_policer_action actions[TL_METER_COLOURS];
};

struct tl_policer {
	struct tl_meter meter;
	bool aware;
	struct tl_policer_action actions[TL_METER_COLOURS];
};

// Set up a policer with full buckets. Return as tl_meter_init().
int tl_policer_init(struct tl_policer *policer, const struct tl_policer_cfg *cfg, struct tl_err *err);

// HOT. Colour a message that arrives at now_ns, and take its tokens.
static inline enum tl_meter_colour tl_policer_colour(struct tl_policer *policer, uint64_t now_ns, uint32_t bytes)
{
	return tl_meter_colour(&policer->meter, now_ns, bytes, TL_METER_GREEN);
}

// HOT. The same for an Ethernet frame: len bytes of it, at least TL_ETHER_LEN, with its headers.
static inline enum tl_meter_colour tl_policer_colour_frame(
	struct tl_policer *policer, uint64_t now_ns, uint32_t bytes, const uint8_t *frame, uint32_t len)
{
	int dscp = policer->aware ? tl_link_dscp(TL_LINK_ETHERNET, frame, len) : -1;

	return tl_meter_colour(&policer->meter, now_ns, bytes, tl_meter_colour_of_dscp(dscp));
}

// HOT. Return whether what has this colour is to be dropped.
static inline bool tl_policer_drops(const struct tl_policer *policer, enum tl_meter_colour colour)
{
	return policer->actions[colour].drop;
}

// HOT. Mark a frame of this colour: len bytes, at least TL_ETHER_LEN, with its headers.
static inline void tl_policer_mark(
	const struct tl_policer *policer, enum tl_meter_colour colour, uint8_t *frame, uint32_t len)
{
	tl_edit_mark(frame, len, policer->actions[colour].dscp, policer->actions[colour].pcp);
}
