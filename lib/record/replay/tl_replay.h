// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// replay: sends the frames of capture files through a port, each when it is due.
//
//   reader thread ── decodes, filters, computes due times, copies into mbufs ──▶ ring ──▶ sending lcore ──▶ tl_txq
//
// The lcore waits for a frame's due time by the TSC, and hands it to the port together with what else is due by then.
// Every record that is read ends in exactly one counter of the ledger.
//
// Threads: everything on main, but tl_replay_send() on the sending lcore, and the reader's own thread.
// Memory:  create/destroy: mbufs and a ring of cfg.ahead_pkts, whatever the files' sizes. Sending allocates nothing.

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tl_base.h>
#include <tl_clock.h>
#include <tl_err.h>
#include <tl_hist.h>
#include <tl_port.h>
#include <tl_replay_schedule.h>

struct tl_filter;
struct tl_replay; // opaque

struct tl_replay_cfg {
	const char *const *paths; // of n_paths files, played one after the other; borrowed until destroy
	size_t n_paths;
	uint64_t loops; // times all files are played, at least 1
	struct tl_replay_pacing pacing;
	const struct tl_filter *filter; // which frames; NULL: all. Borrowed until destroy
	struct tl_txq *txq;		// borrowed until destroy; nobody else sends through it
	struct tl_clock *clock;		// borrowed until destroy; only tl_replay_discipline() disciplines it
	uint32_t frame_limit;		// of the port: tl_port_frame_limit()
	uint32_t ahead_pkts;		// frames decoded ahead: a power of two, at least 64
	uint32_t held_pkts;		// frames that the port may hold: its descriptors
	int socket_id;			// NUMA node of mbufs and ring
	uint64_t late_ns;		// a frame later than this counts as late
};

// Of the records of all files, in each loop anew. read_pkts is the sum of the others.
struct tl_replay_ledger {
	uint64_t read_pkts;		 // records found in the files
	uint64_t sent_pkts;		 // accepted by the port
	uint64_t filtered_pkts;		 // not chosen by the filter
	uint64_t skipped_linktype_pkts;	 // no Ethernet frames
	uint64_t skipped_truncated_pkts; // recorded in part (snaplen)
	uint64_t skipped_short_pkts;	 // shorter than an Ethernet header
	uint64_t skipped_long_pkts;	 // longer than the port's MTU allows
	uint64_t skipped_damaged_pkts;	 // unreadable: the first such record of a file, which ends there
	uint64_t unsent_pkts;		 // read, and the run was stopped
	uint64_t refused_pkts;		 // offered to the port, which did not take them before the run was stopped
};

// The counters in the order above, with their names ("read_pkts").
#define TL_REPLAY_COUNTERS 10
void tl_replay_ledger_rows(const struct tl_replay_ledger *ledger, struct tl_counter rows[TL_REPLAY_COUNTERS]);
bool tl_replay_ledger_ok(const struct tl_replay_ledger *ledger);

#define TL_REPLAY_DAMAGES_MAX 64
struct tl_replay_damage {
	const char *path;
	uint64_t loop;	 // from 0
	uint64_t offset; // in the file, of a compressed recording in what it holds
	char text[512];	 // file, offset and cause
};

struct tl_replay_stats {
	struct tl_replay_ledger ledger;
	uint64_t sent_bytes;	    // without FCS
	uint64_t late_pkts;	    // part of sent_pkts: handed to the driver more than cfg.late_ns after they were due
	uint64_t reader_late_pkts;  // part of sent_pkts: due before they were read
	uint64_t reader_late_times; // the lcore waited for the reader so often
	uint64_t backward_pkts, rebased_files, shortened_gaps; // see tl_replay_schedule.h
	uint64_t loops_read, files_read;		       // files: of all loops
	uint64_t damages;				       // files that ended damaged, of all loops
	uint64_t elapsed_ns;				       // from the anchor until the last frame was handed over
	int64_t drift_ns;	 // the run's time minus CLOCK_MONOTONIC, from the anchor on; valid after finish()
	uint64_t drift_bound_ns; // of drift_ns
	uint64_t clock_steps;	 // of CLOCK_REALTIME, which the run's time did not follow
};

// Opens each file once, to tell a wrong one before anything is sent. Returns 0, or -errno and a sentence.
int tl_replay_check_files(const char *const *paths, size_t n_paths, struct tl_err *err);

// Returns 0, or -errno and a sentence: -ENOMEM.
int tl_replay_create(const struct tl_replay_cfg *cfg, struct tl_replay **out, struct tl_err *err);

// Starts the reader. Returns 0 or -errno and a sentence.
int tl_replay_start(struct tl_replay *replay, struct tl_err *err);

// True once the ring is full or everything was read: the first frame can be sent.
bool tl_replay_is_ready(const struct tl_replay *replay);

// True once there is a frame to send; where a filter chooses few, long before the above.
bool tl_replay_has_frames(const struct tl_replay *replay);

// Sets the anchor: when the first frame is due, since 1970; 0: in a moment. Before tl_replay_send() begins.
void tl_replay_begin(struct tl_replay *replay, uint64_t start_ns);

// Sends until all frames have been sent, or the run is stopped. Returns 0. For rte_eal_remote_launch().
int tl_replay_send(void *replay);

// Disciplines the clock, and the run's time with it, about once a second. A step of CLOCK_REALTIME moves the clock
// only.
void tl_replay_discipline(struct tl_replay *replay);

// Asks reader and lcore to end. Any thread; async-signal-safe.
void tl_replay_stop(struct tl_replay *replay);

// True while frames wait that the port does not take.
bool tl_replay_is_refused(const struct tl_replay *replay);

// After tl_replay_send() has returned, or was not called: joins the reader, counts what was not sent.
void tl_replay_finish(struct tl_replay *replay);

// A snapshot; before finish() the ledger need not add up yet.
void tl_replay_sample(const struct tl_replay *replay, struct tl_replay_stats *out);

// After finish(). How late frames were, from due to the call of the driver that took them; NULL with TL_REPLAY_LINE.
const struct tl_hist *tl_replay_lateness(const struct tl_replay *replay);

// After finish(). The first TL_REPLAY_DAMAGES_MAX; returns how many.
size_t tl_replay_damages(const struct tl_replay *replay, const struct tl_replay_damage **out);

void tl_replay_destroy(struct tl_replay *replay);
