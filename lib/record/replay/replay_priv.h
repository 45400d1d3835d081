// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// replay_priv: declarations shared by the files of this module.
//
//   replay.c    set-up, anchor, account, end
//   reader.c    the reader thread: files to frames in the ring
//   source.c    one file, record by record
//   damage.c    list of the files that ended damaged
//   schedule.c  due times
//   pacing.c    speeds and rates as text
//   ledger.c    the ledger's rows and identity
//   send_dp.c   the lcore: frames from the ring to the port
//
// Threads: struct replay_reader belongs to the reader, struct replay_sender to the lcore; main reads their counters.

#include <pthread.h>

#include <rte_mbuf.h>
#include <rte_ring.h>

#include <tl_pcapfile.h>
#include <tl_replay.h>

#define REPLAY_BATCH 32 // frames that the reader puts into the ring at once

// In the private area of an mbuf.
struct replay_tag {
	uint64_t due_ns; // after the anchor
};

static inline uint64_t replay_due(struct rte_mbuf *m)
{
	return ((const struct replay_tag *)rte_mbuf_to_priv(m))->due_ns;
}

// ---- source.c

struct tl_extract_feed;

struct replay_source {
	struct tl_extract_feed *feed;
	struct tl_pcap_reader *reader;
	const char *path;
	uint64_t at;	   // offset of the window
	size_t window;	   // bytes asked for
	bool last;	   // the window reaches the end of what can be read
	bool cut;	   // which is not the end of the file
	uint64_t wrong_at; // after an error: its offset
};

// Opens a file and reads its header. Returns 0, or -errno and a sentence.
int replay_source_open(struct replay_source *source, const char *path, struct tl_err *err);
// Next record: 1 with *out, valid until the next call; 0 at the end of the file; or -errno and a sentence.
int replay_source_next(struct replay_source *source, struct tl_pcap_frame *out, struct tl_err *err);
// After an error: goes on with the next record, where the end of the wrong one is known. False: it is not.
bool replay_source_skip(struct replay_source *source);
void replay_source_close(struct replay_source *source);

// ---- damage.c

struct replay_damages {
	struct tl_replay_damage *list; // TL_REPLAY_DAMAGES_MAX
	size_t n;
	uint64_t count;
};

void replay_damages_add(
	struct replay_damages *damages, const char *path, uint64_t loop, uint64_t offset, const struct tl_err *err);

// ---- reader.c

struct replay_reader {
	const struct tl_replay_cfg *cfg;
	struct rte_ring *ring;
	struct rte_mempool *pool;
	const atomic_bool *stop;
	pthread_t thread;
	bool started;
	struct tl_replay_schedule schedule;
	struct replay_damages damages;
	struct rte_mbuf *batch[REPLAY_BATCH];
	unsigned n_batch;
	struct tl_replay_ledger ledger; // all but sent and refused
	uint64_t loops_read, files_read;
	atomic_bool ready;    // the ring is full, or all is read
	atomic_bool read_all; // nothing more comes into the ring
};

// Of pthread_create(): a struct replay_reader.
void *replay_reader_main(void *reader);

// ---- send_dp.c

struct replay_sender {
	struct rte_ring *ring;
	struct tl_txq *txq;
	const atomic_bool *stop, *read_all;
	const struct tl_clock_swap *time; // the run's
	uint64_t anchor_ns;		  // of the run's time
	uint64_t late_ns;
	struct tl_hist *lateness; // NULL: not wanted
	// Taken from the ring, next[at..n) are to be sent.
	struct rte_mbuf *next[TL_BURST];
	uint16_t at, n;
	uint64_t sent_pkts, late_pkts, reader_late_pkts, reader_late_times;
	uint64_t last_ns;    // after the anchor: when the last frame was handed over
	atomic_bool refused; // the port did not take a frame at the last try
};

// HOT. Sends until the ring is empty and nothing more comes, or the run is stopped.
void replay_send(struct replay_sender *sender);

// ---- replay.c

// Has the run's time go on along the clock's line, but for the clock's last step where there was one.
void replay_follow(struct tl_clock_swap *time, const struct tl_clock *clock, bool stepped, int64_t *shift_ns);
