// SPDX-License-Identifier: BSD-3-Clause
// Counters of 8.2.3.23: they clear on read, and saturate.

#include "model.h"

void count(struct card *card, uint32_t offset, uint64_t n)
{
	uint64_t value = get(card, offset) + n;

	set(card, offset, value > UINT32_MAX ? UINT32_MAX : (uint32_t)value);
}

// 36 bits in two registers.
void count_octets(struct card *card, uint32_t low, uint64_t n)
{
	uint64_t value = ((uint64_t)get(card, low + 4) << 32 | get(card, low)) + n;

	set(card, low, (uint32_t)value);
	set(card, low + 4, (uint32_t)(value >> 32) & 0xF);
}

// PRC64 to PRC1522, PTC64 to PTC1522
void count_size(struct card *card, uint32_t first, uint32_t bytes_with_crc)
{
	static const uint32_t ends[] = {64, 127, 255, 511, 1023, UINT32_MAX};
	unsigned i = 0;

	while (bytes_with_crc > ends[i])
		i++;
	count(card, first + 4 * i, 1);
}

static uint32_t read_clear(struct card *card, uint32_t offset)
{
	uint32_t value = get(card, offset);

	set(card, offset, 0);
	return value;
}

static void read_only(struct card *card, uint32_t offset, uint32_t value)
{
	(void)card, (void)offset, (void)value;
}

const struct row stats_rows[] = {{0x4000, 0x130 / 4, 4, read_clear, read_only}, {MPC(0), 8, 4, read_clear, read_only},
	{QPRC(0), STAT_QUEUES, 0x40, read_clear, read_only}, {QBRC_L(0), STAT_QUEUES, 0x40, read_clear, read_only},
	{QBRC_H(0), STAT_QUEUES, 0x40, read_clear, read_only}, {QPRDC(0), STAT_QUEUES, 0x40, read_clear, read_only},
	{QPTC(0), STAT_QUEUES, 0x40, read_clear, read_only}, {QBTC_L(0), 2 * STAT_QUEUES, 4, read_clear, read_only},
	{FDIRMATCH, 2, 4, read_clear, read_only}, {0}};
