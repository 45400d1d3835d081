// SPDX-License-Identifier: BSD-3-Clause
// pcap: libpcap, as tcpdump uses it. On Linux it reads an RX_RING: TPACKET_V3 in its default mode, TPACKET_V2 in
// immediate mode, where each frame wakes the program. A callback per frame is all that it adds. pcap-dump is a
// recorder, as `tcpdump -w /dev/null` is one: it saves each frame by pcap_dump(), through the buffer of stdio.

#include <errno.h>
#include <poll.h>

#include <pcap/pcap.h>

#include "ladder_priv.h"

#define SNAPLEN 2048 // in immediate mode each slot has this size

struct lane {
	pcap_t *pcap;
	pcap_dumper_t *dumper; // NULL: frames are not saved
	struct tl_ladder_sink *sink;
};

static void close_lane(void *arg)
{
	const struct lane *lane = arg;

	if (lane->dumper != NULL)
		pcap_dump_close(lane->dumper);
	if (lane->pcap != NULL)
		pcap_close(lane->pcap);
}

static int configure(pcap_t *pcap, int mode, uint32_t buffer_bytes, struct tl_err *err)
{
	char text[PCAP_ERRBUF_SIZE] = "";

	if (pcap_set_snaplen(pcap, SNAPLEN) != 0 || pcap_set_timeout(pcap, 4) != 0 ||
		pcap_set_buffer_size(pcap, (int)buffer_bytes) != 0 ||
		pcap_set_immediate_mode(pcap, mode == LADDER_IMMEDIATE) != 0 || pcap_activate(pcap) < 0)
		return tl_fail(err, -EIO, "libpcap: %s", pcap_geterr(pcap));
	if (pcap_setdirection(pcap, PCAP_D_IN) != 0 || pcap_setnonblock(pcap, 1, text) != 0)
		return tl_fail(err, -EIO, "libpcap: %s%s", pcap_geterr(pcap), text);
	return 0;
}

static int open_lane(void *arg, const struct tl_ladder_rung *rung, const struct tl_ladder_cfg *cfg, struct tl_err *err)
{
	char text[PCAP_ERRBUF_SIZE] = "";
	struct lane *lane = arg;

	lane->pcap = pcap_create(cfg->ifname, text);
	int rc = lane->pcap != NULL ? configure(lane->pcap, rung->mode, cfg->buffer_bytes, err)
				    : tl_fail(err, -ENOMEM, "libpcap: %s", text);
	if (rc != 0 || rung->mode != LADDER_DUMP)
		return rc;
	lane->dumper = pcap_dump_open(lane->pcap, "/dev/null");
	return lane->dumper != NULL ? 0 : tl_fail(err, -EIO, "libpcap: %s", pcap_geterr(lane->pcap));
}

static void take(u_char *arg, const struct pcap_pkthdr *header, const u_char *frame)
{
	const struct lane *lane = (const struct lane *)(const void *)arg;

	if (lane->dumper != NULL)
		pcap_dump((u_char *)lane->dumper, header, frame);
	tl_ladder_take(lane->sink, frame, header->len);
}

static int receive(void *arg, struct tl_ladder_sink *sink, const atomic_bool *stop)
{
	struct lane *lane = arg;
	pcap_t *pcap = lane->pcap;
	struct pollfd wait = {.fd = pcap_get_selectable_fd(pcap), .events = POLLIN};

	lane->sink = sink;
	while (!atomic_load_explicit(stop, memory_order_relaxed)) {
		if (poll(&wait, 1, TL_LADDER_WAIT_MS) < 0 && errno != EINTR)
			return -errno;
		if (pcap_dispatch(pcap, -1, take, arg) < 0)
			return -EIO;
	}
	return 0;
}

static uint64_t dropped(void *arg)
{
	struct pcap_stat stats = {0};

	return pcap_stats(((const struct lane *)arg)->pcap, &stats) == 0 ? stats.ps_drop : 0;
}

const struct tl_ladder_ops ladder_pcap = {sizeof(struct lane), open_lane, NULL, receive, dropped, close_lane};
