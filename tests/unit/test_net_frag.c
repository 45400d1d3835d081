// SPDX-License-Identifier: BSD-3-Clause
// UDP datagrams in IPv4 fragments: reassembled, rejected, expired, and an account of each fragment.

#include "tl_test_host.h"

#define UDP_PORT 5000
#define TIMEOUT_S 15
#define PLACES 16
#define L4_MAX 65515

// A complete UDP datagram, from its UDP header on.
struct whole {
	uint32_t len;
	uint8_t bytes[L4_MAX + 64];
};

static struct {
	unsigned count;
	bool same;
	struct tl_udp_datagram last;
} got;

static struct whole whole;

static void compare(void *ctx, const struct tl_udp_datagram *d)
{
	got.count++;
	got.last = *d;
	got.same = d->len == whole.len - 8 && memcmp(d->payload, whole.bytes + 8, d->len) == 0;
}

static struct host *begin(void)
{
	struct host *h = calloc(1, sizeof(*h));
	struct tl_net_cfg cfg = usual_cfg(h);
	struct tl_udp *udp;

	cfg.reassemble = true;
	got.count = 0;
	got.same = false;
	start_cfg(h, &cfg);
	CU_ASSERT_EQUAL(tl_udp_open(h->net, 0, 0, PORT(UDP_PORT), compare, NULL, &udp), 0);
	CU_ASSERT_EQUAL(tl_udp_open(h->net, GROUP, 0, PORT(UDP_PORT), compare, NULL, &udp), 0);
	return h;
}

// Check that every datagram begun has one outcome, or is pending.
static void end(struct host *h, unsigned open)
{
	CU_ASSERT(partition_holds(h));
	CU_ASSERT_EQUAL(counter(h, "frag_datagrams"), counter(h, "frag_reassembled") + counter(h, "frag_refused") +
							      counter(h, "frag_evicted") + counter(h, "frag_expired") +
							      open);
	CU_ASSERT_EQUAL(
		counter(h, "frag_reassembled"), got.count + counter(h, "frag_bad_udp") + counter(h, "frag_no_port"));
	stop(h);
}

// Make a datagram of payload_len bytes to dst, with the checksum of the whole.
static void compose(uint32_t dst, uint16_t dst_port, uint16_t payload_len, uint8_t seed)
{
	uint8_t pseudo[20] = {[9] = 17};
	uint32_t src = PEER;

	memset(&whole, 0, sizeof(whole));
	whole.len = 8u + payload_len;
	memcpy(whole.bytes, "\x13\x88", 2);
	put16(whole.bytes + 2, dst_port);
	put16(whole.bytes + 4, whole.len);
	for (uint32_t i = 8; i < whole.len; i++)
		whole.bytes[i] = (uint8_t)(i * 31 + (i >> 8) + seed);
	memcpy(pseudo + 12, &src, 4);
	memcpy(pseudo + 16, &dst, 4);
	put16(whole.bytes + 6, ref_cksum(ref_pseudo(pseudo, (uint16_t)whole.len), whole.bytes, whole.len));
}

// Return the fragment with bytes from..to of the datagram.
static struct frame piece_of(uint32_t dst, uint16_t id, uint32_t from, uint32_t to, bool more)
{
	struct frame f = ip_frame(17, PEER, dst, whole.bytes + from, (uint16_t)(to - from));
	uint8_t *ip = f.bytes + 14;

	memcpy(ip + 20, whole.bytes + from, to - from); // ip_frame() treats it as a complete datagram
	put16(ip + 4, id);
	put16(ip + 6, (more ? 0x2000 : 0) | from / 8);
	put16(ip + 10, 0);
	put16(ip + 10, ref_cksum(0, ip, 20));
	return f;
}

static struct frame piece(uint32_t from, uint32_t to, bool more)
{
	return piece_of(US, 7, from, to, more);
}

static bool give_piece(struct host *h, uint32_t from, uint32_t to, bool more, const char *name)
{
	struct frame f = piece(from, to, more);

	return counts_as(h, name, &f);
}

