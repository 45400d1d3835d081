// SPDX-License-Identifier: BSD-3-Clause
// Configuration file: a message for every rejected mistake.

#include <tl_test_config_text.h>

TL_TEST("a ring that cannot replace files is refused")
{
#define NO_ROTATION                                                                                                    \
	"only a recording with rotation has old files to remove; give 'rotate_bytes', 'rotate_seconds' or "            \
	"'rotate_packets'"
	static const struct refusal refusals[] = {
		{CAPTURE(", 'keep_files': 2"), "2: $.capture[0].keep_files: " NO_ROTATION},
		{CAPTURE(", 'keep_bytes': '8M'"), "2: $.capture[0].keep_bytes: " NO_ROTATION},
		{CAPTURE(", 'min_free_bytes': 1"), "2: $.capture[0].min_free_bytes: " NO_ROTATION},
		{CAPTURE(", 'on_full': 'recycle', 'rotate_seconds': 0"), "2: $.capture[0].on_full: " NO_ROTATION},
		{CAPTURE(", 'rotate_bytes': '5M', 'keep_bytes': '9M'"),
			"2: $.capture[0].keep_bytes: is less than two files of 'rotate_bytes'"},
		{CAPTURE(", 'rotate_seconds': 1, 'keep_files': 1"),
			"2: $.capture[0].keep_files: 1 is not 0 or a whole number from 2 to 1000000"},
		{"{'ports': [{'name': 'a', 'device': 'x'}], 'capture': [{'port': 'a', 'path': '-',\n'rotate_seconds': 1}]}",
			"2: $.capture[0].rotate_seconds: stdout ('path': '-') cannot be rotated"},
		{"{'ports': [{'name': 'a', 'device': 'x'}], 'capture': [{'port': 'a', 'path': 'null:',\n'rotate_packets': 1}]}",
			"2: $.capture[0].rotate_packets: 'null:' is not a file and cannot be rotated"},
	};

	expect_refusals(refusals, TL_ARRAY_LEN(refusals));
}

TL_TEST("a contradictory cut-off is refused")
{
	static const struct refusal refusals[] = {
		{CAPTURE(", 'cutoff_bytes': 1023"),
			"2: $.capture[0].cutoff_bytes: 1023 is not 0 or a size from 1K to 1G, such as 65536 or '64K'"},
		{CAPTURE(", 'cutoff_bytes': '2G'"),
			"2: $.capture[0].cutoff_bytes: '2G' is not 0 or a size from 1K to 1G, such as 65536 or '64K'"},
		{CAPTURE(", 'cutoff_bytes': '1K', 'cutoff_flows': 1025"),
			"2: $.capture[0].cutoff_flows: 1025 is not a power of two"},
		{CAPTURE(", 'cutoff_bytes': '1K', 'cutoff_flows': 512"),
			"2: $.capture[0].cutoff_flows: 512 is not a size from 1K to 64M, such as 65536 or '64K'"},
		{CAPTURE(", 'cutoff_flows': '1M'"),
			"2: $.capture[0].cutoff_flows: applies only to a recording with 'cutoff_bytes'"},
	};

	expect_refusals(refusals, TL_ARRAY_LEN(refusals));
}

TL_TEST("a contradictory order or format is refused")
{
#define NO_INDEX "only pcapng, not compressed, is indexed while it is recorded"
#define NO_TRIGGER "a recording that waits for triggers is pcapng, not compressed, in the order of arrival"
	static const struct refusal refusals[] = {
		{CAPTURE(", 'order': 'size'"), "2: $.capture[0].order: 'size' is not one of 'arrival', 'time'"},
		{CAPTURE(", 'format': 'pcap'"), "2: $.capture[0].format: 'pcap' is not one of 'pcapng', 'pcap-ns'"},
		{CAPTURE(", 'compress': 'gzip'"), "2: $.capture[0].compress: 'gzip' is not one of 'none', 'zstd'"},
		{CAPTURE(", 'order': 'time', 'order_window_ms': 0"),
			"2: $.capture[0].order_window_ms: 0 is not a whole number from 1 to 1000"},
		{CAPTURE(", 'order': 'time', 'order_window_ms': 1001"),
			"2: $.capture[0].order_window_ms: 1001 is not a whole number from 1 to 1000"},
		{CAPTURE(", 'compress': 'zstd', 'compress_level': 20"),
			"2: $.capture[0].compress_level: 20 is not a whole number from 1 to 19"},
		{CAPTURE(", 'compress': 'zstd', 'compress_threads': 17"),
			"2: $.capture[0].compress_threads: 17 is not a whole number from 1 to 16"},
		{CAPTURE(", 'order_window_ms': 100"),
			"2: $.capture[0].order_window_ms: applies only to a recording with 'order': 'time'"},
		{CAPTURE(", 'compress': 'none', 'compress_level': 1"),
			"2: $.capture[0].compress_level: applies only to a recording with 'compress': 'zstd'"},
		{CAPTURE(", 'compress_threads': 1"),
			"2: $.capture[0].compress_threads: applies only to a recording with 'compress': 'zstd'"},
		{CAPTURE(", 'format': 'pcap-ns', 'compress': 'zstd'"),
			"2: $.capture[0].compress: only pcapng is compressed"},
		{CAPTURE(", 'mode': 'trigger', 'order': 'time'"), "2: $.capture[0].mode: " NO_TRIGGER},
		{CAPTURE(", 'mode': 'trigger', 'format': 'pcap-ns'"), "2: $.capture[0].mode: " NO_TRIGGER},
		{CAPTURE(", 'mode': 'trigger', 'compress': 'zstd'"), "2: $.capture[0].mode: " NO_TRIGGER},
		{CAPTURE(", 'compress': 'zstd', 'index': true"), "2: $.capture[0].index: " NO_INDEX},
		{CAPTURE(", 'format': 'pcap-ns', 'rotate_seconds': 1, 'index': true"),
			"2: $.capture[0].index: " NO_INDEX},
	};

	expect_refusals(refusals, TL_ARRAY_LEN(refusals));
}

