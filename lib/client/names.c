// SPDX-License-Identifier: BSD-3-Clause
// What modes and sources of stamps are called, and which source this host has.

#include <tl_client.h>

#include <sys/socket.h>

#include "kernel_priv.h"

const char *tl_client_mode_name(enum tl_client_mode mode)
{
	static const char *const names[] = {"multicast", "tcp", "udp"};

	return names[mode];
}

struct source_names {
	const char *name, *tx, *rx;
};

static const struct source_names sources[] = {
	[TL_CLIENT_STAMPS_AUTO] = {"auto", "auto", "auto"},
	[TL_CLIENT_STAMPS_USER] = {"user", "user", "user"},
	[TL_CLIENT_STAMPS_KERNEL] = {"kernel", "kernel", "kernel"},
	[TL_CLIENT_STAMPS_NIC] = {"nic", "nic-tx", "nic-rx"},
};

const char *tl_client_timestamps_name(enum tl_client_timestamps timestamps)
{
	return sources[timestamps].name;
}

const char *tl_client_tx_source(enum tl_client_timestamps timestamps)
{
	return sources[timestamps].tx;
}

const char *tl_client_rx_source(enum tl_client_timestamps timestamps)
{
	return sources[timestamps].rx;
}

enum tl_client_timestamps tl_client_resolve(enum tl_client_timestamps timestamps)
{
	if (timestamps != TL_CLIENT_STAMPS_AUTO)
		return timestamps;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool able = fd >= 0 && tl_client_stamping_enable(fd, TL_CLIENT_STAMPS_KERNEL, true, true) == 0;
	tl_client_close_fd(&fd);
	return able ? TL_CLIENT_STAMPS_KERNEL : TL_CLIENT_STAMPS_USER;
}

const struct tl_hist_summary *tl_client_best(const struct tl_client_result *result)
{
	return result->timestamps == TL_CLIENT_STAMPS_USER ? &result->rtt : &result->wire_rtt;
}

const struct tl_client_spread *tl_client_best_spread(const struct tl_client_result *result)
{
	return result->timestamps == TL_CLIENT_STAMPS_USER ? &result->rtt_spread : &result->wire_spread;
}

const char *tl_client_best_name(const struct tl_client_result *result)
{
	return result->timestamps == TL_CLIENT_STAMPS_USER ? "rtt_ns" : "wire_rtt_ns";
}
