// SPDX-License-Identifier: BSD-3-Clause
// Echoes against a second stack as peer, on a wire of two queues and in virtual time.

#include <tl_test_echo.h>

TL_TEST("a multicast message is returned over TCP unchanged")
{
	struct tl_hist residence;
	uint64_t bytes = 0;

	set_up(&mcast_echo, true);
	CU_ASSERT_EQUAL(bed.accepted, 1);
	CU_ASSERT_STRING_EQUAL(tl_echo_state(bed.host, 0), "connected");
	for (int i = 0; i < 100; i++) {
		char text[32];
		int len = snprintf(text, sizeof(text), "message number %d", i);
		size_t before = bed.received;
		bytes += (uint64_t)len;
		multicast(text, (uint16_t)len);
		CU_ASSERT_EQUAL(bed.received - before, (size_t)len);
		CU_ASSERT_EQUAL(memcmp(bed.bytes + before, text, (size_t)len), 0);
	}
	CU_ASSERT_EQUAL(stats().echoed_msgs, 100);
	CU_ASSERT_EQUAL(stats().received_bytes, bytes);
	CU_ASSERT_EQUAL(stats().echoed_bytes, bytes);
	tl_echo_residence(bed.host, 0, &residence);
	CU_ASSERT_EQUAL(residence.count, 100);
	tear_down();
}

TL_TEST("a long residence time fires a trigger")
{
	_Atomic(uint64_t) never = 0, always = 0;
	struct tl_err err;

	set_up(&mcast_echo, true);
	CU_ASSERT_EQUAL(tl_echo_host_alarm(bed.host, 1, &always, &err), 0);
	CU_ASSERT_EQUAL(tl_echo_host_alarm(bed.host, 3600 * TL_NS_PER_S, &never, &err), 0);
	multicast("x", 1);
	CU_ASSERT_NOT_EQUAL(atomic_load(&always), 0);
	CU_ASSERT_EQUAL(atomic_load(&never), 0);
	for (int i = 0; i < 62; i++)
		CU_ASSERT_EQUAL(tl_echo_host_alarm(bed.host, 1, &always, &err), 0);
	CU_ASSERT_EQUAL(tl_echo_host_alarm(bed.host, 1, &always, &err), -E2BIG);
	tear_down();
}

TL_TEST("a message without a connection is counted and dropped")
{
	set_up(&mcast_echo, false);
	multicast("lost", 4);
	CU_ASSERT_EQUAL(stats().received_msgs, 1);
	CU_ASSERT_EQUAL(stats().drop_no_conn_msgs, 1);
	tear_down();
}

TL_TEST("datagrams to another group or port are ignored")
{
	set_up(&mcast_echo, true);
	CU_ASSERT_EQUAL(tl_udp_send(bed.peer_udp, IP(239, 1, 1, 2), PORT(5001), "x", 1), 0);
	CU_ASSERT_EQUAL(tl_udp_send(bed.peer_udp, GROUP, PORT(5003), "x", 1), 0);
	tl_txq_flush(&bed.peers.tx);
	settle();
	CU_ASSERT_EQUAL(stats().received_msgs, 0);
	tear_down();
}

// The peer's frames are held, so nothing is acknowledged: 4096 bytes fit, further messages are dropped whole and
// counted.
TL_TEST("a full send buffer drops whole messages and counts them")
{
	uint8_t message[100];

	set_up(&mcast_echo, true);
	bed.peer_deaf = true;
	memset(message, 'm', sizeof(message));
	for (int i = 0; i < 60; i++)
		multicast(message, sizeof(message));
	CU_ASSERT_EQUAL(stats().echoed_msgs, 40);
	CU_ASSERT_EQUAL(stats().drop_full_msgs, 20);
	bed.peer_deaf = false;
	run_ms(2000);
	CU_ASSERT_EQUAL(bed.received, 4000);
	multicast(message, sizeof(message));
	CU_ASSERT_EQUAL(stats().echoed_msgs, 41);
	CU_ASSERT_EQUAL(bed.accepted, 1);
	tear_down();
}

