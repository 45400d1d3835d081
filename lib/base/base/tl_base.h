// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// base: attributes, constants, counters with one writer and many readers, and numbers at any address.
//
// Threads: a counter has one writing thread; any thread may read it. Memory: none.

#include <stddef.h>
#include <stdint.h>

#define TL_LIKELY(x) __builtin_expect(!!(x), 1)
#define TL_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define TL_ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define TL_PRINTF(fmt_index, args_index) __attribute__((format(printf, fmt_index, args_index)))
#define TL_CACHE_LINE 64
#define TL_CACHE_ALIGNED __attribute__((aligned(TL_CACHE_LINE)))

#define TL_NS_PER_US UINT64_C(1000)
#define TL_NS_PER_MS UINT64_C(1000000)
#define TL_NS_PER_S UINT64_C(1000000000)

// HOT. Add n to a counter owned by the calling thread. The compiler sees a plain add; readers never see a torn value.
static inline void tl_count(uint64_t *counter, uint64_t n)
{
	__atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

// Read a counter owned by another thread.
static inline uint64_t tl_count_read(const uint64_t *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

// A counter for output: its name (static) and a sampled value.
struct tl_counter {
	const char *name;
	uint64_t value;
};

static inline uint64_t tl_min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t tl_max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

// Round n up to a multiple of align, a power of two.
static inline uint64_t tl_align_up(uint64_t n, uint64_t align)
{
	return (n + align - 1) & ~(align - 1);
}

// Return the distance of n from 0: of INT64_MIN, too.
static inline uint64_t tl_magnitude(int64_t n)
{
	return n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
}

// Load a number in the byte order of the host, or of the network, from any address.
static inline uint16_t tl_load_u16(const uint8_t *p)
{
	uint16_t word;

	__builtin_memcpy(&word, p, sizeof(word));
	return word;
}

static inline uint64_t tl_load_u64(const uint8_t *p)
{
	uint64_t word;

	__builtin_memcpy(&word, p, sizeof(word));
	return word;
}

static inline uint32_t tl_load_u32(const uint8_t *p)
{
	uint32_t word;

	__builtin_memcpy(&word, p, sizeof(word));
	return word;
}

static inline uint16_t tl_load_be16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}
