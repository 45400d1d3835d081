// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// A run while it lasts: what its files share.

#include <tl_client_link.h>

#include <sched.h>

#include <tl_client_msg.h>

#define TL_CLIENT_IN_BYTES (256 << 10)

// ---- figures.c

// A distribution, and what tells how well it is known.
struct tl_client_quantity {
	struct tl_hist hist;
	double mean_ns, square_sum; // of the distances from the mean (Welford 1962)
};

void tl_client_quantity_init(struct tl_client_quantity *quantity);
void tl_client_quantity_add(struct tl_client_quantity *quantity, uint64_t value_ns);
struct tl_client_spread tl_client_quantity_spread(const struct tl_client_quantity *quantity);

// The quantiles of times that n messages have; gap NULL: arrivals do not wait for a look. A quantile is late where half
// as many messages as lie beyond it were sent late, or found late, by a quarter of it. In the time of any other
// message both delays together are less than half of it.
void tl_client_levels(const struct tl_hist *times, uint64_t lost, const struct tl_hist *late, const struct tl_hist *gap,
	struct tl_latency_level out[TL_LATENCY_LEVELS]);

// ---- host.c

// What the host did to the run: stolen time, and steps of the clock that stamps are taken from.
struct tl_client_host {
	cpu_set_t cpus;		// the client ran on them
	uint64_t *stolen_ticks; // of each CPU, at the begin
	int64_t offset_ns;	// CLOCK_REALTIME - CLOCK_MONOTONIC, as it was seen last
	uint64_t bound_ns;	// of that
	int64_t step_ns;	// the largest change of it that no bound explains
};

int tl_client_host_begin(struct tl_client_host *host); // 0 or -ENOMEM
void tl_client_host_look(struct tl_client_host *host); // at the clocks; now and then
void tl_client_host_ran_here(struct tl_client_host *host);
uint64_t tl_client_host_end(struct tl_client_host *host); // frees it; ns stolen

// The column "steal" of /proc/stat's lines of CPUs, in ticks, of CPUs below n.
void tl_client_host_parse(FILE *stat, uint64_t *stolen_ticks, size_t n);

// ---- the run

struct tl_client_session {
	const struct tl_client_cfg *cfg;
	const struct tl_client_hooks *hooks;
	struct tl_client_link *link;
	struct tl_client_sources sources; // the link's, which they outlive
	struct tl_client_account account;
	struct tl_client_framer framer;
	struct tl_client_stamps stamps;
	struct tl_client_host host;

	uint8_t *out;	 // message next, ready to go
	size_t out_left; // bytes of it not yet with the transport
	uint64_t next;
	uint8_t *in;

	uint64_t start_ns, first_send_ns, last_send_ns;
	uint64_t sent_ns; // when the last send() returned
	uint64_t end_ns;
	uint64_t look_ns;    // when the link was last seen to have nothing
	uint64_t give_up_ns; // when a sender that lags this far behind stops
	uint64_t tick_ns;    // of the next progress report
	uint64_t poll_ns;    // of the next look at connections
	bool interrupted;

	uint64_t send_errors;
	uint64_t connections_framed;
	uint64_t stream_bytes; // of this connection
	uint64_t part_ns;      // the latest stamp of what has come of an unfinished echo
	uint64_t echoes_read;  // datagrams, and echoes of the connections before this one
	uint64_t first_rtt_ns;
	uint64_t cold_left; // of this connection
	uint64_t cold_count;
	struct tl_client_cold cold[TL_CLIENT_COLD_LISTED];
	uint64_t wire_over_rtt;
	struct tl_client_quantity rtt, wire;
	struct tl_hist last_rtt, last_wire; // of them the last messages of bursts
	struct tl_hist late, gap;
};

static inline uint64_t tl_client_burst(const struct tl_client_cfg *cfg)
{
	return tl_max_u64(cfg->burst, 1);
}

// Tell whether seq is the last message of a burst. False without bursts.
static inline bool tl_client_ends_burst(const struct tl_client_cfg *cfg, uint64_t seq)
{
	return tl_client_burst(cfg) > 1 && (seq + 1) % cfg->burst == 0;
}

// ---- traffic.c

uint64_t tl_client_due_ns(const struct tl_client_session *s, uint64_t seq);
// With a lead, something may come before its time: 0 then.
static inline uint64_t tl_client_since_ns(uint64_t due_ns, uint64_t now)
{
	return now > due_ns ? now - due_ns : 0;
}
bool tl_client_all_sent(const struct tl_client_session *s);
bool tl_client_is_due(const struct tl_client_session *s, uint64_t now);

// Sends the message that is due, or what is left of it, and what is left of its burst. Returns whether the transport
// took something.
bool tl_client_send_due(struct tl_client_session *s, uint64_t now);

// Reads once. Returns whether something happened.
bool tl_client_receive(struct tl_client_session *s);

// The traffic is over: closes its books.
void tl_client_traffic_end(struct tl_client_session *s);

// ---- samples.c

// An intact first echo of message seq.
void tl_client_take_sample(
	struct tl_client_session *s, uint64_t seq, const struct tl_client_arrival *arrival, uint64_t now);

// The next stamps of departures.
void tl_client_take_departures(struct tl_client_session *s);

// Everything that was measured.
void tl_client_fill_result(const struct tl_client_session *s, struct tl_client_result *result);
