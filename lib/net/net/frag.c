// SPDX-License-Identifier: BSD-3-Clause
// Reassembly of UDP datagrams from IPv4 fragments (RFC 791, section 3.2; RFC 815). Memory is fixed: with too many
// datagrams the oldest is evicted. Conflicting fragments refuse the whole datagram (as RFC 5722, section 4, for IPv6).

#include <errno.h>
#include <string.h>

#include <rte_malloc.h>

#include "net_priv.h"

#define DATAGRAMS 16
#define TIMEOUT_NS (15 * TL_NS_PER_S) // RFC 791, section 3.2; longer invites a reused identification (RFC 4963)
#define BLOCK_BYTES 8u
#define BYTES_MAX (UINT16_MAX - TL_IPV4_LEN)
#define BLOCKS ((BYTES_MAX + BLOCK_BYTES - 1) / BLOCK_BYTES)

struct fragment {
	const uint8_t *bytes;
	uint32_t from, to; // byte range in the datagram
	bool last;
};

struct datagram {
	uint64_t deadline_ns; // 0: free
	uint32_t src_be, dst_be;
	uint16_t id_be;
	uint16_t len; // 0: unknown until the last fragment
	uint16_t have;
	uint16_t seen_to; // largest end of a fragment
	bool refused;
	uint64_t here[(BLOCKS + 63) / 64]; // one bit per block
	uint8_t bytes[BLOCKS * BLOCK_BYTES];
};

struct tl_frag_table {
	uint64_t next_deadline_ns; // earliest deadline
	struct datagram datagram[DATAGRAMS];
};

int tl_frag_init(struct tl_net *net)
{
	if (!net->cfg.reassemble)
		return 0;
	net->frag = rte_zmalloc_socket("tl_frag", sizeof(*net->frag), TL_CACHE_LINE, net->cfg.socket_id);
	if (net->frag == NULL)
		return -ENOMEM;
	net->frag->next_deadline_ns = UINT64_MAX;
	return 0;
}

void tl_frag_fini(struct tl_net *net)
{
	rte_free(net->frag);
}

// ---- the table

static struct datagram *find(struct tl_frag_table *table, const struct tl_ipv4_hdr *ip)
{
	for (unsigned i = 0; i < DATAGRAMS; i++) {
		struct datagram *d = &table->datagram[i];
		if (d->deadline_ns != 0 && d->id_be == ip->id_be && d->src_be == ip->src_be && d->dst_be == ip->dst_be)
			return d;
	}
	return NULL;
}

// Return a free slot (deadline 0), or evict the oldest.
static struct datagram *make_room(struct tl_net *net)
{
	struct datagram *oldest = &net->frag->datagram[0];

	for (unsigned i = 1; i < DATAGRAMS; i++) {
		if (net->frag->datagram[i].deadline_ns < oldest->deadline_ns)
			oldest = &net->frag->datagram[i];
	}
	if (oldest->deadline_ns != 0 && !oldest->refused)
		tl_count(&net->stats.frag_evicted, 1);
	return oldest;
}

static struct datagram *begin(struct tl_net *net, const struct tl_ipv4_hdr *ip)
{
	struct datagram *d = make_room(net);

	memset(d, 0, offsetof(struct datagram, bytes));
	d->deadline_ns = net->now_ns + TIMEOUT_NS;
	d->src_be = ip->src_be;
	d->dst_be = ip->dst_be;
	d->id_be = ip->id_be;
	net->frag->next_deadline_ns = tl_min_u64(net->frag->next_deadline_ns, d->deadline_ns);
	tl_count(&net->stats.frag_datagrams, 1);
	return d;
}

void tl_frag_tick(struct tl_net *net)
{
	struct tl_frag_table *table = net->frag;

	if (table == NULL || net->now_ns < table->next_deadline_ns)
		return;
	table->next_deadline_ns = UINT64_MAX;
	for (unsigned i = 0; i < DATAGRAMS; i++) {
		struct datagram *d = &table->datagram[i];
		if (d->deadline_ns == 0)
			continue;
		if (net->now_ns < d->deadline_ns) {
			table->next_deadline_ns = tl_min_u64(table->next_deadline_ns, d->deadline_ns);
			continue;
		}
		if (!d->refused)
			tl_count(&net->stats.frag_expired, 1);
		d->deadline_ns = 0;
	}
}

// ---- one fragment

