// SPDX-License-Identifier: BSD-3-Clause
// Requests of tests to the running model: a message on a UNIX seqpacket socket, IXGBE_MODEL, is a line "VERB CARD
// [WORD]...", followed by the bytes of a frame, if any; the reply is "ok [WORD]..." or "error: ...".
//
//   inject CARD N      input the attached frame N times in a row
//   take CARD          return the oldest frame sent and not yet taken, attached; "ok 0": none
//   link CARD MBPS     set the speed: 10000, 1000, 100, or 0: down
//   hold CARD 1|0      1: delay the doorbells of receive queues, like a stalled bus, so that the buffer fills
//   read CARD OFFSET   read a register without its side effects; write CARD OFFSET VALUE likewise
//   tune CARD ADD      step the clock by this number of its ticks
//   gone CARD          from now on every read returns all ones
//   unplug CARD        an access raises SIGBUS, and the kernel reports the removal
//   state CARD         "ok accesses=N held_frames=N speed=N clock_stops=N"; clock_stops: how often TIMINCA was set to 0

#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct request {
	struct card *card;
	uint64_t a, b;
	const uint8_t *frame;
	uint32_t frame_bytes;
};

struct answer {
	char text[160 + FRAME_MAX];
	size_t bytes;
};

static void say(struct answer *answer, const char *text, uint64_t value)
{
	answer->bytes = (size_t)snprintf(answer->text, 160, "%s %llu", text, (unsigned long long)value);
}

static void do_inject(const struct request *request, struct answer *answer)
{
	for (uint64_t i = 0; i < request->a; i++)
		rx_arrive(request->card, request->frame, request->frame_bytes);
	say(answer, "ok", request->a);
}

static void do_take(const struct request *request, struct answer *answer)
{
	struct frame *frame = frames_pop(&request->card->wire.sent);

	say(answer, "ok", frame != NULL ? frame->bytes : 0);
	if (frame == NULL)
		return;
	answer->text[answer->bytes++] = '\n';
	memcpy(answer->text + answer->bytes, frame->data, frame->bytes);
	answer->bytes += frame->bytes;
	free(frame);
}

static void do_link(const struct request *request, struct answer *answer)
{
	link_set(request->card, (unsigned)request->a);
	say(answer, "ok", request->a);
}

static void do_hold(const struct request *request, struct answer *answer)
{
	struct card *card = request->card;

	for (unsigned q = 0; q < QUEUES && request->a != 0; q++)
		card->held_tail[q] = get(card, rx_reg(q, RDT));
	card->held = request->a != 0;
	rx_drain(card);
	say(answer, "ok", request->a);
}

static void do_read(const struct request *request, struct answer *answer)
{
	say(answer, "ok", get(request->card, (uint32_t)request->a % BAR_BYTES));
}

static void do_write(const struct request *request, struct answer *answer)
{
	set(request->card, (uint32_t)request->a % BAR_BYTES, (uint32_t)request->b);
	say(answer, "ok", request->b);
}

static void do_tune(const struct request *request, struct answer *answer)
{
	request->card->phc.ticks += request->a;
	say(answer, "ok", request->a);
}

static void do_gone(const struct request *request, struct answer *answer)
{
	vanish(request->card);
	say(answer, "ok", 1);
}

static void do_unplug(const struct request *request, struct answer *answer)
{
	unplug(request->card);
	say(answer, "ok", 1);
}

static void do_state(const struct request *request, struct answer *answer)
{
	const struct card *card = request->card;

	answer->bytes = (size_t)snprintf(answer->text, 160,
		"ok accesses=%llu held_frames=%llu speed=%u clock_stops=%llu", (unsigned long long)card->accesses,
		(unsigned long long)card->buffer.n, card->speed_mbps, (unsigned long long)card->phc.stops);
}

static const struct {
	const char *name;
	void (*run)(const struct request *request, struct answer *answer);
} verbs[] = {{"inject", do_inject}, {"take", do_take}, {"link", do_link}, {"hold", do_hold}, {"read", do_read},
	{"write", do_write}, {"tune", do_tune}, {"gone", do_gone}, {"unplug", do_unplug}, {"state", do_state}};

static void answer_request(char *line, struct request *request, struct answer *answer)
{
	char verb[16], address[16], a[32] = "0", b[32] = "0";

	int words = sscanf(line, "%15s %15s %31s %31s", verb, address, a, b);
	request->card = words >= 2 ? card_by_address(address) : NULL;
	request->a = strtoull(a, NULL, 0);
	request->b = strtoull(b, NULL, 0);
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]) && request->card != NULL; i++)
		if (strcmp(verbs[i].name, verb) == 0) {
			verbs[i].run(request, answer);
			return;
		}
	answer->bytes = (size_t)snprintf(answer->text, 160, "error: no such verb or card");
}

bool control_serve(int fd)
{
	static char message[256 + FRAME_MAX];
	static struct answer answer;
	struct request request = {0};

	ssize_t n = recv(fd, message, sizeof(message) - 1, 0);
	if (n <= 0)
		return false;
	message[n] = '\0';
	char *end = memchr(message, '\n', (size_t)n);
	if (end != NULL) {
		*end = '\0';
		request.frame = (const uint8_t *)end + 1;
		request.frame_bytes = (uint32_t)(message + n - end - 1);
	}
	model_lock();
	answer_request(message, &request, &answer);
	model_unlock();
	return send(fd, answer.text, answer.bytes, MSG_NOSIGNAL) >= 0;
}

int control_listen(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const char *path = getenv("IXGBE_MODEL");
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (path == NULL || fd < 0)
		return fd;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	(void)unlink(path);
	if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) != 0 || listen(fd, 8) != 0) {
		perror("ixgbe model: its control socket");
		exit(1);
	}
	return fd;
}
