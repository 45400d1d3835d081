// SPDX-License-Identifier: BSD-3-Clause
// Triggers: producers store the time in the slot of the reason, the writer thread polls the slots.

#include "capture_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include <tl_log.h>

static const char *const names[TL_TRIGGERS] = {
	[TL_TRIGGER_CONTROL] = "control",
	[TL_TRIGGER_SIGNAL] = "signal",
	[TL_TRIGGER_FILTER] = "filter",
	[TL_TRIGGER_DROP] = "drop",
	[TL_TRIGGER_ECHO_LATENCY] = "echo_latency",
};

void tl_capture_trigger(struct tl_capture *c, enum tl_trigger reason)
{
	atomic_store_explicit(&c->trigger.slots[reason], tl_clock_now_ns(c->cfg.clock), memory_order_release);
}

_Atomic(uint64_t) *tl_capture_trigger_slot(struct tl_capture *c, enum tl_trigger reason)
{
	return &c->trigger.slots[reason];
}

uint64_t tl_capture_now_ns(void *capture)
{
	return tl_clock_now_ns(((const struct tl_capture *)capture)->cfg.clock);
}

static void format_time(const struct tl_capture *c, uint64_t mono_ns, char *buf, size_t size)
{
	uint64_t wall_ns = tl_clock_wall_ns(c->cfg.clock, rte_rdtsc()) - (tl_clock_now_ns(c->cfg.clock) - mono_ns);
	time_t seconds = (time_t)(wall_ns / TL_NS_PER_S);
	struct tm utc;

	gmtime_r(&seconds, &utc);
	size_t used = strftime(buf, size, "%Y-%m-%dT%H:%M:%S", &utc);
	snprintf(buf + used, size - used, ".%09" PRIu64 "Z", wall_ns % TL_NS_PER_S);
}

// Log a trigger; set the comment for the file if it begins an episode.
static void note(struct tl_capture *c, enum tl_trigger reason, uint64_t mono_ns, bool saving)
{
	struct tl_capture_trigger *t = &c->trigger;
	const struct tl_capture_trigger_cfg *cfg = &c->cfg.trigger;
	char when[sizeof(t->last_time)];

	format_time(c, mono_ns, when, sizeof(when));
	pthread_mutex_lock(&t->lock);
	t->count++;
	t->last_reason = names[reason];
	memcpy(t->last_time, when, sizeof(when));
	pthread_mutex_unlock(&t->lock);
	if (!saving)
		snprintf(t->comment, sizeof(t->comment),
			"trigger: %s at %s; saved from %" PRIu64 " s before to %" PRIu64 " s after", names[reason],
			when, cfg->pre_ns / TL_NS_PER_S, cfg->post_ns / TL_NS_PER_S);
	// Triggers by frames may come often: log only the first of an episode.
	if (!saving || reason == TL_TRIGGER_CONTROL || reason == TL_TRIGGER_SIGNAL)
		tl_info("%.300s: trigger: %s at %s%s", c->cfg.path, names[reason], when,
			saving ? ", in the file of the last" : "");
}

uint64_t tl_capture_triggered(void *capture, bool saving)
{
	struct tl_capture *c = capture;
	uint64_t latest_ns = 0;

	for (int reason = 0; reason < TL_TRIGGERS; reason++) {
		_Atomic(uint64_t) *slot = &c->trigger.slots[reason];
		if (atomic_load_explicit(slot, memory_order_relaxed) == 0)
			continue;
		uint64_t at_ns = atomic_exchange_explicit(slot, 0, memory_order_acquire);
		// A slow disk causes drops: they must not extend the episode without end.
		if (saving && reason == TL_TRIGGER_DROP)
			continue;
		note(c, (enum tl_trigger)reason, at_ns, saving);
		saving = true;
		latest_ns = tl_max_u64(latest_ns, at_ns);
	}
	atomic_store_explicit(&c->trigger.saving, saving, memory_order_relaxed);
	return latest_ns;
}

bool tl_capture_has_triggers(const struct tl_capture *c)
{
	return c->cfg.trigger.on;
}

static const char *state_of(const struct tl_capture *c)
{
	if (atomic_load_explicit(&c->state, memory_order_relaxed) == TL_CAPTURE_PAUSED)
		return "paused";
	if (!c->cfg.trigger.on)
		return "recording";
	return atomic_load_explicit(&c->trigger.saving, memory_order_relaxed) ? "saving" : "waiting";
}

void tl_capture_sample_triggers(struct tl_capture *c, struct tl_capture_stats *out)
{
	struct tl_capture_trigger *t = &c->trigger;

	out->state = state_of(c);
	pthread_mutex_lock(&t->lock);
	out->triggers = t->count;
	out->last_trigger = t->last_reason;
	memcpy(out->last_trigger_time, t->last_time, sizeof(out->last_trigger_time));
	pthread_mutex_unlock(&t->lock);
}