// Without acknowledgements: ten segments of 1460 bytes, or all.
TL_TEST("a burst is sent at once without cwnd, and ten segments of it with cwnd")
{
	struct tl_echo_cfg cfg = mcast_echo;
	uint8_t message[1000] = {0};

	cfg.send_buffer_bytes = 65536;
	for (int without = 0; without < 2; without++) {
		cfg.without_cwnd = without;
		set_up(&cfg, true);
		bed.peer_deaf = true;
		for (int i = 0; i < 30; i++)
			multicast(message, sizeof(message));
		CU_ASSERT_EQUAL(bed.peers.n, without ? 30 : 14);
		tear_down();
	}
}

TL_TEST("with on_full reset a peer that does not read is reset and reconnected")
{
	struct tl_echo_cfg cfg = mcast_echo;
	uint8_t message[1000] = {0};

	cfg.on_full = TL_ECHO_FULL_RESET;
	set_up(&cfg, true);
	bed.peer_deaf = true;
	for (int i = 0; i < 6; i++)
		multicast(message, sizeof(message));
	CU_ASSERT_EQUAL(stats().drop_full_msgs, 1);
	CU_ASSERT_EQUAL(stats().drop_no_conn_msgs, 1);
	CU_ASSERT_EQUAL(stats().lost_unacked_msgs, 4);
	CU_ASSERT_EQUAL(stats().disconnects, 1);
	bed.peer_deaf = false;
	run_ms(500);
	CU_ASSERT_EQUAL(bed.accepted, 2);
	CU_ASSERT_EQUAL(stats().connections, 1);
	tear_down();
}

TL_TEST("the reconnect delay doubles")
{
	set_up(&mcast_echo, false); // each SYN is answered by a reset
	run_ms(1600);
	CU_ASSERT_FATAL(bed.syns >= 4);
	for (unsigned i = 1; i + 1 < 4; i++) {
		uint64_t wait = bed.syn_at_ns[i] - bed.syn_at_ns[i - 1];
		uint64_t next = bed.syn_at_ns[i + 1] - bed.syn_at_ns[i];
		CU_ASSERT(next >= 2 * wait - 10 * MS && next <= 2 * wait + 10 * MS);
	}
	tear_down();
}

TL_TEST("the reconnect delay does not exceed its configured maximum")
{
	static const unsigned wait_ms[] = {20, 40, 50, 50, 50};
	struct tl_echo_cfg cfg = mcast_echo;

	cfg.reconnect_min_ns = 20 * MS;
	cfg.reconnect_max_ns = 50 * MS;
	set_up(&cfg, false);
	run_ms(300);
	CU_ASSERT_FATAL(bed.syns > TL_ARRAY_LEN(wait_ms));
	for (unsigned i = 0; i < TL_ARRAY_LEN(wait_ms); i++) {
		uint64_t wait_ns = bed.syn_at_ns[i + 1] - bed.syn_at_ns[i];
		CU_ASSERT(wait_ns >= wait_ms[i] * MS && wait_ns <= (wait_ms[i] + 5) * MS);
	}
	tear_down();
}

// our side of the connection
static uint64_t net_counter(const char *name)
{
	struct tl_counter all[128];
	unsigned n = tl_net_counters(tl_echo_net(bed.host), all, TL_ARRAY_LEN(all));

	for (unsigned i = 0; i < n; i++)
		if (strcmp(all[i].name, name) == 0)
			return all[i].value;
	CU_FAIL_FATAL("no such counter");
	return 0;
}

TL_TEST("keepalive and minimum RTO are as configured")
{
	struct tl_echo_cfg cfg = mcast_echo;

	cfg.keepalive_ns = 500 * MS;
	cfg.rto_min_us = 30000;
	set_up(&cfg, true);
	run_ms(470);
	CU_ASSERT_EQUAL(net_counter("tcp_keepalives_tx"), 0);
	run_ms(40);
	CU_ASSERT_EQUAL(net_counter("tcp_keepalives_tx"), 1);
	bed.peer_deaf = true;
	multicast("late", 4);
	run_ms(28);
	CU_ASSERT_EQUAL(net_counter("tcp_tail_probes_tx"), 0);
	run_ms(5);
	CU_ASSERT_EQUAL(net_counter("tcp_tail_probes_tx"), 1);
	tear_down();
}

