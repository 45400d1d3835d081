// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// disk_shares: recordings that share the bandwidth of a disk ("share" in the configuration), and readers beside them,
// such as `tapline extract --share`.
//
// Threads: main only. Memory: create/destroy; configuration and recordings are borrowed for life.

#include <stdint.h>
#include <sys/types.h>

#include <jansson.h>

#include <tl_capture.h>
#include <tl_config.h>

struct tl_err;
struct tl_disk_shares;

int tl_disk_shares_create(const struct tl_config *config, struct tl_capture *const *captures,
	struct tl_disk_shares **out, struct tl_err *err);
void tl_disk_shares_destroy(struct tl_disk_shares *shares);

// Divide each share by the loads of its writers, if an interval has passed. Main calls it every 20 ms, so that it is
// done 100 ms later at the latest.
void tl_disk_shares_divide(struct tl_disk_shares *shares, uint64_t now_ns);

// Answer a reader's request, "NAME RATE BYTES": the share, the largest rate in bit/s, and the bytes read so far. The
// process is a member for a second: nonprod, of weight 1. The reply has its limit.
json_t *tl_disk_shares_read(struct tl_disk_shares *shares, const char *text, pid_t pid, uint64_t now_ns);
