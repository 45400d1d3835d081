// SPDX-License-Identifier: BSD-3-Clause
// TCP of the scripted peer: handshake, text and FIN in both directions, go-back-N, SACK; it computes and verifies
// checksums itself.

#include <rte_mbuf.h>

#include "peer.h"

#define US TL_NS_PER_US
#define MS TL_NS_PER_MS
#define WINDOW 40000
#define FLIGHT_MAX 32768 // bytes, and
#define FLIGHT_SEGMENTS 64
#define PAUSE_MIN_NS (20 * US)
#define PAUSE_MAX_NS (100 * MS)
#define OPTIONS_MAX 40
#define OWN_IP_BE tl_be32(0xc0000202)
#define THEIR_IP_BE tl_be32(0xc0000201)

static const uint8_t OWN_MAC[] = {2, 0, 0, 0, 0, 2}, THEIR_MAC[] = {2, 0, 0, 0, 0, 1};

uint32_t sim_peer_bytes(const struct sim_peer *peer)
{
	return (uint32_t)peer->sim->sc->side[1].bytes;
}

uint32_t sim_peer_to_get(const struct sim_peer *peer)
{
	return (uint32_t)peer->sim->sc->side[0].bytes;
}

uint32_t sim_peer_window(const struct sim_peer *peer)
{
	return peer->shut_ns > peer->sim->wire->now_ns ? 0 : WINDOW;
}

// ---- frames

static struct rte_mbuf *frame(struct sim_peer *peer, uint16_t type, uint16_t len)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(peer->sim->pool);
	struct tl_ether_hdr *ether = rte_pktmbuf_mtod(m, struct tl_ether_hdr *);

	memset(ether, 0, TL_ETHER_MIN_FRAME);
	memcpy(ether->dst, THEIR_MAC, sizeof(THEIR_MAC));
	memcpy(ether->src, OWN_MAC, sizeof(OWN_MAC));
	ether->type_be = tl_be16(type);
	m->data_len = (uint16_t)tl_max_u64(TL_ETHER_LEN + len, TL_ETHER_MIN_FRAME);
	m->pkt_len = m->data_len;
	return m;
}

static void answer_arp(struct sim_peer *peer, const struct tl_arp_hdr *request)
{
	if (request->op_be != tl_be16(1) || request->target_ip_be != OWN_IP_BE)
		return;
	struct rte_mbuf *m = frame(peer, TL_ETHERTYPE_ARP, TL_ARP_LEN);
	struct tl_arp_hdr *arp = rte_pktmbuf_mtod_offset(m, struct tl_arp_hdr *, TL_ETHER_LEN);

	*arp = *request;
	arp->op_be = tl_be16(2);
	memcpy(arp->sender_mac, OWN_MAC, sizeof(OWN_MAC));
	memcpy(arp->target_mac, THEIR_MAC, sizeof(THEIR_MAC));
	arp->sender_ip_be = OWN_IP_BE;
	arp->target_ip_be = THEIR_IP_BE;
	wire_send(peer->sim->wire, 1, m);
}

static uint8_t *put32(uint8_t *p, uint32_t value)
{
	value = tl_be32(value);
	memcpy(p, &value, sizeof(value));
	return p + sizeof(value);
}

static uint8_t put_options(const struct sim_peer *peer, const struct sim_peer_segment *s, uint8_t *options)
{
	uint16_t mss = peer->sim->sc->side[1].mtu - TL_IPV4_LEN - TL_TCP_LEN;
	uint8_t *p = options;

	if ((s->flags & TL_TCP_SYN) != 0)
		return (uint8_t)(put32(put32(p, 0x02040000u | mss), 0x01010402) - options); // SACK permitted
	if (!peer->sack || s->n_blocks == 0)
		return 0;
	p = put32(p, 0x01010500u | (2 + 8u * s->n_blocks));
	for (unsigned i = 0; i < s->n_blocks; i++)
		p = put32(put32(p, peer->their_isn + 1 + s->block[i].from), peer->their_isn + 1 + s->block[i].to);
	return (uint8_t)(p - options);
}

static uint32_t ack_of(const struct sim_peer *peer, const struct sim_peer_segment *s)
{
	uint32_t next = peer->their_isn + 1 + peer->got + peer->fin_got;

	return (s->flags & TL_TCP_ACK) != 0 ? next + (uint32_t)s->ack_beyond : 0;
}

