// SPDX-License-Identifier: BSD-3-Clause
// Recordings in regular files: lock, recover, rename to the complete name.

#include "recover_priv.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <tl_files.h>
#include <tl_remedy.h>
#include <tl_zslab.h>

#define LOCK_TRIES 10
#define LOCK_PAUSE_NS (50 * TL_NS_PER_MS)
#define BEGINNING_PAGES 16384u // more than a writer has in flight
#define NUMBER_DIGITS 5	       // digits of a number in the writer's names

static int file_of(void *ctx)
{
	return *(const int *)ctx;
}

static int read_all(void *ctx, void *buf, uint32_t len_bytes, uint64_t offset_bytes)
{
	return tl_read_once(file_of(ctx), buf, len_bytes, offset_bytes);
}

static int write_all(void *ctx, const void *buf, uint32_t len_bytes, uint64_t offset_bytes)
{
	for (uint32_t done = 0; done < len_bytes;) {
		ssize_t n = pwrite(
			file_of(ctx), (const uint8_t *)buf + done, len_bytes - done, (off_t)(offset_bytes + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		done += (uint32_t)n;
	}
	return 0;
}

static int cut(void *ctx, uint64_t size_bytes)
{
	return ftruncate(file_of(ctx), (off_t)size_bytes) != 0 ? -errno : 0;
}

static int sync_file(void *ctx)
{
	return fsync(file_of(ctx)) != 0 ? -errno : 0;
}

// Skip preallocated space without reading. If the file system does not support it, all is data.
static uint64_t next_data(void *ctx, uint64_t offset_bytes)
{
	off_t at = lseek(file_of(ctx), (off_t)offset_bytes, SEEK_DATA);
	struct stat status;

	if (at < 0 && errno == ENXIO && fstat(file_of(ctx), &status) == 0)
		return (uint64_t)status.st_size;
	return at < 0 ? offset_bytes : tl_max_u64((uint64_t)at, offset_bytes);
}

int tl_recover_fd(int fd, const struct tl_recover_opts *opts, struct tl_recover_report *report, struct tl_err *err)
{
	struct tl_recover_io io = {.ctx = &fd,
		.read = read_all,
		.write = write_all,
		.cut = cut,
		.sync = sync_file,
		.next_data = next_data};
	struct stat status;

	*report = (struct tl_recover_report){0};
	if (fstat(fd, &status) != 0)
		return tl_fail(err, -errno, "its status cannot be read: %s", strerror(errno));
	io.size_bytes = (uint64_t)status.st_size;
	int rc = tl_recover(&io, opts, report, err);
	// A ring uses the modification time as age of the data.
	if (report->changed && !opts->dry_run)
		(void)futimens(fd, (struct timespec[]){status.st_atim, status.st_mtim});
	return rc;
}

int tl_recover_check_ours(int fd)
{
	static const uint64_t looks[] = {TL_PCAPNG_ALIGN, BLOCKS_BYTES_MAX}; // the opening blocks rarely exceed a page
	struct tl_recover_io io = {.ctx = &fd, .read = read_all};
	struct stat status;
	int rc = -ENOMSG;

	if (fstat(fd, &status) != 0)
		return -errno;
	for (size_t i = 0; i < TL_ARRAY_LEN(looks); i++) {
		io.size_bytes = tl_min_u64((uint64_t)status.st_size, looks[i]);
		rc = recover_check_owned(&io);
		if (rc != -ENOMSG)
			return rc;
	}
	return rc;
}

bool tl_recover_is_ours(int fd)
{
	return tl_recover_check_ours(fd) == 0;
}

// Size of the opening bytes of a compressed or pcap file.
static uint64_t other_opening_bytes(int fd)
{
	uint8_t *head = malloc(BLOCKS_BYTES_MAX);
	struct tl_zslab_unit unit;
	uint64_t bytes = 0;

	ssize_t n = head != NULL ? pread(fd, head, BLOCKS_BYTES_MAX, 0) : 0;
	if (n > 0 && tl_pcap_is_ours(head, (uint32_t)n))
		bytes = TL_PCAP_HEADER_BYTES;
	else if (n > 0 && tl_zslab_look(head, (uint64_t)n, &unit) == 0 && !unit.slab && unit.content_bytes != 0)
		bytes = unit.unit_bytes;
	free(head);
	return bytes;
}

// The opening blocks of a recording.
struct opening {
	uint64_t bytes;
	uint64_t file;	 // file number of its HEAD; 0: none
	bool interfaces; // present, or not part of the form
};

static struct opening find_opening(int fd)
{
	uint8_t bytes[TL_PCAPNG_HEAD_BYTES];
	struct tl_pcapng_head head;
	uint32_t block[2];
	uint64_t at = other_opening_bytes(fd);
	struct opening found = {.interfaces = at != 0};

	while (pread(fd, bytes, sizeof(bytes), (off_t)at) == (ssize_t)sizeof(bytes)) {
		memcpy(block, bytes, sizeof(block));
		bool opens = block[0] == TL_PCAPNG_SHB || block[0] == TL_PCAPNG_IDB || block[0] == TL_PCAPNG_PAD;
		bool names = found.file == 0 && tl_pcapng_get_head(bytes, sizeof(bytes), &head) == 0 &&
			     head.used_bytes == TL_PCAPNG_HEAD_BYTES;
		if ((!opens && !names) || block[1] < TL_PCAPNG_PAD_MIN)
			break;
		found.file = names ? head.file : found.file;
		found.interfaces = found.interfaces || block[0] == TL_PCAPNG_IDB;
		at += block[1];
	}
	found.bytes = at;
	return found;
}

// True if anything was written after the opening blocks, or may have been, because it cannot be read. The space may
// hold slabs of an earlier file, with another number. Writes are in order but for those in flight, so a file with any
// slab has one near its beginning.
static bool is_begun(int fd, uint64_t at, uint64_t file)
{
	uint8_t bytes[TL_PCAPNG_HEAD_BYTES];
	struct tl_pcapng_head head;

	for (uint32_t page = 0; page < BEGINNING_PAGES; page++, at += TL_PCAPNG_ALIGN) {
		at = next_data(&fd, at) / TL_PCAPNG_ALIGN * TL_PCAPNG_ALIGN;
		ssize_t n = pread(fd, bytes, sizeof(bytes), (off_t)at);
		if (n != (ssize_t)sizeof(bytes))
			return n < 0;
		if (tl_pcapng_get_head(bytes, sizeof(bytes), &head) == 0 && head.file == file)
			return true;
	}
	return false;
}

static bool are_zeros(const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (bytes[i] != 0)
			return false;
	return true;
}

bool tl_recover_is_blank(int fd, bool *out_opened)
{
	const struct opening opening = find_opening(fd);
	uint8_t page[TL_PCAPNG_ALIGN];
	uint64_t at = opening.bytes;
	ssize_t n;

	*out_opened = at != 0;
	if (opening.file != 0)
		return !is_begun(fd, at, opening.file);
	while ((n = pread(fd, page, sizeof(page), (off_t)(at = next_data(&fd, at)))) > 0) {
		if (!are_zeros(page, (size_t)n))
			return false;
		at += (uint64_t)n;
	}
	return n == 0;
}

bool tl_recover_is_only_marked(int fd)
{
	bool opened;

	return tl_recover_is_blank(fd, &opened) && opened && !find_opening(fd).interfaces;
}

// Check the name after locking: between open and lock the writer may have renamed the file and reused the name.
static int check_name(const char *path, const struct stat *opened, struct tl_err *err)
{
	struct stat now = {0};

	if (lstat(path, &now) != 0 && errno != ENOENT)
		return tl_fail(err, -errno, "its status cannot be read: %s", strerror(errno));
	if (!tl_is_same_inode(&now, opened))
		return tl_fail(err, -EBUSY, "has just been completed by its recording");
	return 0;
}

// Lock, with retries: the kernel keeps files of a killed process open until its writes in flight complete. On NFS an
// exclusive lock requires a writable descriptor.
static int lock_with_retries(int fd, bool dry_run)
{
	for (int i = 0; i < LOCK_TRIES; i++) {
		if (flock(fd, (dry_run ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0)
			return 0;
		if (errno != EWOULDBLOCK)
			break;
		nanosleep(&(struct timespec){.tv_nsec = LOCK_PAUSE_NS}, NULL);
	}
	return -errno;
}

int tl_recover_open(const char *path, bool dry_run, struct tl_err *err)
{
	int flags = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | (dry_run ? O_RDONLY : O_RDWR);
	int fd = open(path, flags), rc = 0;
	struct stat status;

	if (fd < 0 && errno == ELOOP)
		return tl_fail(err, -ELOOP, "is a symbolic link: name its target");
	if (fd < 0)
		return tl_fail(err, -errno, "cannot be opened: %s%s", strerror(errno), tl_remedy(-errno));
	if (fstat(fd, &status) != 0)
		rc = tl_fail(err, -errno, "its status cannot be read: %s", strerror(errno));
	else if (!S_ISREG(status.st_mode))
		rc = tl_fail(err, -ENOMSG, "is not a regular file");
	else if ((rc = lock_with_retries(fd, dry_run)) == -EWOULDBLOCK)
		rc = tl_fail(err, -EBUSY, "is being written, and left alone");
	else if (rc != 0)
		rc = tl_fail(err, rc, "cannot be locked: %s", strerror(-rc));
	else
		rc = check_name(path, &status, err);
	if (rc == 0)
		return fd;
	close(fd);
	return rc;
}

// ---- names

// Parse the number at the end of a name's stem, and the number of characters before it.
static uint32_t split_number(const char *stem, size_t *chars)
{
	size_t digits = 0, len = *chars;

	while (digits < len && stem[len - digits - 1] >= '0' && stem[len - digits - 1] <= '9')
		digits++;
	if (digits < NUMBER_DIGITS || digits > 9 || digits >= len || stem[len - digits - 1] != '_')
		return 0;
	*chars = len - digits - 1;
	return (uint32_t)strtoul(stem + len - digits, NULL, 10);
}

static void sync_directory(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *dir = slash == NULL ? strdup(".") : strndup(path, (size_t)(slash - path) + 1);
	int fd = dir != NULL ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	if (fd >= 0) {
		(void)fsync(fd);
		close(fd);
	}
	free(dir);
}

int tl_recover_publish(const char *from, const char *name, size_t suffix_chars, char **out_name)
{
	size_t chars = strlen(name) - suffix_chars;
	const char *suffix = name + chars;
	uint32_t number = split_number(name, &chars);
	char *to = strdup(name);
	int rc = -ENOMEM;

	while (to != NULL && (rc = tl_rename_new(from, to)) == -EEXIST) {
		free(to);
		if (asprintf(&to, "%.*s_%0*u%s", (int)chars, name, NUMBER_DIGITS, ++number, suffix) < 0)
			to = NULL;
	}
	if (rc != 0 || to == NULL) {
		free(to);
		return to == NULL ? -ENOMEM : rc;
	}
	sync_directory(to);
	*out_name = to;
	return 0;
}
