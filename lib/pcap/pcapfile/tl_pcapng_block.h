// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// pcapng block: parts of a pcapng file that every reader checks in the same way: byte order, lengths of blocks,
// interface descriptions, times, and the blocks of a slab (draft-ietf-opsawg-pcapng, sections 3 and 4).
//
// Threads: any; every function is pure. Memory: the caller's; no function reads past the size passed to it.

#include <errno.h>

#include <tl_pcapfile.h>
#include <tl_units.h>

#define TL_PCAPNG_PACKET 2u // block type: obsolete, an EPB with a 16-bit interface ID
#define TL_PCAPNG_SIMPLE_PACKET 3u
#define TL_PCAPNG_EPB_BYTES_MIN 32u
#define TL_PCAPNG_SPB_BYTES_MIN 16u
#define TL_PCAPNG_IDB_BYTES_MIN 20u

// Load a field; swapped: the byte order of its section differs from the host's.
static inline uint16_t tl_pcapng_u16(bool swapped, const uint8_t *p)
{
	uint16_t value;

	memcpy(&value, p, sizeof(value));
	return swapped ? __builtin_bswap16(value) : value;
}

static inline uint32_t tl_pcapng_u32(bool swapped, const uint8_t *p)
{
	uint32_t value = tl_load_u32(p);

	return swapped ? __builtin_bswap32(value) : value;
}

static inline uint64_t tl_pcapng_u64(bool swapped, const uint8_t *p)
{
	uint64_t value;

	memcpy(&value, p, sizeof(value));
	return swapped ? __builtin_bswap64(value) : value;
}

// Read the byte order of a section header, of which at least 12 bytes are present. Return 0, or -EINVAL: no byte order
// magic; *out_swapped is then false.
static inline int tl_pcapng_byte_order(const uint8_t *block, bool *out_swapped)
{
	uint32_t magic = tl_load_u32(block + 8);

	*out_swapped = magic == __builtin_bswap32(TL_PCAPNG_BYTE_ORDER);
	return *out_swapped || magic == TL_PCAPNG_BYTE_ORDER ? 0 : -EINVAL;
}

// Size of the block at p in the host's byte order; 0: its lengths disagree, or it does not end within left.
static inline uint32_t tl_pcapng_block_bytes(const uint8_t *p, uint64_t left)
{
	if (left < TL_PCAPNG_PAD_MIN)
		return 0;
	uint32_t total = tl_load_u32(p + 4);
	if (total < TL_PCAPNG_PAD_MIN || total % 4 != 0 || total > left)
		return 0;
	return tl_load_u32(p + total - 4) == total ? total : 0;
}

// Check that the head->used_bytes of a slab are whole blocks, with as many records as its HEAD states. is_whole is
// called for each record; NULL: the lengths suffice.
typedef bool tl_pcapng_record_fn(const void *ctx, const uint8_t *block, uint32_t bytes);
bool tl_pcapng_slab_is_whole(
	const uint8_t *slab, const struct tl_pcapng_head *head, tl_pcapng_record_fn *is_whole, const void *ctx);

// Interface: ns = ticks * multiply >> shift / 10^drop_digits, then offset_s seconds later.
struct tl_pcapng_interface {
	uint64_t multiply;
	int64_t offset_s;
	uint32_t snaplen; // 0 = unlimited
	uint16_t linktype;
	uint8_t tsresol; // as in if_tsresol
	uint8_t shift;
	uint8_t drop_digits;
};

// Parse an interface description of at least TL_PCAPNG_IDB_BYTES_MIN bytes. Return 0, or the offset of an option that
// reaches past the block.
uint32_t tl_pcapng_get_idb(bool swapped, const uint8_t *block, uint32_t bytes, struct tl_pcapng_interface *out);

// HOT. Convert to whole nanoseconds since 1970, rounded down; excess digits are dropped one by one, to avoid a division
// by a variable. Return 0, or -EINVAL: before 1970 or after 2554.
static inline int tl_pcapng_time_ns(const struct tl_pcapng_interface *interface, uint64_t ticks, uint64_t *out_ns)
{
	unsigned __int128 scaled = (unsigned __int128)ticks * interface->multiply >> interface->shift;

	if (TL_UNLIKELY(interface->drop_digits != 0)) {
		for (unsigned digits = interface->drop_digits; digits != 0 && ticks != 0; digits--)
			ticks /= 10;
		scaled = ticks;
	}
	__int128 ns = (__int128)scaled + (__int128)interface->offset_s * (int64_t)TL_NS_PER_S;
	if (ns < 0 || ns > UINT64_MAX)
		return -EINVAL;
	*out_ns = (uint64_t)ns;
	return 0;
}
