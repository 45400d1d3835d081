// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// meter_setting: one policer or shaper of `tapline meter`, and what it does to the frames.
//
// Threads: main. Memory: allocated in init, and with the queue of a shaper; freed by fini.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tl_hist.h>
#include <tl_meter.h>

#define TL_METER_BINS 512 // bins of equal width over the time so far; the width doubles when they are used up

// Outcome of the frames that arrived in an interval.
struct tl_meter_bin {
	uint64_t pkts;
	uint64_t bytes[TL_METER_COLOURS];
	uint64_t tokens_min_bytes; // committed tokens after a frame; UINT64_MAX: no frame
	uint64_t level_max_bytes;  // arrived beyond cir
	uint64_t queue_max_bytes, delay_max_ns;
};

// A frame in a shaper's queue.
struct tl_meter_queued {
	uint64_t departure_ns;
	uint32_t bytes;
};

struct tl_meter_queue {
	struct tl_meter_queued *frame; // circular, room is a power of two
	size_t room, first, n;
	uint64_t bytes;
};

// Delays of the frames that a shaper sent.
struct tl_meter_delays {
	struct tl_hist ns, ms; // the same values: the first ends at 137 s (tl_hist.h), the second at 4 years
	double sum_ns;
};

struct tl_meter_setting {
	struct tl_meter_cfg cfg;
	bool shape;
	uint64_t limit_bytes; // of the queue; UINT64_MAX: none

	struct tl_meter meter;
	struct tl_shaper shaper;
	struct tl_meter_queue queue;
	struct tl_envelope envelope; // at cir

	// With --shape: green left at once, yellow waited, red was lost.
	uint64_t pkts[TL_METER_COLOURS], bytes[TL_METER_COLOURS]; // bytes with overhead
	uint64_t tokens_min_bytes, queue_max_bytes, queue_max_pkts;
	uint64_t last_departure_ns;	// 0: none
	struct tl_meter_delays *delays; // of a shaper's frames that were not lost; else NULL
	struct tl_meter_bin *bin;	// TL_METER_BINS
};

// Set up. Of *setting cfg, shape and limit_bytes are read. Return 0; -EINVAL (a value) or -ENOMEM, with a message.
int tl_meter_setting_init(struct tl_meter_setting *setting, struct tl_err *err);
void tl_meter_setting_fini(struct tl_meter_setting *setting);

// Offer a frame that arrives with *colour: colour or shape it, and count it in this bin. now_ns never decreases.
// *departure_ns is that of a shaper's frame, TL_SHAPER_NEVER: lost. Return 0 with *colour, or -ENOMEM.
int tl_meter_setting_offer(struct tl_meter_setting *setting, uint64_t now_ns, uint32_t bytes, size_t bin,
	enum tl_meter_colour *colour, uint64_t *departure_ns);

// Summarize the delays: all zero if no frame was sent.
void tl_meter_delays_summarize(const struct tl_meter_delays *delays, struct tl_hist_summary *out);

// Double the width of the bins.
void tl_meter_setting_fold(struct tl_meter_setting *setting);
