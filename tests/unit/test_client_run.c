// SPDX-License-Identifier: BSD-3-Clause
// Echo client: complete runs over the loopback interface.

#include <tl_test_client.h>

#define LOSS_LINGER_NS (5 * TL_NS_PER_S) // wait for echoes that never come, longer than a busy host stalls

struct echo_server {
	int fd;
	struct tl_client_endpoint at;
	pthread_t thread;
	size_t hang_up_after; // bytes echoed until the first connection is closed; 0: never
	uint64_t messages;    // 0: 200
	bool bad_byte;	      // corrupt one byte
	bool slow;	      // begin late, with a small window, so that the client's socket fills up
};

static void echo_server_open(struct echo_server *server, int type)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(address);

	server->fd = socket(AF_INET, type, 0);
	CU_ASSERT_EQUAL_FATAL(bind(server->fd, (struct sockaddr *)&address, len), 0);
	CU_ASSERT_EQUAL_FATAL(getsockname(server->fd, (struct sockaddr *)&address, &len), 0);
	server->at = (struct tl_client_endpoint){.ip_be = address.sin_addr.s_addr, .port_be = address.sin_port};
}

static void echo_connection(struct echo_server *server, int fd)
{
	char buf[16384];
	size_t left = server->hang_up_after != 0 ? server->hang_up_after : SIZE_MAX;
	ssize_t n;

	server->hang_up_after = 0;
	if (server->slow)
		usleep(120000);
	while (left > 0 && (n = read(fd, buf, sizeof(buf))) > 0) {
		if (server->bad_byte)
			buf[n - 1] ^= 1;
		server->bad_byte = false;
		size_t len = tl_min_u64((size_t)n, left);
		if (write(fd, buf, len) != (ssize_t)len)
			break;
		left -= len;
	}
}

// Serve one connection after the other until the listener is shut down.
static void *tcp_echo(void *arg)
{
	struct echo_server *server = arg;

	for (int fd; (fd = accept(server->fd, NULL, NULL)) >= 0; close(fd))
		echo_connection(server, fd);
	return NULL;
}

static struct tl_client_cfg loopback_cfg(enum tl_client_mode mode, struct tl_client_endpoint peer)
{
	return (struct tl_client_cfg){
		.mode = mode,
		.peer = peer,
		.rate_pps = 1000,
		.duration_ns = 200 * TL_NS_PER_MS,
		.payload_bytes = 24,
		.connect_timeout_ns = 60 * TL_NS_PER_S,
		.linger_ns = 60 * TL_NS_PER_S, // the run ends with the last echo
		.spin_ns = 100 * TL_NS_PER_US,
		.cold = 1,
		.timestamps = TL_CLIENT_STAMPS_KERNEL,
		.seed = SEED,
	};
}

// Run loopback_cfg() with these payload_bytes and rate_pps.
static struct tl_client_result run_against_tcp(struct echo_server server, uint64_t payload_bytes, uint64_t rate_pps)
{
	struct tl_client_result result = {0};
	struct tl_err err = {0};

	echo_server_open(&server, SOCK_STREAM);
	if (server.slow)
		setsockopt(server.fd, SOL_SOCKET, SO_RCVBUF, &(int){16384}, sizeof(int));
	CU_ASSERT_EQUAL_FATAL(listen(server.fd, 4), 0);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&server.thread, NULL, tcp_echo, &server), 0);
	struct tl_client_cfg cfg = loopback_cfg(TL_CLIENT_TCP, server.at);
	cfg.payload_bytes = payload_bytes;
	cfg.rate_pps = rate_pps;
	cfg.duration_ns = (server.messages != 0 ? server.messages : 200) * TL_NS_PER_S / rate_pps;
	if (server.bad_byte || server.hang_up_after != 0)
		cfg.linger_ns = LOSS_LINGER_NS;
	CU_ASSERT_EQUAL(tl_client_run(&cfg, &(struct tl_client_hooks){0}, &result, &err), 0);
	shutdown(server.fd, SHUT_RDWR);
	pthread_join(server.thread, NULL);
	close(server.fd);
	return result;
}

static uint64_t stamps_accounted(const struct tl_client_result *result)
{
	const struct tl_client_stamp_counts *stamps = &result->stamps;
	return stamps->paired + stamps->reply_first + stamps->tx_missing + stamps->rx_missing + stamps->rx_shared;
}

