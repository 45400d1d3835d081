// SPDX-License-Identifier: BSD-3-Clause
// NVM, values loaded from it by a reset, its semaphores, and the X550's access to it through the firmware.

#include "model.h"

#include <string.h>

#define WORDS (sizeof(((struct card *)0)->nvm) / 2)
#define NVM_SUM 0xBABA // 6.2.? checksum: of words 0 to 0x3F and of the sections

enum { WORD_CHECKSUM = 0x3F, WORD_FIRMWARE = 0x0F, WORD_SFP_LIST = 0x2B, WORD_CAPABILITIES = 0x2C };

// Sections, after the header.
enum { AT_FIRMWARE = 0x100, AT_PATCH = 0x120, AT_SFP_LIST = 0x140, AT_SFP_DATA = 0x160 };

// 6.5: a firmware module whose version permits SFI devices, and a list of values for CORECTL by type of module: pairs
// of type and section, then 0xFFFF.
static void fill_sfp(uint16_t *nvm)
{
	nvm[WORD_FIRMWARE] = AT_FIRMWARE;
	nvm[AT_FIRMWARE + 4] = AT_PATCH;
	nvm[AT_PATCH + 7] = 6;
	nvm[WORD_SFP_LIST] = AT_SFP_LIST;
	nvm[AT_SFP_LIST] = 0xFFFF;
	for (uint16_t kind = 0; kind < 12; kind++) {
		nvm[AT_SFP_LIST + 1 + 2 * kind] = kind;
		nvm[AT_SFP_LIST + 2 + 2 * kind] = AT_SFP_DATA;
	}
	nvm[AT_SFP_LIST + 1 + 2 * 12] = 0xFFFF;
	nvm[AT_SFP_DATA] = 2;
	nvm[AT_SFP_DATA + 1] = 0x1234;
	nvm[AT_SFP_DATA + 2] = 0xFFFF;
}

void nvm_fill(struct card *card)
{
	uint16_t *nvm = card->nvm, sum = 0;

	memset(nvm, 0, sizeof(card->nvm));
	nvm[0] = 0x4000;
	nvm[WORD_CAPABILITIES] = 0x0001; // any SFP+ module is allowed
	if (card->has_sfp)
		fill_sfp(nvm);
	for (unsigned i = 0; i < WORD_CHECKSUM; i++)
		sum = (uint16_t)(sum + nvm[i]);
	nvm[WORD_CHECKSUM] = (uint16_t)(NVM_SUM - sum);
}

uint16_t nvm_word(const struct card *card, uint32_t word)
{
	return word < WORDS ? card->nvm[word] : 0xFFFF;
}

// 8.2.3.7.9: RAL and RAH 0 are loaded from the NVM. AUTOC (8.2.3.22.19) too: backplane with clause 73, or serial 10
// Gb/s to a module, with SFI selected by AUTOC2.
void nvm_load(struct card *card)
{
	const uint8_t *mac = card->mac_addr;

	set(card, EEC, EEC_PRESENT | EEC_AUTO_READ_DONE | EEC_LONG_ADDRESSES | 4u << EEC_SIZE_SHIFT); // 1 Ki words
	set(card, EEMNGCTL, EEMNGCTL_CFG_DONE);
	set(card, HICR, HICR_ENABLE);
	set(card, RAL(0), (uint32_t)mac[3] << 24 | (uint32_t)mac[2] << 16 | (uint32_t)mac[1] << 8 | mac[0]);
	set(card, RAH(0), RAH_VALID | (uint32_t)mac[5] << 8 | mac[4]);
	set(card, AUTOC, card->has_sfp ? 0x00006000 : 0xC0008280);
	set(card, AUTOC2, card->has_sfp ? 0x00020000 : 0);
	set(card, ESDP, card->has_sfp ? 0x4 : 0); // SDP2: module present
}

// ---- 8.2.3.2.1 EEC: the chip over SPI, bit by bit. A command of 8 bits, for READ an address of 16, then data.

