// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// client messages: format of a message, framing of a stream, and accounting of each message. Pure: no socket, no clock.
//
// A message is its sequence number (8 bytes, big-endian) and then bytes derived from seed and sequence number, so that
// an echo can be verified without keeping the message.
//
// Threads: one per object. Memory: init() allocates, fini() frees; a zeroed object may be finished.

#include <stdbool.h>

#include <tl_base.h>

#define TL_CLIENT_SEQ_BYTES 8

// Write message seq, len bytes long (at least TL_CLIENT_SEQ_BYTES).
void tl_client_payload_make(uint8_t *payload, size_t len, uint64_t seed, uint64_t seq);

// Read the sequence number into *seq. Return whether the rest of the message is correct.
bool tl_client_payload_check(const uint8_t *payload, size_t len, uint64_t seed, uint64_t *seq);

struct tl_client_framer {
	uint8_t *partial; // start of a frame whose end has not arrived
	size_t frame_bytes;
	size_t have_bytes;
};

// Return 0 or -ENOMEM.
int tl_client_framer_init(struct tl_client_framer *framer, size_t frame_bytes);
void tl_client_framer_fini(struct tl_client_framer *framer);

// Start a new stream: discard the unfinished frame.
void tl_client_framer_reset(struct tl_client_framer *framer);

// Return the next frame at the front of *data, valid until the next call, and consume it; or keep the rest of *data and
// return NULL if that is not a whole frame.
const uint8_t *tl_client_framer_next(struct tl_client_framer *framer, const uint8_t **data, size_t *len);

enum tl_client_verdict { TL_CLIENT_RECEIVED, TL_CLIENT_DUPLICATED, TL_CLIENT_CORRUPT };

// Counts as in struct tl_client_result.
struct tl_client_account {
	uint64_t planned;		   // sequence numbers run from 0 to planned - 1
	uint64_t *was_sent, *was_received; // one bit per message
	uint64_t sent, received, duplicates, corrupt, reordered;
	uint64_t highest_received; // valid when received > 0
};

// Return 0 or -ENOMEM.
int tl_client_account_init(struct tl_client_account *account, uint64_t planned);
void tl_client_account_fini(struct tl_client_account *account);

// Count message seq (below planned, once each) as sent.
void tl_client_account_sent(struct tl_client_account *account, uint64_t seq);

// Count an echo that carries seq; intact: the result of tl_client_payload_check().
enum tl_client_verdict tl_client_account_echo(struct tl_client_account *account, uint64_t seq, bool intact);

// Check whether a message below planned was sent and has no echo so far.
bool tl_client_account_is_lost(const struct tl_client_account *account, uint64_t seq);
uint64_t tl_client_account_lost(const struct tl_client_account *account);

// Check that the counts agree with the bits and with echoes_read, counted by the reader of the sockets.
bool tl_client_account_balanced(const struct tl_client_account *account, uint64_t echoes_read);
