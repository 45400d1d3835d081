// SPDX-License-Identifier: BSD-3-Clause
// The copper PHY of the X540 and X550 behind MSCA and MSRWD (8.2.3.22.11): registers of IEEE 802.3 clause 45 that keep
// written values, and the few read by the driver. The model's 82599 cards have none.

#include "model.h"

#define PHY_REGISTERS 64
#define PHY_ADDRESS 0
#define MSCA_COMMAND 0x40000000u
#define MSCA_READ 0x0C000000u
#define MSCA_WRITE 0x04000000u
#define MSCA_OPERATION 0x0C000000u

static struct {
	const struct card *card;
	uint32_t where; // device type and register, in MSCA's format
	uint16_t value;
} registers[PHY_REGISTERS];

static uint16_t *find(const struct card *card, uint32_t where)
{
	for (unsigned i = 0; i < PHY_REGISTERS; i++) {
		if (registers[i].card == NULL) {
			registers[i].card = card;
			registers[i].where = where;
		}
		if (registers[i].card == card && registers[i].where == where)
			return &registers[i].value;
	}
	model_lacks("room for the PHY's register", where);
}

static uint16_t read_phy(const struct card *card, uint32_t where)
{
	switch (where) {
	case 0x10002: // PMA/PMD identifier
		return 0x0154;
	case 0x10003:
		return card->mac == MAC_X540 ? 0x0200 : 0x0220;
	case 0x10004: // speed ability: 10 Gb/s, 1 Gb/s, 100 Mb/s
		return 0x0031;
	case 0x1000B: // extended ability: the same as BASE-T
		return 0x0034;
	case 0x70001: // auto-negotiation: done, link is up
		return card->speed_mbps != 0 ? 0x0024 : 0x0000;
	}
	return *find(card, where);
}

// Clause 45: the data cycle repeats the register in MSCA, therefore the address cycle has no effect. The PHY's reset
// bit clears at once.
static void write_msca(struct card *card, uint32_t offset, uint32_t value)
{
	uint32_t where = value & 0x1FFFFF, operation = value & MSCA_OPERATION;
	bool present = card->is_copper && (value >> 21 & 0x1F) == PHY_ADDRESS;

	if ((value & MSCA_COMMAND) != 0 && operation == MSCA_READ)
		set(card, MSRWD, (present ? read_phy(card, where) : 0xFFFFu) << 16);
	else if ((value & MSCA_COMMAND) != 0 && operation == MSCA_WRITE && present)
		*find(card, where) = (uint16_t)(get(card, MSRWD) & 0x7FFF);
	set(card, offset, value & ~MSCA_COMMAND);
}

const struct row phy_rows[] = {{MSCA, 1, 4, NULL, write_msca}, {0}};
