// SPDX-License-Identifier: BSD-3-Clause
// Configuration file: values, and a message for every rejected mistake.

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include <tl_config.h>
#include <tl_err.h>
#include <tl_test.h>

#include <config_priv.h>

// Copy the text to a heap block of its exact size, so that the sanitizer detects reads beyond its end; ' stands for ".
static char *heap_text(const char *text, size_t *len)
{
	*len = strlen(text);
	char *copy = malloc(*len == 0 ? 1 : *len);

	for (size_t i = 0; i < *len; i++)
		copy[i] = text[i] == '\'' ? '"' : text[i];
	return copy;
}

static struct tl_config *load(const char *text)
{
	struct tl_config *config = NULL;
	struct tl_err err = {""};
	size_t len;
	char *copy = heap_text(text, &len);

	if (tl_config_load_text(copy, len, "t.json", &config, &err) != 0)
		printf("# refused: %s\n", err.text);
	free(copy);
	CU_ASSERT_PTR_NOT_NULL_FATAL(config);
	return config;
}

// Expect this message after "t.json:", with ' for ".
static void expect_refusal(const char *text, const char *sentence)
{
	struct tl_config *config = NULL;
	struct tl_err err = {""};
	size_t len;
	char *copy = heap_text(text, &len);

	CU_ASSERT_EQUAL(tl_config_load_text(copy, len, "t.json", &config, &err), -EINVAL);
	free(copy);
	CU_ASSERT_PTR_NULL(config);
	tl_config_free(config);
	for (char *p = err.text; *p != '\0'; p++)
		*p = *p == '"' ? '\'' : *p;
	bool same = strncmp(err.text, "t.json:", 7) == 0 && strcmp(err.text + 7, sentence) == 0;
	if (!same)
		printf("# text:     %s\n# refused:  %s\n# expected: t.json:%s\n", text, err.text, sentence);
	CU_ASSERT_TRUE(same);
}

struct refusal {
	const char *text, *sentence;
};

static void expect_refusals(const struct refusal *refusals, size_t n)
{
	for (size_t i = 0; i < n; i++)
		expect_refusal(refusals[i].text, refusals[i].sentence);
}

// Wrappers that shorten the tests to the mistake.
#define PORT(keys) "{'ports': [{'name': 'a', 'device': 'eth0'" keys "}]}"
#define PORTS2(keys_a, keys_b)                                                                                         \
	"{'ports': [{'name': 'a', 'device': 'eth0'" keys_a "},\n{'name': 'b', 'device': 'eth1'" keys_b "}]}"
#define CAPTURE(keys) "{'ports': [{'name': 'a', 'device': 'eth0'}],\n'capture': [{'port': 'a', 'path': 'f'" keys "}]}"
#define IP ", 'ip': '192.0.2.1/24'"
#define ECHO(entries) "{'ports': [{'name': 'a', 'device': 'eth0'" IP "}],\n'echo': [" entries "]}"
#define MCAST(group, port) "'receive': {'group': '" group "', 'udp_port': " port "}"
#define SEND "'send': {'tcp_connect': '192.0.2.9:5000'}"

