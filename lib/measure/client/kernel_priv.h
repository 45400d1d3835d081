// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Shared by the files of the kernel transport: opening sockets, and stamps of the kernel and of its interfaces.

#include <linux/ethtool.h>
#include <linux/net_tstamp.h>
#include <net/if.h>

#include <tl_client_link.h>

// ---- sockets.c

int tl_client_connect(int fd, struct tl_client_endpoint to);
int tl_client_set_option(int fd, int level, int name, int value);
int tl_client_socket(const struct tl_client_cfg *cfg, int type); // address family of the run
void tl_client_close_fd(int *fd);

// Bind the source address; unspecified: the kernel chooses. Return 0, or -1 and errno.
int tl_client_bind_source(int fd, const struct tl_client_cfg *cfg);

// These functions set *out also when they fail. Return 0, or -errno with a message.
int tl_client_open_udp(const struct tl_client_cfg *cfg, struct tl_client_endpoint to, int *out, struct tl_err *err);
int tl_client_open_listener(const struct tl_client_cfg *cfg, int *out, struct tl_err *err);

// Return the interface that has the address; 0: none.
unsigned tl_client_interface_of(const struct tl_client_endpoint *at);

// ---- stamping.c

// Request stamps of sent packets, received packets, or both. Return 0 or -errno.
int tl_client_stamping_enable(int fd, enum tl_client_timestamps source, bool sends, bool receives);

// Wait until the kernel stamps arrivals, some 2 s at most: it starts in a work item, some time after a socket has
// requested it (net_enable_timestamp() of Linux, net/core/dev.c). Without a loopback interface there is no wait.
// Return a socket that keeps the stamps enabled until it is closed, or -1.
int tl_client_stamping_await(void);

// Receive with the stamp of the data read last.
ssize_t tl_client_stamping_receive(int fd, void *data, size_t room, struct tl_client_arrival *arrival);

// Read the next TX stamp from the error queue.
bool tl_client_stamping_departed(int fd, struct tl_client_departure *departure);

// ---- stamping.c: configuration of a NIC

// Interface whose NIC stamps all frames, and its previous configuration.
struct tl_client_nic {
	char name[IFNAMSIZ];
	struct hwtstamp_config before;
	bool changed;
};

// Enable stamping on the interface of the run's packets. Return 0, or -errno with a message: -EOPNOTSUPP if it cannot
// stamp.
int tl_client_nic_begin(struct tl_client_nic *nic, const struct tl_client_cfg *cfg, struct tl_err *err);
void tl_client_nic_end(struct tl_client_nic *nic);

// Check that the driver's capabilities suffice.
int tl_client_nic_check(const struct ethtool_ts_info *info, const char *name, struct tl_err *err);
