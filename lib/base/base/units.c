// SPDX-License-Identifier: BSD-3-Clause
// Parsing and formatting of numbers, addresses and sizes.

#include <tl_units.h>

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SECONDS_MAX (UINT64_C(100) * 36525 * 864) // 100 years of 365.25 days

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

// Parse digits and advance *text. Signs and white space are not accepted.
static int take_u64(const char **text, uint64_t *out)
{
	const char *p = *text;
	uint64_t value = 0;

	if (!is_digit(*p))
		return -EINVAL;
	for (; is_digit(*p); p++) {
		if (__builtin_mul_overflow(value, 10, &value) ||
			__builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
			return -ERANGE;
	}
	*text = p;
	*out = value;
	return 0;
}

int tl_parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
	uint64_t value;

	if (text[strspn(text, "0123456789")] != '\0')
		return -EINVAL;
	int ret = take_u64(&text, &value);
	if (ret != 0)
		return ret;
	if (value < min || value > max)
		return -ERANGE;
	*out = value;
	return 0;
}

// Exponent of two of a suffix, or -EINVAL.
static int suffix_shift(const char *suffix)
{
	static const char units[] = "KMGT";

	if (suffix[0] == '\0')
		return 0;
	const char *unit = strchr(units, suffix[0]);
	if (unit == NULL || suffix[1] != '\0')
		return -EINVAL;
	return 10 * (int)(unit - units + 1);
}

int tl_parse_bytes(const char *text, uint64_t *out_bytes)
{
	int shift = suffix_shift(text + strspn(text, "0123456789"));
	uint64_t value;

	if (shift < 0)
		return shift;
	int ret = take_u64(&text, &value);
	if (ret != 0)
		return ret;
	if (value > UINT64_MAX >> shift)
		return -ERANGE;
	*out_bytes = value << shift;
	return 0;
}

// Parse the digits after a decimal point as nanoseconds; truncate finer ones.
static int take_fraction(const char **text, uint64_t *out_ns)
{
	const char *p = *text;
	uint64_t ns = 0;

	if (!is_digit(*p))
		return -EINVAL;
	for (uint64_t unit = TL_NS_PER_S / 10; is_digit(*p); p++, unit /= 10)
		ns += (uint64_t)(*p - '0') * unit;
	*text = p;
	*out_ns = ns;
	return 0;
}

int tl_parse_seconds(const char *text, uint64_t *out_ns)
{
	uint64_t seconds;
	uint64_t ns = 0;

	int ret = take_u64(&text, &seconds);
	if (ret == 0 && *text == '.') {
		text++;
		ret = take_fraction(&text, &ns);
	}
	if (ret != 0)
		return ret;
	if (*text != '\0')
		return -EINVAL;
	if (seconds > SECONDS_MAX || (seconds == SECONDS_MAX && ns != 0))
		return -ERANGE;
	*out_ns = seconds * TL_NS_PER_S + ns;
	return 0;
}

int tl_parse_ipv4(const char *text, uint32_t *out_be)
{
	struct in_addr addr;

	if (inet_pton(AF_INET, text, &addr) != 1)
		return -EINVAL;
	*out_be = addr.s_addr;
	return 0;
}

int tl_parse_mac(const char *text, uint8_t out[6])
{
	static const char digits[] = "0123456789abcdef0123456789ABCDEF";

	for (unsigned i = 0; i < 17; i++, text++) {
		const char *digit = *text != '\0' ? strchr(digits, *text) : NULL;
		if (i % 3 == 2 ? *text != ':' : digit == NULL)
			return -EINVAL;
		if (i % 3 != 2)
			out[i / 3] = (uint8_t)(out[i / 3] << 4 | ((digit - digits) & 15));
	}
	return *text == '\0' ? 0 : -EINVAL;
}

// Parse "ADDRESS<mark>NUMBER", the number in [1, max].
static int parse_ipv4_and_number(const char *text, char mark, uint64_t max, uint32_t *out_ip_be, uint64_t *out_number)
{
	char address[TL_IPV4_TEXT];
	const char *at = strchr(text, mark);

	if (at == NULL || (size_t)(at - text) >= sizeof(address))
		return -EINVAL;
	memcpy(address, text, (size_t)(at - text));
	address[at - text] = '\0';
	if (tl_parse_u64(at + 1, 1, max, out_number) != 0)
		return -EINVAL;
	return tl_parse_ipv4(address, out_ip_be);
}

int tl_parse_ipv4_prefix(const char *text, uint32_t *out_ip_be, uint32_t *out_mask_be)
{
	uint64_t bits;

	int ret = parse_ipv4_and_number(text, '/', 32, out_ip_be, &bits);
	if (ret == 0)
		*out_mask_be = htonl(UINT32_MAX << (32 - bits));
	return ret;
}

int tl_parse_endpoint(const char *text, uint32_t *out_ip_be, uint16_t *out_port_be)
{
	uint64_t port;

	int ret = parse_ipv4_and_number(text, ':', UINT16_MAX, out_ip_be, &port);
	if (ret == 0)
		*out_port_be = htons((uint16_t)port);
	return ret;
}

