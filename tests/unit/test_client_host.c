// SPDX-License-Identifier: BSD-3-Clause
// Host functions of the client: stamps of a socket and of a NIC, steal time, confidence interval of a median.

#include "tl_test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <kernel_priv.h>
#include <session_priv.h>

// ---- NICs

#define ALL_FLAGS (SOF_TIMESTAMPING_TX_HARDWARE | SOF_TIMESTAMPING_RX_HARDWARE | SOF_TIMESTAMPING_RAW_HARDWARE)

TL_TEST("only a NIC that stamps every packet is used")
{
	const struct ethtool_ts_info able = {.so_timestamping = ALL_FLAGS,
		.tx_types = 1u << HWTSTAMP_TX_ON,
		.rx_filters = 1u << HWTSTAMP_FILTER_ALL};
	struct ethtool_ts_info info = able;
	struct tl_err err;

	CU_ASSERT_EQUAL(tl_client_nic_check(&info, "eth0", &err), 0);
	info.rx_filters = 1u << HWTSTAMP_FILTER_PTP_V2_EVENT;
	CU_ASSERT_EQUAL(tl_client_nic_check(&info, "eth0", &err), -EOPNOTSUPP);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "eth0 stamps received frames of PTP only"));
	info = able;
	info.tx_types = 1u << HWTSTAMP_TX_OFF;
	CU_ASSERT_EQUAL(tl_client_nic_check(&info, "eth0", &err), -EOPNOTSUPP);
	info = able;
	info.so_timestamping &= ~(uint32_t)SOF_TIMESTAMPING_RAW_HARDWARE;
	CU_ASSERT_EQUAL(tl_client_nic_check(&info, "eth0", &err), -EOPNOTSUPP);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "--timestamps kernel"));
}

// ---- sockets

static int loopback_socket(struct sockaddr_in *address)
{
	socklen_t len = sizeof(*address);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	*address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	CU_ASSERT_EQUAL_FATAL(bind(fd, (struct sockaddr *)address, len), 0);
	CU_ASSERT_EQUAL_FATAL(getsockname(fd, (struct sockaddr *)address, &len), 0);
	return fd;
}

static void await(int fd, short events)
{
	struct pollfd pfd = {.fd = fd, .events = events};
	CU_ASSERT_EQUAL(poll(&pfd, 1, 60000), 1);
}

TL_TEST("datagrams are numbered and stamped in both directions")
{
	struct sockaddr_in address;
	struct tl_client_departure departure;
	struct tl_client_arrival arrival;
	char data[8];
	int fd = loopback_socket(&address);

	CU_ASSERT_EQUAL(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0); // to itself
	CU_ASSERT_EQUAL(tl_client_stamping_enable(fd, TL_CLIENT_STAMPS_KERNEL, true, true), 0);
	CU_ASSERT_FALSE(tl_client_stamping_departed(fd, &departure));
	CU_ASSERT_EQUAL(tl_client_stamping_receive(fd, data, sizeof(data), &arrival), -EAGAIN);
	for (uint32_t id = 0; id < 3; id++) {
		CU_ASSERT_EQUAL(send(fd, "message", 8, 0), 8);
		await(fd, 0); // the error queue
		CU_ASSERT_TRUE(tl_client_stamping_departed(fd, &departure));
		CU_ASSERT_EQUAL(departure.id, id);
		await(fd, POLLIN);
		CU_ASSERT_EQUAL(tl_client_stamping_receive(fd, data, sizeof(data), &arrival), 8);
		CU_ASSERT_FALSE(arrival.shared);
		CU_ASSERT_TRUE(departure.stamp_ns > 0);
		// The first arrival may be unstamped: the kernel enables stamping asynchronously.
		CU_ASSERT_TRUE(arrival.stamp_ns == 0 || arrival.stamp_ns >= departure.stamp_ns);
	}
	close(fd);
}

TL_TEST("queued parts of a stream share a stamp")
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(address);
	struct tl_client_arrival arrival;
	char data[24] = "three messages in one";
	int listener = socket(AF_INET, SOCK_STREAM, 0), from = socket(AF_INET, SOCK_STREAM, 0);

	CU_ASSERT_EQUAL_FATAL(bind(listener, (struct sockaddr *)&address, len), 0);
	CU_ASSERT_EQUAL_FATAL(listen(listener, 1), 0);
	CU_ASSERT_EQUAL_FATAL(getsockname(listener, (struct sockaddr *)&address, &len), 0);
	CU_ASSERT_EQUAL_FATAL(connect(from, (struct sockaddr *)&address, len), 0);
	int to = accept(listener, NULL, NULL);
	CU_ASSERT_EQUAL(tl_client_stamping_enable(to, TL_CLIENT_STAMPS_KERNEL, false, true), 0);
	CU_ASSERT_EQUAL(send(from, data, sizeof(data), 0), sizeof(data));
	await(to, POLLIN);
	for (int i = 0; i < 3; i++) {
		CU_ASSERT_EQUAL(tl_client_stamping_receive(to, data, 8, &arrival), 8);
		CU_ASSERT_EQUAL(arrival.shared, i < 2);
	}
	close(to);
	close(from);
	close(listener);
}

