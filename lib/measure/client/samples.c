// SPDX-License-Identifier: BSD-3-Clause
// Record the times of each message, and summarize them at the end.

#include "session_priv.h"

#include <math.h>
#include <string.h>

// ---- distribution with the precision of its mean and median

#define Z95 1.96 // of the normal distribution: 95 % lie within this many standard deviations

void tl_client_quantity_init(struct tl_client_quantity *quantity)
{
	*quantity = (struct tl_client_quantity){0};
	tl_hist_init(&quantity->hist);
	tl_hist_init(&quantity->last);
}

void tl_client_quantity_add(struct tl_client_quantity *quantity, uint64_t value_ns, bool ends_burst)
{
	tl_hist_record(&quantity->hist, value_ns);
	if (ends_burst)
		tl_hist_record(&quantity->last, value_ns);
	double off = (double)value_ns - quantity->mean_ns;
	quantity->mean_ns += off / (double)quantity->hist.count;
	quantity->square_sum += off * ((double)value_ns - quantity->mean_ns);
}

// Return half the interval of the median. It lies between two order statistics whose ranks follow the binomial
// distribution, for any distribution of the values; as per mille they are rounded outwards.
static uint64_t median_ci95_ns(const struct tl_hist *hist)
{
	double off = Z95 / 2 / sqrt((double)hist->count) * 1000;
	unsigned permille = off >= 499 ? 500 : (unsigned)off + 1;
	uint64_t p50_ns = tl_hist_permille(hist, 500);

	return tl_max_u64(
		p50_ns - tl_hist_permille(hist, 500 - permille), tl_hist_permille(hist, 500 + permille) - p50_ns);
}

struct tl_client_spread tl_client_quantity_spread(const struct tl_client_quantity *quantity)
{
	double n = (double)quantity->hist.count;

	if (n < 2)
		return (struct tl_client_spread){0};
	return (struct tl_client_spread){
		.p50_ns = median_ci95_ns(&quantity->hist),
		.mean_ns = Z95 * sqrt(quantity->square_sum / (n - 1) / n),
	};
}

static uint64_t delayed(const struct tl_hist *late, const struct tl_hist *gap, uint64_t by_ns)
{
	return tl_hist_count_from(late, by_ns) + (gap != NULL ? tl_hist_count_from(gap, by_ns) : 0);
}

void tl_client_levels(const struct tl_hist *times, uint64_t lost, const struct tl_hist *late, const struct tl_hist *gap,
	struct tl_latency_level out[TL_LATENCY_LEVELS])
{
	tl_latency_levels_of(times, lost, NULL, out);
	for (size_t i = 0; i < TL_LATENCY_LEVELS && times->count != 0; i++)
		out[i].late = 2 * delayed(late, gap, tl_max_u64(out[i].ns / 4, 1)) >= tl_max_u64(out[i].beyond, 1);
}

// ---- times of a message

#define CLOCKS_DIFFER_BY 1000 // 1 / relative difference; clocks are slewed by at most half of that

static int64_t real_ns(const struct tl_client_session *s, uint64_t monotonic_ns)
{
	return (int64_t)monotonic_ns + s->host.offset_ns;
}

// Add a sample of the best available time to the report. Out of memory it keeps fewer samples, and shows that itself.
static void report_sample(struct tl_client_session *s, uint64_t seq, uint64_t time_ns, uint64_t latency_ns)
{
	if (s->hooks->report != NULL)
		tl_latency_add(s->hooks->report,
			&(struct tl_latency_sample){.time_ns = time_ns, .latency_ns = latency_ns, .packet_id = seq});
}

static void take_pair(struct tl_client_session *s, const struct tl_client_pair *pair)
{
	uint64_t wire_rtt_ns = pair->rx_ns - pair->tx_ns;
	uint64_t due_ns = (uint64_t)real_ns(s, tl_client_due_ns(s, pair->seq));

	s->wire_over_rtt += wire_rtt_ns > pair->rtt_ns + pair->rtt_ns / CLOCKS_DIFFER_BY + s->sources.arrival_bound_ns +
						  s->sources.realtime_bound_ns;
	if (pair->cold != 0) {
		if (pair->cold <= TL_CLIENT_COLD_LISTED)
			s->cold[pair->cold - 1].wire_rtt_ns = wire_rtt_ns;
		return;
	}
	tl_client_quantity_add(&s->wire, wire_rtt_ns, tl_client_ends_burst(s->cfg, pair->seq));
	report_sample(s, pair->seq, s->sources.realtime ? pair->tx_ns : due_ns, wire_rtt_ns);
}

void tl_client_take_departures(struct tl_client_session *s)
{
	struct tl_client_departure departure;
	struct tl_client_pair pair;

	while (s->link->ops->departed(s->link, tl_client_stamps_waiting(&s->stamps) > 0, &departure))
		if (departure.stamp_ns != 0 &&
			tl_client_stamps_departure(&s->stamps, departure.id, departure.stamp_ns, &pair))
			take_pair(s, &pair);
}

