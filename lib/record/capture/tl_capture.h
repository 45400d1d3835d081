// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// capture: records the frames of a port. On each RX lcore a tap filters, snaps and encodes each frame into a slab (one
// copy from mbuf to disk); one writer thread per recording writes the slabs to the file.
//
// Threads: create, start, stop, destroy, sample on main; the service functions run on the RX lcores.
// Memory:  create/destroy. Frames are borrowed.

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <tl_base.h>
#include <tl_lcore.h>
#include <tl_ledger.h>
#include <tl_pcapfile.h>
#include <tl_police.h>
#include <tl_port.h>
#include <tl_recode.h>
#include <tl_writer.h>

struct tl_err;
struct tl_capture;

// Reason to save the data held for a trigger.
enum tl_trigger {
	TL_TRIGGER_CONTROL, // user, on the control socket
	TL_TRIGGER_SIGNAL,
	TL_TRIGGER_FILTER,	 // matching frame
	TL_TRIGGER_DROP,	 // lost frame
	TL_TRIGGER_ECHO_LATENCY, // long residence time
	TL_TRIGGERS
};

// Save only data around triggers, see struct tl_writer_hold_cfg.
struct tl_capture_trigger_cfg {
	bool on;
	bool in_files; // hold in the files of a ring; else in memory
	uint64_t pre_ns, post_ns;
	uint64_t pre_bytes; // 0: the whole buffer
	const char *filter; // filter for triggering frames, or NULL; borrowed for life
	bool on_drop;	    // trigger on frames dropped without room; other drops are detected by main
};

struct tl_capture_cfg {
	const char *name;   // unique per process, at most 12 characters; for memory zones
	const char *path;   // borrowed for life; "-" is stdout
	const char *filter; // tcpdump syntax, or NULL; borrowed for life
	const bool *marks;  // by mark up to TL_PORT_MARK_MAX: record received frames with these only; NULL: all;
			    // borrowed for life; not with dir[TL_DIR_TX]. The others count as filtered
	uint32_t snaplen;   // bytes, 0 = everything
	bool dir[TL_DIRS];  // recorded directions
	struct tl_writer_policy policy;
	struct tl_capture_trigger_cfg trigger;
	bool index;		    // see struct tl_writer_cfg
	enum tl_digest_kind digest; // the same
	uint64_t buffer_bytes;	    // per RX queue
	enum tl_writer_io io;
	uint64_t order_window_ns; // 0: order of arrival; else merge by timestamp (tl_recode.h)
	enum tl_recode_form form;
	int compress_level;
	uint32_t compress_threads;
	uint64_t count;	       // stop after this many frames; 0 = no limit
	uint32_t cutoff_bytes; // bytes to record of each flow (tl_flow.h); 0 = no limit
	uint32_t cutoff_flows; // flow table entries per RX queue
	bool inner;	       // flows and index refer to innermost packets (tl_encap.h); the filter is used as given
	const struct tl_police_class *classes; // copied; their texts are borrowed for life. Not with count
	uint32_t n_classes;		       // 0: none; see tl_police.h. Each RX queue has meters of its own
	bool reader_may_leave;		       // see tl_writer_cfg
	struct tl_port *port;		       // borrowed for life
	uint32_t skipped;		       // bit i: RX queue i is not recorded, it gets no service; not all of them
	const struct tl_clock *clock;
};

#define TL_CAPTURE_QUEUES_MAX 16

struct tl_capture_queue {
	struct tl_ledger_flow flow[TL_DIRS];
	uint32_t slabs_used; // at the writer or in transit
};

// A class of a recording, sum over all queues.
struct tl_capture_class {
	const char *name;
	bool is_default; // of frames that no other class matches
	struct tl_police_stats stats;
};

// A timestamp source of a recording.
struct tl_capture_stamps {
	enum tl_ts_source source;
	uint32_t unit_ns;      // 0: unknown
	uint64_t bound_max_ns; // largest error against CLOCK_REALTIME so far; UINT64_MAX: unknown
};

#define TL_CAPTURE_STEPS 64 // number of time steps kept

// A time step by this much, detected at this time, since 1970.
struct tl_capture_step {
	uint64_t time_ns;
	int64_t offset_ns;
	enum tl_pcapng_clock_id clock;
};

