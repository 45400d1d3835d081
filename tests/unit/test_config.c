// SPDX-License-Identifier: BSD-3-Clause
// Configuration file: values and defaults.

#include <tl_test_config_text.h>

TL_TEST("a minimal file has every default")
{
	struct tl_config *config = load_right(PORT(""));
	const struct tl_config_port *port = &config->ports[0];

	CU_ASSERT_STRING_EQUAL(config->file, "t.json");
	CU_ASSERT_TRUE(config->eal.huge);
	CU_ASSERT_EQUAL(config->eal.memory_mb, 512);
	CU_ASSERT_EQUAL(config->eal.main_lcore, 0);
	CU_ASSERT_EQUAL(config->n_ports, 1);
	CU_ASSERT_EQUAL(config->n_captures, 0);
	CU_ASSERT_EQUAL(config->n_echoes, 0);
	CU_ASSERT_STRING_EQUAL(port->name, "a");
	CU_ASSERT_STRING_EQUAL(port->device, "eth0");
	CU_ASSERT_EQUAL(port->rx_queues, 1);
	for (int i = 0; i < TL_CONFIG_QUEUES_MAX; i++)
		CU_ASSERT_EQUAL(port->lcores[i], TL_CONFIG_LCORE_AUTO);
	CU_ASSERT_EQUAL(port->ip_be, 0);
	CU_ASSERT_EQUAL(port->mask_be, 0);
	CU_ASSERT_EQUAL(port->gateway_be, 0);
	CU_ASSERT_EQUAL(port->vlan, 0);
	CU_ASSERT_FALSE(port->ptp);
	CU_ASSERT_EQUAL(port->mtu, 1500);
	CU_ASSERT_EQUAL(port->ttl, 64);
	CU_ASSERT_EQUAL(port->dscp, 0);
	CU_ASSERT_EQUAL(port->tx_checksums, TL_CONFIG_CHECKSUMS_AUTO);
	CU_ASSERT_EQUAL(port->ip_fragments, TL_CONFIG_FRAGMENTS_REASSEMBLE);
	CU_ASSERT_EQUAL(port->neighbour_entries, 1024);
	CU_ASSERT_EQUAL(port->n_neighbours, 0);
	CU_ASSERT_TRUE(port->promisc);
	CU_ASSERT_FALSE(port->take);
	CU_ASSERT_EQUAL(port->idle, TL_IDLE_AUTO);
	CU_ASSERT_PTR_NULL(config->control.socket);
	CU_ASSERT_PTR_NULL(config->control.operators);
	CU_ASSERT_PTR_NULL(config->process.user);
	CU_ASSERT_EQUAL(config->process.sandbox, TL_CONFIG_SANDBOX_ON);
	tl_config_free(config);
}

