// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// latency_dir: creates the directory of `run --latency`.

struct tl_err;

// Create the directory if it is missing, and give it to the user (NULL: keep the owner). Return 0, or -errno with a
// message in *err.
int tl_latency_dir_make(const char *dir, const char *user, struct tl_err *err);
