// SPDX-License-Identifier: BSD-3-Clause
// Recordings in a "share": its keys, and messages for mistakes.

#include <tl_test.h>
#include <tl_test_config.h>

#define PORTS "{'ports': [{'name': 'a', 'device': 'eth0', 'ip': '192.0.2.1/24'}],\n"
#define SHARE(rate, captures) PORTS "'share': [{'name': 'disk', 'rate': " rate "}],\n'capture': [" captures "]}"
#define CAPTURE(path, keys) "{'port': 'a', 'path': '" path "'" keys "}"
#define MEMBER(keys) CAPTURE("x", ", 'share': 'disk'" keys)
#define SECOND(keys) ",\n" CAPTURE("y", ", 'share': 'disk'" keys)
#define SHAPE                                                                                                          \
	"], 'echo': [{'port': 'a', 'udp_listen': 7}],\n'shape': [{'name': 's', 'port': 'a', 'rate': '1Mbit', "         \
	"'share': 'disk', 'classes': [{'name': 'x', 'default': true}]}"

TL_TEST("recordings share a disk, at a rate or as measured")
{
	struct tl_config *config = load_right(SHARE("'100MBps'",
		MEMBER("") SECOND(", 'tier': 'nonprod', 'weight': 3, 'floor': '10MBps'") ",\n" CAPTURE("z", "")));
	const struct tl_config_capture *c = config->captures;

	CU_ASSERT_EQUAL(config->shares[0].rate, 800000000);
	CU_ASSERT(c[0].share == 0 && c[0].tier == TL_CONFIG_TIER_PROD && c[0].weight == 1 && c[0].floor == 0);
	CU_ASSERT(c[1].share == 0 && c[1].tier == TL_CONFIG_TIER_NONPROD && c[1].weight == 3);
	CU_ASSERT_EQUAL(c[1].floor, 80000000);
	CU_ASSERT_EQUAL(c[2].share, TL_CONFIG_NO_SHARE);
	tl_config_free(config);
	config = load_right(SHARE("'measured'", MEMBER(", 'floor': '1Gbit'") SECOND("")));
	CU_ASSERT_EQUAL(config->shares[0].rate, 0);
	tl_config_free(config);
}

TL_TEST("a recording that waits for triggers in files may share")
{
	tl_config_free(load_right(SHARE("1000", MEMBER(", 'mode': 'trigger', 'rotate_bytes': '4M', 'keep_files': 2, "
						       "'trigger': {'store': 'files'}"))));
}

TL_TEST("mistakes in the keys of a share of a disk are refused")
{
	static const struct refusal refusals[] = {
		{SHARE("1000", CAPTURE("x", ", 'share': 'tape'")),
			"3: $.capture[0].share: no entry of 'share' is called 'tape'"},
		{SHARE("1000", CAPTURE("x", ", 'weight': 2")), "3: $.capture[0].weight: has no effect without 'share'"},
		{SHARE("1000", CAPTURE("x", "")),
			"2: $.share[0].name: it has no 'classes', and no shape and no recording has 'share': 'disk'"},
		{SHARE("'fast'", MEMBER("")),
			"2: $.share[0].rate: 'fast' is not a rate from 1 bit/s to 4.3 Tbit/s, such as '2Mbit', or "
			"'measured'"},
		{SHARE("1000", MEMBER(", 'floor': 600") SECOND(", 'floor': 500")),
			"2: $.share[0].rate: the floors of its recordings add up to 1100 bit/s, more than this: lower "
			"them"},
		{SHARE("1000", MEMBER(", 'mode': 'trigger'")),
			"3: $.capture[0].share: a recording that waits for triggers in memory has no share of the disk: "
			"leave it out, or give 'trigger' the 'store': 'files'"},
		{SHARE("1000", MEMBER("") SHAPE),
			"4: $.shape[0].share: the recordings of 'disk' share a disk, not a port: name another entry"},
	};

	expect_refusals(refusals, TL_ARRAY_LEN(refusals));
}

int main(void)
{
	return tl_test_run("config of a share");
}
