// SPDX-License-Identifier: BSD-3-Clause
// Rows of slabs: construction and queries.
//
// Every key sets HASHES bits of a filter of TL_INDEX_BLOOM_MAX bytes. Then its upper half is combined with its lower by
// OR as long as at most FILL of the bits are set: because a bit's position is taken modulo the size, the result equals
// the filter built with the smaller size from the start. The filter therefore has the size required by its content,
// without counting keys first. Up to FILL the probability of a false positive is FILL^HASHES, 2 %.

#include <tl_index.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <tl_encap.h>
#include <tl_pcapng_block.h>
#include <tl_random.h>

#define HASHES 4
#define FILL_OF_8 3u // eighths
#define WORDS_MAX (TL_INDEX_BLOOM_MAX / 8)
#define SEEN 1024u // a power of two

// Flows already added for this slab, so that a packet of a known flow costs one comparison. Whole keys are compared,
// without false matches.
struct seen {
	uint64_t generation; // generation of the slab; another: empty
	struct tl_index_keys keys;
};

struct tl_index_builder {
	bool inner;
	uint64_t bits[WORDS_MAX];
	uint64_t generation;
	struct seen seen[SEEN];
};

// ---- the filter

static uint64_t hash_addr(const struct tl_index_addr *addr)
{
	return tl_random_mix(tl_random_mix(addr->high + TL_RANDOM_STEP) ^ addr->low);
}

static uint64_t hash_port(uint16_t port)
{
	return tl_random_mix(0x706f727400000000u | port); // "port": equals the hash of an address only by chance
}

// Compute the position of a key's bit: double hashing (Kirsch and Mitzenmacher, 2006).
static uint32_t place(uint64_t hash, int i)
{
	return (uint32_t)hash + (uint32_t)i * ((uint32_t)(hash >> 32) | 1);
}

static void insert(struct tl_index_builder *builder, uint64_t hash)
{
	for (int i = 0; i < HASHES; i++) {
		uint32_t bit = place(hash, i) % (TL_INDEX_BLOOM_MAX * 8);
		builder->bits[bit / 64] |= UINT64_C(1) << bit % 64;
	}
}

static bool holds(const struct tl_index_row *row, uint64_t hash)
{
	uint32_t bits = row->bloom_bytes * 8;

	if (bits == 0)
		return true;
	for (int i = 0; i < HASHES; i++) {
		uint32_t bit = place(hash, i) & (bits - 1);
		if ((row->bloom[bit / 8] >> bit % 8 & 1) == 0)
			return false;
	}
	return true;
}

bool tl_index_may_have_addr(const struct tl_index_row *row, const struct tl_index_addr *addr)
{
	return holds(row, hash_addr(addr));
}

bool tl_index_may_have_port(const struct tl_index_row *row, uint16_t port)
{
	return holds(row, hash_port(port));
}

static uint32_t fold(uint64_t *bits)
{
	uint32_t words = WORDS_MAX;

	while (words * 8 > TL_INDEX_BLOOM_MIN) {
		uint32_t half = words / 2, set = 0;
		for (uint32_t i = 0; i < half; i++)
			set += (uint32_t)__builtin_popcountll(bits[i] | bits[half + i]);
		if (set > half * 64 / 8 * FILL_OF_8)
			break;
		for (uint32_t i = 0; i < half; i++)
			bits[i] |= bits[half + i];
		words = half;
	}
	return words * 8;
}

// ---- records

static bool same_keys(const struct tl_index_keys *a, const struct tl_index_keys *b)
{
	return a->addr[0].low == b->addr[0].low && a->addr[1].low == b->addr[1].low && a->port[0] == b->port[0] &&
	       a->port[1] == b->port[1] && a->addr[0].high == b->addr[0].high && a->addr[1].high == b->addr[1].high &&
	       a->has_ports == b->has_ports;
}

