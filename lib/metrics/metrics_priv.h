// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What the files of metrics that fill latency reports share.

#include <tl_latency.h>
#include <tl_tail.h>

// Samples that were kept, each as often as there were messages; NULL: none. Returns 0 or -ENOMEM.
int metrics_add_samples(struct tl_latency *report, const struct tl_tail_samples *samples);