TL_TEST("keys without effect with triggers, or without, are refused")
{
	static const struct refusal refusals[] = {
		{CAPTURE(", 'trigger': {}"), "2: $.capture[0].mode: must be 'trigger' if a trigger is configured"},
		{CAPTURE(", 'mode': 'trigger', 'trigger': {'echo_latency_us': 5}"),
			"2: $.capture[0].trigger.echo_latency_us: no echo on the port 'a'"},
		{"{'ports': [{'name': 'a', 'device': 'x'}, {'name': 'b', 'device': 'y', 'ip': '10.0.0.1/8'}], 'echo': [{'port': "
		 "'b', 'udp_listen': 7}],\n'capture': [{'port': 'a', 'path': 'c', 'mode': 'trigger', 'trigger': "
		 "{'echo_latency_us': 5}}]}",
			"2: $.capture[0].trigger.echo_latency_us: no echo on the port 'a'"},
		{CAPTURE(", 'mode': 'trigger', 'trigger': {'store': 'files'}, 'rotate_seconds': 60"),
			"2: $.capture[0].trigger.store: the files that a trigger saves are those of a ring; give a 'rotate_*', and "
			"a 'keep_*', 'min_free_bytes' or 'on_full': 'recycle'"},
		{CAPTURE(", 'mode': 'trigger', 'trigger': {'store': 'files', 'pre_bytes': '1M'}, 'rotate_seconds': 60, "
			 "'keep_files': 5"),
			"2: $.capture[0].trigger.pre_bytes: is for 'store': 'memory'; the limits of a ring are its 'keep_*'"},
		{CAPTURE(", 'mode': 'trigger', 'trigger': {'pre_bytes': 5}"),
			"2: $.capture[0].trigger.pre_bytes: 5 is not 0 or a size from 64K to 64G, such as 65536 or '64K'"},
		{"{'ports': [{'name': 'a', 'device': 'x'}], 'capture': [{'port': 'a', 'path': '-',\n'mode': 'trigger'}]}",
			"2: $.capture[0].mode: stdout ('path': '-') cannot be restarted at each trigger"},
	};

	expect_refusals(refusals, TL_ARRAY_LEN(refusals));
}

TL_TEST("an invalid IPv6 address is refused")
{
	static const struct refusal refusals[] = {
		{PORT(", 'ip6': '2001:db8::1'"), "1: $.ports[0].ip6: '2001:db8::1' is not an IPv6 address with a "
						 "prefix, such as 2001:db8::1/64"},
		{PORT(", 'ip6': 'ff02::1/64'"), "1: $.ports[0].ip6: 'ff02::1/64' is not the address of a host: it is "
						"unspecified, loopback or multicast"},
		{PORT(", 'gateway6': 'fe80::1'"), "1: $.ports[0].gateway6: an IPv6 gateway requires 'ip6'"},
		{PORT6 ", 'gateway6': '2001:db9::1'}]}",
			"1: $.ports[0].gateway6: '2001:db9::1' is not inside the prefix of 'ip6', or link-local"},
		{PORT6 ", 'gateway6': '2001:db8::1'}]}",
			"1: $.ports[0].gateway6: '2001:db8::1' is not another address than 'ip6'"},
		{PORT6 ", 'mtu': 1279}]}", "1: $.ports[0].mtu: IPv6 needs 1280 at least; raise it, or leave out 'ip6'"},
		{ECHO6(MCAST("ff01::5", "7") ", " SEND6("[fe80::9]:5")),
			"2: $.echo[0].receive.group: 'ff01::5' is not a multicast group, 224.0.0.0 to "
			"239.255.255.255, or one of IPv6, such as ff05::1234"},
		{ECHO6("'receive': {'group': 'ff05::5', 'udp_port': 7, 'source': '192.0.2.7'}, " SEND6("[fe80::9]:5")),
			"2: $.echo[0].receive.source: '192.0.2.7' is not the IPv6 address of a sender, as the group is "
			"of IPv6, such as 2001:db8::7"},
		{ECHO6(MCAST("239.1.1.1", "7") ", " SEND6("[fe80::9]:5")),
			"2: $.echo[0].receive.group: is of IPv4, but the port 'a' has no 'ip'"},
		{ECHO6(MCAST("ff05::5", "7") ", " SEND),
			"2: $.echo[0].send.tcp_connect: is of IPv4, but the port 'a' has no 'ip'"},
		{ECHO("{'port': 'a', " MCAST("ff05::5", "7") ", " SEND "}"),
			"2: $.echo[0].receive.group: is of IPv6, but the port 'a' has no 'ip6'"},
		{ECHO6(MCAST("ff05::5", "7") ", " SEND6("[2001:db8::1]:5")),
			"2: $.echo[0].send.tcp_connect: 2001:db8::1 is the port's own address"},
		{ECHO6(MCAST("ff05::5", "7") ", " SEND6("[2001:db9::1]:5")),
			"2: $.echo[0].send.tcp_connect: 2001:db9::1 is outside the IPv6 prefix of the port 'a', which "
			"has no gateway6"},
	};

	expect_refusals(refusals, TL_ARRAY_LEN(refusals));
}

TL_TEST("an unknown key is refused with a similar known key")
{
	static const struct refusal refusals[] = {
		{"{'ports': [],\n'captures': []}", "2: $.captures: unknown key; did you mean 'capture'?"},
		{PORT(",\n\n'gatway': 1"), "3: $.ports[0].gatway: unknown key; did you mean 'gateway'?"},
		{PORT(",\n'\\u0067atway': 1"), "2: $.ports[0].gatway: unknown key; did you mean 'gateway'?"},
		{CAPTURE(", 'rotate_size': 1"),
			"2: $.capture[0].rotate_size: unknown key; did you mean 'rotate_bytes'?"},
		{"{'ports': [],\n'control': {'zzzzzz': 1}}", "1: $.ports: the list is empty"},
		{"{'control': {'operators': 'staff'}, 'ports': [{'name': 'a', 'device': 'b'}]}",
			"1: $.control.operators: has no effect without 'socket'"},
		{"{'control': {\n'zzzzzzzzz': 1}, 'ports': [{'name': 'a', 'device': 'b'}]}",
			"2: $.control.zzzzzzzzz: unknown key; valid keys: socket, operators"},
		{"{'x\\u001b[31m': 1}", "1: $: holds an unknown key of 6 bytes or with control characters"},
		{ECHO("{'port': 'a', 'receive': {'group': '239.1.1.1', 'udp_port': 1,\n'sorce': 1}}"),
			"3: $.echo[0].receive.sorce: unknown key; did you mean 'source'?"},
	};

	expect_refusals(refusals, TL_ARRAY_LEN(refusals));
}

