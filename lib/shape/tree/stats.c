// SPDX-License-Identifier: BSD-3-Clause
// Counters of a class, for another thread.

#include "tree_priv.h"

static void stats_add(struct tl_tree_stats *sum, const struct tl_tree_stats *leaf)
{
	for (uint32_t i = 0; i < TL_TREE_DROPS; i++) {
		sum->drop_pkts[i] += tl_count_read(&leaf->drop_pkts[i]);
		sum->drop_bytes[i] += tl_count_read(&leaf->drop_bytes[i]);
	}
	sum->sent_pkts += tl_count_read(&leaf->sent_pkts);
	sum->sent_bytes += tl_count_read(&leaf->sent_bytes);
	sum->delay_ns += tl_count_read(&leaf->delay_ns);
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

void tl_tree_sample(const struct tl_tree *t, uint32_t cls, struct tl_tree_stats *out)
{
	*out = (struct tl_tree_stats){.borrowed_bytes = tl_count_read(&t->nodes[cls].borrowed_bytes)};
	for (uint32_t i = cls; i < t->n_nodes; i++)
		if (t->nodes[i].leaf != NULL && stats_is_below(&t->nodes[i], &t->nodes[cls]))
			stats_add(out, &t->nodes[i].leaf->stats);
	stats_derive_backlog(out);
}
