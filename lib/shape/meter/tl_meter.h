// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// meter: colours frames by token buckets: the single rate three color marker (srTCM, RFC 2697), the two rate three
// color marker (trTCM, RFC 2698), and the one whose buckets fill independently (RFC 4115).
//
// Buckets are exact: tokens are integers, a fraction of a byte small enough that each rate adds a whole number of them
// per nanosecond. Frames of equal time share the tokens of that time. A time before the last one counts as the last
// one, so that no interval fills a bucket twice. Buckets start full. Why this is not rte_meter:
// docs/decisions/015-tokens-are-exact.md.
//
// Threads: one at a time per meter. Memory: the caller's; nothing is allocated.

#include <stdbool.h>
#include <stdint.h>

#include <tl_base.h>

struct tl_err;

#define TL_METER_RATE_MAX (UINT64_C(1) << 60)
#define TL_METER_BURST_MAX (UINT64_C(1) << 40) // at most; 576,460,752 at a rate that shares no factor with 8 * 10^9
#define TL_METER_FRAME_MAX (UINT64_C(1) << 30) // bytes of a frame, with overhead

enum tl_meter_colour { TL_METER_GREEN, TL_METER_YELLOW, TL_METER_RED, TL_METER_COLOURS };
enum tl_meter_kind { TL_METER_SRTCM, TL_METER_TRTCM, TL_METER_RFC4115 };
enum tl_meter_unit { TL_METER_BYTES, TL_METER_PKTS };

struct tl_meter_cfg {
	enum tl_meter_kind kind;
	enum tl_meter_unit unit; // rates: bit/s or packets/s; bursts: bytes or packets
	uint64_t cir, cbs;	 // committed rate and burst, from 1
	uint64_t ebs;		 // excess burst; srTCM: 0: no frame is yellow; RFC 4115: from 1
	uint64_t eir;		 // RFC 4115: excess rate, from 1
	uint64_t pir, pbs;	 // trTCM: peak rate, not below cir, and its burst, from 1
	uint32_t overhead_bytes; // added to the length of each frame
};

// Buckets of a meter. A token is the largest fraction of a byte, or packet, such that each rate adds a whole number per
// ns.
struct tl_meter_state {
	uint64_t committed; // Tc of each RFC, tokens
	uint64_t excess;    // Te of RFC 2697 and RFC 4115, Tp of RFC 2698, tokens
	uint64_t time_ns;   // time of both
};

struct tl_meter {
	struct tl_meter_state state;
	enum tl_meter_kind kind;
	uint64_t cir, excess_rate;    // tokens per ns; of the second bucket: PIR or EIR; srTCM: 0
	uint64_t byte_cost, pkt_cost; // tokens per byte; per packet, with overhead
	uint64_t committed_max, excess_max;
	uint64_t committed_full_ns, excess_full_ns; // an interval that fills each bucket; of srTCM the first: both
	uint64_t unit_tokens;			    // of a byte or packet
};

// Set up a meter with full buckets. Return 0, or -EINVAL with a message that names the value.
int tl_meter_init(struct tl_meter *meter, const struct tl_meter_cfg *cfg, struct tl_err *err);

// HOT. Colour a frame that arrives at now_ns, of any origin, and take its tokens. bytes: with overhead at most
// TL_METER_FRAME_MAX. colour: that of the frame on arrival (colour-aware mode); TL_METER_GREEN for all frames gives the
// colour-blind mode (section 3 of each RFC).
enum tl_meter_colour tl_meter_colour(
	struct tl_meter *meter, uint64_t now_ns, uint32_t bytes, enum tl_meter_colour colour);

// HOT. The same with other buckets: many states share the rates and sizes of one meter. A state begins as a copy of
// meter->state.
enum tl_meter_colour tl_meter_colour_state(const struct tl_meter *meter, struct tl_meter_state *state, uint64_t now_ns,
	uint32_t bytes, enum tl_meter_colour colour);

// Return the colour of a frame on arrival by its DSCP: the drop precedence of assured forwarding, AFx1 green, AFx2
// yellow, AFx3 red (RFC 2597, section 6); any other, and -1 for none, is green.
static inline enum tl_meter_colour tl_meter_colour_of_dscp(int dscp)
{
	bool assured = dscp >= 10 && dscp <= 38 && (dscp & 1) == 0 && (dscp & 6) != 0;

	return assured ? (enum tl_meter_colour)((dscp >> 1 & 3) - 1) : TL_METER_GREEN;
}

// Return an interval, in ns, after which the buckets are full, whatever they held.
uint64_t tl_meter_full_ns(const struct tl_meter *meter);

// Return the tokens of the committed bucket after the last frame, in whole bytes or packets.
uint64_t tl_meter_committed(const struct tl_meter *meter);

// Tokens for 128-bit arithmetic: 1/8,000,000,000 of a byte each.
typedef unsigned __int128 tl_meter_tokens;

// Shaper: a token bucket with a queue, as tc-tbf(8) without a peak rate. It delays frames and never reorders them.
struct tl_shaper {
	tl_meter_tokens tokens, tokens_max;
	uint64_t time_ns; // departure of the last frame
	uint64_t rate;	  // tokens per ns
	uint32_t overhead_bytes;
};

#define TL_SHAPER_NEVER UINT64_MAX

// Set up a shaper with a full bucket from cir (bit/s), cbs (bytes) and overhead_bytes of cfg. Return as
// tl_meter_init().
int tl_shaper_init(struct tl_shaper *shaper, const struct tl_meter_cfg *cfg, struct tl_err *err);

// Compute the departure of a frame that arrives at now_ns: the first nanosecond, from the previous frame's departure
// on, with tokens for it. TL_SHAPER_NEVER: it is longer than the burst; it takes no tokens.
uint64_t tl_shaper_depart(struct tl_shaper *shaper, uint64_t now_ns, uint32_t bytes);

// Return the tokens left at the last departure, in whole bytes.
uint64_t tl_shaper_tokens(const struct tl_shaper *shaper);

// Envelope: the smallest burst with which every frame so far conforms to a rate.
struct tl_envelope {
	tl_meter_tokens level, peak;
	uint64_t time_ns, rate;
	uint32_t overhead_bytes;
};

// Begin with a rate in bit/s, 1 to TL_METER_RATE_MAX.
void tl_envelope_init(struct tl_envelope *envelope, uint64_t rate_bps, uint32_t overhead_bytes);

// Add a frame. Return the level after it, in bytes, rounded up: bytes received beyond the rate.
uint64_t tl_envelope_add(struct tl_envelope *envelope, uint64_t now_ns, uint32_t bytes);

// Return the largest level: the size of the smallest bucket that colours all frames green.
uint64_t tl_envelope_burst(const struct tl_envelope *envelope);
