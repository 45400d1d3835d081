// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// bench_rig: the environment of a benchmark: two private network namespaces joined by a veth pair, a directory, and the
// processes in them.
//
// Threads: main. Memory: the caller's; end() removes the namespaces and the directory.

#include <limits.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <jansson.h>

struct tl_err;

#define TL_BENCH_APP_IF "app0" // no kernel address: the appliance owns the address
#define TL_BENCH_APP_IP "10.99.0.1"
#define TL_BENCH_PEER_IP "10.99.0.2"

struct tl_bench_rig {
	char app_ns[32], peer_ns[32];
	char dir[64];	     // "" before creation
	char socket[80];     // of the appliance
	char self[PATH_MAX]; // path of this program
	const atomic_bool *stop;
};

// Process in a namespace. Its output is in dir, as NAME.out and NAME.err.
struct tl_bench_process {
	char name[32];
	pid_t pid;
};

// Create the namespaces and the directory. Return 0, or -errno with a message in *err: not root, no ip(8).
int tl_bench_rig_begin(struct tl_bench_rig *rig, const atomic_bool *stop, struct tl_err *err);
void tl_bench_rig_end(struct tl_bench_rig *rig);

// Remove a directory with everything in it; links are not followed.
void tl_bench_remove(const char *dir);

// Start argv (NULL-terminated) in the namespace; NULL: in the caller's. Return 0, or -errno with a message in *err.
int tl_bench_spawn(const struct tl_bench_rig *rig, const char *ns, const char *name, const char *const argv[],
	struct tl_bench_process *out, struct tl_err *err);

// Call main(ctx) in a separate process in the namespace, which is killed when this one ends. main() returns 0, or
// -errno with a message, which becomes the process's last line on stderr. Return as spawn() does.
int tl_bench_fork(const struct tl_bench_rig *rig, const char *ns, const char *name,
	int (*main)(void *ctx, struct tl_err *err), void *ctx, struct tl_bench_process *out, struct tl_err *err);

// Start the appliance in the namespace (likewise), with this configuration and a control socket, and wait until it
// answers. config is taken over; NULL: out of memory. Return 0, or -errno with a message in *err.
int tl_bench_appliance(
	struct tl_bench_rig *rig, const char *ns, json_t *config, struct tl_bench_process *out, struct tl_err *err);

// Query the appliance's status; NULL: no answer.
json_t *tl_bench_status(const struct tl_bench_rig *rig);

// Run ip(8). Return 0, or -errno with a message in *err.
int tl_bench_ip(const struct tl_bench_rig *rig, const char *const argv[], struct tl_err *err);

// Wait for the process to exit. Return 0 for exit status 0; -EINTR when *stop was set, -ETIMEDOUT; else -EIO with its
// last line on stderr.
int tl_bench_wait(
	const struct tl_bench_rig *rig, struct tl_bench_process *process, uint64_t timeout_ms, struct tl_err *err);

// Send the signal, wait at most 30 s, then kill the process. Return as wait() does.
int tl_bench_stop(const struct tl_bench_rig *rig, struct tl_bench_process *process, int number, struct tl_err *err);

// Wait until ready(ctx) is true or the process has exited. Return 0, or -EINTR, -ETIMEDOUT or -EIO with a message in
// *err.
int tl_bench_wait_for(const struct tl_bench_rig *rig, struct tl_bench_process *process, bool (*ready)(void *ctx),
	void *ctx, struct tl_err *err);

// Check whether NAME.err contains the text.
bool tl_bench_said(const struct tl_bench_rig *rig, const char *name, const char *text);

// Return the JSON in NAME.out; NULL with a message in *err if there is none.
json_t *tl_bench_output(const struct tl_bench_rig *rig, const char *name, struct tl_err *err);

// Return the CPU at a place of the set, modulo its size.
unsigned tl_bench_cpu(const cpu_set_t *cpus, unsigned place);

// Check whether a program of this name is in $PATH.
bool tl_bench_has(const char *program);