TL_TEST("every key of a port is read")
{
	struct tl_config *config = load_right(
		"{'eal': {'huge': false, 'memory_mb': 64, 'main_lcore': 9}, 'control': {'socket': '/run/t.sock', 'operators': 'staff'}, 'process': {'user': 'nobody', 'sandbox': 'off'},"
		"'ports': [{'name': 'in-1_A', 'device': '0000:3b:00.0', 'rx_queues': 2, 'lcores': [3, 0], 'take': true,"
		"'ip': '10.1.2.3/8', 'gateway': '10.255.255.254', 'mtu': 9600, 'promisc': false, 'idle': 'adaptive',"
		"'ip_fragments': 'count', 'vlan': 4094, 'ttl': 255, 'dscp': 63, 'ptp_probes_per_s': 0, 'reply_stamps_per_s': 0, 'tx_checksums': 'software'}]}");
	const struct tl_config_port *port = &config->ports[0];

	CU_ASSERT_FALSE(config->eal.huge);
	CU_ASSERT_EQUAL(config->eal.memory_mb, 64);
	CU_ASSERT_EQUAL(config->eal.main_lcore, 9);
	CU_ASSERT_STRING_EQUAL(config->control.socket, "/run/t.sock");
	CU_ASSERT_STRING_EQUAL(config->control.operators, "staff");
	CU_ASSERT_STRING_EQUAL(config->process.user, "nobody");
	CU_ASSERT_EQUAL(config->process.sandbox, TL_CONFIG_SANDBOX_OFF);
	CU_ASSERT_STRING_EQUAL(port->name, "in-1_A");
	CU_ASSERT_STRING_EQUAL(port->device, "0000:3b:00.0");
	CU_ASSERT_EQUAL(port->rx_queues, 2);
	CU_ASSERT_EQUAL(port->lcores[0], 3);
	CU_ASSERT_EQUAL(port->lcores[1], 0);
	CU_ASSERT_EQUAL(port->lcores[2], TL_CONFIG_LCORE_AUTO);
	CU_ASSERT_EQUAL(port->ip_be, htonl(0x0a010203));
	CU_ASSERT_EQUAL(port->mask_be, htonl(0xff000000));
	CU_ASSERT_EQUAL(port->gateway_be, htonl(0x0afffffe));
	CU_ASSERT_EQUAL(port->vlan, 4094);
	CU_ASSERT_TRUE(port->ptp);
	CU_ASSERT_EQUAL(port->ptp_probes_per_s, 0);
	CU_ASSERT_EQUAL(port->reply_stamps_per_s, 0);
	CU_ASSERT_EQUAL(port->mtu, 9600);
	CU_ASSERT_EQUAL(port->ttl, 255);
	CU_ASSERT_EQUAL(port->dscp, 63);
	CU_ASSERT_EQUAL(port->tx_checksums, TL_CONFIG_CHECKSUMS_SOFTWARE);
	CU_ASSERT_EQUAL(port->ip_fragments, TL_CONFIG_FRAGMENTS_COUNT);
	CU_ASSERT_FALSE(port->promisc);
	CU_ASSERT_TRUE(port->take);
	CU_ASSERT_EQUAL(port->idle, TL_IDLE_ADAPTIVE);
	tl_config_free(config);
}

TL_TEST("captures find their port and read sizes")
{
	struct tl_config *config =
		load_right("{'ports': [{'name': 'a', 'device': 'eth0'}, {'name': 'b', 'device': 'eth1'}],"
			   "'capture': [{'port': 'b', 'path': '-'}, {'port': 'a', 'path': 'x.pcapng', 'filter': 'udp',"
			   "'snaplen': 14, 'direction': 'tx', 'rotate_bytes': '4M', 'buffer_bytes': 68719476736,"
			   "'io': 'pwrite'}]}");
	const struct tl_config_capture *plain = &config->captures[0], *full = &config->captures[1];

	CU_ASSERT_EQUAL(config->n_captures, 2);
	CU_ASSERT_EQUAL(plain->port, 1);
	CU_ASSERT_STRING_EQUAL(plain->path, "-");
	CU_ASSERT_PTR_NULL(plain->filter);
	CU_ASSERT_EQUAL(plain->snaplen, 0);
	CU_ASSERT_EQUAL(plain->direction, TL_CONFIG_BOTH);
	CU_ASSERT_EQUAL(plain->rotate_bytes, 0);
	CU_ASSERT_EQUAL(plain->buffer_bytes, 64u << 20);
	CU_ASSERT_EQUAL(plain->io, TL_WRITER_IO_URING);
	CU_ASSERT_EQUAL(full->port, 0);
	CU_ASSERT_STRING_EQUAL(full->filter, "udp");
	CU_ASSERT_EQUAL(full->snaplen, 14);
	CU_ASSERT_EQUAL(full->direction, TL_CONFIG_TX);
	CU_ASSERT_EQUAL(full->rotate_bytes, 4u << 20);
	CU_ASSERT_EQUAL(full->buffer_bytes, UINT64_C(64) << 30);
	CU_ASSERT_EQUAL(full->io, TL_WRITER_IO_PWRITE);
	CU_ASSERT_EQUAL(full->count, 0);
	tl_config_free(config);
}

