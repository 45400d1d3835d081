// SPDX-License-Identifier: BSD-3-Clause
// Surprise removal of a card: its BAR is mapped from an empty file, so an access is a genuine SIGBUS, and the kernel's
// uevent comes from an emulated socket.

#include "model.h"

#include <linux/netlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static int uevent_ends[2] = {-1, -1}; // the program's, ours

int socket(int domain, int type, int protocol)
{
	if (n_cards == 0 || domain != AF_NETLINK || protocol != NETLINK_KOBJECT_UEVENT)
		return (int)syscall(SYS_socket, domain, type, protocol);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | (type & (SOCK_NONBLOCK | SOCK_CLOEXEC)), 0, uevent_ends) != 0)
		return -1;
	return uevent_ends[0];
}

int bind(int fd, const struct sockaddr *address, socklen_t bytes)
{
	return fd >= 0 && fd == uevent_ends[0] ? 0 : (int)syscall(SYS_bind, fd, address, bytes);
}

static void announce(const struct card *card)
{
	char text[256];
	int n = snprintf(text, sizeof(text),
		"remove@/devices/pci0000:00/%s%cACTION=remove%cSUBSYSTEM=pci%cPCI_SLOT_NAME=%s%c", card->address, 0, 0,
		0, card->address, 0);

	if (uevent_ends[1] >= 0)
		(void)!write(uevent_ends[1], text, (size_t)n);
}

// PCI Express 2.3.2: a read without a completion returns all ones, from the configuration space, too.
void vanish(struct card *card)
{
	uint8_t ones[256];

	memset(ones, 0xFF, sizeof(ones));
	card->gone = true;
	card->speed_mbps = 0;
	(void)!pwrite(card->config_fd, ones, sizeof(ones), 0);
}

void unplug(struct card *card)
{
	int fd = memfd_create("gone", MFD_CLOEXEC);

	vanish(card);
	if (card->bar != NULL && fd >= 0)
		mmap(card->bar, BAR_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
	card->bar = NULL;
	if (fd >= 0)
		close(fd);
	announce(card);
}