TL_TEST("a missing key is refused at its object")
{
	static const struct refusal refusals[] = {
		{"\n{}", "2: $: the key 'ports' is required here"},
		{"{'ports': [\n{'name': 'a'}]}", "2: $.ports[0]: the key 'device' is required here"},
		{"{'ports': [\n{'device': 'a'}]}", "2: $.ports[0]: the key 'name' is required here"},
		{"{'ports': [{'name': 'a', 'device': 'x'}], 'capture': [{'port': 'a'}]}",
			"1: $.capture[0]: the key 'path' is required here"},
		{ECHO("{'port': 'a', 'receive': {'group': '239.1.1.1'}, " SEND "}"),
			"2: $.echo[0].receive: the key 'udp_port' is required here"},
		{ECHO("{'port': 'a', " MCAST("239.1.1.1", "1") ", 'send': {}}"),
			"2: $.echo[0].send: the key 'tcp_connect' is required here"},
	};

	expect_refusals(refusals, TL_ARRAY_LEN(refusals));
}

TL_TEST("a value of the wrong type is refused")
{
	static const struct refusal refusals[] = {
		{"[]", "1: $: [] is not an object"},
		{"{'ports': {}}", "1: $.ports: {} is not an array"},
		{"{'ports': [7]}", "1: $.ports[0]: 7 is not an object"},
		{"{'eal': null, 'ports': []}", "1: $.eal: null is not an object"},
		{PORT(", 'promisc': 1"), "1: $.ports[0].promisc: 1 is not true or false"},
		{PORT(", 'mtu': '1500'"), "1: $.ports[0].mtu: '1500' is not a whole number from 576 to 9600"},
		{PORT(", 'mtu': 1500.0"), "1: $.ports[0].mtu: 1500.0 is not a whole number from 576 to 9600"},
		{PORT(", 'ip': '10.0.0.1/8', 'vlan': 4095"),
			"1: $.ports[0].vlan: 4095 is not a whole number from 1 to 4094"},
		{PORT(", 'vlan': 5"), "1: $.ports[0].vlan: a port without 'ip' records every VLAN and answers none"},
		{PORT(", 'ip': '10.0.0.1/8', 'neighbours': [{'ip': '10.0.0.2', 'mac': '02:00:00:00:00'}]"),
			"1: $.ports[0].neighbours[0].mac: '02:00:00:00:00' is not the MAC address of a host, such as 02:00:5e:10:00:01"},
		{PORT(", 'ip': '10.0.0.1/8', 'neighbours': [{'ip': '10.0.0.2', 'mac': '01:00:00:00:00:01'}]"),
			"1: $.ports[0].neighbours[0].mac: '01:00:00:00:00:01' is not the MAC address of a host, such as 02:00:5e:10:00:01"},
		{PORT(", 'ip': '10.0.0.1/8', 'neighbours': [{'ip': 'ff02::1', 'mac': '02:00:00:00:00:01'}]"),
			"1: $.ports[0].neighbours[0].ip: 'ff02::1' is not the IPv4 or IPv6 address of a host, such as 192.0.2.7"},
		{PORT(", 'ip': '10.0.0.1/8', 'neighbours': [{'ip': '11.0.0.2', 'mac': '02:00:00:00:00:01'}]"),
			"1: $.ports[0].neighbours[0].ip: a neighbour is another host inside the prefix of 'ip' or 'ip6'"},
		{PORT(", 'ip': '10.0.0.1/8', 'neighbours': [{'ip': '10.0.0.1', 'mac': '02:00:00:00:00:01'}]"),
			"1: $.ports[0].neighbours[0].ip: a neighbour is another host inside the prefix of 'ip' or 'ip6'"},
		{PORT(", 'ip': '10.0.0.1/8', 'neighbours': [{'ip': 'fe80::2', 'mac': '02:00:00:00:00:01'}]"),
			"1: $.ports[0].neighbours[0].ip: a neighbour is another host inside the prefix of 'ip' or 'ip6'"},
		{PORT(", 'ip': '10.0.0.1/8', 'neighbours': [{'ip': '10.0.0.2', 'mac': '02:00:00:00:00:01'}, {'ip': '10.0.0.2', 'mac': '02:00:00:00:00:02'}]"),
			"1: $.ports[0].neighbours[1].ip: this neighbour is entry 0 already"},
		{PORT(", 'neighbour_entries': 127"),
			"1: $.ports[0].neighbour_entries: 127 is not a whole number from 128 to 65536"},
		{PORT(", 'ip_fragments': 'drop'"),
			"1: $.ports[0].ip_fragments: 'drop' is not one of 'reassemble', 'count'"},
		{PORT(", 'idle': 'busy'"), "1: $.ports[0].idle: 'busy' is not one of 'auto', 'poll', 'adaptive'"},
		{PORT(", 'idle': 0"), "1: $.ports[0].idle: 0 is not one of 'auto', 'poll', 'adaptive'"},
		{CAPTURE(", 'filter': null"), "2: $.capture[0].filter: null is not a text"},
		{CAPTURE(", 'rotate_bytes': true"),
			"2: $.capture[0].rotate_bytes: true is not 0 or a size from 4M to 16T, such as 65536 or '64K'"},
		{PORT(", 'ip': 1"), "1: $.ports[0].ip: 1 is not an IPv4 address with a prefix, such as 192.0.2.1/24"},
		{PORT(", 'lcores': 3"), "1: $.ports[0].lcores: 3 is not 'auto' or an array of lcore numbers"},
		{PORT(", 'roles': 'echo'"),
			"1: $.ports[0].roles: 'echo' is not an array with a role for each RX queue"},
		{PORT(", 'roles': ['send']"), "1: $.ports[0].roles[0]: 'send' is not one of 'both', 'echo', 'record'"},
		{PORT(", 'rx_queues': 2, 'roles': ['both']"),
			"1: $.ports[0].roles: 1 roles for 2 RX queues; give one for each"},
	};

	expect_refusals(refusals, TL_ARRAY_LEN(refusals));
}

