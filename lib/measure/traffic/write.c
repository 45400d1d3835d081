// SPDX-License-Identifier: BSD-3-Clause
// Capture writer: pcap (draft-ietf-opsawg-pcap) or pcapng (draft-ietf-opsawg-pcapng), of either byte order, in micro-
// or nanoseconds, with any link header that the matcher reads. A separate encoder, as that of recordings has one
// form only.

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <tl_wire.h>

#include "traffic_priv.h"

#define FRAME_MAX 2048
#define MARK_RECEIVED 1 // epb_flags
#define MARK_SENT 2

struct out {
	uint8_t bytes[FRAME_MAX];
	uint32_t n;
	bool big_endian; // byte order of put32()
};

static void put(struct out *out, uint64_t value, unsigned bytes, bool big_endian)
{
	for (unsigned i = 0; i < bytes; i++)
		out->bytes[out->n++] = (uint8_t)(value >> 8 * (big_endian ? bytes - 1 - i : i));
}

// Write in network byte order, as on the wire.
static void put_net(struct out *out, uint64_t value, unsigned bytes)
{
	put(out, value, bytes, true);
}

// Write in the byte order of the file.
static void put16(struct out *out, uint32_t value)
{
	put(out, value, 2, out->big_endian);
}

static void put32(struct out *out, uint64_t value)
{
	put(out, value, 4, out->big_endian);
}

// ---- frames

static void put_link(struct out *out, const struct world *w, bool sent)
{
	bool six = has(w, TL_TRAFFIC_IP6);
	uint16_t ethertype = six ? TL_ETHERTYPE_IPV6 : TL_ETHERTYPE_IPV4;

	switch (w->link) {
	case TL_LINK_NULL:
		put32(out, w->family);
		break;
	case TL_LINK_LOOP:
		put_net(out, w->family, 4);
		break;
	case TL_LINK_RAW:
	case TL_LINK_IPV4:
	case TL_LINK_IPV6:
		break;
	case TL_LINK_SLL:
		put_net(out, sent ? 4 : 0, 2);
		put_net(out, 1, 2); // ARPHRD_ETHER
		put_net(out, 6, 2);
		put_net(out, 0x0200000000010000, 8);
		put_net(out, ethertype, 2);
		break;
	case TL_LINK_SLL2:
		put_net(out, ethertype, 2);
		put_net(out, 0, 2);
		put_net(out, 1, 4); // interface
		put_net(out, 1, 2);
		put_net(out, sent ? 4 : 0, 1);
		put_net(out, 6, 1);
		put_net(out, 0x0200000000010000, 8);
		break;
	default:
		put_net(out, 0x020000000001, 6);
		put_net(out, 0x020000000002, 6);
		if (has(w, TL_TRAFFIC_VLAN))
			put_net(out, (uint64_t)TL_ETHERTYPE_VLAN << 16 | 7, 4);
		put_net(out, ethertype, 2);
	}
}

static void put_network(struct out *out, const struct world *w, uint8_t protocol, uint32_t bytes)
{
	if (has(w, TL_TRAFFIC_IP6)) {
		put_net(out, UINT64_C(6) << 28, 4);
		put_net(out, bytes, 2);
		put_net(out, protocol, 1);
		put_net(out, 64, 1);
		for (unsigned host = 1; host <= 2; host++) {
			put_net(out, 0x20010db800000000, 8); // documentation, RFC 3849
			put_net(out, host, 8);
		}
		return;
	}
	put_net(out, 0x4500, 2); // version and header length; no type of service
	put_net(out, TL_IPV4_LEN + bytes, 2);
	put_net(out, 0, 4); // no identification, no fragment
	put_net(out, 64, 1);
	put_net(out, protocol, 1);
	put_net(out, 0, 2);	     // checksum: not verified
	put_net(out, 0xc0000201, 4); // documentation, RFC 5737
	put_net(out, 0xc0000202, 4);
}

static void put_transport(struct out *out, const struct world *w, const struct frame *frame)
{
	const struct flow *flow = frame->noise ? NULL : &w->flow[frame->flow];
	uint16_t from = flow != NULL ? flow->from_port : 9, to = flow != NULL ? flow->to_port : 9;

	put_net(out, from, 2);
	put_net(out, to, 2);
	if (frame->protocol == TL_IPPROTO_UDP) {
		put_net(out, TL_UDP_LEN + frame->bytes, 2);
		put_net(out, 0, 2);
	} else {
		put_net(out, flow->isn + frame->place, 4);
		put_net(out, 0, 4);
		put_net(out, TL_TCP_LEN / 4 << 4, 1);
		put_net(out, frame->tcp_flags, 1);
		put_net(out, 8192, 2); // window
		put_net(out, 0, 4);    // checksum, urgent pointer
	}
	if (frame->bytes != 0)
		memcpy(out->bytes + out->n, w->bytes + flow->text_at + frame->place, frame->bytes);
	out->n += frame->bytes;
}

