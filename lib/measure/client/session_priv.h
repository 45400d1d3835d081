// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// State of a run, shared by its files.

#include <tl_client_link.h>

#include <sched.h>

#include <tl_client_msg.h>

#define TL_CLIENT_IN_BYTES (256 << 10)

// ---- samples.c: distribution

// Distribution, with the precision of its figures.
struct tl_client_quantity {
	struct tl_hist hist;
	struct tl_hist last;	    // last messages of bursts only
	double mean_ns, square_sum; // of the deviations from the mean (Welford 1962)
};

void tl_client_quantity_init(struct tl_client_quantity *quantity);
void tl_client_quantity_add(struct tl_client_quantity *quantity, uint64_t value_ns, bool ends_burst);
struct tl_client_spread tl_client_quantity_spread(const struct tl_client_quantity *quantity);

// Compute the quantiles of the times of n messages; gap NULL: arrivals do not wait for a poll. A quantile is marked
// late if half as many messages as exceed it were sent late, or found late, by a quarter of it. In the time of any
// other message both delays together are less than half of it.
void tl_client_levels(const struct tl_hist *times, uint64_t lost, const struct tl_hist *late, const struct tl_hist *gap,
	struct tl_latency_level out[TL_LATENCY_LEVELS]);

// ---- host.c

// Host effects on the run: stolen time, and steps of the clock used for stamps.
struct tl_client_host {
	cpu_set_t cpus;		// CPUs that the client ran on
	uint64_t *stolen_ticks; // of each CPU, at the start
	int64_t offset_ns;	// CLOCK_REALTIME - CLOCK_MONOTONIC, last reading
	uint64_t bound_ns;	// of that reading
	int64_t step_ns;	// largest change of it that no bound explains
};

int tl_client_host_begin(struct tl_client_host *host); // 0 or -ENOMEM
void tl_client_host_look(struct tl_client_host *host); // check the clocks; call periodically
void tl_client_host_ran_here(struct tl_client_host *host);
uint64_t tl_client_host_end(struct tl_client_host *host); // free it; returns ns stolen

// Parse the column "steal" of the CPU lines of /proc/stat, in ticks, for CPUs below n.
void tl_client_host_parse(FILE *stat, uint64_t *stolen_ticks, size_t n);

// ---- run

struct tl_client_session {
	const struct tl_client_cfg *cfg;
	const struct tl_client_hooks *hooks;
	struct tl_client_link *link;
	struct tl_client_sources sources; // of the link, with a longer lifetime than the link
	struct tl_client_account account;
	struct tl_client_framer framer;
	struct tl_client_stamps stamps;
	struct tl_client_host host;

	uint8_t *out;	 // message next, ready to send
	size_t out_left; // bytes of it not yet accepted by the transport
	uint64_t next;
	uint8_t *in;

	uint64_t start_ns, first_send_ns, last_send_ns;
	uint64_t sent_ns; // return of the last send()
	uint64_t end_ns;
	uint64_t look_ns;    // last time that the link was polled and empty
	uint64_t give_up_ns; // time when a sender that lags this far stops
	uint64_t tick_ns;    // of the next progress report
	uint64_t poll_ns;    // of the next look at connections
	bool interrupted;

	uint64_t send_errors;
	uint64_t connections_framed;
	uint64_t stream_bytes; // of this connection
	uint64_t part_ns;      // latest stamp of the parts of an unfinished echo
	uint64_t echoes_read;  // datagrams, and echoes of earlier connections
	uint64_t first_rtt_ns;
	uint64_t cold_left; // of this connection
	uint64_t cold_count;
	struct tl_client_cold cold[TL_CLIENT_COLD_LISTED];
	uint64_t wire_over_rtt;
	struct tl_client_quantity rtt, wire;
	struct tl_hist late, gap;
};

static inline uint64_t tl_client_burst(const struct tl_client_cfg *cfg)
{
	return tl_max_u64(cfg->burst, 1);
}

// Check whether seq is the last message of a burst. False without bursts.
static inline bool tl_client_ends_burst(const struct tl_client_cfg *cfg, uint64_t seq)
{
	return tl_client_burst(cfg) > 1 && (seq + 1) % cfg->burst == 0;
}

// ---- traffic.c

uint64_t tl_client_due_ns(const struct tl_client_session *s, uint64_t seq);
// Return the time since a moment; 0 before it, as is possible with a lead.
static inline uint64_t tl_client_since_ns(uint64_t due_ns, uint64_t now)
{
	return now > due_ns ? now - due_ns : 0;
}
bool tl_client_all_sent(const struct tl_client_session *s);
bool tl_client_is_due(const struct tl_client_session *s, uint64_t now);

// Send the due message, or the rest of it, and the rest of its burst. Return whether the transport accepted data.
bool tl_client_send_due(struct tl_client_session *s, uint64_t now);

// Read once. Return whether anything happened.
bool tl_client_receive(struct tl_client_session *s);

// Close the accounting after the traffic.
void tl_client_traffic_end(struct tl_client_session *s);

// ---- samples.c: times of a message

// Record an intact first echo of message seq.
void tl_client_take_sample(
	struct tl_client_session *s, uint64_t seq, const struct tl_client_arrival *arrival, uint64_t now);

// Read the next stamps of departures.
void tl_client_take_departures(struct tl_client_session *s);

// Fill the result with all measurements.
void tl_client_fill_result(const struct tl_client_session *s, struct tl_client_result *result);
