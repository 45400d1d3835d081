// SPDX-License-Identifier: BSD-3-Clause
// Generation and verification of message bytes.

#include <tl_client_msg.h>

#include <endian.h>
#include <string.h>

#include <tl_random.h>

// Return the key from which a message's words are derived.
static uint64_t message_key(uint64_t seed, uint64_t seq)
{
	return tl_random_mix(seed + tl_random_mix(seq + TL_RANDOM_STEP));
}

void tl_client_payload_make(uint8_t *payload, size_t len, uint64_t seed, uint64_t seq)
{
	uint64_t state = message_key(seed, seq);
	uint64_t seq_be = htobe64(seq);

	memcpy(payload, &seq_be, TL_CLIENT_SEQ_BYTES);
	for (size_t at = TL_CLIENT_SEQ_BYTES; at < len; at += sizeof(uint64_t)) {
		uint64_t word = tl_random_next(&state);
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
		uint64_t word = tl_random_next(&state);
		if (memcmp(payload + at, &word, tl_min_u64(sizeof(word), len - at)) != 0)
			return false;
	}
	return true;
}
