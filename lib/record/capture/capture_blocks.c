// SPDX-License-Identifier: BSD-3-Clause
// Opening and closing pcapng blocks of a file: section, interfaces, statistics.

#include "capture_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>

#include <tl_zslab.h>

static bool sends(const struct tl_capture *c)
{
	return tl_port_config(c->cfg.port)->tx_queues != 0;
}

static bool shows_sent(const struct tl_capture *c)
{
	return tl_port_traits(&tl_port_config(c->cfg.port)->spec)->shows_sent;
}

// True if received bursts of the queue are recorded; on a kernel interface these include sent frames.
static bool takes(const struct tl_capture *c, const struct tl_tap *tap)
{
	return tap->dir[TL_DIR_RX] || shows_sent(c);
}

static enum tl_ts_source source_of(const struct tl_capture *c, uint16_t queue)
{
	return takes(c, &c->taps[queue]) ? tl_port_rxq(c->cfg.port, queue)->source : TL_TS_TSC;
}

// True if some frames of the queue may lack its timestamp source.
static bool may_lack_stamps(const struct tl_capture *c, uint16_t queue)
{
	return takes(c, &c->taps[queue]) && tl_port_rxq(c->cfg.port, queue)->stamp_flag != 0;
}

// Number one interface per queue and timestamp source, so that records need no option for the source. Sent frames and
// frames without a stamp have the TSC's.
void tl_capture_number_interfaces(struct tl_capture *c)
{
	uint32_t next = 0;

	for (uint16_t q = 0; q < c->n_queues; q++) {
		struct tl_tap *tap = &c->taps[q];
		bool has_tsc = may_lack_stamps(c, q) || (tap->dir[TL_DIR_TX] && sends(c));
		tap->interface_id = tap->tsc_interface_id = next++;
		if (source_of(c, q) != TL_TS_TSC && has_tsc)
			tap->tsc_interface_id = next++;
	}
}

static bool is_shared(const struct tl_tap *tap)
{
	return tap->tsc_interface_id == tap->interface_id;
}

// Name the frames of an interface: the queue's first, or its second.
static const char *frames_of(const struct tl_capture *c, uint16_t queue, bool second)
{
	const struct tl_tap *tap = &c->taps[queue];
	bool tx = tap->dir[TL_DIR_TX];

	if (second && may_lack_stamps(c, queue))
		return tx && sends(c) ? "sent, or received without a stamp" : "without a stamp";
	if (second)
		return "sent";
	tx = tx && (is_shared(tap) || shows_sent(c));
	return tap->dir[TL_DIR_RX] && tx ? "received and sent" : tx ? "sent" : "received";
}

unsigned tl_capture_sources(const struct tl_capture *c, enum tl_ts_source sources[2])
{
	sources[0] = source_of(c, 0);
	sources[1] = TL_TS_TSC;
	return is_shared(&c->taps[0]) ? 1 : 2;
}

// Name the source of stamps and where they are taken.
static const char *taker_of(enum tl_ts_source source)
{
	switch (source) {
	case TL_TS_TSC:
		return " (software, when the poll returned)";
	case TL_TS_KERNEL:
		return " (software, when the kernel took the frame from its driver or was about to give it one)";
	case TL_TS_NIC_RX:
		return " (hardware, when the NIC received the frame)";
	default:
		return "";
	}
}

// Describe the stamps' unit, which the IDB lacks (its own is ns), and their bound at the start of the file; the
// largest, known at the end, is in the CLOCK block.
static void describe(const struct tl_capture *c, enum tl_ts_source source, char *text, size_t size)
{
	struct tl_port_stamps stamps;
	char unit[24] = "unknown", bound[48] = "unknown";

	tl_port_stamps(c->cfg.port, &stamps);
	if (source == TL_TS_TSC)
		stamps = (struct tl_port_stamps){
			.unit_ns = 1, .has_bound = true, .bound_ns = tl_clock_bound_ns(c->cfg.clock)};
	if (stamps.unit_ns != 0)
		snprintf(unit, sizeof(unit), "%u ns", stamps.unit_ns);
	if (stamps.has_bound)
		snprintf(bound, sizeof(bound), "%llu ns at start", (unsigned long long)stamps.bound_ns);
	snprintf(text, size, "%s, unit %s, bound %s", taker_of(source), unit, bound);
}

