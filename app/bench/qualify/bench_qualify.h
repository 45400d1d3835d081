// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// bench_qualify: can this host hold a configuration? Run it on a source in memory, first without recording, then with
// one component after another as configured, and compare the rates: the component with the largest cost is the
// limit.
//
// A run has four quarters: of its time or, if the cache of the drive is known, of the bytes to write, whichever is
// behind. The first is the warm-up; with a cache the second writes into it, and the last beyond it.
//
// Threads: main. Memory: fixed. The runs are child processes of this program; the recordings go to a private directory
// beside the configured ones, as a ring of bounded size, and are removed.

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

struct tl_err;

#define TL_QUALIFY_SIZES_MAX 8
#define TL_QUALIFY_QUARTERS 4
#define TL_QUALIFY_UNKNOWN (-1)
#define TL_QUALIFY_RING_MIN (UINT64_C(20) << 20) // of a recording
#define TL_QUALIFY_FEEDS 0.5 // of the frames: with fewer kept by the parser nothing is measured behind it
#define TL_QUALIFY_SLOWS 0.8 // slowdown below which the rate of the last quarter is the sustained one

// Stages, each with the components of those before it.
enum tl_qualify_stage {
	TL_QUALIFY_SOURCE, // lcores poll, and record nothing
	TL_QUALIFY_RINGS,  // a stamp and a copy into a slab per frame; slabs are discarded
	TL_QUALIFY_PARSER, // filter, snaplen, cut-off, inner, classes
	TL_QUALIFY_WRITER, // the writer, on a device that discards what it is given
	TL_QUALIFY_DISK,   // the file system and the disk
	TL_QUALIFY_INDEX,  // the index of the files
	TL_QUALIFY_WHOLE,  // digest, compression, order, format
	TL_QUALIFY_STAGES,
};

struct tl_qualify_cfg {
	const char *config;   // path
	double seconds;	      // of each run, 0.1 .. 3600
	uint64_t disk_bytes;  // most that the recordings may occupy together
	uint64_t cache_bytes; // of the drive: stages that write go on until twice of it is written; 0: unknown
	uint32_t sizes[TL_QUALIFY_SIZES_MAX]; // frame bytes without FCS
	uint32_t n_sizes;
	const atomic_bool *stop;
};

struct tl_qualify_row {
	enum tl_qualify_stage stage;
	uint32_t size_bytes;
	bool skipped;	// not measured: the configuration has no component of this stage
	bool unfed;	// or the parser drops most of the frames
	double kept;	// share of the frames that filters, cut-offs and classes leave
	double seconds; // measured; less than asked for if it was interrupted
	double pps;	// frames polled (SOURCE) or handled without loss by the recorder, after the warm-up
	double quarter_pps[TL_QUALIFY_QUARTERS]; // the same; UNKNOWN: interrupted before its end
	double written_bps;			 // bytes per second confirmed by the disk; from DISK on
	uint64_t written_bytes, dropped_pkts;
	uint64_t stall_ns;  // longest time without a confirmed write, from DISK on
	uint64_t buffer_ns; // a stall of this length at this rate fills the buffers; 0: not written
	double slowdown;    // rate of the last quarter of the run over that of the second; UNKNOWN: interrupted
};

// Sums at a time: of ports that are recorded, each as its slowest recording handles them, and of recordings.
struct tl_qualify_sample {
	uint64_t ns;
	uint64_t polled_pkts, handled_pkts;
	uint64_t offered_pkts, kept_pkts, dropped_pkts, written_bytes; // kept: by filters, cut-offs and classes
};

// Derive a sample from the status of an appliance. Pure.
struct tl_qualify_sample tl_qualify_sample_of(const json_t *status, uint64_t now_ns);

// Samples of a run, all 0 before the first.
struct tl_qualify_watch {
	struct tl_qualify_sample at[TL_QUALIFY_QUARTERS + 1], last; // beginning and end of each quarter
	unsigned n;						    // taken of them
	uint64_t moved_ns, stall_ns; // last growth of written_bytes; longest time without
};

// Take a sample. Return true if it ends a quarter, or begins the first. Pure.
bool tl_qualify_take(struct tl_qualify_watch *watch, const struct tl_qualify_cfg *cfg, enum tl_qualify_stage stage,
	const struct tl_qualify_sample *now);

// Fill in the figures of row->stage. Return false if the warm-up was not over. Pure.
bool tl_qualify_fill(struct tl_qualify_row *row, const struct tl_qualify_watch *watch, uint64_t buffer_bytes);

// Verdict of a size: the sustained rate of the last stage, the last stage that lowered the rate, and the one before it.
struct tl_qualify_verdict {
	uint32_t size_bytes;
	double pps, bits_per_s; // on the wire, with preamble, FCS and gap
	int limit, next;	// enum tl_qualify_stage; -1: none costs more than a tenth
	bool noisy;		// a stage was more than a tenth faster than one before it, without a reason
	double kept;		// as in the rows; below TL_QUALIFY_FEEDS: no verdict on the stages behind the parser
};

struct tl_qualify_result {
	struct tl_qualify_row rows[TL_QUALIFY_SIZES_MAX * TL_QUALIFY_STAGES];
	unsigned n_rows;
	struct tl_qualify_verdict verdicts[TL_QUALIFY_SIZES_MAX];
	unsigned n_verdicts;
	uint32_t lcores; // that receive
	bool interrupted;
};

const char *tl_qualify_stage_name(enum tl_qualify_stage stage);

// Return 0; -EINVAL with a message about the configuration; else -errno with a message. Interrupted: 0, with the rows
// so far.
int tl_qualify(const struct tl_qualify_cfg *cfg, struct tl_qualify_result *result, struct tl_err *err);

// Derive the verdict of a size from its rows. The sustained rate is that after the warm-up or, if a run that writes
// slowed down, that of its last quarter. Pure.
struct tl_qualify_verdict tl_qualify_judge(const struct tl_qualify_row rows[], unsigned n);

// Log the keys of a configuration that change what it records, and that no stage has.
void tl_qualify_warn(const json_t *config);

// Return the configuration of a stage (caller owns it), or NULL: out of memory. frames: a pcap file; dirs: of each
// recording's files, NULL: discard them; ring_bytes: bound of each recording.
json_t *tl_qualify_config(const json_t *config, enum tl_qualify_stage stage, const char *frames,
	const char *const dirs[], uint64_t ring_bytes);

int tl_qualify_print(const struct tl_qualify_cfg *cfg, const struct tl_qualify_result *result, FILE *out); // 0 or -EIO

// Return a new object; NULL: out of memory.
json_t *tl_qualify_json(const struct tl_qualify_cfg *cfg, const struct tl_qualify_result *result);
