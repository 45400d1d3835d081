// SPDX-License-Identifier: BSD-3-Clause
// Receive from a capture file, with the file's own timestamps.

#include "port_priv.h"

// Copy a frame into one mbuf, or into a chain if it is longer than one holds. NULL: the pool is empty.
static struct rte_mbuf *copy_frame(struct rte_mempool *pool, const struct tl_pcap_frame *frame)
{
	struct rte_mbuf *head = rte_pktmbuf_alloc(pool);
	struct rte_mbuf *last = head;
	uint32_t done = 0;

	if (head == NULL)
		return NULL;
	for (;;) {
		uint32_t len = RTE_MIN(frame->cap_bytes - done, (uint32_t)rte_pktmbuf_tailroom(last));
		memcpy(rte_pktmbuf_mtod(last, uint8_t *), frame->data + done, len);
		last->data_len = (uint16_t)len;
		done += len;
		if (done == frame->cap_bytes)
			break;
		struct rte_mbuf *next = rte_pktmbuf_alloc(pool);
		if (next == NULL) {
			rte_pktmbuf_free(head);
			return NULL;
		}
		last->next = next;
		last = next;
		head->nb_segs++;
	}
	head->pkt_len = frame->cap_bytes;
	return head;
}

// Read the next frame. False at the end of the file, for any reason.
static bool read_pending(struct tl_port_file *file)
{
	if (file->has_pending)
		return true;
	if (atomic_load_explicit(&file->ended, memory_order_relaxed) != 0)
		return false;
	int rc = tl_pcap_next(file->reader, &file->pending, NULL);
	if (rc != 1) {
		atomic_store_explicit(&file->ended, rc == 0 ? 1 : 2, memory_order_release);
		return false;
	}
	tl_count(&file->seen_pkts, 1);
	file->has_pending = true;
	return true;
}

uint16_t tl_file_burst(struct tl_rxq *q, struct tl_burst *b)
{
	struct tl_port_file *file = q->backend;
	uint64_t bytes = 0;
	uint16_t n = 0;

	for (; n < TL_BURST && read_pending(file); n++) {
		struct rte_mbuf *m = copy_frame(q->port->pool, &file->pending);
		if (m == NULL)
			break; // nothing is lost: the frame stays pending
		b->pkts[n] = m;
		b->ts_ns[n] = file->pending.ts_ns;
		b->wire_bytes[n] = file->pending.wire_bytes;
		bytes += file->pending.wire_bytes;
		file->has_pending = false;
	}
	b->n = n;
	b->tsc = rte_rdtsc();
	b->mono_ns = tl_clock_mono_ns(q->clock, b->tsc);
	tl_count(&q->stats.rx_pkts, n);
	tl_count(&q->stats.rx_bytes, bytes);
	return n;
}

// Drop and count pushed frames: a file cannot send.
void tl_file_flush(struct tl_txq *q)
{
	tl_txq_drop_waiting(q);
}