TL_TEST("a number out of range is refused")
{
	static const struct refusal refusals[] = {
		{"{'eal': {'memory_mb': 63}, 'ports': []}",
			"1: $.eal.memory_mb: 63 is not a whole number from 64 to 65536"},
		{"{'eal': {'main_lcore': -1}, 'ports': []}",
			"1: $.eal.main_lcore: -1 is not a whole number from 0 to 1023"},
		{PORT(", 'ttl': 0"), "1: $.ports[0].ttl: 0 is not a whole number from 1 to 255"},
		{PORT(", 'dscp': 64"), "1: $.ports[0].dscp: 64 is not a whole number from 0 to 63"},
		{PORT(", 'ptp_probes_per_s': 41"),
			"1: $.ports[0].ptp_probes_per_s: 41 is not a whole number from 0 to 40"},
		{PORT(", 'ptp_probes_per_s': 1"),
			"1: $.ports[0].ptp_probes_per_s: a port without an echo sends nothing; set 0 to stamp the PTP "
			"frames that it receives"},
		{PORT(", 'reply_stamps_per_s': 1"),
			"1: $.ports[0].reply_stamps_per_s: a port without an echo sends nothing; set 0 to stamp the PTP "
			"frames that it receives"},
		{"{'ports': [{'name': 'a', 'device': 'eth0'" IP
		 ", 'ptp_probes_per_s': 30, 'reply_stamps_per_s': 11}],\n"
		 "'echo': [{'port': 'a', 'udp_listen': 7}]}",
			"1: $.ports[0].reply_stamps_per_s: with ptp_probes_per_s it makes 41: the NIC stamps one frame at a "
			"time, 40 a second in all"},
		{PORT(", 'mtu': 575"), "1: $.ports[0].mtu: 575 is not a whole number from 576 to 9600"},
		{PORT(", 'mtu': 9601"), "1: $.ports[0].mtu: 9601 is not a whole number from 576 to 9600"},
		{PORT(", 'mtu': 4294968796"), "1: $.ports[0].mtu: 4294968796 is not a whole number from 576 to 9600"},
		{PORT(", 'rx_queues': 0"), "1: $.ports[0].rx_queues: 0 is not a whole number from 1 to 16"},
		{PORT(", 'rx_queues': 17"), "1: $.ports[0].rx_queues: 17 is not a whole number from 1 to 16"},
		{PORT(", 'lcores': [1024]"), "1: $.ports[0].lcores[0]: 1024 is not a whole number from 0 to 1023"},
		{CAPTURE(", 'snaplen': 13"),
			"2: $.capture[0].snaplen: 13 is not 0 or a whole number from 14 to 262144"},
		{CAPTURE(", 'buffer_bytes': 0"),
			"2: $.capture[0].buffer_bytes: 0 is not a size from 4M to 64G, such as 65536 or '64K'"},
		{CAPTURE(", 'buffer_bytes': '65G'"),
			"2: $.capture[0].buffer_bytes: '65G' is not a size from 4M to 64G, such as 65536 or '64K'"},
		{CAPTURE(", 'rotate_bytes': -4194304"), "2: $.capture[0].rotate_bytes: -4194304 is not 0 or a size "
							"from 4M to 16T, such as 65536 or '64K'"},
		{ECHO("{'port': 'a', 'tcp_listen': 65536}"),
			"2: $.echo[0].tcp_listen: 65536 is not a whole number from 1 to 65535"},
		{ECHO("{'port': 'a', 'udp_listen': 0}"),
			"2: $.echo[0].udp_listen: 0 is not a whole number from 1 to 65535"},
		{ECHO("{'port': 'a', 'tcp_listen': 1, 'send_buffer_bytes': 5000}"),
			"2: $.echo[0].send_buffer_bytes: 5000 is not a power of two"},
		{ECHO("{'port': 'a', 'tcp_listen': 1, 'send_buffer_bytes': '32M'}"),
			"2: $.echo[0].send_buffer_bytes: '32M' is not a size from 4K to 16M, such as 65536 or '64K'"},
	};

	expect_refusals(refusals, TL_ARRAY_LEN(refusals));
}

TL_TEST("a bad address is refused")
{
	static const struct refusal refusals[] = {
		{PORTS2("", ",\n'ip': '10.0.0.300/24'"), "3: $.ports[1].ip: '10.0.0.300/24' is not an IPv4 address "
							 "with a prefix, such as 192.0.2.1/24"},
		{PORT(", 'ip': '10.0.0.1'"),
			"1: $.ports[0].ip: '10.0.0.1' is not an IPv4 address with a prefix, such as 192.0.2.1/24"},
		{PORT(", 'ip': '10.0.0.0/24'"), "1: $.ports[0].ip: '10.0.0.0/24' is not the address of a host: it is "
						"the network's own, broadcast or multicast"},
		{PORT(", 'ip': '10.0.0.255/24'"), "1: $.ports[0].ip: '10.0.0.255/24' is not the address of a host: it "
						  "is the network's own, broadcast or multicast"},
		{PORT(", 'ip': '239.0.0.1/24'"), "1: $.ports[0].ip: '239.0.0.1/24' is not the address of a host: it "
						 "is the network's own, broadcast or multicast"},
		{PORT(IP ", 'gateway': '192.0.2.x'"),
			"1: $.ports[0].gateway: '192.0.2.x' is not an IPv4 address, such as 192.0.2.254"},
		{PORT(IP ", 'gateway': '192.0.3.1'"),
			"1: $.ports[0].gateway: '192.0.3.1' is not inside the prefix of 'ip'"},
		{PORT(IP ", 'gateway': '192.0.2.1'"),
			"1: $.ports[0].gateway: '192.0.2.1' is not another address than 'ip'"},
		{PORT(IP ", 'gateway': '192.0.2.255'"), "1: $.ports[0].gateway: '192.0.2.255' is not the address of a "
							"host: it is the network's own or its broadcast"},
		{PORT(", 'gateway': '192.0.2.1'"), "1: $.ports[0].gateway: a gateway requires 'ip'"},
		{ECHO("{'port': 'a', " MCAST("192.0.2.3", "1") ", " SEND "}"),
			"2: $.echo[0].receive.group: '192.0.2.3' is not a multicast group, 224.0.0.0 to "
			"239.255.255.255, or one of IPv6, such as ff05::1234"},
		{ECHO("{'port': 'a', " MCAST("240.0.0.1", "1") ", " SEND "}"),
			"2: $.echo[0].receive.group: '240.0.0.1' is not a multicast group, 224.0.0.0 to "
			"239.255.255.255, or one of IPv6, such as ff05::1234"},
		{ECHO("{'port': 'a', 'receive': {'group': '239.1.1.1', 'udp_port': 1, 'source': '239.1.1.1'}}"),
			"2: $.echo[0].receive.source: '239.1.1.1' is not the IPv4 address of a sender, such as "
			"192.0.2.7"},
		{ECHO("{'port': 'a', " MCAST("239.1.1.1", "1") ", 'send': {'tcp_connect': '192.0.2.9'}}"),
			"2: $.echo[0].send.tcp_connect: '192.0.2.9' is not an address and a TCP port, such as "
			"192.0.2.9:5000 or [2001:db8::9]:5000"},
		{ECHO("{'port': 'a', " MCAST("239.1.1.1", "1") ", 'send': {'tcp_connect': '239.0.0.1:5'}}"),
			"2: $.echo[0].send.tcp_connect: '239.0.0.1:5' is not an address and a TCP port, such as "
			"192.0.2.9:5000 or [2001:db8::9]:5000"},
		{ECHO("{'port': 'a', " MCAST("239.1.1.1", "1") ", 'send': {'tcp_connect': '192.0.2.1:5'}}"),
			"2: $.echo[0].send.tcp_connect: 192.0.2.1 is the port's own address"},
		{ECHO("{'port': 'a', " MCAST("239.1.1.1", "1") ", 'send': {'tcp_connect': '10.0.0.1:5'}}"),
			"2: $.echo[0].send.tcp_connect: 10.0.0.1 is outside the prefix of the port 'a', which has no "
			"gateway"},
	};

	expect_refusals(refusals, TL_ARRAY_LEN(refusals));
}

