// SPDX-License-Identifier: BSD-3-Clause
// A policer or shaper: colours of frames, queue, counters and bins.

#include "meter_setting.h"

#include <errno.h>
#include <stdlib.h>

#include <tl_err.h>

static const struct tl_meter_bin empty = {.tokens_min_bytes = UINT64_MAX};

// ---- delays of a shaper

static void delays_init(struct tl_meter_delays *d)
{
	tl_hist_init(&d->ns);
	tl_hist_init(&d->ms);
	d->sum_ns = 0;
}

static void delays_add(struct tl_meter_delays *d, uint64_t delay_ns)
{
	tl_hist_record(&d->ns, delay_ns);
	tl_hist_record(&d->ms, delay_ns / TL_NS_PER_MS);
	d->sum_ns += (double)delay_ns;
}

// Replace a quantile that is beyond the histogram of ns by the end of its ms.
static void delays_correct(const struct tl_meter_delays *d, unsigned permille, uint64_t *value_ns)
{
	uint64_t ms = tl_hist_permille(&d->ms, permille);

	if (*value_ns > TL_HIST_MAX_NS && ms < d->ns.max_ns / TL_NS_PER_MS)
		*value_ns = (ms + 1) * TL_NS_PER_MS - 1;
}

void tl_meter_delays_summarize(const struct tl_meter_delays *delays, struct tl_hist_summary *out)
{
	tl_hist_summarize(&delays->ns, out);
	if (out->count == 0)
		return;
	delays_correct(delays, 500, &out->p50_ns);
	delays_correct(delays, 900, &out->p90_ns);
	delays_correct(delays, 990, &out->p99_ns);
	delays_correct(delays, 999, &out->p999_ns);
	out->mean_ns = delays->sum_ns / (double)out->count;
}

// ---- set-up

int tl_meter_setting_init(struct tl_meter_setting *setting, struct tl_err *err)
{
	struct tl_meter_setting *s = setting;

	if (s->limit_bytes == 0)
		return tl_fail(err, -EINVAL,
			"limit 0: every frame would be dropped; give the bytes of a frame or more, or none for a queue without limit");
	int rc = s->shape ? tl_shaper_init(&s->shaper, &s->cfg, err) : tl_meter_init(&s->meter, &s->cfg, err);

	if (rc != 0)
		return rc;
	tl_envelope_init(&s->envelope, s->cfg.cir, s->cfg.overhead_bytes);
	s->tokens_min_bytes = s->cfg.cbs;
	s->bin = calloc(TL_METER_BINS, sizeof(*s->bin));
	s->delays = s->shape ? malloc(sizeof(*s->delays)) : NULL;
	if (s->bin == NULL || (s->shape && s->delays == NULL))
		return tl_fail(err, -ENOMEM, "no memory for another setting");
	for (size_t i = 0; i < TL_METER_BINS; i++)
		s->bin[i] = empty;
	if (s->shape)
		delays_init(s->delays);
	return 0;
}

void tl_meter_setting_fini(struct tl_meter_setting *setting)
{
	free(setting->bin);
	free(setting->delays);
	free(setting->queue.frame);
}

// ---- queue of a shaper

static struct tl_meter_queued *queued(const struct tl_meter_queue *q, size_t i)
{
	return &q->frame[(q->first + i) & (q->room - 1)];
}

// Remove the frames that have left.
static void drain(struct tl_meter_queue *q, uint64_t now_ns)
{
	while (q->n != 0 && queued(q, 0)->departure_ns <= now_ns) {
		q->bytes -= queued(q, 0)->bytes;
		q->first++;
		q->n--;
	}
}

static int grow(struct tl_meter_queue *q)
{
	size_t room = q->room != 0 ? 2 * q->room : 256;
	struct tl_meter_queued *frame = calloc(room, sizeof(*frame));

	if (frame == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < q->n; i++)
		frame[i] = *queued(q, i);
	free(q->frame);
	q->frame = frame;
	q->room = room;
	q->first = 0;
	return 0;
}

