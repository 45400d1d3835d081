// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// client messages: what a message looks like, how a stream is cut into messages again, and what became of each. Pure:
// no socket, no clock.
//
// A message is its sequence number (8 bytes, big-endian) and then bytes that follow from seed and sequence number, so
// that an echo can be verified without keeping what was sent.
//
// Threads: one per object. Memory: init() allocates, fini() frees; a zeroed object may be finished.

#include <stdbool.h>

#include <tl_base.h>

#define TL_CLIENT_SEQ_BYTES 8

// Write message seq, len bytes long (at least TL_CLIENT_SEQ_BYTES).
void tl_client_payload_make(uint8_t *payload, size_t len, uint64_t seed, uint64_t seq);

// Reads the sequence number into *seq, and says whether the rest is what belongs to it.
bool tl_client_payload_check(const uint8_t *payload, size_t len, uint64_t seed, uint64_t *seq);

struct tl_client_framer {
	uint8_t *partial; // the beginning of a frame whose end has not arrived
	size_t frame_bytes;
	size_t have_bytes;
};

// Returns 0 or -ENOMEM.
int tl_client_framer_init(struct tl_client_framer *framer, size_t frame_bytes);
void tl_client_framer_fini(struct tl_client_framer *framer);

// A new stream begins: forget the unfinished frame.
void tl_client_framer_reset(struct tl_client_framer *framer);

// Takes the next frame off the front of *data and returns it, valid until the next call; or keeps what is left of *data
// and returns NULL when that is no whole frame.
const uint8_t *tl_client_framer_next(struct tl_client_framer *framer, const uint8_t **data, size_t *len);

enum tl_client_verdict { TL_CLIENT_RECEIVED, TL_CLIENT_DUPLICATED, TL_CLIENT_CORRUPT };

// The counts are those of struct tl_client_result.
struct tl_client_account {
	uint64_t planned;		   // sequence numbers run from 0 to planned - 1
	uint64_t *was_sent, *was_received; // a bit for each
	uint64_t sent, received, duplicated, corrupt, reordered;
	uint64_t highest_received; // valid when received > 0
};

// Returns 0 or -ENOMEM.
int tl_client_account_init(struct tl_client_account *account, uint64_t planned);
void tl_client_account_fini(struct tl_client_account *account);

// Message seq (below planned, once each) has been sent.
void tl_client_account_sent(struct tl_client_account *account, uint64_t seq);

// An echo has been read that carries seq; intact is what tl_client_payload_check() said.
enum tl_client_verdict tl_client_account_echo(struct tl_client_account *account, uint64_t seq, bool intact);

// Tell whether a message below planned was sent and has no echo so far.
bool tl_client_account_is_lost(const struct tl_client_account *account, uint64_t seq);
uint64_t tl_client_account_lost(const struct tl_client_account *account);

// Whether the counts agree with the bits and with echoes_read, which the reader of the sockets counted.
bool tl_client_account_balanced(const struct tl_client_account *account, uint64_t echoes_read);