TL_TEST("fragments in order are reassembled")
{
	struct host *h = begin();

	compose(US, UDP_PORT, 4000, 1);
	CU_ASSERT(give_piece(h, 0, 1480, true, "rx_frag_pkts"));
	CU_ASSERT(give_piece(h, 1480, 2960, true, "rx_frag_pkts"));
	CU_ASSERT_EQUAL(got.count, 0);
	CU_ASSERT(give_piece(h, 2960, 4008, false, "rx_frag_pkts"));
	CU_ASSERT_EQUAL(got.count, 1);
	CU_ASSERT(got.same);
	CU_ASSERT_EQUAL(got.last.src_ip_be, PEER);
	CU_ASSERT_EQUAL(got.last.dst_ip_be, US);
	CU_ASSERT_EQUAL(got.last.src_port_be, PORT(5000));
	CU_ASSERT_EQUAL(counter(h, "rx_udp_pkts"), 0);
	end(h, 0);
}

TL_TEST("fragments in any order are reassembled")
{
	static const uint8_t orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
	static const uint32_t cuts[4] = {0, 8, 1000, 1203};
	struct host *h = begin();

	for (unsigned i = 0; i < 6; i++) {
		compose(US, UDP_PORT, 1195, (uint8_t)i);
		got.same = false;
		for (unsigned j = 0; j < 3; j++) {
			unsigned k = orders[i][j];
			CU_ASSERT(give_piece(h, cuts[k], cuts[k + 1], k < 2, "rx_frag_pkts"));
		}
		CU_ASSERT_EQUAL(got.count, i + 1);
		CU_ASSERT(got.same);
	}
	end(h, 0);
}

TL_TEST("the longest valid datagram is reassembled, a longer one is refused")
{
	struct host *h = begin();

	compose(US, UDP_PORT, L4_MAX - 8, 3);
	for (uint32_t from = 0; from < whole.len; from += 1480) {
		uint32_t to = (uint32_t)tl_min_u64(from + 1480, whole.len);
		CU_ASSERT(give_piece(h, from, to, to < whole.len, "rx_frag_pkts"));
	}
	CU_ASSERT_EQUAL(got.count, 1);
	CU_ASSERT(got.same);
	CU_ASSERT(give_piece(h, 65512, 65520, false, "drop_malformed_pkts"));
	end(h, 0);
}

TL_TEST("a fragmented multicast datagram is reassembled")
{
	struct host *h = begin();

	compose(GROUP, UDP_PORT, 2000, 4);
	struct frame first = piece_of(GROUP, 9, 0, 1480, true), last = piece_of(GROUP, 9, 1480, 2008, false);
	CU_ASSERT(counts_as(h, "rx_frag_pkts", &first));
	CU_ASSERT(counts_as(h, "rx_frag_pkts", &last));
	CU_ASSERT(got.same);
	CU_ASSERT_EQUAL(got.last.dst_ip_be, GROUP);
	end(h, 0);
}

// A different source, destination or identification makes a different datagram.
TL_TEST("fragments of different datagrams are not mixed")
{
	struct host *h = begin();

	compose(US, UDP_PORT, 2000, 5);
	struct frame first = piece(0, 1480, true), last = piece(1480, 2008, false);
	struct frame other_id = piece_of(US, 8, 1480, 2008, false);
	struct frame other_source = last;
	memcpy(other_source.bytes + 26, &(uint32_t){GATEWAY}, 4);
	put16(other_source.bytes + 24, 0);
	put16(other_source.bytes + 24, ref_cksum(0, other_source.bytes + 14, 20));
	CU_ASSERT(counts_as(h, "rx_frag_pkts", &first));
	CU_ASSERT(counts_as(h, "rx_frag_pkts", &other_id));
	CU_ASSERT(counts_as(h, "rx_frag_pkts", &other_source));
	CU_ASSERT_EQUAL(got.count, 0);
	CU_ASSERT(counts_as(h, "rx_frag_pkts", &last));
	CU_ASSERT(got.same);
	end(h, 2);
}

TL_TEST("an identical duplicate is accepted")
{
	struct host *h = begin();

	compose(US, UDP_PORT, 2000, 6);
	CU_ASSERT(give_piece(h, 1480, 2008, false, "rx_frag_pkts"));
	CU_ASSERT(give_piece(h, 1480, 2008, false, "drop_frag_duplicate_pkts"));
	CU_ASSERT(give_piece(h, 0, 800, true, "rx_frag_pkts"));
	CU_ASSERT(give_piece(h, 0, 800, true, "drop_frag_duplicate_pkts"));
	CU_ASSERT(give_piece(h, 8, 80, true, "drop_frag_duplicate_pkts")); // fragmented again on its way, no new data
	CU_ASSERT(give_piece(h, 800, 1480, true, "rx_frag_pkts"));
	CU_ASSERT_EQUAL(got.count, 1);
	CU_ASSERT(got.same);
	end(h, 0);
}

