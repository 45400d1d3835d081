// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// replay_priv: declarations shared by the files of this module.
//
//   replay.c    set-up, anchor, ledger, end
//   reader.c    the reader thread: files to frames in the ring
//   fit.c       frames above the MTU
//   merge.c     files merged by time
//   split.c     which of two ports sends a frame
//   playlist.c  files from the words of a call
//   damage.c    list of the files that ended damaged
//   schedule.c  due times
//   pacing.c    speeds and rates as text
//   ahead.c     memory and ring for files read ahead
//   ledger.c    the ledger's rows and identity
//   tempo.c     the run's time: pauses, speeds, positions
//   left.c      time left
//   control.c   pause, speed and seek while the lcore sends
//   nic.c       times of the NICs' clocks for the lcore
//   send_dp.c   the lcore: frames from the ring to the port
//
// Threads: struct replay_reader is owned by the reader, struct replay_sender by the lcore; main reads their counters.

#include <pthread.h>

#include <rte_mbuf.h>
#include <rte_ring.h>

#include <tl_lcore.h>
#include <tl_pcapfile.h>
#include <tl_replay.h>
#include <tl_tx_stamp.h>

#define REPLAY_BATCH 32 // frames per enqueue of the reader

// Private area of an mbuf: a cache line, so that the frame begins with one, too.
struct TL_CACHE_ALIGNED replay_tag {
	uint64_t due_ns; // after the anchor; from the hand-over on in the run's time, underruns included
	uint16_t out;	 // port that sends it
	uint32_t pass;	 // of the reader; each seek begins one
};

static inline uint64_t replay_due(struct rte_mbuf *m)
{
	return ((const struct replay_tag *)rte_mbuf_to_priv(m))->due_ns;
}

static inline void replay_shift(struct rte_mbuf *m, uint64_t ns)
{
	((struct replay_tag *)rte_mbuf_to_priv(m))->due_ns += ns;
}

static inline unsigned replay_out_of(struct rte_mbuf *m)
{
	return ((const struct replay_tag *)rte_mbuf_to_priv(m))->out;
}

static inline uint32_t replay_pass_of(struct rte_mbuf *m)
{
	return ((const struct replay_tag *)rte_mbuf_to_priv(m))->pass;
}

// ---- split.c

struct rte_hash;

struct replay_split {
	struct tl_replay_split rule;
	const struct tl_filter *filter;
	struct rte_hash *hosts; // sides of addresses, of TL_REPLAY_BY_CLIENTS
	uint64_t undecided_pkts, unknown_hosts;
};

// Prepare the rule of cfg. Return 0, or -ENOMEM with a message; call replay_split_fini() in both cases.
int replay_split_init(struct replay_split *split, const struct tl_replay_cfg *cfg, struct tl_err *err);
void replay_split_fini(struct replay_split *split);

// Forget the addresses: each loop decides as the first.
void replay_split_restart(struct replay_split *split);

// Return the side of a frame, the last of reader: 0 or 1.
unsigned replay_side(
	struct replay_split *split, const struct tl_pcap_frame *frame, const struct tl_pcap_reader *reader);

// ---- damage.c

struct replay_damages {
	struct tl_replay_damage *list; // TL_REPLAY_DAMAGES_MAX
	size_t n;
	uint64_t count;
};

void replay_damages_add(
	struct replay_damages *damages, const char *path, uint64_t loop, uint64_t offset, const struct tl_err *err);

// ---- reader.c

struct tl_ahead;

struct replay_reader {
	const struct tl_replay_cfg *cfg;
	struct rte_ring *ring;
	struct rte_mempool *pool;
	const atomic_bool *stop;
	atomic_bool interrupted; // a seek ends this pass
	pthread_t thread;
	bool started;
	struct tl_replay_schedule schedule;
	struct tl_edit edit; // of the current loop
	bool edits;
	enum tl_edit_result edited; // of the current frame, until it is counted
	struct replay_split split;
	unsigned out; // port of the current frame
	// A frame above the MTU, or longer than an mbuf, then a fragment: REPLAY_SCRATCH each; NULL: they are dropped,
	// or there is none.
	uint8_t *scratch;
	struct replay_merge *merge; // NULL: one file after the other
	struct tl_ahead *ahead;	    // NULL: files are read when they are needed
	uint64_t waited_files;
	uint64_t cut_pkts, fragmented_pkts, edit_malformed_pkts, edit_unsummed_pkts;
	struct replay_damages damages;
	struct rte_mbuf *batch[REPLAY_BATCH];
	unsigned n_batch;
	// Allocated ahead: the mbufs to be filled, and the batch behind them, whose cache lines are being fetched.
	struct rte_mbuf *fresh[REPLAY_BATCH], *next[REPLAY_BATCH];
	unsigned n_fresh, n_next;
	uint32_t room_bytes;		// of an mbuf: longer frames are several
	struct tl_replay_ledger ledger; // all but sent and refused
	uint64_t loops_read, files_read;
	// Of this pass; set by main before the thread starts.
	uint32_t pass;
	uint64_t loop, file;	     // file: counts on over the loops
	uint64_t read_bytes;	     // of the files, one after the other
	uint64_t done_bytes;	     // of those read to their ends
	uint64_t last_due_ns;	     // of the last frame
	uint64_t loop_due_ns;	     // that of the first loop, once it is read; 0: none
	uint64_t seek_ns, seek_file; // frames before are not sent
	uint64_t landed_ns;	     // due time of the first frame put into the ring
	// Looked at by other threads while they wait: in a cache line that the reader does not write for each frame.
	TL_CACHE_ALIGNED atomic_bool landed; // a frame was put into the ring
	atomic_bool ready;		     // the ring is full, or everything is read
	atomic_bool read_all;		     // the ring gets no more frames
};

