// SPDX-License-Identifier: BSD-3-Clause
// Misbehaviour of the scripted peer, and rare valid behaviour.

#include "peer.h"

#define MS TL_NS_PER_MS
#define FAR 65536u // beyond any window advertised to it

static struct wire *wire_of(const struct sim_peer *peer)
{
	return peer->sim->wire;
}

static uint32_t up_to(const struct sim_peer *peer, uint32_t most)
{
	return (uint32_t)wire_up_to(wire_of(peer), most);
}

static struct sim_peer_segment bare(const struct sim_peer *peer)
{
	return (struct sim_peer_segment){.flags = TL_TCP_ACK, .offset = peer->sent, .window = sim_peer_window(peer)};
}

static void old_ack(struct sim_peer *peer)
{
	struct sim_peer_segment s = bare(peer);

	s.ack_beyond = -(int64_t)up_to(peer, peer->got);
	sim_peer_send(peer, &s);
}

// Acknowledge data beyond everything sent by the stack.
static void ack_of_nothing(struct sim_peer *peer)
{
	struct sim_peer_segment s = bare(peer);

	s.ack_beyond = sim_peer_to_get(peer) - peer->got + 1 + up_to(peer, 1 << 20);
	sim_peer_send(peer, &s);
}

static void duplicate_acks(struct sim_peer *peer)
{
	struct sim_peer_segment s = bare(peer);

	for (unsigned n = 2 + up_to(peer, 6); n > 0; n--)
		sim_peer_send(peer, &s);
}

// Send SACK blocks of missing data, of data never sent, empty, and reversed.
static void sack_lies(struct sim_peer *peer)
{
	struct sim_peer_segment s = bare(peer);

	s.n_blocks = (uint8_t)up_to(peer, 3);
	for (unsigned i = 0; i < s.n_blocks; i++) {
		uint32_t span = peer->seen > peer->got ? peer->seen - peer->got : 1;
		s.block[i].from = peer->got + up_to(peer, span + span / 8);
		s.block[i].to = s.block[i].from + up_to(peer, 5000) - up_to(peer, 500);
	}
	sim_peer_send(peer, &s);
}

// Discard SACKed data (RFC 2018, section 8).
static void forgets_what_it_held(struct sim_peer *peer)
{
	memset(peer->has + peer->got, 0, sim_peer_to_get(peer) - peer->got);
}

static void shrinks_its_window(struct sim_peer *peer)
{
	struct sim_peer_segment s = bare(peer);

	s.window = up_to(peer, s.window + 1) - 1;
	sim_peer_send(peer, &s);
}

// Reopen without a window update.
static void shuts_its_window(struct sim_peer *peer)
{
	peer->shut_ns = wire_of(peer)->now_ns + up_to(peer, 500) * MS;
	sim_peer_ack(peer);
}

// Send old and new bytes in one segment.
static void overlaps(struct sim_peer *peer)
{
	struct sim_peer_segment s = bare(peer);
	uint32_t end = tl_min_u32(peer->sent, sim_peer_bytes(peer)); // of the sent text, without FIN
	uint32_t back = up_to(peer, tl_min_u32(end, 4 * peer->mss)) & ~1u;

	s.offset = end - back;
	s.len = (uint16_t)(tl_min_u32(sim_peer_bytes(peer) - s.offset, up_to(peer, peer->mss)) & ~1u);
	if (s.offset + s.len > peer->edge)
		return;
	if (peer->sent < s.offset + s.len)
		peer->sent = s.offset + s.len;
	sim_peer_send(peer, &s);
}

// RFC 1122, section 4.2.3.6, with and without its garbage byte.
static void keepalive(struct sim_peer *peer)
{
	static const uint8_t garbage = 0xee;
	struct sim_peer_segment s = bare(peer);

	if (peer->acked != peer->sent || peer->acked == 0)
		return;
	s.offset = peer->acked - 1;
	s.data = &garbage;
	s.len = (uint16_t)(up_to(peer, 2) - 1);
	sim_peer_send(peer, &s);
}

static void reset_outside(struct sim_peer *peer)
{
	struct sim_peer_segment s = bare(peer);

	s.flags = TL_TCP_RST;
	s.offset = up_to(peer, 2) == 1 ? sim_peer_bytes(peer) + FAR + up_to(peer, FAR) : peer->acked - up_to(peer, FAR);
	sim_peer_send(peer, &s);
}

// RFC 5961, section 3: in the window, but not the next expected number now or, because offsets of its bytes are even,
// later.
static void reset_inside(struct sim_peer *peer)
{
	struct sim_peer_segment s = bare(peer);

	s.flags = TL_TCP_RST;
	s.offset = (peer->sent + up_to(peer, 10000)) | 1;
	if (s.offset < peer->edge && s.offset < sim_peer_bytes(peer))
		sim_peer_send(peer, &s);
}

// RFC 5961, section 4.
static void syn_again(struct sim_peer *peer)
{
	struct sim_peer_segment s = bare(peer);

	s.flags = TL_TCP_SYN | (up_to(peer, 2) == 1 ? TL_TCP_ACK : 0);
	s.offset = peer->acked - up_to(peer, 2000);
	sim_peer_send(peer, &s);
}

static void data_outside(struct sim_peer *peer)
{
	struct sim_peer_segment s = bare(peer);

	s.offset = sim_peer_bytes(peer) + FAR + up_to(peer, FAR);
	s.len = (uint16_t)up_to(peer, peer->mss);
	sim_peer_send(peer, &s);
}

static void urgent_data(struct sim_peer *peer)
{
	peer->urgent = !peer->urgent;
}

static void small_segments(struct sim_peer *peer)
{
	peer->chunk_most = up_to(peer, 4) == 1 ? 2 + up_to(peer, 100) : peer->mss;
}

static void goes_back(struct sim_peer *peer)
{
	peer->next = peer->acked;
}

void sim_peer_trick(struct sim_peer *peer)
{
	static void (*const TRICKS[])(struct sim_peer * peer) = {old_ack, ack_of_nothing, duplicate_acks, sack_lies,
		forgets_what_it_held, shrinks_its_window, shuts_its_window, overlaps, keepalive, reset_outside,
		reset_inside, syn_again, data_outside, urgent_data, small_segments, goes_back};
	unsigned i = up_to(peer, TL_ARRAY_LEN(TRICKS)) - 1;

	if ((peer->sim->sc->tricks & 1u << i) != 0)
		TRICKS[i](peer);
}

bool sim_peer_is_rude(const struct sim_peer *peer)
{
	return peer->sim->sc->tricks >> 29 == 0;
}
