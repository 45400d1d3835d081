// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// bench_rig: where a benchmark runs: two network namespaces of its own joined by a veth pair, a directory, and the
// processes in them.
//
// Threads: main. Memory: the caller's; end() removes the namespaces and the directory.

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <jansson.h>

struct tl_err;

#define TL_BENCH_APP_IF "app0" // has no address of the kernel's: it is the appliance's
#define TL_BENCH_APP_IP "10.99.0.1"
#define TL_BENCH_PEER_IP "10.99.0.2"

struct tl_bench_rig {
	char app_ns[32], peer_ns[32];
	char dir[64];	     // "" until there is one
	char self[PATH_MAX]; // this program
	const atomic_bool *stop;
};

// A process in a namespace. Its output is in dir, as NAME.out and NAME.err.
struct tl_bench_process {
	char name[32];
	pid_t pid;
};

// Returns 0, or -errno and a sentence: not root, no ip(8).
int tl_bench_rig_begin(struct tl_bench_rig *rig, const atomic_bool *stop, struct tl_err *err);
void tl_bench_rig_end(struct tl_bench_rig *rig);

// Starts argv (its end is NULL) in the namespace. Returns 0, or -errno and a sentence.
int tl_bench_spawn(const struct tl_bench_rig *rig, const char *ns, const char *name, const char *const argv[],
	struct tl_bench_process *out, struct tl_err *err);

// Waits for its end: 0 if that was with status 0; -EINTR when *stop was set, -ETIMEDOUT; else -EIO with the last line
// it said on stderr.
int tl_bench_wait(
	const struct tl_bench_rig *rig, struct tl_bench_process *process, uint64_t timeout_ms, struct tl_err *err);

// Sends the signal and waits, at most 30 s; then it is killed. Returns as wait() does.
int tl_bench_stop(const struct tl_bench_rig *rig, struct tl_bench_process *process, int number, struct tl_err *err);

// Waits until ready(ctx) or the process has ended. Returns 0, -EINTR, -ETIMEDOUT or -EIO, and a sentence.
int tl_bench_await(const struct tl_bench_rig *rig, struct tl_bench_process *process, bool (*ready)(void *ctx),
	void *ctx, struct tl_err *err);

// Whether the text is in NAME.err.
bool tl_bench_said(const struct tl_bench_rig *rig, const char *name, const char *text);

// The JSON in NAME.out; NULL and a sentence when there is none.
json_t *tl_bench_output(const struct tl_bench_rig *rig, const char *name, struct tl_err *err);

// Whether a program of this name is in $PATH.
bool tl_bench_has(const char *program);
