// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Shared by the files of metrics that fill latency reports.

#include <tl_latency.h>
#include <tl_tail.h>

// Add the kept samples, each once per message; NULL: none. Return 0 or -ENOMEM.
int metrics_add_samples(struct tl_latency *report, const struct tl_tail_samples *samples);