TL_TEST("a bad name or text is refused")
{
	static const struct refusal refusals[] = {
		{"{'ports': [{'name': 'a b', 'device': 'x'}]}",
			"1: $.ports[0].name: 'a b' is not a name: 1 to 31 of A-Z a-z 0-9 _ -"},
		{"{'ports': [{'name': '', 'device': 'x'}]}",
			"1: $.ports[0].name: '' is not a name: 1 to 31 of A-Z a-z 0-9 _ -"},
		{"{'ports': [{'name': 'abcdefghijklmnopqrstuvwxyz012345', 'device': 'x'}]}",
			"1: $.ports[0].name: 'abcdefghijklmnopqrstuvwxyz012345' is not a name: 1 to 31 of A-Z a-z "
			"0-9 _ -"},
		{"{'ports': [{'name': 'a', 'device': ''}]}", "1: $.ports[0].device: the text is empty"},
		{"{'ports': [{'name': 'a', 'device': 'x\\ny'}]}",
			"1: $.ports[0].device: the text holds the control character 0x0a"},
		{"{'ports': [{'name': 'a', 'device': 'x\\u007fy'}]}",
			"1: $.ports[0].device: the text holds the control character 0x7f"},
		{"{'ports': [{'name': 'a', 'device': 'x\\u0000y'}]}",
			"1: this is not JSON: \\u0000 is not allowed without JSON_ALLOW_NUL near ''x\\u0000y''"},
		{PORT(", 'ip': '0123456789012345678901234567890123456789012345678901234567890123456789'"),
			"1: $.ports[0].ip: '012345678901234567890123456789012345678901234567890123456789012... is not "
			"an IPv4 address with a prefix, such as 192.0.2.1/24"},
	};

	expect_refusals(refusals, TL_ARRAY_LEN(refusals));
}

TL_TEST("a text that is too long is refused")
{
	char text[512];

	snprintf(text, sizeof(text), "{'ports': [{'name': 'a', 'device': '%0240d'}]}", 0);
	expect_refusal(text, "1: $.ports[0].device: the text has 240 bytes, the most is 239");
	snprintf(text, sizeof(text), "{'ports': [{'name': 'a', 'device': '%0239d'}]}", 0);
	tl_config_free(load_right(text));
}

TL_TEST("a duplicate port is refused")
{
	static const struct refusal refusals[] = {
		{"{'ports': [{'name': 'a', 'device': 'x'},\n{'device': 'y',\n'name': 'a'}]}",
			"3: $.ports[1].name: $.ports[0] is called 'a' already"},
		{"{'ports': [{'name': 'a', 'device': 'x'},\n{'name': 'b', 'device': 'x'}]}",
			"2: $.ports[1].device: the port 'a' has the device 'x' already"},
		{"{'ports': [{'name': 'a', 'device': 'eth0'},\n{'name': 'b', 'device': 'xdp:eth0'}]}",
			"2: $.ports[1].device: the port 'a' has the device 'eth0' already"},
		{"{'ports': [{'name': 'a', 'device': 'vdev:net_null0'},\n{'name': 'b', 'device': 'vdev:net_null0,size=64'}]}",
			"2: $.ports[1].device: the port 'a' has the device 'vdev:net_null0' already"},
		{"{'ports': [{'name': 'a', 'device': '0000:ab:00.0'},\n{'name': 'b', 'device': '0000:AB:00.0'}]}",
			"2: $.ports[1].device: the port 'a' has the device '0000:ab:00.0' already"},
	};

	expect_refusals(refusals, TL_ARRAY_LEN(refusals));
	tl_config_free(
		load_right("{'ports': [{'name': 'a', 'device': 'eth0'}, {'name': 'b', 'device': 'ETH0'},"
			   "{'name': 'c', 'device': 'vdev:net_null0'}, {'name': 'd', 'device': 'vdev:net_null01'}]}"));
}

TL_TEST("an lcore with two tasks is refused")
{
	static const struct refusal refusals[] = {
		{PORT(", 'rx_queues': 2, 'lcores': [1]"),
			"1: $.ports[0].lcores: 1 lcores for 2 RX queues; name one for each"},
		{PORT(", 'lcores': [1, 2]"), "1: $.ports[0].lcores: 2 lcores for 1 RX queues; name one for each"},
		{PORT(", 'lcores': [0]"),
			"1: $.ports[0].lcores[0]: lcore 0 is the main lcore (eal.main_lcore); choose another"},
		{PORT(", 'rx_queues': 2, 'lcores': [1,\n1]"),
			"2: $.ports[0].lcores[1]: lcore 1 serves the port 'a' already"},
		{PORTS2(", 'lcores': [4]", ", 'lcores': [4]"),
			"2: $.ports[1].lcores[0]: lcore 4 serves the port 'a' already"},
	};

	expect_refusals(refusals, TL_ARRAY_LEN(refusals));
}

TL_TEST("an unknown port name is refused with the known ones")
{
	static const struct refusal refusals[] = {
		{"{'ports': [{'name': 'a', 'device': 'x'}, {'name': 'b', 'device': 'y'}],\n'capture': "
		 "[{'port': 'c', 'path': 'f'}]}",
			"2: $.capture[0].port: unknown port 'c'; the ports are: a, b"},
		{ECHO("{'port': 'c', 'tcp_listen': 1}"), "2: $.echo[0].port: unknown port 'c'; the ports are: a"},
	};

	expect_refusals(refusals, TL_ARRAY_LEN(refusals));
}

