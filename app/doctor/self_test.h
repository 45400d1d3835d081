// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// self_test: tapline doctor --self-test: start DPDK and one or two ports, send and compare with lib/measure/selftest,
// and show the results.
//
// Threads: main. Memory: freed before return.

#include <stdbool.h>

#include <jansson.h>

#include <tl_port.h>

#include "doctor_read.h"

struct tl_self_test {
	const char *devices[2]; // PORT as given by the user
	unsigned n;
	bool loopback;	    // the first device loops back its own frames
	bool json;	    // report on stdout instead of a table
	const char *report; // file for the report; NULL: none
};

// Run the self-test. Return an exit status.
int tl_self_test(const struct tl_self_test *wanted);

// ---- self_test_facts.c: NULL without memory; the caller's

// Return kernel, processor, program and DPDK facts; nothing that identifies the host or its user.
json_t *tl_self_test_host(const struct tl_tree *tree, bool hugepages);

// Return a started port's driver, its slot, and its deviations from the documents of its family.
json_t *tl_self_test_port(const struct tl_tree *tree, struct tl_port *port);
