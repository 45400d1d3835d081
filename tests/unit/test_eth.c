// SPDX-License-Identifier: BSD-3-Clause
// Calls of a port to its driver, over DPDK's ring and null devices. This program interposes librte_ethdev and answers
// as the named driver does.

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_ethdev.h>

#include <port_priv.h>
#include <tl_clock.h>
#include <tl_test.h>
#include <tl_test_eal.h>
#include <tl_test_port.h>

// Return the next definition of the symbol after this program's.
#define REAL(function) ((typeof(&(function)))dlsym(RTLD_NEXT, #function))

static struct tl_clock *test_clock;

// ---- the driver

static struct {
	bool tells_removal;
	const char *name;    // NULL: that of the ring device
	bool has_statistics; // statistics of the port
	uint32_t groups_max; // longest list of multicast addresses
	int beyond;	     // error code for a longer list
	int all;	     // result of allmulticast
	// Recorded:
	bool asked_for_removal;
	uint16_t rx_queues, tx_queues;
	rte_eth_dev_cb_fn on_removal;
	void *on_removal_arg;
	uint32_t lists, list_end; // calls, and addresses in the last one
	unsigned alls, promiscs;
	uint16_t mtu;
	unsigned mtus_set;
} driver;

int rte_eth_dev_info_get(uint16_t port_id, struct rte_eth_dev_info *info)
{
	static const uint32_t flags = RTE_ETH_DEV_INTR_RMV;
	int rc = REAL(rte_eth_dev_info_get)(port_id, info);

	if (driver.tells_removal)
		info->dev_flags = &flags;
	if (driver.name != NULL)
		info->driver_name = driver.name;
	return rc;
}

int rte_eth_stats_get(uint16_t port_id, struct rte_eth_stats *stats)
{
	memset(stats, 0, sizeof(*stats));
	return driver.has_statistics ? 0 : -ENOTSUP;
}

int rte_eth_dev_configure(uint16_t port_id, uint16_t rx, uint16_t tx, const struct rte_eth_conf *conf)
{
	struct rte_eth_conf plain = *conf;

	driver.asked_for_removal = conf->intr_conf.rmv != 0;
	driver.rx_queues = rx;
	driver.tx_queues = tx;
	plain.intr_conf.rmv = 0; // DPDK refuses it for a device without that flag
	return REAL(rte_eth_dev_configure)(port_id, rx, tx, &plain);
}

int rte_eth_dev_callback_register(uint16_t port_id, enum rte_eth_event_type event, rte_eth_dev_cb_fn fn, void *arg)
{
	if (event == RTE_ETH_EVENT_INTR_RMV) {
		driver.on_removal = fn;
		driver.on_removal_arg = arg;
	}
	return REAL(rte_eth_dev_callback_register)(port_id, event, fn, arg);
}

int rte_eth_dev_get_mtu(uint16_t port_id, uint16_t *mtu)
{
	*mtu = driver.mtu;
	return 0;
}

int rte_eth_dev_set_mtu(uint16_t port_id, uint16_t mtu)
{
	driver.mtu = mtu;
	driver.mtus_set++;
	return 0;
}

int rte_eth_dev_set_mc_addr_list(uint16_t port_id, struct rte_ether_addr *list, uint32_t n)
{
	driver.lists++;
	driver.list_end = n;
	CU_ASSERT(n == 0 || list[n - 1].addr_bytes[5] == (uint8_t)n);
	return n <= driver.groups_max ? 0 : driver.beyond;
}

int rte_eth_allmulticast_enable(uint16_t port_id)
{
	driver.alls++;
	return driver.all;
}

int rte_eth_promiscuous_get(uint16_t port_id)
{
	return 0;
}

int rte_eth_promiscuous_enable(uint16_t port_id)
{
	driver.promiscs++;
	return 0;
}

static struct tl_port *open_device(const char *kind, uint16_t rx_queues, uint16_t tx_queues)
{
	static int number;
	char text[32];

	snprintf(text, sizeof(text), "vdev:%s_eth%d", kind, number++);
	struct tl_port *port = tl_test_port_queues(text, rx_queues, tx_queues, test_clock);
	CU_ASSERT_PTR_NOT_NULL_FATAL(port);
	return port;
}

static struct tl_port *open_port(void)
{
	return open_device("net_ring", 1, 1);
}

// ---- removal

