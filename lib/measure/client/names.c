// SPDX-License-Identifier: BSD-3-Clause
// Names of modes and stamp sources, and the transport and sources of a run.

#include <tl_client.h>

#include <sys/socket.h>

#include "kernel_priv.h"

const char *tl_client_mode_name(enum tl_client_mode mode)
{
	static const char *const names[] = {"multicast", "tcp", "udp"};

	return names[mode];
}

const char *tl_client_timestamps_name(enum tl_client_timestamps timestamps)
{
	static const char *const names[] = {[TL_CLIENT_STAMPS_AUTO] = "auto",
		[TL_CLIENT_STAMPS_USER] = "user",
		[TL_CLIENT_STAMPS_KERNEL] = "kernel",
		[TL_CLIENT_STAMPS_NIC] = "nic",
		[TL_CLIENT_STAMPS_TSC] = "tsc"};

	return names[timestamps];
}

const struct tl_client_ops *tl_client_transport(const struct tl_client_cfg *cfg)
{
	return cfg->transport != NULL ? cfg->transport : &tl_client_kernel;
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

const struct tl_client_times *tl_client_best(const struct tl_client_result *result)
{
	return result->timestamps == TL_CLIENT_STAMPS_USER ? &result->rtt : &result->wire_rtt;
}

const char *tl_client_best_name(const struct tl_client_result *result)
{
	return result->timestamps == TL_CLIENT_STAMPS_USER ? "rtt_ns" : "wire_rtt_ns";
}
