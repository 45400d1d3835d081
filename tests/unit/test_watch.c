// SPDX-License-Identifier: BSD-3-Clause
// Events of a port before and during the run, over DPDK's ring device: link down, device removed.

#define ALLOW_EXPERIMENTAL_API // rte_dev_event_callback_process()

#include <string.h>

#include <rte_dev.h>
#include <rte_ethdev.h>

#include <tl_clock.h>
#include <tl_err.h>
#include <port_priv.h>
#include <tl_test.h>
#include <tl_test_eal.h>
#include <tl_test_port.h>

static struct tl_clock *test_clock;

static struct tl_port *ring(const char *text)
{
	struct tl_port *port = tl_test_port(text, 1, test_clock);

	CU_ASSERT_PTR_NOT_NULL_FATAL(port);
	return port;
}

static struct tl_port_link link_at_a_look(struct tl_port *port)
{
	struct tl_port_link link;

	tl_port_watch(port);
	tl_port_link(port, &link);
	return link;
}

TL_TEST("link down and up are detected, and link down is counted")
{
	struct tl_port *port = ring("vdev:net_ring_link");
	uint16_t port_id = tl_port_rxq(port, 0)->port_id;

	struct tl_port_link link = link_at_a_look(port);
	CU_ASSERT(link.known && link.up);
	CU_ASSERT_EQUAL(link.downs, 0);
	for (uint64_t i = 1; i <= 2; i++) {
		CU_ASSERT_EQUAL(rte_eth_dev_set_link_down(port_id), 0);
		link = link_at_a_look(port);
		CU_ASSERT(link.known && !link.up);
		CU_ASSERT_EQUAL(link.downs, i);
		CU_ASSERT_EQUAL(link_at_a_look(port).downs, i);
		CU_ASSERT_EQUAL(rte_eth_dev_set_link_up(port_id), 0);
		CU_ASSERT(tl_port_watch(port)); // up again
		CU_ASSERT(!tl_port_watch(port));
		tl_port_link(port, &link);
		CU_ASSERT(link.up);
		CU_ASSERT_EQUAL(link.downs, i);
	}
	CU_ASSERT(!tl_port_ended(port, NULL));
	tl_port_close(port);
}

// Writer threads read the speed, too.
TL_TEST("the speed is that of the last query")
{
	struct tl_port *port = ring("vdev:net_ring_speed");
	uint64_t speed_bps = tl_port_speed_bps(port);

	CU_ASSERT(speed_bps != 0);
	CU_ASSERT_EQUAL(rte_eth_dev_stop(tl_port_rxq(port, 0)->port_id), 0);
	CU_ASSERT_EQUAL(rte_eth_dev_close(tl_port_rxq(port, 0)->port_id), 0);
	CU_ASSERT_EQUAL(tl_port_speed_bps(port), speed_bps);
	tl_port_close(port);
}

TL_TEST("the link is queried at most once a second")
{
	struct tl_port_events events = {0};

	CU_ASSERT(tl_port_link_due(&events, 5 * TL_NS_PER_S));
	CU_ASSERT(!tl_port_link_due(&events, 5 * TL_NS_PER_S));
	CU_ASSERT(!tl_port_link_due(&events, 6 * TL_NS_PER_S - 1));
	CU_ASSERT(tl_port_link_due(&events, 6 * TL_NS_PER_S));
	CU_ASSERT(!tl_port_link_due(&events, 7 * TL_NS_PER_S - 1));
}

TL_TEST("a wait for link up returns the state")
{
	struct tl_port *port = ring("vdev:net_ring_await");

	CU_ASSERT(tl_port_await_link(port, 0));
	CU_ASSERT_EQUAL(rte_eth_dev_set_link_down(tl_port_rxq(port, 0)->port_id), 0);
	CU_ASSERT(!tl_port_await_link(port, 20 * TL_NS_PER_MS));
	CU_ASSERT_EQUAL(rte_eth_dev_set_link_up(tl_port_rxq(port, 0)->port_id), 0);
	CU_ASSERT(tl_port_await_link(port, UINT32_MAX));
	tl_port_close(port);
}

TL_TEST("the suggested driver package has its Debian name")
{
	static const char dir[] = "/usr/lib/x86_64-linux-gnu/dpdk/pmds-23.0";
	char name[64];

	tl_port_driver_package("net_ixgbe", dir, name, sizeof(name));
	CU_ASSERT_STRING_EQUAL(name, "librte-net-ixgbe23");
	tl_port_driver_package("net_mlx5", dir, name, sizeof(name));
	CU_ASSERT_STRING_EQUAL(name, "librte-net-mlx5-23");
}

// A port that does not answer does not count as link down.
TL_TEST("an unreadable link is unknown, not down")
{
	struct tl_port *port = ring("vdev:net_ring_silent");
	uint16_t port_id = tl_port_rxq(port, 0)->port_id;

	CU_ASSERT_EQUAL(rte_eth_dev_stop(port_id), 0);
	CU_ASSERT_EQUAL(rte_eth_dev_close(port_id), 0);
	struct tl_port_link link = link_at_a_look(port);
	CU_ASSERT(!link.known);
	CU_ASSERT_EQUAL(link.downs, 0);
	tl_port_close(port);
}

TL_TEST("a removed device ends its port with a message")
{
	struct tl_port *port = ring("vdev:net_ring_gone"), *other = ring("vdev:net_ring_stays");
	struct tl_err err = {{0}};

	CU_ASSERT(!tl_port_ended(port, &err));
	CU_ASSERT_STRING_EQUAL(err.text, "");
	rte_dev_event_callback_process("net_ring_gone", RTE_DEV_EVENT_ADD);
	CU_ASSERT(!tl_port_ended(port, NULL));
	rte_dev_event_callback_process("net_ring_gone", RTE_DEV_EVENT_REMOVE);
	CU_ASSERT(tl_port_ended(port, NULL));
	CU_ASSERT(tl_port_ended(port, &err));
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "net_ring_gone is gone"));
	CU_ASSERT(!link_at_a_look(port).up);
	CU_ASSERT(!tl_port_ended(other, NULL));
	tl_port_close(other);
	tl_port_close(port);
}

// Closing a port unregisters its callback: the next port at the same address must not get the event.
TL_TEST("a later port receives no events of a closed one")
{
	tl_port_close(ring("vdev:net_ring_closed"));
	struct tl_port *heir = ring("vdev:net_ring_heir");
	rte_dev_event_callback_process("net_ring_closed", RTE_DEV_EVENT_REMOVE);
	CU_ASSERT(!tl_port_ended(heir, NULL));
	tl_port_close(heir);
}

int main(void)
{
	tl_test_eal_start();
	test_clock = tl_clock_create();
	return tl_test_run("watch");
}
