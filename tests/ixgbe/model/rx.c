// SPDX-License-Identifier: BSD-3-Clause
// Path of a received frame: MAC, layer-2 filters, packet buffer, queue, descriptors.

#include "model.h"

#include <emmintrin.h>
#include <stdlib.h>
#include <string.h>

// 7.1.6.2 advanced write-back descriptor: status and error bits of its third word
#define STATUS_DD 0x1u
#define STATUS_EOP 0x2u
#define STATUS_FLM 0x4u // the flow director matched
#define STATUS_VP 0x8u
#define STATUS_L4CS 0x20u
#define STATUS_IPCS 0x40u
#define STATUS_PIF 0x80u
#define STATUS_TS 0x10000u
#define ERROR_L4E 0x40000000u
#define ERROR_IPE 0x80000000u

// ---- MAC: 8.2.3.22.13 maximum frame size; 8.2.3.23 counters

static uint32_t longest(const struct card *card, bool tagged)
{
	bool jumbo = (get(card, HLREG0) & HLREG0_JUMBOEN) != 0;

	return (jumbo ? get(card, MAXFRS) >> 16 : 1518) + (tagged ? 4 : 0);
}

// Total counters include every frame; the others include valid frames that pass the filters.
static bool mac_takes(struct card *card, const struct frame *frame)
{
	uint32_t bytes = frame->bytes + CRC_BYTES;
	bool tagged = be16(frame->data + 12) == 0x8100;

	count(card, TPR, 1);
	count_octets(card, TORL, bytes);
	if (bytes <= longest(card, tagged))
		return true;
	count(card, ROC, 1);
	return false;
}

static void count_good(struct card *card, const struct frame *frame)
{
	static const uint8_t broadcast[] = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};

	count(card, GPRC, 1);
	count_octets(card, GORCL, frame->bytes + CRC_BYTES);
	count_size(card, PRC64, frame->bytes + CRC_BYTES);
	if (memcmp(frame->data, broadcast, sizeof(broadcast)) == 0)
		count(card, BPRC, 1);
	else if ((frame->data[0] & 1) != 0)
		count(card, MPRC, 1);
}

// X540 and X550 (their 8.2.4.23): XEC counts packets with wrong checksums of IP, TCP or UDP. They are delivered
// nevertheless. The 82599 does the same, but its driver does not add XEC to the errors.
static void count_bad_checksums(struct card *card, const struct headers *h)
{
	if (h->ip_bad || h->l4_bad)
		count(card, XEC, 1);
}

// ---- layer-2 filters (7.1.1)

static bool is_address(const struct card *card, const uint8_t *mac)
{
	for (unsigned i = 0; i < RAR_COUNT; i++) {
		uint32_t low = get(card, RAL(i)), high = get(card, RAH(i));
		if ((high & RAH_VALID) != 0 && memcmp(&low, mac, 4) == 0 && memcmp(&high, mac + 4, 2) == 0)
			return true;
	}
	return false;
}

// 8.2.3.7.7: 12 bits of the address, selected by MCSTCTRL.MO, index a bit of the table.
static bool is_in_table(const struct card *card, const uint8_t *mac)
{
	static const unsigned shifts[] = {4, 3, 2, 0};
	uint32_t control = get(card, MCSTCTRL);
	unsigned bits = (unsigned)(mac[5] << 8 | mac[4]) >> shifts[control & 3] & 0xFFF;

	return (control & MCSTCTRL_MFE) != 0 && (get(card, MTA(bits / 32)) >> (bits & 31) & 1) != 0;
}

static bool filters_pass(const struct card *card, const struct frame *frame, const struct headers *h)
{
	static const uint8_t broadcast[] = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
	uint32_t fctrl = get(card, FCTRL);
	const uint8_t *mac = frame->data;
	bool pass;

	if (memcmp(mac, broadcast, sizeof(broadcast)) == 0)
		pass = (fctrl & FCTRL_BAM) != 0;
	else if ((mac[0] & 1) != 0)
		pass = (fctrl & FCTRL_MPE) != 0 || is_address(card, mac) || is_in_table(card, mac);
	else
		pass = (fctrl & FCTRL_UPE) != 0 || is_address(card, mac);
	if (!pass || !h->tagged || (get(card, VLNCTRL) & VLNCTRL_VFE) == 0)
		return pass;
	unsigned vlan = h->vlan & 0xFFF;
	return (get(card, VFTA(vlan / 32)) >> (vlan & 31) & 1) != 0;
}