// Parse a fragment. False: invalid length or offset.
static bool read_fragment(const struct tl_ipv4_hdr *ip, struct fragment *out)
{
	uint16_t word = tl_be16(ip->frag_be);
	uint16_t header_len = (ip->version_ihl & 0x0f) * 4;
	uint32_t len = tl_be16(ip->total_len_be) - header_len;

	out->bytes = (const uint8_t *)ip + header_len;
	out->from = (word & TL_IPV4_FRAG_OFFSET) * BLOCK_BYTES;
	out->to = out->from + len;
	out->last = (word & TL_IPV4_MORE_FRAGMENTS) == 0;
	return len > 0 && out->to <= BYTES_MAX && (out->last || len % BLOCK_BYTES == 0);
}

static uint32_t count_blocks_here(const struct datagram *d, uint32_t begin, uint32_t end)
{
	uint32_t n = 0;

	for (uint32_t i = begin; i < end; i++)
		n += d->here[i / 64] >> i % 64 & 1;
	return n;
}

// True if the fragment fits the known end of the datagram.
static bool ends_agree(const struct datagram *d, const struct fragment *f)
{
	if (d->len != 0)
		return f->last ? f->to == d->len : f->to < d->len;
	return !f->last || d->seen_to < f->to;
}

static void take(struct datagram *d, const struct fragment *f, uint32_t begin, uint32_t end)
{
	for (uint32_t i = begin; i < end; i++)
		d->here[i / 64] |= UINT64_C(1) << i % 64;
	memcpy(d->bytes + f->from, f->bytes, f->to - f->from);
	d->have += (uint16_t)(f->to - f->from);
	d->seen_to = (uint16_t)tl_max_u64(d->seen_to, f->to);
	if (f->last)
		d->len = (uint16_t)f->to;
}

static void refuse(struct tl_net *net, struct datagram *d)
{
	tl_count(&net->stats.drop_frag_overlap_pkts, 1);
	if (!d->refused)
		tl_count(&net->stats.frag_refused, 1);
	d->refused = true;
}

// Verify the checksum of the whole datagram, and deliver it.
static void deliver(struct tl_net *net, const struct datagram *d)
{
	const struct tl_udp_hdr *udp = (const struct tl_udp_hdr *)d->bytes;
	struct tl_pkt pkt = {.kind = TL_PKT_UDP, .payload_off = TL_UDP_LEN, .src_be = d->src_be, .dst_be = d->dst_be};
	uint16_t len = tl_be16(udp->len_be);

	tl_count(&net->stats.frag_reassembled, 1);
	pkt.src_port_be = udp->src_port_be;
	pkt.dst_port_be = udp->dst_port_be;
	pkt.payload_len = len - TL_UDP_LEN;
	if (len < TL_UDP_LEN || len > d->len || !tl_wire_l4_cksum_ok(d->bytes, &pkt))
		tl_count(&net->stats.frag_bad_udp, 1);
	else if (!tl_udp_input(net, d->bytes, &pkt))
		tl_count(&net->stats.frag_no_port, 1);
	tl_tcp_settle(net); // before the slot is reused
}

void tl_frag_input(struct tl_net *net, const uint8_t *packet)
{
	const struct tl_ipv4_hdr *ip = (const struct tl_ipv4_hdr *)packet;
	struct fragment f;

	if (net->frag == NULL || ip->proto != TL_IPPROTO_UDP) {
		tl_count(&net->stats.drop_fragment_pkts, 1);
		return;
	}
	if (!read_fragment(ip, &f)) {
		tl_count(&net->stats.drop_malformed_pkts, 1);
		return;
	}
	struct datagram *d = find(net->frag, ip);
	if (d == NULL)
		d = begin(net, ip);
	uint32_t first = f.from / BLOCK_BYTES, end = (f.to + BLOCK_BYTES - 1) / BLOCK_BYTES;
	uint32_t known = count_blocks_here(d, first, end);
	bool same = known == end - first && memcmp(d->bytes + f.from, f.bytes, f.to - f.from) == 0;

	if (d->refused || (known != 0 && !same) || !ends_agree(d, &f)) {
		refuse(net, d);
		return;
	}
	if (same) {
		tl_count(&net->stats.drop_frag_duplicate_pkts, 1);
		return;
	}
	tl_count(&net->stats.rx_frag_pkts, 1);
	take(d, &f, first, end);
	if (d->len != 0 && d->have == d->len) {
		d->deadline_ns = 0;
		deliver(net, d);
	}
}
