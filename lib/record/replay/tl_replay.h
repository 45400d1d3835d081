// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// replay: sends the frames of capture files through one port or two, each at its due time.
//
//   reader thread ── decodes, filters, computes due times, copies into mbufs ──▶ ring ──▶ sending lcore ──▶ tl_txq
//
// The lcore waits for a frame's due time by the TSC, and hands it to its port together with all other frames of that
// port due by then. With NICs that send at a time (tl_replay_out.nic) it hands over earlier. Each port sends its frames
// in the order of the files. While a port refuses frames, the other sends, until TL_BURST frames wait for the first:
// then both wait. Behind a class tree (tl_replay_out.shape) a frame that is due goes into the tree, and leaves when its
// rates permit; while the port refuses frames, none goes in. Every record read ends in exactly one counter of the
// ledger.
//
// Threads: all functions on main, except tl_replay_send() on the sending lcore; the reader has its own thread.
// Memory:  create/destroy: mbufs and a ring of cfg.ahead_pkts, for any file size. Sending allocates nothing.

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tl_base.h>
#include <tl_clock.h>
#include <tl_edit.h>
#include <tl_err.h>
#include <tl_hist.h>
#include <tl_ledger.h>
#include <tl_port.h>
#include <tl_replay_schedule.h>
#include <tl_replay_split.h>

struct tl_filter;
struct tl_shape;
struct tl_tx_stamp;
struct tl_replay; // opaque

// Action for frames longer than the port sends.
enum tl_replay_mtu {
	TL_REPLAY_MTU_DROP,
	TL_REPLAY_MTU_CUT,	// cut the end, and correct lengths and checksums: tl_fit_cut()
	TL_REPLAY_MTU_FRAGMENT, // fragment IPv4 packets without DF; drop others
};

// Due times after the lcore waited for the reader, with a frame due.
enum tl_replay_underrun {
	TL_REPLAY_KEEP,	 // stay: frames leave at once until none is late
	TL_REPLAY_SHIFT, // move by the time lost: distances stay
};

#define TL_REPLAY_PORTS 2

#define TL_REPLAY_AHEAD_NS TL_NS_PER_MS // from the hand-over of a frame to a NIC to its time, at most

// A NIC that sends each frame at a time of its clock.
struct tl_replay_nic {
	int offset;    // in an mbuf, of its time in ticks
	uint64_t flag; // of an mbuf with a time
	// Set *out to the line from ns since 1970 to ticks, near a time. False: the NIC's clock cannot be used any
	// more.
	bool (*line)(void *ctx, uint64_t near_ns, struct tl_clock_line *out);
	void *ctx;
};

// A port that sends.
struct tl_replay_out {
	struct tl_txq *txq;   // borrowed until destroy; with no other user
	uint32_t frame_limit; // longest frame of the port: tl_port_frame_limit()
	uint32_t held_pkts;   // limit of frames held by the port: its descriptors
	// Frames are handed over up to TL_REPLAY_AHEAD_NS before their due times, and sent at them by the NIC. Borrowed
	// until destroy; NULL, for any port: the lcore waits for due times.
	const struct tl_replay_nic *nic;
	// Class tree in front of txq, with no other user; not with nic. Borrowed until destroy; NULL: none.
	struct tl_shape *shape;
	uint32_t shape_pkts; // frames that it can hold
	// Stamps of the NIC for the times at which frames leave: one frame at a time is marked. Not with shape or
	// TL_REPLAY_LINE. Borrowed until destroy; NULL: none.
	struct tl_tx_stamp *stamp;
};

struct tl_replay_cfg {
	const char *name;	  // of ring and mbufs, unique in the process; borrowed for the call; NULL: "replay"
	const char *const *paths; // n_paths files, played one after the other; borrowed until destroy
	size_t n_paths;
	uint64_t bytes; // of all files; 0: unknown. For an estimate of the time left
	// Merge the frames of all files by time instead; first_ns has the time of each file's first frame, in ascending
	// order. Borrowed until destroy; NULL: do not merge.
	const uint64_t *first_ns;
	uint64_t loops; // number of passes over all files, at least 1
	struct tl_replay_pacing pacing;
	const struct tl_filter *filter; // frames to send; NULL: all. Borrowed until destroy
	const struct tl_edit *edit;	// made in the frames sent, after the filter; NULL: none. Copied by create
	enum tl_replay_mtu mtu_action;
	enum tl_replay_underrun underrun;
	bool gated; // send only as many frames as tl_replay_allow() permits
	struct tl_replay_out outs[TL_REPLAY_PORTS];
	unsigned n_outs;
	const struct tl_replay_split *split;  // the port of a frame; NULL: the first. Copied by create
	const struct tl_filter *split_filter; // with TL_REPLAY_BY_FILTER. Borrowed until destroy
	struct tl_clock *clock; // borrowed until destroy; tl_replay_follow() follows each of its disciplines
	uint32_t ahead_pkts;	// frames decoded ahead: a power of two, at least 64
	int socket_id;		// NUMA node of mbufs and ring
	uint64_t late_ns;	// threshold of late_pkts
	uint64_t drain_ns;	// time limit for frames in class trees after all others
};

