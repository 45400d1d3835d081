// SPDX-License-Identifier: BSD-3-Clause
// Errors and units: user input is parsed exactly or rejected.

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <tl_err.h>
#include <tl_files.h>
#include <tl_heap.h>
#include <tl_log.h>
#include <tl_progress.h>
#include <tl_random.h>
#include <tl_remedy.h>
#include <tl_test.h>
#include <tl_text.h>
#include <tl_units.h>

TL_TEST("an error is one formatted sentence, its code unchanged")
{
	struct tl_err err;

	CU_ASSERT_EQUAL(tl_fail(&err, -EINVAL, "port %d: unknown", 3), -EINVAL);
	CU_ASSERT_STRING_EQUAL(err.text, "port 3: unknown");
}

TL_TEST("the error argument may be NULL")
{
	CU_ASSERT_EQUAL(tl_fail(NULL, -ENOENT, "nobody reads this"), -ENOENT);
	CU_ASSERT_EQUAL(tl_fail_at(NULL, -ENOENT, "nobody"), -ENOENT);
}

TL_TEST("each caller prefixes its place to the error")
{
	struct tl_err err;

	tl_fail(&err, -EINVAL, "not a number");
	CU_ASSERT_EQUAL(tl_fail_at(&err, -EINVAL, "/ports/%u/mtu", 1), -EINVAL);
	CU_ASSERT_EQUAL(tl_fail_at(&err, -ERANGE, "run.json"), -ERANGE);
	CU_ASSERT_STRING_EQUAL(err.text, "run.json: /ports/1/mtu: not a number");
}

TL_TEST("a message that is too long is truncated")
{
	struct tl_err err;
	char text[600];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	tl_fail(&err, -EINVAL, "%s", text);
	CU_ASSERT_EQUAL(strlen(err.text), sizeof(err.text) - 1);
	tl_fail_at(&err, -EINVAL, "place");
	CU_ASSERT_EQUAL(strlen(err.text), sizeof(err.text) - 1);
	CU_ASSERT_EQUAL(strncmp(err.text, "place: xxx", 10), 0);
	tl_fail_at(&err, -EINVAL, "%.510s", text);
	CU_ASSERT_EQUAL(strlen(err.text), sizeof(err.text) - 1);
	CU_ASSERT_EQUAL(err.text[510], ':');
	tl_fail_at(&err, -EINVAL, "%s", text);
	CU_ASSERT_EQUAL(strlen(err.text), sizeof(err.text) - 1);
	CU_ASSERT_EQUAL(err.text[510], 'x');
}

TL_TEST("integers are parsed up to 2^64 - 1")
{
	uint64_t n = 7;

	CU_ASSERT_EQUAL(tl_parse_u64("0", 0, UINT64_MAX, &n), 0);
	CU_ASSERT_EQUAL(n, 0);
	CU_ASSERT_EQUAL(tl_parse_u64("18446744073709551615", 0, UINT64_MAX, &n), 0);
	CU_ASSERT_EQUAL(n, UINT64_MAX);
	CU_ASSERT_EQUAL(tl_parse_u64("5", 5, 5, &n), 0);
	CU_ASSERT_EQUAL(n, 5);
}

TL_TEST("a number with surrounding text or out of range is refused")
{
	static const char *const not_numbers[] = {
		"", " 1", "1 ", "-1", "+1", "0x10", "1.0", "1e3", "eins", "99999999999999999999 "};
	uint64_t n = 7;

	for (size_t i = 0; i < TL_ARRAY_LEN(not_numbers); i++)
		CU_ASSERT_EQUAL(tl_parse_u64(not_numbers[i], 0, UINT64_MAX, &n), -EINVAL);
	CU_ASSERT_EQUAL(tl_parse_u64("18446744073709551616", 0, UINT64_MAX, &n), -ERANGE);
	CU_ASSERT_EQUAL(tl_parse_u64("99999999999999999999", 0, UINT64_MAX, &n), -ERANGE);
	CU_ASSERT_EQUAL(tl_parse_u64("4", 5, 6, &n), -ERANGE);
	CU_ASSERT_EQUAL(tl_parse_u64("7", 5, 6, &n), -ERANGE);
	CU_ASSERT_EQUAL(n, 7);
}

