// SPDX-License-Identifier: BSD-3-Clause
// The interfaces of the benchmark. The private namespace has no name: the kernel removes it, and the pair, with the
// last process in it.

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/ethtool.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <tl_iface.h>
#include <tl_port.h>

#include "bench_rig.h"
#include "hugepages.h"
#include "rx_priv.h"

#define MEMORY_MB 256 // of each port
#define RX_IF "rx0"
#define TX_IF "tx0"

static int request(const char *ifname, unsigned long number, struct ifreq *req)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	snprintf(req->ifr_name, sizeof(req->ifr_name), "%s", ifname);
	int rc = fd >= 0 && ioctl(fd, number, req) == 0 ? 0 : -errno;
	if (fd >= 0)
		close(fd);
	return rc;
}

static int look_up(const char *ifname, unsigned *ifindex, uint8_t mac[6], struct tl_err *err)
{
	struct ifreq address = {0}, flags = {0};

	*ifindex = if_nametoindex(ifname);
	int rc = *ifindex == 0 ? -errno : request(ifname, SIOCGIFHWADDR, &address);
	if (rc == 0)
		rc = request(ifname, SIOCGIFFLAGS, &flags);
	if (rc != 0)
		return tl_fail(err, rc, "interface %s: %s; `ip link` lists the interfaces", ifname, strerror(-rc));
	if ((flags.ifr_flags & IFF_UP) == 0)
		return tl_fail(err, -EINVAL, "interface %s is down: `ip link set %s up`", ifname, ifname);
	memcpy(mac, address.ifr_hwaddr.sa_data, 6);
	return 0;
}

// Frames of the kernel itself would count as foreign.
static void silence_ipv6(void)
{
	int fd = open("/proc/sys/net/ipv6/conf/default/disable_ipv6", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return; // no IPv6
	(void)!write(fd, "1", 1);
	close(fd);
}

// A single queue each, so that AF_XDP reads every frame.
static int make_pair(struct tl_err *err)
{
	FILE *ip = popen("ip -batch - >&2", "we");

	if (ip == NULL)
		return tl_fail(err, -errno, "ip(8): %s", strerror(errno));
	fputs("link add " RX_IF " numrxqueues 1 numtxqueues 1 type veth peer name " TX_IF
	      " numrxqueues 1 numtxqueues 1\n"
	      "address add 10.99.0.1/24 dev " RX_IF "\n"
	      "link set " RX_IF " up\n"
	      "link set " TX_IF " up\n",
		ip);
	return pclose(ip) == 0 ? 0
			       : tl_fail(err, -EIO, "`ip link add` failed: is iproute2 installed, and veth allowed?");
}

static int begin_pair(struct rx_net *net, struct tl_err *err)
{
	if (unshare(CLONE_NEWNET) != 0)
		return tl_fail(err, -errno, "a private network namespace: %s: run it as root", strerror(errno));
	silence_ipv6();
	int rc = make_pair(err);
	snprintf(net->ifname, sizeof(net->ifname), RX_IF);
	snprintf(net->sender_name, sizeof(net->sender_name), TX_IF);
	if (rc == 0)
		rc = look_up(RX_IF, &net->ifindex, net->mac, err);
	if (rc == 0)
		rc = look_up(TX_IF, &net->sender_ifindex, net->sender_mac, err);
	return rc;
}

// The kernel ends the mode with the socket, so also if this process is killed.
static int hold_promiscuous(struct rx_net *net, struct tl_err *err)
{
	const struct packet_mreq mode = {.mr_ifindex = (int)net->ifindex, .mr_type = PACKET_MR_PROMISC};

	net->promiscuous_fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (net->promiscuous_fd < 0 ||
		setsockopt(net->promiscuous_fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &mode, sizeof(mode)) != 0)
		return tl_fail(err, -errno, "interface %s: promiscuous mode: %s: run it as root", net->ifname,
			strerror(errno));
	return 0;
}

static void read_driver(struct rx_net *net)
{
	struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};
	bool known = tl_iface_ethtool(net->ifname, &info) == 0;

	snprintf(net->driver, sizeof(net->driver), "%s", known ? info.driver : "unknown");
}

static void read_queues(struct rx_net *net)
{
	struct ethtool_channels channels = {.cmd = ETHTOOL_GCHANNELS};

	if (tl_iface_ethtool(net->ifname, &channels) == 0)
		net->queues = channels.rx_count + channels.combined_count;
}

// ---- ports of the user

