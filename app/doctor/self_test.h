// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// self_test: tapline doctor --self-test: starts DPDK and one port or two, has lib/measure/selftest send and compare,
// and shows what came of it.
//
// Threads: main. Memory: what it takes it gives back.

#include <stdbool.h>

#include <jansson.h>

#include <tl_port.h>

#include "doctor_read.h"

struct tl_self_test {
	const char *devices[2]; // PORT as the user writes it
	unsigned n;
	bool loopback;	    // the first device is to give back what it sends
	bool json;	    // the report on stdout instead of a table
	const char *report; // a file for the report; NULL: none
};

// Returns an exit status.
int tl_self_test(const struct tl_self_test *wanted);

// ---- self_test_facts.c: NULL without memory; the caller's

// Kernel, processor, program and DPDK; nothing that names the host or its user.
json_t *tl_self_test_host(const struct tl_tree *tree, bool hugepages);

// A started port, its driver, its slot, and what differs from the documents of its family.
json_t *tl_self_test_port(const struct tl_tree *tree, struct tl_port *port);
