// SPDX-License-Identifier: BSD-3-Clause
// Counters of a class, for another thread.

#include "tree_priv.h"

#include <tl_hist.h>

// Waiting times of sent frames.
struct stats_delays {
	uint64_t sum_ns; // its last 64 bits: a full queue adds a second per second and frame
	struct tl_coarse of;
};

static void stats_add(struct tl_tree_stats *sum, struct stats_delays *delays, const struct tree_counters *leaf)
{
	for (uint32_t i = 0; i < TL_TREE_DROPS; i++) {
		sum->drop_pkts[i] += tl_count_read(&leaf->drop_pkts[i]);
		sum->drop_bytes[i] += tl_count_read(&leaf->drop_bytes[i]);
	}
	for (uint32_t i = 0; i < TL_TREE_COLOURS; i++) {
		sum->colour_pkts[i] += tl_count_read(&leaf->colour_pkts[i]);
		sum->colour_bytes[i] += tl_count_read(&leaf->colour_bytes[i]);
	}
	sum->sent_pkts += tl_coarse_add(&delays->of, &leaf->sent_pkts);
	sum->sent_bytes += tl_count_read(&leaf->sent_bytes);
	delays->sum_ns += tl_count_read(&leaf->delay_ns);
	sum->delay_max_ns = tl_max_u64(sum->delay_max_ns, tl_count_read(&leaf->delay_max_ns));
	sum->in_pkts += tl_count_read(&leaf->in_pkts);
	sum->in_bytes += tl_count_read(&leaf->in_bytes);
}

static bool stats_is_below(const struct tree_node *n, const struct tree_node *cls)
{
	while (n > cls) // parents precede their children
		n = n->parent;
	return n == cls;
}

// Parts are read before their whole, so a backlog is never below 0.
static void stats_derive_backlog(struct tl_tree_stats *s)
{
	s->backlog_pkts = s->in_pkts - s->sent_pkts;
	s->backlog_bytes = s->in_bytes - s->sent_bytes;
	for (uint32_t i = 0; i < TL_TREE_DROPS; i++) {
		s->backlog_pkts -= s->drop_pkts[i];
		s->backlog_bytes -= s->drop_bytes[i];
	}
}

// Return the mean waiting time. Of the sums with these last 64 bits it is that of the one next to the sum by buckets.
static uint64_t stats_mean(const struct stats_delays *delays, uint64_t n)
{
	unsigned __int128 sum_ns = 0;

	for (size_t i = 0; i < TL_COARSE_BUCKETS; i++) {
		uint64_t from_ns = tl_hist_edge(i, TL_COARSE_SUB_BITS);
		uint64_t width_ns = tl_hist_edge(i + 1, TL_COARSE_SUB_BITS) - from_ns;
		sum_ns += (unsigned __int128)(from_ns + width_ns / 2) * delays->of.bucket[i];
	}
	sum_ns += (__int128)(int64_t)(delays->sum_ns - (uint64_t)sum_ns);
	return n != 0 ? (uint64_t)(sum_ns / n) : 0;
}

void tl_tree_sample(const struct tl_tree *t, uint32_t cls, struct tl_tree_stats *out)
{
	uint64_t own_bytes = tl_count_read(&t->nodes[cls].own_bytes);
	uint32_t end = t->nodes[cls].leaf != NULL ? cls + 1 : t->n_nodes; // classes below follow
	struct stats_delays delays = {0};

	*out = (struct tl_tree_stats){0};
	for (uint32_t i = cls; i < end; i++) {
		if (!stats_is_below(&t->nodes[i], &t->nodes[cls]))
			continue;
		if (t->nodes[i].leaf != NULL)
			stats_add(out, &delays, &t->nodes[i].leaf->count);
		if (t->gone[i] != NULL)
			stats_add(out, &delays, &t->gone[i]->count);
	}
	stats_derive_backlog(out);
	out->borrowed_bytes = cls != 0 ? out->sent_bytes - own_bytes : 0;
	out->delay_mean_ns = stats_mean(&delays, out->sent_pkts);
	out->delay_p99_ns = tl_min_u64(tl_coarse_permille(&delays.of, out->sent_pkts, 990), out->delay_max_ns);
}

// Add what arrived at a leaf and left it. Return the bytes that it dropped from its queue.
static uint64_t stats_load(struct tl_tree_load *sum, const struct tree_leaf *leaf)
{
	uint64_t drop_bytes = 0;

	if (leaf == NULL)
		return 0;
	uint64_t policed_bytes = tl_count_read(&leaf->count.drop_bytes[TL_TREE_DROP_POLICE]);
	for (uint32_t reason = TL_TREE_DROP_POLICE + 1; reason < TL_TREE_DROPS; reason++)
		drop_bytes += tl_count_read(&leaf->count.drop_bytes[reason]);
	sum->sent_bytes += tl_count_read(&leaf->count.sent_bytes);
	sum->in_bytes += tl_count_read(&leaf->count.in_bytes) - policed_bytes;
	return drop_bytes;
}

void tl_tree_load(const struct tl_tree *t, struct tl_tree_load *out)
{
	uint64_t drop_bytes = 0;

	*out = (struct tl_tree_load){0};
	for (uint32_t i = 0; i < t->n_nodes; i++) {
		drop_bytes += stats_load(out, t->nodes[i].leaf);
		drop_bytes += stats_load(out, t->gone[i]);
	}
	out->backlog_bytes = out->in_bytes - out->sent_bytes - drop_bytes;
}
