// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// pcapng block: parser and checker of the blocks of a pcapng file, for every reader: byte order, lengths, sections,
// interface descriptions, packets, times, and the blocks of a slab (draft-ietf-opsawg-pcapng, sections 3 and 4).
//
// Threads: any; every function is pure. Memory: the caller's; no function reads past the size passed to it.

#include <errno.h>

#include <tl_pcapfile.h>
#include <tl_units.h>

#define TL_PCAPNG_PACKET 2u // block type: obsolete, an EPB with a 16-bit interface ID
#define TL_PCAPNG_SIMPLE_PACKET 3u
#define TL_PCAPNG_EPB_BYTES_MIN 32u
#define TL_PCAPNG_EPB_DATA_AT 28u
#define TL_PCAPNG_IDB_BYTES_MIN 20u

// Load a field; swapped: the byte order of its section differs from the host's.
static inline uint16_t tl_pcapng_u16(bool swapped, const uint8_t *p)
{
	uint16_t value = tl_load_u16(p);

	return swapped ? __builtin_bswap16(value) : value;
}

static inline uint32_t tl_pcapng_u32(bool swapped, const uint8_t *p)
{
	uint32_t value = tl_load_u32(p);

	return swapped ? __builtin_bswap32(value) : value;
}

static inline uint64_t tl_pcapng_u64(bool swapped, const uint8_t *p)
{
	uint64_t value = tl_load_u64(p);

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

// Reason why a block cannot be read: a static sentence, the number in it, and an offset in the block.
struct tl_pcapng_fault {
	const char *text;
	uint64_t value;
	uint32_t at;
};

static inline int tl_pcapng_broken(struct tl_pcapng_fault *fault, uint32_t at, const char *text, uint64_t value)
{
	*fault = (struct tl_pcapng_fault){.text = text, .value = value, .at = at};
	return -EINVAL;
}

struct tl_pcapng_block {
	uint32_t type;
	uint32_t bytes; // with both length fields
};

// HOT. Parse the type and the length of the block at p, of which at least TL_PCAPNG_PAD_MIN bytes are present. A
// section header has a byte order of its own. Return 0, or -EINVAL with *fault.
static inline int tl_pcapng_get_block(
	bool swapped, const uint8_t *p, struct tl_pcapng_block *out, struct tl_pcapng_fault *fault)
{
	uint32_t least = TL_PCAPNG_PAD_MIN;

	out->type = tl_pcapng_u32(swapped, p);
	if (TL_UNLIKELY(out->type == TL_PCAPNG_SHB)) { // a palindrome
		least = TL_PCAPNG_SHB_BYTES_MIN;
		if (tl_pcapng_byte_order(p, &swapped) != 0)
			return tl_pcapng_broken(
				fault, 8, "a section without byte order magic, but", tl_load_u32(p + 8));
	}
	out->bytes = tl_pcapng_u32(swapped, p + 4);
	if (TL_UNLIKELY(out->bytes < least || out->bytes % 4 != 0))
		return tl_pcapng_broken(fault, 4, "no block has this length", out->bytes);
	return 0;
}

// HOT. True if both lengths of a block of this size agree.
static inline bool tl_pcapng_block_closes(const uint8_t *p, uint32_t bytes)
{
	return tl_load_u32(p + 4) == tl_load_u32(p + bytes - 4);
}

// Size of the block at p in the host's byte order; 0: its lengths disagree, or it does not end within left.
static inline uint32_t tl_pcapng_block_bytes(const uint8_t *p, uint64_t left)
{
	struct tl_pcapng_block block;
	struct tl_pcapng_fault fault;

	if (left < TL_PCAPNG_PAD_MIN || tl_pcapng_get_block(false, p, &block, &fault) != 0 || block.bytes > left)
		return 0;
	return tl_pcapng_block_closes(p, block.bytes) ? block.bytes : 0;
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
	bool fcs; // if_fcslen is not 0
};

// The current section: its byte order, and its interfaces so far.
struct tl_pcapng_section {
	bool begun;
	bool swapped; // the byte order differs from the host's
	uint32_t n;
	size_t capacity;		       // room for interfaces
	struct tl_pcapng_interface *interface; // the caller's
};

// Begin the section of a whole section header. Return 0, or -EINVAL with *fault.
int tl_pcapng_begin_section(struct tl_pcapng_section *section, const uint8_t *block, struct tl_pcapng_fault *fault);

// Add the interface of a whole interface description. Return 0, or -EINVAL with *fault.
int tl_pcapng_add_interface(
	struct tl_pcapng_section *section, const uint8_t *block, uint32_t bytes, struct tl_pcapng_fault *fault);

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

static inline bool tl_pcapng_is_packet(uint32_t type)
{
	return type == TL_PCAPNG_EPB || type == TL_PCAPNG_SIMPLE_PACKET || type == TL_PCAPNG_PACKET;
}

struct tl_pcapng_packet {
	uint32_t interface_id;
	uint32_t cap_bytes;  // stored
	uint32_t wire_bytes; // on the wire
	uint64_t ticks;	     // time in the unit of the interface
	uint64_t ts_ns;	     // since 1970; 0 in a simple packet block
	const uint8_t *data;
};

// HOT. Parse an enhanced packet block, or an obsolete packet block, of this size; ts_ns remains as it is. False: it is
// too short, or its data reaches past it.
static inline bool tl_pcapng_get_epb(bool swapped, const uint8_t *block, uint32_t bytes, struct tl_pcapng_packet *out)
{
	if (TL_UNLIKELY(bytes < TL_PCAPNG_EPB_BYTES_MIN))
		return false;
	out->interface_id = TL_UNLIKELY(tl_pcapng_u32(swapped, block) == TL_PCAPNG_PACKET)
				    ? tl_pcapng_u16(swapped, block + 8)
				    : tl_pcapng_u32(swapped, block + 8);
	out->ticks = (uint64_t)tl_pcapng_u32(swapped, block + 12) << 32 | tl_pcapng_u32(swapped, block + 16);
	out->cap_bytes = tl_pcapng_u32(swapped, block + 20);
	out->wire_bytes = tl_pcapng_u32(swapped, block + 24);
	out->data = block + TL_PCAPNG_EPB_DATA_AT;
	return out->cap_bytes <= bytes - TL_PCAPNG_EPB_BYTES_MIN;
}

// Options of such a block, after the padded data.
static inline const uint8_t *tl_pcapng_epb_options(const struct tl_pcapng_packet *packet)
{
	return packet->data + tl_align_up(packet->cap_bytes, 4);
}

// Parse and check a simple packet block. Return 0, or -EINVAL with *fault.
int tl_pcapng_get_simple(const struct tl_pcapng_section *section, const uint8_t *block, uint32_t bytes,
	struct tl_pcapng_packet *out, struct tl_pcapng_fault *fault);

// HOT. Parse and check the packet block at block, which is whole. Return 0, or -EINVAL with *fault.
static inline int tl_pcapng_get_packet(const struct tl_pcapng_section *section, const uint8_t *block,
	const struct tl_pcapng_block *head, struct tl_pcapng_packet *out, struct tl_pcapng_fault *fault)
{
	if (TL_UNLIKELY(head->type == TL_PCAPNG_SIMPLE_PACKET))
		return tl_pcapng_get_simple(section, block, head->bytes, out, fault);
	if (TL_UNLIKELY(head->bytes < TL_PCAPNG_EPB_BYTES_MIN))
		return tl_pcapng_broken(fault, 0, "a packet block too short", head->bytes);
	bool fits = tl_pcapng_get_epb(section->swapped, block, head->bytes, out);
	if (TL_UNLIKELY(out->interface_id >= section->n))
		return tl_pcapng_broken(fault, 8, "a frame of an interface not described before it", out->interface_id);
	if (TL_UNLIKELY(tl_pcapng_time_ns(&section->interface[out->interface_id], out->ticks, &out->ts_ns) != 0))
		return tl_pcapng_broken(fault, 12, "a timestamp before 1970 or after 2554", out->ticks);
	if (TL_UNLIKELY(!fits))
		return tl_pcapng_broken(fault, 20, "a frame longer than its block", out->cap_bytes);
	return 0;
}