TL_TEST("the connection is restored when the peer returns")
{
	set_up(&mcast_echo, true);
	tl_tcp_abort(bed.peer_conn);
	tl_txq_flush(&bed.peers.tx);
	settle();
	CU_ASSERT_EQUAL(stats().disconnects, 1);
	multicast("lost", 4);
	CU_ASSERT_EQUAL(stats().drop_no_conn_msgs, 1);
	run_ms(300);
	CU_ASSERT_EQUAL(bed.accepted, 2);
	multicast("kept", 4);
	CU_ASSERT_EQUAL(stats().echoed_msgs, 1);
	tear_down();
}

TL_TEST("a half-closed peer still receives messages and is reported as half-closed")
{
	set_up(&mcast_echo, true);
	tl_tcp_close(bed.peer_conn);
	tl_txq_flush(&bed.peers.tx);
	settle();
	CU_ASSERT_STRING_EQUAL(tl_echo_state(bed.host, 0), "half-closed");
	multicast("on its way", 10);
	CU_ASSERT_EQUAL(bed.received, 10);
	run_ms(20000);
	multicast("and more", 8);
	CU_ASSERT_EQUAL(bed.received, 18);
	CU_ASSERT_EQUAL(stats().echoed_msgs, 2);
	CU_ASSERT_EQUAL(stats().connections, 1);
	CU_ASSERT_EQUAL(stats().disconnects, 0);
	tl_tcp_abort(bed.peer_conn);
	tl_txq_flush(&bed.peers.tx);
	settle();
	CU_ASSERT_EQUAL(stats().connections, 0);
	CU_ASSERT_EQUAL(stats().disconnects, 1);
	run_ms(200);
	CU_ASSERT_STRING_EQUAL(tl_echo_state(bed.host, 0), "connected");
	tear_down();
}

TL_TEST("a half-closed peer that stops acknowledging is dropped by timeout")
{
	set_up(&mcast_echo, true);
	multicast("before", 6);
	tl_tcp_close(bed.peer_conn); // as on exit of a process
	tl_txq_flush(&bed.peers.tx);
	run_ms(4900);
	CU_ASSERT_STRING_EQUAL(tl_echo_state(bed.host, 0), "half-closed");
	CU_ASSERT_EQUAL(stats().connections, 1);
	bed.peer_deaf = true;
	run_ms(200);
	CU_ASSERT_STRING_EQUAL(tl_echo_state(bed.host, 0), "closing");
	multicast("lost", 4);
	CU_ASSERT_EQUAL(stats().drop_no_conn_msgs, 1);
	bed.peer_deaf = false;
	run_ms(1000);
	CU_ASSERT_STRING_EQUAL(tl_echo_state(bed.host, 0), "connected");
	CU_ASSERT_EQUAL(bed.accepted, 2);
	CU_ASSERT_EQUAL(stats().disconnects, 1);
	tear_down();
}

// Connect to a peer that keeps its window shut after 1000 bytes, let it half-close, and send a message that waits.
static void half_close_with_shut_window(void)
{
	static const struct tl_tcp_opts opts = {.recv_window_bytes = 1000, .window_follows_room = true};
	static const uint8_t message[1000];

	set_up(&mcast_echo, false);
	CU_ASSERT_EQUAL_FATAL(tl_tcp_listen(bed.peer, PORT(5002), 8, &peer_ops, NULL, &opts, &bed.listener), 0);
	run_ms(200);
	CU_ASSERT_FATAL(tl_tcp_reserve(bed.peer_conn, tl_tcp_room(bed.peer_conn)));
	multicast(message, sizeof(message));
	tl_tcp_close(bed.peer_conn);
	tl_txq_flush(&bed.peers.tx);
	run_ms(1000);
	multicast("held", 4);
	CU_ASSERT_EQUAL(bed.received, 1000);
	CU_ASSERT_STRING_EQUAL(tl_echo_state(bed.host, 0), "half-closed");
}

TL_TEST("a half-closed peer that answers window probes gets its messages when it reads on")
{
	half_close_with_shut_window();
	run_ms(30000);
	CU_ASSERT_STRING_EQUAL(tl_echo_state(bed.host, 0), "half-closed");
	multicast("more", 4);
	CU_ASSERT_EQUAL(bed.received, 1000);
	tl_tcp_unreserve(bed.peer_conn, 65536);
	run_ms(10000); // with a window update, or an answered probe
	CU_ASSERT_EQUAL(bed.received, 1008);
	CU_ASSERT_STRING_EQUAL(tl_echo_state(bed.host, 0), "half-closed");
	multicast("last", 4);
	CU_ASSERT_EQUAL(bed.received, 1012);
	CU_ASSERT_EQUAL(stats().echoed_msgs, 4);
	CU_ASSERT_EQUAL(stats().drop_no_conn_msgs, 0);
	CU_ASSERT_EQUAL(stats().disconnects, 0);
	tear_down();
}

