// SPDX-License-Identifier: BSD-3-Clause
// The pcapng blocks that open and close a recording's files: section, interfaces, statistics.

#include "capture_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <time.h>

#include <tl_zslab.h>

// Of frames that we send, ourselves; of those that the host sends, the kernel, as of those received.
static enum tl_ts_source source_of(const struct tl_capture *c, uint16_t queue, enum tl_dir dir)
{
	bool sends = tl_port_config(c->cfg.port)->tx_queues != 0;

	return dir == TL_DIR_TX && sends ? TL_TS_TSC : tl_port_rxq(c->cfg.port, queue)->source;
}

// One interface per queue and timestamp source: a record then needs no option to say where its time comes from.
void tl_capture_number_interfaces(struct tl_capture *c)
{
	uint32_t next = 0;

	for (uint16_t q = 0; q < c->n_queues; q++) {
		struct tl_tap *tap = &c->taps[q];
		bool two = tap->dir[TL_DIR_RX] && tap->dir[TL_DIR_TX] &&
			   source_of(c, q, TL_DIR_TX) != source_of(c, q, TL_DIR_RX);
		tap->interface_id[TL_DIR_RX] = next++;
		tap->interface_id[TL_DIR_TX] = two ? next++ : tap->interface_id[TL_DIR_RX];
	}
}

static bool is_shared(const struct tl_tap *tap)
{
	return tap->interface_id[TL_DIR_TX] == tap->interface_id[TL_DIR_RX];
}

// Which frames an interface is for.
static const char *frames_of(const struct tl_tap *tap, enum tl_dir dir)
{
	if (tap->dir[TL_DIR_RX] && tap->dir[TL_DIR_TX] && is_shared(tap))
		return "received and sent";
	return tap->dir[TL_DIR_TX] && (dir == TL_DIR_TX || !tap->dir[TL_DIR_RX]) ? "sent" : "received";
}

static uint32_t put_interface(const struct tl_capture *c, uint16_t queue, enum tl_dir dir, void *buf, uint32_t size)
{
	const struct tl_tap *tap = &c->taps[queue];
	enum tl_ts_source source = source_of(c, queue, tap->dir[TL_DIR_RX] ? dir : TL_DIR_TX);
	char description[192], cutoff[48] = "";

	if (c->cfg.cutoff_bytes != 0)
		snprintf(cutoff, sizeof(cutoff), ", first %u bytes of each flow", c->cfg.cutoff_bytes);
	int used = snprintf(description, sizeof(description), "queue %u, %s%s, timestamps: %s", queue,
		frames_of(tap, dir), cutoff, tl_ts_source_name(source));
	if (source == TL_TS_TSC)
		snprintf(description + used, sizeof(description) - (size_t)used,
			" (software, when the poll returned), clock within %llu ns at start",
			(unsigned long long)tl_clock_bound_ns(c->cfg.clock));
	else if (source == TL_TS_KERNEL)
		snprintf(description + used, sizeof(description) - (size_t)used,
			" (software, when the kernel took the frame from its driver or was about to give it one)");
	return tl_pcapng_put_idb(buf, size,
		&(struct tl_pcapng_idb){.name = tl_port_config(c->cfg.port)->spec.text,
			.description = description,
			.filter = c->cfg.filter,
			.snaplen = c->cfg.snaplen,
			.speed_bps = tl_port_speed_bps(c->cfg.port)});
}

// Writes one block after another; 0 as soon as one does not fit.
uint32_t tl_capture_prologue(void *capture, void *buf, uint32_t size)
{
	const struct tl_capture *c = capture;
	struct utsname os;
	char os_text[256] = "Linux";
	bool waits_in_memory = c->cfg.trigger.on && !c->cfg.trigger.in_files; // then a trigger came before the file

	if (uname(&os) == 0)
		snprintf(os_text, sizeof(os_text), "%.100s %.100s", os.sysname, os.release);
	uint32_t used = tl_pcapng_put_shb(buf, size,
		&(struct tl_pcapng_shb){.os = os_text,
			.application = "tapline " TL_VERSION,
			.comment = waits_in_memory ? c->trigger.comment : NULL});
	for (uint16_t q = 0; q < c->n_queues && used != 0; q++) {
		for (int dir = 0; dir < TL_DIRS && used != 0; dir++) {
			if (dir == TL_DIR_TX && is_shared(&c->taps[q]))
				continue;
			uint32_t len = put_interface(c, q, (enum tl_dir)dir, (uint8_t *)buf + used, size - used);
			used = len == 0 ? 0 : used + len;
		}
	}
	return used;
}

