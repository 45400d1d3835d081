// SPDX-License-Identifier: BSD-3-Clause
// A port of a DPDK driver that sends: DPDK starts once per process, and the benchmark forks, so the port has a process
// of its own. It answers each order, a load of frames, with the number sent. The same process, without an order, tries
// out the receiving port: its driver and address.

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_ethdev.h>

#include <tl_port.h>

#include "rx_priv.h"

#define OPEN_MS 30000
#define EXTRA_MS 20000	 // of an order: wait for the link, and for the counters
#define SETTLE_LOOKS 100 // without a change of the counter: drivers read theirs once a second at most
#define LOOK_MS 10

struct opened {
	int rc;
	struct rx_port_facts facts;
	struct tl_err err;
};

struct order {
	uint32_t size_bytes;
	uint8_t to[6];
	struct rx_load load;
};

struct done {
	int rc;
	struct rx_sent sent;
	struct tl_err err;
};

static atomic_bool ended; // SIGTERM: end the load

static void end(int signal_number)
{
	atomic_store(&ended, true);
}

// ---- its process

// Send copies of the frames. Return the number that the driver accepted.
static uint32_t send_mbufs(void *ctx, const struct iovec *frames, uint32_t n)
{
	struct tl_port *port = ctx;
	struct tl_txq *q = tl_port_txq(port, 0);
	struct rte_mbuf *pkts[RX_BATCH];

	if (rte_pktmbuf_alloc_bulk(tl_port_pool(port), pkts, n) != 0)
		return 0; // the driver has all of them: it frees them as they leave
	for (uint32_t i = 0; i < n; i++)
		memcpy(rte_pktmbuf_append(pkts[i], (uint16_t)frames[i].iov_len), frames[i].iov_base, frames[i].iov_len);
	uint16_t sent = q->send(q, pkts, (uint16_t)n);
	rte_pktmbuf_free_bulk(pkts + sent, n - sent);
	return sent;
}

// Wait until the port has counted the frames that its driver accepted. Return those that it has not.
static uint64_t settle(const struct tl_port *port, uint64_t before, uint64_t accepted)
{
	uint64_t now = before, last = before;

	for (unsigned quiet = 0; quiet < SETTLE_LOOKS; quiet = now == last ? quiet + 1 : 0) {
		last = now;
		if (!tl_port_sent(port, &now) || now - before >= accepted)
			return 0;
		(void)poll(NULL, 0, LOOK_MS);
	}
	return accepted - (now - before);
}

static void do_order(const struct tl_ladder_nic *nic, const struct order *order, struct done *done)
{
	const struct rx_sender_cfg cfg = {.size_bytes = order->size_bytes,
		.to = order->to,
		.from = tl_port_mac(nic->port),
		.send = send_mbufs,
		.ctx = nic->port};
	struct rx_sender *sender;
	uint64_t before = 0;

	*done = (struct done){.rc = tl_ladder_nic_await(nic, &done->err)};
	if (done->rc == 0)
		done->rc = rx_sender_open(&cfg, &sender, &done->err);
	if (done->rc != 0)
		return;
	(void)tl_port_sent(nic->port, &before);
	(void)rx_sender_run(sender, &order->load, &ended, &done->sent); // send_mbufs() has no errors
	done->sent.unsent_pkts = settle(nic->port, before, done->sent.pkts);
	rx_sender_close(sender);
}

static void pin_to(uint32_t cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	(void)sched_setaffinity(0, sizeof(one), &one);
}

static void read_facts(const struct tl_port *port, struct rx_port_facts *out)
{
	struct rte_eth_dev_info info = {.driver_name = NULL};

	memcpy(out->mac, tl_port_mac(port), sizeof(out->mac));
	bool known = rte_eth_dev_info_get(tl_port_rxq((struct tl_port *)(uintptr_t)port, 0)->port_id, &info) == 0;
	snprintf(out->driver, sizeof(out->driver), "%s",
		known && info.driver_name != NULL ? info.driver_name : "unknown");
}

static void port_main(const void *ctx, int fd)
{
	const struct rx_port_cfg *cfg = ctx;
	const struct sigaction action = {.sa_handler = end};
	struct tl_ladder_nic nic;
	struct opened opened = {.rc = 0};
	struct order order;
	struct done done;

	signal(SIGINT, SIG_IGN); // Ctrl-C reaches the whole group: the benchmark ends us
	sigaction(SIGTERM, &action, NULL);
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	rx_process_silence();
	opened.rc = tl_ladder_nic_open(cfg->device, cfg->sends, cfg->huge, cfg->cpu, &nic, &opened.err);
	if (opened.rc == 0)
		read_facts(nic.port, &opened.facts);
	(void)send(fd, &opened, sizeof(opened), MSG_NOSIGNAL);
	if (opened.rc != 0)
		return;
	pin_to(cfg->cpu);
	while (recv(fd, &order, sizeof(order), 0) == (ssize_t)sizeof(order)) {
		do_order(&nic, &order, &done);
		if (send(fd, &done, sizeof(done), MSG_NOSIGNAL) != (ssize_t)sizeof(done))
			break;
	}
	tl_ladder_nic_close(&nic);
}

// ---- the benchmark's side

int rx_port_start(
	const struct rx_port_cfg *cfg, struct rx_process *out, struct rx_port_facts *facts, struct tl_err *err)
{
	struct opened opened;

	int rc = rx_process_fork(port_main, cfg, out, err);
	if (rc != 0)
		return rc;
	rc = rx_process_hear(out->fd, cfg->stop, OPEN_MS, &opened, sizeof(opened));
	if (rc != 0)
		return tl_fail(err, rc, "%s: its process did not start: %s", cfg->device, strerror(-rc));
	*facts = opened.facts;
	if (opened.rc != 0)
		*err = opened.err;
	return opened.rc;
}

int rx_port_send(const struct rx_process *port, uint32_t size_bytes, const uint8_t to[6], const struct rx_load *load,
	const atomic_bool *stop, struct rx_sent *out, struct tl_err *err)
{
	struct order order = {.size_bytes = size_bytes, .load = *load};
	double ms = (double)load->duration_ns / 1e6 + (load->pps > 0 ? (double)load->pkts * 1e3 / load->pps : 0);
	struct done done;

	memcpy(order.to, to, sizeof(order.to));
	if (send(port->fd, &order, sizeof(order), MSG_NOSIGNAL) != (ssize_t)sizeof(order))
		return tl_fail(err, -EPIPE, "the process of the sending port has ended");
	int rc = rx_process_hear(port->fd, stop, (unsigned)ms + EXTRA_MS, &done, sizeof(done));
	if (rc != 0)
		return tl_fail(err, rc, "the sending port did not answer: %s", strerror(-rc));
	*out = done.sent;
	if (done.rc != 0)
		*err = done.err;
	return done.rc;
}