static int put(struct tl_meter_setting *s, uint64_t departure_ns, uint32_t bytes)
{
	struct tl_meter_queue *q = &s->queue;

	if (q->n == q->room && grow(q) != 0)
		return -ENOMEM;
	q->n++;
	*queued(q, q->n - 1) = (struct tl_meter_queued){departure_ns, bytes};
	q->bytes += bytes;
	s->queue_max_bytes = tl_max_u64(s->queue_max_bytes, q->bytes);
	s->queue_max_pkts = tl_max_u64(s->queue_max_pkts, q->n);
	return 0;
}

// Shape a frame. counted_bytes: with overhead.
static int shape(
	struct tl_meter_setting *s, uint64_t now_ns, uint32_t bytes, uint32_t counted_bytes, uint64_t *departure_ns)
{
	drain(&s->queue, now_ns);
	bool full = s->queue.bytes + counted_bytes > s->limit_bytes;
	*departure_ns = full ? TL_SHAPER_NEVER : tl_shaper_depart(&s->shaper, now_ns, bytes);
	if (*departure_ns == TL_SHAPER_NEVER)
		return TL_METER_RED;
	delays_add(s->delays, *departure_ns - now_ns);
	s->last_departure_ns = *departure_ns;
	if (*departure_ns == now_ns)
		return TL_METER_GREEN;
	return put(s, *departure_ns, counted_bytes) == 0 ? TL_METER_YELLOW : -ENOMEM;
}

// ---- counting

static void count(struct tl_meter_setting *s, struct tl_meter_bin *bin, enum tl_meter_colour colour, uint32_t bytes)
{
	uint64_t tokens_bytes = s->shape ? tl_shaper_tokens(&s->shaper) : tl_meter_committed(&s->meter);

	s->pkts[colour]++;
	s->bytes[colour] += bytes;
	s->tokens_min_bytes = tl_min_u64(s->tokens_min_bytes, tokens_bytes);
	bin->pkts++;
	bin->bytes[colour] += bytes;
	bin->tokens_min_bytes = tl_min_u64(bin->tokens_min_bytes, tokens_bytes);
	bin->queue_max_bytes = tl_max_u64(bin->queue_max_bytes, s->queue.bytes);
}

int tl_meter_setting_offer(struct tl_meter_setting *setting, uint64_t now_ns, uint32_t bytes, size_t bin,
	enum tl_meter_colour *colour, uint64_t *departure_ns)
{
	struct tl_meter_setting *s = setting;
	struct tl_meter_bin *b = &s->bin[bin];
	uint32_t counted_bytes = bytes + s->cfg.overhead_bytes;
	int rc;

	*departure_ns = TL_SHAPER_NEVER;
	rc = s->shape ? shape(s, now_ns, bytes, counted_bytes, departure_ns)
		      : (int)tl_meter_colour(&s->meter, now_ns, bytes, *colour);
	if (rc < 0)
		return rc;
	*colour = (enum tl_meter_colour)rc;
	b->level_max_bytes = tl_max_u64(b->level_max_bytes, tl_envelope_add(&s->envelope, now_ns, bytes));
	if (*departure_ns != TL_SHAPER_NEVER)
		b->delay_max_ns = tl_max_u64(b->delay_max_ns, *departure_ns - now_ns);
	count(s, b, *colour, counted_bytes);
	return 0;
}

static struct tl_meter_bin join(const struct tl_meter_bin *a, const struct tl_meter_bin *b)
{
	struct tl_meter_bin both = {.pkts = a->pkts + b->pkts,
		.tokens_min_bytes = tl_min_u64(a->tokens_min_bytes, b->tokens_min_bytes),
		.level_max_bytes = tl_max_u64(a->level_max_bytes, b->level_max_bytes),
		.queue_max_bytes = tl_max_u64(a->queue_max_bytes, b->queue_max_bytes),
		.delay_max_ns = tl_max_u64(a->delay_max_ns, b->delay_max_ns)};

	for (int i = 0; i < TL_METER_COLOURS; i++)
		both.bytes[i] = a->bytes[i] + b->bytes[i];
	return both;
}

void tl_meter_setting_fold(struct tl_meter_setting *setting)
{
	struct tl_meter_bin *bin = setting->bin;

	for (size_t i = 0; i < TL_METER_BINS / 2; i++)
		bin[i] = join(&bin[2 * i], &bin[2 * i + 1]);
	for (size_t i = TL_METER_BINS / 2; i < TL_METER_BINS; i++)
		bin[i] = empty;
}