TL_TEST("captures read their ring")
{
	struct tl_config *config = load_right(
		CAPTURE("}, {'port': 'a', 'path': 'b_%H.pcapng', 'rotate_bytes': '4M', 'rotate_seconds': 3600,"
			"'rotate_packets': 7, 'keep_files': 24, 'keep_bytes': '8M', 'min_free_bytes': '10G',"
			"'on_full': 'recycle', 'fsync': 'close'"));
	const struct tl_config_capture *plain = &config->captures[0], *ring = &config->captures[1];

	CU_ASSERT_EQUAL(plain->rotate_seconds, 0);
	CU_ASSERT_EQUAL(plain->rotate_packets, 0);
	CU_ASSERT_EQUAL(plain->keep_files, 0);
	CU_ASSERT_EQUAL(plain->keep_bytes, 0);
	CU_ASSERT_EQUAL(plain->min_free_bytes, 0);
	CU_ASSERT_EQUAL(plain->on_full, TL_WRITER_FULL_PAUSE);
	CU_ASSERT_EQUAL(plain->fsync, TL_WRITER_SYNC_AUTO);
	CU_ASSERT_EQUAL(ring->rotate_seconds, 3600);
	CU_ASSERT_EQUAL(ring->rotate_packets, 7);
	CU_ASSERT_EQUAL(ring->keep_files, 24);
	CU_ASSERT_EQUAL(ring->keep_bytes, 8u << 20);
	CU_ASSERT_EQUAL(ring->min_free_bytes, UINT64_C(10) << 30);
	CU_ASSERT_EQUAL(ring->on_full, TL_WRITER_FULL_RECYCLE);
	CU_ASSERT_EQUAL(ring->fsync, TL_WRITER_SYNC_CLOSE);
	tl_config_free(config);
}

TL_TEST("captures read their cut-off")
{
	struct tl_config *config =
		load_right(CAPTURE("}, {'port': 'a', 'path': 'b.pcapng', 'cutoff_bytes': '64K', 'cutoff_flows': 4096"));

	CU_ASSERT_EQUAL(config->captures[0].cutoff_bytes, 0);
	CU_ASSERT_EQUAL(config->captures[0].cutoff_flows, 1u << 20);
	CU_ASSERT_EQUAL(config->captures[1].cutoff_bytes, 65536);
	CU_ASSERT_EQUAL(config->captures[1].cutoff_flows, 4096);
	tl_config_free(config);
}

TL_TEST("captures read their order and format")
{
	struct tl_config *config = load_right(CAPTURE(
		"}, {'port': 'a', 'path': 'b', 'order': 'time', 'order_window_ms': 1000, 'compress': 'zstd',"
		"'compress_level': 19, 'compress_threads': 16, 'rotate_bytes': '4M'}, {'port': 'a', 'path': 'c', 'format':"
		"'pcap-ns', 'order': 'time', 'rotate_seconds': 60}, {'port': 'a', 'path': 'd', 'order': 'time', 'keep_files': 2,"
		"'rotate_seconds': 60, 'index': true}, {'port': 'a', 'path': 'e', 'compress': 'zstd', 'index': false"));
	const struct tl_config_capture *plain = &config->captures[0], *packed = &config->captures[1],
				       *pcap = &config->captures[2], *sorted = &config->captures[3];

	CU_ASSERT_EQUAL(plain->order, TL_CONFIG_ORDER_ARRIVAL);
	CU_ASSERT_EQUAL(plain->order_window_ms, 100);
	CU_ASSERT_EQUAL(plain->format, TL_CONFIG_PCAPNG);
	CU_ASSERT_EQUAL(plain->compress, TL_CONFIG_COMPRESS_NONE);
	CU_ASSERT_EQUAL(plain->compress_level, 1);
	CU_ASSERT_EQUAL(plain->compress_threads, 1);
	CU_ASSERT_EQUAL(packed->order, TL_CONFIG_ORDER_TIME);
	CU_ASSERT_EQUAL(packed->order_window_ms, 1000);
	CU_ASSERT_EQUAL(packed->compress, TL_CONFIG_COMPRESS_ZSTD);
	CU_ASSERT_EQUAL(packed->compress_level, 19);
	CU_ASSERT_EQUAL(packed->compress_threads, 16);
	CU_ASSERT_EQUAL(pcap->format, TL_CONFIG_PCAP_NS);
	// The default of "index" depends on the format.
	CU_ASSERT_FALSE(packed->index);
	CU_ASSERT_FALSE(pcap->index);
	CU_ASSERT_TRUE(sorted->index);
	tl_config_free(config);
}

