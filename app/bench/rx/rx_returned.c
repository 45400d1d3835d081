// SPDX-License-Identifier: BSD-3-Clause
// Frames that a recorder returns: read its recording from a pipe, piece by piece, and take each frame at the time of
// its stamp, which is of CLOCK_REALTIME; the sender's is of CLOCK_MONOTONIC.

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include <tl_pcapfile.h>

#include "rx_priv.h"

#define WINDOW_BYTES (1u << 20) // many times the longest block
#define READINGS 16

struct rx_returned {
	int fd;
	struct tl_pcap_reader *reader; // NULL: its first blocks have not come yet
	uint64_t offset_bytes;	       // of the window in the recording
	size_t bytes;		       // in the window
	uint8_t window[WINDOW_BYTES];
};

struct rx_returned *rx_returned_create(int fd)
{
	struct rx_returned *r = malloc(sizeof(*r));

	if (r == NULL)
		close(fd);
	else
		*r = (struct rx_returned){.fd = fd};
	return r;
}

void rx_returned_destroy(struct rx_returned *r)
{
	if (r == NULL)
		return;
	tl_pcap_close(r->reader);
	close(r->fd);
	free(r);
}

static uint64_t real_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * TL_NS_PER_S + (uint64_t)now.tv_nsec;
}

// Return CLOCK_REALTIME less CLOCK_MONOTONIC, by the narrowest of some readings.
static uint64_t clocks_apart_ns(void)
{
	uint64_t apart = 0, narrowest = UINT64_MAX;

	for (unsigned i = 0; i < READINGS; i++) {
		uint64_t before = tl_ladder_now_ns(), real = real_ns(), width = tl_ladder_now_ns() - before;
		if (width < narrowest) {
			narrowest = width;
			apart = real - (before + width / 2);
		}
	}
	return apart;
}

// Read what has come, into the window. Return 0, -EPIPE at the end of the recording, or another -errno.
static int fill_window(struct rx_returned *r, unsigned wait_ms)
{
	struct pollfd wait = {.fd = r->fd, .events = POLLIN};

	if (poll(&wait, 1, (int)wait_ms) <= 0)
		return 0;
	ssize_t n = read(r->fd, r->window + r->bytes, sizeof(r->window) - r->bytes);
	if (n <= 0)
		return n == 0 ? -EPIPE : -errno;
	r->bytes += (size_t)n;
	if (r->reader != NULL)
		tl_pcap_move(r->reader, r->window, r->bytes, r->offset_bytes);
	else
		(void)tl_pcap_open_window(r->window, r->bytes, "the recording", &r->reader, NULL);
	return 0;
}

int rx_returned_take(struct rx_returned *r, struct tl_ladder_sink *sink, unsigned wait_ms)
{
	struct tl_pcap_frame frame;
	int rc = fill_window(r, wait_ms);

	if (rc != 0 || r->reader == NULL)
		return rc;
	uint64_t apart_ns = clocks_apart_ns();
	while ((rc = tl_pcap_next(r->reader, &frame, NULL)) == 1)
		tl_ladder_take_at(sink, frame.data, frame.cap_bytes, frame.ts_ns - apart_ns);
	size_t done = (size_t)(tl_pcap_offset(r->reader) - r->offset_bytes);
	r->bytes -= done;
	r->offset_bytes += done;
	memmove(r->window, r->window + done, r->bytes);
	return rc == 0 || tl_pcap_needs_more(r->reader) ? 0 : -EBADMSG;
}
