// SPDX-License-Identifier: BSD-3-Clause
// Receive from a kernel interface that is also sent to: each frame is copied from its slot of the kernel's ring.

#include "port_priv.h"

#include <linux/if_packet.h>

static struct tpacket2_hdr *awaited(const struct tl_slot_queue *s)
{
	return (struct tpacket2_hdr *)(s->ring + (size_t)s->slot * s->slot_bytes);
}

static void give_slot_back(struct tl_slot_queue *s, struct tpacket2_hdr *h)
{
	__atomic_store_n(&h->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
	s->slot = (s->slot + 1) & (s->slots - 1);
}

// Copy a frame, with the tag that the kernel removed from between addresses and type. The mbuf has room: a slot has
// more bytes before the frame than the tag.
static void copy_tagged(uint8_t *to, const uint8_t *frame, const struct tpacket2_hdr *h)
{
	bool has_tpid = (h->tp_status & TP_STATUS_VLAN_TPID_VALID) != 0;
	uint16_t tag_be[2] = {
		tl_be16(has_tpid ? h->tp_vlan_tpid : TL_ETHERTYPE_VLAN), tl_be16((uint16_t)h->tp_vlan_tci)};

	_Static_assert(sizeof(tag_be) == TL_PACKET_TAG_BYTES, "802.1Q");
	memcpy(to, frame, 2 * TL_ETHER_ADDR_LEN);
	memcpy(to + 2 * TL_ETHER_ADDR_LEN, tag_be, sizeof(tag_be));
	memcpy(to + 2 * TL_ETHER_ADDR_LEN + sizeof(tag_be), frame + 2 * TL_ETHER_ADDR_LEN,
		h->tp_snaplen - 2 * TL_ETHER_ADDR_LEN);
}

static void take_frame(struct tl_rxq *q, struct tl_burst *b, uint16_t i, const struct tpacket2_hdr *h)
{
	const struct sockaddr_ll *from = (const void *)((const uint8_t *)h + TPACKET_ALIGN(sizeof(*h)));
	const uint8_t *frame = (const uint8_t *)h + h->tp_mac;
	uint8_t *to = rte_pktmbuf_mtod(b->pkts[i], uint8_t *);
	uint32_t len = h->tp_snaplen, wire_bytes = h->tp_len;

	if (TL_UNLIKELY((h->tp_status & TP_STATUS_VLAN_VALID) != 0 && len >= TL_ETHER_LEN)) {
		copy_tagged(to, frame, h);
		len += TL_PACKET_TAG_BYTES;
		wire_bytes += TL_PACKET_TAG_BYTES;
	} else {
		rte_memcpy(to, frame, len);
	}
	b->pkts[i]->data_len = (uint16_t)len;
	b->pkts[i]->pkt_len = len;
	b->wire_bytes[i] = wire_bytes;
	b->ts_ns[i] = h->tp_sec * TL_NS_PER_S + h->tp_nsec;
	b->sent |= (uint64_t)(from->sll_pkttype == PACKET_OUTGOING) << i;
	if (TL_UNLIKELY(wire_bytes > q->frame_max || wire_bytes > len))
		tl_count(&q->stats.altered_pkts, 1);
}

// Without an mbuf a frame waits in its slot. TP_STATUS_LOSING is not read: PACKET_STATISTICS has the number.
uint16_t tl_slot_burst(struct tl_rxq *q, struct tl_burst *b)
{
	struct tl_slot_queue *s = q->backend;
	uint64_t bytes = 0;
	uint16_t n = 0;

	b->sent = 0;
	for (; n < TL_BURST; n++) {
		struct tpacket2_hdr *h = awaited(s);
		if ((__atomic_load_n(&h->tp_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER) == 0)
			break;
		b->pkts[n] = rte_pktmbuf_alloc(s->pool);
		if (TL_UNLIKELY(b->pkts[n] == NULL))
			break;
		take_frame(q, b, n, h);
		bytes += b->wire_bytes[n];
		give_slot_back(s, h);
	}
	b->n = n;
	b->tsc = rte_rdtsc();
	b->mono_ns = tl_clock_mono_ns(q->clock, b->tsc);
	if (q->source == TL_TS_TSC)
		tl_port_stamp_by_poll(q, b);
	tl_count(&q->stats.rx_pkts, n);
	tl_count(&q->stats.rx_bytes, bytes);
	return n;
}