TL_TEST("a recording can wait for triggers")
{
	struct tl_config *config =
		load_right("{'ports': [{'name': 'a', 'device': 'x'}], 'capture': ["
			   "{'port': 'a', 'path': 'c'},"
			   "{'port': 'a', 'path': 'd', 'mode': 'trigger', 'keep_files': 5},"
			   "{'port': 'a', 'path': 'e', 'mode': 'trigger', 'trigger': {'pre_seconds': 0, "
			   "'pre_bytes': '1M', 'post_seconds': 3, 'filter': 'icmp', 'on_drop': true}}]}");
	const struct tl_config_capture *all = &config->captures[0], *plain = &config->captures[1];
	const struct tl_config_trigger *t = &config->captures[2].trigger;

	CU_ASSERT_EQUAL(all->mode, TL_CONFIG_MODE_CONTINUOUS);
	CU_ASSERT_EQUAL(plain->mode, TL_CONFIG_MODE_TRIGGER);
	CU_ASSERT_EQUAL(plain->trigger.pre_seconds, 10);
	CU_ASSERT_EQUAL(plain->trigger.post_seconds, 10);
	CU_ASSERT_EQUAL(plain->trigger.pre_bytes, 0);
	CU_ASSERT_EQUAL(t->pre_seconds, 0);
	CU_ASSERT_EQUAL(t->pre_bytes, 1 << 20);
	CU_ASSERT_EQUAL(t->post_seconds, 3);
	CU_ASSERT_STRING_EQUAL(t->filter, "icmp");
	CU_ASSERT(t->on_drop);
	CU_ASSERT_EQUAL(t->echo_latency_us, 0);
	tl_config_free(config);
}

TL_TEST("one lcore owns a group")
{
#define TWO_QUEUES(second)                                                                                             \
	"{'ports': [{'name': 'a', 'device': 'x', 'rx_queues': 2" IP "}], 'echo': ["                                    \
	"{'name': 'e', 'port': 'a', " MCAST("239.1.1.1", "1") ", " SEND ", 'queue': 1}, {'port': 'a', " second "}]}"
	static const struct refusal refusals[] = {
		{TWO_QUEUES(MCAST("239.1.1.1", "2") ", " SEND ", 'queue': 0"),
			"1: $.echo[1].queue: the echo 'e' receives the same group on queue 1: one lcore owns a group"},
		{TWO_QUEUES("'receive': {'group': '239.1.1.0', 'groups': 5, 'udp_port': 2}, " SEND ", 'queue': 0"),
			"1: $.echo[1].queue: the echo 'e' receives the same group on queue 1: one lcore owns a group"},
		{TWO_QUEUES("'udp_listen': 1, 'queue': 2"),
			"1: $.echo[1].queue: the port 'a' has 2 RX queues, counted from 0"},
		{TWO_QUEUES("'udp_listen': 1, 'queue': 'any'"),
			"1: $.echo[1].queue: 'any' is not 'auto' or the number of an RX queue"},
	};

	expect_refusals(refusals, TL_ARRAY_LEN(refusals));
	tl_config_free(load_right(TWO_QUEUES(MCAST("239.1.1.1", "2") ", " SEND ", 'queue': 1")));
	tl_config_free(load_right(TWO_QUEUES(MCAST("239.1.1.2", "1") ", " SEND ", 'queue': 0")));
	tl_config_free(load_right(TWO_QUEUES(MCAST("239.1.1.1", "2") ", " SEND ", 'queue': 'auto'")));
}

