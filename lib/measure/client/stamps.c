// SPDX-License-Identifier: BSD-3-Clause
// Pair the stamps of departures with those of arrivals.

#include <tl_client_stamp.h>

#include <errno.h>
#include <stdlib.h>

int tl_client_stamps_init(struct tl_client_stamps *stamps, uint64_t unit, uint64_t slots)
{
	*stamps = (struct tl_client_stamps){
		.slots = calloc(slots, sizeof(*stamps->slots)), .mask = slots - 1, .unit = unit};
	return stamps->slots != NULL ? 0 : -ENOMEM;
}

void tl_client_stamps_fini(struct tl_client_stamps *stamps)
{
	free(stamps->slots);
	*stamps = (struct tl_client_stamps){0};
}

void tl_client_stamps_begin(struct tl_client_stamps *stamps, uint64_t seq)
{
	stamps->base_seq = seq;
	stamps->end = 0;
	stamps->expected = stamps->departed = 0;
}

// Return the message's slot, or NULL when a later one occupies it.
static struct tl_client_stamp_slot *find(const struct tl_client_stamps *stamps, uint64_t seq)
{
	struct tl_client_stamp_slot *slot = &stamps->slots[seq & stamps->mask];

	return slot->used && slot->seq == seq ? slot : NULL;
}

// Retire a slot. An echo that still has one stamp remains unpaired. A message without an echo is lost, and counted as
// that elsewhere.
static void retire(struct tl_client_stamps *stamps, struct tl_client_stamp_slot *slot)
{
	if (slot->used && !slot->done && slot->rx_ns != 0)
		stamps->counts.tx_missing++;
	slot->used = false;
}

void tl_client_stamps_sent(struct tl_client_stamps *stamps, uint64_t seq, uint64_t n, bool whole)
{
	struct tl_client_stamp_slot *slot = &stamps->slots[seq & stamps->mask];

	stamps->end += n;
	if (!whole)
		return;
	retire(stamps, slot);
	*slot = (struct tl_client_stamp_slot){.seq = seq, .used = true};
	stamps->expected++;
}

static bool complete(struct tl_client_stamps *stamps, struct tl_client_stamp_slot *slot, struct tl_client_pair *pair)
{
	if (slot->tx_ns == 0 || slot->rx_ns == 0)
		return false;
	slot->done = true;
	if (slot->rx_ns < slot->tx_ns) {
		stamps->counts.reply_first++;
		return false;
	}
	stamps->counts.paired++;
	*pair = (struct tl_client_pair){slot->seq, slot->tx_ns, slot->rx_ns, slot->rtt_ns, slot->cold};
	return true;
}

bool tl_client_stamps_departure(
	struct tl_client_stamps *stamps, uint32_t id, uint64_t stamp_ns, struct tl_client_pair *pair)
{
	// Identifiers lie in the past: the distance back selects among those equal modulo 2^32.
	uint32_t back = (uint32_t)stamps->end - 1 - id;
	uint64_t past = stamps->end - back; // identifiers up to and including this one

	if (back >= stamps->end || past % stamps->unit != 0) {
		stamps->counts.tx_strays += back >= stamps->end;
		return false; // or a part of a message
	}
	struct tl_client_stamp_slot *slot = find(stamps, stamps->base_seq + past / stamps->unit - 1);
	if (slot == NULL || slot->tx_ns != 0) {
		stamps->counts.tx_strays += slot == NULL;
		stamps->counts.tx_repeated += slot != NULL;
		return false;
	}
	stamps->departed++;
	slot->tx_ns = stamp_ns;
	return complete(stamps, slot, pair);
}

bool tl_client_stamps_arrival(struct tl_client_stamps *stamps, uint64_t seq, uint64_t stamp_ns, bool shared,
	uint64_t rtt_ns, uint32_t cold, struct tl_client_pair *pair)
{
	struct tl_client_stamp_slot *slot = find(stamps, seq);

	if (stamp_ns == 0 || shared) {
		stamps->counts.rx_missing += stamp_ns == 0;
		stamps->counts.rx_shared += stamp_ns != 0;
		return false;
	}
	if (slot == NULL) {
		stamps->counts.tx_missing++;
		return false;
	}
	slot->rx_ns = stamp_ns;
	slot->rtt_ns = rtt_ns;
	slot->cold = cold;
	return complete(stamps, slot, pair);
}

void tl_client_stamps_finish(struct tl_client_stamps *stamps)
{
	for (uint64_t i = 0; stamps->slots != NULL && i <= stamps->mask; i++)
		retire(stamps, &stamps->slots[i]);
}
