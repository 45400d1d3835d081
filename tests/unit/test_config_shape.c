// SPDX-License-Identifier: BSD-3-Clause
// Section "shape" of the configuration: class trees, and messages for mistakes.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tl_test.h>
#include <tl_test_config.h>

#define PORTS                                                                                                          \
	"{'ports': [{'name': 'a', 'device': 'eth0', 'ip': '192.0.2.1/24', 'ip6': '2001:db8::1/64'},"                   \
	" {'name': 'v', 'device': 'eth1', 'ip': '192.0.3.1/24', 'vlan': 5},"                                           \
	" {'name': 'c', 'device': 'eth2'},"                                                                            \
	" {'name': 'q', 'device': 'eth3', 'ip': '192.0.4.1/24', 'rx_queues': 2}],\n"                                   \
	"'echo': [{'port': 'a', 'udp_listen': 7}, {'port': 'a', 'name': 'tcp', 'tcp_listen': 9},"                      \
	" {'port': 'v', 'receive': {'group': '239.1.1.1', 'udp_port': 7}, 'send': {'tcp_connect': '192.0.3.9:80'}},"   \
	" {'port': 'a', 'name': 'six', 'receive': {'group': 'ff05::1', 'udp_port': 7},"                                \
	" 'send': {'tcp_connect': '[2001:db8::9]:81'}}, {'port': 'q', 'udp_listen': 7}],\n"
#define SHAPE(keys) PORTS "'shape': [{'name': 'wan', 'rate': '2Mbit', " keys "}]}"
#define CLASSES(classes) SHAPE("'port': 'a',\n'classes': [" classes "]")
#define DEFAULT "{'name': 'rest', 'default': true}"

TL_TEST("the classes of an entry are a tree, parents first")
{
	struct tl_config *config = load_right(CLASSES(
		"{'name': 'ssh', 'match': 'tcp port 22', 'rate': '128Kbit', 'ceil': '2Mbit', 'prio': 1, 'burst': '100K',"
		" 'cburst': 5000, 'quantum': 3000},\n"
		"{'name': 'users', 'rate': '1.5Mbit', 'classes': [{'name': 'b', 'match': 'udp', 'fair': 'source', 'flows': 64},"
		" {'name': 'c', 'default': true, 'limit': 5, 'limit_ms': 20, 'limit_bytes': '64Kb', 'drop': 'codel', 'interval_ms': 30}]}"));
	const struct tl_config_shape *s = &config->shapes[0];
	const struct tl_config_class *c = s->classes;

	CU_ASSERT_EQUAL(config->n_shapes, 1);
	CU_ASSERT_EQUAL(s->n_classes, 5);
	CU_ASSERT_EQUAL(s->port, 0);
	CU_ASSERT_EQUAL(s->queue, 0);
	CU_ASSERT_EQUAL(s->fallback, 4);
	CU_ASSERT_EQUAL(s->frames, 1000 + 1000 + 5 + 1);
	CU_ASSERT_EQUAL(s->mtu, 1518);
	CU_ASSERT_EQUAL(c[0].rate, 2000000);
	CU_ASSERT_STRING_EQUAL(c[0].name, "wan");
	CU_ASSERT_EQUAL(c[1].rate, 128000);
	CU_ASSERT_EQUAL(c[1].ceil, 2000000);
	CU_ASSERT_EQUAL(c[1].prio, 1);
	CU_ASSERT_EQUAL(c[1].burst, 102400);
	CU_ASSERT_EQUAL(c[1].cburst, 5000);
	CU_ASSERT_EQUAL(c[1].quantum, 3000);
	CU_ASSERT_EQUAL(c[1].fair, TL_FAIR_NONE);
	CU_ASSERT_EQUAL(c[1].line, 4);
	CU_ASSERT_EQUAL(c[2].parent, 0);
	CU_ASSERT_TRUE(c[2].has_classes);
	CU_ASSERT_EQUAL(c[3].parent, 2);
	CU_ASSERT_EQUAL(c[3].fair, TL_FAIR_SOURCE);
	CU_ASSERT_EQUAL(c[3].flows, 64);
	CU_ASSERT_EQUAL(c[3].line, 5);
	CU_ASSERT_EQUAL(c[4].parent, 2);
	CU_ASSERT_EQUAL(c[4].depth, 2);
	CU_ASSERT_EQUAL(c[4].nth, 1);
	CU_ASSERT_EQUAL(c[4].limit_ms, 20);
	CU_ASSERT_EQUAL(c[3].drop, TL_CLASS_DROP_LIMIT);
	CU_ASSERT_EQUAL(c[4].drop, TL_CLASS_DROP_CODEL);
	CU_ASSERT_EQUAL(c[4].target_us, 5000);
	CU_ASSERT_EQUAL(c[4].interval_ms, 30);
	CU_ASSERT_EQUAL(c[4].limit_bytes, 65536);
	tl_config_free(config);
}

