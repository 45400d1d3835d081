// SPDX-License-Identifier: BSD-3-Clause
// Writes into a pipe, a socket or a character device, in order, with bounded waits.

#include "writer_priv.h"

#include <poll.h>
#include <unistd.h>

#define SLICE_MS 100	      // longest delay until a waiting write notices a stop
#define STOP_PATIENCE_MS 5000 // longest wait of a stopping writer for a blocked reader

// Wait until chunk_bytes can be written without blocking (or a write would return an error). The descriptor itself
// stays blocking: standard output is shared with other processes, and O_NONBLOCK would apply to them too.
static int wait_for_room(const struct tl_writer_file *file)
{
	struct pollfd room = {.fd = file->fd, .events = POLLOUT};
	uint32_t waited_ms = 0;

	for (;;) {
		int rc = poll(&room, 1, SLICE_MS);
		if (rc > 0)
			return 0;
		if (rc < 0 && errno != EINTR)
			return -errno;
		if (atomic_load_explicit(file->stop, memory_order_acquire))
			waited_ms += SLICE_MS;
		if (waited_ms >= STOP_PATIENCE_MS)
			return -ETIMEDOUT;
	}
}

static int write_all(struct tl_writer_file *file, const uint8_t *data, uint32_t len_bytes)
{
	while (len_bytes > 0) {
		int rc = wait_for_room(file);
		if (rc != 0)
			return rc;
		ssize_t n = write(file->fd, data, tl_min_u64(len_bytes, file->chunk_bytes));
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return -errno;
		if (n > 0) {
			data += n;
			len_bytes -= (uint32_t)n;
		}
	}
	return 0;
}

int tl_writer_stream_write(struct tl_writer_file *file, const uint8_t *data, uint32_t len_bytes)
{
	if (file->fd < 0) // TL_WRITER_NULL
		return 0;
	// Data after a possibly truncated block cannot be parsed.
	if (file->broken == 0)
		file->broken = write_all(file, data, len_bytes);
	return file->broken;
}

bool tl_writer_stream_abandoned(const struct tl_writer_file *file)
{
	struct pollfd reader = {.fd = file->fd, .events = 0};

	return file->fd >= 0 && poll(&reader, 1, 0) > 0 && (reader.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0;
}