TL_TEST("a TCP run receives all messages that it sent")
{
	struct tl_client_result result = run_against_tcp((struct echo_server){0}, 24, 1000);

	CU_ASSERT_EQUAL(result.sent, 200);
	CU_ASSERT_EQUAL(result.received, 200);
	CU_ASSERT_EQUAL(result.duplicates + result.corrupt + result.reordered + result.send_errors, 0);
	CU_ASSERT_EQUAL(result.rtt.all.count, 199);
	CU_ASSERT_EQUAL(result.cold_count, 1);
	CU_ASSERT_TRUE(result.stamps.paired > 0);
	CU_ASSERT_EQUAL(result.stamps.tx_missing, 0);
	CU_ASSERT_EQUAL(stamps_accounted(&result), 200);
	CU_ASSERT_EQUAL(result.wire_over_rtt, 0);
	CU_ASSERT_EQUAL(result.sender_late.count, 200);
	CU_ASSERT_TRUE(result.first_rtt_ns > 0);
	CU_ASSERT_TRUE(result.rtt.all.min_ns > 0 && result.rtt.all.max_ns <= result.elapsed_ns);
	CU_ASSERT_TRUE(result.rate_pps * (double)result.elapsed_ns >= 199e9); // first to last take no longer than all
	CU_ASSERT_EQUAL(tl_client_check_result(&result, NULL), 0);
}

// A transport without a network: it answers at once, and notes due times and send times.
struct noted {
	struct tl_client_link link; // has to be the first member
	uint64_t due_ns[64], sent_ns[64];
	uint64_t sends_since_receive, most_sends;
	uint8_t echoes[64][24];
	unsigned sent, received, departed;
};

static int noted_open(const struct tl_client_cfg *cfg, struct tl_client_link **out, struct tl_err *err)
{
	struct noted *noted = cfg->transport_ctx;

	(void)err;
	noted->link = (struct tl_client_link){.ops = cfg->transport, .cfg = cfg, .connections = 1, .sources = sources};
	*out = &noted->link;
	return 0;
}

static void noted_close(struct tl_client_link *link)
{
	(void)link;
}

static bool noted_is_up(const struct tl_client_link *link)
{
	return link != NULL;
}

static ssize_t noted_send(struct tl_client_link *link, const void *data, size_t len)
{
	struct noted *noted = (struct noted *)link;

	noted->due_ns[noted->sent] = link->due_ns;
	noted->sent_ns[noted->sent] = tl_mono_ns();
	memcpy(noted->echoes[noted->sent++], data, len);
	noted->most_sends = tl_max_u64(noted->most_sends, ++noted->sends_since_receive);
	return (ssize_t)len;
}

static ssize_t noted_receive(struct tl_client_link *link, void *data, size_t room, struct tl_client_arrival *arrival)
{
	struct noted *noted = (struct noted *)link;

	noted->sends_since_receive = 0;
	if (noted->received == noted->sent || room < 24)
		return -EAGAIN;
	// As the kernel does for a stream: the first two reads of a burst of four share one stamp.
	*arrival = (struct tl_client_arrival){.stamp_ns = 2000, .shared = noted->received % 4 < 2};
	memcpy(data, noted->echoes[noted->received++], 24);
	return 24;
}

static bool noted_departed(struct tl_client_link *link, bool expected, struct tl_client_departure *departure)
{
	struct noted *noted = (struct noted *)link;

	if (!expected)
		return false;
	*departure = (struct tl_client_departure){.id = noted->departed, .stamp_ns = 1000 + noted->departed % 4};
	noted->departed++;
	return true;
}

static void noted_poll(struct tl_client_link *link, uint64_t timeout_ns, bool want_write)
{
	(void)link;
	(void)want_write;
	usleep((useconds_t)(timeout_ns / TL_NS_PER_US));
}

