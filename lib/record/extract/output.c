// SPDX-License-Identifier: BSD-3-Clause
// The output file: records unchanged except for their interface number, each interface once per section and form of its
// records. Files with many interfaces give several sections: only the interfaces of one are in memory.

#include "extract_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tl_array.h>
#include <tl_remedy.h>

#define BUFFER_BYTES (1u << 20)
#define IDB_LINKTYPE_AT 8u
#define LINKTYPE_RAW 101
// A ring must not recognize it as one of its recordings.
#define APPLICATION "extract (tapline " TL_VERSION ")"

static int flush(struct extract_output *output)
{
	size_t done = 0;

	while (done < output->used) {
		ssize_t n = write(output->fd, output->buffer + done, output->used - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		done += (size_t)n;
		*output->written_bytes += (uint64_t)n;
	}
	output->used = 0;
	return 0;
}

static int put(struct extract_output *output, const void *data, size_t len)
{
	const uint8_t *from = data;

	while (len > 0) {
		size_t piece = tl_min_u64(len, BUFFER_BYTES - output->used);
		memcpy(output->buffer + output->used, from, piece);
		output->used += piece;
		from += piece;
		len -= piece;
		int rc = output->used == BUFFER_BYTES ? flush(output) : 0;
		if (rc != 0)
			return rc;
	}
	return 0;
}

static int put_u32(struct extract_output *output, uint32_t value)
{
	value = output->swapped ? __builtin_bswap32(value) : value;
	return put(output, &value, sizeof(value));
}

static void clear_interfaces(struct extract_output *output)
{
	for (uint32_t i = 0; i < output->n; i++)
		free(output->interface[i].block);
	output->n = 0;
	output->interface_bytes = 0;
}

// Begin a section per byte order: blocks keep their bytes.
static int begin_section(struct extract_output *output, bool swapped)
{
	uint32_t header[64];
	uint32_t len = tl_pcapng_put_shb(header, sizeof(header), &(struct tl_pcapng_shb){.application = APPLICATION});

	clear_interfaces(output);
	output->swapped = swapped;
	output->section++;
	if (swapped) { // the four fixed words, without options
		len = 28;
		header[1] = len;
		for (int i = 1; i < 3; i++)
			header[i] = tl_pcapng_u32(true, (const uint8_t *)&header[i]);
		header[3] = 1u << 8; // version 1.0, as two halves
		header[6] = header[1];
	}
	return put(output, header, len);
}

static int remember(struct extract_output *output, const struct extract_interface *interface)
{
	struct extract_interface copy = {.block_bytes = interface->block_bytes};

	if (tl_array_reserve(&output->interface, output->n, &output->capacity, sizeof(copy)) != 0)
		return -ENOMEM;
	copy.block = malloc(interface->block_bytes);
	if (copy.block == NULL)
		return -ENOMEM;
	memcpy(copy.block, interface->block, interface->block_bytes);
	output->interface[output->n++] = copy;
	output->interface_bytes += copy.block_bytes;
	return 0;
}

static bool is_same(const struct extract_interface *a, const struct extract_interface *b)
{
	return a->block_bytes == b->block_bytes && memcmp(a->block, b->block, a->block_bytes) == 0;
}

// True if another interface needs another section. All forms of the input section's interfaces fit into one, so that a
// hostile file cannot begin a section with each of its records.
static bool is_full(const struct extract_output *output, const struct extract_section *input)
{
	return output->n >= EXTRACT_KEPT_MAX + EXTRACT_FORMS * input->parsed.n ||
	       output->interface_bytes >= EXTRACT_KEPT_BYTES_MAX + EXTRACT_FORMS * input->interface_bytes;
}

// Find or write an interface, and set its number in the output.
static int find_interface(struct extract_output *output, const struct extract_section *input,
	const struct extract_interface *interface, uint32_t *out_id)
{
	int rc = 0;
	uint32_t id = 0;

	while (id < output->n && !is_same(&output->interface[id], interface))
		id++;
	if (id == output->n && is_full(output, input)) {
		rc = begin_section(output, output->swapped);
		id = output->n;
	}
	if (rc == 0 && id == output->n) {
		rc = remember(output, interface);
		if (rc == 0)
			rc = put(output, interface->block, interface->block_bytes);
	}
	*out_id = id;
	return rc;
}

// Set the number of the interface in the output, for records of this form.
static int number_interface(struct extract_output *output, const struct extract_section *input,
	struct extract_interface *interface, enum extract_form form)
{
	static const uint8_t numbers[EXTRACT_FORMS] = {
		[EXTRACT_ETHERNET] = TL_PCAPNG_LINKTYPE_ETHERNET, [EXTRACT_RAW] = LINKTYPE_RAW};
	uint8_t *linktype = interface->block + IDB_LINKTYPE_AT, own[2];

	if (interface->out[form].section == output->section)
		return 0;
	memcpy(own, linktype, sizeof(own));
	if (form != EXTRACT_AS_IS) {
		linktype[output->swapped] = numbers[form];
		linktype[!output->swapped] = 0;
	}
	int rc = find_interface(output, input, interface, &interface->out[form].id);
	memcpy(linktype, own, sizeof(own));
	interface->out[form].section = output->section;
	return rc;
}

// Write a record as EPB, with the time (8 bytes, in the order of the section) and the options of a block.
static int put_packet(struct extract_output *output, const struct tl_pcapng_packet *packet, uint32_t id,
	const uint8_t *time, const uint8_t *options, uint32_t options_bytes)
{
	static const uint8_t padding[4];
	uint32_t pad = -packet->cap_bytes & 3u,
		 total = TL_PCAPNG_EPB_DATA_AT + packet->cap_bytes + pad + options_bytes + 4;
	uint32_t words[] = {TL_PCAPNG_EPB, total, id}, lengths[] = {packet->cap_bytes, packet->wire_bytes};
	int rc = 0;

	for (size_t i = 0; i < TL_ARRAY_LEN(words) && rc == 0; i++)
		rc = put_u32(output, words[i]);
	if (rc == 0)
		rc = put(output, time, 8);
	for (size_t i = 0; i < TL_ARRAY_LEN(lengths) && rc == 0; i++)
		rc = put_u32(output, lengths[i]);
	if (rc == 0)
		rc = put(output, packet->data, packet->cap_bytes);
	if (rc == 0)
		rc = put(output, padding, pad);
	if (rc == 0)
		rc = put(output, options, options_bytes);
	return rc != 0 ? rc : put_u32(output, total);
}

// Write a simple packet block as EPB; it has no interface and no time: both are 0.
static int put_simple(struct extract_output *output, const struct tl_pcapng_packet *packet, uint32_t id)
{
	static const uint8_t no_time[8];

	return put_packet(output, packet, id, no_time, no_time, 0);
}

// Write a record with other data, and the options of its block.
static int put_peeled(struct extract_output *output, const struct extract_record *record, uint32_t id)
{
	const uint8_t *block = record->block;
	struct tl_pcapng_packet whole = {0};

	(void)tl_pcapng_get_epb(output->swapped, block, record->head.bytes, &whole);
	const uint8_t *options = tl_pcapng_epb_options(&whole);
	return put_packet(
		output, &record->packet, id, block + 12, options, (uint32_t)(block + record->head.bytes - 4 - options));
}

int extract_output_put(struct extract *extract, const struct extract_record *record)
{
	struct extract_output *output = &extract->output;
	struct extract_section *section = &extract->section;
	struct extract_interface *interface = &section->interface[record->packet.interface_id];
	int rc = 0;

	if (output->section == 0 || output->swapped != section->parsed.swapped)
		rc = begin_section(output, section->parsed.swapped);
	if (rc == 0)
		rc = number_interface(output, section, interface, record->form);
	uint32_t id = interface->out[record->form].id;
	if (rc != 0 || record->head.type == TL_PCAPNG_SIMPLE_PACKET)
		return rc != 0 ? rc : put_simple(output, &record->packet, id);
	if (record->form != EXTRACT_AS_IS)
		return put_peeled(output, record, id);
	rc = put_u32(output, TL_PCAPNG_EPB); // options of a packet block are those of an EPB
	if (rc == 0)
		rc = put(output, record->block + 4, 4);
	if (rc == 0)
		rc = put_u32(output, id);
	return rc != 0 ? rc : put(output, record->block + 12, record->head.bytes - 12);
}

int extract_output_put_clock(struct extract *extract, const uint8_t *block, uint32_t size)
{
	struct extract_output *output = &extract->output;
	struct tl_pcapng_clock clock;

	if (output->section == 0 || output->swapped || tl_pcapng_get_clock(block, size, &clock) != 0)
		return 0;
	return put(output, block, size);
}

// True for an input file: opening it for output would truncate it.
static bool is_input(const struct extract *extract, const struct stat *status)
{
	for (uint32_t i = 0; i < extract->files.n; i++)
		if (extract->files.file[i].device == status->st_dev && extract->files.file[i].inode == status->st_ino)
			return true;
	return false;
}

int extract_output_open(struct extract *extract, struct tl_err *err)
{
	struct extract_output *output = &extract->output;
	const char *path = extract->cfg->out;
	bool to_stdout = strcmp(path, "-") == 0;
	struct stat status;

	output->path = to_stdout ? "standard output" : path;
	output->written_bytes = &extract->stats->written_bytes;
	output->buffer = malloc(BUFFER_BYTES);
	if (output->buffer == NULL)
		return tl_fail(err, -ENOMEM, "no memory for the output");
	output->fd = to_stdout ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)
			       : open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY, 0640);
	if (output->fd < 0 || fstat(output->fd, &status) != 0)
		return tl_fail(err, -EINVAL, "%.300s: cannot write: %s%s", path, strerror(errno), tl_remedy(-errno));
	if (S_ISREG(status.st_mode) && is_input(extract, &status))
		return tl_fail(err, -EINVAL, "%.300s: is one of the files to extract from; name another file", path);
	if (!to_stdout && S_ISREG(status.st_mode) && ftruncate(output->fd, 0) != 0)
		return tl_fail(err, -errno, "%.300s: cannot empty it: %s", path, strerror(errno));
	return 0;
}

// Write an interface to an empty output: libpcap requires one.
static int put_nothing(struct extract_output *output)
{
	uint8_t block[64];
	int rc = begin_section(output, false);

	return rc != 0 ? rc : put(output, block, tl_pcapng_put_idb(block, sizeof(block), &(struct tl_pcapng_idb){0}));
}

int extract_output_close(struct extract *extract)
{
	struct extract_output *output = &extract->output;
	int rc = output->section == 0 ? put_nothing(output) : 0;

	if (rc == 0)
		rc = flush(output);
	if (close(output->fd) != 0 && rc == 0)
		rc = -errno;
	output->fd = -1;
	return rc;
}

void extract_output_free(struct extract_output *output)
{
	clear_interfaces(output);
	free(output->interface);
	free(output->buffer);
	if (output->fd >= 0)
		close(output->fd);
}