TL_TEST("K, M, G and T in sizes are powers of 1024")
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} good[] = {{"0", 0}, {"1500", 1500}, {"64K", 65536}, {"2M", 2 << 20}, {"1G", 1 << 30},
		{"16777215T", UINT64_C(16777215) << 40}};
	static const char *const bad[] = {"", "K", "1k", "1KB", "1 K", "1.5G", "-1K", "1P", "99999999999999999999x"};
	uint64_t bytes;

	for (size_t i = 0; i < TL_ARRAY_LEN(good); i++) {
		CU_ASSERT_EQUAL(tl_parse_bytes(good[i].text, &bytes), 0);
		CU_ASSERT_EQUAL(bytes, good[i].bytes);
	}
	for (size_t i = 0; i < TL_ARRAY_LEN(bad); i++)
		CU_ASSERT_EQUAL(tl_parse_bytes(bad[i], &bytes), -EINVAL);
	CU_ASSERT_EQUAL(tl_parse_bytes("16777216T", &bytes), -ERANGE);
	CU_ASSERT_EQUAL(tl_parse_bytes("99999999999999999999", &bytes), -ERANGE);
}

TL_TEST("durations are exact to the nanosecond, up to 100 years")
{
	static const struct {
		const char *text;
		uint64_t ns;
	} good[] = {{"0", 0}, {"1", TL_NS_PER_S}, {"2.5", 2500 * TL_NS_PER_MS}, {"0.000000001", 1}, {"0.0000000019", 1},
		{"10.250", 10250 * TL_NS_PER_MS}, {"3155760000", 3155760000 * TL_NS_PER_S}};
	static const char *const bad[] = {"", ".", ".5", "1.", "1,5", "-1", "1s", "1.5.5", " 1", "1e3"};
	uint64_t ns;

	for (size_t i = 0; i < TL_ARRAY_LEN(good); i++) {
		CU_ASSERT_EQUAL(tl_parse_seconds(good[i].text, &ns), 0);
		CU_ASSERT_EQUAL(ns, good[i].ns);
	}
	for (size_t i = 0; i < TL_ARRAY_LEN(bad); i++)
		CU_ASSERT_EQUAL(tl_parse_seconds(bad[i], &ns), -EINVAL);
	CU_ASSERT_EQUAL(tl_parse_seconds("3155760000.000000001", &ns), -ERANGE);
	CU_ASSERT_EQUAL(tl_parse_seconds("3155760001", &ns), -ERANGE);
	CU_ASSERT_EQUAL(tl_parse_seconds("99999999999999999999", &ns), -ERANGE);
}

TL_TEST("an IPv4 address is exactly four decimal numbers")
{
	static const char *const bad[] = {
		"", "192.0.2", "192.0.2.256", "192.0.2.1 ", "192.0.2.01", "host", "::1", "192.0.2.1.1"};
	uint32_t ip_be;

	CU_ASSERT_EQUAL(tl_parse_ipv4("192.0.2.1", &ip_be), 0);
	CU_ASSERT_EQUAL(ip_be, htonl(0xc0000201));
	for (size_t i = 0; i < TL_ARRAY_LEN(bad); i++)
		CU_ASSERT_EQUAL(tl_parse_ipv4(bad[i], &ip_be), -EINVAL);
}

