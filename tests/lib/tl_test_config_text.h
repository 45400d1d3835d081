// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// test_config_text: texts of configuration files.

#include <arpa/inet.h>
#include <unistd.h>

#include <jansson.h>

#include <tl_test_config.h>

#include <config_priv.h>

// Wrappers that shorten the tests to the mistake.
#define PORT(keys) "{'ports': [{'name': 'a', 'device': 'eth0'" keys "}]}"
#define PORTS2(keys_a, keys_b)                                                                                         \
	"{'ports': [{'name': 'a', 'device': 'eth0'" keys_a "},\n{'name': 'b', 'device': 'eth1'" keys_b "}]}"
#define CAPTURE(keys) "{'ports': [{'name': 'a', 'device': 'eth0'}],\n'capture': [{'port': 'a', 'path': 'f'" keys "}]}"
#define IP ", 'ip': '192.0.2.1/24'"
#define ECHO(entries) "{'ports': [{'name': 'a', 'device': 'eth0'" IP "}],\n'echo': [" entries "]}"
#define MCAST(group, port) "'receive': {'group': '" group "', 'udp_port': " port "}"
#define SEND "'send': {'tcp_connect': '192.0.2.9:5000'}"

#define PORT6 "{'ports': [{'name': 'a', 'device': 'eth0', 'ip6': '2001:db8::1/64'"
#define ECHO6(entry) PORT6 "}],\n'echo': [{'port': 'a', " entry "}]}"
#define SEND6(peer) "'send': {'tcp_connect': '" peer "'}"

#define REPLAY(keys) PORTS_OF_REPLAY "'replay': [{'name': 'r', 'port': 'a', 'files': ['x', 'y']" keys "}]}"
#define PORTS_OF_REPLAY "{'ports': [{'name': 'a', 'device': 'eth0'}, {'name': 'b', 'device': 'eth1'" IP "}],\n"
