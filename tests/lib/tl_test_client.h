// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// test_client: options and counts of an echo client.

#include "tl_test.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <tl_client_link.h>
#include <tl_client_msg.h>

#define SEED 42

static const struct tl_client_sources sources = {.transport = "kernel", .departures = "kernel", .arrivals = "kernel"};
