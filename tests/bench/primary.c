// SPDX-License-Identifier: BSD-3-Clause
// A DPDK primary process that receives on its one port, drops all frames, and permits a recording by dpdk-dumpcap,
// which attaches to it. bench_primary EAL-OPTIONS. Polls on the main lcore until SIGINT or SIGTERM.

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>

#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_pdump.h>

#define BURST 64
#define MBUFS 8191
#define MBUF_CACHE 256
#define DESCRIPTORS 1024

static atomic_bool stop; // set by the signal handler, which has no context

static void handle_signal(int signal)
{
	atomic_store(&stop, true);
}

static int start_port(uint16_t port_id)
{
	struct rte_mempool *pool =
		rte_pktmbuf_pool_create("primary", MBUFS, MBUF_CACHE, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	struct rte_eth_conf conf = {0};

	if (pool == NULL)
		return -1;
	int rc = rte_eth_dev_configure(port_id, 1, 1, &conf);
	if (rc == 0)
		rc = rte_eth_rx_queue_setup(port_id, 0, DESCRIPTORS, SOCKET_ID_ANY, NULL, pool);
	if (rc == 0)
		rc = rte_eth_tx_queue_setup(port_id, 0, DESCRIPTORS, SOCKET_ID_ANY, NULL);
	return rc == 0 ? rte_eth_dev_start(port_id) : rc;
}

static void receive(uint16_t port_id)
{
	struct rte_mbuf *pkts[BURST];

	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		uint16_t n = rte_eth_rx_burst(port_id, 0, pkts, BURST);
		if (n != 0)
			rte_pktmbuf_free_bulk(pkts, n);
	}
}

int main(int argc, char **argv)
{
	if (rte_eal_init(argc, argv) < 0 || rte_pdump_init() != 0 || start_port(0) != 0) {
		fprintf(stderr, "bench_primary: no EAL, or no port\n");
		return 1;
	}
	signal(SIGINT, handle_signal);
	signal(SIGTERM, handle_signal);
	receive(0);
	rte_eth_dev_stop(0);
	rte_eth_dev_close(0);
	rte_pdump_uninit();
	rte_eal_cleanup();
	return 0;
}
