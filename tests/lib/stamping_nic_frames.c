// SPDX-License-Identifier: BSD-3-Clause
// Frame processing of the stamping NIC, its clock, and the log of both.

#include "stamping_nic.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include <rte_byteorder.h>
#include <rte_mbuf_dyn.h>

// ---- the clock

static int64_t kernel_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * NIC_NS_PER_S + now.tv_nsec;
}

int64_t nic_clock_ns(void)
{
	int64_t raw_ns = kernel_ns(CLOCK_MONOTONIC_RAW);

	return nic.offset_ns + raw_ns + (int64_t)((__int128)raw_ns * nic.ppb / NIC_NS_PER_S);
}

int64_t nic_host_ns(void)
{
	return kernel_ns(CLOCK_MONOTONIC_RAW);
}

// Log a stamp with the CLOCK_REALTIME at that time.
static void note(const char *kind, int64_t nic_ns)
{
	int64_t before_ns = kernel_ns(CLOCK_REALTIME);
	int64_t ahead_ns = nic_ns - nic_clock_ns();
	int64_t width_ns = kernel_ns(CLOCK_REALTIME) - before_ns;
	unsigned i = atomic_fetch_add(&nic.logged, 1);

	if (i < NIC_STAMPS_LOGGED)
		nic.stamps[i] = (struct nic_stamp){kind, nic_ns, before_ns + ahead_ns + width_ns / 2, width_ns / 2 + 1};
}

static int64_t take_stamp(const char *kind, int64_t ahead_ns)
{
	int64_t ns = nic_clock_ns() + ahead_ns;

	note(kind, ns);
	return ns;
}

// ---- frames

static bool is_ptp(const struct rte_mbuf *m)
{
	return m->data_len >= RTE_ETHER_HDR_LEN &&
	       rte_pktmbuf_mtod(m, const struct rte_ether_hdr *)->ether_type == RTE_BE16(RTE_ETHER_TYPE_1588);
}

// Stamp a received frame. The stamp of a PTP frame also goes to a register, if that is empty.
static void receive(struct nic_port *port, struct rte_mbuf *m)
{
	uint64_t number = atomic_fetch_add(&nic.received, 1) + 1;
	int64_t empty = 0;

	if (nic.skip > 0 && number % (uint64_t)nic.skip == 0) {
		atomic_fetch_add(&nic.rx_skipped, 1);
		return;
	}
	int64_t ns = take_stamp("rx", -nic.rx_back_ns) + ((int64_t)number >= nic.jump_at ? nic.jump_ns : 0);
	if (nic.stamps_utc)
		ns = kernel_ns(CLOCK_REALTIME);
	atomic_fetch_add(&nic.rx_stamped, 1);
	*RTE_MBUF_DYNFIELD(m, nic.field, rte_mbuf_timestamp_t *) = (uint64_t)ns;
	m->ol_flags |= nic.rx_flag;
	if (!port->timesync || !is_ptp(m))
		return;
	m->ol_flags |= RTE_MBUF_F_RX_IEEE1588_PTP;
	m->timesync = 0;
	if (atomic_compare_exchange_strong(&port->received_ns, &empty, ns))
		m->ol_flags |= RTE_MBUF_F_RX_IEEE1588_TMST;
}

uint16_t nic_on_receive(
	uint16_t port_id, uint16_t queue, struct rte_mbuf **frames, uint16_t n, uint16_t room, void *ctx)
{
	for (uint16_t i = 0; i < n; i++)
		receive(ctx, frames[i]);
	return n;
}

static void wait_for(int64_t at_ns)
{
	uint64_t number = atomic_fetch_add(&nic.at_asked, 1) + 1;

	note("at", at_ns);
	if (nic_clock_ns() > at_ns || (nic.miss > 0 && number % (uint64_t)nic.miss == 0)) {
		atomic_fetch_add(&nic.at_past, 1);
		return;
	}
	while (nic_clock_ns() < at_ns)
		;
	atomic_fetch_add(&nic.at_sent, 1);
}

static void latch(struct nic_port *port)
{
	int64_t empty = 0;

	if (atomic_load(&port->sent_ns) == 0 &&
		atomic_compare_exchange_strong(&port->sent_ns, &empty, take_stamp("tx", nic.tx_ahead_ns)))
		atomic_fetch_add(&nic.tx_stamped, 1);
	else
		atomic_fetch_add(&nic.tx_busy, 1);
}

uint16_t nic_on_send(uint16_t port_id, uint16_t queue, struct rte_mbuf **frames, uint16_t n, void *ctx)
{
	struct nic_port *port = ctx;

	for (uint16_t i = 0; i < n; i++) {
		if (port->sends_at && (frames[i]->ol_flags & nic.at_flag) != 0)
			wait_for((int64_t)*RTE_MBUF_DYNFIELD(frames[i], nic.field, rte_mbuf_timestamp_t *));
		if (port->timesync && (frames[i]->ol_flags & RTE_MBUF_F_TX_IEEE1588_TMST) != 0)
			latch(port);
	}
	return n;
}

// ---- the log

void nic_write_log(FILE *out)
{
	const struct {
		const char *name;
		uint64_t value;
	} counts[] = {{"rx_stamped", nic.rx_stamped}, {"rx_skipped", nic.rx_skipped}, {"tx_stamped", nic.tx_stamped},
		{"tx_busy", nic.tx_busy}, {"tx_read", nic.tx_read}, {"at_sent", nic.at_sent}, {"at_past", nic.at_past}};

	for (size_t i = 0; i < RTE_DIM(counts); i++)
		fprintf(out, "%s %" PRIu64 "\n", counts[i].name, counts[i].value);
	for (unsigned i = 0; i < nic.logged && i < NIC_STAMPS_LOGGED; i++)
		fprintf(out, "%s %" PRId64 " %" PRId64 " %" PRId64 "\n", nic.stamps[i].kind, nic.stamps[i].nic_ns,
			nic.stamps[i].real_ns, nic.stamps[i].width_ns);
}
