// SPDX-License-Identifier: BSD-3-Clause
// Key "classes" of a recording: meters, expressions, and messages for mistakes.

#include <tl_test.h>
#include <tl_test_config.h>

#define PORTS "{'ports': [{'name': 'a', 'device': 'eth0'}, {'name': 'j', 'device': 'eth1', 'mtu': 9000}],\n"
#define CAPTURE(port, keys, classes)                                                                                   \
	PORTS "'capture': [{'port': '" port "', 'path': 'x'" keys ", 'classes': [\n" classes "]}]}"
#define CLASSES(classes) CAPTURE("a", "", classes)
#define METER "'cir': '1Mbit', 'cbs': 2000"
#define CLASS(keys) "{'name': 'x', 'match': 'udp', " keys "}"
#define REST "{'name': 'rest', 'default': true, " METER "}"

TL_TEST("a class has the meter of its keys")
{
	struct tl_config *config = load_right(CLASSES(CLASS(METER
		", 'ebs': '3k'") ", {'name': 'y', 'match': 'tcp', 'unit': 'packets', 'cir': 10, 'cbs': 1, 'pir': 20,\n"
				 "'pbs': 5, 'per': 'source', 'meters': 128, 'snaplen': 100}," REST));
	const struct tl_config_police *c = config->captures[0].classes;

	CU_ASSERT_EQUAL(config->captures[0].n_classes, 3);
	CU_ASSERT_EQUAL(c[0].meter.cir, 1000000);
	CU_ASSERT_EQUAL(c[0].meter.cbs, 2000);
	CU_ASSERT_EQUAL(c[0].meter.ebs, 3072);
	CU_ASSERT_EQUAL(c[0].meter.unit, TL_CONFIG_POLICE_BYTES);
	CU_ASSERT_EQUAL(c[0].per, TL_POLICE_PER_CLASS);
	CU_ASSERT_EQUAL(c[0].snaplen, 64);
	CU_ASSERT_EQUAL(c[0].line, 3);
	CU_ASSERT_EQUAL(c[1].meter.unit, TL_CONFIG_POLICE_PKTS);
	CU_ASSERT_EQUAL(c[1].meter.pir, 20);
	CU_ASSERT_EQUAL(c[1].meter.pbs, 5);
	CU_ASSERT_EQUAL(c[1].per, TL_POLICE_PER_SOURCE);
	CU_ASSERT_EQUAL(c[1].meters, 128);
	CU_ASSERT_EQUAL(c[1].snaplen, 100);
	CU_ASSERT_PTR_NULL(c[2].match);
	CU_ASSERT_TRUE(c[2].is_default);
	tl_config_free(config);
}