// ---- queue and descriptors

static uint32_t ring_size(const struct card *card, unsigned queue)
{
	return get(card, rx_reg(queue, RDLEN)) / 16;
}

static uint32_t buffer_bytes(const struct card *card, unsigned queue)
{
	uint32_t srrctl = get(card, rx_reg(queue, SRRCTL));

	if ((srrctl >> 25 & 7) != 1) // 8.2.3.8.7: advanced descriptors with one buffer
		model_lacks("SRRCTL", srrctl);
	return (srrctl & 0x1F) << 10;
}

static uint32_t free_descriptors(const struct card *card, unsigned queue)
{
	uint32_t size = ring_size(card, queue);
	uint32_t tail = card->held ? card->held_tail[queue] : get(card, rx_reg(queue, RDT));

	return size != 0 ? (tail + size - get(card, rx_reg(queue, RDH))) % size : 0;
}

static void choose_queue(struct card *card, const struct frame *frame, const struct headers *h, struct route *route)
{
	*route = (struct route){0};
	rss_route(card, frame, h, route); // the descriptor has the hash, whichever filter selects the queue
	if (!filters_route(card, frame, h, route))
		(void)fdir_route(card, frame, h, route);
}

static uint64_t first_half(const struct headers *h, const struct route *route)
{
	uint32_t info = route->rss_type | (uint32_t)h->packet_type << 4;

	return (uint64_t)route->hash << 32 | info;
}

static uint32_t last_status(
	struct card *card, const struct frame *frame, const struct headers *h, const struct route *r)
{
	uint32_t status = STATUS_EOP | STATUS_DD;

	status |= h->tagged ? STATUS_VP : 0;
	status |= h->l3 != 0 && !h->v6 ? STATUS_IPCS | (h->ip_bad ? ERROR_IPE : 0) : 0;
	status |= h->l4_checked ? STATUS_L4CS | (h->l4_bad ? ERROR_L4E : 0) : 0;
	status |= r->fdir_match ? STATUS_FLM : 0;
	status |= (frame->data[0] & 1) != 0 && !is_address(card, frame->data) ? STATUS_PIF : 0; // 7.1.6.2: inexact
	return status | (stamp_received(card, frame, r->is_1588) ? STATUS_TS : 0);
}

// A descriptor of 16 bytes is one write on the bus: the driver must never read a part of it.
static void write_back(uint8_t *descriptor, uint64_t low, uint32_t status, uint16_t bytes, uint16_t vlan)
{
	uint64_t high = (uint64_t)vlan << 48 | (uint64_t)bytes << 32 | status;

	__atomic_thread_fence(__ATOMIC_RELEASE);
	_mm_store_si128((__m128i *)descriptor, _mm_set_epi64x((long long)high, (long long)low));
}

static void deliver(struct card *card, const struct frame *frame, const struct headers *h, const struct route *route)
{
	unsigned queue = route->queue;
	uint32_t room = buffer_bytes(card, queue), size = ring_size(card, queue), at = 0;
	uint32_t head = get(card, rx_reg(queue, RDH));
	uint64_t base = (uint64_t)get(card, rx_reg(queue, RDBAH)) << 32 | get(card, rx_reg(queue, RDBAL));

	while (at < frame->bytes) {
		uint8_t *descriptor = (uint8_t *)(uintptr_t)(base + 16 * head);
		uint32_t part = frame->bytes - at < room ? frame->bytes - at : room;
		uint64_t buffer;

		memcpy(&buffer, descriptor, sizeof(buffer));
		memcpy((void *)(uintptr_t)buffer, frame->data + at, part);
		at += part;
		bool last = at == frame->bytes;
		write_back(descriptor, first_half(h, route), last ? last_status(card, frame, h, route) : STATUS_DD,
			(uint16_t)part, h->vlan);
		head = (head + 1) % size;
	}
	set(card, rx_reg(queue, RDH), head);
	unsigned counter = get(card, RQSMR(queue / 4)) >> 8 * (queue & 3) & 0xF;
	count(card, QPRC(counter), 1);
	count_octets(card, QBRC_L(counter), frame->bytes + CRC_BYTES);
}