TL_TEST("the line of each class is known, and that of the shape is the root's")
{
	static const uint32_t lines[2][7] = {{3, 4, 5, 8, 9, 9, 11}, {12, 13, 14}};
	struct tl_config *config = load_right(PORTS
		"'shape': [{'name': 'wan', 'rate': 9, 'port': 'a', 'classes': [\n"
		"{'name': 'a', 'classes': [\n{'name': 'b', 'match': 'tcp',\n'limit': 3},\n\n{'name': 'c', 'match': 'udp'}]},\n"
		"{'name': 'd', 'match': 'icmp'}, {'name': 'e', 'match': 'arp',\n'limit': 4},\n" DEFAULT "]},\n"
		"{'name': 'v', 'rate': 9, 'port': 'v', 'classes': [\n{'name': 'a', 'match': 'udp'},\n" DEFAULT "]}]}");

	for (uint32_t i = 0; i < 2; i++)
		for (uint32_t c = 0; c < config->shapes[i].n_classes; c++)
			CU_ASSERT_EQUAL(config->shapes[i].classes[c].line, lines[i][c]);
	tl_config_free(config);
}

TL_TEST("the frames of an echo are an expression")
{
	struct tl_config *config = load_right(CLASSES(
		"{'name': 'u', 'echo': 'echo0'}, {'name': 't', 'echo': 'tcp'}, {'name': '6', 'echo': 'six'}," DEFAULT));
	const struct tl_config_class *c = config->shapes[0].classes;

	CU_ASSERT_STRING_EQUAL(c[1].match, "udp src port 7");
	CU_ASSERT_STRING_EQUAL(c[2].match, "tcp src port 9");
	CU_ASSERT_STRING_EQUAL(c[3].match, "dst host 2001:db8::9 and tcp dst port 81");
	tl_config_free(config);
	config = load_right(
		SHAPE("'port': 'v', 'overhead': 24, 'classes': [{'name': 'm', 'echo': 'echo2'}, " DEFAULT "]"));
	CU_ASSERT_STRING_EQUAL(config->shapes[0].classes[1].match, "vlan and dst host 192.0.3.9 and tcp dst port 80");
	CU_ASSERT_EQUAL(config->shapes[0].mtu, 1542);
	tl_config_free(config);
}