TL_TEST("the keys of an echo determine its mode")
{
	struct tl_config *config = load_right(ECHO("{'port': 'a', " MCAST("239.1.2.3",
		"30001") ", " SEND
			 ", 'queue': 0, 'send_buffer_bytes': 4096, 'on_full': 'reset', 'congestion': 'none', 'warm': false,"
			 "'user_timeout_seconds': 3600, 'user_timeout_option': true, 'keepalive_seconds': 0, 'rto_min_us': 1000,"
			 "'reconnect_min_ms': 20, 'reconnect_max_ms': 20},"
			 "{'name': 't', 'port': 'a', 'tcp_listen': 7, 'max_connections': 1},"
			 "{'port': 'a', 'udp_listen': 65535}"));
	const struct tl_config_echo *mcast = &config->echoes[0], *tcp = &config->echoes[1], *udp = &config->echoes[2];

	CU_ASSERT_EQUAL(config->n_echoes, 3);
	CU_ASSERT_EQUAL(mcast->mode, TL_ECHO_KIND_MCAST_TO_TCP);
	CU_ASSERT_STRING_EQUAL(mcast->name, "echo0");
	CU_ASSERT_EQUAL(mcast->group_be, htonl(0xef010203));
	CU_ASSERT_EQUAL(mcast->n_groups, 1);
	CU_ASSERT_EQUAL(mcast->source_be, 0);
	CU_ASSERT_EQUAL(mcast->queue, 0);
	CU_ASSERT_EQUAL(mcast->udp_port_be, htons(30001));
	CU_ASSERT_EQUAL(mcast->connect_ip_be, htonl(0xc0000209));
	CU_ASSERT_EQUAL(mcast->connect_port_be, htons(5000));
	CU_ASSERT_EQUAL(mcast->send_buffer_bytes, 4096);
	CU_ASSERT_EQUAL(mcast->on_full, TL_ECHO_FULL_RESET);
	CU_ASSERT_EQUAL(mcast->congestion, TL_CONFIG_CONGESTION_NONE);
	CU_ASSERT_EQUAL(mcast->user_timeout_seconds, 3600);
	CU_ASSERT(mcast->user_timeout_option);
	CU_ASSERT_EQUAL(mcast->keepalive_seconds, 0);
	CU_ASSERT_EQUAL(mcast->rto_min_us, 1000);
	CU_ASSERT_EQUAL(mcast->reconnect_min_ms, 20);
	CU_ASSERT_EQUAL(mcast->reconnect_max_ms, 20);
	CU_ASSERT_FALSE(mcast->warm);
	CU_ASSERT_EQUAL(tcp->mode, TL_ECHO_KIND_TCP);
	CU_ASSERT_STRING_EQUAL(tcp->name, "t");
	CU_ASSERT_EQUAL(tcp->listen_port_be, htons(7));
	CU_ASSERT_EQUAL(tcp->send_buffer_bytes, 65536);
	CU_ASSERT_EQUAL(tcp->on_full, TL_ECHO_FULL_DROP);
	CU_ASSERT_EQUAL(tcp->congestion, TL_CONFIG_CONGESTION_NEWRENO);
	CU_ASSERT_EQUAL(tcp->user_timeout_seconds, 20);
	CU_ASSERT(!tcp->user_timeout_option);
	CU_ASSERT_EQUAL(tcp->keepalive_seconds, 30);
	CU_ASSERT_EQUAL(tcp->rto_min_us, 200000);
	CU_ASSERT_EQUAL(tcp->max_connections, 1);
	CU_ASSERT_EQUAL(tcp->send_buffers, 4096);
	CU_ASSERT_EQUAL(tcp->queue, TL_CONFIG_QUEUE_AUTO);
	CU_ASSERT_EQUAL(udp->mode, TL_ECHO_KIND_UDP);
	CU_ASSERT_STRING_EQUAL(udp->name, "echo2");
	CU_ASSERT_EQUAL(udp->listen_port_be, htons(65535));
	CU_ASSERT_EQUAL(udp->max_connections, 1024);
	tl_config_free(config);
}

