// SPDX-License-Identifier: BSD-3-Clause
// Flow accounting and the cut-off decision.

#include "flow_priv.h"

// Ticks since the last frame; negative if frames are out of order.
static inline int32_t idle_ticks(const struct tl_flow_entry *e, uint32_t tick)
{
	return (int32_t)(tick - e->last_tick);
}

static inline struct tl_flow_entry *find(struct tl_flow_bucket *bucket, uint64_t print)
{
	for (unsigned i = 0; i < TL_FLOW_WAYS; i++)
		if (bucket->entry[i].print == print)
			return &bucket->entry[i];
	return NULL;
}

// Slot for a new flow: a free one, or that of the flow idle longest.
static struct tl_flow_entry *make_room(struct tl_flow_table *t, struct tl_flow_bucket *bucket, uint32_t tick)
{
	struct tl_flow_entry *oldest = NULL;
	int32_t longest = INT32_MIN;

	for (unsigned i = 0; i < TL_FLOW_WAYS; i++) {
		struct tl_flow_entry *e = &bucket->entry[i];
		if (e->print == 0)
			return e;
		if (idle_ticks(e, tick) >= longest) {
			longest = idle_ticks(e, tick);
			oldest = e;
		}
	}
	if (longest <= t->idle_ticks)
		tl_count(&t->stats.flows_evicted, 1);
	return oldest;
}

static void begin(struct tl_flow_table *t, struct tl_flow_entry *e, uint64_t print)
{
	e->print = print;
	e->used_bytes = 0;
	tl_count(&t->stats.flows, 1);
}

bool tl_flow_keep(struct tl_flow_table *t, const struct tl_flow_id *id, uint32_t wire_bytes, uint64_t ts_ns)
{
	uint32_t tick = (uint32_t)(ts_ns >> TL_FLOW_TICK_SHIFT);

	if (id->print == 0)
		return true;
	struct tl_flow_bucket *bucket = tl_flow_bucket_of(t, id->print);
	struct tl_flow_entry *e = find(bucket, id->print);
	if (e == NULL) {
		e = make_room(t, bucket, tick);
		begin(t, e, id->print);
	} else if (idle_ticks(e, tick) > t->idle_ticks || (id->syn && !(e->used_bytes & TL_FLOW_SYN))) {
		begin(t, e, id->print);
	}
	uint64_t used = e->used_bytes & ~TL_FLOW_SYN;
	e->used_bytes = (uint32_t)tl_min_u64(used + wire_bytes, t->cutoff_bytes) | (id->syn ? TL_FLOW_SYN : 0);
	e->last_tick = tick;
	return used < t->cutoff_bytes;
}