TL_TEST("a shape needs a port and a queue that send")
{
	static const struct refusal refusals[] = {
		{SHAPE("'port': 'x', 'classes': [" DEFAULT "]"),
			"3: $.shape[0].port: unknown port 'x'; the ports are: a, v, c, q"},
		{SHAPE("'port': 'c', 'classes': [" DEFAULT "]"),
			"3: $.shape[0].port: the port 'c' has no echo and no replay: it sends nothing"},
		{SHAPE("'port': 'q', 'classes': [" DEFAULT "]"),
			"3: $.shape[0].queue: the port 'q' has 2 send queues, one per lcore: set the queue of this shape"},
		{SHAPE("'port': 'q', 'queue': 2, 'classes': [" DEFAULT "]"),
			"3: $.shape[0].queue: the port 'q' has 2 RX queues, counted from 0"},
		{PORTS "'shape': [{'name': 'w', 'rate': 1, 'port': 'a', 'classes': [" DEFAULT "]},\n"
		       "{'name': 'w', 'rate': 1, 'port': 'v', 'classes': [" DEFAULT "]}]}",
			"4: $.shape[1].name: $.shape[0] is called 'w' already"},
		{PORTS "'shape': [{'name': 'w', 'rate': 1, 'port': 'a', 'classes': [" DEFAULT "]},\n"
		       "{'name': 'x', 'rate': 1, 'port': 'a', 'queue': 0, 'classes': [" DEFAULT "]}]}",
			"4: $.shape[1].port: the shape 'w' is on this port and queue already"},
		{"{'ports': [{'name': 'a', 'device': '0000:01:00.0', 'ip': '192.0.2.1/24', 'ptp_probes_per_s': 1}],\n"
		 "'echo': [{'port': 'a', 'udp_listen': 7}], 'shape': [{'name': 'w', 'rate': 1, 'port': 'a', 'classes': [" DEFAULT
		 "]}]}",
			"2: $.shape[0].port: the port 'a' has ptp_probes_per_s or reply_stamps_per_s: stamped "
			"frames must not be delayed"},
		{"{'ports': [{'name': 'a', 'device': 'eth0', 'ip': '192.0.2.1/24', 'rx_queues': 2, 'roles': ['echo', "
		 "'record']}], 'capture': [{'port': 'a', 'path': 'null:'}],\n"
		 "'echo': [{'port': 'a', 'udp_listen': 7}], 'shape': [{'name': 'w', 'rate': 1, 'port': 'a', 'queue': 1, "
		 "'classes': [" DEFAULT "]}]}",
			"2: $.shape[0].queue: queue 1 of the port 'a' only records and sends nothing ('roles'): "
			"choose another"},
	};

	expect_refusals(refusals, TL_ARRAY_LEN(refusals));
	tl_config_free(load_right(SHAPE("'port': 'q', 'queue': 1, 'classes': [" DEFAULT "]")));
}

#define REPLAY(port_keys, shape_keys)                                                                                   \
	"{'ports': [{'name': 'r', 'device': 'eth0', 'rx_queues': 2" port_keys "}],\n"                                   \
	"'replay': [{'name': 'day', 'port': 'r', 'files': ['a.pcap']}], 'capture': [{'port': 'r', 'path': 'null:'}],\n" \
	"'shape': [{'name': 'w', 'rate': 1, 'port': 'r', " shape_keys "'classes': [" DEFAULT "]}]}"

// Its lcore is none of the port's.
TL_TEST("a shape of a replay needs no queue")
{
	static const struct refusal refusals[] = {
		{REPLAY("", "'queue': 1, "),
			"3: $.shape[0].queue: the replay 'day' sends through queue 0: leave the key out"},
	};
	struct tl_config *config = load_right(REPLAY("", ""));

	CU_ASSERT_EQUAL(config->shapes[0].queue, 0);
	CU_ASSERT_PTR_EQUAL(tl_config_replay_from(config, 0), &config->replays[0]);
	tl_config_free(config);
	tl_config_free(load_right(REPLAY(", 'roles': ['record', 'record']", "'queue': 0, ")));
	expect_refusals(refusals, TL_ARRAY_LEN(refusals));
}

TL_TEST("each frame has one class")
{
	static const struct refusal refusals[] = {
		{CLASSES("{'name': 'x', 'match': 'tcp'}"),
			"4: $.shape[0].classes: no default class: set 'default': true in one class, for unmatched frames"},
		{CLASSES(DEFAULT ",\n{'name': 'x', 'default': true}"),
			"5: $.shape[0].classes[1].default: the class 'rest' is the default already"},
		{CLASSES(DEFAULT
			 ", {'name': 'x', 'match': 'udp'},\n{'name': 'y', 'classes': [{'name': 'z', 'match': 'udp'}]}"),
			"5: $.shape[0].classes[2].classes[0].match: unreachable class: the class 'x' matches the same frames first"},
		{CLASSES(DEFAULT ", {'name': 'x', 'match': 'udp src port 7'},\n{'name': 'y', 'echo': 'echo0'}"),
			"5: $.shape[0].classes[2].echo: unreachable class: the class 'x' matches the same frames first"},
		{CLASSES(DEFAULT ",\n{'name': 'y', 'echo': 'echo2'}"),
			"5: $.shape[0].classes[1].echo: no echo on the port 'a' is called 'echo2'"},
		{CLASSES(DEFAULT ",\n{'name': 'x'}"),
			"5: $.shape[0].classes[1]: a class without 'classes' needs exactly one of 'match', 'echo', "
			"'default': true; it has 0"},
		{CLASSES("{'name': 'x', 'match': 'udp', 'default': true}"),
			"4: $.shape[0].classes[0]: a class without 'classes' needs exactly one of 'match', 'echo', "
			"'default': true; it has 2"},
		{CLASSES(DEFAULT ", {'name': 'x', 'classes': [{'name': 'y', 'match': 'udp'}],\n'limit': 5}"),
			"5: $.shape[0].classes[1].limit: not allowed with 'classes': only leaves queue frames"},
		{CLASSES(DEFAULT ",\n{'name': 'rest', 'match': 'udp'}"),
			"5: $.shape[0].classes[1].name: duplicate name in the shape: 'rest'"},
		{CLASSES("{'name': 'wan', 'default': true}"),
			"4: $.shape[0].classes[0].name: duplicate name in the shape: 'wan'"},
		{CLASSES(""), "4: $.shape[0].classes: the list is empty"},
		{SHAPE("'port': 'a', 'classes': {}"), "3: $.shape[0].classes: {} is not an array"},
	};

	expect_refusals(refusals, TL_ARRAY_LEN(refusals));
}

