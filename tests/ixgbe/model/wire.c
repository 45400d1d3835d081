// SPDX-License-Identifier: BSD-3-Clause
// The wire: not connected (tests take sent frames), loopback, to another card, or to an interface of the kernel; and
// the model's only thread, which polls interfaces, the driver's interrupt masks and requests of tests.

#include "model.h"

#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define CLIENTS 8
#define SENT_MAX 100000
#define LEAST_BYTES 60
#define SPOILED_EVERY 100

bool has_flaw(const struct card *card, const char *flaw)
{
	return strstr(card->wire.flaws, flaw) != NULL;
}

// Apply the card's faults: some sent frames are lost or modified. Return true if the frame is lost.
static bool spoil(struct card *card, struct frame *frame)
{
	if (card->wire.flaws[0] == '\0' || ++card->wire.flawed % SPOILED_EVERY != 0)
		return false;
	if (has_flaw(card, "bytes"))
		frame->data[frame->bytes - 1] ^= 1;
	return has_flaw(card, "lose");
}

void wire_send(struct card *card, struct frame *frame)
{
	struct wire *wire = &card->wire;

	if (spoil(card, frame)) {
		free(frame);
		return;
	}
	if ((get(card, HLREG0) & HLREG0_LPBK) != 0) {
		rx_arrive(card, frame->data, frame->bytes);
		free(frame);
		return;
	}
	switch (wire->kind) {
	case WIRE_NONE:
		if (wire->sent.n == SENT_MAX)
			free(frames_pop(&wire->sent));
		frames_push(&wire->sent, frame);
		return;
	case WIRE_LOOP:
		rx_arrive(card, frame->data, frame->bytes);
		break;
	case WIRE_PEER:
		rx_arrive(wire->peer, frame->data, frame->bytes);
		break;
	case WIRE_TAP:
		(void)!write(wire->tap_fd, frame->data, frame->bytes);
		break;
	}
	free(frame);
}

static int open_tap(const char *name)
{
	struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI};
	int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
	if (fd < 0 || ioctl(fd, TUNSETIFF, &request) != 0) {
		perror("ixgbe model: the tap of its wire");
		exit(1);
	}
	return fd;
}

// The kernel sends short frames without the padding of a wire.
static void read_tap(struct card *card)
{
	uint8_t data[FRAME_MAX];
	ssize_t n;

	while ((n = read(card->wire.tap_fd, data, sizeof(data))) > 0) {
		if (n < LEAST_BYTES) {
			memset(data + n, 0, (size_t)(LEAST_BYTES - n));
			n = LEAST_BYTES;
		}
		model_lock();
		rx_arrive(card, data, (uint32_t)n);
		model_unlock();
	}
}

// The driver writes 1 to enable interrupts and 0 to disable them.
static void read_irq(struct card *card)
{
	uint32_t allowed;
	ssize_t n = read(card->irq_fd, &allowed, sizeof(allowed));

	model_lock();
	if (n == (ssize_t)sizeof(allowed)) {
		card->irq_open = allowed != 0;
		interrupt(card, 0);
	} else {
		close(card->irq_fd);
		card->irq_fd = -1;
	}
	model_unlock();
}

// ---- the thread

struct ear {
	void (*hear)(struct card *card);
	struct card *card;
};

static int clients[CLIENTS];
static unsigned n_clients;

static void hear_clients(const struct pollfd *fds, unsigned first)
{
	unsigned kept = 0, n = n_clients;

	for (unsigned i = 0; i < n; i++) {
		bool ended =
			(fds[first + i].revents & POLLIN) == 0 && (fds[first + i].revents & (POLLHUP | POLLERR)) != 0;
		if (!ended && (fds[first + i].revents & POLLIN) != 0)
			ended = !control_serve(clients[i]);
		if (ended)
			close(clients[i]);
		else
			clients[kept++] = clients[i];
	}
	n_clients = kept;
}

static void add_ear(struct pollfd *fds, struct ear *ears, unsigned *n, int fd, struct ear ear)
{
	if (fd < 0)
		return;
	fds[*n] = (struct pollfd){.fd = fd, .events = POLLIN};
	ears[(*n)++] = ear;
}

static void *listen_forever(void *argument)
{
	int listener = *(int *)argument;

	for (;;) {
		struct pollfd fds[2 * CARDS_MAX + CLIENTS + 1];
		struct ear ears[2 * CARDS_MAX];
		unsigned n = 0;
		for (unsigned i = 0; i < n_cards; i++) {
			add_ear(fds, ears, &n, cards[i].wire.tap_fd, (struct ear){read_tap, &cards[i]});
			add_ear(fds, ears, &n, cards[i].irq_fd, (struct ear){read_irq, &cards[i]});
		}
		for (unsigned i = 0; i < n_clients; i++)
			fds[n + i] = (struct pollfd){.fd = clients[i], .events = POLLIN};
		unsigned last = n + n_clients;
		fds[last] = (struct pollfd){.fd = n_clients < CLIENTS ? listener : -1, .events = POLLIN};
		if (poll(fds, last + 1, 100) <= 0) // 100 ms: to notice cards opened meanwhile
			continue;
		bool knock = (fds[last].revents & POLLIN) != 0;
		for (unsigned i = 0; i < n; i++)
			if (fds[i].revents != 0)
				ears[i].hear(ears[i].card);
		hear_clients(fds, n);
		if (knock && n_clients < CLIENTS)
			clients[n_clients++] = accept(listener, NULL, NULL);
	}
	return NULL;
}

// The program handles its signals, so the thread blocks them all; nor may it stay on the CPU of the lcore that started
// it.
static void start_thread(int *listener)
{
	pthread_attr_t attributes;
	pthread_t thread;
	sigset_t all, before;
	cpu_set_t cpus;

	memset(&cpus, 0xFF, sizeof(cpus));
	sigfillset(&all);
	sigdelset(&all, SIGSEGV);
	for (int number = SIGRTMIN; number <= SIGRTMAX; number++) // used by the program to reach each thread
		sigdelset(&all, number);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setaffinity_np(&attributes, sizeof(cpus), &cpus);
	if (pthread_create(&thread, &attributes, listen_forever, listener) != 0)
		abort();
	pthread_attr_destroy(&attributes);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void wire_begin(void)
{
	static int listener = -1;

	if (listener >= 0)
		return;
	for (unsigned i = 0; i < n_cards; i++)
		if (cards[i].wire.kind == WIRE_TAP)
			cards[i].wire.tap_fd = open_tap(cards[i].wire.tap_name);
	listener = control_listen();
	start_thread(&listener);
}
