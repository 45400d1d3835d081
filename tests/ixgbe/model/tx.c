// SPDX-License-Identifier: BSD-3-Clause
// Path of a sent frame: descriptors (7.2.3.2), checksums (7.2.5), VLAN tag (7.4.3), padding, the wire.

#include "model.h"

#include <stdlib.h>
#include <string.h>

// The command word of a data descriptor, and its third word after write-back
#define CMD_BYTES 0xFFFFu
#define MAC_TSTAMP 0x00080000u
#define TYPE_MASK 0x00F00000u
#define TYPE_CONTEXT 0x00200000u
#define TYPE_DATA 0x00300000u
#define CMD_EOP 0x01000000u
#define CMD_RS 0x08000000u
#define CMD_DEXT 0x20000000u
#define CMD_VLE 0x40000000u
#define CMD_TSE 0x80000000u
#define STATUS_DD 0x1u
#define OPTION_IXSM 0x100u
#define OPTION_TXSM 0x200u
#define LEAST_BYTES 60

// Descriptors of one frame, decoded.
struct job {
	uint8_t data[FRAME_MAX + 4];
	uint32_t bytes;
	uint32_t command, options;
	uint64_t context; // the low half of its context descriptor
	uint64_t context_high;
};

// 7.2.5.2: checksums are summed over the existing bytes, with the pseudo-header's sum in the field of layer 4.
static void fill_checksums(struct job *job)
{
	uint32_t l2 = job->context >> 9 & 0x7F, l3_bytes = job->context & 0x1FF, l4 = l2 + l3_bytes;
	bool tcp = (job->context_high >> 11 & 3) == 1;

	if ((job->options & OPTION_IXSM) != 0) {
		uint16_t sum = (uint16_t)~checksum(job->data + l2, l3_bytes, 0);
		job->data[l2 + 10] = (uint8_t)(sum >> 8);
		job->data[l2 + 11] = (uint8_t)sum;
	}
	if ((job->options & OPTION_TXSM) != 0) {
		uint32_t at = l4 + (tcp ? 16 : 6);
		uint16_t sum = (uint16_t)~checksum(job->data + l4, job->bytes - l4, 0);
		sum = sum == 0 && !tcp ? 0xFFFF : sum;
		job->data[at] = (uint8_t)(sum >> 8);
		job->data[at + 1] = (uint8_t)sum;
	}
}

static void insert_tag(struct job *job)
{
	uint16_t tag = (uint16_t)(job->context >> 16);

	memmove(job->data + 16, job->data + 12, job->bytes - 12);
	memcpy(job->data + 12, (const uint8_t[]){0x81, 0x00, (uint8_t)(tag >> 8), (uint8_t)tag}, 4);
	job->bytes += 4;
}

static void count_sent(struct card *card, unsigned queue, const struct frame *frame)
{
	static const uint8_t broadcast[] = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
	unsigned counter = get(card, TQSM(queue / 4)) >> 8 * (queue & 3) & 0xF;
	uint32_t bytes = frame->bytes + CRC_BYTES;

	count(card, GPTC, 1);
	count(card, TPT, 1);
	count_octets(card, GOTCL, bytes);
	count_size(card, PTC64, bytes);
	count(card, QPTC(counter), 1);
	count_octets(card, QBTC_L(counter), bytes);
	if (memcmp(frame->data, broadcast, sizeof(broadcast)) == 0)
		count(card, BPTC, 1);
	else if ((frame->data[0] & 1) != 0)
		count(card, MPTC, 1);
}