TL_TEST("a file with two writers is refused")
{
	static const struct refusal refusals[] = {
		{CAPTURE("}, {'port': 'a', 'path': 'f'"),
			"2: $.capture[1].path: $.capture[0] writes to this file already"},
		{"{'ports': [{'name': 'a', 'device': 'x'}], 'capture': [{'port': 'a', 'path': '-'},\n{'port': 'a', 'path': '-'}]}",
			"2: $.capture[1].path: $.capture[0] writes to stdout already"},
		{"{'ports': [{'name': 'a', 'device': 'pcap:in'}], 'capture': [{'port': 'a', 'path': 'in'}]}",
			"1: $.capture[0].path: the port 'a' reads this file"},
		{"{'ports': [{'name': 'a', 'device': 'x'}], 'capture': [{'port': 'a', 'path': '-',\n'rotate_bytes': '8M'}]}",
			"2: $.capture[0].rotate_bytes: stdout ('path': '-') cannot be rotated"},
	};

	expect_refusals(refusals, TL_ARRAY_LEN(refusals));
}

TL_TEST("an echo without exactly one mode is refused")
{
	static const struct refusal refusals[] = {
		{ECHO("{'port': 'a'}"), "2: $.echo[0]: an echo has exactly one of 'receive' with 'send', "
					"'tcp_listen', 'udp_listen'; here are 0"},
		{ECHO("{'port': 'a', 'tcp_listen': 1, 'udp_listen': 2}"),
			"2: $.echo[0]: an echo has exactly one of 'receive' with 'send', 'tcp_listen', 'udp_listen'; "
			"here are 2"},
		{ECHO("{'port': 'a', 'tcp_listen': 1, " MCAST("239.1.1.1", "1") ", " SEND "}"),
			"2: $.echo[0]: an echo has exactly one of 'receive' with 'send', 'tcp_listen', 'udp_listen'; "
			"here are 2"},
		{ECHO("{'port': 'a', " SEND "}"),
			"2: $.echo[0]: 'receive' and 'send' belong together; 'receive' is missing"},
		{ECHO("{'port': 'a', " MCAST("239.1.1.1", "1") "}"),
			"2: $.echo[0]: 'receive' and 'send' belong together; 'send' is missing"},
		{ECHO("{'port': 'a', 'udp_listen': 1, 'max_connections': 1}"),
			"2: $.echo[0].max_connections: applies only to an echo that uses 'tcp_listen'"},
		{ECHO("{'port': 'a', 'udp_listen': 1, 'send_buffers': 1}"),
			"2: $.echo[0].send_buffers: applies only to an echo that uses 'tcp_listen'"},
		{ECHO("{'port': 'a', 'udp_listen': 1, 'on_full': 'drop'}"),
			"2: $.echo[0].on_full: applies only to an echo that uses TCP"},
		{ECHO("{'port': 'a', 'udp_listen': 1, 'congestion': 'none'}"),
			"2: $.echo[0].congestion: applies only to an echo that uses TCP"},
		{ECHO("{'port': 'a', 'tcp_listen': 1, 'warm': true}"),
			"2: $.echo[0].warm: applies only to an echo that uses 'receive'"},
		{ECHO("{'port': 'a', 'udp_listen': 1, 'user_timeout_seconds': 5}"),
			"2: $.echo[0].user_timeout_seconds: applies only to an echo that uses TCP"},
		{ECHO("{'port': 'a', 'tcp_listen': 1, 'user_timeout_seconds': 0}"),
			"2: $.echo[0].user_timeout_seconds: 0 is not a whole number from 1 to 3600"},
		{ECHO("{'port': 'a', 'udp_listen': 1, 'rto_min_us': 1000}"),
			"2: $.echo[0].rto_min_us: applies only to an echo that uses TCP"},
		{ECHO("{'port': 'a', 'tcp_listen': 1, 'rto_min_us': 5000001}"),
			"2: $.echo[0].rto_min_us: 5000001 is more than a quarter of user_timeout_seconds, 20: a lost segment could end the connection; lower it, or raise that one"},
		{ECHO("{'port': 'a', 'tcp_listen': 1, 'rto_min_us': 250001, 'user_timeout_seconds': 1}"),
			"2: $.echo[0].rto_min_us: 250001 is more than a quarter of user_timeout_seconds, 1: a lost segment could end the connection; lower it, or raise that one"},
		{ECHO("{'port': 'a', 'udp_listen': 1, 'keepalive_seconds': 5}"),
			"2: $.echo[0].keepalive_seconds: applies only to an echo that uses TCP"},
		{ECHO("{'port': 'a', 'tcp_listen': 1, 'reconnect_min_ms': 5}"),
			"2: $.echo[0].reconnect_min_ms: applies only to an echo that uses 'receive'"},
		{ECHO("{'port': 'a', 'tcp_listen': 1, 'reconnect_max_ms': 5}"),
			"2: $.echo[0].reconnect_max_ms: applies only to an echo that uses 'receive'"},
		{ECHO("{'port': 'a', " MCAST("239.1.2.3", "1") ", " SEND ", 'reconnect_min_ms': 6000}"),
			"2: $.echo[0].reconnect_min_ms: 6000 is more than reconnect_max_ms, 5000: lower it, or raise that one"},
		{ECHO("{'port': 'a', 'tcp_listen': 1, 'congestion': 'cubic'}"),
			"2: $.echo[0].congestion: 'cubic' is not one of 'newreno', 'none'"},
		{ECHO("{'port': 'a', 'udp_listen': 1, 'queue': 1}"),
			"2: $.echo[0].queue: the port 'a' has 1 RX queues, counted from 0"},
	};

	expect_refusals(refusals, TL_ARRAY_LEN(refusals));
}

TL_TEST("an invalid pacing rate, or one without TCP, is refused with path and line")
{
	static const struct refusal refusals[] = {
		{ECHO("{'port': 'a', 'tcp_listen': 7,\n'pace_bps': 7999}"),
			"3: $.echo[0].pace_bps: 7999 is not a rate from 8 kbit/s to 4.3 Tbit/s, such as '100Mbit'"},
		{ECHO("{'port': 'a', 'tcp_listen': 7,\n'pace_bps': 'fast'}"),
			"3: $.echo[0].pace_bps: 'fast' is not a rate from 8 kbit/s to 4.3 Tbit/s, such as '100Mbit'"},
		{ECHO("{'port': 'a', 'udp_listen': 7,\n'pace_bps': 8000}"),
			"3: $.echo[0].pace_bps: applies only to an echo that uses TCP"},
	};

	expect_refusals(refusals, TL_ARRAY_LEN(refusals));
}

