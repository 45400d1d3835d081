// SPDX-License-Identifier: BSD-3-Clause
// Memory that connections borrow for data in flight and for out-of-order segments. An idle connection has none.

#include <errno.h>

#include <rte_malloc.h>

#include "tcp_lend.h"
#include "tcp_ooo.h"
#include "tcp_table.h"

#define HELD_ARRAYS_MAX 1024 // connections that may hold out-of-order segments

static int fill(struct tl_tcp_pool *pool, const struct tl_net *net, uint32_t blocks, size_t block_bytes)
{
	uint8_t *memory = rte_malloc_socket("tl_tcp_lend", blocks * block_bytes, TL_CACHE_LINE, net->cfg.socket_id);
	if (memory == NULL)
		return -ENOMEM;

	pool->memory = memory;
	for (uint32_t i = blocks; i > 0; i--)
		tl_tcp_pool_put(pool, memory + (i - 1) * block_bytes);
	return 0;
}

int tl_tcp_lend_init(struct tl_net *net, uint32_t slots)
{
	struct tl_tcp_table *table = net->tcp;
	size_t flight_bytes =
		sizeof(struct tl_tcp_flight) + net->cfg.send_buffer_bytes + net->cfg.send_buffer_bytes / 8;
	uint32_t flights = net->cfg.send_buffers != 0 ? tl_min_u32(net->cfg.send_buffers, slots) : slots;
	uint32_t held = tl_min_u32(slots, tl_min_u32(table->ooo_max + 1, HELD_ARRAYS_MAX));
	int rc = fill(&table->flights, net, flights, flight_bytes);

	if (rc == 0 && net->cfg.own_buffers != 0)
		rc = fill(&table->owned, net, net->cfg.own_buffers, flight_bytes);
	if (rc == 0)
		rc = fill(&table->held, net, held, TL_TCP_OOO_MAX * sizeof(struct tl_tcp_held));
	return rc;
}

struct tl_tcp_unacked tl_tcp_unacked(const struct tl_tcp *c)
{
	if (c->flight == NULL || c->cwnd == 0) // all acknowledged; never established
		return (struct tl_tcp_unacked){0};
	struct tl_tcp_unacked out = {.bytes = tl_tcp_queued(c)};
	uint32_t end = c->snd_una + out.bytes;

	for (uint32_t at = c->snd_una; tl_seq_lt(at, end); at = (at | 63) + 1) {
		uint64_t ends = tl_tcp_msg_ends(c)[(at & c->ring_mask) / 64] >> (at & 63);
		if (end - at < 64)
			ends &= (UINT64_C(1) << (end - at)) - 1;
		out.msgs += (uint32_t)__builtin_popcountll(ends);
	}
	return out;
}

void tl_tcp_lend_fini(struct tl_tcp_table *table)
{
	rte_free(table->flights.memory);
	rte_free(table->owned.memory);
	rte_free(table->held.memory);
}
