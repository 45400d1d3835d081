// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// test_session: a recording written by hand: segments by side, with sequence numbers relative to the side's SYN.

#include <stdlib.h>
#include <string.h>

#include <tl_session.h>
#include <tl_wire.h>

#include "tl_test.h"

#define SYN TL_TCP_SYN
#define ACK TL_TCP_ACK
#define FIN TL_TCP_FIN
#define RST TL_TCP_RST
#define CLIENT TL_SESSION_CLIENT
#define SERVER TL_SESSION_SERVER
#define START_NS (UINT64_C(1700000000) * TL_NS_PER_S)

struct recording {
	struct tl_session_set *set;
	uint64_t ts_ns; // of the next segment: one microsecond after the previous one
	// Properties of the next segments:
	uint32_t isn[2]; // of client and server
	uint16_t client_port;
	bool ip6, udp, to_group, bad_checksum;
	uint16_t vlan[2];   // tags, the outermost first; 0: none
	uint16_t tag_type;  // of the outermost; 0: 802.1Q
	uint32_t cut_bytes; // missing at the end of the frame
};

static inline struct recording begin_with(const struct tl_session_cfg *cfg)
{
	struct recording r = {.ts_ns = START_NS, .isn = {1000, 5000}, .client_port = 40000};

	if (tl_session_create(cfg, &r.set) != 0)
		abort();
	return r;
}

static inline struct recording begin(void)
{
	return begin_with(&(struct tl_session_cfg){.memory_bytes = 64 << 20, .pause_ns = UINT64_MAX});
}

static inline uint32_t put_ip(const struct recording *r, uint8_t *at, bool from_client, uint32_t l4_bytes)
{
	uint8_t a = from_client ? 1 : 2, b = from_client ? 2 : 1;

	if (r->ip6) {
		*(struct tl_ipv6_hdr *)at = (struct tl_ipv6_hdr){.version_be = tl_be32(6u << 28),
			.payload_len_be = tl_be16((uint16_t)l4_bytes),
			.next = r->udp ? TL_IPPROTO_UDP : TL_IPPROTO_TCP,
			.hop_limit = 64,
			.src.byte = {0x20, 1, 0xd, 0xb8, [15] = a},
			.dst.byte = {r->to_group ? 0xff : 0x20, 1, 0xd, 0xb8, [15] = b}};
		return TL_IPV6_LEN;
	}
	struct tl_ipv4_hdr *ip = (void *)at;
	*ip = (struct tl_ipv4_hdr){.version_ihl = 0x45,
		.total_len_be = tl_be16((uint16_t)(TL_IPV4_LEN + l4_bytes)),
		.ttl = 64,
		.proto = r->udp ? TL_IPPROTO_UDP : TL_IPPROTO_TCP,
		.src_be = tl_be32(0x0a000000u + a),
		.dst_be = tl_be32((r->to_group ? 0xe0000000u : 0x0a000000u) + b)};
	tl_wire_ipv4_finish(ip);
	ip->cksum_be ^= r->bad_checksum ? 1 : 0;
	return TL_IPV4_LEN;
}

static inline uint32_t put_tags(const struct recording *r, uint8_t *frame, uint32_t bytes)
{
	for (int i = 1; i >= 0; i--) {
		uint16_t type = i == 0 && r->tag_type != 0 ? r->tag_type : TL_ETHERTYPE_VLAN;
		const uint16_t tag_be[] = {tl_be16(type), tl_be16(r->vlan[i])};
		if (r->vlan[i] == 0)
			continue;
		memmove(frame + 12 + TL_VLAN_LEN, frame + 12, bytes - 12);
		memcpy(frame + 12, tag_be, sizeof(tag_be));
		bytes += TL_VLAN_LEN;
	}
	return bytes;
}

static inline void record_frame(struct recording *r, uint8_t *frame, uint32_t bytes)
{
	bytes = put_tags(r, frame, bytes);
	CU_ASSERT_EQUAL(tl_session_add(r->set, &(struct tl_session_frame){.data = frame,
						       .cap_bytes = bytes - r->cut_bytes,
						       .wire_bytes = bytes,
						       .ts_ns = r->ts_ns,
						       .link = TL_LINK_ETHERNET}),
		0);
	r->ts_ns += TL_NS_PER_US;
}

// Record a segment of the client (port 40000) or the server (port 80).
static inline void record_bytes(struct recording *r, enum tl_session_side from, uint8_t flags, uint32_t seq,
	uint32_t ack, const void *data, uint32_t len)
{
	uint8_t frame[2048] = {0};
	uint32_t at = TL_ETHER_LEN;
	bool from_client = from == CLIENT;
	uint16_t client_be = tl_be16(r->client_port), server_be = tl_be16(80);
	uint16_t type_be = tl_be16(r->ip6 ? TL_ETHERTYPE_IPV6 : TL_ETHERTYPE_IPV4);

	memcpy(frame + 12, &type_be, sizeof(type_be));
	at += put_ip(r, frame + at, from_client, TL_TCP_LEN + len);
	*(struct tl_tcp_hdr *)(frame + at) = (struct tl_tcp_hdr){
		.src_port_be = from_client ? client_be : server_be,
		.dst_port_be = from_client ? server_be : client_be,
		.seq_be = tl_be32(r->isn[from] + seq),
		.ack_be = tl_be32(r->isn[!from] + ack),
		.data_off = 5 << 4,
		.flags = flags,
	};
	memcpy(frame + at + TL_TCP_LEN, data, len);
	uint32_t bytes = at + TL_TCP_LEN + len;
	record_frame(r, frame, bytes);
}

