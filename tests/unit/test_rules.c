// SPDX-License-Identifier: BSD-3-Clause
// Flow rules: the keys, and the plan for each family of NICs.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tl_config.h>
#include <tl_err.h>
#include <tl_rules.h>
#include <tl_test.h>

#define IXGBE_82599 0x10fb
#define X540T 0x1528
#define X550T 0x1563

// Load a port with four queues and these keys; ' stands for ".
static int load(const char *keys, struct tl_config **out, struct tl_err *err)
{
	char text[4096];

	snprintf(text, sizeof(text), "{'ports': [{'name': 'a', 'device': '0000:01:00.0', 'rx_queues': 4,\n%s}]}", keys);
	for (char *p = text; *p != '\0'; p++)
		*p = *p == '\'' ? '"' : *p;
	return tl_config_load_text(text, strlen(text), "t.json", out, err);
}

static struct tl_config *load_rules(const char *rules)
{
	struct tl_config *config = NULL;
	struct tl_err err = {""};
	char keys[4000];

	snprintf(keys, sizeof(keys), "'flow_rules': [%s]", rules);
	if (load(keys, &config, &err) != 0)
		printf("# refused: %s\n", err.text);
	CU_ASSERT_PTR_NOT_NULL_FATAL(config);
	return config;
}

// Return a letter per rule: the first one of the plan's name for it, or '-'; then the rejected items.
static void expect_plan(const char *driver, uint16_t device, const char *rules, const char *wanted)
{
	struct tl_rules_plan *plan = calloc(1, sizeof(*plan));
	struct tl_config *config = load_rules(rules);
	const struct tl_config_port *port = &config->ports[0];
	char got[512] = "";
	size_t used = 0;
	uint32_t at;

	CU_ASSERT_EQUAL(
		tl_rules_plan(tl_rules_family(driver, device), port->flow_rules, port->n_flow_rules, plan, &at, NULL),
		0);
	for (uint32_t i = 0; i < plan->n; i++)
		used += (size_t)snprintf(got + used, sizeof(got) - used, "%s%s", i == 0 ? "" : ", ",
			plan->row[i].way != NULL ? plan->row[i].way->name : plan->row[i].item);
	if (strcmp(got, wanted) != 0)
		printf("# %s %04x: %s\n# is:     %s\n# wanted: %s\n", driver, device, rules, got, wanted);
	CU_ASSERT_STRING_EQUAL(got, wanted);
	tl_config_free(config);
	free(plan);
}

// ---- keys

TL_TEST("the items of a rule are parsed")
{
	struct tl_config *config = load_rules("{'dst_ip': '239.1.1.1', 'proto': 'udp', 'dst_port': 5001, 'queue': 3},\n"
					      "{'src_ip': '2001:db8::/32', 'drop': true}");
	const struct tl_config_rule *rule = config->ports[0].flow_rules;
	char text[TL_CONFIG_RULE_TEXT];

	CU_ASSERT_EQUAL_FATAL(config->ports[0].n_flow_rules, 2);
	CU_ASSERT_EQUAL(rule[0].version, 4);
	CU_ASSERT_EQUAL(rule[0].dst.bits, 32);
	CU_ASSERT_EQUAL(rule[0].src.bits, 0);
	CU_ASSERT_EQUAL(memcmp(rule[0].dst.ip, "\xef\x01\x01\x01", 4), 0);
	CU_ASSERT_EQUAL(rule[0].queue, 3);
	CU_ASSERT_FALSE(rule[0].drop);
	CU_ASSERT_EQUAL(rule[0].line, 2);
	CU_ASSERT_EQUAL(rule[1].version, 6);
	CU_ASSERT_EQUAL(rule[1].src.bits, 32);
	CU_ASSERT_TRUE(rule[1].drop);
	CU_ASSERT_EQUAL(rule[1].line, 3);
	CU_ASSERT_STRING_EQUAL(tl_config_rule_text(&rule[0], text), "dst 239.1.1.1 udp dst port 5001");
	CU_ASSERT_STRING_EQUAL(tl_config_rule_text(&rule[1], text), "src 2001:db8::/32");
	tl_config_free(config);
}

