// SPDX-License-Identifier: BSD-3-Clause
// Receive from a kernel interface through an own ring: frames are passed on in the kernel's ring, without a copy.

#include "port_priv.h"

#include <linux/if_packet.h>
#include <rte_prefetch.h>

#define SEGMENT_BYTES (UINT16_MAX & ~(TL_CACHE_LINE - 1)) // limit of an mbuf's 16-bit length
#define LENT 2						  // references to a view that no other thread has
#define HEADERS_AHEAD 6					  // to load before they are needed
_Static_assert(TL_PACKET_SEGMENTS_MAX *SEGMENT_BYTES >= TL_PACKET_BLOCK_BYTES, "a block's longest frame is one chain");

static struct tpacket_hdr_v1 *block_head(const struct tl_packet_queue *p)
{
	uint8_t *block = p->ring + (size_t)p->block * TL_PACKET_BLOCK_BYTES;

	return &((struct tpacket_block_desc *)block)->hdr.bh1;
}

static void give_block_back(struct tl_packet_queue *p)
{
	__atomic_store_n(&block_head(p)->block_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
	p->block = (p->block + 1) & (p->blocks - 1);
	p->has_block = false;
}

// Find the next frame. A block whose frames have all been passed on and freed is returned to the kernel first. False:
// there is no frame.
static bool find_frame(struct tl_packet_queue *p)
{
	if (p->left_pkts != 0)
		return true;
	if (p->has_block)
		give_block_back(p);
	struct tpacket_hdr_v1 *head = block_head(p);
	if ((__atomic_load_n(&head->block_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER) == 0)
		return false;
	p->has_block = true;
	p->left_pkts = head->num_pkts;
	p->next = (uint8_t *)head - offsetof(struct tpacket_block_desc, hdr) + head->offset_to_first_pkt;
	return p->left_pkts != 0;
}

// Reclaim the views of the last burst, once all other references to them are gone. Until then the port does not
// receive: a frame that is still referenced keeps its data.
static bool take_views_back(struct tl_packet_queue *p)
{
	for (uint16_t i = 0; i < p->lent; i++)
		if (TL_UNLIKELY(rte_mbuf_refcnt_read(&p->views[i]) != 1))
			return false;
	for (uint16_t i = 0; TL_UNLIKELY(p->has_chains) && i < p->lent; i++) {
		p->views[i].next = NULL;
		p->views[i].nb_segs = 1;
	}
	p->has_chains = false;
	p->lent = 0;
	return true;
}

// Set up a view. The second reference is the port's: the last user's free then returns the view to the port, not to a
// pool.
static struct rte_mbuf *lend(struct tl_packet_queue *p, uint8_t *data, uint32_t len)
{
	struct rte_mbuf *view = &p->views[p->lent++];

	view->buf_addr = data;
	view->data_len = (uint16_t)len;
	view->pkt_len = len;
	rte_mbuf_refcnt_set(view, LENT);
	return view;
}

static struct rte_mbuf *lend_chain(struct tl_packet_queue *p, uint8_t *data, uint32_t len)
{
	struct rte_mbuf *head = lend(p, data, SEGMENT_BYTES);
	struct rte_mbuf *last = head;

	for (uint32_t done = SEGMENT_BYTES; done < len; done += last->data_len) {
		last->next = lend(p, data + done, RTE_MIN(len - done, (uint32_t)SEGMENT_BYTES));
		last = last->next;
		head->nb_segs++;
	}
	head->pkt_len = len;
	p->has_chains = true;
	return head;
}

// Insert the tag that the kernel removed between addresses and type; the frame then begins 4 bytes earlier, in the
// headroom of the ring.
static uint8_t *put_tag_back(const struct tpacket3_hdr *h, uint8_t *frame)
{
	bool has_tpid = (h->tp_status & TP_STATUS_VLAN_TPID_VALID) != 0;
	uint16_t tag_be[2] = {
		tl_be16(has_tpid ? h->hv1.tp_vlan_tpid : TL_ETHERTYPE_VLAN), tl_be16((uint16_t)h->hv1.tp_vlan_tci)};
	uint8_t *begin = frame - TL_PACKET_TAG_BYTES;

	memmove(begin, frame, 2 * TL_ETHER_ADDR_LEN);
	memcpy(begin + 2 * TL_ETHER_ADDR_LEN, tag_be, sizeof(tag_be));
	return begin;
}

// Load headers before they are needed. Another CPU has written them, and each has the offset of the next, so without a
// guess one load would wait for the other. Guess that the next frames are as long as this one.
static void load_ahead(const struct tl_packet_queue *p, const struct tpacket3_hdr *h)
{
	const uint8_t *header = p->next + (size_t)HEADERS_AHEAD * h->tp_next_offset;

	rte_prefetch0(header);
	rte_prefetch0(header + TL_CACHE_LINE);
}

static void take_frame(struct tl_rxq *q, struct tl_burst *b, uint16_t i)
{
	struct tl_packet_queue *p = q->backend;
	struct tpacket3_hdr *h = (struct tpacket3_hdr *)p->next;
	const struct sockaddr_ll *from = (const void *)(p->next + TPACKET_ALIGN(sizeof(*h)));
	bool sent = from->sll_pkttype == PACKET_OUTGOING;
	uint8_t *frame = p->next + h->tp_mac;
	uint32_t len = h->tp_snaplen, wire_bytes = h->tp_len;

	load_ahead(p, h);
	if (TL_UNLIKELY((h->tp_status & TP_STATUS_VLAN_VALID) != 0 && len >= TL_ETHER_LEN)) {
		frame = put_tag_back(h, frame);
		len += TL_PACKET_TAG_BYTES;
		wire_bytes += TL_PACKET_TAG_BYTES;
	}
	b->pkts[i] = TL_LIKELY(len <= SEGMENT_BYTES) ? lend(p, frame, len) : lend_chain(p, frame, len);
	b->wire_bytes[i] = wire_bytes;
	b->ts_ns[i] = h->tp_sec * TL_NS_PER_S + h->tp_nsec;
	b->sent |= (uint64_t)sent << i;
	if (TL_UNLIKELY(wire_bytes > q->frame_max || wire_bytes > len))
		tl_count(&q->stats.altered_pkts, 1);
	p->next += h->tp_next_offset;
	p->left_pkts--;
}

// Without an atomic operation where no other thread has the frame: it would wait until all copies of frames have left
// the store buffer.
void tl_packet_free(struct rte_mbuf *const *pkts, uint16_t n)
{
	for (uint16_t i = 0; i < n; i++)
		if (TL_LIKELY(pkts[i]->nb_segs == 1 && rte_mbuf_refcnt_read(pkts[i]) == LENT))
			rte_mbuf_refcnt_set(pkts[i], LENT - 1);
		else
			rte_pktmbuf_free(pkts[i]);
}

uint16_t tl_packet_burst(struct tl_rxq *q, struct tl_burst *b)
{
	struct tl_packet_queue *p = q->backend;
	uint64_t bytes = 0;
	uint16_t n = 0;

	b->sent = 0;
	if (take_views_back(p) && find_frame(p))
		for (; n < TL_BURST && p->left_pkts != 0 && p->lent + TL_PACKET_SEGMENTS_MAX <= TL_PACKET_VIEWS; n++) {
			take_frame(q, b, n);
			bytes += b->wire_bytes[n];
		}
	b->n = n;
	b->tsc = rte_rdtsc();
	b->mono_ns = tl_clock_mono_ns(q->clock, b->tsc);
	tl_count(&q->stats.rx_pkts, n);
	tl_count(&q->stats.rx_bytes, bytes);
	return n;
}
