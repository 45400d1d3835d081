// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// client_port: what `tapline client --port` has beside the client: DPDK, the port, our host on it, and the ledger.

#include <stdio.h>

#include <jansson.h>

#include <tl_client.h>

struct tl_app_client_port;

// Starts all and makes *cfg a run over it; the source of stamps is known then. Returns 0, or -errno and the sentence:
// -ENETDOWN: the port has no link.
int tl_app_client_port_open(const struct tl_client_port *wanted, struct tl_client_cfg *cfg,
	struct tl_app_client_port **out, struct tl_err *err);
void tl_app_client_port_close(struct tl_app_client_port *port); // NULL: nothing

// All runs are over: receives what is left and closes the account. Returns whether the ledger holds.
bool tl_app_client_port_end(struct tl_app_client_port *port);

// The account: as keys port, net and ledger_ok of the results, or as a table. Returns 0, or -1 without memory.
int tl_app_client_port_json(const struct tl_app_client_port *port, json_t *results);
void tl_app_client_port_print(const struct tl_app_client_port *port, FILE *out);
