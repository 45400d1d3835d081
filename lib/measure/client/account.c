// SPDX-License-Identifier: BSD-3-Clause
// Accounting of a run: the outcome of each message.

#include <tl_client_msg.h>

#include <errno.h>
#include <stdlib.h>

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
		account->duplicated++;
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
	       echoes_read == received + account->duplicated + account->corrupt;
}
