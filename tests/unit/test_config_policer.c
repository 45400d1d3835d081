// SPDX-License-Identifier: BSD-3-Clause
// Key "police" of an echo and of a class of a shape: meters, actions, and messages for mistakes.

#include <tl_test.h>
#include <tl_test_config.h>

#define PORTS "{'ports': [{'name': 'a', 'device': 'eth0', 'ip': '192.0.2.1/24'}],\n'echo': [{'port': 'a', "
#define ECHO(keys) PORTS "'udp_listen': 7, 'police': {\n" keys "}}]}"
#define SHAPE(police)                                                                                                  \
	PORTS "'udp_listen': 7}],\n'shape': [{'name': 'w', 'port': 'a', 'rate': '1Gbit', 'overhead': 20, 'classes': [" \
	      "{'name': 'x', 'classes': [\n{'name': 'y', 'default': true, 'police': " police "}]}]}]}"
#define METER "'cir': '1Mbit', 'cbs': 2000"

TL_TEST("a policer passes what is within its rates by default")
{
	struct tl_config *config = load_right(ECHO(METER));
	const struct tl_config_policer *p = &config->echoes[0].police;

	CU_ASSERT_EQUAL(p->meter.unit, TL_CONFIG_POLICE_BYTES);
	CU_ASSERT_EQUAL(p->meter.cir, 1000000);
	CU_ASSERT_EQUAL(p->meter.cbs, 2000);
	CU_ASSERT_EQUAL(p->meter.ebs | p->meter.eir | p->meter.pir | p->meter.pbs, 0);
	CU_ASSERT_FALSE(p->actions[0].drop || p->actions[1].drop);
	CU_ASSERT_TRUE(p->actions[2].drop);
	tl_config_free(config);
	config = load_right(PORTS "'udp_listen': 7}]}");
	CU_ASSERT_EQUAL(config->echoes[0].police.meter.cir, 0);
	tl_config_free(config);
}

TL_TEST("each colour has an action")
{
	struct tl_config *config =
		load_right(SHAPE("{'unit': 'packets', 'cir': 10, 'cbs': 1, 'pir': 20, 'pbs': 5,"
				 " 'green': {'dscp': 0}, 'yellow': {'pcp': 7, 'dscp': 63}, 'red': 'pass'}"));
	const struct tl_config_policer *p = &config->shapes[0].classes[2].police;

	CU_ASSERT_EQUAL(p->meter.unit, TL_CONFIG_POLICE_PKTS);
	CU_ASSERT_EQUAL(p->meter.pir, 20);
	CU_ASSERT_EQUAL(p->meter.pbs, 5);
	CU_ASSERT_TRUE(p->actions[0].has_dscp && !p->actions[0].has_pcp && !p->actions[0].drop);
	CU_ASSERT_EQUAL(p->actions[0].dscp, 0);
	CU_ASSERT_TRUE(p->actions[1].has_dscp && p->actions[1].has_pcp);
	CU_ASSERT_EQUAL(p->actions[1].dscp, 63);
	CU_ASSERT_EQUAL(p->actions[1].pcp, 7);
	CU_ASSERT_FALSE(p->actions[2].has_dscp || p->actions[2].has_pcp || p->actions[2].drop);
	CU_ASSERT_EQUAL(config->shapes[0].classes[1].police.meter.cir, 0);
	tl_config_free(config);
}

TL_TEST("an excess rate is read in the unit of the meter")
{
	struct tl_config *config = load_right(SHAPE("{" METER ", 'eir': '3Mbit', 'ebs': 2000}"));

	CU_ASSERT_EQUAL(config->shapes[0].classes[2].police.meter.eir, 3000000);
	tl_config_free(config);
	config = load_right(SHAPE("{'unit': 'packets', 'cir': 10, 'cbs': 1, 'eir': 7, 'ebs': 5}"));
	CU_ASSERT_EQUAL(config->shapes[0].classes[2].police.meter.eir, 7);
	CU_ASSERT_EQUAL(config->shapes[0].classes[2].police.meter.ebs, 5);
	tl_config_free(config);
}

