// SPDX-License-Identifier: BSD-3-Clause
// Emulate the interface between igb_uio and a user-space driver, for the cards of the model.
//
// /dev/uioN is one end of a socket pair, the configuration space a file in memory, and BAR 0 memory without access
// (trap.c). EAL discovers the cards in the directory of SYSFS_PCI_DEVICES.

#include "model.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define IOVA_PA 1
#define IOVA_VA 2

__attribute__((constructor)) static void model_begin(void)
{
	cards_find();
	if (n_cards > 0)
		trap_begin();
}

// ---- files

// 8.3 of the datasheet: identifiers, and a command register with memory space and bus mastering enabled.
static int open_config(struct card *card)
{
	if (card->config_fd >= 0)
		return dup(card->config_fd);
	uint8_t space[256] = {0x86, 0x80, (uint8_t)card->device, (uint8_t)(card->device >> 8), 0x06, 0, 0x10, 0};

	space[0x0B] = 0x02; // class: network
	card->config_fd = memfd_create("config", MFD_CLOEXEC);
	if (card->config_fd < 0 || write(card->config_fd, space, sizeof(space)) != (ssize_t)sizeof(space))
		abort();
	return dup(card->config_fd);
}

static int open_uio(struct card *card)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		return -1;
	card->irq_fd = ends[1];
	wire_begin();
	return ends[0];
}

static int open_bar(struct card *card)
{
	return card->bar_fd = memfd_create("resource0", MFD_CLOEXEC);
}

// Return the card of the path; -2: none.
static int open_card(const char *path)
{
	const char *dir = getenv("SYSFS_PCI_DEVICES");
	size_t dir_chars = dir != NULL ? strlen(dir) : 0;
	char name[64];

	for (unsigned i = 0; i < n_cards; i++) {
		snprintf(name, sizeof(name), "/dev/uio%u", cards[i].uio);
		if (strcmp(path, name) == 0)
			return open_uio(&cards[i]);
		snprintf(name, sizeof(name), "/sys/class/uio/uio%u/device/config", cards[i].uio);
		if (strcmp(path, name) == 0)
			return open_config(&cards[i]);
		if (dir == NULL || strncmp(path, dir, dir_chars) != 0)
			continue;
		snprintf(name, sizeof(name), "/%.15s/resource0", cards[i].address);
		if (strcmp(path + dir_chars, name) == 0)
			return open_bar(&cards[i]);
		snprintf(name, sizeof(name), "/%.15s/config", cards[i].address);
		if (strcmp(path + dir_chars, name) == 0)
			return open_config(&cards[i]);
	}
	return -2;
}

static int do_open(const char *path, int flags, mode_t mode)
{
	int fd = open_card(path);

	return fd != -2 ? fd : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
	va_list list;

	va_start(list, flags);
	mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(list, mode_t) : 0;
	va_end(list);
	return do_open(path, flags | O_LARGEFILE, mode);
}

int __open64_2(const char *path, int flags);

int __open64_2(const char *path, int flags)
{
	return do_open(path, flags | O_LARGEFILE, 0);
}

// ---- memory

void *mmap64(void *address, size_t bytes, int protection, int flags, int fd, off64_t offset)
{
	struct card *card = NULL;

	for (unsigned i = 0; i < n_cards && fd >= 0; i++)
		if (cards[i].bar_fd == fd)
			card = &cards[i];
	if (card == NULL)
		return (void *)syscall(SYS_mmap, address, bytes, protection, flags, fd, offset);
	flags = (flags & ~MAP_SHARED) | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	void *bar = (void *)syscall(SYS_mmap, address, bytes, PROT_NONE, flags, -1, 0);
	card->bar_fd = -1;
	card->bar = bar != MAP_FAILED ? bar : NULL;
	return bar;
}

int munmap(void *address, size_t bytes)
{
	for (unsigned i = 0; i < n_cards; i++)
		if (cards[i].bar == address && address != NULL)
			cards[i].bar = NULL;
	return (int)syscall(SYS_munmap, address, bytes);
}

// ---- EAL: the PCI bus accepts cards of igb_uio with IOVA as PA only; everything else needs IOVA as VA

int rte_eal_iova_mode(void);
int rte_bus_get_iommu_class(void);
int rte_eal_using_phys_addrs(void);

int rte_eal_iova_mode(void)
{
	Dl_info info;
	bool known = dladdr(__builtin_return_address(0), &info) != 0 && info.dli_fname != NULL;

	return known && strstr(info.dli_fname, "librte_bus_pci") != NULL ? IOVA_PA : IOVA_VA;
}

int rte_bus_get_iommu_class(void)
{
	return IOVA_VA;
}

int rte_eal_using_phys_addrs(void)
{
	return 1;
}