TL_TEST("a half-closed peer has 5 s to acknowledge a message from when its window opens")
{
	half_close_with_shut_window();
	run_ms(10000);
	bed.peer_deaf = true;
	for (int ms = 0; ms < 10000 && bed.peers.n == 0; ms++)
		run_ms(1);
	tl_tcp_unreserve(bed.peer_conn, 65536);
	bed.peer_deaf = false; // it answers the probe, and no message leaves
	bed.stuck = true;
	run_ms(4900);
	CU_ASSERT_STRING_EQUAL(tl_echo_state(bed.host, 0), "half-closed");
	run_ms(200);
	CU_ASSERT_STRING_EQUAL(tl_echo_state(bed.host, 0), "closing");
	bed.stuck = false;
	run_ms(1000);
	CU_ASSERT_EQUAL(bed.received, 1004);
	tear_down();
}

TL_TEST("a half-closed peer that leaves window probes unanswered is dropped by the user timeout")
{
	half_close_with_shut_window();
	bed.peer_deaf = true;
	run_ms(15000);
	CU_ASSERT_EQUAL(stats().disconnects, 0);
	run_ms(10000);
	CU_ASSERT_EQUAL(stats().disconnects, 1);
	CU_ASSERT_EQUAL(stats().lost_unacked_msgs, 1);
	tear_down();
}

// Bytes before the FIN are echoed, even after a long wait.
TL_TEST("a half-closing client receives all bytes that it sent")
{
	static const struct tl_echo_cfg cfg = {.name = "t",
		.kind = TL_ECHO_KIND_TCP,
		.listen_port_be = PORT(7),
		.send_buffer_bytes = 4096,
		.max_connections = 4};
	static const uint8_t data[4000];
	struct tl_tcp *c;

	set_up(&cfg, false);
	CU_ASSERT_EQUAL_FATAL(tl_tcp_connect(bed.peer, OUR_IP, PORT(7), &peer_ops, NULL, NULL, &c), 0);
	run_ms(5);
	CU_ASSERT_EQUAL(tl_tcp_send(c, data, sizeof(data)), 0);
	tl_tcp_close(c);
	tl_txq_flush(&bed.peers.tx);
	bed.peer_deaf = true;
	settle();
	run_ms(100);
	CU_ASSERT_EQUAL(stats().connections, 1);
	CU_ASSERT_EQUAL(stats().echoed_bytes, sizeof(data));
	bed.peer_deaf = false;
	run_ms(1000);
	CU_ASSERT_EQUAL(bed.received, sizeof(data));
	CU_ASSERT_EQUAL(stats().connections, 0);
	CU_ASSERT_EQUAL(stats().disconnects, 1);
	tear_down();
}

TL_TEST("unacknowledged messages of an ended connection are counted as lost")
{
	struct tl_echo_cfg cfg = mcast_echo;

	cfg.user_timeout_ms = 1000;
	set_up(&cfg, true);
	for (int i = 0; i < 7; i++)
		multicast("heard", 5);
	run_ms(100);
	bed.peer_deaf = true;
	for (int i = 0; i < 6; i++)
		multicast("unheard", 7);
	CU_ASSERT_EQUAL(stats().echoed_msgs, 13);
	run_ms(1100);
	CU_ASSERT_EQUAL(stats().disconnects, 1);
	CU_ASSERT_EQUAL(stats().lost_unacked_msgs, 6);
	CU_ASSERT_EQUAL(stats().echoed_msgs, 7);
	CU_ASSERT_EQUAL(stats().echoed_bytes, 35);
	bed.peer_deaf = false;
	run_ms(1000);
	multicast("again", 5);
	CU_ASSERT_EQUAL(stats().lost_unacked_msgs, 6);
	CU_ASSERT_EQUAL(stats().echoed_msgs, 8);
	tear_down();
}