struct tl_capture_stats {
	struct tl_ledger_flow flow[TL_DIRS]; // sum over all queues
	uint32_t n_queues;
	uint32_t slabs; // per recorded queue
	struct tl_capture_queue queues[TL_CAPTURE_QUEUES_MAX];
	uint32_t n_classes;
	struct tl_capture_class classes[TL_POLICE_CLASSES_MAX];
	uint64_t unmatched_pkts; // of no class, if there are classes
	uint64_t written_bytes;
	uint64_t recycled_files, recycled_bytes;
	uint64_t free_bytes;	       // see tl_writer_stats
	uint64_t limit_bytes;	       // see tl_writer_set_limit()
	uint64_t late_pkts;	       // written out of order: struct tl_recode_cfg
	uint64_t flows, flows_evicted; // for a cut-off: struct tl_flow_stats
	const char *state;	       // "recording", "paused"; with triggers also "waiting", "saving"
	uint64_t triggers;	       // triggers seen; those of one reason within about 2 ms count once
	const char *last_trigger;      // reason of the last, or NULL
	char last_trigger_time[32];    // its time, UTC
	uint32_t n_stamps;
	struct tl_capture_stamps stamps[2];
	uint32_t n_steps; // clock steps so far
	struct tl_capture_step step[TL_CAPTURE_STEPS];
};

// Time that one queue's buffer covers at line rate while the disk accepts nothing.
struct tl_capture_coverage {
	uint32_t record_bytes;
	uint64_t bytes_per_s; // into the buffer
	uint64_t ns;
};
struct tl_capture_coverage tl_capture_cover(
	uint64_t buffer_bytes, uint32_t snaplen, uint32_t frame_bytes, uint64_t line_bps);

// Memory of the threads between lcores and writer, in addition to the buffers.
uint64_t tl_capture_recode_bytes(const struct tl_capture_cfg *cfg, uint32_t n_queues);

int tl_capture_create(const struct tl_capture_cfg *cfg, struct tl_capture **out, struct tl_err *err);
int tl_capture_start(struct tl_capture *capture, struct tl_err *err);

// Engine of the filter, see tl_filter_engine(); NULL: no filter.
const char *tl_capture_filter_engine(const struct tl_capture *capture);

// Service for the lcore of this RX queue, after the echo.
void tl_capture_service(struct tl_capture *capture, uint16_t queue, struct tl_service *out);

// Stop recording: frames are counted as expired.
void tl_capture_expire(struct tl_capture *capture);

// Pause: frames are counted and not recorded.
void tl_capture_pause(struct tl_capture *capture, bool paused);

// Least time that a buffer covers, at any rate: slabs are handed over every second.
uint64_t tl_capture_hold_seconds(uint64_t buffer_bytes);

// True for a recording with triggers. Trigger it now; no effect without triggers. Any thread.
bool tl_capture_has_triggers(const struct tl_capture *capture);
void tl_capture_trigger(struct tl_capture *capture, enum tl_trigger reason);
// Slot for the time, mono_ns, of a trigger of this reason. Any thread.
_Atomic(uint64_t) *tl_capture_trigger_slot(struct tl_capture *capture, enum tl_trigger reason);

// Set the drops of the port, for the interface statistics. May be called repeatedly.
void tl_capture_set_port_drops(struct tl_capture *capture, uint64_t pkts);

// Log the clocks behind the stamps: once a second and at the end, after tl_clock_discipline() and tl_port_discipline().
// The log is written with the statistics.
void tl_capture_log_clocks(struct tl_capture *capture);

// Request a new file. Frames in slabs by then, up to a second of them, may go into either.
void tl_capture_rotate(struct tl_capture *capture);

// True if the frame count is reached or the reader of a pipe has gone.
bool tl_capture_finished(const struct tl_capture *capture);

// Write everything out, after the lcores returned. Return 0 or the writer's first error.
int tl_capture_stop(struct tl_capture *capture, struct tl_err *err);
void tl_capture_destroy(struct tl_capture *capture);

// Limit of the writer's bytes per second, and its load: see tl_writer_set_limit().
void tl_capture_set_limit(struct tl_capture *capture, uint64_t bytes_per_s);
void tl_capture_load(const struct tl_capture *capture, struct tl_writer_load *out);

void tl_capture_sample(struct tl_capture *capture, struct tl_capture_stats *out);
// See tl_writer_files().
const char *const *tl_capture_files(struct tl_capture *capture, uint32_t *n);
const char *tl_capture_error(const struct tl_capture *capture);