// Deliver first, then bad, which contradicts it: the datagram is dropped with all further fragments.
static void refuses(uint32_t from, uint32_t to, bool more, struct frame bad)
{
	struct host *h = begin();

	CU_ASSERT(give_piece(h, from, to, more, "rx_frag_pkts"));
	CU_ASSERT(counts_as(h, "drop_frag_overlap_pkts", &bad));
	CU_ASSERT_EQUAL(counter(h, "frag_refused"), 1);
	CU_ASSERT(give_piece(h, 0, 800, true, "drop_frag_overlap_pkts"));
	CU_ASSERT(give_piece(h, 800, 1200, true, "drop_frag_overlap_pkts"));
	CU_ASSERT(give_piece(h, 1200, 1408, false, "drop_frag_overlap_pkts"));
	CU_ASSERT_EQUAL(counter(h, "frag_refused"), 1);
	CU_ASSERT_EQUAL(got.count, 0);
	pass(h, TIMEOUT_S * SECOND); // the identification may be reused now
	CU_ASSERT(give_piece(h, 0, 1200, true, "rx_frag_pkts"));
	CU_ASSERT(give_piece(h, 1200, 1408, false, "rx_frag_pkts"));
	CU_ASSERT_EQUAL(got.count, 1);
	CU_ASSERT(got.same);
	CU_ASSERT_EQUAL(counter(h, "frag_expired"), 0);
	end(h, 0);
}

TL_TEST("overlapping fragments discard their datagram")
{
	compose(US, UDP_PORT, 1400, 7);
	struct frame other = piece(0, 800, true);
	other.bytes[34 + 100] ^= 1;

	refuses(0, 800, true, piece(792, 1200, true)); // begins eight bytes too early
	refuses(800, 1200, true, piece(0, 808, true)); // eight bytes too long
	refuses(800, 808, true, piece(0, 1200, true)); // covers the first on both sides
	refuses(0, 800, true, other);		       // same range, different bytes
}

TL_TEST("fragments with different ends are refused")
{
	compose(US, UDP_PORT, 1400, 8);
	refuses(1200, 1408, false, piece(800, 1200, false));  // an earlier end
	refuses(1200, 1408, false, piece(1408, 1416, false)); // a later end
	refuses(1200, 1400, false, piece(1400, 1408, true));  // data beyond the end
	refuses(1200, 1400, true, piece(800, 1200, false));   // an end before received data
	refuses(1200, 1400, true, piece(1200, 1400, false));  // received already, but not as the end
}

TL_TEST("a fragment with an invalid length or offset is malformed")
{
	struct host *h = begin();

	compose(US, UDP_PORT, 2000, 9);
	CU_ASSERT(give_piece(h, 0, 1479, true, "drop_malformed_pkts"));
	CU_ASSERT(give_piece(h, 1480, 1480, true, "drop_malformed_pkts"));
	CU_ASSERT(give_piece(h, 1480, 1480, false, "drop_malformed_pkts"));
	CU_ASSERT_EQUAL(counter(h, "frag_datagrams"), 0);
	end(h, 0);
}

TL_TEST("an incomplete datagram expires 15 s after its first fragment")
{
	struct host *h = begin();

	compose(US, UDP_PORT, 2000, 10);
	CU_ASSERT(give_piece(h, 0, 1480, true, "rx_frag_pkts"));
	pass(h, TIMEOUT_S * SECOND - 1);
	CU_ASSERT_EQUAL(counter(h, "frag_expired"), 0);
	CU_ASSERT(give_piece(h, 1480, 1600, true, "rx_frag_pkts")); // does not extend the timeout
	pass(h, 1);
	CU_ASSERT_EQUAL(counter(h, "frag_expired"), 1);
	CU_ASSERT(give_piece(h, 1600, 2008, false, "rx_frag_pkts")); // begins a new datagram
	CU_ASSERT_EQUAL(got.count, 0);
	pass(h, TIMEOUT_S * SECOND);
	CU_ASSERT_EQUAL(counter(h, "frag_expired"), 2);
	end(h, 0);
}