TL_TEST("values have a range")
{
	static const struct refusal refusals[] = {
		{CLASSES("{'name': 'x', 'default': true,\n'rate': '2Mpit'}"),
			"5: $.shape[0].classes[0].rate: '2Mpit' is not a rate from 1 bit/s to 4.3 Tbit/s, such as '2Mbit'"},
		{CLASSES("{'name': 'x', 'default': true,\n'ceil': 0}"),
			"5: $.shape[0].classes[0].ceil: 0 is not a rate from 1 bit/s to 4.3 Tbit/s, such as '2Mbit'"},
		{CLASSES("{'name': 'x', 'default': true,\n'burst': '1G'}"),
			"5: $.shape[0].classes[0].burst: '1G' is not a size from 1 byte to 549 MiB, such as 15000 or '100k'"},
		{CLASSES("{'name': 'x', 'default': true,\n'limit_bytes': '5G'}"),
			"5: $.shape[0].classes[0].limit_bytes: '5G' is not 0 or a size from 1 byte to 4 GiB, such as 65536 or '64kb'"},
		{CLASSES("{'name': 'x', 'default': true,\n'flows': 64}"),
			"5: $.shape[0].classes[0].flows: has no effect without 'fair'"},
		{CLASSES("{'name': 'x', 'default': true,\n'target_us': 65}"),
			"5: $.shape[0].classes[0].target_us: has no effect without 'drop': 'codel'"},
		{CLASSES("{'name': 'x', 'default': true, 'drop': 'codel', 'interval_ms': 4}"),
			"4: $.shape[0].classes[0].target_us: 5000 is more than interval_ms, 4: lower it, or raise that one"},
		{CLASSES("{'name': 'x', 'classes': [" DEFAULT "],\n'drop': 'codel'}"),
			"5: $.shape[0].classes[0].drop: not allowed with 'classes': only leaves queue frames"},
		{CLASSES("{'name': 'x', 'default': true, 'fair': 'flow',\n'flows': 65}"),
			"5: $.shape[0].classes[0].flows: 65 is not a power of two"},
		{CLASSES("{'name': 'x', 'default': true,\n'burst': 5000}"),
			"5: $.shape[0].classes[0].burst: has no effect without 'rate'"},
		{CLASSES("{'name': 'x', 'default': true, 'colour': 1}"),
			"4: $.shape[0].classes[0].colour: unknown key; valid keys: name, rate, ceil, burst, cburst, prio, quantum, match, echo, default, fair, flows, weights, "
			"limit, limit_bytes, limit_ms, drop, target_us, interval_ms, police, classes"},
	};

	expect_refusals(refusals, TL_ARRAY_LEN(refusals));
}

#define WEIGHED(keys) CLASSES("{'name': 'x', 'default': true,\n" keys "}")
#define WEIGHTS(list) WEIGHED("'fair': 'source', 'weights': [" list "]")