void sim_peer_send(struct sim_peer *peer, const struct sim_peer_segment *s)
{
	uint8_t options[OPTIONS_MAX];
	uint8_t options_len = put_options(peer, s, options);
	uint16_t l4_len = TL_TCP_LEN + options_len + s->len;
	struct rte_mbuf *m = frame(peer, TL_ETHERTYPE_IPV4, TL_IPV4_LEN + l4_len);
	struct tl_ipv4_hdr *ip = rte_pktmbuf_mtod_offset(m, struct tl_ipv4_hdr *, TL_ETHER_LEN);
	struct tl_tcp_hdr *tcp = (struct tl_tcp_hdr *)(ip + 1);
	uint8_t *payload = (uint8_t *)(tcp + 1) + options_len;

	*ip = (struct tl_ipv4_hdr){.version_ihl = 0x45,
		.total_len_be = tl_be16(TL_IPV4_LEN + l4_len),
		.ttl = 64,
		.proto = TL_IPPROTO_TCP,
		.src_be = OWN_IP_BE,
		.dst_be = THEIR_IP_BE};
	tl_wire_ipv4_finish(ip);
	*tcp = (struct tl_tcp_hdr){
		.src_port_be = peer->own_port_be,
		.dst_port_be = peer->their_port_be,
		.seq_be = tl_be32(peer->own_isn + 1 + s->offset),
		.ack_be = tl_be32(ack_of(peer, s)),
		.data_off = (uint8_t)((TL_TCP_LEN + options_len) << 2),
		.flags = s->flags,
		.window_be = tl_be16((uint16_t)s->window),
		.urgent_be = tl_be16(s->urgent),
	};
	memcpy(tcp + 1, options, options_len);
	memcpy(payload, s->data != NULL ? s->data : sim_text(peer->sim, 1, s->offset), s->len);
	tcp->cksum_be = tl_cksum_finish(
		tl_cksum_add(tl_cksum_pseudo(OWN_IP_BE, THEIR_IP_BE, TL_IPPROTO_TCP, l4_len), tcp, l4_len));
	wire_send(peer->sim->wire, 1, m);
}

// Return the block around the last segment, if there is a gap before it.
static void add_block(const struct sim_peer *peer, struct sim_peer_segment *s)
{
	struct tl_tcp_range block = {peer->last_at, peer->last_at};

	if (peer->last_at < peer->got || peer->last_at >= sim_peer_to_get(peer) || !peer->has[peer->last_at])
		return;
	while (block.from > peer->got && peer->has[block.from - 1])
		block.from--;
	while (block.to < sim_peer_to_get(peer) && peer->has[block.to])
		block.to++;
	s->block[s->n_blocks++] = block;
}

void sim_peer_ack(struct sim_peer *peer)
{
	struct sim_peer_segment s = {.flags = TL_TCP_ACK, .offset = peer->sent, .window = sim_peer_window(peer)};

	add_block(peer, &s);
	peer->ack_due = false;
	sim_peer_send(peer, &s);
}

static void send_syn(struct sim_peer *peer, bool ack)
{
	struct sim_peer_segment s = {
		.flags = ack ? TL_TCP_SYN | TL_TCP_ACK : TL_TCP_SYN, .offset = UINT32_MAX, .window = WINDOW};

	sim_peer_send(peer, &s);
}

// ---- input

static void take_text(struct sim_peer *peer, uint32_t at, const struct tl_pkt *pkt, const struct tl_tcp_hdr *tcp)
{
	uint32_t to_get = sim_peer_to_get(peer), end = at + pkt->payload_len;
	bool fin = (tcp->flags & TL_TCP_FIN) != 0;

	if ((pkt->payload_len == 0 && !fin) || at > to_get || end > to_get)
		return;
	peer->ack_due = true;
	if (peer->seen < end)
		peer->seen = end;
	if (sim_peer_window(peer) == 0)
		return;
	memset(peer->has + at, 1, pkt->payload_len);
	peer->last_at = at;
	while (peer->got < to_get && peer->has[peer->got])
		peer->got++;
	if (fin && peer->got == to_get)
		peer->fin_got = true;
}

static void take_ack(struct sim_peer *peer, const struct tl_tcp_hdr *tcp)
{
	uint32_t acked = tl_be32(tcp->ack_be) - peer->own_isn - 1;
	uint32_t edge = acked + tl_be16(tcp->window_be);

	if (acked > peer->sent)
		return;
	peer->heard = true;
	if (acked > peer->acked) {
		peer->acked = acked;
		peer->resend_ns = 0;
	}
	if (peer->next < peer->acked)
		peer->next = peer->acked;
	if (peer->edge < edge)
		peer->edge = edge;
}