TL_TEST("the longest rule is formatted")
{
	struct tl_config *config =
		load_rules("{'src_ip': '2001:db8:1111:2222:3333:4444:5555:6666', 'dst_ip': "
			   "'2001:db8:1111:2222:3333:4444:5555:6660/124', 'proto': 'udp', 'src_port': 65535, "
			   "'dst_port': 65535, 'queue': 0}");
	char text[TL_CONFIG_RULE_TEXT];

	CU_ASSERT_STRING_EQUAL(tl_config_rule_text(config->ports[0].flow_rules, text),
		"src 2001:db8:1111:2222:3333:4444:5555:6666 dst 2001:db8:1111:2222:3333:4444:5555:6660/124 udp src port "
		"65535 dst port 65535");
	tl_config_free(config);
}

TL_TEST("the queues for all other frames are parsed")
{
	struct tl_config *config = NULL;

	CU_ASSERT_EQUAL_FATAL(load("'rss_queues': [1, 3]", &config, NULL), 0);
	CU_ASSERT_EQUAL(config->ports[0].rss_queues, 0xa);
	tl_config_free(config);
}

TL_TEST("an invalid rule is refused with path and line")
{
	static const struct {
		const char *keys, *sentence;
	} wrong[] = {
		{"'flow_rules': [{'colour': 'red', 'queue': 0}]", "2: $.ports[0].flow_rules[0].colour: "},
		{"'flow_rules': [{'dst_ip': '10.0.0.1', 'queue': 0},\n{'dst_ip': '10.0.0.2', 'queue': 4}]",
			"3: $.ports[0].flow_rules[1].queue: the port has 4 RX queues, counted from 0"},
		{"'flow_rules': [{'dst_ip': '10.0.0.1', 'queue': 0},\n{'src_ip': '10.0.0.2', 'drop': true}]",
			"3: $.ports[0].flow_rules[1]: a frame may match entry 0, too (dst 10.0.0.1): "},
		{"'flow_rules': [{'queue': 0}]", "2: $.ports[0].flow_rules[0]: a rule has at least one of "},
		{"'flow_rules': [{'proto': 'tcp'}]", "2: $.ports[0].flow_rules[0]: a rule has either "},
		{"'flow_rules': [{'proto': 'tcp', 'queue': 0, 'drop': true}]",
			"2: $.ports[0].flow_rules[0]: a rule has either "},
		{"'flow_rules': [{'proto': 'tcp', 'drop': false}]", "2: $.ports[0].flow_rules[0].drop: "},
		{"'flow_rules': [{'dst_ip': '10.0.0.1', 'dst_port': 5, 'queue': 0}]",
			"2: $.ports[0].flow_rules[0].dst_port: a port belongs to a protocol"},
		{"'flow_rules': [{'dst_ip': '10.0.0.1/24', 'queue': 0}]",
			"2: $.ports[0].flow_rules[0].dst_ip: \"10.0.0.1/24\" is not a network"},
		{"'flow_rules': [{'dst_ip': '10.0.0', 'queue': 0}]",
			"2: $.ports[0].flow_rules[0].dst_ip: \"10.0.0\" is not an address"},
		{"'flow_rules': [{'src_ip': '10.0.0.1', 'dst_ip': 'fe80::1', 'queue': 0}]",
			"2: $.ports[0].flow_rules[0].dst_ip: \"src_ip\" is of IPv4"},
		{"'flow_rules': [{'proto': 'tcp', 'queue': 0, 'mark': 0}]",
			"2: $.ports[0].flow_rules[0].mark: 0 is not "},
		{"'flow_rules': [{'proto': 'tcp', 'queue': 0, 'mark': 256}]",
			"2: $.ports[0].flow_rules[0].mark: 256 is not "},
		{"'flow_rules': [{'proto': 'tcp', 'drop': true, 'mark': 1}]",
			"2: $.ports[0].flow_rules[0].mark: frames that the NIC drops bear none"},
		{"'flow_rules': [{'proto': 'tcp', 'queue': 0, 'mark': 5},\n{'proto': 'udp', 'queue': 0, 'mark': 5}]",
			"3: $.ports[0].flow_rules[1].mark: entry 0 has this mark already"},
		{"'rss_queues': [1, 4]", "2: $.ports[0].rss_queues[1]: the port has 4 RX queues"},
		{"'rss_queues': [1, 1]", "2: $.ports[0].rss_queues[1]: queue 1 is in the list already"},
		{"'rss_queues': []", "2: $.ports[0].rss_queues: [] is not an array of queues"},
	};

	for (size_t i = 0; i < TL_ARRAY_LEN(wrong); i++) {
		struct tl_config *config = NULL;
		struct tl_err err = {""};
		CU_ASSERT_EQUAL(load(wrong[i].keys, &config, &err), -EINVAL);
		bool same = strncmp(err.text, "t.json:", 7) == 0 &&
			    strncmp(err.text + 7, wrong[i].sentence, strlen(wrong[i].sentence)) == 0;
		if (!same)
			printf("# refused: %s\n# wanted:  t.json:%s\n", err.text, wrong[i].sentence);
		CU_ASSERT_TRUE(same);
	}
}