TL_TEST("messages unacknowledged by a client are counted as lost")
{
	static const struct tl_echo_cfg cfg = {.name = "t",
		.kind = TL_ECHO_KIND_TCP,
		.listen_port_be = PORT(7),
		.send_buffer_bytes = 4096,
		.max_connections = 4};
	struct tl_tcp *c;

	set_up(&cfg, false);
	CU_ASSERT_EQUAL_FATAL(tl_tcp_connect(bed.peer, OUR_IP, PORT(7), &peer_ops, NULL, NULL, &c), 0);
	run_ms(5);
	bed.peer_deaf = true;
	for (int i = 0; i < 3; i++) {
		CU_ASSERT_EQUAL(tl_tcp_send(c, "message", 7), 0);
		tl_txq_flush(&bed.peers.tx);
		settle();
	}
	tl_tcp_abort(c);
	tl_txq_flush(&bed.peers.tx);
	settle();
	CU_ASSERT_EQUAL(stats().connections, 0);
	CU_ASSERT_EQUAL(stats().lost_unacked_msgs, 3);
	CU_ASSERT_EQUAL(stats().echoed_msgs, 0);
	CU_ASSERT_EQUAL(stats().echoed_bytes, 0);
	tear_down();
}

// Two connections of the TCP echo have unacknowledged data after the other echo has ended; one send buffer can be lent.
TL_TEST("an echo's own send buffer is never shared, even while idle")
{
	const struct tl_echo_cfg tcp = {.name = "t",
		.kind = TL_ECHO_KIND_TCP,
		.listen_port_be = PORT(7),
		.send_buffer_bytes = 4096,
		.max_connections = 4,
		.send_buffers = 1};
	const struct tl_echo_cfg echoes[] = {mcast_echo, tcp};
	struct tl_tcp *borrower[2];

	set_up_all(echoes, 2, true);
	struct tl_tcp *feed = bed.peer_conn;
	for (int i = 0; i < 2; i++)
		CU_ASSERT_EQUAL_FATAL(
			tl_tcp_connect(bed.peer, OUR_IP, PORT(7), &peer_ops, NULL, NULL, &borrower[i]), 0);
	run_ms(5);
	tl_tcp_abort(feed);
	tl_txq_flush(&bed.peers.tx);
	settle();
	CU_ASSERT_STRING_EQUAL(tl_echo_state(bed.host, 0), "waiting");
	bed.peer_deaf = true;
	for (int i = 0; i < 2; i++)
		CU_ASSERT_EQUAL(tl_tcp_send(borrower[i], "x", 1), 0);
	run_ms(150);
	CU_ASSERT_STRING_EQUAL(tl_echo_state(bed.host, 0), "connecting");
	bed.peer_deaf = false;
	run_ms(2000);
	CU_ASSERT_EQUAL(bed.received, 2);
	CU_ASSERT_STRING_EQUAL(tl_echo_state(bed.host, 0), "connected");
	tear_down();
}

TL_TEST("a TCP echo returns every byte")
{
	static const struct tl_echo_cfg cfg = {.name = "t",
		.kind = TL_ECHO_KIND_TCP,
		.listen_port_be = PORT(7),
		.send_buffer_bytes = 4096,
		.max_connections = 4};
	static uint8_t data[40000];
	struct tl_tcp *c;
	size_t sent = 0;

	set_up(&cfg, false);
	CU_ASSERT_EQUAL_FATAL(tl_tcp_connect(bed.peer, OUR_IP, PORT(7), &peer_ops, NULL, NULL, &c), 0);
	tl_txq_flush(&bed.peers.tx);
	run_ms(5);
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7 + i / 256);
	for (int i = 0; i < 200 && sent < sizeof(data); i++) {
		uint32_t part = (uint32_t)(sizeof(data) - sent < 1000 ? sizeof(data) - sent : 1000);
		if (tl_tcp_send(c, data + sent, part) == 0)
			sent += part;
		tl_txq_flush(&bed.peers.tx);
		run_ms(1);
	}
	run_ms(100);
	CU_ASSERT_EQUAL(bed.received, sizeof(data));
	CU_ASSERT_EQUAL(memcmp(bed.bytes, data, sizeof(data)), 0);
	CU_ASSERT_EQUAL(stats().echoed_bytes, sizeof(data));
	CU_ASSERT_EQUAL(stats().connections, 1);
	tear_down();
}