// Put a frame into the ring: the bytes at data, due by its recorded time. Without an mbuf, as the run was stopped, the
// frame counts as unsent. Return false then, and if a seek passes it.
bool replay_put(struct replay_reader *r, uint64_t ts_ns, const uint8_t *data, uint32_t bytes);

bool replay_is_stopped(const struct replay_reader *r);

// Take a record: count it, or put its frame into the ring.
void replay_take(struct replay_reader *r, const struct tl_pcap_frame *frame, const struct tl_pcap_reader *reader);
void replay_note_damage(struct replay_reader *r, const char *path, uint64_t offset, const struct tl_err *err);

// Copy the frame with the edits of the run; return its length.
uint32_t replay_copy(struct replay_reader *r, const struct tl_pcap_frame *frame, uint8_t *out);

// ---- ahead.c

// Prepare to read the files of cfg ahead. Return NULL, with a note in the log, if the kernel does not provide io_uring.
struct tl_ahead *replay_ahead_create(const struct tl_replay_cfg *cfg);

// Fill the counters of reads.
void replay_ahead_sample(const struct replay_reader *r, struct tl_replay_stats *out);

// ---- merge.c

struct replay_merge *replay_merge_create(void); // NULL: no memory; free() it

// Read all files once, merged.
void replay_merge_loop(struct replay_reader *r);

// ---- fit.c

#define REPLAY_SCRATCH (65536 + 64) // the longest frame that is sent, cut or fragmented, with edits

// Longest frame that the port of the current frame sends of this type: with an 802.1Q tag, 4 bytes more.
uint32_t replay_limit(const struct replay_reader *r, uint16_t type);

// Send a frame above the MTU, cut or fragmented. False: it is dropped.
bool replay_fit(struct replay_reader *r, const struct tl_pcap_frame *frame);

// Thread function for pthread_create(); the argument is a struct replay_reader.
void *replay_reader_main(void *reader);

// ---- send_dp.c

// A port. Frames that it refused wait in txq, at most TL_BURST.
struct replay_out {
	struct tl_txq *txq;
	struct tl_hist *lateness;   // NULL: not recorded
	uint64_t due_ns[TL_BURST];  // of the frames in txq
	int at_offset;		    // of a frame's time in an mbuf
	uint64_t at_flag;	    // of an mbuf with a time
	struct tl_clock_swap ticks; // of the NIC, as a function of the run's time
	uint64_t last_ticks;	    // of the last frame with a time
	uint64_t timed;		    // bit i: frame i in txq has a time
	struct tl_service shaper;   // of the class tree; ctx NULL: none
	const atomic_uint *pass;    // that of frames with a due time
	struct tl_tx_stamp *stamp;  // NULL: no frame is marked
	uint16_t marked;	    // place of the marked frame in txq, from 1; 0: none
	uint16_t offered, left;	    // frames of the last send call, those not accepted
	uint64_t offer_tsc;	    // of that call
	uint64_t sent_pkts, late_pkts, timed_pkts;
	uint64_t refused_pkts; // that the port never takes
	atomic_bool refused;   // the port refused a frame at the last attempt
};

struct replay_sender {
	struct rte_ring *ring;
	struct replay_out outs[TL_REPLAY_PORTS];
	unsigned n_outs;
	const atomic_bool *stop, *read_all;
	const struct tl_clock_swap *time; // the run's time after the anchor, as a signed number
	const struct tl_clock *clock;
	uint64_t late_ns, drain_ns;
	atomic_uint_fast64_t late_scale; // lateness per run's time, shifted by TL_CLOCK_SHIFT
	atomic_uint_fast64_t ahead_tsc;	 // hand-over before a frame is due; 0: the lcore waits for due times
	uint64_t wire_tsc;		 // from the hand-over of a frame until it has left
	uint64_t until_tsc;		 // frames handed over have left by then
	atomic_bool held;		 // pause: no frame is due
	atomic_uint pass;		 // the reader's
	atomic_uint pass_seen;		 // frames of earlier passes have been dropped
	bool gated, shifts;
	atomic_uint_fast64_t allowed_pkts; // sum of all permits
	// Frames taken from the ring; next[at..n) are to be sent.
	struct rte_mbuf *next[TL_BURST];
	uint16_t at, n;
	uint64_t taken_pkts;	     // frames given to a port's queue
	struct tl_hist *undisturbed; // lateness of frames that no gap made late, of all ports; NULL: not recorded
	uint64_t reader_late_pkts, reader_late_times, passed_pkts;
	uint64_t shifted_ns;	  // by which due times have moved
	uint64_t gap_tsc;	  // the lcore did not run in longer gaps
	uint64_t interrupted_tsc; // sum of these, while it waited for a due time
	int64_t gap_end_ns;	  // the run's time at the end of the last one
	uint64_t last_ns;	  // hand-over of the last frame, after the anchor, without these
};

