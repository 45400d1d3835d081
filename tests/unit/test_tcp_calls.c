// SPDX-License-Identifier: BSD-3-Clause
// A stack against a peer with scripted segments: calls from within callbacks, errors of the network, slots.

#include <errno.h>

#include "tl_test_tcp_host.h"

// ---- ICMP, ARP

TL_TEST("a hard ICMP error ends a handshake, a soft one sets its error")
{
	struct host *h = start();
	struct app app[2] = {0};

	call(h, &app[0], NULL);
	tl_tcp_unreachable(h->net, 3, PEER, h->our_port, PEER_PORT, OURS + 5); // a sequence number not in flight
	tl_tcp_unreachable(h->net, 1, PEER, h->our_port, PEER_PORT, OURS);     // soft
	CU_ASSERT_EQUAL(app[0].closed, 0);
	tl_tcp_arp_failed(h->net, IP(192, 0, 2, 77)); // not its next hop
	CU_ASSERT_EQUAL(app[0].closed, 0);
	tl_tcp_unreachable(h->net, 3, PEER, h->our_port, PEER_PORT, OURS);
	CU_ASSERT_EQUAL(app[0].closed, 1);
	CU_ASSERT_EQUAL(app[0].reason, TL_TCP_UNREACHABLE);
	call(h, &app[1], NULL);
	tl_tcp_unreachable(h->net, 1, PEER, h->our_port, PEER_PORT, OURS);
	pass(h, 11 * SECOND); // a soft error, but the only one reported
	CU_ASSERT_EQUAL(app[1].reason, TL_TCP_UNREACHABLE);
	stop(h);
}

TL_TEST("ICMP errors do not end established connections")
{
	struct host *h = start();
	struct app app = {0};

	accept_peer(h, &app);
	say(&app, 10);
	for (uint8_t code = 0; code < 16; code++)
		tl_tcp_unreachable(h->net, code, PEER, OUR_PORT, PEER_PORT, OURS + 1);
	CU_ASSERT_EQUAL(app.closed, 0);
	stop(h);
}

static void call_again(struct app *app, struct tl_tcp *c)
{
	struct host *h = app->user;

	CU_ASSERT_EQUAL(tl_tcp_connect(h->net, PEER, PEER_PORT, &APP_OPS, app, NULL, &app->c), 0);
}

TL_TEST("unanswered ARP ends the handshake, once")
{
	struct host *h = start_with(1, 4096, 1500, false);
	struct app app = {.on_closed = call_again, .user = h};

	call(h, &app, NULL);
	SILENT(h); // no SYN without a MAC
	pass(h, 5 * SECOND);
	CU_ASSERT_EQUAL(app.closed, 1); // once, though closed() reconnects at once, in the only slot
	CU_ASSERT_EQUAL(app.reason, TL_TCP_UNREACHABLE);
	CU_ASSERT(in_state(&app, "SYN-SENT"));
	introduce_peer(h);
	SENDS(h, S, OURS, 0, 0); // it was waiting for the MAC
	app.on_closed = NULL;
	stop(h);
}

TL_TEST("headers are rebuilt when a MAC address may have changed")
{
	struct host *h = start();
	struct app app = {0};
	struct rte_mbuf *m;

	accept_peer(h, &app);
	h->net->arp_generation++; // marks ARP entries as possibly changed
	say(&app, 10);
	SENDS(h, A | P, OURS + 1, PEERS + 1, 10);
#ifndef TEST_IP6 // IPv6 has no ready headers
	CU_ASSERT_EQUAL(app.c->arp_generation, h->net->arp_generation);
#endif
	CU_ASSERT_EQUAL(tl_tcp_send(app.c, "x", 1), 0);
	m = h->tx.pkts[0];
	CU_ASSERT_EQUAL(rte_pktmbuf_mtod(m, uint8_t *)[5], 2);
	stop(h);
}

// ---- the application, from within its callbacks

static void abort_it(struct app *app, struct tl_tcp *c)
{
	tl_tcp_abort(c);
}

static void abort_on_data(struct app *app, struct tl_tcp *c, const uint8_t *data, uint32_t len)
{
	tl_tcp_abort(c);
	tl_tcp_abort(c);
	tl_tcp_close(c);
	CU_ASSERT_EQUAL(tl_tcp_send(c, "x", 1), -ENOTCONN);
}