TL_TEST("IPv6 addresses are accepted in place of IPv4 addresses")
{
	struct tl_config *config =
		load_right(PORT6 ", 'gateway6': 'fe80::1'}], 'echo': [{'port': 'a', 'receive': {'group': 'ff05::1234', "
				 "'udp_port': 7, 'source': '2001:db8::7'}, " SEND6(
					 "[2001:db9::9]:5000") "}, {'port': 'a', "
							       "'tcp_listen': 7}, {'port': 'a', 'udp_listen': 7}]}");
	const struct tl_config_echo *echo = &config->echoes[0];
	char text[TL_IPV6_TEXT];

	CU_ASSERT_EQUAL(config->ports[0].ip_be, 0);
	CU_ASSERT_STRING_EQUAL(tl_format_ipv6(&config->ports[0].ip6, text), "2001:db8::1");
	CU_ASSERT_EQUAL(config->ports[0].ip6_bits, 64);
	CU_ASSERT_STRING_EQUAL(tl_format_ipv6(&config->ports[0].gateway6, text), "fe80::1");
	CU_ASSERT_STRING_EQUAL(tl_format_ipv6(&echo->group6, text), "ff05::1234");
	CU_ASSERT_STRING_EQUAL(tl_format_ipv6(&echo->source6, text), "2001:db8::7");
	CU_ASSERT_STRING_EQUAL(tl_format_ipv6(&echo->connect_ip6, text), "2001:db9::9");
	CU_ASSERT_EQUAL(echo->connect_port_be, htons(5000));
	tl_config_free(config);
	tl_config_free(load_right(ECHO6(MCAST("ff02::5", "7") ", " SEND6("[fe80::9]:5"))));
}

TL_TEST("apparent conflicts are accepted")
{
	// Two readers of one file; one port number for TCP, UDP and a group; a source; two groups on one UDP port.
	tl_config_free(load_right("{'ports': [{'name': 'a', 'device': 'pcap:x'}, {'name': 'b', 'device': 'pcap:x'}]}"));
	tl_config_free(load_right(
		ECHO("{'port': 'a', 'tcp_listen': 7}, {'port': 'a', 'udp_listen': 7},"
		     "{'port': 'a', " MCAST("239.1.2.3", "7") ", " SEND "},"
							      "{'port': 'a', " MCAST("239.1.2.4", "7") ", " SEND "}")));
	tl_config_free(load_right(PORT(", 'ip': '10.0.0.0/31', 'gateway': '10.0.0.1'")));
	tl_config_free(load_right(PORT(", 'ip': '10.0.0.7/32'")));
	tl_config_free(load_right(
		ECHO("{'port': 'a', " MCAST("239.1.2.3", "7") ", " SEND "},"
							      "{'port': 'a', " MCAST("239.1.2.3", "8") ", " SEND "}")));
	tl_config_free(load_right("{'ports': [{'name': 'a', 'device': 'x'" IP "}, {'name': 'b', 'device': 'y'" IP "}],"
				  "'echo': [{'port': 'a', 'tcp_listen': 7}, {'port': 'b', 'tcp_listen': 7}]}"));
	tl_config_free(
		load_right("{'ports': [{'name': 'a', 'device': 'x'" IP ", 'gateway': '192.0.2.254'}], 'echo': "
			   "[{'port': 'a', " MCAST("239.1.2.3", "7") ", 'send': {'tcp_connect': '10.0.0.1:5'}}]}"));
	tl_config_free(load_right(PORTS2(", 'lcores': [1]", ", 'lcores': 'auto'")));
	tl_config_free(load_right(ECHO("{'port': 'a', 'tcp_listen': 7, 'rto_min_us': 5000000},"
				       "{'port': 'a', 'tcp_listen': 8, 'user_timeout_seconds': 1}")));
	tl_config_free(
		load_right("{'ports': [{'name': 'a', 'device': 'x'}], 'capture': [{'port': 'a', 'path': 'null:'},"
			   "{'port': 'a', 'path': 'null:', 'direction': 'tx'}]}"));
}