TL_TEST("the keys of a class are one expression")
{
	static const struct {
		const char *keys, *expression, *inner;
	} rows[] = {
		{"'match': 'udp or tcp'", "udp or tcp", "inner(udp or tcp)"},
		{"'vlan': 5", "vlan 5", "vlan 5"},
		{"'dscp': 0",
			"((((ip and ip[1] & 0xfc = 0) or (ip6 and ip6[0:2] & 0xfc0 = 0))) or (vlan and "
			"((((ip and ip[1] & 0xfc = 0) or (ip6 and ip6[0:2] & 0xfc0 = 0))) or (vlan and "
			"((ip and ip[1] & 0xfc = 0) or (ip6 and ip6[0:2] & 0xfc0 = 0))))))",
			"inner(((ip and ip[1] & 0xfc = 0) or (ip6 and ip6[0:2] & 0xfc0 = 0)))"},
		{"'prefix': '192.0.2.0/24'",
			"((net 192.0.2.0/24) or (vlan and ((net 192.0.2.0/24) or (vlan and net 192.0.2.0/24))))",
			"inner(net 192.0.2.0/24)"},
		{"'prefix': '192.0.2.1'",
			"((net 192.0.2.1/32) or (vlan and ((net 192.0.2.1/32) or (vlan and net 192.0.2.1/32))))",
			"inner(net 192.0.2.1/32)"},
		{"'prefix': '2001:db8::/32', 'match': 'udp or tcp'",
			"(udp or tcp) and ((net 2001:db8::/32) or (vlan and ((net 2001:db8::/32) or (vlan and net 2001:db8::/32))))",
			"inner((udp or tcp) and net 2001:db8::/32)"},
		{"'vlan': 4094, 'prefix': '10.0.0.0/8', 'match': 'udp'",
			"vlan 4094 and (udp) and ((net 10.0.0.0/8) or (vlan and net 10.0.0.0/8))",
			"vlan 4094 and inner((udp) and net 10.0.0.0/8)"},
		{"'dscp': 46, 'prefix': '10.0.0.0/8'",
			"((((ip and ip[1] & 0xfc = 184) or (ip6 and ip6[0:2] & 0xfc0 = 2944)) and net 10.0.0.0/8) or (vlan and "
			"((((ip and ip[1] & 0xfc = 184) or (ip6 and ip6[0:2] & 0xfc0 = 2944)) and net 10.0.0.0/8) or (vlan and "
			"((ip and ip[1] & 0xfc = 184) or (ip6 and ip6[0:2] & 0xfc0 = 2944)) and net 10.0.0.0/8))))",
			"inner(((ip and ip[1] & 0xfc = 184) or (ip6 and ip6[0:2] & 0xfc0 = 2944)) and net 10.0.0.0/8)"},
	};
	char text[512];

	for (size_t i = 0; i < TL_ARRAY_LEN(rows); i++) {
		for (int inner = 0; inner < 2; inner++) {
			snprintf(text, sizeof(text), CAPTURE("a", "%s", "{'name': 'x', %s, " METER "}"),
				inner != 0 ? ", 'inner': true" : "", rows[i].keys);
			struct tl_config *config = load_right(text);
			CU_ASSERT_STRING_EQUAL(
				config->captures[0].classes[0].match, inner != 0 ? rows[i].inner : rows[i].expression);
			tl_config_free(config);
		}
	}
}

TL_TEST("each class can be reached")
{
	static const struct refusal refusals[] = {
		{CLASSES(CLASS(METER) ",\n{'name': 'x', 'match': 'tcp', " METER "}"),
			"4: $.capture[0].classes[1].name: duplicate name in the recording: 'x'"},
		{CLASSES(REST ",\n{'name': 'y', 'default': true, " METER "}"),
			"4: $.capture[0].classes[1].default: the class 'rest' is the default already"},
		{CLASSES(REST ",\n" CLASS(METER)),
			"4: $.capture[0].classes[1]: unreachable class: the default class 'rest' precedes it; put that "
			"one last"},
		{CLASSES(CLASS(METER) ",\n{'name': 'y', 'match': 'udp', " METER "}"),
			"4: $.capture[0].classes[1]: unreachable class: the class 'x' matches the same frames first"},
		{CLASSES("{'name': 'x', 'vlan': 5, " METER "},\n{'name': 'y', 'match': 'vlan 5', " METER "}"),
			"4: $.capture[0].classes[1]: unreachable class: the class 'x' matches the same frames first"},
		{CLASSES("{'name': 'x',\n" METER "}"),
			"3: $.capture[0].classes[0]: a class has at least one of 'match', 'vlan', 'dscp', 'prefix', or "
			"'default': true"},
		{CLASSES("{'name': 'x', 'default': true, " METER ",\n'dscp': 0}"),
			"4: $.capture[0].classes[0].dscp: not allowed in the default class: it has the frames that no "
			"class matches"},
		{CLASSES(""), "2: $.capture[0].classes: the list is empty"},
	};

	expect_refusals(refusals, TL_ARRAY_LEN(refusals));
}

