// SPDX-License-Identifier: BSD-3-Clause
// Echo client: payloads, framing, accounts, and command line.

#include <tl_test_client.h>

// ---- payloads

TL_TEST("a payload carries its sequence number and passes verification")
{
	for (size_t len = TL_CLIENT_SEQ_BYTES; len < 64; len++) {
		uint8_t payload[64];
		uint64_t seq = 0;

		tl_client_payload_make(payload, len, SEED, 0x0102030405060708);
		CU_ASSERT_EQUAL(payload[0], 1);
		CU_ASSERT_EQUAL(payload[7], 8);
		CU_ASSERT_TRUE(tl_client_payload_check(payload, len, SEED, &seq));
		CU_ASSERT_EQUAL(seq, 0x0102030405060708);
	}
}

TL_TEST("a payload with a changed bit is rejected")
{
	uint8_t payload[21];
	uint64_t seq;

	tl_client_payload_make(payload, sizeof(payload), SEED, 7);
	for (size_t bit = 0; bit < 8 * sizeof(payload); bit++) {
		payload[bit / 8] ^= (uint8_t)(1u << bit % 8);
		CU_ASSERT_FALSE(tl_client_payload_check(payload, sizeof(payload), SEED, &seq));
		payload[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	CU_ASSERT_TRUE(tl_client_payload_check(payload, sizeof(payload), SEED, &seq));
}

TL_TEST("a payload of another run is rejected")
{
	uint8_t payload[16];
	uint64_t seq;

	tl_client_payload_make(payload, sizeof(payload), SEED + 1, 7);
	CU_ASSERT_FALSE(tl_client_payload_check(payload, sizeof(payload), SEED, &seq));
}

// ---- framing

// Feed a stream of numbered frames in chunks of changing size; return the number of intact frames, in order.
static unsigned frames_out_of(const uint8_t *stream, size_t len, size_t frame_bytes, unsigned split_seed)
{
	struct tl_client_framer framer;
	unsigned frames = 0;

	CU_ASSERT_EQUAL_FATAL(tl_client_framer_init(&framer, frame_bytes), 0);
	while (len > 0) {
		size_t chunk = tl_min_u64(1 + (size_t)rand_r(&split_seed) % (3 * frame_bytes), len);
		uint8_t *copy = malloc(chunk); // exact size, for the address sanitizer
		const uint8_t *data = copy, *frame;
		size_t left = chunk;
		uint64_t seq;

		memcpy(copy, stream, chunk);
		while ((frame = tl_client_framer_next(&framer, &data, &left)) != NULL)
			frames += tl_client_payload_check(frame, frame_bytes, SEED, &seq) && seq == frames;
		CU_ASSERT_EQUAL(left, 0);
		free(copy);
		stream += chunk;
		len -= chunk;
	}
	tl_client_framer_fini(&framer);
	return frames;
}

TL_TEST("messages of a stream are delimited correctly for any segmentation")
{
	enum { FRAMES = 50 };
	static const size_t sizes[] = {8, 13, 16, 100};

	for (size_t i = 0; i < TL_ARRAY_LEN(sizes); i++) {
		uint8_t *stream = malloc(FRAMES * sizes[i]);
		for (unsigned seq = 0; seq < FRAMES; seq++)
			tl_client_payload_make(stream + seq * sizes[i], sizes[i], SEED, seq);
		for (unsigned split_seed = 0; split_seed < 100; split_seed++)
			CU_ASSERT_EQUAL(frames_out_of(stream, FRAMES * sizes[i], sizes[i], split_seed), FRAMES);
		free(stream);
	}
}

TL_TEST("a new stream starts at a message boundary")
{
	struct tl_client_framer framer;
	uint8_t half[8] = {0}, whole[16];
	const uint8_t *data = half;
	size_t len = sizeof(half);

	tl_client_payload_make(whole, sizeof(whole), SEED, 3);
	CU_ASSERT_EQUAL_FATAL(tl_client_framer_init(&framer, sizeof(whole)), 0);
	CU_ASSERT_PTR_NULL(tl_client_framer_next(&framer, &data, &len));
	tl_client_framer_reset(&framer);
	data = whole;
	len = sizeof(whole);
	const uint8_t *frame = tl_client_framer_next(&framer, &data, &len);
	CU_ASSERT_PTR_NOT_NULL_FATAL(frame);
	CU_ASSERT_EQUAL(memcmp(frame, whole, sizeof(whole)), 0);
	tl_client_framer_fini(&framer);
}

// ---- accounts

// Return an account of count messages, all sent.
static struct tl_client_account account_of(uint64_t count)
{
	struct tl_client_account account;

	CU_ASSERT_EQUAL_FATAL(tl_client_account_init(&account, count), 0);
	for (uint64_t seq = 0; seq < count; seq++)
		tl_client_account_sent(&account, seq);
	return account;
}

TL_TEST("all echoes in order are received")
{
	struct tl_client_account account = account_of(130);

	for (uint64_t seq = 0; seq < 130; seq++)
		CU_ASSERT_EQUAL(tl_client_account_echo(&account, seq, true), TL_CLIENT_RECEIVED);
	CU_ASSERT_EQUAL(account.received, 130);
	CU_ASSERT_EQUAL(account.reordered + account.duplicates + account.corrupt, 0);
	CU_ASSERT_EQUAL(tl_client_account_lost(&account), 0);
	CU_ASSERT_TRUE(tl_client_account_balanced(&account, 130));
	tl_client_account_fini(&account);
}

TL_TEST("each injected fault is counted by its kind")
{
	struct tl_client_account account = account_of(8);
	static const uint64_t script[] = {0, 2, 1, 5, 3, 5, 0, 7}; // 1 and 3 late, 0 and 5 duplicated, 4 and 6 lost

	for (size_t i = 0; i < TL_ARRAY_LEN(script); i++)
		tl_client_account_echo(&account, script[i], true);
	CU_ASSERT_EQUAL(tl_client_account_echo(&account, 4, false), TL_CLIENT_CORRUPT);
	CU_ASSERT_EQUAL(tl_client_account_echo(&account, 8, true), TL_CLIENT_CORRUPT);
	CU_ASSERT_EQUAL(tl_client_account_echo(&account, UINT64_MAX, true), TL_CLIENT_CORRUPT);
	CU_ASSERT_EQUAL(account.sent, 8);
	CU_ASSERT_EQUAL(account.received, 6);
	CU_ASSERT_EQUAL(tl_client_account_lost(&account), 2);
	for (uint64_t seq = 0; seq < 8; seq++)
		CU_ASSERT_EQUAL(tl_client_account_is_lost(&account, seq), seq == 4 || seq == 6);
	CU_ASSERT_EQUAL(account.reordered, 2);
	CU_ASSERT_EQUAL(account.duplicates, 2);
	CU_ASSERT_EQUAL(account.corrupt, 3);
	CU_ASSERT_TRUE(tl_client_account_balanced(&account, 11));
	CU_ASSERT_FALSE(tl_client_account_balanced(&account, 12));
	tl_client_account_fini(&account);
}

TL_TEST("an echo of a message that was not sent counts as corrupt")
{
	struct tl_client_account account;

	CU_ASSERT_EQUAL_FATAL(tl_client_account_init(&account, 3), 0);
	tl_client_account_sent(&account, 0);
	tl_client_account_sent(&account, 2);
	CU_ASSERT_EQUAL(tl_client_account_echo(&account, 1, true), TL_CLIENT_CORRUPT);
	CU_ASSERT_EQUAL(tl_client_account_echo(&account, 2, true), TL_CLIENT_RECEIVED);
	CU_ASSERT_EQUAL(tl_client_account_echo(&account, 0, true), TL_CLIENT_RECEIVED);
	CU_ASSERT_EQUAL(account.reordered, 1);
	CU_ASSERT_TRUE(tl_client_account_balanced(&account, 3));
	tl_client_account_fini(&account);
}

TL_TEST("a count that contradicts the bitmap is detected")
{
	struct tl_client_account account = account_of(4);

	tl_client_account_echo(&account, 1, true);
	CU_ASSERT_TRUE(tl_client_account_balanced(&account, 1));
	account.received++;
	CU_ASSERT_FALSE(tl_client_account_balanced(&account, 1));
	account.received--;
	account.sent++;
	CU_ASSERT_FALSE(tl_client_account_balanced(&account, 1));
	tl_client_account_fini(&account);
}

// ---- command line

#define MAX_WORDS 24

// Parse "client" and the words of line. The result points to them, as into a program's argv, until the next call.
static int parse(const char *line, struct tl_client_args *args, struct tl_err *err)
{
	static char copy[512];
	char *argv[MAX_WORDS + 1] = {0}, *rest = copy;
	int argc = 0;

	snprintf(copy, sizeof(copy), "client %s", line);
	for (char *word; argc < MAX_WORDS && (word = strtok_r(rest, " ", &rest)) != NULL;)
		argv[argc++] = word;
	err->text[0] = '\0';
	return tl_client_parse_args(argc, argv, args, err);
}

TL_TEST("options have defaults")
{
	struct tl_client_args args;
	struct tl_err err;

	CU_ASSERT_EQUAL_FATAL(parse("--kernel --tcp-connect 192.0.2.1:5000", &args, &err), 0);
	CU_ASSERT_EQUAL(args.cfg.mode, TL_CLIENT_TCP);
	CU_ASSERT_EQUAL(args.cfg.peer.ip_be, inet_addr("192.0.2.1"));
	CU_ASSERT_EQUAL(args.cfg.peer.port_be, htons(5000));
	CU_ASSERT_EQUAL(args.cfg.source.ip_be, 0);
	CU_ASSERT_EQUAL(args.cfg.rate_pps, 1000);
	CU_ASSERT_EQUAL(args.cfg.burst, 1);
	CU_ASSERT_EQUAL(args.cfg.duration_ns, 5 * TL_NS_PER_S);
	CU_ASSERT_EQUAL(args.cfg.payload_bytes, 16);
	CU_ASSERT_EQUAL(args.cfg.connect_timeout_ns, 10 * TL_NS_PER_S);
	CU_ASSERT_EQUAL(args.cfg.linger_ns, TL_NS_PER_S);
	CU_ASSERT_EQUAL(args.cfg.cold, 1);
	CU_ASSERT_EQUAL(args.cfg.timestamps, TL_CLIENT_STAMPS_AUTO);
	CU_ASSERT_EQUAL(args.sweep.axis, TL_CLIENT_AXIS_NONE);
	CU_ASSERT_EQUAL(args.sweep.n, 1);
	CU_ASSERT_FALSE(args.json);
	CU_ASSERT_EQUAL(tl_client_planned(&args.cfg), 5000);
}

TL_TEST("multicast is sent on the receiving interface")
{
	struct tl_client_args args;
	struct tl_err err;

	CU_ASSERT_EQUAL_FATAL(parse("--kernel --group 239.1.1.1 --udp-port 5000 --tcp-listen 192.0.2.9:6000 --rate 10 "
				    "--seconds 2.5 --ttl 3 --payload 1472 --json",
				      &args, &err),
		0);
	CU_ASSERT_EQUAL(args.cfg.mode, TL_CLIENT_MULTICAST);
	CU_ASSERT_EQUAL(args.cfg.group.ip_be, inet_addr("239.1.1.1"));
	CU_ASSERT_EQUAL(args.cfg.group.port_be, htons(5000));
	CU_ASSERT_EQUAL(args.cfg.peer.port_be, htons(6000));
	CU_ASSERT_EQUAL(args.cfg.source.ip_be, inet_addr("192.0.2.9"));
	CU_ASSERT_EQUAL(args.cfg.ttl, 3);
	CU_ASSERT_TRUE(args.json);
	CU_ASSERT_EQUAL(tl_client_planned(&args.cfg), 25);
}

TL_TEST("a port listens on its own address")
{
	struct tl_client_args args;
	struct tl_err err;

	CU_ASSERT_EQUAL_FATAL(parse("--kernel --tcp-connect 192.0.2.1:5000", &args, &err), 0);
	CU_ASSERT_PTR_NULL(args.port.device);
	CU_ASSERT_EQUAL_FATAL(
		parse("--port 0000:3b:00.0 --ip 192.0.2.9/24 --gateway 192.0.2.254 --vlan 7 --group 239.1.1.1 "
		      "--udp-port 5000 --tcp-listen 0.0.0.0:6000 --timestamps tsc",
			&args, &err),
		0);
	CU_ASSERT_STRING_EQUAL(args.port.device, "0000:3b:00.0");
	CU_ASSERT_EQUAL(args.port.ip_be, inet_addr("192.0.2.9"));
	CU_ASSERT_EQUAL(args.port.mask_be, inet_addr("255.255.255.0"));
	CU_ASSERT_EQUAL(args.port.gateway_be, inet_addr("192.0.2.254"));
	CU_ASSERT_EQUAL(args.port.vlan, 7);
	CU_ASSERT_EQUAL(args.port.lcore, TL_CLIENT_ANY_LCORE);
	CU_ASSERT_EQUAL(args.cfg.peer.ip_be, inet_addr("192.0.2.9"));
	CU_ASSERT_EQUAL(args.cfg.timestamps, TL_CLIENT_STAMPS_TSC);
}

TL_TEST("messages of a burst have no launch time")
{
	struct tl_client_args args;
	struct tl_err err;

	CU_ASSERT_EQUAL_FATAL(parse("--port p0 --ip 192.0.2.9/24 --udp-echo 192.0.2.1:7", &args, &err), 0);
	CU_ASSERT_EQUAL(args.port.lead_us, 100);
	CU_ASSERT_EQUAL_FATAL(parse("--port p0 --ip 192.0.2.9/24 --udp-echo 192.0.2.1:7 --burst 2", &args, &err), 0);
	CU_ASSERT_EQUAL(args.port.lead_us, 0);
	CU_ASSERT_EQUAL(args.cfg.burst, 2);
	CU_ASSERT_EQUAL(parse("--kernel --udp-echo 192.0.2.1:7 --burst 2", &args, &err), 0);
}

TL_TEST("an invalid option is refused with its name and valid values")
{
	static const struct {
		const char *line, *says;
	} wrong[] = {
		{"--udp-echo 192.0.2.1:7", "--kernel"},
		{"--kernel", "exactly one of --group"},
		{"--kernel --tcp-connect 192.0.2.1:7 --udp-echo 192.0.2.1:7", "exactly one of --group"},
		{"--kernel --group 239.1.1.1 --udp-port 5000 --tcp-listen 192.0.2.1:7 --udp-echo 192.0.2.1:7",
			"exactly one of --group"},
		{"--kernel --group 239.1.1.1 --udp-port 5000", "--tcp-listen are given together"},
		{"--kernel --group 239.1.1.1 --udp-port 5000 --tcp-listen 0.0.0.0:6000", "--source"},
		{"--kernel --group 192.0.2.1", "--group 192.0.2.1: give a multicast address from 224.0.0.0"},
		{"--kernel --group 240.0.0.1", "--group 240.0.0.1"},
		{"--kernel --udp-port 0", "--udp-port 0: give a whole number from 1 to 65535"},
		{"--kernel --udp-echo 192.0.2.1", "--udp-echo 192.0.2.1: give an address and a port"},
		{"--kernel --source x", "--source x: give an address"},
		{"--kernel --tcp-connect [::]:7", "--tcp-connect [::]:7: give an address and a port"},
		{"--kernel --tcp-connect [::1]:7 --source 127.0.0.1", "give addresses of one family"},
		{"--kernel --udp-echo [::1]:7 --payload 1453", "--payload 1453: give a whole number from 8 to 1452"},
		{"--kernel --rate 0", "--rate 0: give a whole number from 1 to 10000000"},
		{"--kernel --rate 1e3", "--rate 1e3: give a whole number"},
		{"--kernel --seconds 0", "--seconds 0: give seconds from 0.001 to 1000000"},
		{"--kernel --payload 7", "--payload 7: give a whole number from 8 to 1048576"},
		{"--kernel --payload 1048577", "--payload 1048577: give a whole number from 8 to 1048576"},
		{"--kernel --udp-echo 192.0.2.1:7 --payload 1473", "from 8 to 1472 over UDP"},
		{"--kernel --udp-echo 192.0.2.1:7 --rate 1 --seconds 0.5", "is 0 messages"},
		{"--kernel --udp-echo 192.0.2.1:7 --rate 1000000 --seconds 1001", "from 1 to 1000000000"},
		{"--kernel --payload 64,16",
			"--payload 64,16: give a whole number from 8 to 1048576, up to 64 of them rising"},
		{"--kernel --payload 16:8:3", "FROM:TO:COUNT"},
		{"--kernel --udp-echo 192.0.2.1:7 --payload 16,1473",
			"--payload 1473: give a whole number from 8 to 1472"},
		{"--kernel --udp-echo 192.0.2.1:7 --payload 16,32 --rate 1,2", "not to both"},
		{"--kernel --timestamps hw", "--timestamps hw: give auto, user, kernel, nic or tsc"},
		{"--kernel --udp-echo 192.0.2.1:7 --timestamps tsc", "--timestamps tsc belongs to --port"},
		{"--kernel --port p0 --ip 192.0.2.9/24 --udp-echo 192.0.2.1:7", "give one of --kernel"},
		{"--kernel --vlan 5 --udp-echo 192.0.2.1:7", "belong to --port"},
		{"--port p0 --udp-echo 192.0.2.1:7", "give --ip, such as"},
		{"--port p0 --ip 192.0.2.9 --udp-echo 192.0.2.1:7",
			"--ip 192.0.2.9: give an IPv4 address and its prefix"},
		{"--port p0 --ip 192.0.2.9/24 --udp-echo 198.51.100.1:7", "is not in the prefix of --ip"},
		{"--port p0 --ip 192.0.2.9/24 --udp-echo 192.0.2.9:7", "is our own address"},
		{"--port p0 --ip 192.0.2.9/24 --udp-echo 192.0.2.1:7 --gateway 198.51.100.1",
			"--gateway: give another"},
		{"--port p0 --ip 192.0.2.9/24 --udp-echo 192.0.2.1:7 --source 192.0.2.9",
			"--source belongs to --kernel"},
		{"--port p0 --ip 192.0.2.9/24 --udp-echo 192.0.2.1:7 --ttl 2", "--ttl belongs to --kernel"},
		{"--port p0 --ip 192.0.2.9/24 --udp-echo [2001:db8::1]:7", "IPv4 only"},
		{"--port p0 --ip 192.0.2.9/24 --group 239.1.1.1 --udp-port 5000 --tcp-listen 192.0.2.1:6000",
			"a port listens on its --ip, 192.0.2.9"},
		{"--kernel --burst 0", "--burst 0: give a whole number from 1 to 64"},
		{"--kernel --burst 65", "--burst 65: give a whole number from 1 to 64"},
		{"--kernel --cold 65", "--cold 65: give a whole number from 0 to 64"},
		{"--kernel --udp-echo 192.0.2.1:7 --rate 1000000 --seconds 21 --csv f", "20000000"},
		{"--kernel --rate", "--rate needs a value"},
		{"--kernel --json=yes", "--json=yes"},
		{"--kernel --speed 3", "--speed: unknown option"},
		{"--kernel word", "word: client takes options only"},
	};

	for (size_t i = 0; i < TL_ARRAY_LEN(wrong); i++) {
		struct tl_client_args args;
		struct tl_err err;

		CU_ASSERT_EQUAL(parse(wrong[i].line, &args, &err), -EINVAL);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, wrong[i].says));
		if (strstr(err.text, wrong[i].says) == NULL)
			printf("# %s\n#   said: %s\n", wrong[i].line, err.text);
	}
}