TL_TEST("the neighbours of a port are read, of both families")
{
	struct tl_config *config = load_right(
		"{'ports': [{'name': 'a', 'device': 'eth0', 'ip': '10.1.2.3/8', 'ip6': '2001:db8::1/64',"
		"'neighbour_entries': 4096, 'neighbours': [{'ip': '10.9.9.9', 'mac': '02:aB:00:fF:10:09'},"
		"{'ip': 'fe80::7', 'mac': '00:00:00:00:00:01'}, {'ip': '2001:db8::7', 'mac': '02:00:00:00:00:02'}]}]}");
	const struct tl_config_port *port = &config->ports[0];

	CU_ASSERT_EQUAL(port->neighbour_entries, 4096);
	CU_ASSERT_EQUAL_FATAL(port->n_neighbours, 3);
	CU_ASSERT_EQUAL(port->neighbours[0].ip_be, htonl(0x0a090909));
	CU_ASSERT_EQUAL(memcmp(port->neighbours[0].mac, "\x02\xab\x00\xff\x10\x09", 6), 0);
	CU_ASSERT_EQUAL(port->neighbours[1].ip_be, 0);
	CU_ASSERT_EQUAL(port->neighbours[1].ip6.byte[0], 0xfe);
	CU_ASSERT_EQUAL(port->neighbours[1].ip6.byte[15], 7);
	CU_ASSERT_EQUAL(port->neighbours[2].mac[5], 2);
	tl_config_free(config);
}

TL_TEST("the line is found after strings that resemble JSON structure")
{
	expect_refusal("{'ports': [{'name': 'a', 'device': 'x\\'{[,]}\\\\',\n'mtu': 1}]}",
		"2: $.ports[0].mtu: 1 is not a whole number from 576 to 9600");
	expect_refusal("{'capture': [{'port': [1, {'x': []}], 'path': 7}, {}],\n'ports': [[]]}",
		"2: $.ports[0]: [] is not an object");
}

TL_TEST("a pacing rate is a number of bit/s or a tc rate")
{
	static const struct {
		const char *text;
		uint64_t bps;
	} paces[] = {{"8000", 8000}, {"'64kbit'", 64000}, {"'1.5Gbit'", 1500000000}, {"'10MBps'", 80000000},
		{"4398046511104", UINT64_C(1) << 42}};
	char text[256];

	for (size_t i = 0; i < TL_ARRAY_LEN(paces); i++) {
		snprintf(text, sizeof(text), ECHO("{'port': 'a', 'tcp_listen': 7, 'pace_bps': %s}"), paces[i].text);
		struct tl_config *config = load_right(text);
		CU_ASSERT_EQUAL(config->echoes[0].pace_bps, paces[i].bps);
		tl_config_free(config);
	}
}

TL_TEST("a delay has a mean, a jitter and a distribution")
{
	static const struct {
		const char *text;
		uint64_t delay_ns, jitter_ns;
		enum tl_jitter jitter;
	} delays[] = {
		{"5us", 5000, 0, TL_JITTER_UNIFORM},
		{"1.5ms +- 250us", 1500000, 250000, TL_JITTER_UNIFORM},
		{"10s ± 10s uniform", 10 * TL_NS_PER_S, 10 * TL_NS_PER_S, TL_JITTER_UNIFORM},
		{" 1ns +- 0ns  normal ", 1, 0, TL_JITTER_NORMAL},
		{"5US +- 1us pareto", 5000, 1000, TL_JITTER_PARETO},
	};
	char text[256];

	for (size_t i = 0; i < TL_ARRAY_LEN(delays); i++) {
		snprintf(text, sizeof(text), ECHO("{'port': 'a', 'udp_listen': 7, 'delay': '%s', 'delay_limit': 64}"),
			delays[i].text);
		struct tl_config *config = load_right(text);
		CU_ASSERT_EQUAL(config->echoes[0].delay_ns, delays[i].delay_ns);
		CU_ASSERT_EQUAL(config->echoes[0].jitter_ns, delays[i].jitter_ns);
		CU_ASSERT_EQUAL(config->echoes[0].jitter, delays[i].jitter);
		CU_ASSERT_EQUAL(config->echoes[0].delay_limit, 64);
		tl_config_free(config);
	}
}

