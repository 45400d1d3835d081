// SPDX-License-Identifier: BSD-3-Clause
// Makes and verifies the bytes of a message.

#include <tl_client_msg.h>

#include <endian.h>
#include <string.h>

#define GOLDEN_RATIO UINT64_C(0x9e3779b97f4a7c15)

// The output function of SplitMix64 (Steele, Lea, Flood 2014): every input bit reaches every output bit.
static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

// Word i of a message is mix(key + i * GOLDEN_RATIO).
static uint64_t message_key(uint64_t seed, uint64_t seq)
{
	return mix(seed + mix(seq + GOLDEN_RATIO));
}

void tl_client_payload_make(uint8_t *payload, size_t len, uint64_t seed, uint64_t seq)
{
	uint64_t state = message_key(seed, seq);
	uint64_t seq_be = htobe64(seq);

	memcpy(payload, &seq_be, TL_CLIENT_SEQ_BYTES);
	for (size_t at = TL_CLIENT_SEQ_BYTES; at < len; at += sizeof(uint64_t)) {
		uint64_t word = mix(state += GOLDEN_RATIO);
		memcpy(payload + at, &word, tl_min_u64(sizeof(word), len - at));
	}
}

bool tl_client_payload_check(const uint8_t *payload, size_t len, uint64_t seed, uint64_t *seq)
{
	uint64_t seq_be;

	memcpy(&seq_be, payload, TL_CLIENT_SEQ_BYTES);
	*seq = be64toh(seq_be);

	uint64_t state = message_key(seed, *seq);
	for (size_t at = TL_CLIENT_SEQ_BYTES; at < len; at += sizeof(uint64_t)) {
		uint64_t word = mix(state += GOLDEN_RATIO);
		if (memcmp(payload + at, &word, tl_min_u64(sizeof(word), len - at)) != 0)
			return false;
	}
	return true;
}