static void close_on_data(struct app *app, struct tl_tcp *c, const uint8_t *data, uint32_t len)
{
	tl_tcp_close(c);
}

TL_TEST("abort is safe from within every callback")
{
	struct host *h = start();
	struct app opened = {.on_opened = abort_it}, data = {.on_data = abort_on_data}, room = {.on_room = abort_it},
		   peer = {.on_peer_closed = abort_it};
	struct app *const apps[] = {&opened, &data, &room, &peer};

	for (unsigned i = 0; i < 4; i++) {
		struct tl_tcp_listener *listener = hear(h, apps[i], NULL);
		h->peer_port = PORT(41000 + i);
		give_syn(h, 0, PEERS, 0);
		give(h, A, PEERS + 1, OURS + 1, 0);
		if (apps[i]->closed == 0)
			say(apps[i], 10);
		give(h, A, PEERS + 11, OURS + 1, 10); // buffered
		give(h, A | F, PEERS + 21, OURS + 11, 10);
		give(h, A, PEERS + 1, OURS + 11, 10);
		CU_ASSERT_EQUAL(apps[i]->opened, 1);
		CU_ASSERT_EQUAL(apps[i]->closed, 1);
		CU_ASSERT_EQUAL(apps[i]->reason, TL_TCP_ABORTED);
		CU_ASSERT_EQUAL(tl_tcp_in_use(h->net, NULL), 0);
		tl_tcp_unlisten(listener);
		app_free(apps[i]);
	}
	CU_ASSERT_EQUAL(mbufs_taken(h), 0);
	stop(h);
}

TL_TEST("close is safe from within the data() callback")
{
	struct host *h = start();
	struct app app = {.on_data = close_on_data};

	accept_peer(h, &app);
	give(h, A | F, PEERS + 1, OURS + 1, 10);
	SENDS(h, A | F, OURS + 1, PEERS + 11, 0);
	SENDS(h, A, OURS + 2, PEERS + 12, 0);
	CU_ASSERT(in_state(&app, "CLOSING"));
	CU_ASSERT_EQUAL(app.peer_closed, 0);
	app_free(&app);
	stop(h);
}

TL_TEST("without peer_closed() a connection closes itself")
{
	struct host *h = start();
	struct app app = {0};
	struct tl_tcp_ops quiet = {.closed = app_closed};
	struct tl_tcp_listener *listener;

	CU_ASSERT_EQUAL(tl_tcp_listen(h->net, OUR_PORT, 4, &quiet, &app, NULL, &listener), 0);
	give_syn(h, 0, PEERS, 0);
	give(h, A, PEERS + 1, OURS + 1, 0);
	forget(h);
	give(h, A | F, PEERS + 1, OURS + 1, 10);
	SENDS(h, A | F, OURS + 1, PEERS + 12, 0);
	SILENT(h);
	give(h, A, PEERS + 12, OURS + 2, 0);
	CU_ASSERT_EQUAL(app.closed, 1);
	CU_ASSERT_EQUAL(app.reason, TL_TCP_DONE);
	stop(h);
}

// After a pause the wheel makes one turn.
TL_TEST("ten years without a tick are processed at once")
{
	struct host *h = start();
	struct app app = {0};

	accept_peer(h, &app);
	say(&app, 10);
	forget(h);
	introduce_peer(h);
	h->now_ns += UINT64_C(3650) * 86400 * SECOND;
	tl_net_tick(h->net, h->now_ns);
	CU_ASSERT_EQUAL(app.closed, 1);
	CU_ASSERT_EQUAL(app.reason, TL_TCP_TIMEOUT);
	stop(h);
}

TL_TEST("data sent from within room() and peer_closed() carries the ACK")
{
	struct host *h = start();
	struct app app = {.on_room = send_hello, .on_peer_closed = send_hello};

	accept_peer(h, &app);
	say(&app, 10);
	forget(h);
	give(h, A, PEERS + 1, OURS + 11, 20); // the reply has the ACK of the data, too
	SENDS(h, A | P, OURS + 11, PEERS + 21, 5);
	SILENT(h);
	give(h, A | F, PEERS + 21, OURS + 11, 0);
	SENDS(h, A | P, OURS + 16, PEERS + 22, 5);
	SILENT(h);
	app_free(&app);
	stop(h);
}

