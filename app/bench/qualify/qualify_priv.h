// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <stdint.h>

struct tl_err;

// Write a pcap file of UDP frames of 256 flows, size bytes each without FCS. Return 0, or -errno with a message in
// *err.
int qualify_write_frames(const char *path, uint32_t size, struct tl_err *err);