static void drop(struct card *card, unsigned queue)
{
	count(card, QPRDC(get(card, RQSMR(queue / 4)) >> 8 * (queue & 3) & 0xF), !has_flaw(card, "drops"));
}

// Return false if the frame has to wait, with all frames behind it (7.1.2 and SRRCTL.DROP_EN).
static bool leaves_buffer(struct card *card, const struct frame *frame)
{
	struct headers h;
	struct route route;

	parse(frame, &h);
	choose_queue(card, frame, &h, &route);
	if (route.drop)
		return true;
	if ((get(card, rx_reg(route.queue, RXDCTL)) & QUEUE_ENABLE) == 0) {
		drop(card, route.queue);
		return true;
	}
	uint32_t room = buffer_bytes(card, route.queue);
	if (free_descriptors(card, route.queue) < (frame->bytes + room - 1) / room) {
		if ((get(card, rx_reg(route.queue, SRRCTL)) & SRRCTL_DROP_EN) == 0)
			return false;
		drop(card, route.queue);
		return true;
	}
	deliver(card, frame, &h, &route);
	return true;
}

// ---- packet buffer (7.1.?: a FIFO of RXPBSIZE bytes)

void rx_drain(struct card *card)
{
	while (card->buffer.first != NULL && leaves_buffer(card, card->buffer.first))
		free(frames_pop(&card->buffer));
}

static bool fits_buffer(const struct card *card, const struct frame *frame)
{
	return card->buffer.bytes + frame->bytes <= get(card, RXPBSIZE(0));
}

void rx_arrive(struct card *card, const uint8_t *data, uint32_t bytes)
{
	struct headers h;

	if (card->speed_mbps == 0 || (get(card, RXCTRL) & RXCTRL_RXEN) == 0)
		return;
	struct frame *frame = frame_new(data, bytes);
	if (frame == NULL || bytes < 14 || !mac_takes(card, frame)) {
		free(frame);
		return;
	}
	parse(frame, &h);
	if (!filters_pass(card, frame, &h)) {
		free(frame);
		return;
	}
	count_good(card, frame);
	count_bad_checksums(card, &h);
	if (!fits_buffer(card, frame)) {
		count(card, MPC(0), !has_flaw(card, "drops"));
		free(frame);
		return;
	}
	frames_push(&card->buffer, frame);
	rx_drain(card);
}

// ---- registers

static void write_tail(struct card *card, uint32_t offset, uint32_t value)
{
	set(card, offset, value);
	if (!card->held)
		rx_drain(card);
}

// A wire with traffic before the receiver is enabled: broadcast test frames of 1000 bytes.
static void receive_early(struct card *card)
{
	uint8_t frame[1000] = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x02, [12] = 0x88, [13] = 0xB5};

	for (unsigned i = 0; i < card->wire.early; i++)
		rx_arrive(card, frame, sizeof(frame));
	card->wire.early = 0;
}

static void write_rxctrl(struct card *card, uint32_t offset, uint32_t value)
{
	set(card, offset, value);
	if ((value & RXCTRL_RXEN) != 0)
		receive_early(card);
	if ((value & RXCTRL_RXEN) == 0)
		frames_clear(&card->buffer);
}

// Disabled queues release their descriptors.
static void write_rxdctl(struct card *card, uint32_t offset, uint32_t value)
{
	set(card, offset, value);
	rx_drain(card);
}

const struct row rx_rows[] = {{0x1000 + RDT, 64, 0x40, NULL, write_tail}, {0xD000 + RDT, 64, 0x40, NULL, write_tail},
	{0x1000 + RXDCTL, 64, 0x40, NULL, write_rxdctl}, {0xD000 + RXDCTL, 64, 0x40, NULL, write_rxdctl},
	{RXCTRL, 1, 4, NULL, write_rxctrl}, {0}};