static void the_smallest_file_gets_every_default(void)
{
	struct tl_config *config = load(PORT(""));
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

static void every_key_of_a_port_is_read(void)
{
	struct tl_config *config = load(
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

static void captures_find_their_port_and_read_sizes(void)
{
	struct tl_config *config =
		load("{'ports': [{'name': 'a', 'device': 'eth0'}, {'name': 'b', 'device': 'eth1'}],"
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

static void captures_read_their_ring(void)
{
	struct tl_config *config =
		load(CAPTURE("}, {'port': 'a', 'path': 'b_%H.pcapng', 'rotate_bytes': '4M', 'rotate_seconds': 3600,"
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

static void a_ring_that_cannot_turn_is_refused(void)
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

static void captures_read_their_cutoff(void)
{
	struct tl_config *config =
		load(CAPTURE("}, {'port': 'a', 'path': 'b.pcapng', 'cutoff_bytes': '64K', 'cutoff_flows': 4096"));

	CU_ASSERT_EQUAL(config->captures[0].cutoff_bytes, 0);
	CU_ASSERT_EQUAL(config->captures[0].cutoff_flows, 1u << 20);
	CU_ASSERT_EQUAL(config->captures[1].cutoff_bytes, 65536);
	CU_ASSERT_EQUAL(config->captures[1].cutoff_flows, 4096);
	tl_config_free(config);
}

static void a_cutoff_that_means_nothing_is_refused(void)
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

static void captures_read_their_order_and_form(void)
{
	struct tl_config *config = load(CAPTURE(
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

static void an_order_or_form_that_means_nothing_is_refused(void)
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

static void a_recording_waits_for_triggers(void)
{
	struct tl_config *config = load("{'ports': [{'name': 'a', 'device': 'x'}], 'capture': ["
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

static void triggers_that_mean_nothing_are_refused(void)
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

static void one_lcore_owns_a_group(void)
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
	tl_config_free(load(TWO_QUEUES(MCAST("239.1.1.1", "2") ", " SEND ", 'queue': 1")));
	tl_config_free(load(TWO_QUEUES(MCAST("239.1.1.2", "1") ", " SEND ", 'queue': 0")));
	tl_config_free(load(TWO_QUEUES(MCAST("239.1.1.1", "2") ", " SEND ", 'queue': 'auto'")));
}

static void the_keys_of_an_echo_determine_its_mode(void)
{
	struct tl_config *config = load(ECHO("{'port': 'a', " MCAST("239.1.2.3",
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

#define PORT6 "{'ports': [{'name': 'a', 'device': 'eth0', 'ip6': '2001:db8::1/64'"
#define ECHO6(entry) PORT6 "}],\n'echo': [{'port': 'a', " entry "}]}"
#define SEND6(peer) "'send': {'tcp_connect': '" peer "'}"

static void ipv6_stands_where_ipv4_does(void)
{
	struct tl_config *config =
		load(PORT6 ", 'gateway6': 'fe80::1'}], 'echo': [{'port': 'a', 'receive': {'group': 'ff05::1234', "
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
	tl_config_free(load(ECHO6(MCAST("ff02::5", "7") ", " SEND6("[fe80::9]:5"))));
}

static void ipv6_that_cannot_be_is_refused(void)
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

static void apparent_conflicts_are_accepted(void)
{
	// Two readers of one file; one port number for TCP, UDP and a group; a source; two groups on one UDP port.
	tl_config_free(load("{'ports': [{'name': 'a', 'device': 'pcap:x'}, {'name': 'b', 'device': 'pcap:x'}]}"));
	tl_config_free(load(
		ECHO("{'port': 'a', 'tcp_listen': 7}, {'port': 'a', 'udp_listen': 7},"
		     "{'port': 'a', " MCAST("239.1.2.3", "7") ", " SEND "},"
							      "{'port': 'a', " MCAST("239.1.2.4", "7") ", " SEND "}")));
	tl_config_free(load(PORT(", 'ip': '10.0.0.0/31', 'gateway': '10.0.0.1'")));
	tl_config_free(load(PORT(", 'ip': '10.0.0.7/32'")));
	tl_config_free(load(
		ECHO("{'port': 'a', " MCAST("239.1.2.3", "7") ", " SEND "},"
							      "{'port': 'a', " MCAST("239.1.2.3", "8") ", " SEND "}")));
	tl_config_free(load("{'ports': [{'name': 'a', 'device': 'x'" IP "}, {'name': 'b', 'device': 'y'" IP "}],"
			    "'echo': [{'port': 'a', 'tcp_listen': 7}, {'port': 'b', 'tcp_listen': 7}]}"));
	tl_config_free(load("{'ports': [{'name': 'a', 'device': 'x'" IP ", 'gateway': '192.0.2.254'}], 'echo': "
			    "[{'port': 'a', " MCAST("239.1.2.3", "7") ", 'send': {'tcp_connect': '10.0.0.1:5'}}]}"));
	tl_config_free(load(PORTS2(", 'lcores': [1]", ", 'lcores': 'auto'")));
	tl_config_free(load("{'ports': [{'name': 'a', 'device': 'x'}], 'capture': [{'port': 'a', 'path': 'null:'},"
			    "{'port': 'a', 'path': 'null:', 'direction': 'tx'}]}"));
}

static void an_unknown_key_is_refused_with_the_nearest_known_one(void)
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

static void a_missing_key_is_refused_at_its_object(void)
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

static void the_neighbours_of_a_port_are_read(void)
{
	struct tl_config *config = load(
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

static void a_value_of_the_wrong_type_is_refused(void)
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

static void a_number_out_of_range_is_refused(void)
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

static void a_bad_address_is_refused(void)
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

static void a_bad_name_or_text_is_refused(void)
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

static void a_text_that_is_too_long_is_refused(void)
{
	char text[512];

	snprintf(text, sizeof(text), "{'ports': [{'name': 'a', 'device': '%0240d'}]}", 0);
	expect_refusal(text, "1: $.ports[0].device: the text has 240 bytes, the most is 239");
	snprintf(text, sizeof(text), "{'ports': [{'name': 'a', 'device': '%0239d'}]}", 0);
	tl_config_free(load(text));
}

static void the_line_is_found_behind_texts_that_look_like_structure(void)
{
	expect_refusal("{'ports': [{'name': 'a', 'device': 'x\\'{[,]}\\\\',\n'mtu': 1}]}",
		"2: $.ports[0].mtu: 1 is not a whole number from 576 to 9600");
	expect_refusal("{'capture': [{'port': [1, {'x': []}], 'path': 7}, {}],\n'ports': [[]]}",
		"2: $.ports[0]: [] is not an object");
}

static void a_duplicate_port_is_refused(void)
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
	tl_config_free(load("{'ports': [{'name': 'a', 'device': 'eth0'}, {'name': 'b', 'device': 'ETH0'},"
			    "{'name': 'c', 'device': 'vdev:net_null0'}, {'name': 'd', 'device': 'vdev:net_null01'}]}"));
}

static void an_lcore_with_two_tasks_is_refused(void)
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

static void a_port_name_that_names_nothing_is_refused_with_those_that_do(void)
{
	static const struct refusal refusals[] = {
		{"{'ports': [{'name': 'a', 'device': 'x'}, {'name': 'b', 'device': 'y'}],\n'capture': "
		 "[{'port': 'c', 'path': 'f'}]}",
			"2: $.capture[0].port: unknown port 'c'; the ports are: a, b"},
		{ECHO("{'port': 'c', 'tcp_listen': 1}"), "2: $.echo[0].port: unknown port 'c'; the ports are: a"},
	};

	expect_refusals(refusals, TL_ARRAY_LEN(refusals));
}

static void a_file_with_two_writers_is_refused(void)
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

static void an_echo_without_exactly_one_mode_is_refused(void)
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

static void a_pace_is_a_rate(void)
{
	static const struct {
		const char *text;
		uint64_t bps;
	} paces[] = {{"8000", 8000}, {"'64kbit'", 64000}, {"'1.5Gbit'", 1500000000}, {"'10MBps'", 80000000},
		{"4398046511104", UINT64_C(1) << 42}};
	char text[256];

	for (size_t i = 0; i < TL_ARRAY_LEN(paces); i++) {
		snprintf(text, sizeof(text), ECHO("{'port': 'a', 'tcp_listen': 7, 'pace_bps': %s}"), paces[i].text);
		struct tl_config *config = load(text);
		CU_ASSERT_EQUAL(config->echoes[0].pace_bps, paces[i].bps);
		tl_config_free(config);
	}
}

static void a_pace_that_has_no_sense_is_refused(void)
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

static void a_delay_has_a_mean_a_jitter_and_a_distribution(void)
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
		struct tl_config *config = load(text);
		CU_ASSERT_EQUAL(config->echoes[0].delay_ns, delays[i].delay_ns);
		CU_ASSERT_EQUAL(config->echoes[0].jitter_ns, delays[i].jitter_ns);
		CU_ASSERT_EQUAL(config->echoes[0].jitter, delays[i].jitter);
		CU_ASSERT_EQUAL(config->echoes[0].delay_limit, 64);
		tl_config_free(config);
	}
}

#define DELAY(keys) ECHO("{'port': 'a', 'udp_listen': 7,\n" keys "}")
#define NO_DELAY                                                                                                       \
	" is not a delay from 1ns to 10s, such as '5us', '5us +- 1us' or '5us +- 1us normal' (uniform, normal, pareto)"

static void a_delay_that_has_no_sense_is_refused(void)
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

static void an_echo_on_a_port_that_cannot_answer_is_refused(void)
{
	static const struct refusal refusals[] = {
		{"{'ports': [{'name': 'a', 'device': 'x'}], 'echo': [{'port': 'a', 'tcp_listen': 1}]}",
			"1: $.echo[0].port: the port 'a' has no 'ip' to echo from"},
		{"{'ports': [{'name': 'a', 'device': 'pcap:x'" IP "}], 'echo': [{'port': 'a', 'tcp_listen': 1}]}",
			"1: $.echo[0].port: the port 'a' is a file: it cannot send"},
	};

	expect_refusals(refusals, TL_ARRAY_LEN(refusals));
}

static void two_echoes_with_the_same_input_are_refused(void)
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

static void a_list_that_is_too_long_is_refused(void)
{
	char text[2048] = "{'ports': [";

	for (int i = 0; i < TL_CONFIG_PORTS_MAX + 1; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s{'name': 'p%d', 'device': 'd%d'}",
			i == 0 ? "" : ",", i, i);
	strcat(text, "]}");
	expect_refusal(text, "1: $.ports: the list has 17 entries, the most is 16");
	expect_refusal("{\n'ports': []}", "2: $.ports: the list is empty");
}

static void a_duplicate_key_is_named(void)
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

static void invalid_json_is_refused_with_its_line(void)
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

static void a_nul_behind_the_text_is_refused(void)
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

static void a_file_that_cannot_be_read_is_refused_with_the_reason(void)
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

static void a_file_is_read_from_disk(void)
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

static void a_cut_text_is_never_read_behind_its_end(void)
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

static char *read_source_file(const char *name)
{
	char path[512];
	snprintf(path, sizeof(path), TL_SOURCE_ROOT "/%s", name);
	FILE *file = fopen(path, "r");
	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	char *text = calloc(1, 1 << 17);
	size_t n = fread(text, 1, (1 << 17) - 1, file);
	CU_ASSERT(n > 0 && n < (1 << 17) - 1);
	fclose(file);
	return text;
}

static bool is_list(const struct tl_config_key *key)
{
	return key->read == tl_config_array || key->read == tl_config_classes || key->read == tl_config_weights;
}

static void compare_key(const struct tl_config_key *key, const json_t *schema, const char *path)
{
	json_t *fallback = key->fallback != NULL ? json_loads(key->fallback, JSON_DECODE_ANY, NULL) : NULL;
	const json_t *documented = json_object_get(schema, "default");
	const json_t *words = key->read == tl_config_roles ? json_object_get(schema, "items") : schema;
	bool same = fallback == NULL ? documented == NULL : json_equal(fallback, documented);

	if (key->read == tl_config_number)
		same = same && json_integer_value(json_object_get(schema, "maximum")) == (json_int_t)key->max &&
		       json_integer_value(json_object_get(schema, "minimum")) ==
			       (json_int_t)(key->or_zero ? 0 : key->min);
	if (is_list(key))
		same = same && json_integer_value(json_object_get(schema, "maxItems")) == (json_int_t)key->max &&
		       json_integer_value(json_object_get(schema, "minItems")) == (json_int_t)key->min;
	for (size_t i = 0; key->choices != NULL && key->choices[i] != NULL; i++) {
		const char *word = json_string_value(json_array_get(json_object_get(words, "enum"), i));
		same = same && word != NULL && strcmp(word, key->choices[i]) == 0;
	}
	if (!same)
		printf("# schema and table disagree on %s\n", path);
	CU_ASSERT_TRUE(same);
	json_decref(fallback);
}

static void compare_table(const struct tl_config_table *table, const json_t *schema, const char *path)
{
	const json_t *properties = json_object_get(schema, "properties");
	size_t required = 0;

	CU_ASSERT_EQUAL(json_object_size(properties), table->n_keys);
	CU_ASSERT_TRUE(json_is_false(json_object_get(schema, "additionalProperties")));
	for (size_t i = 0; i < table->n_keys; i++) {
		const struct tl_config_key *key = &table->keys[i];
		const json_t *property = json_object_get(properties, key->name);
		char inner[128];
		snprintf(inner, sizeof(inner), "%s.%s", path, key->name);
		if (property == NULL)
			printf("# the schema lacks %s\n", inner);
		CU_ASSERT_PTR_NOT_NULL(property);
		compare_key(key, property, inner);
		if (key->table != NULL)
			compare_table(key->table, is_list(key) ? json_object_get(property, "items") : property, inner);
		if (key->required) {
			const json_t *name = json_array_get(json_object_get(schema, "required"), required++);
			CU_ASSERT(json_is_string(name) && strcmp(json_string_value(name), key->name) == 0);
		}
	}
	CU_ASSERT_EQUAL(json_array_size(json_object_get(schema, "required")), required);
}

static void the_schema_names_exactly_the_keys_of_the_tables(void)
{
	char *text = read_source_file("docs/config.schema.json");
	json_error_t error;
	json_t *schema = json_loads(text, JSON_REJECT_DUPLICATES, &error);

	CU_ASSERT_PTR_NOT_NULL_FATAL(schema);
	compare_table(&tl_config_root, schema, "$");
	json_decref(schema);
	free(text);
}

// "67108864" is "64M".
static const char *size_word(uint64_t bytes, char word[24])
{
	static const char units[] = {'\0', 'K', 'M', 'G', 'T', '\0'};
	size_t unit = 0;

	for (; bytes != 0 && bytes % 1024 == 0 && unit < 4; unit++)
		bytes /= 1024;
	snprintf(word, 24, "%ju%.1s", (uintmax_t)bytes, &units[unit]);
	return word;
}

// Return the expected column "type" of the reference: "| 0, size 4M to 16T |"; "" for a key with its own reader.
static void describe_type(const struct tl_config_key *key, char *text, size_t size)
{
	const char *zero = key->or_zero ? "0, " : "";
	char low[24], high[24];
	size_t used = 0;

	*text = '\0';
	if (key->read == tl_config_bool)
		snprintf(text, size, "| boolean |");
	else if (key->read == tl_config_number && key->max == UINT64_C(1) << 53)
		snprintf(text, size, "| %s%ju to 2^53 |", zero, (uintmax_t)key->min);
	else if (key->read == tl_config_number)
		snprintf(text, size, "| %s%ju to %ju |", zero, (uintmax_t)key->min, (uintmax_t)key->max);
	else if (key->read == tl_config_size && key->min == 0)
		snprintf(text, size, "| size up to %s |", size_word(key->max, high));
	else if (key->read == tl_config_size)
		snprintf(text, size, "| %ssize %s to %s |", zero, size_word(key->min, low), size_word(key->max, high));
	for (size_t i = 0; key->choices != NULL && key->choices[i] != NULL; i++)
		used += (size_t)snprintf(text + used, size - used, "%s`\"%s\"`",
			i != 0			       ? ", "
			: key->read == tl_config_roles ? "| array of "
						       : "| ",
			key->choices[i]);
	if (used != 0)
		snprintf(text + used, size - used, " |");
}

// Check that every key has a row in the reference: "| `ports[].mtu` | 576 to 9600 | `1500` | ...".
static size_t find_rows(const struct tl_config_table *table, const char *text, const char *prefix)
{
	size_t rows = 0;

	for (size_t i = 0; i < table->n_keys; i++) {
		const struct tl_config_key *key = &table->keys[i];
		char path[128], start[140], fallback[64], row[512], type[160];
		snprintf(path, sizeof(path), "%s%s%s", prefix, key->name, is_list(key) ? "[]." : ".");
		if (key->table != NULL)
			rows += find_rows(key->table, text, path);
		if (key->table != NULL && *prefix == '\0')
			continue; // a section has a heading instead
		snprintf(start, sizeof(start), "\n| `%s%s` | ", prefix, key->name);
		snprintf(fallback, sizeof(fallback),
			key->required	? "| required |"
			: key->fallback ? "| `%s` |"
					: "| – |",
			key->fallback);
		const char *found = strstr(text, start);
		snprintf(row, sizeof(row), "%.*s", found == NULL ? 0 : (int)strcspn(found + 1, "\n"),
			found == NULL ? "" : found + 1);
		if (strstr(row, fallback) == NULL)
			printf("# docs/config.md: %s%s lacks its row or %s\n", prefix, key->name, fallback);
		CU_ASSERT_PTR_NOT_NULL(strstr(row, fallback));
		describe_type(key, type, sizeof(type));
		if (strstr(row, type) == NULL)
			printf("# docs/config.md: the type of %s%s is not %s\n", prefix, key->name, type);
		CU_ASSERT_PTR_NOT_NULL(strstr(row, type));
		rows++;
	}
	return rows;
}

static void the_reference_has_type_and_default_of_every_key_and_no_other(void)
{
	static const char *const sections[] = {"eal.", "ports[].", "capture[].", "echo[].", "share[].", "shape[].",
		"replay[].", "control.", "process."};
	char *text = read_source_file("docs/config.md");
	size_t expected = find_rows(&tl_config_root, text, ""), rows = 0;

	for (size_t i = 0; i < TL_ARRAY_LEN(sections); i++) {
		char start[32];
		snprintf(start, sizeof(start), "\n| `%s", sections[i]);
		for (const char *p = text; (p = strstr(p, start)) != NULL; p++)
			rows++;
	}
	CU_ASSERT_EQUAL(rows, expected);
	free(text);
}

static void the_examples_of_the_reference_load(void)
{
	char *text = read_source_file("docs/config.md");
	unsigned examples = 0;

	for (char *p = text; (p = strstr(p, "```json\n")) != NULL; examples++) {
		struct tl_config *config = NULL;
		struct tl_err err = {""};
		p += strlen("```json\n");
		size_t len = (size_t)(strstr(p, "```") - p);
		int rc = tl_config_load_text(p, len, "config.md", &config, &err);
		if (rc != 0)
			printf("# %s\n", err.text);
		CU_ASSERT_EQUAL(rc, 0);
		tl_config_free(config);
		p += len + 3;
	}
	CU_ASSERT_EQUAL(examples, 6);
	free(text);
}

#define REPLAY(keys) PORTS_OF_REPLAY "'replay': [{'name': 'r', 'port': 'a', 'files': ['x', 'y']" keys "}]}"
#define PORTS_OF_REPLAY "{'ports': [{'name': 'a', 'device': 'eth0'}, {'name': 'b', 'device': 'eth1'" IP "}],\n"

static void a_replay_keeps_its_values_as_texts_with_their_lines(void)
{
	struct tl_config *config =
		load(REPLAY(",\n'line_rate': true, 'merge': false, 'speed': 0.5,\n'loops': 3, 'map': ['p']"));
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

static void a_replay_on_a_port_that_sends_something_else_is_refused(void)
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

static void a_value_of_a_replay_that_cannot_be_is_refused(void)
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

static void a_command_line_is_refused_by_the_name_of_its_option(void)
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
	static const struct tl_test tests[] = {
		{"a minimal file has every default", the_smallest_file_gets_every_default},
		{"every key of a port is read", every_key_of_a_port_is_read},
		{"the neighbours of a port are read, of both families", the_neighbours_of_a_port_are_read},
		{"captures find their port and read sizes", captures_find_their_port_and_read_sizes},
		{"captures read their ring", captures_read_their_ring},
		{"a ring that cannot replace files is refused", a_ring_that_cannot_turn_is_refused},
		{"captures read their cut-off", captures_read_their_cutoff},
		{"a contradictory cut-off is refused", a_cutoff_that_means_nothing_is_refused},
		{"captures read their order and format", captures_read_their_order_and_form},
		{"a contradictory order or format is refused", an_order_or_form_that_means_nothing_is_refused},
		{"a recording can wait for triggers", a_recording_waits_for_triggers},
		{"keys without effect with triggers, or without, are refused", triggers_that_mean_nothing_are_refused},
		{"one lcore owns a group", one_lcore_owns_a_group},
		{"the keys of an echo determine its mode", the_keys_of_an_echo_determine_its_mode},
		{"IPv6 addresses are accepted in place of IPv4 addresses", ipv6_stands_where_ipv4_does},
		{"an invalid IPv6 address is refused", ipv6_that_cannot_be_is_refused},
		{"apparent conflicts are accepted", apparent_conflicts_are_accepted},
		{"a replay keeps its values as texts, with their lines",
			a_replay_keeps_its_values_as_texts_with_their_lines},
		{"a replay on a port with another sender is refused",
			a_replay_on_a_port_that_sends_something_else_is_refused},
		{"an invalid value of a replay is refused", a_value_of_a_replay_that_cannot_be_is_refused},
		{"an invalid command line names the option", a_command_line_is_refused_by_the_name_of_its_option},
		{"an unknown key is refused with a similar known key",
			an_unknown_key_is_refused_with_the_nearest_known_one},
		{"a missing key is refused at its object", a_missing_key_is_refused_at_its_object},
		{"a value of the wrong type is refused", a_value_of_the_wrong_type_is_refused},
		{"a number out of range is refused", a_number_out_of_range_is_refused},
		{"a bad address is refused", a_bad_address_is_refused},
		{"a bad name or text is refused", a_bad_name_or_text_is_refused},
		{"a text that is too long is refused", a_text_that_is_too_long_is_refused},
		{"the line is found after strings that resemble JSON structure",
			the_line_is_found_behind_texts_that_look_like_structure},
		{"a duplicate port is refused", a_duplicate_port_is_refused},
		{"an lcore with two tasks is refused", an_lcore_with_two_tasks_is_refused},
		{"an unknown port name is refused with the known ones",
			a_port_name_that_names_nothing_is_refused_with_those_that_do},
		{"a file with two writers is refused", a_file_with_two_writers_is_refused},
		{"an echo without exactly one mode is refused", an_echo_without_exactly_one_mode_is_refused},
		{"a pacing rate is a number of bit/s or a tc rate", a_pace_is_a_rate},
		{"an invalid pacing rate, or one without TCP, is refused with path and line",
			a_pace_that_has_no_sense_is_refused},
		{"a delay has a mean, a jitter and a distribution", a_delay_has_a_mean_a_jitter_and_a_distribution},
		{"an invalid delay is refused with path and line", a_delay_that_has_no_sense_is_refused},
		{"an echo on a port that cannot answer is refused", an_echo_on_a_port_that_cannot_answer_is_refused},
		{"two echoes with the same input are refused", two_echoes_with_the_same_input_are_refused},
		{"a list that is too long or empty is refused", a_list_that_is_too_long_is_refused},
		{"a duplicate key is named", a_duplicate_key_is_named},
		{"invalid JSON is refused with its line", invalid_json_is_refused_with_its_line},
		{"a NUL after the text is refused", a_nul_behind_the_text_is_refused},
		{"an unreadable file is refused with the reason",
			a_file_that_cannot_be_read_is_refused_with_the_reason},
		{"a file is read from disk", a_file_is_read_from_disk},
		{"a truncated text is never read past its end", a_cut_text_is_never_read_behind_its_end},
		{"the schema names exactly the keys of the tables", the_schema_names_exactly_the_keys_of_the_tables},
		{"the reference lists type and default of exactly the known keys",
			the_reference_has_type_and_default_of_every_key_and_no_other},
		{"the examples of the reference load", the_examples_of_the_reference_load},
	};

	return tl_test_main("config", tests, TL_ARRAY_LEN(tests));
}