TL_TEST("a prefix gives an address and its mask")
{
	static const char *const bad[] = {"192.0.2.1", "192.0.2.1/0", "192.0.2.1/33", "192.0.2.1/", "/24",
		"192.0.2.1/24/8", "1920.1920.1920.1920/24"};
	uint32_t ip_be, mask_be;

	CU_ASSERT_EQUAL(tl_parse_ipv4_prefix("192.0.2.1/24", &ip_be, &mask_be), 0);
	CU_ASSERT_EQUAL(ip_be, htonl(0xc0000201));
	CU_ASSERT_EQUAL(mask_be, htonl(0xffffff00));
	CU_ASSERT_EQUAL(tl_parse_ipv4_prefix("10.0.0.1/32", &ip_be, &mask_be), 0);
	CU_ASSERT_EQUAL(mask_be, UINT32_MAX);
	CU_ASSERT_EQUAL(tl_parse_ipv4_prefix("10.0.0.1/1", &ip_be, &mask_be), 0);
	CU_ASSERT_EQUAL(mask_be, htonl(0x80000000));
	for (size_t i = 0; i < TL_ARRAY_LEN(bad); i++)
		CU_ASSERT_EQUAL(tl_parse_ipv4_prefix(bad[i], &ip_be, &mask_be), -EINVAL);
}

TL_TEST("an endpoint is an address and a nonzero port")
{
	static const char *const bad[] = {
		"192.0.2.1", "192.0.2.1:", "192.0.2.1:0", "192.0.2.1:65536", ":5000", "192.0.2.1:5000x", "host:5000"};
	uint32_t ip_be;
	uint16_t port_be;

	CU_ASSERT_EQUAL(tl_parse_endpoint("192.0.2.1:5000", &ip_be, &port_be), 0);
	CU_ASSERT_EQUAL(ip_be, htonl(0xc0000201));
	CU_ASSERT_EQUAL(port_be, htons(5000));
	CU_ASSERT_EQUAL(tl_parse_endpoint("0.0.0.0:65535", &ip_be, &port_be), 0);
	CU_ASSERT_EQUAL(port_be, UINT16_MAX);
	for (size_t i = 0; i < TL_ARRAY_LEN(bad); i++)
		CU_ASSERT_EQUAL(tl_parse_endpoint(bad[i], &ip_be, &port_be), -EINVAL);
}

TL_TEST("the longest address texts fit their buffers")
{
	static const uint8_t mac[6] = {0xaa, 0xbb, 0xcc, 0x0d, 0xee, 0xff};
	char ip[TL_IPV4_TEXT], ether[TL_ETHER_TEXT], endpoint[TL_ENDPOINT_TEXT];

	CU_ASSERT_STRING_EQUAL(tl_format_ipv4(UINT32_MAX, ip), "255.255.255.255");
	CU_ASSERT_STRING_EQUAL(tl_format_ipv4(htonl(0x0a000001), ip), "10.0.0.1");
	CU_ASSERT_STRING_EQUAL(tl_format_ether(mac, ether), "aa:bb:cc:0d:ee:ff");
	CU_ASSERT_STRING_EQUAL(tl_format_endpoint(UINT32_MAX, UINT16_MAX, endpoint), "255.255.255.255:65535");
}

TL_TEST("bytes are formatted in a suitable unit")
{
	char buf[32];

	CU_ASSERT_STRING_EQUAL(tl_format_bytes(0, buf, sizeof(buf)), "0 B");
	CU_ASSERT_STRING_EQUAL(tl_format_bytes(312, buf, sizeof(buf)), "312 B");
	CU_ASSERT_STRING_EQUAL(tl_format_bytes(1023, buf, sizeof(buf)), "1023 B");
	CU_ASSERT_STRING_EQUAL(tl_format_bytes(1024, buf, sizeof(buf)), "1.0 KiB");
	CU_ASSERT_STRING_EQUAL(tl_format_bytes((1 << 20) - 1, buf, sizeof(buf)), "1.0 MiB");
	CU_ASSERT_STRING_EQUAL(tl_format_bytes(UINT64_C(3) << 29, buf, sizeof(buf)), "1.5 GiB");
	CU_ASSERT_STRING_EQUAL(tl_format_bytes(UINT64_MAX, buf, sizeof(buf)), "16.0 EiB");
	CU_ASSERT_STRING_EQUAL(tl_format_bytes(312, buf, 3), "31");
}

