// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// capture: records the frames of a port. On each RX lcore a tap filters, snaps and encodes each frame straight into a
// slab (one copy from mbuf to disk); one writer thread per recording takes the slabs to the file.
//
// Threads: create, start, stop, destroy, sample on main; the service functions run on the RX lcores.
// Memory:  create/destroy. Frames are borrowed.

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <tl_base.h>
#include <tl_lcore.h>
#include <tl_pcapfile.h>
#include <tl_port.h>
#include <tl_recode.h>
#include <tl_writer.h>

struct tl_err;
struct tl_capture;

// Why a recording that waits for triggers saves what it holds.
enum tl_trigger {
	TL_TRIGGER_CONTROL, // the user, on the control socket
	TL_TRIGGER_SIGNAL,
	TL_TRIGGER_FILTER,	 // a frame
	TL_TRIGGER_DROP,	 // a frame was lost
	TL_TRIGGER_ECHO_LATENCY, // a message stayed too long
	TL_TRIGGERS
};

// Records only what is around a trigger, see struct tl_writer_hold_cfg.
struct tl_capture_trigger_cfg {
	bool on;
	bool in_files; // of a ring; else in memory
	uint64_t pre_ns, post_ns;
	uint64_t pre_bytes; // 0: what the buffer holds
	const char *filter; // of the frames that are triggers, or NULL; borrowed for life
	bool on_drop;	    // frames for which there was no room are; other drops are main's to see
};

struct tl_capture_cfg {
	const char *name;   // unique per process, at most 12 characters; for memory zones
	const char *path;   // borrowed for life; "-" is stdout
	const char *filter; // tcpdump syntax, or NULL; borrowed for life
	uint32_t snaplen;   // bytes, 0 = everything
	bool dir[TL_DIRS];  // which directions
	struct tl_writer_policy policy;
	struct tl_capture_trigger_cfg trigger;
	bool index;		    // see struct tl_writer_cfg
	enum tl_digest_kind digest; // the same
	uint64_t buffer_bytes;	    // per RX queue
	enum tl_writer_io io;
	uint64_t order_window_ns; // 0: in the order of arrival; else merged by time (tl_recode.h)
	enum tl_recode_form form;
	int compress_level;
	uint32_t compress_threads;
	uint64_t count;	       // stop after so many frames; 0 = no limit
	uint32_t cutoff_bytes; // of each flow (tl_flow.h) record no more; 0 = no limit
	uint32_t cutoff_flows; // entries of each RX queue's table of flows
	bool reader_may_leave; // as in tl_writer_cfg
	struct tl_port *port;  // borrowed for life
	const struct tl_clock *clock;
};

#define TL_CAPTURE_QUEUES_MAX 16

// One direction of one queue, or of all: offered = written + filtered + expired + paused + cut + drop_ring + drop_disk
// once stopped. Before that the difference is what is in the slabs.
struct tl_capture_flow {
	uint64_t offered_pkts, filtered_pkts, expired_pkts, paused_pkts, cut_pkts, drop_ring_pkts, drop_disk_pkts,
		written_pkts;
};

struct tl_capture_queue {
	struct tl_capture_flow flow[TL_DIRS];
	uint32_t slabs_used; // with the writer or on their way to it
};

// A source of a recording's stamps.
struct tl_capture_stamps {
	enum tl_ts_source source;
	uint32_t unit_ns;      // 0: unknown
	uint64_t bound_max_ns; // against CLOCK_REALTIME, the largest so far; UINT64_MAX: unknown
};

#define TL_CAPTURE_STEPS 64 // of which the times are kept

// Time was set by this much, seen at this time, since 1970.
struct tl_capture_step {
	uint64_t time_ns;
	int64_t offset_ns;
	enum tl_pcapng_clock_id clock;
};

