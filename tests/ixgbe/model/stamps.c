// SPDX-License-Identifier: BSD-3-Clause
// Clock and stamps of 8.2.3.26 (IEEE 1588): one latch for received, one for sent frames.

#include "model.h"

#include <time.h>

#define ETHERTYPE_PTP 0x88F7
#define PTP_EVENT_PORT 319

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// Period in which the hardware adds TIMINCA once, in tenths of ns. 82599: IP periods of a clock that depends on the
// link speed; X540: the same clock, each period; X550 counts ns without TIMINCA.
static uint64_t period_tenths(const struct card *card, uint32_t timinca)
{
	uint64_t period = card->speed_mbps == 1000 ? 640 : card->speed_mbps == 100 ? 6400 : 64;

	return card->mac == MAC_82599 ? period * (timinca >> 24) : period;
}

// Return the current value (7.9.3.1).
static uint64_t clock_ticks(const struct card *card)
{
	uint32_t timinca = get(card, TIMINCA);
	uint64_t passed_ns = now_ns() - card->phc.at_ns, period = period_tenths(card, timinca);

	if (timinca == 0 || period == 0)
		return card->phc.ticks;
	if (card->mac == MAC_X550)
		return card->phc.ticks + passed_ns;
	uint32_t add = card->mac == MAC_82599 ? timinca & 0xFFFFFF : timinca;
	return card->phc.ticks + (uint64_t)((unsigned __int128)passed_ns * 10 / period * add);
}

static void clock_set(struct card *card, uint64_t ticks)
{
	card->phc.ticks = ticks;
	card->phc.at_ns = now_ns();
}

// Reading the low part latches the high part. On the X550 this register has seconds.
static uint32_t read_systiml(struct card *card, uint32_t offset)
{
	uint64_t ticks = clock_ticks(card);

	(void)offset;
	if (card->mac == MAC_X550)
		ticks = ticks / 1000000000u << 32 | ticks % 1000000000u;
	set(card, SYSTIMH, (uint32_t)(ticks >> 32));
	return (uint32_t)ticks;
}

static void write_systim(struct card *card, uint32_t offset, uint32_t value)
{
	uint64_t ticks = clock_ticks(card);

	if (offset == SYSTIML)
		clock_set(card, (ticks & ~(uint64_t)UINT32_MAX) | value);
	else
		clock_set(card, (uint64_t)value << 32 | (uint32_t)ticks);
}

static void write_timinca(struct card *card, uint32_t offset, uint32_t value)
{
	clock_set(card, clock_ticks(card));
	card->phc.stops += value == 0;
	set(card, offset, value);
}

// ---- latches

static uint64_t stamp(const struct card *card)
{
	uint64_t ticks = clock_ticks(card);

	return card->mac == MAC_X550 ? ticks / 1000000000u << 32 | ticks % 1000000000u : ticks;
}

static bool is_event(const struct card *card, const struct frame *frame, bool is_1588)
{
	uint32_t type = get(card, TSYNCRXCTL) >> 1 & 7;
	struct headers h;

	parse(frame, &h);
	if (h.ethertype == ETHERTYPE_PTP) // types 0, 2 and 5 stamp layer-2 frames marked by an ethertype filter
		return is_1588 && (type == 0 || type == 2 || type == 5) && (frame->data[14] & 0xF) < 4;
	return h.l4_proto == 17 && type != 0 && be16(frame->data + h.l4 + 2) == PTP_EVENT_PORT;
}

// 7.9.4: the first stamp stays until it is read.
bool stamp_received(struct card *card, const struct frame *frame, bool is_1588)
{
	uint32_t control = get(card, TSYNCRXCTL);

	if ((control & TSYNC_ENABLED) == 0 || (control & TSYNC_VALID) != 0 || !is_event(card, frame, is_1588))
		return false;
	card->phc.rx_latch = stamp(card);
	set(card, TSYNCRXCTL, control | TSYNC_VALID);
	return true;
}

void stamp_sent(struct card *card)
{
	uint32_t control = get(card, TSYNCTXCTL);

	if ((control & TSYNC_ENABLED) == 0 || (control & TSYNC_VALID) != 0)
		return;
	card->phc.tx_latch = stamp(card);
	set(card, TSYNCTXCTL, control | TSYNC_VALID);
}

static uint32_t read_latch(struct card *card, uint32_t offset)
{
	switch (offset) {
	case RXSTMPL:
		return (uint32_t)card->phc.rx_latch;
	case TXSTMPL:
		return (uint32_t)card->phc.tx_latch;
	case RXSTMPH: // reading the high part releases the latch
		set(card, TSYNCRXCTL, get(card, TSYNCRXCTL) & ~TSYNC_VALID);
		return (uint32_t)(card->phc.rx_latch >> 32);
	default:
		set(card, TSYNCTXCTL, get(card, TSYNCTXCTL) & ~TSYNC_VALID);
		return (uint32_t)(card->phc.tx_latch >> 32);
	}
}

// VALID is read-only.
static void write_control(struct card *card, uint32_t offset, uint32_t value)
{
	set(card, offset, (value & ~TSYNC_VALID) | (get(card, offset) & TSYNC_VALID));
}

const struct row stamp_rows[] = {{SYSTIML, 1, 4, read_systiml, write_systim}, {SYSTIMH, 1, 4, NULL, write_systim},
	{TIMINCA, 1, 4, NULL, write_timinca}, {RXSTMPL, 1, 4, read_latch, NULL}, {RXSTMPH, 1, 4, read_latch, NULL},
	{TXSTMPL, 1, 4, read_latch, NULL}, {TXSTMPH, 1, 4, read_latch, NULL}, {TSYNCRXCTL, 1, 4, NULL, write_control},
	{TSYNCTXCTL, 1, 4, NULL, write_control}, {0}};