TL_TEST("hosts of a fair class have weights by prefix")
{
	struct tl_config *config =
		load_right(WEIGHTS("{'prefix': '10.0.0.0/8', 'weight': 3}, {'prefix': '2001:db8::1', 'weight': 100}"));
	const struct tl_config_class *c = &config->shapes[0].classes[1];

	CU_ASSERT_EQUAL_FATAL(c->n_weights, 2);
	CU_ASSERT_EQUAL(c->weights[0].version, 4);
	CU_ASSERT_EQUAL(c->weights[0].prefix.bits, 8);
	CU_ASSERT_EQUAL(c->weights[0].weight, 3);
	CU_ASSERT_EQUAL(c->weights[1].version, 6);
	CU_ASSERT_EQUAL(c->weights[1].prefix.bits, 128);
	CU_ASSERT_EQUAL(c->weights[1].weight, 100);
	struct tl_config_weight other[2] = {c->weights[0], c->weights[1]};
	struct tl_config_class next = {.n_weights = 2, .weights = other};
	CU_ASSERT_TRUE(tl_config_same_weights(c, &next));
	other[1].weight = 99;
	CU_ASSERT_FALSE(tl_config_same_weights(c, &next));
	other[1] = c->weights[1];
	other[0].prefix.bits = 9;
	CU_ASSERT_FALSE(tl_config_same_weights(c, &next));
	next.n_weights = 1;
	CU_ASSERT_FALSE(tl_config_same_weights(c, &next));
	tl_config_free(config);
}

TL_TEST("weights that cannot hold are refused with their place")
{
	static const struct refusal refusals[] = {
		{WEIGHED("'weights': [{'prefix': '10.0.0.0/8', 'weight': 3}]"),
			"5: $.shape[0].classes[0].weights: has no effect without 'fair': 'source' or 'destination'"},
		{WEIGHED("'fair': 'flow', 'weights': [{'prefix': '10.0.0.0/8', 'weight': 3}]"),
			"5: $.shape[0].classes[0].weights: has no effect without 'fair': 'source' or 'destination'"},
		{WEIGHTS("{'prefix': '10.0.0.1/8', 'weight': 3}"),
			"5: $.shape[0].classes[0].weights[0].prefix: '10.0.0.1/8' is not a network: bits behind its prefix "
			"are set"},
		{WEIGHTS("{'prefix': '2001:db8::/32', 'weight': 0}"),
			"5: $.shape[0].classes[0].weights[0].weight: 0 is not a whole number from 1 to 100"},
		{WEIGHTS("{'prefix': '2001:db8::/32', 'weight': 101}"),
			"5: $.shape[0].classes[0].weights[0].weight: 101 is not a whole number from 1 to 100"},
		{WEIGHTS("{'prefix': '2001:db8::/32'}"),
			"5: $.shape[0].classes[0].weights[0]: the key 'weight' is required here"},
		{WEIGHTS("{'prefix': '10.0.0.0/8', 'weight': 3},\n{'prefix': '10.0.0.0/8', 'weight': 2}"),
			"6: $.shape[0].classes[0].weights[1].prefix: the list has this prefix already"},
		{WEIGHTS(""), "5: $.shape[0].classes[0].weights: the list has 0 entries: give 1 to 64"},
	};

	expect_refusals(refusals, TL_ARRAY_LEN(refusals));
}

#define SHARE(keys, members) PORTS "'share': [{'name': 'up', 'rate': '3Mbit'" keys "}],\n'shape': [" members "]}"
#define MEASURED(members) PORTS "'share': [{'name': 'up', 'rate': 'measured'}],\n'shape': [" members "]}"
#define MEMBER(keys)                                                                                                   \
	"{'name': 'wan', 'rate': '2Mbit', 'port': 'a',\n" keys                                                         \
	"'classes': [{'name': 'x', 'rate': '1Mbit', 'match': 'udp'}, " DEFAULT "]}"
#define SECOND(keys) ", {'name': 'q0', 'rate': '2Mbit', 'port': 'q', 'queue': 0,\n" keys "'classes': [" DEFAULT "]}"