//
// The only other command of drivers reads the status: its 8 bits of data, all 0, end before an address would.

enum { SPI_ADDRESSED = 24 };

static bool chip_bit(const struct card *card)
{
	unsigned k = card->spi.bits - SPI_ADDRESSED, at = card->spi.in + k / 8;
	uint16_t word = nvm_word(card, at / 2);

	return ((at & 1) != 0 ? word >> 8 : word) >> (7 - k % 8) & 1;
}

static void clock_chip(struct card *card, bool to_chip)
{
	typeof(card->spi) *spi = &card->spi;

	if (spi->bits >= SPI_ADDRESSED)
		spi->out = chip_bit(card);
	else
		spi->in = (spi->in << 1 | to_chip) & 0xFFFF;
	spi->bits++;
}

static void write_eec(struct card *card, uint32_t offset, uint32_t value)
{
	bool rises = (value & EEC_CLOCK) != 0 && (get(card, offset) & EEC_CLOCK) == 0;

	if ((value & EEC_DESELECT) != 0)
		memset(&card->spi, 0, sizeof(card->spi));
	else if (rises)
		clock_chip(card, (value & EEC_TO_CHIP) != 0);
	value &= ~EEC_GRANT;
	set(card, offset, (value & EEC_REQUEST) != 0 ? value | EEC_GRANT : value);
}

static uint32_t read_eec(struct card *card, uint32_t offset)
{
	uint32_t value = get(card, offset) & ~EEC_FROM_CHIP;

	return card->spi.out ? value | EEC_FROM_CHIP : value;
}

// ---- 8.2.3.2.2 EERD

static void write_eerd(struct card *card, uint32_t offset, uint32_t value)
{
	uint32_t word = value >> 2 & 0x3FFF;

	if ((value & EERD_START) != 0)
		value = (uint32_t)nvm_word(card, word) << 16 | word << 2 | EERD_DONE;
	set(card, offset, value);
}

// ---- 8.2.3.4.? SWSM: a read returns SMBI and sets it, so that only one reader finds it clear

static uint32_t read_swsm(struct card *card, uint32_t offset)
{
	uint32_t value = get(card, offset);

	set(card, offset, value | 1);
	return value;
}

// ---- X550's host interface: the driver requests words of the NVM from the firmware

enum { COMMAND_READ_NVM = 0x31, BUFFER_ADDRESS = 1, BUFFER_LENGTH = 2, BUFFER_DATA = 3 };

// A buffer has a header (command, length, status, checksum), the big-endian byte address and the length, then data.
static void read_by_firmware(struct card *card)
{
	uint32_t at = __builtin_bswap32(get(card, FLEX_MNG + 4 * BUFFER_ADDRESS));
	uint32_t bytes = be16((const uint8_t *)&card->reg[(FLEX_MNG + 4 * BUFFER_LENGTH) / 4]);

	for (uint32_t i = 0; i < bytes; i += 4) {
		uint32_t words = nvm_word(card, (at + i) / 2) | (uint32_t)nvm_word(card, (at + i) / 2 + 1) << 16;
		set(card, FLEX_MNG + 4 * BUFFER_DATA + i, words);
	}
}

static void write_hicr(struct card *card, uint32_t offset, uint32_t value)
{
	if ((value & HICR_COMMAND) != 0) {
		if ((get(card, FLEX_MNG) & 0xFF) == COMMAND_READ_NVM)
			read_by_firmware(card);
		value = (value & ~HICR_COMMAND) | HICR_STATUS_VALID;
	}
	set(card, offset, value | HICR_ENABLE);
}

const struct row nvm_rows[] = {{EEC, 1, 4, read_eec, write_eec}, {EERD, 1, 4, NULL, write_eerd},
	{SWSM, 1, 4, read_swsm, NULL}, {HICR, 1, 4, NULL, write_hicr}, {0}};