TL_TEST("datagrams after a refused one have no stamps")
{
	struct sockaddr_in address;
	struct tl_client_departure departure;
	struct tl_client_link *link;
	ssize_t sent = 0;

	close(loopback_socket(&address)); // closed port
	const struct tl_client_cfg cfg = {.mode = TL_CLIENT_UDP,
		.peer = {.ip_be = address.sin_addr.s_addr, .port_be = address.sin_port},
		.timestamps = TL_CLIENT_STAMPS_KERNEL};
	CU_ASSERT_EQUAL_FATAL(tl_client_kernel.open(&cfg, &link, NULL), 0);
	for (int i = 0; i < 1000 && sent != -ECONNREFUSED; i++) {
		sent = link->ops->send(link, "message", 8); // a refusal is reported by a later call
		usleep(1000);
	}
	CU_ASSERT_EQUAL(sent, -ECONNREFUSED);
	CU_ASSERT_TRUE(link->ops->departed(link, true, &departure));
	CU_ASSERT_EQUAL(departure.id, 0);
	while (link->ops->departed(link, true, &departure))
		;
	CU_ASSERT_EQUAL(link->ops->send(link, "message", 8), 8);
	CU_ASSERT_FALSE(link->ops->departed(link, true, &departure));
	link->ops->close(link);
}

// ---- the host

TL_TEST("steal time is read per CPU")
{
	char text[] = "cpu  9 9 9 9 9 9 9 99 9 9\n"
		      "cpu0 1 2 3 4 5 6 7 8 9 10\n"
		      "cpu1 1 2 3 4 5 6 7 18446744073709551615 0 0\n"
		      "cpu7 1 2 3 4 5 6 7 70 0 0\n"
		      "intr 1 2 3\n";
	uint64_t stolen[4] = {0};
	FILE *stat = fmemopen(text, strlen(text), "r");

	tl_client_host_parse(stat, stolen, 4);
	fclose(stat);
	CU_ASSERT_EQUAL(stolen[0], 8);
	CU_ASSERT_EQUAL(stolen[1], UINT64_MAX);
	CU_ASSERT_EQUAL(stolen[2] + stolen[3], 0);
}

TL_TEST("a change of the offset between the clocks counts as a step")
{
	struct tl_client_host host;

	CU_ASSERT_EQUAL_FATAL(tl_client_host_begin(&host), 0);
	host.offset_ns -= (int64_t)TL_NS_PER_S; // simulates a clock step
	tl_client_host_look(&host);
	CU_ASSERT_TRUE(llabs(host.step_ns - (int64_t)TL_NS_PER_S) < (int64_t)TL_NS_PER_MS * 100);
	int64_t seen_ns = host.step_ns;
	tl_client_host_look(&host); // counted once
	CU_ASSERT_EQUAL(host.step_ns, seen_ns);
	tl_client_host_end(&host);
}

// ---- figures

TL_TEST("the spread is the sample standard deviation")
{
	struct tl_client_quantity quantity;

	tl_client_quantity_init(&quantity);
	CU_ASSERT_EQUAL(tl_client_quantity_spread(&quantity).p50_ns, 0);
	tl_client_quantity_add(&quantity, 1000, false);
	CU_ASSERT_EQUAL(tl_client_quantity_spread(&quantity).mean_ns, 0);
	for (int i = 1; i < 10000; i++)
		tl_client_quantity_add(&quantity, i % 2 == 0 ? 1000 : 1010, false);
	struct tl_client_spread spread = tl_client_quantity_spread(&quantity);
	// Standard deviation 5; standard error of the mean a hundredth of it; times 1.96.
	CU_ASSERT_TRUE(spread.mean_ns > 0.097 && spread.mean_ns < 0.099);
	// Half of the values are 1000: the interval of the median ends at 1010, the limit of its bucket.
	CU_ASSERT_TRUE(spread.p50_ns >= 8 && spread.p50_ns <= 16);
}

int main(void)
{
	return tl_test_run("client_host");
}