// Send a datagram from that port of the peer to the UDP echo on 5007. Return whether a reply came.
static bool comes_back_to(uint16_t port_be)
{
	struct tl_udp *udp = NULL;
	size_t before = bed.received;

	CU_ASSERT_EQUAL_FATAL(tl_udp_open(bed.peer, 0, 0, port_be, peer_datagram, NULL, &udp), 0);
	CU_ASSERT_EQUAL(tl_udp_send(udp, OUR_IP, PORT(5007), "x", 1), 0);
	tl_txq_flush(&bed.peers.tx);
	settle();
	tl_udp_close(udp);
	return bed.received != before;
}

TL_TEST("a UDP echo ignores echo services, other echoes and itself as senders")
{
	static const struct tl_echo_cfg echoes[] = {
		{.name = "u", .kind = TL_ECHO_KIND_UDP, .listen_port_be = PORT(5007)},
		{.name = "v", .kind = TL_ECHO_KIND_UDP, .listen_port_be = PORT(6007)},
		{.name = "t", .kind = TL_ECHO_KIND_TCP, .listen_port_be = PORT(7007), .max_connections = 1}};
	static const uint16_t refused[] = {7, 11, 13, 17, 19, 37, 53, 69, 123, 5007, 6007, 8007};
	static const uint16_t answered[] = {6, 8, 18, 20, 1024, 5006, 5008, 7007, 65535};

	set_up_all(echoes, TL_ARRAY_LEN(echoes), false);
	for (size_t i = 0; i < TL_ARRAY_LEN(refused); i++)
		CU_ASSERT_FALSE(comes_back_to(PORT(refused[i])));
	for (size_t i = 0; i < TL_ARRAY_LEN(answered); i++)
		CU_ASSERT(comes_back_to(PORT(answered[i])));
	CU_ASSERT_EQUAL(stats().refused_msgs, TL_ARRAY_LEN(refused));
	CU_ASSERT_EQUAL(stats().echoed_msgs, TL_ARRAY_LEN(answered));
	tear_down();
}

TL_TEST("the lcore announces addresses and groups after main detects link up")
{
	set_up(&mcast_echo, true);
	run_ms(5000);
	bed.peer_deaf = true; // keep our frames in the queue
	run_ms(100);
	unsigned before = bed.peers.n;
	tl_echo_host_announce_again(bed.host);
	run_ms(3000);
	CU_ASSERT_EQUAL(bed.peers.n, before + 2 + 2); // gratuitous ARP and group reports
	run_ms(3000);
	CU_ASSERT_EQUAL(bed.peers.n, before + 2 + 2);
	tear_down();
}

TL_TEST("a UDP echo returns the datagram to its sender")
{
	static const struct tl_echo_cfg cfg = {.name = "u", .kind = TL_ECHO_KIND_UDP, .listen_port_be = PORT(7)};

	set_up(&cfg, false);
	CU_ASSERT_EQUAL(tl_udp_send(bed.peer_udp, OUR_IP, PORT(7), "hello", 5), 0);
	tl_txq_flush(&bed.peers.tx);
	settle();
	CU_ASSERT_EQUAL(bed.received, 5);
	CU_ASSERT_EQUAL(memcmp(bed.bytes, "hello", 5), 0);
	CU_ASSERT_EQUAL(stats().echoed_msgs, 1);
	tear_down();
}

// A TX queue that accepts nothing holds one burst of replies; there is no room for more.
TL_TEST("a UDP reply without space in the send queue does not count as echoed")
{
	static const struct tl_echo_cfg cfg = {.name = "u", .kind = TL_ECHO_KIND_UDP, .listen_port_be = PORT(7)};

	set_up(&cfg, false);
	for (int i = 0; i < 100; i++) {
		CU_ASSERT_EQUAL(tl_udp_send(bed.peer_udp, OUR_IP, PORT(7), "hello", 5), 0);
		tl_txq_flush(&bed.peers.tx);
		settle();
		bed.stuck = true; // from the first reply on
	}
	CU_ASSERT_EQUAL(stats().received_msgs, 100);
	CU_ASSERT_EQUAL(stats().drop_tx_msgs, 99 - TL_BURST);
	bed.stuck = false;
	run_ms(1);
	CU_ASSERT_EQUAL(bed.received, 5 * stats().echoed_msgs);
	tear_down();
}

