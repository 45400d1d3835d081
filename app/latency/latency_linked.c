// SPDX-License-Identifier: BSD-3-Clause
// Merge the capture files into one pcapng file, in order of time; the frames of a pair have the same epb_packetid and a
// comment, for Wireshark's search.

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tl_pcapfile.h>

#include "latency_run.h"

#define FORGET_FRAMES 4096
#define OPT_COMMENT 1
#define EPB_FLAGS 2
#define EPB_DROPCOUNT 4
#define EPB_PACKETID 5
#define EPB_QUEUE 6
#define COMMENT_MAX 96
#define TEXT_MAX 512
#define APPLICATION "latency (tapline " TL_VERSION ")" // not a name of recordings that a ring takes over

// Interface of an input that has been described in the output.
struct known {
	uint32_t section, interface_id, out_id;
};

struct input {
	struct tl_pcap_reader *reader;
	const char *path;
	struct tl_pcap_frame frame;
	uint64_t number; // number of the frame
	bool has;
	const struct tl_latency_notes *notes;
	size_t next_note;
	struct known *known;
	size_t n_known;
};

struct output {
	FILE *file;
	uint64_t above_ns;
	uint32_t interfaces;
	uint8_t *block; // block of the current frame
	size_t used, room;
};

static int by_frame(const void *a_note, const void *b_note)
{
	const struct tl_latency_note *a = a_note, *b = b_note;

	if (a->frame != b->frame)
		return a->frame < b->frame ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

// ---- blocks

static int append(struct output *output, const void *data, size_t len)
{
	size_t padded = tl_align_up(len, 4);

	if (output->used + padded > output->room) {
		size_t room = 2 * output->room + padded;
		uint8_t *block = realloc(output->block, room);
		if (block == NULL)
			return -ENOMEM;
		output->block = block;
		output->room = room;
	}
	memset(output->block + output->used + (padded >= 4 ? padded - 4 : 0), 0, padded >= 4 ? 4 : 0);
	if (len != 0)
		memcpy(output->block + output->used, data, len);
	output->used += padded;
	return 0;
}

static int append_option(struct output *output, uint16_t code, const void *value, uint16_t len)
{
	uint16_t head[] = {code, len};
	int rc = append(output, head, sizeof(head));

	return rc != 0 ? rc : append(output, value, len);
}

// Copy an option of a frame. In the other byte order only options with a known layout are kept.
static int keep_option(struct output *output, const struct tl_pcap_option *option, bool swapped)
{
	uint64_t value = 0;

	if (!swapped || option->code == OPT_COMMENT)
		return append_option(output, option->code, option->value, option->len);
	if (option->len > sizeof(value))
		return 0;
	for (uint16_t i = 0; i < option->len; i++)
		((uint8_t *)&value)[i] = option->value[option->len - 1 - i];
	if (option->code == EPB_FLAGS || option->code == EPB_DROPCOUNT || option->code == EPB_PACKETID ||
		option->code == EPB_QUEUE)
		return append_option(output, option->code, &value, option->len);
	return 0;
}

static int append_comment(struct output *output, const struct tl_latency_note *note)
{
	uint64_t apart_ns = note->latency_ns < 0 ? UINT64_MAX : (uint64_t)note->latency_ns;
	char text[COMMENT_MAX];

	if (apart_ns <= output->above_ns && output->above_ns != 0)
		return 0;
	int len = snprintf(text, sizeof(text), "%s %" PRIu64 ", latency %" PRId64 " ns",
		note->is_reply ? "reply to trigger" : "trigger", note->number, note->latency_ns);
	return append_option(output, OPT_COMMENT, text, (uint16_t)len);
}

static int append_options(struct output *output, struct input *input, const struct tl_pcap_more *more, bool noted)
{
	struct tl_pcap_option option;
	uint32_t at = 0;
	int rc = 0;

	while (rc == 0 && tl_pcap_next_option(more->options, more->options_bytes, more->swapped, &at, &option) == 1)
		if (!(noted && option.code == EPB_PACKETID))
			rc = keep_option(output, &option, more->swapped);
	const struct tl_latency_notes *notes = input->notes;
	if (rc == 0 && noted)
		rc = append_option(output, EPB_PACKETID, &notes->note[input->next_note].number, 8);
	for (; rc == 0 && input->next_note < notes->n && notes->note[input->next_note].frame == input->number;
		input->next_note++)
		rc = append_comment(output, &notes->note[input->next_note]);
	return rc != 0 ? rc : append(output, &(uint32_t){0}, 4); // opt_endofopt
}

static int put_frame(struct output *output, struct input *input, uint32_t interface_id)
{
	const struct tl_pcap_frame *frame = &input->frame;
	const struct tl_latency_notes *notes = input->notes;
	bool noted = input->next_note < notes->n && notes->note[input->next_note].frame == input->number;
	struct tl_pcap_more more;
	uint32_t words[] = {TL_PCAPNG_EPB, 0, interface_id, (uint32_t)(frame->ts_ns >> 32), (uint32_t)frame->ts_ns,
		frame->cap_bytes, frame->wire_bytes};

	tl_pcap_get_more(input->reader, &more);
	output->used = 0;
	int rc = append(output, words, sizeof(words));
	if (rc == 0)
		rc = append(output, frame->data, frame->cap_bytes);
	if (rc == 0)
		rc = append_options(output, input, &more, noted);
	if (rc != 0)
		return rc;
	uint32_t total = (uint32_t)output->used + 4;
	rc = append(output, &total, 4);
	if (rc != 0)
		return rc;
	memcpy(output->block + 4, &total, 4);
	return fwrite(output->block, 1, output->used, output->file) == output->used ? 0 : -EIO;
}

// ---- interfaces

// Return text of an interface; the input's name replaces a missing one.
static const char *text_of(const char *text, uint32_t bytes, const char *otherwise, char buf[TEXT_MAX])
{
	if (text == NULL || bytes == 0)
		return otherwise;
	snprintf(buf, TEXT_MAX, "%.*s", (int)tl_min_u64(bytes, TEXT_MAX - 1), text);
	return buf;
}

static int describe(struct output *output, struct input *input, const struct tl_pcap_more *more)
{
	char name[TEXT_MAX], description[TEXT_MAX];
	uint8_t block[2 * TEXT_MAX + 256];
	struct known *grown = reallocarray(input->known, input->n_known + 1, sizeof(*grown));

	if (grown == NULL)
		return -ENOMEM;
	input->known = grown;
	grown[input->n_known++] = (struct known){more->section, more->interface_id, output->interfaces++};
	uint32_t len = tl_pcapng_put_idb(block, sizeof(block),
		&(struct tl_pcapng_idb){.name = text_of(more->name, more->name_bytes, input->path, name),
			.description = text_of(more->description, more->description_bytes, NULL, description)});
	if (len != 0)
		tl_pcapng_set_linktype(block, (uint16_t)input->frame.linktype);
	return len != 0 && fwrite(block, 1, len, output->file) == len ? 0 : -EIO;
}

// Set the number of the frame's interface in the output.
static int number_interface(struct output *output, struct input *input, uint32_t *out_id)
{
	struct tl_pcap_more more;

	tl_pcap_get_more(input->reader, &more);
	for (size_t i = input->n_known; i > 0; i--) {
		const struct known *known = &input->known[i - 1];
		if (known->section == more.section && known->interface_id == more.interface_id) {
			*out_id = known->out_id;
			return 0;
		}
	}
	*out_id = output->interfaces;
	return describe(output, input, &more);
}

// ---- files

// Advance to the next frame. The input ends at damaged data, as it did for the matching.
static void go_on(struct input *input)
{
	input->has = tl_pcap_next(input->reader, &input->frame, NULL) == 1;
	input->number += input->has;
	if (input->number % FORGET_FRAMES == 0)
		tl_pcap_release(input->reader);
}

static int copy(struct output *output, struct input *inputs, unsigned n)
{
	int rc = 0;

	for (unsigned i = 0; i < n; i++)
		go_on(&inputs[i]);
	while (rc == 0) {
		struct input *first = NULL;
		for (unsigned i = 0; i < n; i++)
			if (inputs[i].has && (first == NULL || inputs[i].frame.ts_ns < first->frame.ts_ns))
				first = &inputs[i];
		if (first == NULL)
			break;
		uint32_t id;
		rc = number_interface(output, first, &id);
		if (rc == 0)
			rc = put_frame(output, first, id);
		go_on(first);
	}
	return rc;
}

static int open_output(struct tl_latency_run *run, struct output *output)
{
	uint8_t header[256];
	uint32_t len = tl_pcapng_put_shb(header, sizeof(header), &(struct tl_pcapng_shb){.application = APPLICATION});

	*output = (struct output){.file = fdopen(run->fd, "w"), .above_ns = run->cfg->above_ns};
	if (output->file == NULL)
		return -errno;
	run->fd = -1; // owned by the stream
	return len != 0 && fwrite(header, 1, len, output->file) == len ? 0 : -EIO;
}

int tl_latency_write_linked(struct tl_latency_run *run, struct tl_err *err)
{
	const struct tl_latency_cfg *cfg = run->cfg;
	struct input inputs[TL_LATENCY_INPUTS] = {0};
	struct output output;
	int rc = open_output(run, &output);

	for (unsigned i = 0; i < cfg->files; i++) {
		struct tl_latency_notes *notes = &run->notes[i];
		if (notes->n != 0)
			qsort(notes->note, notes->n, sizeof(*notes->note), by_frame);
		inputs[i].notes = notes;
		inputs[i].path = cfg->file[i];
		if (rc == 0 && tl_pcap_open_any(cfg->file[i], &inputs[i].reader, err) != 0)
			rc = -EIO;
	}
	if (rc == 0)
		rc = copy(&output, inputs, cfg->files);
	if (output.file != NULL && fclose(output.file) != 0 && rc == 0)
		rc = -errno;
	for (unsigned i = 0; i < cfg->files; i++) {
		tl_pcap_close(inputs[i].reader);
		free(inputs[i].known);
	}
	free(output.block);
	return rc != 0 ? tl_fail(err, rc, "%.300s: cannot write: %s", cfg->linked, strerror(-rc)) : 0;
}