TL_TEST("a kernel interface has no rules")
{
	static const char *const texts[] = {("{\"ports\": [{\"name\": \"a\", \"device\": \"eth0\", \"flow_rules\": "
					     "[{\"proto\": \"tcp\", \"drop\": true}]}]}"),
		"{\"ports\": [{\"name\": \"a\", \"device\": \"xdp:eth0\", \"rx_queues\": 2, \"rss_queues\": [1]}]}",
		"{\"ports\": [{\"name\": \"a\", \"device\": \"eth0\", \"rss\": \"symmetric\"}]}"};

	for (size_t i = 0; i < TL_ARRAY_LEN(texts); i++) {
		struct tl_config *config = NULL;
		struct tl_err err = {""};
		CU_ASSERT_EQUAL(tl_config_load_text(texts[i], strlen(texts[i]), "t.json", &config, &err), -EINVAL);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "is a kernel interface"));
	}
}

TL_TEST("\"inner\" needs several queues, and works on a kernel interface")
{
	static const char one[] = "{\"ports\": [{\"name\": \"a\", \"device\": \"eth0\", \"rss\": \"inner\"}]}",
			  two[] = "{\"ports\": [{\"name\": \"a\", \"device\": \"eth0\", \"rx_queues\": 2, \"rss\": "
				  "\"inner\"}]}";
	struct tl_config *config = NULL;
	struct tl_err err = {""};

	CU_ASSERT_EQUAL(tl_config_load_text(one, strlen(one), "t.json", &config, &err), -EINVAL);
	CU_ASSERT_STRING_EQUAL(err.text, "t.json:1: $.ports[0].rss: \"inner\" is for ports with several RX queues");
	CU_ASSERT_EQUAL_FATAL(tl_config_load_text(two, strlen(two), "t.json", &config, NULL), 0);
	CU_ASSERT_EQUAL(config->ports[0].rss, TL_CONFIG_RSS_INNER);
	tl_config_free(config);
}

TL_TEST("disjoint rules are accepted")
{
	tl_config_free(load_rules("{'dst_ip': '10.0.0.0/9', 'queue': 0}, {'dst_ip': '10.128.0.0/9', 'queue': 1},"
				  "{'dst_ip': '11.0.0.1', 'proto': 'tcp', 'queue': 0},"
				  "{'dst_ip': '11.0.0.1', 'proto': 'udp', 'dst_port': 1, 'queue': 1},"
				  "{'dst_ip': '11.0.0.1', 'proto': 'udp', 'dst_port': 2, 'queue': 2},"
				  "{'dst_ip': '11.0.0.2', 'proto': 'udp', 'src_port': 2, 'queue': 2},"
				  "{'dst_ip': '11.0.0.2', 'proto': 'udp', 'src_port': 3, 'queue': 2},"
				  "{'dst_ip': 'ff05::1', 'queue': 2}"));
}

// Load a recording with these keys, of a port whose rules have the marks 3 and 255.
static int load_recording(const char *keys, struct tl_config **out, struct tl_err *err)
{
	char text[1024];

	snprintf(text, sizeof(text),
		"{'ports': [{'name': 'a', 'device': '0000:01:00.0', 'flow_rules': [{'proto': 'tcp', 'queue': 0, 'mark': 3},"
		"{'proto': 'udp', 'queue': 0, 'mark': 255}, {'dst_ip': 'ff05::1', 'queue': 0}]}],\n"
		"'capture': [{'port': 'a', 'path': 'x.pcapng', %s}]}",
		keys);
	for (char *p = text; *p != '\0'; p++)
		*p = *p == '\'' ? '"' : *p;
	return tl_config_load_text(text, strlen(text), "t.json", out, err);
}