TL_TEST("times are formatted in a suitable unit")
{
	char buf[32];

	CU_ASSERT_STRING_EQUAL(tl_format_ns(0, buf, sizeof(buf)), "0 ns");
	CU_ASSERT_STRING_EQUAL(tl_format_ns(999, buf, sizeof(buf)), "999 ns");
	CU_ASSERT_STRING_EQUAL(tl_format_ns(1234, buf, sizeof(buf)), "1.234 us");
	CU_ASSERT_STRING_EQUAL(tl_format_ns(999999, buf, sizeof(buf)), "999.999 us");
	CU_ASSERT_STRING_EQUAL(tl_format_ns(1000000, buf, sizeof(buf)), "1.000 ms");
	CU_ASSERT_STRING_EQUAL(tl_format_ns(2500 * TL_NS_PER_MS, buf, sizeof(buf)), "2.500 s");
	CU_ASSERT_STRING_EQUAL(tl_format_ns(UINT64_MAX, buf, sizeof(buf)), "18446744073.709 s");
}

TL_TEST("times are parsed as UTC, as seconds since 1970 and as an age")
{
	const uint64_t s = TL_NS_PER_S, now_ns = 1795235116 * s + 5;
	const struct {
		const char *text;
		uint64_t ns;
	} good[] = {
		{"2026-11-21T04:25:16.123456789Z", 1795235116 * s + 123456789},
		{"2026-11-21T04:25:16.123456789", 1795235116 * s + 123456789},
		{"2026-11-21 04:25:16.5", 1795235116 * s + 500000000},
		{"2026-11-21T04:25", 1795235100 * s},
		{"2026-11-21", 1795219200 * s},
		{"1970-01-01T00:00:00Z", 0},
		{"2024-02-29", 1709164800 * s},
		{"@1795235116.000000001", 1795235116 * s + 1},
		{"@0", 0},
		{"-60s", 1795235056 * s + 5},
		{"-0.000000005", 1795235116 * s},
	};
	static const char *const bad[] = {"", "now", "2026", "2026-11-21T", "2026-11-21T04:25:16.", "2026-13-01",
		"2025-02-29", "2026-11-21T24:00:01", "2026-11-21T04:25:16+01:00", "2026-11-21T04:25:16.1234567891",
		"1969-12-31", "@", "@-1", "@1.5.5", "@99999999999999999999", "-", "-s", "--5", " 2026-11-21",
		"2026-11-21T04:25:60"};
	uint64_t ns;

	setenv("TZ", "Asia/Kolkata", 1);
	tzset();
	for (size_t i = 0; i < TL_ARRAY_LEN(good); i++) {
		int rc = tl_parse_time(good[i].text, now_ns, &ns);
		if (rc != 0 || ns != good[i].ns)
			printf("# %s\n", good[i].text);
		CU_ASSERT_EQUAL(rc, 0);
		CU_ASSERT_EQUAL(ns, good[i].ns);
	}
	for (size_t i = 0; i < TL_ARRAY_LEN(bad); i++) {
		int rc = tl_parse_time(bad[i], now_ns, &ns);
		if (rc == 0)
			printf("# %s\n", bad[i]);
		CU_ASSERT_EQUAL(rc, -EINVAL);
	}
	unsetenv("TZ");
	tzset();
}

// Values of the SplitMix64 reference implementation for this seed.
TL_TEST("random words follow SplitMix64 on every machine")
{
	static const uint64_t expected[] = {UINT64_C(6457827717110365317), UINT64_C(3203168211198807973),
		UINT64_C(9817491932198370423), UINT64_C(4593380528125082431), UINT64_C(16408922859458223821)};
	uint64_t state = 1234567;

	for (size_t i = 0; i < TL_ARRAY_LEN(expected); i++)
		CU_ASSERT_EQUAL(tl_random_next(&state), expected[i]);
}