struct tl_capture_stats {
	struct tl_capture_flow flow[TL_DIRS]; // of all queues
	uint32_t n_queues;
	uint32_t slabs; // of each queue
	struct tl_capture_queue queues[TL_CAPTURE_QUEUES_MAX];
	uint64_t written_bytes;
	uint64_t recycled_files, recycled_bytes;
	uint64_t free_bytes;	       // as in tl_writer_stats
	uint64_t late_pkts;	       // written out of the order of time: struct tl_recode_cfg
	uint64_t flows, flows_evicted; // of a cut-off: struct tl_flow_stats
	const char *state;	       // "recording", "paused"; where triggers matter also "waiting", "saving"
	uint64_t triggers;	       // seen so far; those of one reason within 2 ms or so are one
	const char *last_trigger;      // the reason of the last, or NULL
	char last_trigger_time[32];    // its time, UTC
	uint32_t n_stamps;
	struct tl_capture_stamps stamps[2];
	uint32_t n_steps; // of clocks, in all
	struct tl_capture_step step[TL_CAPTURE_STEPS];
};

// How long the buffer of one queue lasts when all of the line's frames come to it and the disk takes nothing.
struct tl_capture_coverage {
	uint32_t record_bytes;
	uint64_t bytes_per_s; // into the buffer
	uint64_t ns;
};
struct tl_capture_coverage tl_capture_cover(
	uint64_t buffer_bytes, uint32_t snaplen, uint32_t frame_bytes, uint64_t line_bps);

// What the threads between lcores and writer take beside the buffers, for whoever has to set memory aside.
uint64_t tl_capture_recode_bytes(const struct tl_capture_cfg *cfg, uint32_t n_queues);

int tl_capture_create(const struct tl_capture_cfg *cfg, struct tl_capture **out, struct tl_err *err);
int tl_capture_start(struct tl_capture *capture, struct tl_err *err);

// What runs the filter, see tl_filter_engine(); NULL: there is no filter.
const char *tl_capture_filter_engine(const struct tl_capture *capture);

// The role to put on the lcore of this RX queue, after the echo.
void tl_capture_service(struct tl_capture *capture, uint16_t queue, struct tl_service *out);

// From now on frames are counted as expired, not recorded.
void tl_capture_expire(struct tl_capture *capture);

// While paused, frames are counted and not recorded.
void tl_capture_pause(struct tl_capture *capture, bool paused);

// How long a window a buffer holds at least, however little is recorded: a slab is handed over every second.
uint64_t tl_capture_hold_seconds(uint64_t buffer_bytes);

// Whether it records only what is around triggers. If so, and else it has no effect: a trigger, now. Any thread.
bool tl_capture_has_triggers(const struct tl_capture *capture);
void tl_capture_trigger(struct tl_capture *capture, enum tl_trigger reason);
// Where whoever sees a trigger of this reason leaves its time, mono_ns. Any thread.
_Atomic(uint64_t) *tl_capture_trigger_slot(struct tl_capture *capture, enum tl_trigger reason);

// What the port lost before any tap saw it, for the files' interface statistics. May be called again and again.
void tl_capture_set_port_drops(struct tl_capture *capture, uint64_t pkts);

// Takes down what the clocks behind the stamps were seen to do: once a second and at the end, after
// tl_clock_discipline() and tl_port_discipline(). It goes into the files with their statistics.
void tl_capture_log_clocks(struct tl_capture *capture);

// A new file begins soon. What is in slabs by then, up to a second of frames, may go into either.
void tl_capture_rotate(struct tl_capture *capture);

// Whether the frame count is reached, or the reader of a pipe has gone: nothing more will be recorded.
bool tl_capture_finished(const struct tl_capture *capture);

// After the lcores returned: writes out everything. Returns 0 or the writer's first error.
int tl_capture_stop(struct tl_capture *capture, struct tl_err *err);
void tl_capture_destroy(struct tl_capture *capture);

void tl_capture_sample(struct tl_capture *capture, struct tl_capture_stats *out);
// As tl_writer_files().
const char *const *tl_capture_files(struct tl_capture *capture, uint32_t *n);
const char *tl_capture_error(const struct tl_capture *capture);