#define DELAY(keys) ECHO("{'port': 'a', 'udp_listen': 7,\n" keys "}")
#define NO_DELAY                                                                                                       \
	" is not a delay from 1ns to 10s, such as '5us', '5us +- 1us' or '5us +- 1us normal' (uniform, normal, pareto)"

TL_TEST("an invalid delay is refused with path and line")
{
	static const struct refusal refusals[] = {
		{DELAY("'delay': 5"), "3: $.echo[0].delay: 5" NO_DELAY},
		{DELAY("'delay': ''"), "3: $.echo[0].delay: ''" NO_DELAY},
		{DELAY("'delay': '5'"), "3: $.echo[0].delay: '5'" NO_DELAY},
		{DELAY("'delay': '0us'"), "3: $.echo[0].delay: '0us'" NO_DELAY},
		{DELAY("'delay': '11s'"), "3: $.echo[0].delay: '11s'" NO_DELAY},
		{DELAY("'delay': '5us +-'"), "3: $.echo[0].delay: '5us +-'" NO_DELAY},
		{DELAY("'delay': '5us + 1us'"), "3: $.echo[0].delay: '5us + 1us'" NO_DELAY},
		{DELAY("'delay': '5us +- 1us gauss'"), "3: $.echo[0].delay: '5us +- 1us gauss'" NO_DELAY},
		{DELAY("'delay': '5us +- 1us normal x'"), "3: $.echo[0].delay: '5us +- 1us normal x'" NO_DELAY},
		{DELAY("'delay': '5us +- 6us'"),
			"3: $.echo[0].delay: the jitter of '5us +- 6us' is more than the delay: lower it"},
		{DELAY("'delay': '5us', 'delay_limit': 63"),
			"3: $.echo[0].delay_limit: 63 is not a whole number from 64 to 1048576"},
		{DELAY("'delay_limit': 100"), "3: $.echo[0].delay_limit: has no effect without 'delay'"},
		{DELAY("'delay': '5us', 'samples': 1"), "3: $.echo[0].delay: delayed replies have no stages: leave out "
							"'stages', 'outliers' and 'samples', or the delay"},
		{"{'ports': [{'name': 'a', 'device': '0000:3b:00.0', 'reply_stamps_per_s': 1" IP "}],\n"
		 "'echo': [{'port': 'a', 'udp_listen': 7, 'delay': '5us'}]}",
			"2: $.echo[0].delay: delayed replies are not stamped: leave out 'reply_stamps_per_s' of the "
			"port 'a', or the delay"},
	};

	expect_refusals(refusals, TL_ARRAY_LEN(refusals));
}

TL_TEST("an echo on a port that cannot answer is refused")
{
	static const struct refusal refusals[] = {
		{"{'ports': [{'name': 'a', 'device': 'x'}], 'echo': [{'port': 'a', 'tcp_listen': 1}]}",
			"1: $.echo[0].port: the port 'a' has no 'ip' to echo from"},
		{"{'ports': [{'name': 'a', 'device': 'pcap:x'" IP "}], 'echo': [{'port': 'a', 'tcp_listen': 1}]}",
			"1: $.echo[0].port: the port 'a' is a file: it cannot send"},
	};

	expect_refusals(refusals, TL_ARRAY_LEN(refusals));
}

TL_TEST("two echoes with the same input are refused")
{
	static const struct refusal refusals[] = {
		{ECHO("{'port': 'a', 'tcp_listen': 1},\n{'port': 'a', 'tcp_listen': 1}"),
			"3: $.echo[1].tcp_listen: the echo 'echo0' listens to this on the port 'a' already"},
		{ECHO("{'port': 'a', 'udp_listen': 1},\n{'port': 'a', 'udp_listen': 1}"),
			"3: $.echo[1].udp_listen: the echo 'echo0' listens to this on the port 'a' already"},
		{ECHO("{'port': 'a', " MCAST("239.1.1.1", "1") ", " SEND "},\n{'port': 'a', " MCAST(
			 "239.1.1.1", "1") ", " SEND "}"),
			"3: $.echo[1].receive: the echo 'echo0' listens to this on the port 'a' already"},
		{ECHO("{'port': 'a', 'receive': {'group': '239.1.0.0', 'groups': 257, 'udp_port': 7}, " SEND "},\n"
		      "{'port': 'a', " MCAST("239.1.1.0", "7") ", " SEND "}"),
			"3: $.echo[1].receive: the echo 'echo0' listens to this on the port 'a' already"},
		{ECHO("{'port': 'a', 'receive': {'group': '239.255.255.0', 'groups': 257, 'udp_port': 7}, " SEND "}"),
			"2: $.echo[0].receive.groups: fewer groups are left up to 239.255.255.255"},
		{ECHO("{'port': 'a', 'receive': {'group': 'ff05::1', 'groups': 2, 'udp_port': 7}, " SEND "}"),
			"2: $.echo[0].receive.groups: consecutive groups are supported for IPv4 only"},
		{ECHO("{'port': 'a', 'udp_listen': 1, 'name': 'echo1'},\n{'port': 'a', 'udp_listen': 2}"),
			"3: $.echo[1].name: $.echo[0] is called 'echo1' already"},
	};

	expect_refusals(refusals, TL_ARRAY_LEN(refusals));
}

TL_TEST("a list that is too long or empty is refused")
{
	char text[2048] = "{'ports': [";

	for (int i = 0; i < TL_CONFIG_PORTS_MAX + 1; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s{'name': 'p%d', 'device': 'd%d'}",
			i == 0 ? "" : ",", i, i);
	strcat(text, "]}");
	expect_refusal(text, "1: $.ports: the list has 17 entries, the most is 16");
	expect_refusal("{\n'ports': []}", "2: $.ports: the list is empty");
}

TL_TEST("a duplicate key is named")
{
	static const struct refusal refusals[] = {
		{"{'ports': [],\n'ports': []}", "2: duplicate key 'ports'"},
		{PORT(",\n'a_key_longer_than_what_jansson_quotes': 1,\n'a_key_longer_than_what_jansson_quotes' : 2"),
			"3: duplicate key 'a_key_longer_than_what_jansson_quotes'"},
		{"{'a\\\\': 1,\n'a\\\\': 1}", "2: duplicate key 'a\\\\'"},
		{"{'a\\'b': 1,\n'a\\'b': 1}", "2: duplicate key 'a\\'b'"},
	};

	expect_refusals(refusals, TL_ARRAY_LEN(refusals));
}