TL_TEST("control characters and invalid UTF-8 are escaped")
{
	static const struct {
		const char *text, *shown;
	} table[] = {{"rec/a b.pcapng", "rec/a b.pcapng"}, {"\x1b[2Jx", "\\x1b[2Jx"},
		{"a\nb\tc\x7f", "a\\x0ab\\x09c\\x7f"},
		{"M\u00fcnchen \u6771\U0001f600", "M\u00fcnchen \u6771\U0001f600"},
		{"\xc2\x9b"
		 "31m",
			"\\xc2\\x9b31m"},
		{"\x9b"
		 "31m",
			"\\x9b31m"},
		{"\xc3", "\\xc3"}, {"\xe0\x80\x9b", "\\xe0\\x80\\x9b"}, {"\xed\xa0\x80", "\\xed\\xa0\\x80"},
		{"\xff\xfe", "\\xff\\xfe"}, {"", ""}};

	for (size_t i = 0; i < TL_ARRAY_LEN(table); i++)
		CU_ASSERT_STRING_EQUAL(TL_PRINTABLE(table[i].text), table[i].shown);
	CU_ASSERT_PTR_NULL(TL_PRINTABLE(NULL));
}

TL_TEST("an escape is printed whole or not at all")
{
	char buf[8];

	CU_ASSERT_STRING_EQUAL(tl_printable("abc\x1b", buf, 8), "abc\\x1b");
	CU_ASSERT_STRING_EQUAL(tl_printable("abcd\x1b", buf, 8), "abcd");
	CU_ASSERT_STRING_EQUAL(tl_printable("abcdef\u00fc", buf, 8), "abcdef");
	CU_ASSERT_STRING_EQUAL(tl_printable("abcdefgh", buf, 8), "abcdefg");
}

TL_TEST("an error of a file ends with its remedy, if there is one")
{
	struct tl_err err;

	tl_fail(&err, -ENOSPC, "x: cannot write: no space%s", tl_remedy(-ENOSPC));
	CU_ASSERT_STRING_EQUAL(err.text, "x: cannot write: no space; free some space");
	CU_ASSERT_STRING_EQUAL(tl_remedy(-EACCES), tl_remedy(-EPERM));
	CU_ASSERT_STRING_EQUAL(tl_remedy(-ENOTTY), "");
	CU_ASSERT_STRING_EQUAL(tl_remedy(0), "");
}

TL_TEST("a line of progress is due every two seconds, not at once")
{
	struct tl_progress progress = {0};
	uint64_t begin_ns = 5 * TL_NS_PER_S;

	CU_ASSERT_FALSE(tl_progress_is_due(&progress, begin_ns));
	CU_ASSERT_FALSE(tl_progress_is_due(&progress, begin_ns + 2 * TL_NS_PER_S - 1));
	CU_ASSERT_TRUE(tl_progress_is_due(&progress, begin_ns + 2 * TL_NS_PER_S));
	CU_ASSERT_FALSE(tl_progress_is_due(&progress, begin_ns + 4 * TL_NS_PER_S - 1));
	CU_ASSERT_TRUE(tl_progress_is_due(&progress, begin_ns + 9 * TL_NS_PER_S));
	CU_ASSERT_FALSE(tl_progress_is_due(&progress, begin_ns + 11 * TL_NS_PER_S - 1));
}

TL_TEST("control characters of a log line are escaped")
{
	FILE *file = tmpfile();
	int saved = dup(STDERR_FILENO);
	char line[128] = "";

	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	dup2(fileno(file), STDERR_FILENO);
	tl_warn("%s: cannot open", "a\x1b]0;x\x07\nb");
	dup2(saved, STDERR_FILENO);
	close(saved);
	rewind(file);
	CU_ASSERT_PTR_NOT_NULL(fgets(line, sizeof(line), file));
	CU_ASSERT_STRING_EQUAL(line, "tapline: warning: a\\x1b]0;x\\x07\\x0ab: cannot open\n");
	fclose(file);
}

#define HEAP_ITEMS 50