// Replace each run of white space by one space: lines of the help may break anywhere.
static void join_lines(char *text)
{
	char *to = text;

	for (const char *from = text; *from != '\0'; from++)
		if (!isspace((unsigned char)*from) || (to > text && to[-1] != ' '))
			*to++ = isspace((unsigned char)*from) ? ' ' : *from;
	*to = '\0';
}

TL_TEST("the help names every option and default")
{
	struct tl_client_args args;
	struct tl_err err;
	char *text = NULL;
	size_t len = 0;

	CU_ASSERT_EQUAL(parse("--help", &args, &err), 0);
	CU_ASSERT_TRUE(args.help);

	FILE *out = open_memstream(&text, &len);
	tl_options_print_help(&tl_client_command, out);
	fclose(out);
	join_lines(text);
	static const char *const needed[] = {"--kernel", "--port PORT", "--ip IP/BITS", "--gateway IP", "--vlan ID",
		"--lcore CPU", "--take", "--group GROUP", "--udp-port PORT", "--tcp-listen IP:PORT",
		"--tcp-connect IP:PORT", "--udp-echo IP:PORT", "--source IP", "--ttl N", "--rate N[,N...]",
		"(default 1000)", "--seconds S", "(default 5)", "--payload BYTES[,...]", "(default 16)",
		"--connect-timeout S", "(default 10)", "--linger S", "--spin US", "(default 100)", "--burst N",
		"--timestamps SOURCE", "(default auto)", "--cold N", "(default 1)", "--null FILE", "--require-valid",
		"--csv FILE", "--hgrm FILE", "--html FILE", "--report FILE", "--json", "--help", "first_rtt_ns"};
	for (size_t i = 0; i < TL_ARRAY_LEN(needed); i++)
		CU_ASSERT_PTR_NOT_NULL(strstr(text, needed[i]));
	free(text);
}