TL_TEST("invalid JSON is refused with its line")
{
	static const struct refusal refusals[] = {
		{"", " the file is empty"},
		{" \n\t\r\n", " the file is empty"},
		{"{\n'ports': [\n", "3: this is not JSON: ']' expected near end of file"},
		{PORT("") "\n x", "2: this is not JSON: end of file expected near 'x'"},
		{"{'ports': [],\n}", "2: this is not JSON: string or '}' expected near '}'"},
		{"{'a':\n'\xff'}", "2: this is not JSON: unable to decode byte 0xff near '''"},
		{"\x1b[2J", "1: this is not JSON: '[' or '{' expected near '?'"},
		{"'text'", "1: this is not JSON: '[' or '{' expected near ''text''"},
	};

	expect_refusals(refusals, TL_ARRAY_LEN(refusals));
}

TL_TEST("a NUL after the text is refused")
{
	static const char text[] = "{\"ports\": [{\"name\": \"a\", \"device\": \"b\"}]}";
	struct tl_config *config = NULL;
	struct tl_err err = {""};

	CU_ASSERT_EQUAL(tl_config_load_text(text, sizeof(text), "t.json", &config, &err), -EINVAL);
	CU_ASSERT_EQUAL(tl_config_load_text("\0", 1, "t.json", &config, NULL), -EINVAL);
	CU_ASSERT_PTR_NULL(config);
	CU_ASSERT_EQUAL(tl_config_load_text(text, sizeof(text) - 1, "t.json", &config, &err), 0);
	tl_config_free(config);
}

TL_TEST("a replay on a port with another sender is refused")
{
	static const struct refusal refusals[] = {
		{PORTS_OF_REPLAY "'replay': [{'name': 'r',\n'port': 'c', 'files': ['x']}]}",
			"3: $.replay[0].port: unknown port 'c'; the ports are: a, b"},
		{PORTS_OF_REPLAY "'echo': [{'name': 'e', 'port': 'b', 'udp_listen': 7}],\n"
				 "'replay': [{'name': 'r', 'port': 'b', 'files': ['x']}]}",
			"3: $.replay[0].port: the echo 'e' sends from this port: a replay needs a port without echoes"},
		{"{'ports': [{'name': 'a', 'device': 'pcap:f'}], 'replay': [{'name': 'r', 'port': 'a', 'files': ['x']}]}",
			"1: $.replay[0].port: the port 'a' is a file: it cannot send"},
		{PORTS_OF_REPLAY "'replay': [{'name': 'r', 'port': 'a', 'files': ['x']},\n"
				 "{'name': 's', 'port': 'a', 'files': ['x']}]}",
			"3: $.replay[1].port: the replay 'r' sends from this port already"},
		{PORTS_OF_REPLAY "'replay': [{'name': 'r', 'port': 'a', 'files': ['x']},\n"
				 "{'name': 'r', 'port': 'b', 'files': ['x']}]}",
			"3: $.replay[1].name: $.replay[0] is called 'r' already"},
	};

	expect_refusals(refusals, TL_ARRAY_LEN(refusals));
}

TL_TEST("an invalid value of a replay is refused")
{
	static const struct refusal refusals[] = {
		{REPLAY(",\n'files': []"), "3: duplicate key 'files'"},
		{PORTS_OF_REPLAY "'replay': [{'name': 'r', 'port': 'a',\n'files': []}]}",
			"3: $.replay[0].files: [] is not an array with a text at least"},
		{PORTS_OF_REPLAY "'replay': [{'name': 'r', 'port': 'a'}]}",
			"2: $.replay[0]: the key 'files' is required here"},
		{REPLAY(",\n'speed': true"), "3: $.replay[0].speed: true is not a text or a number"},
		{REPLAY(",\n'merge': 1"), "3: $.replay[0].merge: 1 is not true or false"},
		{REPLAY(",\n'map': ['p', {}]"), "3: $.replay[0].map[1]: {} is not a text or a number"},
		{REPLAY(",\n'lcore': 0"),
			"3: $.replay[0].lcore: lcore 0 is the main lcore (eal.main_lcore); choose another"},
		{REPLAY(",\n'lcore': 'x'"), "3: $.replay[0].lcore: 'x' is not 'auto' or the number of an lcore"},
		{REPLAY(",\n'loop': 1"), "3: $.replay[0].loop: unknown key; did you mean 'loops'?"},
		{"{'ports': [{'name': 'a', 'device': 'eth0', 'lcores': [3]}],\n"
		 "'replay': [{'name': 'r', 'port': 'a', 'files': ['x'], 'lcore': 3}]}",
			"2: $.replay[0].lcore: lcore 3 serves the port 'a' already"},
	};

	expect_refusals(refusals, TL_ARRAY_LEN(refusals));
}

TL_TEST("an invalid command line names the option")
{
	static const struct tl_config_option options[] = {{"device", "--port"}, {"keep_files", "--keep-files"}};
	struct tl_config *config = NULL;
	struct tl_err err = {""};
	json_t *root = json_pack("{s:[{s:s, s:s}], s:[{s:s, s:s, s:i}]}", "ports", "name", "a", "device", "eth0",
		"capture", "port", "a", "path", "x", "keep_files", 1);

	CU_ASSERT_EQUAL(tl_config_load_options(root, options, 2, &config, &err), -EINVAL);
	CU_ASSERT_STRING_EQUAL(err.text, "--keep-files: 1 is not 0 or a whole number from 2 to 1000000");
	json_t *capture = json_array_get(json_object_get(root, "capture"), 0);
	json_object_set_new(capture, "keep_files", json_integer(2));
	json_object_set_new(capture, "rotate_bytes", json_string("1K"));
	CU_ASSERT_EQUAL(tl_config_load_options(root, options, 2, &config, &err), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "$.capture[0].rotate_bytes: \"1K\" is not"));
	json_object_set_new(capture, "rotate_bytes", json_string("8M"));
	CU_ASSERT_EQUAL(tl_config_load_options(root, options, 2, &config, &err), 0);
	CU_ASSERT_EQUAL(config->captures[0].keep_files, 2);
	CU_ASSERT_EQUAL(config->captures[0].buffer_bytes, 64 << 20);
	tl_config_free(config);
	json_decref(root);
}

int main(void)
{
	return tl_test_run("config_refused");
}