static uint32_t earliest(const uint64_t due[HEAP_ITEMS])
{
	uint32_t first = 0;

	for (uint32_t i = 1; i < HEAP_ITEMS; i++)
		if (due[i] < due[first])
			first = i;
	return first;
}

// Compare with a linear search.
TL_TEST("a heap returns the earliest item after any sequence of insertions, moves and removals")
{
	struct tl_heap_node node[HEAP_ITEMS];
	uint32_t place[HEAP_ITEMS] = {0};
	uint64_t due[HEAP_ITEMS], state = 5;
	struct tl_heap heap = {.node = node, .place = place};

	CU_ASSERT_EQUAL(tl_heap_due(&heap), TL_HEAP_NEVER);
	memset(due, 0xff, sizeof(due));
	for (unsigned i = 0; i < 100000; i++) {
		uint32_t item = (uint32_t)(tl_random_next(&state) % HEAP_ITEMS);
		uint64_t at = tl_random_next(&state) % 100;
		due[item] = at < 40 ? TL_HEAP_NEVER : at;
		tl_heap_set(&heap, item, due[item]);
		uint32_t first = earliest(due);
		CU_ASSERT_EQUAL_FATAL(tl_heap_due(&heap), due[first]);
		if (due[first] != TL_HEAP_NEVER)
			CU_ASSERT_EQUAL_FATAL(tl_heap_first(&heap), first);
	}
}

// ---- files

static int pread_calls; // odd calls fail with EINTR, even calls return at most two bytes

ssize_t pread(int fd, void *data, size_t len, off_t offset)
{
	if (pread_calls++ % 2 != 0)
		return syscall(SYS_pread64, fd, data, tl_min_u64(len, 2), offset);
	errno = EINTR;
	return -1;
}

TL_TEST("an interrupted or short read is continued, and fails at the end of the file")
{
	char text[8] = "";
	int fd = memfd_create("base", 0);

	CU_ASSERT_EQUAL_FATAL(write(fd, "0123456789", 10), 10);
	CU_ASSERT_EQUAL(tl_read_once(fd, text, 7, 2), 0);
	CU_ASSERT_STRING_EQUAL(text, "2345678");
	CU_ASSERT_EQUAL(tl_read_once(fd, text, 7, 4), -EIO);
	close(fd);
}

// File systems without nameless files refuse O_TMPFILE with this error. 0: they exist.
static int nameless_error;

int __wrap_open64(const char *path, int flags, mode_t mode); // as open() is called in the library

int __wrap_open64(const char *path, int flags, mode_t mode)
{
	if ((flags & O_TMPFILE) != O_TMPFILE || nameless_error == 0)
		return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
	errno = nameless_error;
	return -1;
}

static void check_new_file(const char *path, int error, bool named_at_once)
{
	bool named = !named_at_once;

	nameless_error = error;
	int fd = tl_create_nameless(path, &named);
	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_EQUAL(named, named_at_once);
	CU_ASSERT_EQUAL(access(path, F_OK) == 0, named_at_once);
	CU_ASSERT_EQUAL(write(fd, "text", 4), 4);
	CU_ASSERT_EQUAL(tl_give_name(fd, path), named_at_once ? -EEXIST : 0);
	CU_ASSERT_EQUAL(access(path, R_OK | W_OK), 0);
	close(fd);
	unlink(path);
}

TL_TEST("a new file has no name until it gets one, where the file system supports that")
{
	char dir[] = "/var/tmp/tl-base-XXXXXX", path[64];
	bool named;

	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/x", dir);
	check_new_file(path, 0, false);
	check_new_file(path, EOPNOTSUPP, true);
	check_new_file(path, EISDIR, true);
	nameless_error = ENOSPC;
	CU_ASSERT_EQUAL(tl_create_nameless(path, &named), -ENOSPC);
	nameless_error = 0;
	CU_ASSERT_EQUAL(rmdir(dir), 0);
}

int main(void)
{
	return tl_test_run("base");
}
