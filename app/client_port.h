// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// client_port: the DPDK resources of `tapline client --port`: EAL, the port, the host on it, and the ledger.

#include <stdio.h>

#include <jansson.h>

#include <tl_client.h>

struct tl_app_client_port;

// Start everything and set up *cfg for a run over the port, with its stamp source. Return 0, or -errno with a message
// in *err: -ENETDOWN: the port has link down.
int tl_app_client_port_open(const struct tl_client_port *wanted, struct tl_client_cfg *cfg,
	struct tl_app_client_port **out, struct tl_err *err);
void tl_app_client_port_close(struct tl_app_client_port *port); // NULL: no operation

// End after all runs: receive the remaining frames and close the ledger. Return true if the ledger holds.
bool tl_app_client_port_end(struct tl_app_client_port *port);

// Add the ledger to the results as the keys port, net and ledger_ok, or print it as a table. Return 0, or -1 if out of
// memory.
int tl_app_client_port_json(const struct tl_app_client_port *port, json_t *results);
void tl_app_client_port_print(const struct tl_app_client_port *port, FILE *out);
