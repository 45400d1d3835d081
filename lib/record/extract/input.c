// SPDX-License-Identifier: BSD-3-Clause
// Reads in the background: rate-limited, and without filling the page cache.

#include "extract_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include <tl_ahead.h>
#include <tl_units.h>

#define PAGE 4096u
#define VAIN_TIMES 4u // multiple of the file's size: limit for damaged slabs that a HEAD announces

void extract_pace(struct extract *extract, uint64_t bytes)
{
	const struct tl_extract_cfg *cfg = extract->cfg;

	extract->stats->bytes_read += bytes;
	if (cfg->progress != NULL)
		cfg->progress(cfg->ctx, extract->stats);
	if (cfg->rate_bytes == 0)
		return;
	uint64_t now = tl_mono_ns(); // unused time does not accumulate
	uint64_t cost_ns = (uint64_t)((unsigned __int128)bytes * TL_NS_PER_S / cfg->rate_bytes);
	extract->free_ns = tl_max_u64(extract->free_ns, now) + cost_ns;
	uint64_t wait_ns = extract->free_ns - now;
	if (wait_ns < TL_NS_PER_MS)
		return;
	struct timespec wait = {.tv_sec = (time_t)(wait_ns / TL_NS_PER_S), .tv_nsec = (long)(wait_ns % TL_NS_PER_S)};
	while (nanosleep(&wait, &wait) != 0 && errno == EINTR)
		continue;
}

int extract_input_open(struct extract_input *input, struct extract *extract, const char *path)
{
	struct stat status;
	int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

	*input = (struct extract_input){
		.path = path, .direct = extract != NULL, .ahead = EXTRACT_AHEAD, .extract = extract};
	input->fd = open(path, flags | (input->direct ? O_DIRECT : 0));
	if (input->fd < 0 && errno == EINVAL && input->direct) {
		input->direct = false;
		input->fd = open(path, flags);
	}
	if (input->fd < 0)
		return -errno;
	int rc = fstat(input->fd, &status) != 0 ? -errno : S_ISREG(status.st_mode) ? 0 : -EINVAL;
	if (rc != 0) {
		close(input->fd);
		return rc;
	}
	input->file_bytes = (uint64_t)status.st_size;
	posix_fadvise(
		input->fd, 0, 0, extract != NULL ? POSIX_FADV_RANDOM : POSIX_FADV_SEQUENTIAL); // RANDOM: no readahead
	return 0;
}

void extract_input_read_ahead(struct extract_input *input, struct tl_ahead *ahead)
{
	input->lane = ahead != NULL ? tl_ahead_open(ahead, input->fd) : NULL;
}

void extract_input_close(struct extract_input *input)
{
	if (input->lane != NULL)
		tl_ahead_close(input->lane);
	extract_packed_close(input->packed);
	close(input->fd);
	free(input->data);
}

// A recording locks the file that it writes.
bool extract_input_is_written(const struct extract_input *input)
{
	if (flock(input->fd, LOCK_SH | LOCK_NB) != 0)
		return errno == EWOULDBLOCK;
	(void)flock(input->fd, LOCK_UN);
	return false;
}

static int go_buffered(struct extract_input *input)
{
	int flags = fcntl(input->fd, F_GETFL);

	if (flags < 0 || fcntl(input->fd, F_SETFL, flags & ~O_DIRECT) != 0)
		return -errno;
	input->direct = false;
	return 0;
}

// Append up to want bytes, a multiple of PAGE, to the buffer.
static int fill(struct extract_input *input, size_t want)
{
	size_t target = input->len + want;

	while (input->len < target) {
		uint64_t at = input->at + input->len;
		ssize_t n = pread(input->fd, input->data + input->len, target - input->len, (off_t)at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EINVAL && input->direct && go_buffered(input) == 0)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		if (!input->direct && input->extract != NULL)
			posix_fadvise(input->fd, (off_t)at, n, POSIX_FADV_DONTNEED);
		input->len += (size_t)n;
		if (input->extract != NULL)
			extract_pace(input->extract, (uint64_t)n);
		if (n % PAGE != 0) // end of the file
			break;
	}
	return 0;
}

static int make_room(struct extract_input *input, size_t bytes)
{
	if (bytes <= input->capacity)
		return 0;
	uint8_t *data = aligned_alloc(PAGE, bytes);
	if (data == NULL)
		return -ENOMEM;
	if (input->len != 0)
		memcpy(data, input->data, input->len);
	free(input->data);
	input->data = data;
	input->capacity = bytes;
	return 0;
}

// Return what was read before an error; the error, if nothing was.
static int keep_error(struct extract_input *input, int rc, size_t got)
{
	if (rc == 0 || got == 0 || input->extract != NULL)
		return rc;
	input->broken = rc;
	return 0;
}

// Read into the buffer; keep what it has from start on.
static int refill(struct extract_input *input, uint64_t start, uint64_t end)
{
	size_t keep = 0;

	if (start >= input->at && start < input->at + input->len)
		keep = (size_t)(input->at + input->len - start) & ~(size_t)(PAGE - 1);
	size_t need = tl_align_up(end - start, PAGE);
	size_t rest = tl_align_up(input->file_bytes - tl_min_u64(start, input->file_bytes), PAGE);
	size_t want = tl_max_u64(need, tl_min_u64(keep + input->ahead, rest));
	int rc = make_room(input, want);
	if (rc != 0)
		return rc;
	if (keep != 0)
		memmove(input->data, input->data + (start - input->at), keep);
	input->at = start;
	input->len = keep;
	if (input->lane != NULL)
		input->direct = tl_ahead_is_direct(input->lane);
	return fill(input, want - keep);
}

int extract_input_raw(struct extract_input *input, uint64_t offset, size_t len, const uint8_t **out, size_t *got)
{
	uint64_t end = offset + len;
	int rc = 0;

	if (input->lane != NULL && len <= tl_ahead_longest(input->lane)) {
		rc = tl_ahead_get(input->lane, offset, len, out, got);
		return keep_error(input, rc, *got);
	}
	if (offset < input->at || end > input->at + input->len)
		rc = refill(input, offset & ~(uint64_t)(PAGE - 1), end);
	if (rc == -ENOMEM) // the buffer has other bytes
		return rc;
	uint64_t have = input->at + input->len;
	*got = have > offset ? tl_min_u64(have - offset, len) : 0;
	*out = input->data + (offset - input->at);
	return keep_error(input, rc, *got);
}

int extract_input_get(struct extract_input *input, uint64_t offset, size_t len, const uint8_t **out, size_t *got)
{
	return (input->packed != NULL ? extract_packed_get : extract_input_raw)(input, offset, len, out, got);
}

uint64_t extract_input_data_from(const struct extract_input *input, uint64_t offset)
{
	off_t data = lseek(input->fd, (off_t)offset, SEEK_DATA);

	if (data < 0 && errno == ENXIO)
		return input->file_bytes;
	return data > (off_t)offset ? (uint64_t)data & ~(uint64_t)(PAGE - 1) : offset;
}

bool extract_input_may_skip(struct extract_input *input, uint64_t bytes)
{
	input->vain_bytes += bytes;
	return input->vain_bytes <= VAIN_TIMES * (input->file_bytes + EXTRACT_SLAB_BYTES_MAX);
}

bool extract_input_is_end(const struct extract_input *input, uint64_t offset)
{
	return input->packed != NULL ? extract_packed_is_end(input, offset) : offset >= input->file_bytes;
}

uint64_t extract_input_end(const struct extract_input *input)
{
	return input->packed != NULL ? UINT64_MAX : input->file_bytes;
}