#define TL_REPLAY_MERGE_MAX 64 // files open at a time

// Outcomes of the records of all files, counted again in each loop. read_pkts + added_pkts is the sum of the others.
struct tl_replay_ledger {
	uint64_t read_pkts;		 // records found in the files
	uint64_t added_pkts;		 // fragments of a frame beyond its first
	uint64_t sent_pkts;		 // accepted by the port
	uint64_t filtered_pkts;		 // rejected by the filter
	uint64_t skipped_linktype_pkts;	 // not an Ethernet frame
	uint64_t skipped_truncated_pkts; // recorded in part (snaplen)
	uint64_t skipped_short_pkts;	 // shorter than an Ethernet header
	uint64_t skipped_long_pkts;	 // longer than the port's MTU allows, and neither cut nor fragmented
	uint64_t skipped_damaged_pkts;	 // unreadable: the first such record of a file, which ends there
	uint64_t skipped_seek_pkts;	 // passed by a seek
	uint64_t unsent_pkts;		 // read but not offered when the run was stopped
	uint64_t refused_pkts; // offered to the port, which never accepts them, or not before the run was stopped
	TL_CLASS_DROPS(TL_COUNTER_FIELD) // by the class tree
};

// Counters in the order above, with their names ("read_pkts").
#define TL_REPLAY_ONE(name) +1
#define TL_REPLAY_COUNTERS (12 TL_CLASS_DROPS(TL_REPLAY_ONE))
#define TL_REPLAY_WHOLES 2 // the first ones: their sum is that of the others
void tl_replay_ledger_rows(const struct tl_replay_ledger *ledger, struct tl_counter rows[TL_REPLAY_COUNTERS]);
bool tl_replay_ledger_ok(const struct tl_replay_ledger *ledger);

// Return the number of frames dropped by the class tree.
static inline uint64_t tl_replay_dropped(const struct tl_replay_ledger *ledger)
{
#define TL_REPLAY_PLUS(name) +ledger->name
	return 0 TL_CLASS_DROPS(TL_REPLAY_PLUS);
}

enum tl_replay_state { TL_REPLAY_PLAYING, TL_REPLAY_PAUSED, TL_REPLAY_SEEKING };

#define TL_REPLAY_DAMAGES_MAX 64
struct tl_replay_damage {
	const char *path;
	uint64_t loop;	 // from 0
	uint64_t offset; // in the file; for a compressed recording in its uncompressed content
	char text[512];	 // file, offset and cause
};

// Share of a port in the sums of the same name.
struct tl_replay_out_stats {
	uint64_t sent_pkts, sent_bytes, late_pkts, refused_pkts, timed_pkts;
};

struct tl_replay_stats {
	struct tl_replay_ledger ledger;
	uint64_t sent_bytes; // without FCS
	struct tl_replay_out_stats outs[TL_REPLAY_PORTS];
	uint64_t late_pkts;	    // part of sent_pkts: handed to the driver more than cfg.late_ns after due time
	uint64_t timed_pkts;	    // part of sent_pkts: handed over before their due times, with these
	bool by_nic;		    // NICs send frames at their due times; false: the lcore does, maybe since a loss
	uint64_t reader_late_pkts;  // part of sent_pkts: read after their due time
	uint64_t reader_late_times; // number of times the lcore waited for the reader
	uint64_t interrupted_ns;    // waits for due times in which the lcore did not run: gaps above TL_REPLAY_GAP_NS
	uint64_t shifted_ns;	    // by which TL_REPLAY_SHIFT has moved due times, in the run's time
	// Counted when a frame is read, also if it is not sent in the end; not if a seek passes it, or it is too long.
	uint64_t cut_pkts;	      // frames cut to the MTU
	uint64_t fragmented_pkts;     // frames of which each became several
	uint64_t edit_malformed_pkts; // sent with their addresses: see enum tl_edit_result
	uint64_t edit_unsummed_pkts;  // sent with an L4 checksum that could not be updated
	uint64_t undecided_pkts;      // sent by the first port, as the rule of cfg.split decides nothing
	uint64_t unknown_hosts;	      // addresses beyond TL_REPLAY_SPLIT_HOSTS
	uint64_t backward_pkts, rebased_files, shortened_gaps; // see tl_replay_schedule.h
	uint64_t waited_files; // merged late: TL_REPLAY_MERGE_MAX files were open at the time of their first frame
	bool by_uring;	       // files are read by io_uring; false: by pread
	uint64_t read_direct_bytes, read_cached_bytes; // by io_uring, past and through the page cache
	uint64_t read_waits;			       // number of times the reader waited for the disk
	uint64_t loops_read, files_read;	       // files: sum over all loops
	uint64_t damages;			       // files that ended damaged, sum over all loops
	uint64_t elapsed_ns; // from the anchor to the hand-over of the last frame, without paused_ns and shifted_ns
	enum tl_replay_state state;
	bool paused;	      // after a seek, too
	uint64_t speed;	      // of TL_REPLAY_RECORDED, in 10^-6
	uint64_t position_ns; // in time of TL_REPLAY_RECORDED, else of the run; during a seek to a time its target
	uint64_t left_ns;     // until the last frame is due, at the current speed; UINT64_MAX: unknown
	bool left_exact;      // everything, or a whole loop, has been read; false: by the bytes read
	uint64_t paused_ns;   // time in pauses and seeks
	uint64_t seeks;
	int64_t drift_ns;	 // the run's time minus CLOCK_MONOTONIC, from the anchor on; valid after finish()
	uint64_t drift_bound_ns; // error bound of drift_ns
	uint64_t clock_steps;	 // steps of CLOCK_REALTIME, excluded from the run's time
};

