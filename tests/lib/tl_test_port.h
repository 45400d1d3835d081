// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// test_port: a started port, for the tests of modules above port.
//
// Threads: main. Memory: the port is the caller's, who closes it; the clock must outlive it.

#include <stdio.h>

#include <tl_err.h>
#include <tl_port.h>

// Open and start a port. NULL: the reason has been printed.
static inline struct tl_port *tl_test_port_queues(
	const char *text, uint16_t rx_queues, uint16_t tx_queues, const struct tl_clock *clock)
{
	static int number;
	struct tl_port *port;
	struct tl_err err;
	char name[16];
	struct tl_port_cfg cfg = {.name = name,
		.rx_queues = rx_queues,
		.tx_queues = tx_queues,
		.mtu = 1500,
		.clock = clock,
		.socket_id = 0};

	snprintf(name, sizeof(name), "port%d", number++);
	if (tl_port_spec_parse(text, &cfg.spec, &err) != 0 || tl_port_open(&cfg, &port, &err) != 0 ||
		tl_port_start(port, &err) != 0) {
		printf("# %s\n", err.text);
		return NULL;
	}
	return port;
}

static inline struct tl_port *tl_test_port(const char *text, uint16_t tx_queues, const struct tl_clock *clock)
{
	return tl_test_port_queues(text, 1, tx_queues, clock);
}
