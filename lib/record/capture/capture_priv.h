// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// A recording and its taps, one per RX queue.

#include <pthread.h>

#include <tl_capture.h>
#include <tl_err.h>
#include <tl_filter.h>
#include <tl_flow.h>
#include <tl_police.h>
#include <tl_slab.h>

// Written by the RX lcore. Frames offered and in none of the others are in a slab or at the writer.
struct tl_tap_flow {
	uint64_t offered_pkts;
	TL_TAP_PARTS(TL_COUNTER_FIELD)
};

// The same of a recording with classes.
struct tl_tap_policed {
	TL_POLICED_PARTS(TL_COUNTER_FIELD)
	TL_CAPTURE_COUNTERS(TL_COUNTER_FIELD)
};

struct tl_tap {
	struct tl_capture *capture;
	struct tl_slab_ring *ring;
	const struct tl_filter *filter; // NULL: keep everything
	struct tl_flow_table *flows;	// NULL: no cut-off
	const struct tl_filter *trigger_filter;
	uint32_t snaplen; // UINT32_MAX: no limit
	bool dir[TL_DIRS];
	uint32_t interface_id;	   // for frames with a timestamp of the port
	uint32_t tsc_interface_id; // for frames without one, and sent frames
	uint32_t flags[TL_DIRS];   // epb_flags of a record; 0: none, the interface gives the direction
	uint64_t dropped;	   // since the last record
	uint64_t max_age_ns;	   // age limit of a partly filled slab
	struct tl_tap_flow flow[TL_DIRS];
	struct tl_police *police; // NULL: no classes
	struct tl_tap_policed policed[TL_DIRS];
	const bool *marks;				      // NULL: keep everything
	void (*rx_marked)(void *tap, struct tl_burst *burst); // with marks: records the frames that bear them
} TL_CACHE_ALIGNED;

// Changes to the last state are final.
enum tl_capture_state { TL_CAPTURE_RECORDING, TL_CAPTURE_PAUSED, TL_CAPTURE_EXPIRED };

struct tl_capture_trigger {
	_Atomic(uint64_t) slots[TL_TRIGGERS]; // mono_ns of the last trigger per reason; 0: none pending
	struct tl_filter *filter;
	atomic_bool saving;
	char comment[160];    // for the file of an episode; owned by the writer thread
	pthread_mutex_t lock; // written by the writer thread, read by main
	uint64_t count;
	const char *last_reason;
	char last_time[32];
};

// Clock log: main adds records, the writer's threads read them.
struct tl_capture_clocks {
	pthread_mutex_t lock;		    // for all but start_ns
	uint64_t start_ns;		    // since 1970
	struct tl_pcapng_clock_record *log; // circular: record i at i % its size
	uint64_t n, put;		    // records added; records in a file
	uint64_t seen[TL_PCAPNG_CLOCKS];    // number of the last comparison
	bool known[TL_PCAPNG_CLOCKS];	    // present in the log
	uint64_t bound_max_ns[TL_PCAPNG_CLOCKS];
	uint32_t n_steps;				      // time steps so far
	struct tl_pcapng_clock_record step[TL_CAPTURE_STEPS]; // the first of them
};

struct tl_capture {
	struct tl_capture_cfg cfg;
	uint16_t n_queues;
	struct tl_filter *filter;
	struct tl_recode *recode; // NULL: sealed slabs are written as they are
	struct tl_writer *writer;
	struct tl_slab_ring *recoded; // last ring of recode, for the writer
	bool started;
	uint64_t start_ns;   // since 1970
	uint64_t port_drops; // written by main
	atomic_int state;    // enum tl_capture_state; set by main
	struct tl_capture_trigger trigger;
	struct tl_capture_clocks clocks;
	bool limited;
	_Atomic(int64_t) left; // remaining frames, if limited
	struct tl_police_class classes[TL_POLICE_CLASSES_MAX];
	struct tl_slab_ring *rings[TL_CAPTURE_QUEUES_MAX];
	struct tl_tap taps[TL_CAPTURE_QUEUES_MAX];
};

// capture_dp.c
void tl_tap_rx(void *tap, struct tl_burst *burst);
void tl_tap_sent(void *tap, struct tl_burst *burst);
void tl_tap_rx_cutoff(void *tap, struct tl_burst *burst);
void tl_tap_sent_cutoff(void *tap, struct tl_burst *burst);
// Same with a trigger filter, with or without a cut-off.
void tl_tap_rx_watched(void *tap, struct tl_burst *burst);
void tl_tap_sent_watched(void *tap, struct tl_burst *burst);
// Same with classes, with or without a cut-off or a trigger filter.
void tl_tap_rx_policed(void *tap, struct tl_burst *burst);
void tl_tap_sent_policed(void *tap, struct tl_burst *burst);

// capture_mark_dp.c: the same of a recording with marks, before the others.
void tl_tap_rx_with_marks(void *tap, struct tl_burst *burst);

// capture_trigger.c: callbacks of the writer.
uint64_t tl_capture_now_ns(void *capture);
uint64_t tl_capture_triggered(void *capture, bool saving);
void tl_capture_sample_triggers(struct tl_capture *capture, struct tl_capture_stats *out);

// capture_clocks.c
int tl_capture_clocks_init(struct tl_capture_clocks *clocks, uint64_t now_ns);
void tl_capture_clocks_fini(struct tl_capture_clocks *clocks);
// Skip a comparison that is in the log already, or from before the recording.
void tl_capture_clocks_skip(
	struct tl_capture_clocks *clocks, enum tl_pcapng_clock_id id, const struct tl_clock_reading *reading);
void tl_capture_clocks_add(
	struct tl_capture_clocks *clocks, enum tl_pcapng_clock_id id, const struct tl_clock_reading *reading);
// Write the CLOCK block, as much of the log as fits. Return its bytes; 0: nothing to write, or no room.
uint32_t tl_capture_clocks_put(struct tl_capture_clocks *clocks, void *buf, uint32_t size);
void tl_capture_sample_clocks(struct tl_capture *capture, struct tl_capture_stats *out);

// capture_blocks.c: opening and closing blocks of a file.
void tl_capture_number_interfaces(struct tl_capture *capture);
// Timestamp sources of the recording: the port's, and the TSC's if some frames need it. Return their number.
unsigned tl_capture_sources(const struct tl_capture *capture, enum tl_ts_source sources[2]);
uint32_t tl_capture_prologue(void *capture, void *buf, uint32_t size);
uint32_t tl_capture_epilogue(void *capture, void *buf, uint32_t size);
// Compressed opening blocks, and the header of a pcap file.
uint32_t tl_capture_packed_prologue(void *capture, void *buf, uint32_t size);
uint32_t tl_capture_packed_epilogue(void *capture, void *buf, uint32_t size);
uint32_t tl_capture_pcap_prologue(void *capture, void *buf, uint32_t size);