static void send_frame(struct card *card, unsigned queue, struct job *job)
{
	if ((job->options & (OPTION_IXSM | OPTION_TXSM)) != 0)
		fill_checksums(job);
	if ((job->command & CMD_VLE) != 0)
		insert_tag(job);
	if (job->bytes < LEAST_BYTES && (get(card, HLREG0) & HLREG0_TXPADEN) != 0) {
		memset(job->data + job->bytes, 0, LEAST_BYTES - job->bytes);
		job->bytes = LEAST_BYTES;
	}
	struct frame *frame = frame_new(job->data, job->bytes);
	if (frame == NULL)
		model_lacks("a sent frame of bytes", job->bytes);
	count_sent(card, queue, frame);
	if ((job->command & MAC_TSTAMP) != 0)
		stamp_sent(card);
	wire_send(card, frame);
}

// Process a descriptor; return true for the last of its frame.
static bool take_descriptor(struct card *card, unsigned queue, uint8_t *descriptor, struct job *job)
{
	uint64_t words[2];

	memcpy(words, descriptor, sizeof(words));
	uint32_t command = (uint32_t)words[1], options = (uint32_t)(words[1] >> 32);
	if ((command & CMD_DEXT) == 0 || (command & CMD_TSE) != 0)
		model_lacks("the send descriptor", words[1]);
	if ((command & TYPE_MASK) == TYPE_CONTEXT) {
		memcpy(card->context[queue][options >> 4 & 1], words, sizeof(words));
		return false;
	}
	uint32_t bytes = command & CMD_BYTES;
	if (job->bytes == 0) { // the first descriptor names the context
		job->options = options;
		job->command = command;
		job->context = card->context[queue][options >> 4 & 1][0];
		job->context_high = card->context[queue][options >> 4 & 1][1];
	}
	if (job->bytes + bytes > FRAME_MAX)
		model_lacks("a sent frame of bytes", job->bytes + bytes);
	memcpy(job->data + job->bytes, (const void *)(uintptr_t)words[0], bytes);
	job->bytes += bytes;
	return (command & CMD_EOP) != 0;
}

// 7.2.3.4.2: DD is reported if RS is set.
static void report(uint8_t *descriptor)
{
	uint32_t command, done = STATUS_DD;

	memcpy(&command, descriptor + 8, sizeof(command));
	if ((command & CMD_RS) != 0)
		__atomic_store((uint32_t *)(descriptor + 12), &done, __ATOMIC_RELEASE);
}

static void run_queue(struct card *card, unsigned queue)
{
	static struct job job; // protected by the model's lock
	uint32_t size = get(card, tx_reg(queue, TDLEN)) / 16, head = get(card, tx_reg(queue, TDH)), first = head;
	uint64_t base = (uint64_t)get(card, tx_reg(queue, TDBAH)) << 32 | get(card, tx_reg(queue, TDBAL));

	if (size == 0 || (get(card, tx_reg(queue, TXDCTL)) & QUEUE_ENABLE) == 0)
		return;
	job.bytes = 0;
	while (head != get(card, tx_reg(queue, TDT))) {
		bool last = take_descriptor(card, queue, (uint8_t *)(uintptr_t)(base + 16 * head), &job);
		head = (head + 1) % size;
		if (!last && job.bytes != 0)
			continue;
		if (last)
			send_frame(card, queue, &job);
		job.bytes = 0;
		for (; first != head; first = (first + 1) % size)
			report((uint8_t *)(uintptr_t)(base + 16 * first));
		set(card, tx_reg(queue, TDH), head);
	}
}

// Without a link the TX DMA stops: frames wait in their rings.
void tx_kick(struct card *card)
{
	if (card->speed_mbps == 0 || (get(card, DMATXCTL) & DMATXCTL_TE) == 0)
		return;
	for (unsigned queue = 0; queue < QUEUES; queue++)
		run_queue(card, queue);
}

static void write_tail(struct card *card, uint32_t offset, uint32_t value)
{
	set(card, offset, value);
	if (card->speed_mbps != 0 && (get(card, DMATXCTL) & DMATXCTL_TE) != 0)
		run_queue(card, (offset - tx_reg(0, TDT)) / 0x40);
}

const struct row tx_rows[] = {{0x6000 + TDT, QUEUES, 0x40, NULL, write_tail}, {0}};