static uint32_t put_interface(const struct tl_capture *c, uint16_t queue, bool second, void *buf, uint32_t size)
{
	enum tl_ts_source source = second ? TL_TS_TSC : source_of(c, queue);
	char description[384], details[176], cutoff[48] = "", classes[48] = "";

	if (c->cfg.cutoff_bytes != 0)
		snprintf(cutoff, sizeof(cutoff), ", first %u bytes of each flow", c->cfg.cutoff_bytes);
	if (c->cfg.n_classes != 0)
		snprintf(classes, sizeof(classes), ", limited by %u class%s", c->cfg.n_classes,
			c->cfg.n_classes == 1 ? "" : "es");
	describe(c, source, details, sizeof(details));
	snprintf(description, sizeof(description), "queue %u, %s%s%s, timestamps: %s%s", queue,
		frames_of(c, queue, second), cutoff, classes, tl_ts_source_name(source), details);
	return tl_pcapng_put_idb(buf, size,
		&(struct tl_pcapng_idb){.name = tl_port_config(c->cfg.port)->spec.text,
			.description = description,
			.filter = c->cfg.filter,
			.snaplen = c->cfg.snaplen,
			.speed_bps = tl_port_speed_bps(c->cfg.port)});
}

// Write the opening blocks; 0 if one does not fit.
uint32_t tl_capture_prologue(void *capture, void *buf, uint32_t size)
{
	const struct tl_capture *c = capture;
	struct utsname os;
	char os_text[256] = "Linux";
	bool waits_in_memory = c->cfg.trigger.on && !c->cfg.trigger.in_files; // a trigger precedes the file

	if (uname(&os) == 0)
		snprintf(os_text, sizeof(os_text), "%.100s %.100s", os.sysname, os.release);
	uint32_t used = tl_pcapng_put_shb(buf, size,
		&(struct tl_pcapng_shb){.os = os_text,
			.application = "tapline " TL_VERSION,
			.comment = waits_in_memory ? c->trigger.comment : NULL});
	for (uint16_t q = 0; q < c->n_queues && used != 0; q++) {
		for (int second = 0; second < (is_shared(&c->taps[q]) ? 1 : 2) && used != 0; second++) {
			uint32_t len = put_interface(c, q, second, (uint8_t *)buf + used, size - used);
			used = len == 0 ? 0 : used + len;
		}
	}
	return used;
}

static void add_flow(const struct tl_capture *c, uint16_t queue, enum tl_dir dir, struct tl_pcapng_isb *isb)
{
	const struct tl_tap_flow *flow = &c->taps[queue].flow[dir];
	// The writer first: see tl_capture_sample().
	uint64_t unsaved = tl_writer_expired_pkts(c->writer, queue, dir);
	uint64_t left_out = tl_count_read(&flow->cut_pkts) + tl_count_read(&flow->expired_pkts) +
			    tl_count_read(&flow->paused_pkts) +
			    tl_count_read(&c->taps[queue].policed[dir].policed_pkts);
	uint64_t offered = tl_count_read(&flow->offered_pkts);
	uint64_t accepted = offered - tl_count_read(&flow->filtered_pkts);
	uint64_t dropped = tl_count_read(&flow->drop_ring_pkts);

	isb->received_pkts += offered;
	isb->accepted_pkts += accepted;
	isb->os_dropped_pkts += dropped;
	isb->delivered_pkts += accepted - dropped - left_out - unsaved;
}

// Write statistics per interface. Sent frames with an interface of their own have their counters there. Frames without
// a stamp are counted with the others.
static uint32_t put_statistics(
	const struct tl_capture *c, uint16_t queue, bool second, uint64_t now_ns, void *buf, uint32_t size)
{
	const struct tl_tap *tap = &c->taps[queue];
	bool apart = !is_shared(tap) && sends(c);
	uint32_t id = second ? tap->tsc_interface_id : tap->interface_id;
	struct tl_pcapng_isb isb = {.interface_id = id,
		.ts_ns = now_ns,
		.start_ns = c->start_ns,
		.end_ns = now_ns,
		.if_dropped_pkts = id == 0 ? tl_count_read(&c->port_drops) : UINT64_MAX};

	if (!second)
		add_flow(c, queue, TL_DIR_RX, &isb);
	if (second == apart)
		add_flow(c, queue, TL_DIR_TX, &isb);
	return tl_pcapng_put_isb(buf, size, &isb);
}

uint32_t tl_capture_epilogue(void *capture, void *buf, uint32_t size)
{
	struct tl_capture *c = capture;
	uint64_t now_ns = tl_clock_wall_ns(c->cfg.clock, rte_rdtsc());
	uint32_t used = 0;

	for (uint16_t q = 0; q < c->n_queues; q++) {
		bool apart = !is_shared(&c->taps[q]) && sends(c);
		for (int second = 0; second < (apart ? 2 : 1); second++) {
			uint32_t len = put_statistics(c, q, second, now_ns, (uint8_t *)buf + used, size - used);
			if (len == 0)
				return 0;
			used += len;
		}
	}
	return used + tl_capture_clocks_put(&c->clocks, (uint8_t *)buf + used, size - used);
}

// ---- other file forms

typedef uint32_t blocks_fn(void *capture, void *buf, uint32_t size);

// Compress blocks. A packer per call: calls are rare, on any of the writer's threads.
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