static inline void record(
	struct recording *r, enum tl_session_side from, uint8_t flags, uint32_t seq, uint32_t ack, const char *text)
{
	record_bytes(r, from, flags, seq, ack, text, (uint32_t)strlen(text));
}

// Record a datagram of the client or the server, with r->udp.
static inline void record_datagram(struct recording *r, enum tl_session_side from, const char *text)
{
	uint8_t frame[2048] = {0};
	uint32_t len = (uint32_t)strlen(text), at = TL_ETHER_LEN;
	uint16_t client_be = tl_be16(r->client_port), server_be = tl_be16(80);
	uint16_t type_be = tl_be16(r->ip6 ? TL_ETHERTYPE_IPV6 : TL_ETHERTYPE_IPV4);

	memcpy(frame + 12, &type_be, sizeof(type_be));
	at += put_ip(r, frame + at, from == CLIENT, TL_UDP_LEN + len);
	*(struct tl_udp_hdr *)(frame + at) = (struct tl_udp_hdr){.src_port_be = from == CLIENT ? client_be : server_be,
		.dst_port_be = from == CLIENT ? server_be : client_be,
		.len_be = tl_be16((uint16_t)(TL_UDP_LEN + len))};
	memcpy(frame + at + TL_UDP_LEN, text, len);
	record_frame(r, frame, at + TL_UDP_LEN + len);
}

static inline void record_handshake(struct recording *r)
{
	record(r, CLIENT, SYN, 0, 0, "");
	record(r, SERVER, SYN | ACK, 0, 1, "");
	record(r, CLIENT, ACK, 1, 1, "");
}

// Close both sides; each has sent this many bytes.
static inline void record_close(struct recording *r, uint32_t client_bytes, uint32_t server_bytes)
{
	record(r, CLIENT, FIN | ACK, 1 + client_bytes, 1 + server_bytes, "");
	record(r, SERVER, FIN | ACK, 1 + server_bytes, 2 + client_bytes, "");
	record(r, CLIENT, ACK, 2 + client_bytes, 2 + server_bytes, "");
}

static inline const struct tl_session_stats *finish(struct recording *r)
{
	const struct tl_session_stats *stats = tl_session_get_stats(r->set);
	uint64_t sum = 0;

	tl_session_finish(r->set);
	for (int i = 0; i < TL_SESSION_CLASSES; i++)
		sum += stats->classes[i];
	CU_ASSERT_EQUAL(sum, tl_session_count(r->set));
	CU_ASSERT_EQUAL(stats->frames_pkts, stats->used_pkts + stats->ignored_pkts + stats->truncated_pkts +
						    stats->stray_pkts + stats->beyond_pkts);
	return stats;
}

// Return true if the session has this class and these streams.
static inline bool is_session(
	const struct recording *r, uint64_t i, enum tl_session_class class, const char *client, const char *server)
{
	const struct tl_session *s = i < tl_session_count(r->set) ? tl_session_at(r->set, i) : NULL;

	return s != NULL && s->class == class && s->bytes[CLIENT] == strlen(client) &&
	       s->bytes[SERVER] == strlen(server) &&
	       (*client == '\0' || memcmp(s->data[CLIENT], client, strlen(client)) == 0) &&
	       (*server == '\0' || memcmp(s->data[SERVER], server, strlen(server)) == 0);
}

// Return true if the script is this: a word per step, "c5" for 5 bytes of the client, "sF" for the server's FIN, "cR"
// for RST.
static inline bool is_script(const struct recording *r, uint64_t i, const char *expected)
{
	const struct tl_session *s = tl_session_at(r->set, i);
	char text[256] = "", word[32];

	for (uint32_t n = 0; n < s->n_steps; n++) {
		const struct tl_session_step *step = &s->steps[n];
		if (step->event == TL_SESSION_DATA)
			snprintf(word, sizeof(word), "%s%c%llu", n != 0 ? " " : "", "cs"[step->side],
				(unsigned long long)step -> bytes);
		else
			snprintf(word, sizeof(word), "%s%c%c", n != 0 ? " " : "", "cs"[step->side],
				step -> event == TL_SESSION_FIN ? 'F' : 'R');
		strncat(text, word, sizeof(text) - strlen(text) - 1);
	}
	if (strcmp(text, expected) != 0)
		printf("# script: %s\n", text);
	return strcmp(text, expected) == 0;
}
