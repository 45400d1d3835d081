// SPDX-License-Identifier: BSD-3-Clause
// Cards: discovery in the simulated sysfs, register files, and reset.

#include "model.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct card cards[CARDS_MAX];
unsigned n_cards;

static const struct row *const tables[] = {
	card_rows, nvm_rows, phy_rows, sfp_rows, link_rows, rx_rows, tx_rows, fdir_rows, stamp_rows, stats_rows};

// ---- registers

// Several registers have a second address for their first 16 entries (tables 8-4 and following), an alias.
static uint32_t canonical(uint32_t offset)
{
	if (offset - 0x2100 < 0x40)
		return rx_reg((offset - 0x2100) / 4, SRRCTL);
	if (offset - 0x2200 < 0x40)
		return rx_reg((offset - 0x2200) / 4, DCA_RXCTRL);
	if (offset - 0x5400 < 0x80)
		return offset - 0x5400 + RAL(0);
	if (offset - 0x5480 < 0x40)
		return offset - 0x5480 + 0xEA00;
	if (offset == 0xEC80)
		return MRQC;
	if (offset - 0xEB00 < 0xA8)
		return offset - 0xEB00 + RETA(0);
	return offset;
}

uint32_t card_read(struct card *card, uint32_t offset)
{
	offset = canonical(offset);
	card->accesses++;
	if (card->gone) // a read without a completion
		return UINT32_MAX;
	const struct row *row = card->rows[offset / 4];
	return row != NULL && row->read != NULL ? row->read(card, offset) : get(card, offset);
}

void card_write(struct card *card, uint32_t offset, uint32_t value)
{
	offset = canonical(offset);
	card->accesses++;
	if (card->gone)
		return;
	const struct row *row = card->rows[offset / 4];
	if (row != NULL && row->write != NULL)
		row->write(card, offset, value);
	else
		set(card, offset, value);
}

static void enter_rows(struct card *card, const struct row *row)
{
	for (; row->count != 0; row++)
		for (uint32_t i = 0; i < row->count; i++)
			card->rows[(row->first + i * row->stride) / 4] = row;
}

// ---- reset

// 4.2.1 and the initial values of chapter 8. nvm_load() adds those loaded from the NVM.
void card_reset(struct card *card)
{
	memset(card->reg, 0, sizeof(card->reg));
	memset(card->fdir, 0, sizeof(card->fdir));
	memset(card->held_tail, 0, sizeof(card->held_tail));
	frames_clear(&card->buffer);
	set(card, RXPBSIZE(0), 512 << 10);
	set(card, MAXFRS, 1518 << 16);
	set(card, HLREG0, HLREG0_TXPADEN | HLREG0_RXCRCSTRP | 1);
	nvm_load(card);
}

// 8.2.3.1.1: both resets clear themselves when done; 5.2.5.3.2: after Master Disable the model has no pending requests.
static void write_ctrl(struct card *card, uint32_t offset, uint32_t value)
{
	if ((value & CTRL_RESETS) != 0)
		card_reset(card);
	set(card, offset, value & ~CTRL_RESETS);
}

static uint32_t read_status(struct card *card, uint32_t offset)
{
	uint32_t lan = (uint32_t)(card->address[strlen(card->address) - 1] - '0');
	bool master = (get(card, CTRL) & CTRL_MASTER_DISABLE) == 0;

	(void)offset;
	return lan << STATUS_LAN_ID_SHIFT | (master ? STATUS_MASTER_ENABLE : 0);
}

// 8.2.3.12: the path is empty as soon as it is stopped.
static uint32_t read_security_status(struct card *card, uint32_t offset)
{
	uint32_t control = offset == SECTXSTAT ? SECTXCTRL : SECRXCTRL;

	return (get(card, control) & SEC_DISABLE) != 0 ? SEC_READY : 0;
}

static uint32_t read_rdrxctl(struct card *card, uint32_t offset)
{
	return get(card, offset) | RDRXCTL_DMAIDONE;
}

static void ignore(struct card *card, uint32_t offset, uint32_t value)
{
	(void)card, (void)offset, (void)value;
}

const struct row card_rows[] = {{CTRL, 1, 4, NULL, write_ctrl}, {CTRL + 4, 1, 4, NULL, write_ctrl}, // an alias of it
	{STATUS, 1, 4, read_status, ignore}, {SECTXSTAT, 1, 4, read_security_status, ignore},
	{SECRXSTAT, 1, 4, read_security_status, ignore}, {RDRXCTL, 1, 4, read_rdrxctl, NULL}, {0}};