TL_TEST("shapes share a rate, with tier, weight and floor")
{
	struct tl_config *config = load_right(SHARE("",
		MEMBER("'share': 'up', ") SECOND("'share': 'up', 'tier': 'nonprod', 'weight': 3, 'floor': '2Mbit', ")));
	const struct tl_config_shape *s = config->shapes;

	CU_ASSERT_EQUAL(config->n_shares, 1);
	CU_ASSERT_STRING_EQUAL(config->shares[0].name, "up");
	CU_ASSERT_EQUAL(config->shares[0].rate, 3000000);
	CU_ASSERT_EQUAL(s[0].share, 0);
	CU_ASSERT_EQUAL(s[0].tier, TL_CONFIG_TIER_PROD);
	CU_ASSERT_EQUAL(s[0].weight, 1);
	CU_ASSERT_EQUAL(tl_config_shape_floor(&s[0]), 1000000);
	CU_ASSERT_EQUAL(s[1].tier, TL_CONFIG_TIER_NONPROD);
	CU_ASSERT_EQUAL(s[1].weight, 3);
	CU_ASSERT_EQUAL(tl_config_shape_floor(&s[1]), 2000000);
	tl_config_free(config);
	config = load_right(MEASURED(MEMBER("'share': 'up', 'floor': '2Mbit', ")));
	CU_ASSERT_EQUAL(config->shares[0].rate, 0);
	tl_config_free(config);
	config = load_right(CLASSES(DEFAULT));
	CU_ASSERT_EQUAL(config->shapes[0].share, TL_CONFIG_NO_SHARE);
	tl_config_free(config);
}

TL_TEST("a share has members, and covers their floors")
{
	static const struct refusal refusals[] = {
		{SHARE("", MEMBER("'share': 'down', ")), "5: $.shape[0].share: no entry of 'share' is called 'down'"},
		{SHARE("", MEMBER("'share': 'up', ") SECOND("'weight': 2, ")),
			"6: $.shape[1].weight: has no effect without 'share'"},
		{SHARE("", MEMBER("'share': 'up', 'floor': '2.1Mbit', ")),
			"5: $.shape[0].floor: above 'rate', the limit of the shape: lower it"},
		{SHARE("", MEMBER("")),
			"3: $.share[0].name: it has no 'classes', and no shape and no recording has 'share': 'up'"},
		{SHARE("}, {'name': 'up', 'rate': 1", MEMBER("'share': 'up', ")),
			"3: $.share[1].name: $.share[0] is called 'up' already"},
		{SHARE("", MEMBER("'share': 'up', 'floor': '1.5Mbit', ") SECOND("'share': 'up', 'floor': '1.6Mbit', ")),
			"3: $.share[0].rate: the floors of its shapes, or the rates of their classes, add up to "
			"3100000 bit/s, more than this: lower them"},
		{MEASURED(MEMBER("'share': 'up', ") SECOND("'share': 'up', ")),
			"3: $.share[0].rate: the capacity of one port is measured, and its shapes are on several: give "
			"a rate"},
		{SHARE("", MEMBER("'share': 'up', 'tier': 'gold', ")),
			"5: $.shape[0].tier: 'gold' is not one of 'prod', 'nonprod'"},
		{SHARE("", MEMBER("'share': 'up', 'weight': 0, ")),
			"5: $.shape[0].weight: 0 is not a whole number from 1 to 1000000"},
	};

	expect_refusals(refusals, TL_ARRAY_LEN(refusals));
}

#define OF_CLASSES_BESIDE(rate, members, other)                                                                        \
	PORTS "'share': [{'name': 'up', 'rate': " rate ",\n'classes': [" members "]}],\n"                              \
	      "'shape': [{'name': 'wan', 'rate': '2Mbit', 'port': 'a', 'classes': ["                                   \
	      "{'name': 'x', 'rate': '1Mbit', 'ceil': '1.5Mbit', 'match': 'udp'},"                                     \
	      "{'name': 'in', 'classes': [{'name': 'y', 'match': 'tcp'}]}, " DEFAULT "]},"                             \
	      "{'name': 'q0', 'rate': '2Mbit', 'port': 'q', 'queue': 0, " other "'classes': [" DEFAULT "]}]}"
#define OF_CLASSES(rate, members) OF_CLASSES_BESIDE(rate, members, "")