TL_TEST("16 incomplete datagrams are kept, and the oldest is evicted")
{
	struct host *h = begin();

	compose(US, UDP_PORT, 2000, 11);
	for (uint16_t id = 0; id < PLACES + 4; id++) {
		struct frame f = piece_of(US, id, 0, 1480, true);
		CU_ASSERT(counts_as(h, "rx_frag_pkts", &f));
		pass(h, TL_NS_PER_MS);
	}
	CU_ASSERT_EQUAL(counter(h, "frag_evicted"), 4);
	for (uint16_t id = 4; id < PLACES + 4; id++) {
		struct frame f = piece_of(US, id, 1480, 2008, false);
		give(h, &f);
	}
	CU_ASSERT_EQUAL(got.count, PLACES);
	end(h, 0);
}

TL_TEST("fragments of other protocols are dropped")
{
	struct host *h = begin();

	compose(US, UDP_PORT, 2000, 12);
	static const uint8_t protos[] = {1, 2, 6, 47};
	for (size_t i = 0; i < sizeof(protos); i++) {
		struct frame f = piece(0, 1480, true);
		f.bytes[23] = protos[i];
		put16(f.bytes + 24, 0);
		put16(f.bytes + 24, ref_cksum(0, f.bytes + 14, 20));
		CU_ASSERT(counts_as(h, "drop_fragment_pkts", &f));
	}
	CU_ASSERT_EQUAL(counter(h, "frag_datagrams"), 0);
	end(h, 0);
}

TL_TEST("without reassembly fragments are only counted")
{
	struct host *h = start();

	compose(US, UDP_PORT, 2000, 13);
	CU_ASSERT(give_piece(h, 0, 1480, true, "drop_fragment_pkts"));
	CU_ASSERT(give_piece(h, 1480, 2008, false, "drop_fragment_pkts"));
	pass(h, 20 * SECOND);
	CU_ASSERT_EQUAL(counter(h, "frag_datagrams"), 0);
	stop(h);
}

static void give_two_pieces(struct host *h)
{
	CU_ASSERT(give_piece(h, 0, 1480, true, "rx_frag_pkts"));
	CU_ASSERT(give_piece(h, 1480, whole.len, false, "rx_frag_pkts"));
}

TL_TEST("checksum, length and port are checked after reassembly")
{
	struct host *h = begin();

	compose(US, UDP_PORT, 2000, 14);
	whole.bytes[1900] ^= 4;
	give_two_pieces(h);
	CU_ASSERT_EQUAL(counter(h, "frag_bad_udp"), 1);
	compose(US, UDP_PORT, 2000, 14);
	put16(whole.bytes + 4, 2009); // longer than the received data
	give_two_pieces(h);
	put16(whole.bytes + 4, 7);
	give_two_pieces(h);
	CU_ASSERT_EQUAL(counter(h, "frag_bad_udp"), 3);
	compose(US, UDP_PORT + 1, 2000, 14);
	give_two_pieces(h);
	CU_ASSERT_EQUAL(counter(h, "frag_no_port"), 1);
	CU_ASSERT_EQUAL(got.count, 0);
	compose(US, UDP_PORT, 2000, 14);
	put16(whole.bytes + 6, 0); // no checksum
	give_two_pieces(h);
	CU_ASSERT_EQUAL(got.count, 1);
	end(h, 0);
}

TL_TEST("fragments from invalid sources or for other hosts are dropped")
{
	struct host *h = begin();

	compose(US, UDP_PORT, 2000, 15);
	struct frame f = piece(0, 1480, true);
	memcpy(f.bytes + 26, &(uint32_t){IP(127, 0, 0, 1)}, 4);
	put16(f.bytes + 24, 0);
	put16(f.bytes + 24, ref_cksum(0, f.bytes + 14, 20));
	CU_ASSERT(counts_as(h, "drop_malformed_pkts", &f));
	f = piece_of(GATEWAY, 7, 0, 1480, true);
	CU_ASSERT(counts_as(h, "drop_not_ours_pkts", &f));
	end(h, 0);
}

int main(void)
{
	return test_host_run("net_frag");
}