TL_TEST("an unreadable file is refused with the reason")
{
	struct tl_config *config = NULL;
	struct tl_err err = {""};

	CU_ASSERT_EQUAL(tl_config_load("/nonexistent/t.json", &config, &err), -ENOENT);
	CU_ASSERT_STRING_EQUAL(err.text, "/nonexistent/t.json: cannot be opened: No such file or directory");
	CU_ASSERT_EQUAL(tl_config_load("/", &config, &err), -EISDIR);
	CU_ASSERT_STRING_EQUAL(err.text, "/: cannot be read: Is a directory");
	CU_ASSERT_EQUAL(tl_config_load("/dev/zero", &config, &err), -EFBIG);
	CU_ASSERT_EQUAL(tl_config_load("/dev/null", &config, &err), -EINVAL);
	CU_ASSERT_STRING_EQUAL(err.text, "/dev/null: the file is empty");
	CU_ASSERT_PTR_NULL(config);
}

TL_TEST("a file is read from disk")
{
	char path[] = "/tmp/test_config.XXXXXX";
	struct tl_config *config = NULL;
	struct tl_err err = {""};
	size_t len;
	char *text = heap_text(PORT(""), &len);
	int fd = mkstemp(path);

	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_EQUAL(write(fd, text, len), (ssize_t)len);
	close(fd);
	free(text);
	CU_ASSERT_EQUAL(tl_config_load(path, &config, &err), 0);
	unlink(path);
	CU_ASSERT_PTR_NOT_NULL_FATAL(config);
	CU_ASSERT_STRING_EQUAL(config->file, path);
	tl_config_free(config);
	tl_config_free(NULL);
}

TL_TEST("a truncated text is never read past its end")
{
	static const char text[] =
		ECHO("{'port': 'a', " MCAST("239.1.2.3", "30001") ", " SEND "}, {'port': 'a', 'udp_listen': 7}");
	struct tl_config *config = NULL;
	size_t len;
	char *whole = heap_text(text, &len);

	for (size_t n = 0; n < len; n++) {
		char *part = malloc(n == 0 ? 1 : n);
		memcpy(part, whole, n);
		CU_ASSERT_NOT_EQUAL(tl_config_load_text(part, n, "t.json", &config, NULL), 0);
		free(part);
	}
	free(whole);
}

TL_TEST("a replay keeps its values as texts, with their lines")
{
	struct tl_config *config =
		load_right(REPLAY(",\n'line_rate': true, 'merge': false, 'speed': 0.5,\n'loops': 3, 'map': ['p']"));
	static const struct {
		const char *key, *text;
		uint32_t nth, line;
	} want[] = {{"files", "x", 0, 2}, {"files", "y", 1, 2}, {"speed", "0.5", TL_CONFIG_NO_LIST, 3},
		{"line_rate", NULL, TL_CONFIG_NO_LIST, 3}, {"loops", "3", TL_CONFIG_NO_LIST, 4}, {"map", "p", 0, 4}};
	const struct tl_config_replay *replay = &config->replays[0];

	CU_ASSERT_EQUAL(config->n_replays, 1);
	CU_ASSERT_STRING_EQUAL(replay->name, "r");
	CU_ASSERT_EQUAL(replay->port, 0);
	CU_ASSERT_EQUAL(replay->lcore, TL_CONFIG_LCORE_AUTO);
	CU_ASSERT_EQUAL_FATAL(replay->n_settings, TL_ARRAY_LEN(want));
	for (size_t i = 0; i < TL_ARRAY_LEN(want); i++) {
		const struct tl_config_setting *is = &replay->settings[i];
		CU_ASSERT_STRING_EQUAL(is->key, want[i].key);
		CU_ASSERT_EQUAL(is->nth, want[i].nth);
		CU_ASSERT_EQUAL(is->line, want[i].line);
		CU_ASSERT_TRUE(want[i].text == NULL ? is->text == NULL : strcmp(is->text, want[i].text) == 0);
	}
	tl_config_free(config);
}

int main(void)
{
	return tl_test_run("config");
}
