// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// police: a policer in front of an echo. It colours each message at its reception, and drops it, or passes it on to the
// callback that the echo would have without it.
//
// Threads: the lcore of the host; init and fini on main. Memory: allocated in init.

#include "echo_priv.h"

#include <tl_policer.h>

struct tl_echo_police {
	struct tl_policer policer;
	uint64_t *msgs[TL_METER_COLOURS]; // counters of the echo
	void (*mcast)(void *echo, const struct tl_udp_datagram *datagram);
	void (*udp)(void *echo, const struct tl_udp_datagram *datagram);
};

// police.c: allocate for the echoes that have a policer. Return 0, or -EINVAL, -ENOMEM with a message.
int tl_echo_police_init(struct tl_echo_host *host, const struct tl_echo_cfg *echoes, int socket_id, struct tl_err *err);
void tl_echo_police_fini(struct tl_echo_host *host); // also after a failed init

// police_dp.c: callbacks of the stack.
void tl_echo_policed_mcast_datagram(void *echo, const struct tl_udp_datagram *datagram);
void tl_echo_policed_udp_datagram(void *echo, const struct tl_udp_datagram *datagram);