// mlx5 reports the removal of its device (drivers/net/mlx5/linux/mlx5_os.c:2512, DPDK v22.11) to a port that is
// configured for it (linux/mlx5_ethdev_os.c:758). DPDK rejects the flag for others (lib/ethdev/rte_ethdev.c:1186).
TL_TEST("removal events are requested from a driver that supports them, and end the port")
{
	struct tl_err err = {{0}};

	memset(&driver, 0, sizeof(driver));
	tl_port_close(open_port());
	CU_ASSERT_FALSE(driver.asked_for_removal);
	driver.tells_removal = true;
	struct tl_port *port = open_port();
	CU_ASSERT_TRUE(driver.asked_for_removal);
	CU_ASSERT_PTR_NOT_NULL_FATAL(driver.on_removal);
	CU_ASSERT_FALSE(tl_port_ended(port, NULL));
	driver.on_removal(tl_port_rxq(port, 0)->port_id, RTE_ETH_EVENT_INTR_RMV, driver.on_removal_arg, NULL);
	CU_ASSERT_TRUE(tl_port_ended(port, &err));
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "is gone: it was unplugged"));
	tl_port_close(port);
}

// ---- queues

TL_TEST("a recording port has the send queues required by its driver")
{
	static const struct {
		const char *name;
		uint16_t tx_queues;
	} drivers[] = {{NULL, 1}, {"net_ixgbe", 1}, {"net_tap", 2}, {"net_af_xdp", 2}, {"net_mana", 2}};

	for (size_t i = 0; i < TL_ARRAY_LEN(drivers); i++) {
		memset(&driver, 0, sizeof(driver));
		driver.name = drivers[i].name;
		tl_port_close(open_device("net_null", 2, 0)); // DPDK's ring device has one queue here
		CU_ASSERT_EQUAL(driver.rx_queues, 2);
		CU_ASSERT_EQUAL(driver.tx_queues, drivers[i].tx_queues);
	}
}

// ---- drops

// Drivers without imissed, and gve without statistics, DPDK v22.11: sources in lib/dpdk/port/drops.c.
TL_TEST("drops are unknown for a driver that does not count them")
{
	static const struct {
		const char *name;
		bool has_statistics, known;
	} drivers[] = {{NULL, true, true}, {"net_ixgbe", true, true}, {"mlx5_pci", true, true}, {"net_gve", true, true},
		{"net_gve", false, false}, {"net_virtio", true, false}, {"net_virtio_user", true, false},
		{"net_ixgbe_vf", true, false}, {"net_e1000_igb_vf", true, false}, {"net_tap", true, false}};
	struct tl_port_stats stats;

	for (size_t i = 0; i < TL_ARRAY_LEN(drivers); i++) {
		memset(&driver, 0, sizeof(driver));
		driver.name = drivers[i].name;
		driver.has_statistics = drivers[i].has_statistics;
		struct tl_port *port = open_port();
		tl_port_sample(port, &stats);
		CU_ASSERT_EQUAL(!stats.drops_unknown, drivers[i].known);
		tl_port_close(port);
	}
}

// ---- groups

static int set_groups(struct tl_port *port, uint32_t n)
{
	static uint8_t macs[2 * TL_PORT_GROUPS_MAX][TL_ETHER_ADDR_LEN];

	for (uint32_t i = 0; i < n; i++)
		memcpy(macs[i], (uint8_t[]){0x01, 0x00, 0x5e, 0, 0, (uint8_t)(i + 1)}, sizeof(macs[i]));
	driver.lists = driver.alls = 0;
	return tl_port_set_groups(port, macs, n);
}

// Limits of drivers, DPDK v22.11: mlx5 rejects 128 addresses (drivers/net/mlx5/mlx5_mac.c:202), iavf more than 64
// (iavf/iavf_ethdev.c:350), ice and i40e any (no set_mc_addr_list in ice/ice_ethdev.c and i40e/i40e_ethdev.c); ixgbe's
// filter accepts all (ixgbe/ixgbe_ethdev.c:6681).
TL_TEST("groups are received by the list up to its capacity, beyond it by allmulticast")
{
	static const struct {
		uint32_t groups_max;
		int beyond;
	} lists[] = {{127, -ENOSPC}, {64, -EINVAL}, {TL_PORT_GROUPS_MAX, 0}};

	memset(&driver, 0, sizeof(driver));
	for (size_t i = 0; i < TL_ARRAY_LEN(lists); i++) {
		uint32_t most = driver.groups_max = lists[i].groups_max;
		struct tl_port *port = open_port();
		driver.beyond = lists[i].beyond;
		CU_ASSERT_EQUAL(set_groups(port, most), 0);
		CU_ASSERT(driver.lists == 1 && driver.list_end == most && driver.alls == 0);
		CU_ASSERT_EQUAL(set_groups(port, most + 1), 0);
		CU_ASSERT_EQUAL(driver.lists, most < TL_PORT_GROUPS_MAX);
		CU_ASSERT_EQUAL(driver.alls, 1);
		CU_ASSERT_EQUAL(set_groups(port, most), 0); // a shorter list again
		CU_ASSERT(driver.lists == 1 && driver.list_end == most && driver.alls == 0);
		CU_ASSERT_EQUAL(set_groups(port, 0), 0);
		CU_ASSERT(driver.lists == 1 && driver.list_end == 0);
		tl_port_close(port);
	}
}

