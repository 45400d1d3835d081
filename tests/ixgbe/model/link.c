// SPDX-License-Identifier: BSD-3-Clause
// Link state in the MAC's registers, and interrupts.

#include "model.h"

#include <unistd.h>

#define LINKS_UP 0x40000000u
#define LINKS_AN_COMPLETE 0x80000000u
#define LINKS_SPEED_SHIFT 28 // 3: 10 Gb/s, 2: 1 Gb/s, 1: 100 Mb/s (X540, X550)

// 8.2.3.22.20 LINKS
static uint32_t read_links(struct card *card, uint32_t offset)
{
	uint32_t speed = card->speed_mbps == 10000 ? 3 : card->speed_mbps == 1000 ? 2 : 1;

	(void)offset;
	return card->speed_mbps != 0 ? LINKS_UP | LINKS_AN_COMPLETE | speed << LINKS_SPEED_SHIFT : 0;
}

// 8.2.3.22.23 ANLP1: the auto-negotiation state machine has left its initial state.
static uint32_t read_anlp1(struct card *card, uint32_t offset)
{
	(void)card, (void)offset;
	return 0x00010000;
}

// 8.2.3.22.19: Restart_AN clears itself.
static void write_autoc(struct card *card, uint32_t offset, uint32_t value)
{
	set(card, offset, value & ~0x1000u);
}

void link_set(struct card *card, unsigned speed_mbps)
{
	if (speed_mbps == card->speed_mbps)
		return;
	card->speed_mbps = speed_mbps;
	interrupt(card, EICR_LSC);
	tx_kick(card);
}

// ---- 8.2.3.5: causes and masks. igb_uio passes an interrupt to the driver as a count of 4 bytes.

static void tell(struct card *card)
{
	static const uint32_t one = 1;

	if ((get(card, EICR) & get(card, EIMS)) != 0 && card->irq_fd >= 0 && card->irq_open)
		(void)!write(card->irq_fd, &one, sizeof(one));
}

void interrupt(struct card *card, uint32_t cause)
{
	set(card, EICR, get(card, EICR) | cause);
	tell(card);
}

static uint32_t read_eicr(struct card *card, uint32_t offset)
{
	uint32_t causes = get(card, offset);

	set(card, offset, 0);
	return causes;
}

static void write_eicr(struct card *card, uint32_t offset, uint32_t value)
{
	set(card, offset, get(card, offset) & ~value);
}

static void write_eics(struct card *card, uint32_t offset, uint32_t value)
{
	(void)offset;
	interrupt(card, value);
}

static void write_eims(struct card *card, uint32_t offset, uint32_t value)
{
	set(card, offset, get(card, offset) | value);
	tell(card);
}

static void write_eimc(struct card *card, uint32_t offset, uint32_t value)
{
	(void)offset;
	set(card, EIMS, get(card, EIMS) & ~value);
}

const struct row link_rows[] = {{LINKS, 1, 4, read_links, NULL}, {ANLP1, 1, 4, read_anlp1, NULL},
	{AUTOC, 1, 4, NULL, write_autoc}, {EICR, 1, 4, read_eicr, write_eicr}, {EICS, 1, 4, NULL, write_eics},
	{EIMS, 1, 4, NULL, write_eims}, {EIMC, 1, 4, NULL, write_eimc}, {0}};