TL_TEST("classes of a shape share a rate")
{
	struct tl_config *config = load_right(OF_CLASSES(
		"'1.9Mbit'", "{'class': 'wan/x'}, {'class': 'wan/y', 'tier': 'nonprod', 'weight': 3, 'floor': 5000}"));
	const struct tl_config_shape *s = &config->shapes[0];

	CU_ASSERT_EQUAL(config->shares[0].n_classes, 2);
	CU_ASSERT_EQUAL(s->class_share, 0);
	CU_ASSERT_EQUAL(s->classes[1].member.weight, 1);
	CU_ASSERT_EQUAL(s->classes[1].member.tier, TL_CONFIG_TIER_PROD);
	CU_ASSERT_EQUAL(tl_config_member_floor(&s->classes[1]), 1000000);
	CU_ASSERT_EQUAL(s->classes[2].member.weight, 0);
	CU_ASSERT_EQUAL(s->classes[3].member.weight, 3);
	CU_ASSERT_EQUAL(s->classes[3].member.tier, TL_CONFIG_TIER_NONPROD);
	CU_ASSERT_EQUAL(tl_config_member_floor(&s->classes[3]), 5000);
	CU_ASSERT_EQUAL(config->shapes[1].classes[1].member.weight, 0);
	tl_config_free(config);
	config = load_right(OF_CLASSES("'measured'", "{'class': 'wan/x'}, {'class': 'wan/y', 'floor': '1Mbit'}"));
	CU_ASSERT_EQUAL(config->shares[0].rate, 0);
	CU_ASSERT_EQUAL(config->shares[0].n_classes, 2);
	tl_config_free(config);
}

TL_TEST("the members of a share are classes of one shape")
{
	static const struct refusal refusals[] = {
		{OF_CLASSES("'measured'", "{'class': 'wan/x'}, {'class': 'wan/y', 'floor': '1.1Mbit'}"),
			"3: $.share[0].rate: the floors of its classes, or their rates, add up to 2100000 bit/s, more than "
			"the rate of their shape: lower them"},
		{PORTS "'capture': [{'port': 'a', 'path': 'x', 'share': 'up'}],\n"
		       "'share': [{'name': 'up', 'rate': '1Mbit',\n'classes': [{'class': 'wan/x'}]}]}",
			"5: $.share[0].classes: recordings have the same 'share': give them another"},
		{OF_CLASSES("'1Mbit'", "{'class': 'x'}"),
			"4: $.share[0].classes[0].class: 'x' is no class, as SHAPE/CLASS"},
		{OF_CLASSES("'1Mbit'", "{'class': 'wan-x'}"),
			"4: $.share[0].classes[0].class: 'wan-x' is no class, as SHAPE/CLASS"},
		{OF_CLASSES("'1Mbit'", "{'class': 'wan/wan'}"),
			"4: $.share[0].classes[0].class: 'wan/wan' is no class, as SHAPE/CLASS"},
		{OF_CLASSES("'1Mbit'", "{'class': 'wan/x'},\n{'class': 'q0/rest'}"),
			"5: $.share[0].classes[1].class: no class of the shape of the first one is called 'q0/rest'"},
		{OF_CLASSES("'1Mbit'", "{'class': 'wan/x'},\n{'class': 'wan/x'}"),
			"5: $.share[0].classes[1].class: the class 'wan/x' is in a share already"},
		{OF_CLASSES("'1Mbit'", "{'class': 'wan/in'},\n{'class': 'wan/y'}"),
			"5: $.share[0].classes[1].class: the class is below 'in', which is in a share: leave out one of them"},
		{OF_CLASSES("'1Mbit'",
			 "{'class': 'wan/x'}]}, {'name': 'other', 'rate': 1, 'classes': [{'class': 'wan/y'}"),
			"4: $.share[0].classes[0].class: the shape 'wan', or another class of it, is in another share"},
		{OF_CLASSES("'2Mbit'", "{'class': 'wan/x', 'floor': '1.6Mbit'}"),
			"4: $.share[0].classes[0].floor: above 'ceil' of the class: lower it"},
		{OF_CLASSES("'2.1Mbit'", "{'class': 'wan/x'}"),
			"3: $.share[0].rate: above that of the shape 'wan': lower it"},
		{OF_CLASSES("'1Mbit'", "{'class': 'wan/x'}, {'class': 'wan/y', 'floor': 1}"),
			"3: $.share[0].rate: the floors of its classes, or their rates, add up to 1000001 bit/s, more than "
			"this: lower them"},
		{OF_CLASSES("'1Mbit'", ""), "4: $.share[0].classes: the list is empty"},
		{OF_CLASSES_BESIDE("'1Mbit'", "{'class': 'wan/x'}", "'share': 'up', "),
			"4: $.share[0].classes[0].class: the share is also that of the shape 'q0': give its classes one of "
			"their own"},
	};

	expect_refusals(refusals, TL_ARRAY_LEN(refusals));
}