int tl_parse_ipv6(const char *text, struct tl_ip6 *out)
{
	return inet_pton(AF_INET6, text, out) == 1 ? 0 : -EINVAL;
}

// Parse the address in text[0..len) and the number after it.
static int parse_ipv6_and_number(
	const char *text, size_t len, const char *number, uint64_t max, struct tl_ip6 *out, uint64_t *out_number)
{
	char address[TL_IPV6_TEXT];

	if (len >= sizeof(address) || tl_parse_u64(number, 1, max, out_number) != 0)
		return -EINVAL;
	memcpy(address, text, len);
	address[len] = '\0';
	return tl_parse_ipv6(address, out);
}

int tl_parse_ipv6_prefix(const char *text, struct tl_ip6 *out, uint8_t *out_bits)
{
	const char *slash = strchr(text, '/');
	uint64_t bits;

	if (slash == NULL || parse_ipv6_and_number(text, (size_t)(slash - text), slash + 1, 128, out, &bits) != 0)
		return -EINVAL;
	*out_bits = (uint8_t)bits;
	return 0;
}

int tl_parse_endpoint6(const char *text, struct tl_ip6 *out, uint16_t *out_port_be)
{
	const char *end = strstr(text, "]:");
	uint64_t port;

	if (*text != '[' || end == NULL ||
		parse_ipv6_and_number(text + 1, (size_t)(end - text - 1), end + 2, UINT16_MAX, out, &port) != 0)
		return -EINVAL;
	*out_port_be = htons((uint16_t)port);
	return 0;
}

bool tl_ip6_is_host(const struct tl_ip6 *ip)
{
	static const struct tl_ip6 loopback = {{[15] = 1}};

	return tl_ip6_is_set(ip) && !tl_ip6_equal(ip, &loopback) && !tl_ip6_is_mcast(ip);
}

bool tl_ip6_same_prefix(const struct tl_ip6 *a, const struct tl_ip6 *b, uint8_t bits)
{
	uint8_t bytes = bits / 8, left = bits % 8;

	if (memcmp(a, b, bytes) != 0)
		return false;
	return left == 0 || ((a->byte[bytes] ^ b->byte[bytes]) >> (8 - left)) == 0;
}

char *tl_format_ipv6(const struct tl_ip6 *ip, char *buf)
{
	inet_ntop(AF_INET6, ip, buf, TL_IPV6_TEXT);
	return buf;
}

char *tl_format_endpoint6(const struct tl_ip6 *ip, uint16_t port_be, char *buf)
{
	char address[TL_IPV6_TEXT];

	snprintf(buf, TL_ENDPOINT6_TEXT, "[%s]:%u", tl_format_ipv6(ip, address), ntohs(port_be));
	return buf;
}

char *tl_format_ipv4(uint32_t ip_be, char *buf)
{
	uint8_t part[4];

	memcpy(part, &ip_be, sizeof(part));
	snprintf(buf, TL_IPV4_TEXT, "%u.%u.%u.%u", part[0], part[1], part[2], part[3]);
	return buf;
}

char *tl_format_ether(const uint8_t mac[6], char *buf)
{
	snprintf(buf, TL_ETHER_TEXT, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
	return buf;
}

char *tl_format_endpoint(uint32_t ip_be, uint16_t port_be, char *buf)
{
	char address[TL_IPV4_TEXT];

	snprintf(buf, TL_ENDPOINT_TEXT, "%s:%u", tl_format_ipv4(ip_be, address), ntohs(port_be));
	return buf;
}

char *tl_format_bytes(uint64_t bytes, char *buf, size_t size)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double value = (double)bytes;
	size_t unit = 0;

	// 1023.95 would be formatted as 1024.0.
	while (unit + 1 < TL_ARRAY_LEN(units) && value >= (unit == 0 ? 1024.0 : 1023.95)) {
		value /= 1024.0;
		unit++;
	}
	snprintf(buf, size, "%.*f %s", unit == 0 ? 0 : 1, value, units[unit]);
	return buf;
}

char *tl_format_scaled(double value, char *buf, size_t size)
{
	static const char units[] = " kMGT";
	unsigned unit = 0;

	while (value >= 999.5 && unit + 2 < sizeof(units)) {
		value /= 1000;
		unit++;
	}
	if (unit == 0)
		snprintf(buf, size, "%.0f", value);
	else
		snprintf(buf, size, "%.*f%c", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, units[unit]);
	return buf;
}

char *tl_format_ns(uint64_t ns, char *buf, size_t size)
{
	static const struct {
		uint64_t ns;
		const char *name;
	} units[] = {{TL_NS_PER_S, "s"}, {TL_NS_PER_MS, "ms"}, {TL_NS_PER_US, "us"}};

	for (size_t i = 0; i < TL_ARRAY_LEN(units); i++) {
		if (ns < units[i].ns)
			continue;
		uint64_t thousandth = ns % units[i].ns / (units[i].ns / 1000);
		snprintf(buf, size, "%" PRIu64 ".%03" PRIu64 " %s", ns / units[i].ns, thousandth, units[i].name);
		return buf;
	}
	snprintf(buf, size, "%" PRIu64 " ns", ns);
	return buf;
}