TL_TEST("marks select the received frames of a recording")
{
	struct tl_config *config = NULL;

	CU_ASSERT_EQUAL_FATAL(load_recording("'marks': [255, 3]", &config, NULL), 0);
	const struct tl_config_capture *capture = &config->captures[0];
	CU_ASSERT_TRUE(capture->has_marks && capture->marks[3] && capture->marks[255]);
	CU_ASSERT_FALSE(capture->marks[0]);
	CU_ASSERT_EQUAL(capture->direction, TL_CONFIG_RX);
	CU_ASSERT_EQUAL(config->ports[0].flow_rules[1].mark, 255);
	tl_config_free(config);
	CU_ASSERT_EQUAL_FATAL(load_recording("'marks': [3], 'direction': 'rx'", &config, NULL), 0);
	tl_config_free(config);
	CU_ASSERT_EQUAL_FATAL(load_recording("'snaplen': 0", &config, NULL), 0);
	CU_ASSERT_FALSE(config->captures[0].has_marks);
	CU_ASSERT_EQUAL(config->captures[0].direction, TL_CONFIG_BOTH);
	tl_config_free(config);
}

TL_TEST("invalid marks of a recording are refused with path and line")
{
	static const char *const wrong[][2] = {
		{"'marks': []", "t.json:2: $.capture[0].marks: [] is not an array of marks"},
		{"'marks': [0]", "t.json:2: $.capture[0].marks[0]: 0 is not "},
		{"'marks': [3, 3]", "t.json:2: $.capture[0].marks[1]: mark 3 is in the list already"},
		{"'marks': [3, 4]",
			"t.json:2: $.capture[0].marks: no rule in \"flow_rules\" of the port \"a\" has the mark 4"},
		{"'marks': [3], 'direction': 'both'",
			"t.json:2: $.capture[0].direction: only received frames bear \"marks\""}};

	for (size_t i = 0; i < TL_ARRAY_LEN(wrong); i++) {
		struct tl_config *config = NULL;
		struct tl_err err = {""};
		CU_ASSERT_EQUAL(load_recording(wrong[i][0], &config, &err), -EINVAL);
		if (strncmp(err.text, wrong[i][1], strlen(wrong[i][1])) != 0)
			printf("# refused: %s\n# wanted:  %s\n", err.text, wrong[i][1]);
		CU_ASSERT_EQUAL(strncmp(err.text, wrong[i][1], strlen(wrong[i][1])), 0);
	}
}

// ---- plans

#define GROUP "{'dst_ip': '239.1.1.1', 'proto': 'udp', 'dst_port': 5001, 'queue': 0}"
#define ITS_TCP "{'dst_ip': '10.0.0.1', 'proto': 'tcp', 'queue': 0}"
#define NETWORK "{'dst_ip': '10.1.0.0/16', 'proto': 'tcp', 'queue': 1}"
#define SIX "{'dst_ip': '2001:db8::1', 'proto': 'tcp', 'queue': 1}"
#define BARE "{'src_ip': '10.9.9.9', 'dst_ip': '10.9.9.8', 'queue': 1}"
#define DROP_HOST "{'dst_ip': '192.0.2.7', 'drop': true}"
#define DROP_PORT "{'dst_ip': '192.0.2.7', 'proto': 'udp', 'dst_port': 9, 'drop': true}"
#define DROP_UDP "{'dst_ip': '192.0.2.7', 'proto': 'udp', 'drop': true}"
#define ALL GROUP "," ITS_TCP "," NETWORK "," SIX "," BARE ","

TL_TEST("each family has its own plan")
{
	expect_plan("net_ixgbe", IXGBE_82599, ALL DROP_HOST,
		"5-tuple filter, 5-tuple filter, dst_ip, IPv6, 5-tuple filter, flow director");
	expect_plan("net_e1000", 0x10c9, ALL DROP_HOST, "5-tuple filter, 5-tuple filter, dst_ip, IPv6, proto, drop");
	expect_plan("net_e1000", 0x1521, ALL DROP_HOST, "dst_ip, dst_ip, dst_ip, IPv6, src_ip, drop");
	expect_plan("net_e1000", 0x10d3, GROUP, "driver");
	expect_plan("net_i40e", 0x1572, ALL DROP_PORT,
		"flow director, flow director, dst_ip, flow director, proto, flow director");
	expect_plan(
		"net_ice", 0x1592, ALL DROP_UDP, "flow director, flow director, dst_ip, flow director, proto, mask");
	expect_plan("net_mlx5", 0x1017, ALL DROP_PORT,
		"steering table, steering table, steering table, steering table, steering table, steering table");
	expect_plan("net_virtio", 0x1041, GROUP "," DROP_HOST, "driver, driver");
	expect_plan(NULL, 0, GROUP, "driver");
}

