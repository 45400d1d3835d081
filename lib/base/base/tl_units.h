// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// units: parsing and formatting of numbers, addresses and sizes. Pure functions.

#include <stdbool.h>
#include <string.h>

#include <tl_base.h>

#define TL_IPV4_TEXT 16	 // "255.255.255.255" and its NUL
#define TL_IPV6_TEXT 46	 // INET6_ADDRSTRLEN
#define TL_ETHER_TEXT 18 // "aa:bb:cc:dd:ee:ff" and its NUL
#define TL_ENDPOINT_TEXT 22
#define TL_ENDPOINT6_TEXT 54

// An IPv6 address in packet order. All zero (::): none.
struct tl_ip6 {
	uint8_t byte[16];
};

// Parse a decimal integer in [min, max], without surrounding text. Return 0, -EINVAL (no number), -ERANGE.
int tl_parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *out);

// Parse a size in bytes: a number with an optional K, M, G or T (powers of 1024). Return 0, -EINVAL, -ERANGE.
int tl_parse_bytes(const char *text, uint64_t *out_bytes);

// Parse a duration in seconds ("2.5") to nanoseconds; up to 100 years. Return 0, -EINVAL, -ERANGE.
int tl_parse_seconds(const char *text, uint64_t *out_ns);

// Parse a point in time to nanoseconds since 1970: "2026-11-21T04:25:16.123456789Z" (UTC; Z, fraction, seconds and time
// of day are optional, T may be a space), "@1795235116.123456789", or "-60" or "-60s", relative to now_ns. Return 0 or
// -EINVAL.
int tl_parse_time(const char *text, uint64_t now_ns, uint64_t *out_ns);

// Return CLOCK_MONOTONIC in ns.
uint64_t tl_mono_ns(void);

// Parse "192.0.2.1" to network byte order. Return 0 or -EINVAL.
int tl_parse_ipv4(const char *text, uint32_t *out_be);

// Parse "192.0.2.1/24" to address and mask, network byte order; prefix 1..32. Return 0 or -EINVAL.
int tl_parse_ipv4_prefix(const char *text, uint32_t *out_ip_be, uint32_t *out_mask_be);

// Parse "192.0.2.1:5000", port 1..65535, both network byte order. Return 0 or -EINVAL.
int tl_parse_endpoint(const char *text, uint32_t *out_ip_be, uint16_t *out_port_be);

// Parse "2001:db8::1"; "2001:db8::1/64", prefix 1..128; "[2001:db8::1]:5000", port 1..65535 in network byte order; a
// MAC address "aa:bb:cc:dd:ee:ff". Return 0 or -EINVAL.
int tl_parse_mac(const char *text, uint8_t out[6]);

int tl_parse_ipv6(const char *text, struct tl_ip6 *out);
int tl_parse_ipv6_prefix(const char *text, struct tl_ip6 *out, uint8_t *out_bits);
int tl_parse_endpoint6(const char *text, struct tl_ip6 *out, uint16_t *out_port_be);

static inline bool tl_ip6_equal(const struct tl_ip6 *a, const struct tl_ip6 *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

static inline bool tl_ip6_is_set(const struct tl_ip6 *ip)
{
	return !tl_ip6_equal(ip, &(struct tl_ip6){0});
}

static inline bool tl_ip6_is_mcast(const struct tl_ip6 *ip)
{
	return ip->byte[0] == 0xff;
}

static inline bool tl_ip6_is_link_local(const struct tl_ip6 *ip) // fe80::/10
{
	return ip->byte[0] == 0xfe && (ip->byte[1] & 0xc0) == 0x80;
}

// True unless ::, ::1 or a group.
bool tl_ip6_is_host(const struct tl_ip6 *ip);

// True if the first bits are equal.
bool tl_ip6_same_prefix(const struct tl_ip6 *a, const struct tl_ip6 *b, uint8_t bits);

// Format into a buffer of at least TL_IPV4_TEXT, TL_ETHER_TEXT, TL_ENDPOINT_TEXT bytes and so on; return buf.
char *tl_format_ipv6(const struct tl_ip6 *ip, char *buf);
char *tl_format_endpoint6(const struct tl_ip6 *ip, uint16_t port_be, char *buf);
char *tl_format_ipv4(uint32_t ip_be, char *buf);
char *tl_format_ether(const uint8_t mac[6], char *buf);
char *tl_format_endpoint(uint32_t ip_be, uint16_t port_be, char *buf);

// Format as "1.5 GiB", "312 B"; return buf.
char *tl_format_bytes(uint64_t bytes, char *buf, size_t size);

// Format as "1.234 us", "17 ns", "2.500 s"; return buf.
char *tl_format_ns(uint64_t ns, char *buf, size_t size);

// Format to three digits, with k, M, G or T for powers of 1000: "950", "14.9k", "1.25M"; return buf. value: at least 0.
char *tl_format_scaled(double value, char *buf, size_t size);
