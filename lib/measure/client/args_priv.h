// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Command line as given, before validation.

#include <tl_client.h>

#define MIN_PAYLOAD_BYTES 8
#define MAX_UDP_PAYLOAD_BYTES 1472
#define MAX_UDP6_PAYLOAD_BYTES 1452
#define MAX_TCP_PAYLOAD_BYTES 1048576
#define LEAD_US 100
#define LEAD_US_TEXT "100"
#define MAX_LEAD_US 5000 // half of the time from the start to the first message

// Values as given, before they are validated together. A port of 0 means: not given.
struct tl_client_given {
	bool kernel, json, help, require_valid;
	struct tl_client_endpoint group, source, gateway; // addresses only
	struct tl_client_port port;
	struct tl_client_endpoint tcp_listen, tcp_connect, udp_echo;
	struct tl_client_sweep rate_pps, payload_bytes; // n values; axis not set
	enum tl_client_timestamps timestamps;
	const char *null_path;
	struct tl_latency_files files;
	uint64_t udp_port, ttl, spin_us, cold, burst;
	double max_loss;
	uint64_t duration_ns, connect_timeout_ns, linger_ns;
};

bool tl_client_endpoint_is_set(const struct tl_client_endpoint *at);

double tl_client_seconds_of(uint64_t ns);

// Fill given from the defaults and then from argv. Return 0, or -EINVAL with a message.
int tl_client_read_options(int argc, char **argv, struct tl_client_given *given, struct tl_err *err);