// Return the echo's number among the cold ones, from 1; 0: not cold.
static uint32_t take_cold(struct tl_client_session *s, uint64_t rtt_ns)
{
	if (s->cold_left == 0)
		return 0;
	s->cold_left--;
	s->cold_count++;
	if (s->cold_count <= TL_CLIENT_COLD_LISTED)
		s->cold[s->cold_count - 1] = (struct tl_client_cold){
			.connection = s->link->connections > 0 ? s->link->connections - 1 : 0, .rtt_ns = rtt_ns};
	return (uint32_t)s->cold_count;
}

// Return the polling gap of the echo when it was read: since the last poll that found nothing, or since its own message
// was sent.
static uint64_t gap_ns(const struct tl_client_session *s, uint64_t seq, uint64_t now)
{
	uint64_t since_ns = s->look_ns;

	if (seq + 1 == s->next)
		since_ns = tl_max_u64(since_ns, s->sent_ns);
	return now - tl_min_u64(since_ns, now);
}

void tl_client_take_sample(
	struct tl_client_session *s, uint64_t seq, const struct tl_client_arrival *arrival, uint64_t now)
{
	uint64_t rtt_ns = tl_client_since_ns(tl_client_due_ns(s, seq), now);
	uint32_t cold = take_cold(s, rtt_ns);
	struct tl_client_pair pair;

	if (s->account.received == 1)
		s->first_rtt_ns = rtt_ns;
	if (cold == 0) {
		tl_client_quantity_add(&s->rtt, rtt_ns, tl_client_ends_burst(s->cfg, seq));
		tl_hist_record(&s->gap, gap_ns(s, seq, now));
	}
	if (s->cfg->timestamps == TL_CLIENT_STAMPS_USER) {
		if (cold == 0)
			report_sample(s, seq, (uint64_t)real_ns(s, tl_client_due_ns(s, seq)), rtt_ns);
		return;
	}
	if (tl_client_stamps_arrival(&s->stamps, seq, arrival->stamp_ns, arrival->shared, rtt_ns, cold, &pair))
		take_pair(s, &pair);
}

// Return the rate from the first burst to the last: messages after the first of the last burst take no time of the
// interval.
static double achieved_rate_pps(const struct tl_client_session *s)
{
	uint64_t span_ns = s->last_send_ns - s->first_send_ns, burst = tl_client_burst(s->cfg);
	uint64_t sent = s->account.sent == 0 ? 0 : (s->account.sent - 1) / burst * burst;
	return span_ns == 0 ? 0 : (double)sent * (double)TL_NS_PER_S / (double)span_ns;
}

static void summarize(const struct tl_client_quantity *quantity, const struct tl_client_session *s,
	const struct tl_hist *gap, struct tl_client_times *out)
{
	tl_hist_summarize(&quantity->hist, &out->all);
	tl_hist_summarize(&quantity->last, &out->last);
	tl_client_levels(&quantity->hist, tl_client_account_lost(&s->account), &s->late, gap, out->levels);
	out->spread = tl_client_quantity_spread(quantity);
}

static void fill_times(const struct tl_client_session *s, struct tl_client_result *result)
{
	result->first_rtt_ns = s->first_rtt_ns;
	result->wire_over_rtt = s->wire_over_rtt;
	result->stamps = s->stamps.counts;
	result->cold_count = s->cold_count;
	for (size_t i = 0; i < TL_CLIENT_COLD_LISTED; i++)
		result->cold[i] = s->cold[i];
	bool polled = strcmp(s->sources.arrivals, "tsc") == 0; // else stamps do not depend on polls
	summarize(&s->rtt, s, &s->gap, &result->rtt);
	summarize(&s->wire, s, polled ? &s->gap : NULL, &result->wire_rtt);
	tl_hist_summarize(&s->late, &result->sender_late);
	tl_hist_summarize(&s->gap, &result->poll_gap);
}

// Date each loss in the report with the due time of its message.
static void date_lost(const struct tl_client_session *s)
{
	for (uint64_t seq = 0; seq < s->account.planned; seq++)
		if (tl_client_account_is_lost(&s->account, seq))
			tl_latency_date_lost(s->hooks->report, (uint64_t)real_ns(s, tl_client_due_ns(s, seq)));
}

void tl_client_fill_result(const struct tl_client_session *s, struct tl_client_result *result)
{
	const struct tl_client_account *account = &s->account;

	*result = (struct tl_client_result){
		.mode = s->cfg->mode,
		.timestamps = s->cfg->timestamps,
		.sources = s->sources,
		.planned = account->planned,
		.asked_pps = s->cfg->rate_pps,
		.payload_bytes = s->cfg->payload_bytes,
		.burst = tl_client_burst(s->cfg),
		.sent = account->sent,
		.send_errors = s->send_errors,
		.received = account->received,
		.lost = tl_client_account_lost(account),
		.duplicates = account->duplicates,
		.corrupt = account->corrupt,
		.reordered = account->reordered,
		.max_loss = s->cfg->max_loss,
		.window_ns = s->interrupted ? 0 : s->cfg->linger_ns,
		.reconnects = s->connections_framed > 0 ? s->connections_framed - 1 : 0,
		.rate_pps = achieved_rate_pps(s),
		.elapsed_ns = s->end_ns - s->start_ns,
		.interrupted = s->interrupted,
		.balanced = tl_client_account_balanced(account, s->echoes_read),
	};
	fill_times(s, result);
	if (s->hooks->report != NULL)
		date_lost(s);
}