static void add_flow(const struct tl_capture *c, uint16_t queue, enum tl_dir dir, struct tl_pcapng_isb *isb)
{
	const struct tl_tap_flow *flow = &c->taps[queue].flow[dir];
	// The writer's first: see tl_capture_sample().
	uint64_t unsaved = tl_writer_expired_pkts(c->writer, queue, dir);
	uint64_t left_out =
		tl_count_read(&flow->cut_pkts) + tl_count_read(&flow->expired_pkts) + tl_count_read(&flow->paused_pkts);
	uint64_t offered = tl_count_read(&flow->offered_pkts);
	uint64_t accepted = offered - tl_count_read(&flow->filtered_pkts);
	uint64_t dropped = tl_count_read(&flow->drop_ring_pkts);

	isb->received_pkts += offered;
	isb->accepted_pkts += accepted;
	isb->os_dropped_pkts += dropped;
	isb->delivered_pkts += accepted - dropped - left_out - unsaved;
}

uint32_t tl_capture_epilogue(void *capture, void *buf, uint32_t size)
{
	const struct tl_capture *c = capture;
	uint64_t now_ns = tl_clock_wall_ns(c->cfg.clock, rte_rdtsc());
	uint32_t used = 0;

	for (uint16_t q = 0; q < c->n_queues; q++) {
		const struct tl_tap *tap = &c->taps[q];
		for (int dir = 0; dir < (is_shared(tap) ? 1 : TL_DIRS); dir++) {
			struct tl_pcapng_isb isb = {.interface_id = tap->interface_id[dir],
				.ts_ns = now_ns,
				.start_ns = c->start_ns,
				.end_ns = now_ns,
				.if_dropped_pkts =
					tap->interface_id[dir] == 0 ? tl_count_read(&c->port_drops) : UINT64_MAX};
			add_flow(c, q, (enum tl_dir)dir, &isb);
			if (is_shared(tap))
				add_flow(c, q, TL_DIR_TX, &isb);
			uint32_t len = tl_pcapng_put_isb((uint8_t *)buf + used, size - used, &isb);
			if (len == 0)
				return 0;
			used += len;
		}
	}
	return used;
}

// ---- the same for files of another form

typedef uint32_t blocks_fn(void *capture, void *buf, uint32_t size);

// A packer for each time: this is done once in a while, on any of the writer's threads.
static uint32_t pack(struct tl_capture *c, blocks_fn *fill, void *buf, uint32_t size)
{
	struct tl_zslab_packer *packer = tl_zslab_packer_create(c->cfg.compress_level);
	uint8_t *blocks = malloc(size);
	int64_t bytes = 0;

	if (packer != NULL && blocks != NULL) {
		uint32_t len = fill(c, blocks, size / 2);
		bytes = len != 0 ? tl_zslab_pack_blocks(packer, blocks, len, buf, size) : 0;
	}
	free(blocks);
	tl_zslab_packer_destroy(packer);
	return bytes > 0 ? (uint32_t)bytes : 0;
}

uint32_t tl_capture_packed_prologue(void *capture, void *buf, uint32_t size)
{
	return pack(capture, tl_capture_prologue, buf, size);
}

uint32_t tl_capture_packed_epilogue(void *capture, void *buf, uint32_t size)
{
	return pack(capture, tl_capture_epilogue, buf, size);
}

uint32_t tl_capture_pcap_prologue(void *capture, void *buf, uint32_t size)
{
	const struct tl_capture *c = capture;

	return tl_pcap_put_header(buf, size, c->cfg.snaplen);
}