// Write n classes, nested or side by side.
static char *many(uint32_t n, bool deep, const char *keys)
{
	char *text = malloc(512 + n * 128);
	size_t used =
		(size_t)sprintf(text, "{'ports': [{'name': 'a', 'device': 'eth0', 'ip': '192.0.2.1/24'}], 'eal': "
				      "{'memory_mb': 64}, 'echo': [{'port': 'a', 'udp_listen': 7}], 'shape': [{'name': "
				      "'w', 'rate': 1, 'port': 'a', 'classes': [");

	for (uint32_t i = 0; i < n; i++)
		used += (size_t)sprintf(text + used,
			deep && i + 1 < n ? "{'name': 'c%u', 'classes': [" : "{'name': 'c%u', 'match': 'len=%u'%s},", i,
			i, keys);
	text[used - 1] = ' '; // remove the comma
	for (uint32_t i = 1; i < n && deep; i++)
		used += (size_t)sprintf(text + used, "]}");
	sprintf(text + used, ", {'name': 'rest', 'default': true%s}]}]}", keys);
	return text;
}

// Write classes with classes, the last of which is alone: 1 + n * (1 + each) classes.
static char *grouped(uint32_t n, uint32_t each)
{
	char *text = malloc(1024 + n * (each + 1) * 64);
	size_t used = (size_t)sprintf(text, PORTS "'shape': [{'name': 'w', 'rate': 1, 'port': 'a', 'classes': [\n");

	for (uint32_t i = 0; i < n; i++) {
		used += (size_t)sprintf(text + used, "{'name': 'g%u', 'classes': [", i);
		for (uint32_t k = 0; k < each; k++)
			used += (size_t)sprintf(text + used, "%s{'name': 'c%u-%u', 'match': 'len=%u', 'limit': 1}",
				k != 0 ? ", " : "", i, k, i * each + k);
		used += (size_t)sprintf(text + used, "]},\n");
	}
	sprintf(text + used, "{'name': 'rest', 'default': true}]}]}");
	return text;
}

TL_TEST("nested classes count like others")
{
	char *most = grouped(1111, 8), *more = grouped(1112, 8);
	struct refusal refusal = {
		more, "1115: $.shape[0].classes[1111].classes[0]: the shape has more than 10000 classes"};
	struct tl_config *config = load_right(most);
	const struct tl_config_shape *s = &config->shapes[0];

	CU_ASSERT_EQUAL(s->n_classes, 1 + 10000);
	CU_ASSERT_EQUAL(s->fallback, 10000);
	CU_ASSERT_STRING_EQUAL(s->classes[9999].name, "c1110-7");
	CU_ASSERT_STRING_EQUAL(s->classes[s->classes[9999].parent].name, "g1110");
	CU_ASSERT_EQUAL(s->classes[9999].line, 4 + 1110);
	expect_refusals(&refusal, 1);
	tl_config_free(config);
	free(most);
	free(more);
}

TL_TEST("there are limits of depth, number and memory")
{
	char *deep = many(8, true, ""), *wide = many(10000, false, ""), *greedy = many(3, false, ", 'limit': 7500");
	struct refusal refusals[] = {
		{deep, "1: $.shape[0].classes[0].classes[0].classes[0].classes[0].classes[0].classes[0].classes[0].classes: "
		       "classes nest at most 7 deep"},
		{wide, "1: $.shape[0].classes[10000]: the shape has more than 10000 classes"},
		{greedy,
			"1: $.shape[0].classes: the limits allow 30001 queued frames in buffers of 2368 bytes, 67 MiB, and "
			"eal.memory_mb is 64: lower 'limit', or raise eal.memory_mb"},
	};

	expect_refusals(refusals, TL_ARRAY_LEN(refusals));
	free(deep);
	free(wide);
	free(greedy);
	deep = many(7, true, "");
	wide = many(9999, false, ", 'limit': 2");
	tl_config_free(load_right(deep));
	tl_config_free(load_right(wide));
	free(deep);
	free(wide);
}

int main(void)
{
	return tl_test_run("config_shape");
}
