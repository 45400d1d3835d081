// SPDX-License-Identifier: BSD-3-Clause
// An SFP+ module on the two lines of I2CCTL (8.2.3.1.5): the EEPROM of SFF-8472 at address 0xA0, read-only.

#include "model.h"

#include <string.h>

#define CLK_IN 0x1u
#define CLK_OUT 0x2u
#define DATA_IN 0x4u
#define DATA_OUT 0x8u

// SFF-8472, tables 3-1 and 3-5: a 10 Gb/s SR module that also supports 1000BASE-SX is multispeed; this one is not.
void sfp_fill(struct card *card)
{
	memset(card->sfp, 0, sizeof(card->sfp));
	card->sfp[0] = 3;    // identifier: SFP
	card->sfp[3] = 0x10; // 10GBASE-SR
	memcpy(&card->sfp[20], "Model           ", 16);
	memcpy(&card->sfp[37], (const uint8_t[]){0x00, 0x1B, 0x21}, 3); // the vendor's OUI
}

// Falling edge of the clock: the data line may change.
static void on_fall(struct card *card)
{
	typeof(card->i2c) *bus = &card->i2c;

	if (bus->clocks == 8) {
		bus->out = bus->mode == I2C_READ || (bus->mode == I2C_ADDRESS && (bus->byte & 0xFE) != 0xA0);
		if (bus->mode != I2C_READ && bus->out)
			bus->mode = I2C_IDLE;
	} else if (bus->clocks == 9) {
		bus->clocks = 0;
		bus->out = true;
		if (bus->mode == I2C_READ) {
			bus->mode = I2C_IDLE; // the driver reads one byte at a time
		} else if (bus->mode == I2C_OFFSET) {
			bus->offset = bus->byte;
			bus->mode = I2C_IDLE;
		} else if (bus->mode == I2C_ADDRESS) {
			bus->mode = (bus->byte & 1) != 0 ? I2C_READ : I2C_OFFSET;
		}
	}
	if (bus->mode == I2C_READ && bus->clocks < 8)
		bus->out = card->sfp[bus->offset] >> (7 - bus->clocks) & 1;
}

static void on_rise(struct card *card)
{
	if (card->i2c.clocks < 8)
		card->i2c.byte = (uint8_t)(card->i2c.byte << 1 | card->i2c.sda);
	card->i2c.clocks++;
}

static void write_i2cctl(struct card *card, uint32_t offset, uint32_t value)
{
	typeof(card->i2c) *bus = &card->i2c;
	bool scl = (value & CLK_OUT) != 0, sda = (value & DATA_OUT) != 0;

	if (bus->scl && scl && sda != bus->sda) { // start or stop condition
		bus->mode = sda ? I2C_IDLE : I2C_ADDRESS;
		bus->clocks = 0;
		bus->out = true;
	}
	bus->sda = sda;
	if (scl && !bus->scl && bus->mode != I2C_IDLE)
		on_rise(card);
	if (!scl && bus->scl && bus->mode != I2C_IDLE)
		on_fall(card);
	else if (!scl && bus->scl)
		bus->out = true;
	bus->scl = scl;
	set(card, offset, value);
}

static uint32_t read_i2cctl(struct card *card, uint32_t offset)
{
	uint32_t value = get(card, offset) & ~(CLK_IN | DATA_IN);

	value |= card->i2c.scl ? CLK_IN : 0;
	return value | (card->i2c.sda && card->i2c.out ? DATA_IN : 0);
}

const struct row sfp_rows[] = {{I2CCTL, 1, 4, read_i2cctl, write_i2cctl}, {0}};