static void add_keys(struct tl_index_builder *builder, const struct tl_index_keys *keys)
{
	if (!keys->has_addrs)
		return;
	uint64_t ports = (uint64_t)keys->port[0] << 16 | keys->port[1];
	uint64_t flow = (keys->addr[0].low + ports) * 0x9e3779b97f4a7c15u ^ keys->addr[1].low * 0xbf58476d1ce4e5b9u;
	struct seen *seen = &builder->seen[flow >> 32 & (SEEN - 1)];
	if (TL_LIKELY(seen->generation == builder->generation && same_keys(&seen->keys, keys)))
		return;
	*seen = (struct seen){.generation = builder->generation, .keys = *keys};
	for (int i = 0; i < 2; i++) {
		insert(builder, hash_addr(&keys->addr[i]));
		if (keys->has_ports)
			insert(builder, hash_port(keys->port[i]));
	}
}

static void add_inner(struct tl_index_builder *builder, const uint8_t *frame, uint32_t cap_bytes)
{
	struct tl_index_keys keys = {0};
	struct tl_encap encap;

	tl_encap_parse(frame, cap_bytes, &encap);
	if (encap.tunnels == 0)
		return;
	tl_index_keys_network(encap.ethertype, frame + encap.network_off, encap.end - encap.network_off, &keys);
	add_keys(builder, &keys);
}

static void add_frame(struct tl_index_builder *builder, const uint8_t *frame, uint32_t cap_bytes)
{
	struct tl_index_keys keys = {0};

	tl_index_keys(frame, cap_bytes, &keys);
	add_keys(builder, &keys);
	if (builder->inner)
		add_inner(builder, frame, cap_bytes);
}

static void add_record(
	struct tl_index_builder *builder, const struct tl_pcapng_packet *record, struct tl_index_row *row)
{
	row->first_ns = tl_min_u64(row->first_ns, record->ticks);
	row->last_ns = tl_max_u64(row->last_ns, record->ticks);
	row->records++;
	add_frame(builder, record->data, record->cap_bytes);
}

static int add_records(
	struct tl_index_builder *builder, const uint8_t *slab, uint32_t used_bytes, struct tl_index_row *row)
{
	struct tl_pcapng_packet record;

	for (uint32_t at = TL_PCAPNG_HEAD_BYTES, bytes; at < used_bytes; at += bytes) {
		bytes = tl_pcapng_block_bytes(slab + at, used_bytes - at);
		if (bytes == 0)
			return -EINVAL;
		if (tl_load_u32(slab + at) == TL_PCAPNG_EPB && tl_pcapng_get_epb(false, slab + at, bytes, &record))
			add_record(builder, &record, row);
	}
	return 0;
}

int tl_index_blank_row(const uint8_t *slab, uint32_t len_bytes, uint64_t offset_bytes, struct tl_index_row *out)
{
	struct tl_pcapng_head head;

	if (tl_pcapng_get_head(slab, len_bytes, &head) != 0 || head.used_bytes > len_bytes)
		return -EINVAL;
	*out = (struct tl_index_row){
		.offset_bytes = offset_bytes,
		.sequence = head.sequence,
		.ring = head.ring,
		.len_bytes = len_bytes,
		.records = head.records,
		.last_ns = UINT64_MAX,
	};
	return 0;
}

int tl_index_build(struct tl_index_builder *builder, const uint8_t *slab, uint32_t used_bytes, uint32_t len_bytes,
	uint64_t offset_bytes, struct tl_index_row *out)
{
	struct tl_index_row row;

	if (used_bytes > len_bytes || tl_index_blank_row(slab, used_bytes, offset_bytes, &row) != 0)
		return -EINVAL;
	row.len_bytes = len_bytes;
	row.records = 0;
	row.first_ns = UINT64_MAX;
	row.last_ns = 0;
	memset(builder->bits, 0, sizeof(builder->bits));
	builder->generation++;
	if (add_records(builder, slab, used_bytes, &row) != 0)
		return -EINVAL;
	row.inner = builder->inner;
	row.bloom_bytes = fold(builder->bits);
	row.bloom = (const uint8_t *)builder->bits;
	*out = row;
	return 0;
}

struct tl_index_builder *tl_index_builder_create(void)
{
	return calloc(1, sizeof(struct tl_index_builder));
}

void tl_index_builder_set_inner(struct tl_index_builder *builder, bool inner)
{
	builder->inner = inner;
}

void tl_index_builder_destroy(struct tl_index_builder *builder)
{
	free(builder);
}