// ---- the simulated sysfs

static bool read_line(const char *dir, const char *address, const char *name, char *text, int size)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s/%s", dir, address, name);
	FILE *file = fopen(path, "re");
	if (file == NULL)
		return false;
	bool got = fgets(text, size, file) != NULL;
	fclose(file);
	if (got)
		text[strcspn(text, "\n")] = '\0';
	return got;
}

// Return the number N of its uio/uioN, or -1.
static int uio_number(const char *dir, const char *address)
{
	char path[PATH_MAX];
	const struct dirent *entry;
	int number = -1;

	snprintf(path, sizeof(path), "%s/%s/uio", dir, address);
	DIR *uio = opendir(path);
	if (uio == NULL)
		return -1;
	while ((entry = readdir(uio)) != NULL)
		(void)sscanf(entry->d_name, "uio%d", &number);
	closedir(uio);
	return number;
}

static enum mac mac_of(uint16_t device)
{
	switch (device) {
	case 0x10F7: // 82599 KX4
	case 0x10FB: // 82599 SFP
		return MAC_82599;
	case 0x1528: // X540-T
		return MAC_X540;
	case 0x1563: // X550-T
		return MAC_X550;
	}
	model_lacks("the device", device);
}

static void add_card(const char *dir, const char *address)
{
	char text[64];
	int uio = uio_number(dir, address);

	if (uio < 0 || n_cards == CARDS_MAX || !read_line(dir, address, "device", text, sizeof(text)))
		return;
	struct card *card = &cards[n_cards++];
	snprintf(card->address, sizeof(card->address), "%.12s", address);
	card->device = (uint16_t)strtoul(text, NULL, 16);
	card->mac = mac_of(card->device);
	card->has_sfp = card->device == 0x10FB;
	(void)read_line(dir, address, "flaws", card->wire.flaws, sizeof(card->wire.flaws));
	if (read_line(dir, address, "early", text, sizeof(text)))
		card->wire.early = (unsigned)strtoul(text, NULL, 10);
	card->is_copper = card->mac != MAC_82599;
	card->uio = (unsigned)uio;
	card->irq_fd = card->bar_fd = card->config_fd = card->wire.tap_fd = -1;
	card->speed_mbps = 10000;
	memcpy(card->mac_addr, (const uint8_t[]){0x02, 0x1b, 0x21, 0, 0, (uint8_t)(uio + 1)}, sizeof(card->mac_addr));
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		enter_rows(card, tables[i]);
	nvm_fill(card);
	sfp_fill(card);
	card_reset(card);
}

struct card *card_by_address(const char *address)
{
	for (unsigned i = 0; i < n_cards; i++)
		if (strcmp(cards[i].address, address) == 0)
			return &cards[i];
	return NULL;
}

// Parse "none", "loop", "peer ADDRESS" or "tap INTERFACE".
static void connect_wire(struct card *card, const char *text)
{
	if (strcmp(text, "loop") == 0) {
		card->wire.kind = WIRE_LOOP;
	} else if (strncmp(text, "peer ", 5) == 0) {
		card->wire.kind = WIRE_PEER;
		card->wire.peer = card_by_address(text + 5);
	} else if (strncmp(text, "tap ", 4) == 0) {
		card->wire.kind = WIRE_TAP;
		snprintf(card->wire.tap_name, sizeof(card->wire.tap_name), "%.15s", text + 4);
	}
	if (card->wire.kind == WIRE_PEER && card->wire.peer == NULL)
		model_lacks("a peer: card", (uint64_t)(card - cards));
}

void cards_find(void)
{
	const char *dir = getenv("SYSFS_PCI_DEVICES");
	struct dirent **names;
	char text[64];
	int n = dir != NULL ? scandir(dir, &names, NULL, alphasort) : 0;

	for (int i = 0; i < n; i++) {
		if (names[i]->d_name[0] != '.')
			add_card(dir, names[i]->d_name);
		free(names[i]);
	}
	if (n > 0)
		free(names);
	for (unsigned i = 0; i < n_cards; i++)
		if (read_line(dir, cards[i].address, "wire", text, sizeof(text)))
			connect_wire(&cards[i], text);
}