static int parse(const char *text, const char *option, struct tl_port_spec *spec, struct tl_err *err)
{
	int rc = tl_port_spec_parse(text, spec, err);

	if (rc != 0 || spec->kind == TL_PORT_KERNEL || tl_port_is_drivers(spec))
		return rc;
	return tl_fail(
		err, -EINVAL, "%s %s: give a kernel interface (eth0), a PCI address or vdev:DEVARGS", option, text);
}

static struct rx_port_cfg port_cfg(const struct tl_bench_rx_cfg *cfg, const cpu_set_t *cpus, const char *device)
{
	return (struct rx_port_cfg){.device = device,
		.huge = tl_hugepages_suffice(MEMORY_MB),
		.cpu = tl_bench_cpu(cpus, 0),
		.stop = cfg->stop};
}

// Start the port's process, without hugepages if another process took them meanwhile.
static int start_port(struct rx_port_cfg *port, struct rx_process *out, struct rx_port_facts *facts, struct tl_err *err)
{
	int rc = rx_port_start(port, out, facts, err);

	if (rc != 0 && rc != -EINTR && port->huge) {
		rx_process_stop(out);
		port->huge = false;
		rc = rx_port_start(port, out, facts, err);
	}
	return rc;
}

// Open the port once, for its driver and address. The rungs open it again, each in its process.
static int try_port(struct rx_net *net, struct rx_port_cfg port, struct tl_err *err)
{
	struct rx_port_facts facts;
	struct rx_process process;

	int rc = start_port(&port, &process, &facts, err);
	rx_process_stop(&process);
	if (rc != 0)
		return rc;
	net->huge = port.huge;
	memcpy(net->mac, facts.mac, sizeof(net->mac));
	snprintf(net->driver, sizeof(net->driver), "%s", facts.driver);
	return 0;
}

static int begin_receiver(
	struct rx_net *net, const struct tl_bench_rx_cfg *cfg, const cpu_set_t *cpus, struct tl_err *err)
{
	struct tl_port_spec spec;

	int rc = parse(cfg->ifname, "--interface", &spec, err);
	if (rc != 0)
		return rc;
	snprintf(net->ifname, sizeof(net->ifname), "%s", spec.text);
	net->driver_port = spec.kind != TL_PORT_KERNEL;
	if (net->driver_port)
		return try_port(net, port_cfg(cfg, cpus, net->ifname), err);
	rc = look_up(net->ifname, &net->ifindex, net->mac, err);
	return rc == 0 ? hold_promiscuous(net, err) : rc;
}

static int begin_sender(
	struct rx_net *net, const struct tl_bench_rx_cfg *cfg, const cpu_set_t *cpus, struct tl_err *err)
{
	struct rx_port_facts facts;
	struct tl_port_spec spec;

	int rc = parse(cfg->peer, "--peer", &spec, err);
	if (rc != 0)
		return rc;
	net->own = true;
	snprintf(net->sender_name, sizeof(net->sender_name), "%s", spec.text);
	if (spec.kind == TL_PORT_KERNEL)
		return look_up(net->sender_name, &net->sender_ifindex, net->sender_mac, err);
	struct rx_port_cfg port = port_cfg(cfg, cpus, net->sender_name);
	port.sends = true;
	return start_port(&port, &net->sender, &facts, err);
}

int rx_net_begin(struct rx_net *net, const struct tl_bench_rx_cfg *cfg, const cpu_set_t *cpus, struct tl_err *err)
{
	bool pair = cfg->ifname == NULL;

	*net = (struct rx_net){.own = pair, .pair = pair, .promiscuous_fd = -1, .sender = {.fd = -1}};
	int rc = pair ? begin_pair(net, err) : begin_receiver(net, cfg, cpus, err);
	if (rc == 0 && cfg->peer != NULL)
		rc = begin_sender(net, cfg, cpus, err);
	if (rc == 0 && !net->driver_port) {
		read_driver(net);
		read_queues(net);
	}
	return rc;
}

void rx_net_end(struct rx_net *net)
{
	rx_process_stop(&net->sender);
	if (net->promiscuous_fd >= 0)
		close(net->promiscuous_fd);
}

// Columns of /proc/net/dev: rx bytes, packets, errs, drop.
uint64_t rx_net_drops(const struct rx_net *net)
{
	char line[512], name[32];
	uint64_t drops = 0, value;
	FILE *file = net->driver_port ? NULL : fopen("/proc/self/net/dev", "re");

	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
		if (sscanf(line, " %31[^:]: %*u %*u %*u %" SCNu64, name, &value) == 2 && strcmp(name, net->ifname) == 0)
			drops = value;
	if (file != NULL)
		fclose(file);
	return drops;
}
