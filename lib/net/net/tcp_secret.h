// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Unpredictable numbers: keyed hash and initial sequence numbers (tcp_isn.c), SYN cookies (tcp_cookie.c).
//
// Threads: the lcore that owns the net.

#include "tcp_seg.h"

// Keyed hash of a word; of the addresses and ports of a connection.
uint64_t tl_tcp_hash(const uint64_t secret[2], uint64_t word);
uint64_t tl_tcp_hash_key(const struct tl_net *net, const uint64_t secret[2], struct tl_tcp_key key);

uint32_t tl_tcp_isn(struct tl_net *net, struct tl_tcp_key key);

// Answer the SYN in c, the scratch connection, with a cookie.
void tl_tcp_cookie_send(struct tl_net *net, struct tl_tcp *c, uint32_t peer_isn);
// True if seg acknowledges a cookie of ours.
bool tl_tcp_cookie_check(const struct tl_net *net, struct tl_tcp_key key, const struct tl_tcp_seg *seg);
// Restore the SYN-RECEIVED state of c from the cookie.
void tl_tcp_cookie_open(struct tl_tcp *c, const struct tl_tcp_seg *seg);
