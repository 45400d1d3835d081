// SPDX-License-Identifier: BSD-3-Clause
// Opening, mapping and closing of capture files, detection of pcap or pcapng, and error messages.

#include "reader_priv.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tl_err.h>

#define FORGET_BYTES (4u << 20) // per call; a multiple of any page size

int tl_pcap_report(const struct tl_pcap_reader *reader, struct tl_err *err)
{
	return tl_fail(err, -EINVAL, "%s, byte %" PRIu64 ": %s: %" PRIu64, reader->name,
		reader->base + reader->fault.offset, reader->fault.text, reader->fault.value);
}

// Select the format by the file's first word. Return 0 or -EINVAL with the fault set.
static int begin(struct tl_pcap_reader *reader)
{
	if (reader->size < 4)
		return reader_broken(reader, 0, "too short for a capture file; bytes", reader->size);
	uint32_t magic = reader_u32(reader, 0);
	if (magic == TL_PCAPNG_SHB) {
		reader->next = tl_pcapng_next;
		return tl_pcapng_begin(reader);
	}
	if (!tl_pcap_is_magic(magic))
		return reader_broken(reader, 0, "neither pcap nor pcapng (unpack a compressed file first); bytes in it",
			reader->size);
	reader->section.swapped = magic != TL_PCAP_MAGIC_US && magic != TL_PCAP_MAGIC_NS;
	reader->ns_per_unit = reader_u32(reader, 0) == TL_PCAP_MAGIC_NS ? 1 : 1000;
	reader->next = tl_pcap_classic_next;
	return tl_pcap_classic_begin(reader);
}

static int open_memory(const void *data, size_t size, const char *name, bool any_linktype, struct tl_pcap_reader **out,
	struct tl_err *err)
{
	struct tl_pcap_reader *reader = calloc(1, sizeof(*reader));

	if (reader == NULL)
		return tl_fail(err, -ENOMEM, "%s: no memory for a reader", name);
	reader->data = data;
	reader->size = size;
	reader->name = name;
	reader->ended = 1;
	reader->any_linktype = any_linktype;
	reader->section.interface = reader->interface;
	reader->section.capacity = READER_INTERFACES;
	int rc = begin(reader);
	if (rc != 0) {
		tl_pcap_report(reader, err);
		tl_pcap_close(reader);
		return rc;
	}
	*out = reader;
	return 0;
}

int tl_pcap_open_memory(
	const void *data, size_t size, const char *name, struct tl_pcap_reader **out, struct tl_err *err)
{
	return open_memory(data, size, name, false, out, err);
}

int tl_pcap_open_window(
	const void *data, size_t size, const char *name, struct tl_pcap_reader **out, struct tl_err *err)
{
	return open_memory(data, size, name, true, out, err);
}

void tl_pcap_move(struct tl_pcap_reader *reader, const void *data, size_t size, uint64_t offset)
{
	reader->data = data;
	reader->size = size;
	reader->base = offset;
	reader->offset = 0;
	reader->ended = 1;
}

bool tl_pcap_needs_more(const struct tl_pcap_reader *reader)
{
	return reader->ended == 0 || (reader->ended < 0 && reader->fault.at_end);
}

bool tl_pcap_skip(struct tl_pcap_reader *reader)
{
	if (reader->ended >= 0 || reader->offset <= reader->fault.offset)
		return false;
	reader->ended = 1;
	return true;
}

uint64_t tl_pcap_offset(const struct tl_pcap_reader *reader)
{
	return reader->base + reader->offset;
}

uint64_t tl_pcap_fault_offset(const struct tl_pcap_reader *reader)
{
	return reader->base + reader->fault.offset;
}

// Map the whole file, of any size: pages are loaded and evicted during the walk. Only a regular file can be
// mapped.
static int map_file(const char *path, void **out_data, size_t *out_size, struct tl_err *err)
{
	struct stat st;
	int rc = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); // a FIFO without a writer must not block

	if (fd < 0)
		return tl_fail(err, -errno, "%s: %s", path, strerror(errno));
	if (fstat(fd, &st) != 0)
		rc = tl_fail(err, -errno, "%s: %s", path, strerror(errno));
	else if (!S_ISREG(st.st_mode))
		rc = tl_fail(err, -EINVAL, "%s: not a regular file: save what it delivers to a file first", path);
	else if (st.st_size == 0)
		rc = tl_fail(err, -EINVAL, "%s: the file is empty", path);
	if (rc == 0) {
		*out_size = (size_t)st.st_size;
		*out_data = mmap(NULL, *out_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (*out_data == MAP_FAILED)
			rc = tl_fail(err, -errno, "%s: cannot map it: %s", path, strerror(errno));
	}
	close(fd);
	if (rc == 0)
		madvise(*out_data, *out_size, MADV_SEQUENTIAL);
	return rc;
}

static int open_file(const char *path, bool any_linktype, struct tl_pcap_reader **out, struct tl_err *err)
{
	void *data = NULL;
	size_t size = 0;
	int rc = map_file(path, &data, &size, err);

	if (rc != 0)
		return rc;
	char *name = strdup(path);
	rc = name == NULL ? tl_fail(err, -ENOMEM, "%s: no memory for its name", path)
			  : open_memory(data, size, name, any_linktype, out, err);
	if (rc != 0) {
		free(name);
		munmap(data, size);
		return rc;
	}
	(*out)->owned_name = name;
	(*out)->mapped = true;
	return 0;
}

int tl_pcap_open(const char *path, struct tl_pcap_reader **out, struct tl_err *err)
{
	return open_file(path, false, out, err);
}

int tl_pcap_open_any(const char *path, struct tl_pcap_reader **out, struct tl_err *err)
{
	return open_file(path, true, out, err);
}

void tl_pcap_release(struct tl_pcap_reader *reader)
{
	size_t until = reader->offset & ~(size_t)(FORGET_BYTES - 1);

	if (!reader->mapped || until == reader->forgotten)
		return;
	madvise((uint8_t *)(uintptr_t)reader->data + reader->forgotten, until - reader->forgotten, MADV_DONTNEED);
	reader->forgotten = until;
}

void tl_pcap_close(struct tl_pcap_reader *reader)
{
	if (reader == NULL)
		return;
	if (reader->mapped)
		munmap((void *)reader->data, reader->size);
	free(reader->owned_name);
	free(reader);
}