// Create a replay. Return 0, or -errno with a message: -ENOMEM.
int tl_replay_create(const struct tl_replay_cfg *cfg, struct tl_replay **out, struct tl_err *err);

// Start the reader. Return 0, or -errno with a message.
int tl_replay_start(struct tl_replay *replay, struct tl_err *err);

// True once the ring is full or everything was read: sending can begin.
bool tl_replay_is_ready(const struct tl_replay *replay);

// True once there is a frame to send; with a selective filter, long before tl_replay_is_ready().
bool tl_replay_has_frames(const struct tl_replay *replay);

// Set the anchor: due time of the first frame, since 1970; 0: shortly. Before tl_replay_send() begins. Return 0, or
// -ETIME with a message: the time is past, and nothing may be sent.
int tl_replay_begin(struct tl_replay *replay, uint64_t start_ns, struct tl_err *err);

// Send until all frames have been sent, or the run is stopped. Return 0. For rte_eal_remote_launch().
int tl_replay_send(void *replay);

// Let the run's time follow the clock: after each tl_clock_discipline(), about once a second, and after that of the
// NICs' clocks. A step of CLOCK_REALTIME affects only the clock.
void tl_replay_follow(struct tl_replay *replay);

// Permit n more frames, with cfg.gated. Any thread.
void tl_replay_allow(struct tl_replay *replay, uint64_t n);

// Pause or resume. The run's time stands in a pause: due times move by it, and nothing becomes late. Frames handed to a
// port that refuses them are offered to it all the same, and those in a class tree leave it. With a NIC every change of
// the run's time, a new speed or a seek too, begins after the frames handed over: TL_REPLAY_AHEAD_NS later.
void tl_replay_pause(struct tl_replay *replay, bool pause);

// Change the speed: the run's time goes faster or slower from now on. Return 0, or -EINVAL with a message: the pacing
// is not TL_REPLAY_RECORDED, or the speed is out of range.
int tl_replay_set_speed(struct tl_replay *replay, uint64_t speed, struct tl_err *err);

// Continue with the frames from this position on, as in tl_replay_stats, or from a file of cfg.paths on, in the first
// loop. The files are read again from the beginning, and the frames before are counted; meanwhile the run's time
// stands, until tl_replay_land(). A position beyond the last frame ends the run. Return 0, or -errno with a message:
// there are no positions with TL_REPLAY_LINE, no files in the order of time (-EINVAL); or no thread (-EAGAIN): the run
// is stopped.
int tl_replay_seek(struct tl_replay *replay, uint64_t position_ns, struct tl_err *err);
int tl_replay_seek_file(struct tl_replay *replay, size_t file, struct tl_err *err);

// End a seek if the reader has arrived. Call regularly. Return true while a seek is under way.
bool tl_replay_land(struct tl_replay *replay);

// Request the end of reader and lcore. Any thread; async-signal-safe.
void tl_replay_stop(struct tl_replay *replay);

// True while the port refuses the frames offered.
bool tl_replay_is_refused(const struct tl_replay *replay, unsigned out);

// Join the reader and count unsent frames. After tl_replay_send() has returned, or if it was not called.
void tl_replay_finish(struct tl_replay *replay);

// Take a snapshot; before finish() the ledger identity need not hold.
void tl_replay_sample(const struct tl_replay *replay, struct tl_replay_stats *out);

// Lateness of frames, from due time to the driver call that accepted them; NULL with TL_REPLAY_LINE. After finish().
const struct tl_hist *tl_replay_lateness(const struct tl_replay *replay);
const struct tl_hist *tl_replay_out_lateness(const struct tl_replay *replay, unsigned out); // of a port

// The same, without the frames that fell due in a gap (interrupted_ns): what the host took from the lcore did not make
// them late. Other threads may copy it at any time.
const struct tl_hist *tl_replay_undisturbed(const struct tl_replay *replay);

// List the first TL_REPLAY_DAMAGES_MAX damaged files; return their number. After finish().
size_t tl_replay_damages(const struct tl_replay *replay, const struct tl_replay_damage **out);

void tl_replay_destroy(struct tl_replay *replay);
