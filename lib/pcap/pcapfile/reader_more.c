// SPDX-License-Identifier: BSD-3-Clause
// Rarely used properties: a frame's options, and its interface's name. Parsed on request, at no cost to the walk.

#include "reader_priv.h"

#define EPB_FLAGS 2u
#define IDB_OPTIONS_AT 16u
#define IF_NAME 2u
#define IF_DESCRIPTION 3u
#define TSRESOL_US 6u
#define TSRESOL_NS 9u

int tl_pcap_next_option(const uint8_t *options, uint32_t bytes, bool swapped, uint32_t *at, struct tl_pcap_option *out)
{
	if (options == NULL || bytes - *at < 4)
		return 0;
	memcpy(&out->code, options + *at, 2);
	memcpy(&out->len, options + *at + 2, 2);
	if (swapped) {
		out->code = __builtin_bswap16(out->code);
		out->len = __builtin_bswap16(out->len);
	}
	uint32_t padded = (uint32_t)tl_align_up(out->len, 4);
	if (out->code == 0 || padded > bytes - *at - 4)
		return 0;
	out->value = options + *at + 4;
	*at += 4 + padded;
	return 1;
}

static void describe_interface(const struct tl_pcap_reader *reader, struct tl_pcap_more *out)
{
	size_t described_at = reader->described_at[out->interface_id];
	const uint8_t *options = reader->data + described_at + IDB_OPTIONS_AT;
	uint32_t bytes = reader_u32(reader, described_at + 4) - IDB_OPTIONS_AT - 4, at = 0;
	struct tl_pcap_option option;

	out->tsresol = reader->interface[out->interface_id].tsresol;
	while (tl_pcap_next_option(options, bytes, reader->section.swapped, &at, &option) == 1) {
		if (option.code == IF_NAME) {
			out->name = (const char *)option.value;
			out->name_bytes = option.len;
		} else if (option.code == IF_DESCRIPTION) {
			out->description = (const char *)option.value;
			out->description_bytes = option.len;
		}
	}
}

uint32_t tl_pcap_linktype(const struct tl_pcap_reader *reader)
{
	if (reader->next != tl_pcapng_next)
		return reader->linktype;
	return reader->section.n != 0 ? reader->interface[0].linktype : 0;
}

uint32_t tl_pcap_unit_ns(const struct tl_pcap_reader *reader)
{
	return reader->next == tl_pcapng_next ? 0 : reader->ns_per_unit;
}

void tl_pcap_watch(struct tl_pcap_reader *reader, uint32_t type, tl_pcap_block_fn *fn, void *ctx)
{
	reader->watched_type = type;
	reader->watch = fn;
	reader->watch_ctx = ctx;
}

// Find the options of the last frame of a pcapng file, and its interface.
static void find_options(const struct tl_pcap_reader *reader, struct tl_pcap_more *out)
{
	uint32_t total = reader_u32(reader, reader->offset - 4); // the frame's block ends here
	const uint8_t *block = reader->data + reader->offset - total;
	struct tl_pcapng_packet packet = {0};

	if (tl_pcapng_u32(out->swapped, block) == TL_PCAPNG_SIMPLE_PACKET) {
		out->has_stamp = false;
		return;
	}
	(void)tl_pcapng_get_epb(out->swapped, block, total, &packet); // checked by tl_pcap_next()
	out->interface_id = packet.interface_id;
	out->options = tl_pcapng_epb_options(&packet);
	out->options_bytes = (uint32_t)(block + total - 4 - out->options);
}

void tl_pcap_get_more(const struct tl_pcap_reader *reader, struct tl_pcap_more *out)
{
	*out = (struct tl_pcap_more){.swapped = reader->section.swapped, .has_stamp = true};
	if (reader->next != tl_pcapng_next) {
		out->tsresol = reader->ns_per_unit == 1 ? TSRESOL_NS : TSRESOL_US;
		return;
	}
	out->section = reader->sections;
	find_options(reader, out);
	describe_interface(reader, out);
}

void tl_pcap_get_origin(const struct tl_pcap_reader *reader, struct tl_pcap_origin *out)
{
	struct tl_pcap_more more = {.swapped = reader->section.swapped};
	struct tl_pcap_option option;
	uint32_t at = 0;

	*out = (struct tl_pcap_origin){0};
	if (reader->next != tl_pcapng_next)
		return;
	find_options(reader, &more);
	out->interface_id = more.interface_id;
	while (tl_pcap_next_option(more.options, more.options_bytes, more.swapped, &at, &option) == 1) {
		if (option.code != EPB_FLAGS || option.len != sizeof(out->flags))
			continue;
		memcpy(&out->flags, option.value, sizeof(out->flags));
		if (more.swapped)
			out->flags = __builtin_bswap32(out->flags);
		return;
	}
}
