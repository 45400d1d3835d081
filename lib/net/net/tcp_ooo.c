// SPDX-License-Identifier: BSD-3-Clause
// Out-of-order segments: a short sorted list of mbufs per connection, each held by a reference.

#include <string.h>

#include <rte_mbuf.h>

#include "tcp_lend.h"
#include "tcp_loss.h"
#include "tcp_ooo.h"
#include "tcp_seg.h"
#include "tcp_table.h"

static void remove_at(struct tl_tcp *c, unsigned i)
{
	c->ooo_count--;
	c->net->tcp->ooo_held--;
	memmove(&c->ooo[i], &c->ooo[i + 1], (c->ooo_count - i) * sizeof(c->ooo[0]));
}

static void drop_at(struct tl_tcp *c, unsigned i)
{
	rte_pktmbuf_free(c->ooo[i].m);
	remove_at(c, i);
}

static void give_back_if_empty(struct tl_tcp *c)
{
	if (c->ooo == NULL || c->ooo_count > 0)
		return;
	tl_tcp_pool_put(&c->net->tcp->held, c->ooo);
	c->ooo = NULL;
}

// Make room for a segment at seq: evict the farthest if it is farther.
static bool make_room(struct tl_tcp *c, uint32_t seq)
{
	struct tl_tcp_table *table = c->net->tcp;

	if (c->ooo == NULL)
		c->ooo = tl_tcp_pool_get(&table->held);
	if (c->ooo != NULL && c->ooo_count < TL_TCP_OOO_MAX && table->ooo_held < table->ooo_max)
		return true;
	tl_count(&c->net->stats.tcp_ooo_dropped_pkts, 1);
	if (c->ooo_count == 0 || !tl_seq_lt(seq, c->ooo[c->ooo_count - 1].seq))
		return false;
	drop_at(c, c->ooo_count - 1);
	return true;
}

void tl_tcp_ooo_hold(struct tl_tcp *c, const struct tl_tcp_seg *seg)
{
	struct tl_tcp_held new = {
		.m = seg->m,
		.payload = seg->payload,
		.seq = seg->seq,
		.arrival = ++c->ooo_arrivals,
		.len = seg->len,
		.fin = (seg->flags & TL_TCP_FIN) != 0,
	};
	unsigned i = c->ooo_count;

	tl_tcp_dsack_held(c, new.seq, new.seq + new.len);
	while (i > 0 && tl_seq_lt(new.seq, c->ooo[i - 1].seq))
		i--;
	if (i > 0 && tl_seq_le(tl_tcp_held_end(&new), tl_tcp_held_end(&c->ooo[i - 1]))) { // nothing new
		c->ooo[i - 1].arrival = new.arrival;
		return;
	}
	if (!make_room(c, new.seq)) {
		give_back_if_empty(c);
		return;
	}
	while (i < c->ooo_count &&
		tl_seq_le(tl_tcp_held_end(&c->ooo[i]), tl_tcp_held_end(&new))) // contained in the new one
		drop_at(c, i);
	memmove(&c->ooo[i + 1], &c->ooo[i], (c->ooo_count - i) * sizeof(c->ooo[0]));
	c->ooo[i] = new;
	c->ooo_count++;
	c->net->tcp->ooo_held++;
	rte_mbuf_refcnt_update(new.m, 1);
	tl_count(&c->net->stats.tcp_out_of_order_pkts, 1);
}

bool tl_tcp_ooo_next(struct tl_tcp *c, struct tl_tcp_held *out)
{
	while (c->ooo_count > 0 && tl_seq_le(c->ooo[0].seq, c->rcv_nxt)) {
		*out = c->ooo[0];
		if (tl_seq_le(tl_tcp_held_end(out), c->rcv_nxt)) { // received meanwhile in another segment
			drop_at(c, 0);
			continue;
		}
		uint32_t known = c->rcv_nxt - out->seq;
		out->payload += known;
		out->seq += known;
		out->len -= known;
		remove_at(c, 0);
		give_back_if_empty(c);
		return true;
	}
	give_back_if_empty(c);
	return false;
}

void tl_tcp_ooo_purge(struct tl_tcp *c)
{
	while (c->ooo_count > 0)
		drop_at(c, c->ooo_count - 1u);
	give_back_if_empty(c);
}