TL_TEST("without a list groups are received by allmulticast or, failing that, promiscuously")
{
	memset(&driver, 0, sizeof(driver));
	struct tl_port *port = open_port();

	driver.beyond = -ENOTSUP;
	CU_ASSERT_EQUAL(set_groups(port, 1), 0);
	CU_ASSERT_EQUAL(driver.alls, 1);
	CU_ASSERT_EQUAL(driver.promiscs, 0);
	driver.all = -ENOTSUP;
	CU_ASSERT_EQUAL(set_groups(port, 1), 0);
	CU_ASSERT_EQUAL(driver.promiscs, 1);
	tl_port_close(port);
}

// ---- sizes

TL_TEST("a recording NIC has deep rings by default")
{
	struct tl_port_cfg cfg = {.spec.kind = TL_PORT_PCI};

	CU_ASSERT_EQUAL(tl_port_rx_descriptors(&cfg, false), 4096);
	CU_ASSERT_EQUAL(tl_port_rx_descriptors(&cfg, true), 8192);
	cfg.tx_queues = 1;
	CU_ASSERT_EQUAL(tl_port_rx_descriptors(&cfg, true), 1024);
	CU_ASSERT_EQUAL(tl_port_tx_descriptors(&cfg), 1024);
	cfg.rx_descriptors = 96;
	cfg.tx_descriptors = 512;
	CU_ASSERT_EQUAL(tl_port_rx_descriptors(&cfg, true), 96);
	CU_ASSERT_EQUAL(tl_port_tx_descriptors(&cfg), 512);
}

// ixgbe programs the buffer size in whole KiB (SRRCTL.BSIZEPKT, drivers/net/ixgbe/ixgbe_rxtx.c:5146, DPDK v22.11).
TL_TEST("a buffer holds a frame with CRC and two tags, rounded up to KiB")
{
	CU_ASSERT_EQUAL(tl_port_nic_room(1500), 2048);
	CU_ASSERT_EQUAL(tl_port_nic_room(2048 - 26), 2048);
	CU_ASSERT_EQUAL(tl_port_nic_room(2048 - 25), 3072);
	CU_ASSERT_EQUAL(tl_port_nic_room(9000), 9216);
}

static void make_entry(const char *root, const char *name)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s%s", root, name);
	if (strstr(name, "/mtu") == NULL) {
		CU_ASSERT_EQUAL(mkdir(path, 0700), 0);
		return;
	}
	CU_ASSERT_PTR_NOT_NULL_FATAL(file = fopen(path, "w"));
	fputs("1500\n", file);
	fclose(file);
}

// mlx5_dev_configure sets it (drivers/net/mlx5/mlx5_ethdev.c:149, DPDK v22.11.11).
TL_TEST("the MTU of the kernel interface is restored")
{
	static const char *const made[] = {
		"/0000:5e:00.0", "/0000:5e:00.0/net", "/0000:5e:00.0/net/ens1", "/0000:5e:00.0/net/ens1/mtu"};
	struct tl_port_cfg cfg = {.spec = {.kind = TL_PORT_PCI, .arg = "0000:5e:00.0"}};
	static struct tl_port port;
	char root[] = "/tmp/test_eth.XXXXXX", path[128];

	port.cfg = cfg;
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(root));
	for (size_t i = 0; i < TL_ARRAY_LEN(made); i++)
		make_entry(root, made[i]);
	setenv("SYSFS_PCI_DEVICES", root, 1);
	memset(&driver, 0, sizeof(driver));
	tl_port_note_shared(&port);
	driver.mtu = 9000; // effect of configuring the device
	tl_port_restore_shared(&port);
	CU_ASSERT(driver.mtu == 1500 && driver.mtus_set == 1);
	tl_port_restore_shared(&port); // no effect
	CU_ASSERT_EQUAL(driver.mtus_set, 1);
	unsetenv("SYSFS_PCI_DEVICES");
	for (size_t i = TL_ARRAY_LEN(made); i-- > 0;) {
		snprintf(path, sizeof(path), "%s%s", root, made[i]);
		CU_ASSERT_EQUAL(remove(path), 0);
	}
	CU_ASSERT_EQUAL(rmdir(root), 0);
}

int main(void)
{
	tl_test_eal_start();
	test_clock = tl_clock_create();
	return test_clock == NULL ? 1 : tl_test_run("eth");
}
