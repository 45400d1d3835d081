// SPDX-License-Identifier: BSD-3-Clause
// Rates and sizes: the values that tc(8) reads, or an error with its position.

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include <tl_err.h>
#include <tl_rates.h>
#include <tl_test.h>

struct pair {
	const char *text;
	uint64_t value;
};

static void expect(const struct pair *pairs, size_t n, int (*parse)(const char *, uint64_t *, struct tl_err *))
{
	for (size_t i = 0; i < n; i++) {
		struct tl_err err = {""};
		uint64_t value = 0;
		int rc = parse(pairs[i].text, &value, &err);
		CU_ASSERT_EQUAL(rc, 0);
		CU_ASSERT_EQUAL(value, pairs[i].value);
		if (rc != 0 || value != pairs[i].value)
			printf("# %s: %" PRIu64 " %s\n", pairs[i].text, value, err.text);
	}
}

TL_TEST("rates are converted to bit/s from bits and bytes (bps), in powers of 1000 and (kibit) of 1024")
{
	static const struct pair pairs[] = {{"64000", 64000}, {"50Mbit", 50000000}, {"50mbit", 50000000},
		{"50MBIT", 50000000}, {"8bit", 8}, {"1.5kbps", 12000}, {"2bps", 16}, {"1kibit", 1024}, {"1kibps", 8192},
		{"10gbit", 10000000000}, {"0.001tbit", 1000000000}, {"1gibit", 1073741824}, {"1mibit", 1048576},
		{"3mbps", 24000000}, {"1gbps", 8000000000}, {"1tbps", 8000000000000}, {"1tibit", 1099511627776},
		{"1mibps", 8388608}, {"1gibps", 8589934592}, {"1tibps", 8796093022208}, {"3.9bit", 3}, {".5kbit", 500},
		{"0", 0}, {"0.1234567899kbit", 123}};

	expect(pairs, TL_ARRAY_LEN(pairs), tl_parse_rate);
}

TL_TEST("sizes are converted to bytes from bytes and bits, in powers of 1024")
{
	static const struct pair pairs[] = {{"1600", 1600}, {"1600b", 1600}, {"5Mbit", 655360}, {"1kbit", 128},
		{"1gbit", 134217728}, {"100k", 102400}, {"100K", 102400}, {"100kb", 102400}, {"100KiB", 102400},
		{"2m", 2097152}, {"2MB", 2097152}, {"2MiB", 2097152}, {"1g", 1073741824}, {"1gb", 1073741824},
		{"1GiB", 1073741824}, {"1t", 1099511627776}, {"1tb", 1099511627776}, {"1TiB", 1099511627776},
		{"1.5k", 1536}, {"1.1m", 1153433}, {"9223372036854775807", INT64_MAX}};

	expect(pairs, TL_ARRAY_LEN(pairs), tl_parse_size);
}

TL_TEST("times are converted to ns from ns, us, ms and s")
{
	static const struct pair pairs[] = {
		{"17ns", 17}, {"5us", 5000}, {"2.5ms", 2500000}, {"1S", 1000000000}, {"0s", 0}, {"0.0000000015s", 1}};

	expect(pairs, TL_ARRAY_LEN(pairs), tl_parse_span);
}

static void refuse(
	const char *text, int (*parse)(const char *, uint64_t *, struct tl_err *), int code, const char *message)
{
	struct tl_err err = {""};
	uint64_t value = 7;

	CU_ASSERT_EQUAL(parse(text, &value, &err), code);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, message));
	CU_ASSERT_EQUAL(value, 7);
}

TL_TEST("an unknown unit, a missing number and an excessive value are errors with a position")
{
	refuse("50Mbti", tl_parse_rate, -EINVAL, "\"50Mbti\": character 3: unknown unit \"Mbti\"; use bit, kbit");
	refuse("1.5.2k", tl_parse_rate, -EINVAL, "character 4: unknown unit \".2k\"");
	refuse("5 mbit", tl_parse_rate, -EINVAL, "character 2");
	refuse("5k", tl_parse_rate, -EINVAL, "character 2");
	refuse("", tl_parse_rate, -EINVAL, "character 1: expected a number");
	refuse("-1", tl_parse_rate, -EINVAL, "character 1: expected a number");
	refuse(".", tl_parse_size, -EINVAL, "character 1: expected a number");
	refuse("+1", tl_parse_size, -EINVAL, "character 1: expected a number");
	refuse("5bps", tl_parse_size, -EINVAL, "character 2: unknown unit \"bps\"; use b, k, m");
	refuse("99999999999999999999", tl_parse_size, -EINVAL, "expected a number of up to 19 digits");
	refuse("5", tl_parse_span, -EINVAL, "character 2: unknown unit \"\"; use ns, us, ms or s");
	refuse("5k", tl_parse_span, -EINVAL, "character 2: unknown unit \"k\"; use ns, us, ms or s");
	refuse("9223372036854775808", tl_parse_size, -ERANGE, "more than 2^63 - 1");
	refuse("8388608t", tl_parse_size, -ERANGE, "more than 2^63 - 1");
	refuse("18446744073709551615tibps", tl_parse_rate, -ERANGE, "more than 2^63 - 1");
}

int main(void)
{
	return tl_test_run("rates");
}