// ---- results

TL_TEST("the verdict follows from the counts")
{
	const struct tl_client_result good = {.planned = 5, .sent = 5, .received = 5, .balanced = true};
	struct tl_client_result r = good;

	CU_ASSERT_EQUAL(tl_client_check_result(&r, NULL), 0);
	r.duplicates = r.reordered = r.reconnects = 1;
	CU_ASSERT_EQUAL(tl_client_check_result(&r, NULL), 0);
	r.corrupt = 1;
	CU_ASSERT_EQUAL(tl_client_check_result(&r, NULL), -EIO);
	r = good;
	r.received = 4;
	r.lost = 1;
	CU_ASSERT_EQUAL(tl_client_check_result(&r, NULL), -EIO);
	r = good;
	r.planned = 6;
	CU_ASSERT_EQUAL(tl_client_check_result(&r, NULL), -EIO);
	r.interrupted = true;
	CU_ASSERT_EQUAL(tl_client_check_result(&r, NULL), 0);
	r = good;
	r.balanced = false;
	CU_ASSERT_EQUAL(tl_client_check_result(&r, NULL), -EIO);
}

TL_TEST("the JSON has exactly the documented keys")
{
	static const char *const keys[] = {"mode", "sent", "received", "lost", "duplicates", "corrupt", "reordered",
		"send_errors", "reconnects", "first_rtt_ns", "rtt_ns", "rtt_ns_ci95", "wire_rtt_ns", "wire_rtt_ns_ci95",
		"best", "net_of_null_ns", "stamps", "cold", "sender_late_ns", "poll_gap_ns", "stolen_ns",
		"clock_step_ns", "rate_pps", "asked_pps", "payload_bytes", "clock", "timestamps", "transport", "valid",
		"invalid", "burst", "burst_last_rtt_ns", "burst_last_wire_rtt_ns", "rtt_quantiles",
		"wire_rtt_quantiles", "max_loss", "elapsed_ns", "window_ns"};
	static const char *const parts[] = {"min", "p50", "p90", "p99", "p999", "max", "mean"};
	const struct tl_client_result result = {
		.sources = sources, .sent = 2, .lost = 1, .received = 1, .first_rtt_ns = 9};
	json_t *json = tl_client_result_json(&result);

	CU_ASSERT_PTR_NOT_NULL_FATAL(json);
	CU_ASSERT_EQUAL(json_object_size(json), TL_ARRAY_LEN(keys));
	for (size_t i = 0; i < TL_ARRAY_LEN(keys); i++)
		CU_ASSERT_PTR_NOT_NULL(json_object_get(json, keys[i]));
	json_t *rtt = json_object_get(json, "rtt_ns");
	CU_ASSERT_EQUAL(json_object_size(rtt), TL_ARRAY_LEN(parts) + 1);
	for (size_t i = 0; i < TL_ARRAY_LEN(parts); i++)
		CU_ASSERT_TRUE(json_is_null(json_object_get(rtt, parts[i])));
	CU_ASSERT_TRUE(json_is_integer(json_object_get(rtt, "count")));
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(json, "first_rtt_ns")), 9);
	json_decref(json);
}

TL_TEST("the first RTT is null without an echo")
{
	const struct tl_client_result result = {.sources = sources, .sent = 2, .lost = 2};
	json_t *json = tl_client_result_json(&result);

	CU_ASSERT_PTR_NOT_NULL_FATAL(json);
	CU_ASSERT_TRUE(json_is_null(json_object_get(json, "first_rtt_ns")));
	json_decref(json);
}

int main(void)
{
	return tl_test_run("client");
}
