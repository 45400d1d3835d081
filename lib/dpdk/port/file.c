// SPDX-License-Identifier: BSD-3-Clause
// Port backed by pcap:FILE.

#include "port_priv.h"

#include <errno.h>

#define FILE_ROOM_BYTES 2048 // longer frames use a chain

static int open_reader(const struct tl_port_cfg *cfg, struct tl_pcap_reader **out, struct tl_err *err)
{
	int rc = tl_pcap_open(cfg->spec.arg, out, err);

	return rc == 0 ? 0 : tl_fail_at(err, rc, "port %s", cfg->name);
}

int tl_file_check(const struct tl_port_cfg *cfg, struct tl_err *err)
{
	struct tl_pcap_reader *reader = NULL;
	int rc = open_reader(cfg, &reader, err);

	tl_pcap_close(reader);
	return rc;
}

static int file_open(struct tl_port *port, struct tl_err *err)
{
	struct tl_rxq *q = &port->rxq[0];

	if (port->cfg.rx_queues != 1)
		return tl_fail(err, -EINVAL, "port %s: a file has one queue, not %u", port->name, port->cfg.rx_queues);
	int rc = open_reader(&port->cfg, &port->file.reader, err);
	if (rc != 0)
		return rc;
	port->stamping.unit_ns = tl_pcap_unit_ns(port->file.reader);
	*q = (struct tl_rxq){.burst = tl_file_burst,
		.source = TL_TS_FILE,
		.wait_fd = -1,
		.clock = port->cfg.clock,
		.port = port,
		.backend = &port->file};
	port->txq[0] = (struct tl_txq){.flush_fn = tl_file_flush, .clock = port->cfg.clock};
	return tl_port_make_pool(port, FILE_ROOM_BYTES, TL_BURST, TL_BURST, err);
}

static int file_start(struct tl_port *port, struct tl_err *err)
{
	return 0;
}

// Frames still unread are not accounted: the recording was requested to end.
static bool file_quiesce(struct tl_port *port)
{
	int running = 0;

	atomic_compare_exchange_strong(&port->file.ended, &running, 1);
	return true;
}

static bool file_ended(const struct tl_port *port, struct tl_err *err)
{
	int ended = atomic_load_explicit(&port->file.ended, memory_order_acquire);
	struct tl_pcap_frame frame;

	// The lcore no longer uses the reader, so main may ask it for the error.
	if (ended == 2 && err != NULL)
		(void)tl_pcap_next(port->file.reader, &frame, err);
	return ended != 0;
}

static void file_sample(struct tl_port *port, struct tl_port_stats *out)
{
	*out = (struct tl_port_stats){
		.hw_seen_pkts = tl_count_read(&port->file.seen_pkts), .verified = true, .drops_by_queue = true};
}

static int file_set_groups(struct tl_port *port, const uint8_t (*macs)[TL_ETHER_ADDR_LEN], uint32_t n)
{
	return 0;
}

static void file_close(struct tl_port *port)
{
	if (port->file.reader != NULL)
		tl_pcap_close(port->file.reader);
}

const struct tl_port_ops tl_port_file_ops = {
	.open = file_open,
	.start = file_start,
	.quiesce = file_quiesce,
	.ended = file_ended,
	.sample = file_sample,
	.set_groups = file_set_groups,
	.close = file_close,
};