// Encode a frame. Return its captured length.
static uint32_t make_frame(struct out *out, const struct world *w, const struct frame *frame)
{
	uint32_t header = frame->protocol == TL_IPPROTO_UDP ? TL_UDP_LEN : TL_TCP_LEN;

	put_link(out, w, frame->side == REPLY && w->is.files == 1);
	put_network(out, w, frame->protocol, header + frame->bytes);
	put_transport(out, w, frame);
	return has(w, TL_TRAFFIC_CUT) ? out->n - frame->bytes : out->n;
}

// ---- files

static void put_file_header(struct out *out, const struct world *w, uint32_t unit_ns)
{
	static const uint16_t numbers[] = {[TL_LINK_ETHERNET] = 1,
		[TL_LINK_NULL] = 0,
		[TL_LINK_LOOP] = 108,
		[TL_LINK_RAW] = 101,
		[TL_LINK_IPV4] = 228,
		[TL_LINK_IPV6] = 229,
		[TL_LINK_SLL] = 113,
		[TL_LINK_SLL2] = 276};

	if (has(w, TL_TRAFFIC_PCAPNG)) {
		put32(out, 0x0a0d0d0a);
		put32(out, 28);
		put32(out, 0x1a2b3c4d);
		put32(out, out->big_endian ? 1u << 16 : 1); // version 1.0, two fields of 16 bits
		put32(out, UINT32_MAX);
		put32(out, UINT32_MAX);
		put32(out, 28);
		put32(out, 1); // an interface
		put32(out, 32);
		put16(out, numbers[w->link]);
		put16(out, 0);
		put32(out, 0);
		put16(out, 9); // if_tsresol
		put16(out, 1);
		put_net(out, (uint64_t)(unit_ns == 1 ? 9 : 6) << 24, 4);
		put32(out, 0);
		put32(out, 32);
		return;
	}
	put32(out, unit_ns == 1 ? 0xa1b23c4d : 0xa1b2c3d4);
	put32(out, out->big_endian ? 2u << 16 | 4 : 4u << 16 | 2);
	put32(out, 0);
	put32(out, 0);
	put32(out, 262144);
	put32(out, numbers[w->link]);
}

static void put_record(struct out *out, const struct world *w, const struct frame *frame, uint32_t unit_ns)
{
	struct out body = {.big_endian = out->big_endian};
	uint32_t cap_bytes = make_frame(&body, w, frame), padded = (cap_bytes + 3) & ~3u;
	bool marked = has(w, TL_TRAFFIC_MARKED);
	uint32_t block_bytes = 32 + padded + (marked ? 12 : 0);
	uint64_t ticks = frame->stamp_ns / unit_ns;

	if (!has(w, TL_TRAFFIC_PCAPNG)) {
		put32(out, frame->stamp_ns / TL_NS_PER_S);
		put32(out, frame->stamp_ns % TL_NS_PER_S / unit_ns);
	} else {
		put32(out, 6);
		put32(out, block_bytes);
		put32(out, 0);
		put32(out, ticks >> 32);
		put32(out, ticks);
	}
	put32(out, cap_bytes);
	put32(out, body.n);
	memcpy(out->bytes + out->n, body.bytes, cap_bytes);
	out->n += cap_bytes;
	if (!has(w, TL_TRAFFIC_PCAPNG))
		return;
	put(out, 0, padded - cap_bytes, false);
	if (marked) {
		put16(out, 2); // epb_flags
		put16(out, 4);
		put32(out, (w->is.seed & 1) != 0 && frame->side == REPLY ? MARK_SENT : MARK_RECEIVED);
		put32(out, 0);
	}
	put32(out, block_bytes);
}

static void write_frames(const struct world *w, unsigned side, FILE *file)
{
	uint32_t unit_ns = w->unit_ns[side];
	struct out out = {.big_endian = has(w, TL_TRAFFIC_BIG_ENDIAN)};

	put_file_header(&out, w, unit_ns);
	fwrite(out.bytes, 1, out.n, file);
	for (uint32_t i = 0; i < w->frames; i++) {
		if (w->is.files == 2 && w->frame[i].side != side)
			continue;
		out.n = 0;
		put_record(&out, w, &w->frame[i], unit_ns);
		fwrite(out.bytes, 1, out.n, file);
	}
}

int tl_traffic_write(const struct tl_traffic *traffic, const char *const path[TL_TRAFFIC_FILES], struct tl_err *err)
{
	const struct world *w = (const struct world *)traffic;

	for (unsigned side = 0; side < traffic->files; side++) {
		FILE *file = fopen(path[side], "we");
		if (file == NULL)
			return tl_fail(err, -errno, "%.300s: cannot write: %s", path[side], strerror(errno));
		write_frames(w, side, file);
		bool failed = ferror(file) != 0;
		if (fclose(file) != 0 || failed)
			return tl_fail(err, -EIO, "%.300s: cannot write all of it: %s", path[side], strerror(errno));
	}
	return 0;
}