TL_TEST("policers are the same if each key is")
{
	static const char *const others[] = {SHAPE("{'cir': 1000000, 'cbs': 2000, 'ebs': 2000, 'unit': 'packets'}"),
		SHAPE("{" METER ", 'ebs': 2001}"), SHAPE("{'cir': 1000001, 'cbs': 2000, 'ebs': 2000}"),
		SHAPE("{'cir': 1000000, 'cbs': 2001, 'ebs': 2000}"), SHAPE("{" METER "}"),
		SHAPE("{" METER ", 'ebs': 2000, 'aware': true}"), SHAPE("{" METER ", 'ebs': 2000, 'green': 'drop'}"),
		SHAPE("{" METER ", 'ebs': 2000, 'yellow': {'dscp': 0}}"),
		SHAPE("{" METER ", 'ebs': 2000, 'green': {'pcp': 0}}"), SHAPE("{" METER ", 'ebs': 2000, 'eir': 1}"),
		SHAPE("{" METER ", 'pir': 2000000, 'pbs': 2000}")};
	struct tl_config *config = load_right(SHAPE("{" METER ", 'ebs': 2000}")), *other;
	const struct tl_config_policer *p = &config->shapes[0].classes[2].police;

	CU_ASSERT_FALSE(tl_config_same_policer(p, &(struct tl_config_policer){0}));
	other = load_right("\n" SHAPE("{" METER ", 'ebs': '2000'}"));
	CU_ASSERT_TRUE(tl_config_same_policer(p, &other->shapes[0].classes[2].police));
	tl_config_free(other);
	for (size_t i = 0; i < TL_ARRAY_LEN(others); i++) {
		other = load_right(others[i]);
		CU_ASSERT_FALSE(tl_config_same_policer(p, &other->shapes[0].classes[2].police));
		tl_config_free(other);
	}
	tl_config_free(config);
}

TL_TEST("mistakes are refused with path and line")
{
	static const struct refusal refusals[] = {
		{ECHO("'cbs': 2000"), "2: $.echo[0].police: the key 'cir' is required here"},
		{ECHO(METER ", 'red': 'mark'"),
			"3: $.echo[0].police.red: 'mark' is not 'pass', 'drop', or an object with 'dscp' or 'pcp'"},
		{ECHO(METER ", 'red': 1"),
			"3: $.echo[0].police.red: 1 is not 'pass', 'drop', or an object with 'dscp' or 'pcp'"},
		{ECHO(METER ", 'green': {}"),
			"3: $.echo[0].police.green: holds neither 'dscp' nor 'pcp': give one, or 'pass' in place of the object"},
		{ECHO(METER ", 'green': {'dscp': 64}"),
			"3: $.echo[0].police.green.dscp: 64 is not a whole number from 0 to 63"},
		{ECHO(METER ", 'green': {'pcp': 8}"),
			"3: $.echo[0].police.green.pcp: 8 is not a whole number from 0 to 7"},
		{ECHO(METER ", 'yellow': 'drop'"),
			"3: $.echo[0].police.yellow: has no effect: nothing is yellow; add 'ebs', or 'pir' and 'pbs'"},
		{ECHO(METER ", 'ebs': 2000, 'pir': 1, 'pbs': 1"),
			"3: $.echo[0].police.ebs: a meter has either 'ebs' (one rate, RFC 2697; with 'eir' RFC 4115) or 'pir' and 'pbs' (two rates, RFC 2698)"},
		{ECHO(METER ", 'red': {'dscp': 1}"),
			"3: $.echo[0].police.red: an echo polices messages, which have no marks: mark its frames by the 'police' of a class of 'shape' with 'echo'"},
		{ECHO(METER ",\n'aware': true"),
			"4: $.echo[0].police.aware: an echo polices messages, which have no DSCP: leave the key out, or use the 'police' of a class of 'shape'"},
		{ECHO("'cir': 1, 'cbs': 1517"),
			"3: $.echo[0].police.cbs: 1517 is less than the longest frame of the port 'a', 1518 bytes, which would never be green; give as many or more"},
		{PORTS "'tcp_listen': 7, 'police': {" METER "}}]}",
			"2: $.echo[0].police: applies only to an echo that uses 'receive' or 'udp_listen': bytes of TCP must not be dropped; 'pace_bps' limits a connection"},
		{SHAPE("{'cir': 1, 'cbs': 1537}"),
			"4: $.shape[0].classes[0].classes[0].police.cbs: 1537 is less than the longest frame of the port 'a', 1538 bytes, which would never be green; give as many or more"},
		{SHAPE("{" METER "}, 'classes': [{'name': 'z', 'default': true}]"),
			"4: $.shape[0].classes[0].classes[0].default: not allowed with 'classes': only leaves queue frames"},
		{PORTS "'udp_listen': 7}], 'shape': [{'name': 'w', 'port': 'a', 'rate': 1, 'classes': [{'name': 'x', 'police': {" METER
		       "},\n'classes': [{'name': 'z', 'default': true}]}]}]}",
			"2: $.shape[0].classes[0].police: not allowed with 'classes': only leaves queue frames"},
	};

	expect_refusals(refusals, TL_ARRAY_LEN(refusals));
	tl_config_free(load_right(SHAPE("{'cir': 1, 'cbs': 1538}")));
	tl_config_free(load_right(ECHO("'cir': 1, 'cbs': 1, 'unit': 'packets'")));
}

int main(void)
{
	return tl_test_run("config_policer");
}