// HOT. Send until the ring is empty and gets no more frames, or the run is stopped, and frames with a time have left.
// Class trees are empty then: what they still hold is dropped.
void replay_send(struct replay_sender *sender);

// HOT. Read the due times of frames that leave a class tree; of tl_shape_set_leaving(), with a struct replay_out.
void replay_leaving(void *out, const struct tl_txq *queue);

// ---- tempo.c

// The run's time as a function of the clock's: it stands in pauses, goes faster or slower, and jumps by seeks. It is
// computed from the last change, never from the previous value.
struct replay_tempo {
	uint64_t clock_ns;  // the last change
	int64_t pos_ns;	    // the run's time then, after the anchor
	uint64_t speed, of; // from then on, so much of the run's time per clock time; speed 0: it stands
};

int64_t replay_tempo_at(const struct replay_tempo *tempo, uint64_t clock_ns);

// Return the clock's time of a position; not while the run's time stands.
uint64_t replay_tempo_clock(const struct replay_tempo *tempo, int64_t pos_ns);

// Change the speed at a time of the clock; before the last change, which may be a start to come, from that change on.
void replay_tempo_change(struct replay_tempo *tempo, uint64_t clock_ns, uint64_t speed);

// Return the run's time as a line of the TSC.
struct tl_clock_line replay_tempo_line(const struct replay_tempo *tempo, const struct tl_clock_line *clock);

// ---- replay.c

// Reading of the clock between two readings of CLOCK_MONOTONIC.
struct replay_pair {
	uint64_t clock_ns, mono_ns, half_ns;
};

// Time in which frames were due, by the clock: up to the last change of the run's time.
struct replay_played {
	uint64_t ns;	     // without pauses, seeks and underruns that shift due times
	int64_t pos_ns;	     // the position then
	uint64_t sent_pkts;  // by then
	uint64_t elapsed_ns; // up to the last of these
};

struct tl_replay {
	struct tl_replay_cfg cfg;
	struct rte_mempool *pool;
	struct rte_ring *ring;
	struct replay_reader reader;
	struct replay_sender sender;
	struct tl_hist *lateness;
	struct tl_clock_line clock; // wall time of the clock, without the steps since create()
	int64_t shift_ns;	    // sum of those steps
	uint64_t steps_before, steps_seen;
	bool by_nic; // see tl_replay_stats
	struct replay_tempo tempo;
	struct replay_played played;
	struct tl_clock_swap time; // the run's, by both
	uint64_t speed;		   // without pauses
	bool paused, seeking, landing;
	uint64_t held_since_ns, paused_ns; // by the clock
	uint64_t seeks;
	atomic_bool stop;
	struct replay_pair begin, end;
	uint64_t unsent_pkts, refused_pkts[TL_REPLAY_PORTS]; // counted by main, at the end
};

// Time after the anchor by the due times of the reader, at this time of the clock.
int64_t replay_position(const struct tl_replay *r, uint64_t clock_ns);

// Time of the clock, now.
uint64_t replay_clock_ns(const struct tl_replay *r);

// The same for counters: it stands before begin() and after finish().
uint64_t replay_sample_ns(const struct tl_replay *r);

// Publish the run's time to the lcore.
void replay_publish(struct tl_replay *r);

// Update the time from the clock's line, excluding the clock's last step if there was one.
void replay_follow(struct tl_clock_line *line, const struct tl_clock *clock, bool stepped, int64_t *shift_ns);

// ---- nic.c

// Return the TSC difference of a time.
uint64_t replay_tsc_of(const struct tl_replay *r, uint64_t ns);

// Hand frames over to the NICs ahead, if all ports have one.
void replay_nic_begin(struct tl_replay *r);

// Publish the NICs' ticks to the lcore, for the run's time. If a clock is lost the lcore waits for due times from now
// on.
void replay_nic_publish(struct tl_replay *r);

// ---- control.c

// Begin the run's time at an anchor.
void replay_control_begin(struct tl_replay *r, uint64_t anchor_ns);

// Fill state, speed, position, elapsed and paused time.
void replay_control_sample(const struct tl_replay *r, struct tl_replay_stats *out);

// ---- left.c

// Fill the time left.
void replay_left_sample(const struct tl_replay *r, struct tl_replay_stats *out);