TL_TEST("a protocol alone is no rule of ice")
{
	expect_plan("net_ice", 0x1592, "{'proto': 'tcp', 'queue': 1}, {'proto': 'udp', 'dst_port': 9, 'queue': 1}",
		"proto, flow director");
	expect_plan("net_mlx5", 0x1017, "{'proto': 'tcp', 'queue': 1}", "steering table");
}

TL_TEST("the 82598 and the 82575 support no filters")
{
	expect_plan("net_ixgbe", 0x10c6, GROUP "," DROP_HOST, "queue, drop");
	expect_plan("net_e1000", 0x10a7, GROUP, "driver");
}

TL_TEST("the 82599 drops by addresses, its successors also by ports")
{
	expect_plan("net_ixgbe", IXGBE_82599, DROP_PORT, "proto");
	expect_plan("net_ixgbe", X540T, DROP_PORT, "flow director");
	expect_plan("net_ixgbe", X550T, DROP_PORT, "flow director");
	expect_plan("net_ixgbe", X540T, DROP_UDP, "proto");
}

// In one mask with the dropping ones, and the protocol only with ports.
TL_TEST("the X550 steers frames to queues by its flow director")
{
	static const uint16_t devices[] = {X550T, 0x15ab, 0x15c8, 0x15d1, 0x15e5};

	for (size_t i = 0; i < TL_ARRAY_LEN(devices); i++)
		expect_plan("net_ixgbe", devices[i], GROUP "," ITS_TCP "," NETWORK "," SIX "," BARE "," DROP_PORT,
			"flow director, proto, proto, IPv6, mask, flow director");
	expect_plan("net_ixgbe", X550T, "{'dst_ip': '10.1.0.0/16', 'queue': 1}," DROP_HOST, "flow director, mask");
}

TL_TEST("a virtual function of an ixgbe supports no filters")
{
	static const uint16_t devices[] = {
		0x10ed, 0x152e, 0x1515, 0x1530, 0x1564, 0x1565, 0x15a8, 0x15a9, 0x15b4, 0x15c5};

	for (size_t i = 0; i < TL_ARRAY_LEN(devices); i++)
		expect_plan("net_ixgbe", devices[i], GROUP "," DROP_HOST, "queue, drop");
}

#define PORT_ALONE "{'proto': 'udp', 'dst_port': 5001, 'queue': 0}"

// The four kinds of MAC of igb, by e1000_set_mac_type().
TL_TEST("each card of igb has the filters of its MAC")
{
	static const struct {
		uint16_t device;
		const char *plan;
	} cards[] = {{0x10c9, "5-tuple filter, dst_ip"}, {0x1526, "5-tuple filter, dst_ip"},
		{0x150a, "5-tuple filter, dst_ip"}, {0x1518, "5-tuple filter, dst_ip"},
		{0x150e, "2-tuple filter, src_ip"}, {0x1516, "2-tuple filter, src_ip"},
		{0x0440, "2-tuple filter, src_ip"}, {0x1521, "2-tuple filter, src_ip"},
		{0x1546, "2-tuple filter, src_ip"}, {0x1539, "2-tuple filter, src_ip"},
		{0x157b, "2-tuple filter, src_ip"}, {0x153a, "driver, driver"}, {0x1525, "driver, driver"},
		{0x1f40, "driver, driver"}};

	for (size_t i = 0; i < TL_ARRAY_LEN(cards); i++)
		expect_plan("net_e1000", cards[i].device,
			PORT_ALONE ",{'src_ip': '10.0.0.1', 'dst_ip': '10.0.0.0/8', "
				   "'proto': 'tcp', 'queue': 0}",
			cards[i].plan);
}