// Receive its ARP request for us, from which we learn its MAC.
static void give_request_of(uint8_t n)
{
	uint8_t frame[TL_ETHER_MIN_FRAME] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, n, 8, 6};
	const struct tl_arp_hdr arp = {.hw_type_be = tl_be16(1),
		.proto_be = tl_be16(0x0800),
		.hw_len = 6,
		.proto_len = 4,
		.op_be = tl_be16(1),
		.sender_mac = {2, 0, 0, 0, 0, n},
		.sender_ip_be = IP(192, 0, 2, n),
		.target_ip_be = OUR_IP};

	memcpy(frame + TL_ETHER_LEN, &arp, sizeof(arp));
	bed.ours.inbox[bed.ours.n++] = tl_test_mbuf(pool, frame, sizeof(frame));
	settle();
}

// Two replies to an unresolved next hop: one is held. It is sent or dropped; or the echo ends first.
TL_TEST("a UDP reply queued for ARP is counted when sent or dropped")
{
	static const struct tl_echo_cfg cfg = {.name = "u", .kind = TL_ECHO_KIND_UDP, .listen_port_be = PORT(7)};
	enum { ANSWERED, UNANSWERED, ENDED, CASES };

	for (int i = 0; i < CASES; i++) {
		set_up(&cfg, false);
		CU_ASSERT_EQUAL(tl_udp_send(bed.peer_udp, OUR_IP, PORT(7), "hello", 5), 0);
		tl_txq_flush(&bed.peers.tx);
		settle();
		give_datagram_of(77);
		CU_ASSERT_EQUAL(stats().received_msgs, 2);
		CU_ASSERT_EQUAL(stats().echoed_msgs, 1);
		CU_ASSERT_EQUAL(stats().drop_tx_msgs, 0);
		give_datagram_of(77);
		CU_ASSERT_EQUAL(stats().drop_tx_msgs, 1);
		if (i == ANSWERED)
			give_request_of(77);
		else if (i == UNANSWERED)
			run_ms(5000);
		CU_ASSERT_EQUAL(stats().echoed_msgs, i == ANSWERED ? 2 : 1);
		CU_ASSERT_EQUAL(stats().echoed_bytes, i == ANSWERED ? 13 : 5);
		CU_ASSERT_EQUAL(stats().drop_tx_msgs, i == UNANSWERED ? 2 : 1);
		tear_down();
	}
}

// The end of the echo, in between, must not lose the outcome.
TL_TEST("a UDP reply dropped by the send queue is not counted as echoed")
{
	static const struct tl_echo_cfg cfg = {.name = "u", .kind = TL_ECHO_KIND_UDP, .listen_port_be = PORT(7)};

	for (int ends = 0; ends < 2; ends++) {
		set_up(&cfg, false);
		for (int i = 0; i < 3; i++) {
			bed.stuck = i > 0;
			CU_ASSERT_EQUAL(tl_udp_send(bed.peer_udp, OUR_IP, PORT(7), "hello", 5), 0);
			tl_txq_flush(&bed.peers.tx);
			settle();
		}
		CU_ASSERT_EQUAL(stats().echoed_msgs, 3);
		if (ends)
			bed.service.close(bed.service.ctx);
		tl_txq_drop_waiting(&bed.ours.tx);
		CU_ASSERT_EQUAL(stats().echoed_msgs, 1);
		CU_ASSERT_EQUAL(stats().echoed_bytes, 5);
		CU_ASSERT_EQUAL(stats().drop_tx_msgs, 2);
		bed.stuck = false;
		tear_down();
	}
}

// The peer resolves our address, and we the peer's, by ARP on the second queue alone.
TL_TEST("an isolated port resolves addresses by copied frames")
{
	isolated = true;
	set_up(&mcast_echo, true);
	CU_ASSERT_EQUAL(bed.accepted, 1);
	multicast("hello", 5);
	CU_ASSERT(bed.received == 5 && memcmp(bed.bytes, "hello", 5) == 0);
	CU_ASSERT(bed.copies.stats.rx_pkts >= 1 && bed.n_copies == 0);
	tear_down();
	isolated = false;
}

int main(void)
{
	return test_echo_run("echo");
}
