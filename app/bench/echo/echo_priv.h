// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// bench_echo internals: one rung at work, and the client.

#include "bench_echo.h"
#include "bench_rig.h"

// A rung between the namespaces, in its own process, and the CPUs.
struct echo_rig {
	struct tl_bench_rig rig;
	const struct tl_bench_echo_cfg *cfg;
	cpu_set_t cpus;
	struct tl_bench_process process;
	bool hugepages; // of the appliance on a NIC
};

// ---- echo_rung.c

// Start what answers the row's protocol, unless it runs. Return 0, or -errno with a message in *err.
int echo_rung_start(struct echo_rig *rig, const struct tl_bench_echo_row *row, struct tl_err *err);
void echo_rung_stop(struct echo_rig *rig, const struct tl_bench_echo_rung *rung);

// ---- echo_client.c

// Send messages of the row's size, paced or as fast as they go, and take the client's counts. Return 0, or -errno with
// a message in *err.
int echo_client(struct echo_rig *rig, const struct tl_bench_echo_row *row, bool bulk, struct tl_bench_echo_run *out,
	struct tl_err *err);

#define ECHO_GROUP "239.1.1.1"
#define ECHO_UDP_PORT 5001
#define ECHO_TCP_PORT 6000    // of the client, to which the appliance connects
#define ECHO_LISTEN_PORT 7000 // of the appliance