TL_TEST("all drop rules of an ixgbe share one mask")
{
	expect_plan("net_ixgbe", IXGBE_82599,
		"{'src_ip': '192.0.2.7', 'drop': true}, {'src_ip': '192.0.2.8', 'drop': true},"
		"{'src_ip': '192.0.3.0/24', 'drop': true}, {'src_ip': '10.0.0.1', 'dst_ip': '10.0.0.2', 'drop': true},"
		"{'src_ip': '10.0.0.2', 'dst_ip': '10.0.0.2', 'queue': 0}",
		"flow director, flow director, mask, mask, 5-tuple filter");
	expect_plan("net_ixgbe", IXGBE_82599,
		"{'dst_ip': '192.0.2.0/24', 'drop': true}, {'dst_ip': '192.0.3.0/24', 'drop': true},"
		"{'dst_ip': '192.0.4.0/25', 'drop': true}",
		"flow director, flow director, mask");
}

TL_TEST("all rules of a protocol share one mask on i40e")
{
	expect_plan("net_i40e", 0x1572,
		"{'dst_ip': '10.0.0.1', 'proto': 'udp', 'queue': 0}, {'dst_ip': '10.0.0.2', 'proto': 'udp', 'queue': 0},"
		"{'dst_ip': '10.0.0.3', 'proto': 'udp', 'dst_port': 5, 'queue': 0},"
		"{'dst_ip': '10.0.0.3', 'proto': 'tcp', 'dst_port': 5, 'queue': 0},"
		"{'dst_ip': 'fe80::1', 'proto': 'udp', 'dst_port': 5, 'queue': 0}",
		"flow director, flow director, mask, flow director, flow director");
}

static int plan_hosts(const char *driver, uint16_t device, uint32_t n, uint32_t *at, struct tl_err *err)
{
	struct tl_config_rule *rules = calloc(n, sizeof(*rules));
	struct tl_rules_plan *plan = calloc(1, sizeof(*plan));

	for (uint32_t i = 0; i < n; i++)
		rules[i] = (struct tl_config_rule){.version = 4,
			.dst = {.bits = 32, .ip = {10, 0, (uint8_t)(i >> 8), (uint8_t)i}},
			.proto = TL_CONFIG_PROTO_TCP};
	int rc = tl_rules_plan(tl_rules_family(driver, device), rules, n, plan, at, err);
	free(plan);
	free(rules);
	return rc;
}

TL_TEST("a rule beyond the NIC's capacity is refused")
{
	struct tl_err err = {""};
	uint32_t at = 0;

	CU_ASSERT_EQUAL(plan_hosts("net_ixgbe", IXGBE_82599, 128, &at, &err), 0);
	CU_ASSERT_EQUAL(plan_hosts("net_ixgbe", IXGBE_82599, 129, &at, &err), -ENOSPC);
	CU_ASSERT_EQUAL(at, 128);
	CU_ASSERT_STRING_EQUAL(err.text, "one rule more than this NIC holds: 128 of the kind \"5-tuple filter\"");
	CU_ASSERT_EQUAL(plan_hosts("net_e1000", 0x10c9, 8, &at, &err), 0);
	CU_ASSERT_EQUAL(plan_hosts("net_e1000", 0x10c9, 9, &at, &err), -ENOSPC);
	CU_ASSERT_EQUAL(at, 8);
	CU_ASSERT_EQUAL(plan_hosts("net_mlx5", 0x1017, TL_CONFIG_RULES_MAX, &at, &err), 0);
}

#define MARKED "{'dst_ip': '10.0.0.1', 'proto': 'tcp', 'queue': 0, 'mark': 7}"

TL_TEST("marks are supported on i40e, ice and mlx5")
{
	expect_plan("net_i40e", 0x1572, MARKED, "flow director");
	expect_plan("net_ice", 0x1592, MARKED, "flow director");
	expect_plan("net_mlx5", 0x1017, MARKED, "steering table");
}

static void expect_unmarked(const char *driver, uint16_t device, const char *rules, uint32_t wanted_at, const char *why)
{
	struct tl_rules_plan *plan = calloc(1, sizeof(*plan));
	struct tl_config *config = load_rules(rules);
	const struct tl_config_port *port = &config->ports[0];
	struct tl_err err = {""};
	uint32_t at = UINT32_MAX;

	CU_ASSERT_EQUAL(
		tl_rules_plan(tl_rules_family(driver, device), port->flow_rules, port->n_flow_rules, plan, &at, &err),
		-ENOTSUP);
	CU_ASSERT_EQUAL(at, wanted_at);
	if (strstr(err.text, why) == NULL)
		printf("# refused: %s\n# wanted:  %s\n", err.text, why);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, why));
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "remove \"mark\", and select its frames by the \"filter\""));
	tl_config_free(config);
	free(plan);
}

