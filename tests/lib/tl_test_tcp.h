// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// test_tcp: shared parts of the TCP tests: an application that records its events, and the configuration of a net.
//
// Threads: main. Memory: a struct app is the test's; app_free() frees its collected data.

#include "tcp_table.h"

#include "tl_test_net.h"

#define POOL_MBUFS 8191

// With TEST_IP6 the same tests use IPv6. The MTU is larger by the difference of the headers, so that segment sizes are
// equal.
#ifdef TEST_IP6
#define TEST_MTU(mtu) ((mtu) + TL_IPV6_LEN - TL_IPV4_LEN)
#define TEST_DEFAULT_MSS TL_TCP_DEFAULT_MSS6
#else
#define TEST_MTU(mtu) (mtu)
#define TEST_DEFAULT_MSS TL_TCP_DEFAULT_MSS
#endif
#define TEST_DAD_NS (1200 * MS) // time until a host may use its address

// Return host n of 192.0.2.0/24, and of 2001:db8::/64.
static inline uint32_t host_ip(uint8_t n)
{
	return IP(192, 0, 2, n);
}

static inline struct tl_ip6 host_ip6(uint8_t n)
{
	return (struct tl_ip6){{0x20, 0x01, 0x0d, 0xb8, [15] = n}};
}

// Return the address handle of host n within net.
static inline uint32_t host_be(struct tl_net *net, uint8_t n)
{
#ifdef TEST_IP6
	struct tl_ip6 ip = host_ip6(n);

	return tl_net_ip6(net, &ip);
#else
	return host_ip(n);
#endif
}

static inline bool is_tcp(const struct tl_pkt *pkt)
{
	return pkt->kind == TL_PKT_TCP || (pkt->kind == TL_PKT_IP6 && pkt->ip6_kind == TL_PKT_TCP);
}

// ---- an application

struct app {
	unsigned opened, rooms, peer_closed, closed;
	enum tl_tcp_reason reason;
	struct tl_tcp *c; // from opened() or connect()
	uint8_t *data;
	size_t len, size;
	int failed_sends;
	void (*on_opened)(struct app *app, struct tl_tcp *c);
	void (*on_data)(struct app *app, struct tl_tcp *c, const uint8_t *data, uint32_t len);
	void (*on_room)(struct app *app, struct tl_tcp *c);
	void (*on_peer_closed)(struct app *app, struct tl_tcp *c);
	void (*on_closed)(struct app *app, struct tl_tcp *c);
	void *user;
};

static inline void app_opened(void *ctx, struct tl_tcp *c)
{
	struct app *app = ctx;

	app->opened++;
	app->c = c;
	if (app->on_opened != NULL)
		app->on_opened(app, c);
}

static inline void app_data(void *ctx, struct tl_tcp *c, const uint8_t *data, uint32_t len)
{
	struct app *app = ctx;

	if (app->len + len > app->size) {
		app->size = 2 * (app->len + len);
		app->data = realloc(app->data, app->size);
	}
	memcpy(app->data + app->len, data, len);
	app->len += len;
	if (app->on_data != NULL)
		app->on_data(app, c, data, len);
}

static inline void app_room(void *ctx, struct tl_tcp *c)
{
	struct app *app = ctx;

	app->rooms++;
	if (app->on_room != NULL)
		app->on_room(app, c);
}

static inline void app_peer_closed(void *ctx, struct tl_tcp *c)
{
	struct app *app = ctx;

	app->peer_closed++;
	if (app->on_peer_closed != NULL)
		app->on_peer_closed(app, c);
}

static inline void app_closed(void *ctx, struct tl_tcp *c, enum tl_tcp_reason reason)
{
	struct app *app = ctx;

	app->closed++;
	app->reason = reason;
	if (app->on_closed != NULL)
		app->on_closed(app, c);
}

static const struct tl_tcp_ops APP_OPS = {
	.opened = app_opened,
	.data = app_data,
	.room = app_room,
	.peer_closed = app_peer_closed,
	.closed = app_closed,
};

static inline void app_free(struct app *app)
{
	free(app->data);
	app->data = NULL;
}

static inline void app_echo(struct app *app, struct tl_tcp *c, const uint8_t *data, uint32_t len)
{
	if (tl_tcp_send(c, data, len) != 0)
		app->failed_sends++;
}

// ---- a net

static inline struct rte_mempool *test_pool(void)
{
	return test_pool_of(POOL_MBUFS);
}

static inline struct tl_net_cfg test_cfg(struct tl_txq *tx, uint8_t n, uint32_t max_conns, uint32_t send_buffer_bytes)
{
	return (struct tl_net_cfg){
		.name = n == 1 ? "one" : "two",
		.tx = tx,
		.pool = test_pool(),
		.mac = {2, 0, 0, 0, 0, n},
		.ip_be = IP(192, 0, 2, n),
		.mask_be = IP(255, 255, 255, 0),
#ifdef TEST_IP6
		.ip6 = host_ip6(n),
		.ip6_bits = 64,
#endif
		.mtu = TEST_MTU(1500),
		.max_conns = max_conns,
		.send_buffer_bytes = send_buffer_bytes,
		.socket_id = SOCKET_ID_ANY,
		.seed = 7 + n,
	};
}

// Fix the ISNs from here on, for tests that depend on them.
static inline void fix_isn(struct tl_net *net, uint32_t isn)
{
	net->tcp->isn_fixed = true;
	net->tcp->isn_next = isn;
}

// Input an untagged frame as the only one of its burst; on a port in a VLAN as if the device had stripped the tag. m
// stays the caller's.
static inline void give_frame(struct tl_net *net, struct rte_mbuf *m, uint64_t now_ns)
{
	if (net->cfg.vlan != 0)
		m->ol_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
	m->vlan_tci = net->cfg.vlan;
	test_input(net, m, now_ns);
}