TL_TEST("closed() may open the next connection even when all slots are taken")
{
	struct host *h = start_with(1, 4096, 1500, true);
	struct app app = {.on_closed = call_again, .user = h};

	call(h, &app, NULL);
	struct tl_tcp *first = app.c;
	give(h, R | A, 0, OURS + 1, 0);
	CU_ASSERT_EQUAL(app.closed, 1);
	CU_ASSERT(app.c != first && in_state(&app, "SYN-SENT"));
	CU_ASSERT_EQUAL(tl_tcp_in_use(h->net, NULL), 1);
	app.on_closed = NULL;
	stop(h);
}

TL_TEST("slots are reused repeatedly")
{
	struct host *h = start_with(2, 4096, 1500, true);
	struct app app = {0};

	for (unsigned i = 1; i <= 50; i++) {
		call(h, &app, NULL);
		give_syn(h, A, PEERS, OURS + 1);
		give(h, R, PEERS + 1, 0, 0);
		CU_ASSERT_EQUAL(app.closed, i);
	}
	stop(h);
}

static void call_in_vain(struct app *app, struct tl_tcp *c)
{
	struct host *h = app->user;

	CU_ASSERT_EQUAL(tl_tcp_connect(h->net, PEER, PEER_PORT, &APP_OPS, app, NULL, &c), -ENOSPC);
}

TL_TEST("destroy ends connections and opens none")
{
	struct host *h = start();
	struct app app = {.on_closed = call_in_vain, .user = h};

	accept_peer(h, &app);
	stop(h);
	CU_ASSERT_EQUAL(app.closed, 1);
	CU_ASSERT_EQUAL(app.reason, TL_TCP_ABORTED);
}

TL_TEST("close_all closes open connections and aborts opening ones")
{
	struct host *h = start();
	struct app open = {0}, opening = {0};

	accept_peer(h, &open);
	CU_ASSERT_EQUAL(tl_tcp_connect(h->net, PEER, PORT(9), &APP_OPS, &opening, NULL, &opening.c), 0);
	tl_tcp_close_all(h->net, false);
	tl_txq_flush(&h->tx);
	CU_ASSERT_EQUAL(opening.closed, 1);
	SENDS(h, S, OURS, 0, 0); // and no RST
	SENDS(h, A | F, OURS + 1, PEERS + 1, 0);
	SILENT(h);
	CU_ASSERT(in_state(&open, "FIN-WAIT-1"));
	open.on_closed = call_again; // does not end with it
	open.user = h;
	tl_tcp_close_all(h->net, true);
	CU_ASSERT_EQUAL(open.closed, 1);
	CU_ASSERT(in_state(&open, "SYN-SENT"));
	open.on_closed = NULL;
	tl_tcp_abort(open.c);
	CU_ASSERT_EQUAL(open.reason, TL_TCP_ABORTED);
	CU_ASSERT_EQUAL(tl_tcp_in_use(h->net, NULL), 0);
	stop(h);
}

// ---- no mbufs

static unsigned take_all(struct rte_mbuf **taken)
{
	unsigned n = 0;

	while (n < POOL_MBUFS && (taken[n] = rte_pktmbuf_alloc(test_pool())) != NULL)
		n++;
	return n;
}

TL_TEST("without mbufs data and ACKs wait for the next tick")
{
	static struct rte_mbuf *taken[POOL_MBUFS];
	struct host *h = start();
	struct app app = {0};

	accept_peer(h, &app);
	struct rte_mbuf *in = segment(h, A, PEERS + 1, OURS + 1, NULL, 0, "abc", 3);
	unsigned n = take_all(taken);
	rte_pktmbuf_free(h->net->spare);
	h->net->spare = NULL;
	n += take_all(taken + n);
	give_frame(h->net, in, h->now_ns);
	CU_ASSERT_EQUAL(tl_tcp_send(app.c, "hello", 5), 0);
	pass(h, 5 * MS);
	SILENT(h);
	CU_ASSERT(h->net->stats.nombuf > 2);
	for (unsigned i = 0; i < n; i++)
		rte_pktmbuf_free(taken[i]);
	rte_pktmbuf_free(in);
	pass(h, MS);
	SENDS(h, A | P, OURS + 1, PEERS + 4, 5);
	pass(h, 100 * MS);
	SILENT(h);
	app_free(&app);
	stop(h);
}

int main(void)
{
	tl_test_eal_start();
	return tl_test_run("tcp_calls");
}