// Without its rule in the NIC a recording of a mark would be empty.
TL_TEST("a mark without a rule is an error")
{
	static const char no_marks[] = "refused for \"mark\": with its driver no received frame bears one";

	expect_unmarked("net_ixgbe", IXGBE_82599, BARE "," MARKED, 1, no_marks);
	expect_unmarked("net_ixgbe", X540T, MARKED, 0, no_marks);
	expect_unmarked("net_e1000", 0x10c9, MARKED, 0, no_marks);
	expect_unmarked("net_tap", 0, MARKED, 0, no_marks);
	expect_unmarked("net_virtio", 0x1041, MARKED, 0, "refused for \"driver\"");
	expect_unmarked("net_i40e", 0x1572, "{'dst_ip': '10.0.0.0/8', 'proto': 'tcp', 'queue': 0, 'mark': 7}", 0,
		"refused for \"dst_ip\"");
}

// ---- isolated ports

// Load an isolated port with these keys, echoes on it, and ' for ".
static int load_isolated(const char *keys, const char *echoes, struct tl_config **out, struct tl_err *err)
{
	char text[2048];

	snprintf(text, sizeof(text),
		"{'ports': [{'name': 'a', 'device': '0000:01:00.0', 'rx_queues': 4, 'isolate': true,\n%s}],\n'echo': [%s]}",
		keys, echoes);
	for (char *p = text; *p != '\0'; p++)
		*p = *p == '\'' ? '"' : *p;
	return tl_config_load_text(text, strlen(text), "t.json", out, err);
}

// Compare the rules of an isolated port, whose echoes have the queues 2 and 3, with the wanted ones. A * marks the
// rules of the configuration.
static void expect_isolated(const char *keys, const char *echoes, const char *wanted)
{
	static const uint16_t queues[] = {2, 3};
	struct tl_config_rule *rules = calloc(TL_RULES_MAX, sizeof(*rules));
	struct tl_config *config = NULL;
	struct tl_err err = {""};
	char got[1024] = "", text[TL_CONFIG_RULE_TEXT];
	size_t used = 0;

	if (load_isolated(keys, echoes, &config, &err) != 0)
		printf("# refused: %s\n", err.text);
	CU_ASSERT_PTR_NOT_NULL_FATAL(config);
	int n = tl_rules_isolate(config, 0, queues, rules);
	for (int i = 0; i < n; i++)
		used += (size_t)snprintf(got + used, sizeof(got) - used, "%s%s%s to %u", i == 0 ? "" : ", ",
			rules[i].derived != NULL ? "" : "*", tl_config_rule_text(&rules[i], text), rules[i].queue);
	if (strcmp(got, wanted) != 0)
		printf("# is:     %s\n# wanted: %s\n", got, wanted);
	CU_ASSERT_STRING_EQUAL(got, wanted);
	tl_config_free(config);
	free(rules);
}

#define TO_TCP "'send': {'tcp_connect': '10.0.0.2:5002'}"
#define FEED(group) "{'port': 'a', 'receive': {'group': '" group "', 'udp_port': 5001}, " TO_TCP "}"

TL_TEST("an isolated port has rules for its addresses and groups")
{
	expect_isolated("'ip': '10.0.0.1/24', 'ip_fragments': 'count'", FEED("239.1.1.1") "," FEED("239.1.1.2"),
		"dst 10.0.0.1 to 2, dst 239.1.1.1 udp dst port 5001 to 2, dst 239.1.1.2 udp dst port 5001 to 3");
	expect_isolated("'ip': '10.0.0.1/24', 'ip6': '2001:db8::1/64', 'flow_rules': [{'dst_ip': '10.0.0.1', "
			"'proto': 'tcp', 'dst_port': 7, 'queue': 1}]",
		"{'port': 'a', 'tcp_listen': 7}",
		"*dst 10.0.0.1 tcp dst port 7 to 1, dst 10.0.0.1 to 2, dst 2001:db8::1 to 2");
	expect_isolated("'flow_rules': [{'proto': 'tcp', 'queue': 1}]", "", "*tcp to 1");
}

// Later fragments have no ports.
TL_TEST("rules for fragmented datagrams omit the port")
{
	expect_isolated("'ip': '10.0.0.1/24'",
		FEED("239.1.1.1") ", {'port': 'a', 'receive': {'group': '239.1.1.1', 'udp_port': 5002}, " TO_TCP "}",
		"dst 10.0.0.1 to 2, dst 239.1.1.1 udp to 2");
}