TL_TEST("messages of a burst are due and sent together")
{
	static const struct tl_client_ops ops = {.name = "noted",
		.open = noted_open,
		.close = noted_close,
		.is_up = noted_is_up,
		.send = noted_send,
		.receive = noted_receive,
		.departed = noted_departed,
		.lost = noted_close,
		.poll = noted_poll};
	struct noted noted = {.sent = 0};
	struct tl_client_cfg cfg = loopback_cfg(TL_CLIENT_UDP, (struct tl_client_endpoint){0});
	struct tl_client_result result;

	cfg.transport = &ops;
	cfg.transport_ctx = &noted;
	cfg.burst = 4;
	cfg.duration_ns = 15 * TL_NS_PER_MS; // three bursts, and an incomplete one
	CU_ASSERT_EQUAL_FATAL(tl_client_run(&cfg, &(struct tl_client_hooks){0}, &result, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(noted.sent, 15);
	for (unsigned i = 0; i < noted.sent; i++) {
		CU_ASSERT_EQUAL(noted.due_ns[i] - noted.due_ns[0], i / 4 * 4 * TL_NS_PER_MS);
		CU_ASSERT_TRUE(noted.sent_ns[i] >= noted.due_ns[i]);
	}
	CU_ASSERT_EQUAL(noted.most_sends, 4); // no reply is read between them
	CU_ASSERT_EQUAL(result.burst, 4);
	CU_ASSERT_EQUAL(result.rtt.all.count, 14);
	CU_ASSERT_EQUAL(result.rtt.last.count, 3); // the incomplete burst has no last message
	// Three bursts, from the first send to the last: a send begins before its noted time and after the previous
	// one.
	CU_ASSERT_TRUE(result.rate_pps >= 12e9 / (double)(noted.sent_ns[14] - noted.due_ns[0]) - 1e-6);
	CU_ASSERT_TRUE(result.rate_pps <= 12e9 / (double)(noted.sent_ns[13] - noted.sent_ns[0]) + 1e-6);
	CU_ASSERT_EQUAL(result.stamps.rx_shared, 8);
	CU_ASSERT_EQUAL(result.wire_rtt.last.count, 3);
	CU_ASSERT_EQUAL(result.wire_rtt.last.min_ns, 997);
	CU_ASSERT_EQUAL(result.wire_rtt.last.max_ns, 997);
}

TL_TEST("large messages pass a full socket intact")
{
	struct tl_client_result result = run_against_tcp((struct echo_server){.slow = true}, 65536, 1000);

	CU_ASSERT_EQUAL(result.received, 200);
	CU_ASSERT_TRUE(result.sender_late.max_ns > TL_NS_PER_MS); // the socket was full
	CU_ASSERT_EQUAL(tl_client_check_result(&result, NULL), 0);
}

TL_TEST("a message larger than one read is reassembled")
{
	struct tl_client_result result = run_against_tcp((struct echo_server){.messages = 2}, 1048576, 10);

	CU_ASSERT_EQUAL(result.sent, 2);
	CU_ASSERT_EQUAL(result.received, 2);
	CU_ASSERT_EQUAL(result.corrupt, 0);
	CU_ASSERT_TRUE(result.elapsed_ns >= 100 * TL_NS_PER_MS); // the second message is due then
}

TL_TEST("a stamp shared by several echoes is counted as shared")
{
	struct tl_client_result result = run_against_tcp((struct echo_server){.slow = true}, 24, 1000);

	CU_ASSERT_EQUAL(result.received, 200);
	CU_ASSERT_TRUE(result.stamps.rx_shared > 0); // the server first reads all messages that have arrived
	CU_ASSERT_EQUAL(stamps_accounted(&result), 200);
	CU_ASSERT_EQUAL(result.wire_over_rtt, 0);
}

TL_TEST("a broken connection is reopened")
{
	struct tl_client_result result = run_against_tcp((struct echo_server){.hang_up_after = 24 * 5 + 3}, 24, 40);

	CU_ASSERT_EQUAL(result.reconnects, 1);
	CU_ASSERT_TRUE(result.received > 5);
	CU_ASSERT_EQUAL(result.corrupt, 0);
	CU_ASSERT_TRUE(result.send_errors + result.lost > 0);
	CU_ASSERT_EQUAL(result.sent + result.send_errors, 200);
	CU_ASSERT_EQUAL(result.cold_count, 2); // the first of each connection
	CU_ASSERT_EQUAL(result.cold[0].connection, 0);
	CU_ASSERT_EQUAL(result.cold[1].connection, 1);
	CU_ASSERT_EQUAL(result.rtt.all.count, result.received - 2);
	CU_ASSERT_EQUAL(stamps_accounted(&result), result.received);
	CU_ASSERT_EQUAL(result.stamps.reply_first, 0); // the second connection has its own sequence numbers
	CU_ASSERT_TRUE(result.stamps.tx_missing < result.received / 2);
	CU_ASSERT_TRUE(result.balanced);
}

TL_TEST("a changed byte counts as one corrupt echo")
{
	struct tl_client_result result = run_against_tcp((struct echo_server){.bad_byte = true}, 24, 1000);

	CU_ASSERT_EQUAL(result.sent, 200);
	CU_ASSERT_EQUAL(result.received, 199);
	CU_ASSERT_EQUAL(result.lost, 1);
	CU_ASSERT_EQUAL(result.corrupt, 1);
	CU_ASSERT_TRUE(result.balanced);
	CU_ASSERT_EQUAL(tl_client_check_result(&result, NULL), -EIO);
}

// Answer 200 datagrams: drop the first, truncate the second, duplicate the third.
static void *udp_echo(void *arg)
{
	struct echo_server *server = arg;
	char buf[2048];

	for (int i = 0; i < 200; i++) {
		struct sockaddr_in from;
		socklen_t len = sizeof(from);
		ssize_t n = recvfrom(server->fd, buf, sizeof(buf), 0, (struct sockaddr *)&from, &len);
		if (n < 0)
			break;
		int times = i == 0 ? 0 : i == 2 ? 2 : 1;
		for (int k = 0; k < times; k++)
			sendto(server->fd, buf, (size_t)n - (i == 1), 0, (struct sockaddr *)&from, len);
	}
	return NULL;
}

TL_TEST("a UDP run counts lost, truncated and duplicate echoes")
{
	struct echo_server server = {0};
	struct tl_client_result result = {0};
	struct timeval patience = {.tv_sec = 60};

	echo_server_open(&server, SOCK_DGRAM);
	setsockopt(server.fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	CU_ASSERT_EQUAL_FATAL(pthread_create(&server.thread, NULL, udp_echo, &server), 0);
	struct tl_client_cfg cfg = loopback_cfg(TL_CLIENT_UDP, server.at);
	cfg.linger_ns = LOSS_LINGER_NS;
	struct tl_latency *report = tl_latency_create();
	CU_ASSERT_EQUAL(tl_client_run(&cfg, &(struct tl_client_hooks){.report = report}, &result, NULL), 0);
	pthread_join(server.thread, NULL);
	close(server.fd);

	CU_ASSERT_EQUAL(report->bins.lost[0], 2); // the first two
	tl_latency_destroy(report);
	CU_ASSERT_EQUAL(result.sent, 200);
	CU_ASSERT_EQUAL(result.received, 198);
	CU_ASSERT_EQUAL(result.lost, 2);
	CU_ASSERT_EQUAL(result.corrupt, 1);
	CU_ASSERT_EQUAL(result.duplicates, 1);
	CU_ASSERT_EQUAL(stamps_accounted(&result), 198);
	CU_ASSERT_TRUE(result.stamps.paired > 0);
	CU_ASSERT_TRUE(result.balanced);
}

TL_TEST("a missing connection ends the run in time")
{
	struct echo_server server = {0};
	struct tl_client_result result;
	struct tl_err err;

	echo_server_open(&server, SOCK_STREAM); // bound, but does not listen
	struct tl_client_cfg cfg = loopback_cfg(TL_CLIENT_TCP, server.at);
	cfg.connect_timeout_ns = 2 * TL_NS_PER_S;
	CU_ASSERT_EQUAL(tl_client_run(&cfg, &(struct tl_client_hooks){0}, &result, &err), -ETIMEDOUT);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "Connection refused"));
	close(server.fd);
}

TL_TEST("the stop flag ends the wait for a connection")
{
	const atomic_bool stop = true;
	struct tl_client_cfg cfg =
		loopback_cfg(TL_CLIENT_TCP, (struct tl_client_endpoint){inet_addr("127.0.0.1"), htons(1)});
	struct tl_client_result result;

	CU_ASSERT_EQUAL(tl_client_run(&cfg, &(struct tl_client_hooks){.stop = &stop}, &result, NULL), -EINTR);
}

int main(void)
{
	return tl_test_run("client_run");
}