static void take_syn(struct sim_peer *peer, const struct tl_tcp_hdr *tcp)
{
	struct tl_tcp_options options;
	bool answers = (tcp->flags & TL_TCP_ACK) != 0;

	if (peer->their_port_be == 0 || !peer->open) {
		tl_tcp_options_parse(tcp, &options);
		peer->their_port_be = tcp->src_port_be;
		peer->own_port_be = tcp->dst_port_be;
		peer->their_isn = tl_be32(tcp->seq_be);
		peer->sack = options.sack_permitted;
		peer->mss = (uint16_t)(tl_min_u32(options.mss, SIM_RUN_MAX) - OPTIONS_MAX) & ~1u;
		peer->chunk_most = peer->mss;
		peer->edge = tl_be16(tcp->window_be);
		peer->open = true;
	}
	if (tl_be32(tcp->seq_be) != peer->their_isn)
		return;
	if (answers)
		sim_peer_ack(peer);
	else
		send_syn(peer, true);
}

static void take_segment(struct sim_peer *peer, const uint8_t *bytes, const struct tl_pkt *pkt)
{
	const struct tl_tcp_hdr *tcp = (const struct tl_tcp_hdr *)(bytes + pkt->l4_off);
	uint32_t seq = tl_be32(tcp->seq_be);

	if ((tcp->flags & TL_TCP_SYN) != 0) {
		take_syn(peer, tcp);
		return;
	}
	if ((tcp->flags & TL_TCP_RST) != 0) { // a reply to an invalid segment of its own has another sequence number
		peer->reset |= peer->open && seq == peer->their_isn + 1 + peer->got + peer->fin_got;
		return;
	}
	take_ack(peer, tcp);
	take_text(peer, seq - peer->their_isn - 1, pkt, tcp);
}

static void input(void *ctx, struct tl_burst *burst)
{
	struct sim_peer *peer = ctx;

	for (uint16_t i = 0; i < burst->n; i++) {
		const uint8_t *bytes = rte_pktmbuf_mtod(burst->pkts[i], const uint8_t *);
		const struct tl_pkt *pkt = &burst->pkt[i];
		if (pkt->kind == TL_PKT_ARP)
			answer_arp(peer, (const struct tl_arp_hdr *)(bytes + TL_ETHER_LEN));
		else if (pkt->kind == TL_PKT_TCP && tl_wire_l4_cksum_ok(bytes, pkt))
			take_segment(peer, bytes, pkt);
	}
	peer->pause_ns = PAUSE_MIN_NS; // active again
	peer->wake_ns = tl_min_u64(peer->wake_ns, peer->sim->wire->now_ns + wire_up_to(peer->sim->wire, PAUSE_MIN_NS));
}

// ---- turns

static bool may_close(const struct sim_peer *peer)
{
	bool done = peer->got == sim_peer_to_get(peer);

	switch (peer->sim->sc->side[1].close) {
	case SIM_CLOSE_WHEN_SENT:
		return true;
	case SIM_CLOSE_WHEN_DONE:
		return done;
	default:
		return peer->fin_got;
	}
}

static void send_text(struct sim_peer *peer)
{
	uint32_t bytes = sim_peer_bytes(peer);
	uint32_t flight = tl_min_u32(FLIGHT_MAX, FLIGHT_SEGMENTS * peer->chunk_most);
	uint32_t to = tl_min_u32(tl_min_u32(peer->edge, peer->acked + flight) & ~1u, bytes);

	while (peer->next < to) {
		uint32_t len = (uint32_t)wire_up_to(peer->sim->wire, peer->chunk_most) + 1;
		struct sim_peer_segment s = {.flags = TL_TCP_ACK,
			.offset = peer->next,
			.window = sim_peer_window(peer),
			.len = (uint16_t)tl_min_u32(tl_min_u32(len, peer->mss) & ~1u, to - peer->next)};
		if (peer->urgent) {
			s.flags |= TL_TCP_URG;
			s.urgent = (uint16_t)wire_up_to(peer->sim->wire, 2 * s.len);
		}
		sim_peer_send(peer, &s);
		peer->ack_due = false;
		peer->next += s.len;
		if (peer->sent < peer->next)
			peer->sent = peer->next;
	}
	if (peer->next == bytes && !sim_peer_is_rude(peer) && may_close(peer)) {
		struct sim_peer_segment s = {
			.flags = TL_TCP_FIN | TL_TCP_ACK, .offset = bytes, .window = sim_peer_window(peer)};
		sim_peer_send(peer, &s);
		peer->next++;
		peer->sent = peer->next;
	}
}