TL_TEST("a range of groups is split into networks")
{
	expect_isolated("'ip': '10.0.0.1/24', 'ip_fragments': 'count'",
		"{'port': 'a', 'receive': {'group': '239.1.1.3', 'groups': 7, 'udp_port': 5001}, " TO_TCP "}",
		"dst 10.0.0.1 to 2, dst 239.1.1.3 udp dst port 5001 to 2, dst 239.1.1.4/30 udp dst port 5001 to 2, "
		"dst 239.1.1.8/31 udp dst port 5001 to 2");
	expect_isolated("'ip': '10.0.0.1/24', 'ip6': '2001:db8::1/64'",
		"{'port': 'a', 'receive': {'group': 'ff15::1', 'udp_port': 5001}, "
		"'send': {'tcp_connect': '[2001:db8::2]:5002'}}",
		"dst 10.0.0.1 to 2, dst 2001:db8::1 to 2, dst ff15::1 udp to 2");
}

TL_TEST("an isolated port has a limited number of rules")
{
	static const uint16_t queues[16] = {0};
	struct tl_config *config = calloc(1, sizeof(*config));
	struct tl_config_rule *rules = calloc(TL_RULES_MAX, sizeof(*rules));

	config->ports[0].ip_be = 1;
	config->ports[0].n_flow_rules = TL_CONFIG_RULES_MAX;
	config->n_echoes = 16;
	config->echoes = calloc(config->n_echoes, sizeof(*config->echoes));
	for (uint32_t i = 0; i < config->n_echoes; i++)
		config->echoes[i] = (struct tl_config_echo){
			.mode = TL_ECHO_KIND_MCAST_TO_TCP, .group_be = 0x010000e1 | i << 8, .n_groups = 16382};
	CU_ASSERT_EQUAL(tl_rules_isolate(config, 0, queues, rules), -ENOSPC);
	config->n_echoes = 1;
	CU_ASSERT_EQUAL(tl_rules_isolate(config, 0, queues, rules), TL_CONFIG_RULES_MAX + 1 + 26);
	free(rules);
	free(config->echoes);
	free(config);
}

TL_TEST("a contradiction to isolation is refused with path and line")
{
	static const struct {
		const char *keys, *echoes, *sentence;
	} wrong[] = {
		{"'rss_queues': [1]", "", "2: $.ports[0].rss_queues: an isolated port receives"},
		{"'vlan': 5, 'ip': '10.0.0.1/24'", "{'port': 'a', 'tcp_listen': 7}", "2: $.ports[0].vlan: "},
		{"'flow_rules': [{'dst_ip': '10.0.0.1', 'drop': true}]", "",
			"1: $.ports[0].isolate: the port receives frames of rules only"},
		{"'ip6': '2001:db8::1/64'",
			"{'port': 'a', 'receive': {'group': 'ff15::1', 'udp_port': 5001},\n"
			"'send': {'tcp_connect': '[fe80::2]:5002'}}",
			"4: $.echo[0].send.tcp_connect: fe80::2 would answer to the link-local address"},
	};

	for (size_t i = 0; i < TL_ARRAY_LEN(wrong); i++) {
		struct tl_config *config = NULL;
		struct tl_err err = {""};
		CU_ASSERT_EQUAL(load_isolated(wrong[i].keys, wrong[i].echoes, &config, &err), -EINVAL);
		if (strstr(err.text, wrong[i].sentence) == NULL)
			printf("# is:     %s\n# wanted: %s\n", err.text, wrong[i].sentence);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, wrong[i].sentence));
		tl_config_free(config);
	}
}

TL_TEST("only mlx5 and net_tap can be isolated")
{
	static const struct {
		const char *driver;
		uint16_t device;
		bool isolates;
	} known[] = {{"net_mlx5", 0x1017, true}, {"net_tap", 0, true}, {"net_ixgbe", IXGBE_82599, false},
		{"net_ice", 0x1592, false}, {"net_i40e", 0x1572, false}, {"net_e1000", 0x10c9, false}};

	for (size_t i = 0; i < TL_ARRAY_LEN(known); i++)
		CU_ASSERT_EQUAL(tl_rules_family(known[i].driver, known[i].device)->isolates, known[i].isolates);
}

int main(void)
{
	return tl_test_run("rules");
}
