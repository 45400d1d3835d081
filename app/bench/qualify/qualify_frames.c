// SPDX-License-Identifier: BSD-3-Clause
// Frames of the source: UDP of 256 flows from 10.0.0.x to 239.1.1.1, port 5001, of one size.

#include "qualify_priv.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/ethernet.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <string.h>

#include <pcap/pcap.h>

#include <tl_err.h>

#define FLOWS 256
#define FRAME_MAX 1514

static uint16_t ip_sum(const struct iphdr *ip)
{
	const uint16_t *words = (const uint16_t *)(const void *)ip;
	uint32_t sum = 0;

	for (size_t i = 0; i < sizeof(*ip) / 2; i++)
		sum += words[i];
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t) ~(sum + (sum >> 16));
}

static void fill(uint8_t *frame, uint32_t size, uint32_t flow)
{
	struct ether_header eth = {.ether_dhost = {0x01, 0x00, 0x5e, 0x01, 0x01, 0x01},
		.ether_shost = {0x02, 0x00, 0x00, 0x00, 0x00, 0x01},
		.ether_type = htons(ETHERTYPE_IP)};
	struct iphdr ip = {.version = 4,
		.ihl = sizeof(ip) / 4,
		.tot_len = htons((uint16_t)(size - sizeof(eth))),
		.ttl = 1,
		.protocol = IPPROTO_UDP,
		.saddr = htonl(0x0a000000 + flow),
		.daddr = htonl(0xef010101)};
	struct udphdr udp = {.source = htons((uint16_t)(20000 + flow)),
		.dest = htons(5001),
		.len = htons((uint16_t)(size - sizeof(eth) - sizeof(ip)))};

	ip.check = ip_sum(&ip);
	memcpy(frame, &eth, sizeof(eth));
	memcpy(frame + sizeof(eth), &ip, sizeof(ip));
	memcpy(frame + sizeof(eth) + sizeof(ip), &udp, sizeof(udp)); // checksum 0: not computed
}

int qualify_write_frames(const char *path, uint32_t size, struct tl_err *err)
{
	uint8_t frame[FRAME_MAX] = {0};
	pcap_t *pcap = pcap_open_dead(DLT_EN10MB, FRAME_MAX);
	pcap_dumper_t *out = pcap == NULL ? NULL : pcap_dump_open(pcap, path);

	for (uint32_t i = 0; i < FLOWS && out != NULL; i++) {
		const struct pcap_pkthdr header = {.caplen = size, .len = size, .ts = {.tv_sec = i}};
		fill(frame, size, i);
		pcap_dump((u_char *)out, &header, frame);
	}
	int rc = out != NULL && pcap_dump_flush(out) == 0 ? 0 : -EIO;
	if (out != NULL)
		pcap_dump_close(out);
	if (pcap != NULL)
		pcap_close(pcap);
	return rc == 0 ? 0 : tl_fail(err, rc, "%s: cannot write the frames of the source", path);
}