// Go-back-N, if nothing is acknowledged for some round trips.
static void resend(struct sim_peer *peer)
{
	const struct sim *sim = peer->sim;
	uint64_t patience_ns = 6 * sim->sc->one_way_ns + sim->sc->faults.delay_ns + 10 * MS;

	if (peer->acked == peer->sent || peer->resend_ns == 0) {
		peer->resend_ns = sim->wire->now_ns + patience_ns;
	} else if (peer->resend_ns <= sim->wire->now_ns) {
		peer->next = peer->acked;
		peer->resend_ns = sim->wire->now_ns + patience_ns;
	}
}

// End by RST with the exact sequence number.
static void end_rudely(struct sim_peer *peer)
{
	struct sim_peer_segment s = {.flags = TL_TCP_RST, .offset = sim_peer_bytes(peer)};

	if (peer->acked == sim_peer_bytes(peer) && peer->got == sim_peer_to_get(peer))
		sim_peer_send(peer, &s);
}

static void turn(struct sim_peer *peer)
{
	struct wire *wire = peer->sim->wire;

	if (!peer->open) {
		if (peer->sim->sc->peer_calls)
			send_syn(peer, false);
		return;
	}
	if (peer->heard && wire_chance(wire, peer->sim->sc->naughty_percent))
		sim_peer_trick(peer);
	resend(peer);
	send_text(peer);
	if (peer->ack_due)
		sim_peer_ack(peer);
	if (sim_peer_is_rude(peer))
		end_rudely(peer);
}

bool sim_peer_done(const struct sim_peer *peer)
{
	return peer->reset || (peer->fin_got && peer->acked == sim_peer_bytes(peer) + 1) ||
	       (sim_peer_is_rude(peer) && peer->sim->app[0].closed > 0);
}

uint64_t sim_peer_next_ns(const struct sim_peer *peer)
{
	return peer->wake_ns;
}

// Without input the interval between turns grows.
void sim_peer_wake(struct sim_peer *peer)
{
	struct wire *wire = peer->sim->wire;

	if (peer->wake_ns > wire->now_ns)
		return;
	if (sim_peer_done(peer)) {
		if (peer->ack_due)
			sim_peer_ack(peer);
		peer->wake_ns = UINT64_MAX;
	} else {
		turn(peer);
		peer->pause_ns = tl_min_u64(2 * peer->pause_ns, PAUSE_MAX_NS);
		peer->wake_ns = wire->now_ns + peer->pause_ns / 2 + wire_up_to(wire, peer->pause_ns / 2);
	}
}

// ---- set-up and run

struct sim_peer *sim_peer_create(struct sim *sim)
{
	struct sim_peer *peer = calloc(1, sizeof(*peer));
	const struct sim_scenario *sc = sim->sc;

	if (peer == NULL || (peer->has = calloc(1, sc->side[0].bytes)) == NULL) {
		fprintf(stderr, "no memory\n");
		exit(1);
	}
	peer->sim = sim;
	peer->own_isn = sc->side[1].isn_fixed ? sc->side[1].isn : (uint32_t)wire_draw(sim->wire);
	peer->pause_ns = PAUSE_MIN_NS;
	peer->wake_ns = sim->wire->now_ns;
	if (sc->peer_calls) {
		peer->own_port_be = tl_be16(40000);
		peer->their_port_be = tl_be16(80);
	}
	sim->wire->end[1].input = input;
	sim->wire->end[1].ctx = peer;
	return peer;
}

void sim_peer_destroy(struct sim_peer *peer)
{
	if (peer != NULL)
		free(peer->has);
	free(peer);
}

void sim_peer_check(struct sim_peer *peer)
{
	struct sim *sim = peer->sim;
	enum tl_tcp_reason reason = sim_peer_is_rude(peer) ? TL_TCP_RESET : TL_TCP_DONE;

	if (peer->got != sim_peer_to_get(peer) || peer->acked < sim_peer_bytes(peer))
		sim_fail(sim, "the peer got %u bytes of %u, and %u of its %u are acknowledged", peer->got,
			sim_peer_to_get(peer), peer->acked, sim_peer_bytes(peer));
	if (sim->app[0].reason != reason)
		sim_fail(sim, "%s, not %s", tl_tcp_reason_text(sim->app[0].reason), tl_tcp_reason_text(reason));
}