TL_TEST("a meter has one rate or two, and each bucket holds a frame")
{
	static const struct refusal refusals[] = {
		{CLASSES(CLASS("'cir': '1Mbit',\n'cbs': 1517")),
			"4: $.capture[0].classes[0].cbs: 1517 is less than the longest frame of the port 'a', 1518 bytes, "
			"which would never be green; give as many or more"},
		{CAPTURE("j", "", CLASS(METER)),
			"3: $.capture[0].classes[0].cbs: 2000 is less than the longest frame of the port 'j', 9018 bytes, "
			"which would never be green; give as many or more"},
		{CLASSES(CLASS(METER ",\n'ebs': 100")),
			"4: $.capture[0].classes[0].ebs: 100 is less than the longest frame of the port 'a', 1518 bytes, "
			"which would never be yellow; give as many or more"},
		{CLASSES(CLASS(METER ", 'pir': '2Mbit',\n'pbs': 1517")),
			"4: $.capture[0].classes[0].pbs: 1517 is less than the longest frame of the port 'a', 1518 bytes, "
			"which would never be green or yellow; give as many or more"},
		{CLASSES(CLASS(METER ",\n'snaplen': 64")),
			"4: $.capture[0].classes[0].snaplen: has no effect: no frame of the class is yellow; add 'ebs', "
			"or 'pir' and 'pbs'"},
		{CLASSES(CLASS(METER ",\n'ebs': 2000, 'pir': '2Mbit', 'pbs': 2000")),
			"4: $.capture[0].classes[0].ebs: a meter has either 'ebs' (one rate, RFC 2697; with 'eir' RFC 4115) or "
			"'pir' and 'pbs' (two rates, RFC 2698)"},
		{CLASSES(CLASS(METER ",\n'eir': '2Mbit'")),
			"4: $.capture[0].classes[0].eir: the bucket that it fills has no size: add 'ebs' (RFC 4115)"},
		{CLASSES(CLASS(METER ", 'eir': '2Mbit',\n'ebs': 2000, 'pir': '2Mbit', 'pbs': 2000")),
			"4: $.capture[0].classes[0].ebs: a meter has either 'ebs' (one rate, RFC 2697; with 'eir' RFC 4115) or "
			"'pir' and 'pbs' (two rates, RFC 2698)"},
		{CLASSES(CLASS(METER ", 'pir': '2Mbit'")),
			"3: $.capture[0].classes[0]: 'pir' and 'pbs' belong together; 'pbs' is missing"},
		{CLASSES(CLASS(METER ", 'pbs': 2000")),
			"3: $.capture[0].classes[0]: 'pir' and 'pbs' belong together; 'pir' is missing"},
		{CLASSES(CLASS(METER ", 'pbs': 2000,\n'pir': 999999")),
			"4: $.capture[0].classes[0].pir: 999999 is below 'cir', 1000000: raise it"},
		{CLASSES(CLASS("'cir': '1Mbit'")), "3: $.capture[0].classes[0]: the key 'cbs' is required here"},
		{CLASSES(CLASS("'unit': 'packets', 'cbs': 1,\n'cir': '1Mbit'")),
			"4: $.capture[0].classes[0].cir: '1Mbit' is not a whole number from 1 to 4398046511104"},
		{CLASSES(CLASS(METER ",\n'meters': 64")),
			"4: $.capture[0].classes[0].meters: has no effect without 'per': 'flow' or 'source'"},
		{CLASSES(CLASS(METER ", 'per': 'flow',\n'meters': 65")),
			"4: $.capture[0].classes[0].meters: 65 is not a power of two"},
		{CLASSES("{'name': 'x', " METER ",\n'prefix': '192.0.2.1/24'}"),
			"4: $.capture[0].classes[0].prefix: '192.0.2.1/24' is not a network: bits behind its prefix are "
			"set"},
	};

	expect_refusals(refusals, TL_ARRAY_LEN(refusals));
	tl_config_free(load_right(CLASSES(CLASS("'cir': 1, 'cbs': 1518"))));
	tl_config_free(load_right(CLASSES(CLASS("'unit': 'packets', 'cir': 1, 'cbs': 1"))));
}

int main(void)
{
	return tl_test_run("config_police");
}
