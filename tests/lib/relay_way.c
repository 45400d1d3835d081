// SPDX-License-Identifier: BSD-3-Clause
// Process the frames of one direction of the relay.

#include <linux/if_packet.h>
#include <string.h>
#include <sys/socket.h>

#include <tl_random.h>

#include "relay.h"

#define BATCH 64u
#define TAG_BYTES 4u
#define MILLION 1000000u

static bool happens(struct relay *r, enum knob ppm)
{
	return tl_random_next(&r->rng) % MILLION < r->option[ppm];
}

// ---- frames in transit: a binary heap

static bool is_before(const struct held *a, const struct held *b)
{
	return a->due_ns != b->due_ns ? a->due_ns < b->due_ns : a->number < b->number;
}

static void swap(struct way *way, uint32_t i, uint32_t j)
{
	struct held *held = way->heap[i];

	way->heap[i] = way->heap[j];
	way->heap[j] = held;
}

// Move the first free frame, filled in by the caller, to its place in the heap.
static void push(struct way *way)
{
	for (uint32_t i = way->n++; i > 0 && is_before(way->heap[i], way->heap[(i - 1) / 2]); i = (i - 1) / 2)
		swap(way, i, (i - 1) / 2);
}

// Remove the next due frame; it becomes the first free one. Return it.
static struct held *pop(struct way *way)
{
	swap(way, 0, --way->n);
	for (uint32_t i = 0, child = 1; child < way->n; i = child, child = 2 * i + 1) {
		if (child + 1 < way->n && is_before(way->heap[child + 1], way->heap[child]))
			child++;
		if (!is_before(way->heap[child], way->heap[i]))
			break;
		swap(way, i, child);
	}
	return way->heap[way->n];
}

// ---- tags (IEEE 802.1Q)

static bool is_tagged(const uint8_t *frame)
{
	return frame[12] == 0x81 && frame[13] == 0x00;
}

static void insert_tag(uint8_t *frame, uint16_t *len, unsigned tci)
{
	const uint8_t tag[TAG_BYTES] = {0x81, 0x00, (uint8_t)(tci >> 8), (uint8_t)tci};

	memmove(frame + 12 + TAG_BYTES, frame + 12, *len - 12u);
	memcpy(frame + 12, tag, TAG_BYTES);
	*len += TAG_BYTES;
}

static void remove_tag(uint8_t *frame, uint16_t *len)
{
	*len -= TAG_BYTES;
	memmove(frame + 12, frame + 12 + TAG_BYTES, *len - 12u);
}

// Restore the outer tag, which the kernel removes from the frame and reports in auxiliary data.
static void restore_tag(struct msghdr *message, uint8_t *frame, uint16_t *len)
{
	const struct cmsghdr *note = CMSG_FIRSTHDR(message);
	struct tpacket_auxdata aux;

	if (note == NULL || note->cmsg_level != SOL_PACKET || note->cmsg_type != PACKET_AUXDATA)
		return;
	memcpy(&aux, CMSG_DATA(note), sizeof(aux));
	if ((aux.tp_status & TP_STATUS_VLAN_VALID) != 0)
		insert_tag(frame, len, aux.tp_vlan_tci);
}

// Move a frame from the access port into the VLAN, or back. False: the frame does not belong to the other side.
static bool change_sides(const struct relay *r, const struct way *way, uint8_t *frame, uint16_t *len)
{
	bool from_trunk = way == &r->way[0];

	if (r->option[VLAN] == 0)
		return true;
	if (is_tagged(frame) != from_trunk)
		return false;
	if (!from_trunk) {
		insert_tag(frame, len, (unsigned)r->option[VLAN]);
		return true;
	}
	if (((unsigned)frame[14] << 8 | frame[15]) != r->option[VLAN])
		return false;
	remove_tag(frame, len);
	return true;
}

// ---- faults of a frame

static void hold(struct relay *r, struct way *way, const uint8_t *bytes, uint16_t len)
{
	struct held *held = way->heap[way->n];
	uint64_t late_us = 0;

	if (happens(r, LATE)) {
		way->late++;
		late_us = tl_random_next(&r->rng) % (r->option[LATE_US] + 1);
	}
	held->due_ns = r->now_ns + (r->option[DELAY_US] + late_us) * 1000;
	held->number = ++way->numbers;
	held->len = len;
	memcpy(held->bytes, bytes, len);
	push(way);
}

static void take(struct relay *r, struct way *way, uint8_t *bytes, uint16_t len)
{
	way->received++;
	if (!change_sides(r, way, bytes, &len)) {
		way->foreign++;
		return;
	}
	if (happens(r, LOSE)) {
		way->lost++;
		return;
	}
	hold(r, way, bytes, len);
	if (happens(r, DOUBLE)) {
		way->doubled++;
		hold(r, way, bytes, len);
	}
}

// Receive waiting frames while there is room for a frame and its duplicate.
void relay_receive(struct relay *r, struct way *way)
{
	static uint8_t bytes[BATCH][FRAME_BYTES];
	static _Alignas(struct cmsghdr) uint8_t notes[BATCH][CMSG_SPACE(sizeof(struct tpacket_auxdata))];
	struct mmsghdr message[BATCH];
	struct iovec io[BATCH];
	uint32_t room = (HELD_MAX - way->n) / 2;

	memset(message, 0, sizeof(message));
	for (unsigned i = 0; i < BATCH; i++) {
		io[i] = (struct iovec){bytes[i], FRAME_BYTES - 2 * TAG_BYTES};
		message[i].msg_hdr = (struct msghdr){.msg_iov = &io[i],
			.msg_iovlen = 1,
			.msg_control = notes[i],
			.msg_controllen = sizeof(notes[i])};
	}
	int n = recvmmsg(way->from, message, room < BATCH ? room : BATCH, MSG_DONTWAIT, NULL);
	for (int i = 0; i < n; i++) {
		uint16_t len = (uint16_t)message[i].msg_len;
		restore_tag(&message[i].msg_hdr, bytes[i], &len);
		take(r, way, bytes[i], len);
	}
}

static void note_sent(struct way *way, const struct held *held)
{
	way->sent++;
	if (held->number < way->highest_sent)
		way->reordered++;
	else
		way->highest_sent = held->number;
}

static void send_frames(struct way *way, struct held *const *frames, unsigned n)
{
	struct mmsghdr message[BATCH];
	struct iovec io[BATCH];

	memset(message, 0, sizeof(message));
	for (unsigned i = 0; i < n; i++) {
		io[i] = (struct iovec){frames[i]->bytes, frames[i]->len};
		message[i].msg_hdr = (struct msghdr){.msg_iov = &io[i], .msg_iovlen = 1};
	}
	for (unsigned begin = 0; begin < n;) {
		int sent = sendmmsg(way->to, message + begin, n - begin, 0);
		if (sent <= 0) { // no room in the output queue
			way->refused++;
			begin++;
			continue;
		}
		for (int i = 0; i < sent; i++)
			note_sent(way, frames[begin + (unsigned)i]);
		begin += (unsigned)sent;
	}
}

void relay_send(struct relay *r, struct way *way)
{
	struct held *frames[BATCH];
	unsigned n = 0;

	while (way->n > 0 && way->heap[0]->due_ns <= r->now_ns) {
		frames[n++] = pop(way);
		if (n == BATCH) {
			send_frames(way, frames, n);
			n = 0;
		}
	}
	send_frames(way, frames, n);
}
