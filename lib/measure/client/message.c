// SPDX-License-Identifier: BSD-3-Clause
// Messages: generation and verification of their bytes, framing of a stream, and the outcome of each.

#include <tl_client_msg.h>

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <tl_random.h>

// ---- bytes

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

// ---- frames of a stream

int tl_client_framer_init(struct tl_client_framer *framer, size_t frame_bytes)
{
	*framer = (struct tl_client_framer){.partial = malloc(frame_bytes), .frame_bytes = frame_bytes};
	return framer->partial == NULL ? -ENOMEM : 0;
}

void tl_client_framer_fini(struct tl_client_framer *framer)
{
	free(framer->partial);
	*framer = (struct tl_client_framer){0};
}

void tl_client_framer_reset(struct tl_client_framer *framer)
{
	framer->have_bytes = 0;
}

const uint8_t *tl_client_framer_next(struct tl_client_framer *framer, const uint8_t **data, size_t *len)
{
	const uint8_t *begin = *data;
	size_t take = tl_min_u64(framer->frame_bytes - framer->have_bytes, *len);

	*data += take;
	*len -= take;
	if (take == framer->frame_bytes)
		return begin;
	memcpy(framer->partial + framer->have_bytes, begin, take);
	framer->have_bytes += take;
	if (framer->have_bytes < framer->frame_bytes)
		return NULL;
	framer->have_bytes = 0;
	return framer->partial;
}

// ---- outcome of each message

static size_t bitmap_words(uint64_t bits)
{
	return (bits + 63) / 64;
}

static bool test_bit(const uint64_t *bitmap, uint64_t bit)
{
	return bitmap[bit / 64] >> (bit % 64) & 1;
}

static void set_bit(uint64_t *bitmap, uint64_t bit)
{
	bitmap[bit / 64] |= UINT64_C(1) << (bit % 64);
}

static uint64_t count_bits(const uint64_t *bitmap, uint64_t bits)
{
	uint64_t count = 0;

	for (size_t i = 0; i < bitmap_words(bits); i++)
		count += (uint64_t)__builtin_popcountll(bitmap[i]);
	return count;
}

int tl_client_account_init(struct tl_client_account *account, uint64_t planned)
{
	*account = (struct tl_client_account){
		.planned = planned,
		.was_sent = calloc(bitmap_words(planned), sizeof(uint64_t)),
		.was_received = calloc(bitmap_words(planned), sizeof(uint64_t)),
	};
	if (account->was_sent != NULL && account->was_received != NULL)
		return 0;
	tl_client_account_fini(account);
	return -ENOMEM;
}

void tl_client_account_fini(struct tl_client_account *account)
{
	free(account->was_sent);
	free(account->was_received);
	*account = (struct tl_client_account){0};
}

void tl_client_account_sent(struct tl_client_account *account, uint64_t seq)
{
	set_bit(account->was_sent, seq);
	account->sent++;
}

enum tl_client_verdict tl_client_account_echo(struct tl_client_account *account, uint64_t seq, bool intact)
{
	if (!intact || seq >= account->planned || !test_bit(account->was_sent, seq)) {
		account->corrupt++;
		return TL_CLIENT_CORRUPT;
	}
	if (test_bit(account->was_received, seq)) {
		account->duplicates++;
		return TL_CLIENT_DUPLICATED;
	}
	set_bit(account->was_received, seq);
	if (account->received > 0 && seq < account->highest_received)
		account->reordered++;
	account->highest_received = tl_max_u64(account->highest_received, seq);
	account->received++;
	return TL_CLIENT_RECEIVED;
}

bool tl_client_account_is_lost(const struct tl_client_account *account, uint64_t seq)
{
	return test_bit(account->was_sent, seq) && !test_bit(account->was_received, seq);
}

uint64_t tl_client_account_lost(const struct tl_client_account *account)
{
	return account->sent - account->received;
}

bool tl_client_account_balanced(const struct tl_client_account *account, uint64_t echoes_read)
{
	uint64_t sent = count_bits(account->was_sent, account->planned);
	uint64_t received = count_bits(account->was_received, account->planned);

	return account->sent == sent && account->received == received && received <= sent &&
	       echoes_read == received + account->duplicates + account->corrupt;
}
