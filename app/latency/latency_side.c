// SPDX-License-Identifier: BSD-3-Clause
// Read the frames of one side from a file, and check its link types.

#include "latency_side.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/stat.h>

#include <tl_link.h>
#include <tl_log.h>

#define FORGET_FRAMES 4096

int tl_latency_side_open(struct tl_latency_side *side, const char *path, const char *filter, struct tl_err *err)
{
	struct stat status;

	side->path = path;
	side->size_bytes = stat(path, &status) == 0 ? (uint64_t)status.st_size : 0;
	int rc = tl_filter_links_create(filter, &side->filter, err);

	return rc != 0 ? rc : tl_pcap_open_any(path, &side->reader, err);
}

void tl_latency_side_close(struct tl_latency_side *side)
{
	tl_pcap_close(side->reader);
	tl_filter_links_destroy(side->filter);
}

static int check_linktype(const char *path, uint32_t linktype, struct tl_err *err)
{
	if (tl_link_of(linktype) != TL_LINKS)
		return 0;
	return tl_fail(err, -EINVAL, "%.200s: link type %s (%" PRIu32 ") is not supported; supported types: %s", path,
		tl_filter_linktype_name(linktype), linktype, tl_link_names());
}

// Apply the filter to a frame. Return 1, 0, or -errno with side->err filled.
static int is_wanted(struct tl_latency_side *side, const struct tl_pcap_frame *frame)
{
	int rc = check_linktype(side->path, frame->linktype, &side->err);

	if (rc != 0)
		return rc;
	rc = tl_filter_links_match(
		side->filter, frame->linktype, frame->data, frame->cap_bytes, frame->wire_bytes, &side->err);
	return rc >= 0 ? rc
		       : tl_fail_at(&side->err, rc, "%.200s: link type %s (%" PRIu32 ")", side->path,
				 tl_filter_linktype_name(frame->linktype), frame->linktype);
}

// Return the direction in the encoding of epb_flags.
static uint32_t direction_of(enum tl_link link, const struct tl_pcap_frame *frame)
{
	struct tl_link_hdr header;

	if (link == TL_LINK_ETHERNET || !tl_link_parse(link, frame->data, frame->cap_bytes, &header))
		return 0;
	return header.sent ? TL_PCAPNG_OUTBOUND : header.received ? TL_PCAPNG_INBOUND : 0;
}

static void take_frame(struct tl_latency_side *side, const struct tl_pcap_frame *frame)
{
	enum tl_link link = tl_link_of(frame->linktype);

	side->frame = (struct tl_match_frame){.data = frame->data,
		.cap_bytes = frame->cap_bytes,
		.wire_bytes = frame->wire_bytes,
		.ts_ns = frame->ts_ns,
		.frame = tl_latency_pairs_name(side->pairs, side->reader, side->read),
		.link = link};
	side->has = true;
	side->passed++;
	side->wire_bytes += frame->wire_bytes;
	tl_latency_origin_see(&side->origin, side->reader, direction_of(link, frame));
}

// Return the pages that were read, and log the progress.
static void pause_reading(struct tl_latency_side *side)
{
	tl_pcap_release(side->reader);
	if (side->shows)
		tl_progress_log(&side->progress, side->path, tl_pcap_offset(side->reader), side->size_bytes);
}

// Read the next frame. A truncated file is used up to the truncation.
void tl_latency_side_next(struct tl_latency_side *side)
{
	struct tl_pcap_frame frame;
	struct tl_err err;
	int rc;

	side->has = false;
	while ((rc = tl_pcap_next(side->reader, &frame, &err)) == 1) {
		if (++side->read % FORGET_FRAMES == 0)
			pause_reading(side);
		side->rc = is_wanted(side, &frame);
		if (side->rc == 0)
			continue;
		if (side->rc > 0)
			take_frame(side, &frame);
		return;
	}
	if (rc != 0 && !side->broken)
		tl_warn("%s; used up to there", err.text);
	side->broken = rc != 0;
}

int tl_latency_side_check_filter(const char *option, const char *expression, uint32_t linktype, struct tl_err *err)
{
	struct tl_filter_links *filter;
	int rc = tl_filter_links_create(expression, &filter, err);

	if (rc != 0)
		return tl_fail_at(err, rc, "%s", option);
	rc = tl_filter_links_add(filter, linktype, err);
	tl_filter_links_destroy(filter);
	return rc == 0 ? 0
		       : tl_fail_at(err, rc, "%s, link type %s (%" PRIu32 ")", option,
				 tl_filter_linktype_name(linktype), linktype);
}

// Check the file. Only its first link type is judged here; later ones are judged by frame.
int tl_latency_side_check_file(const char *path, uint32_t *out_linktype, struct tl_err *err)
{
	struct tl_pcap_reader *reader;
	struct tl_pcap_frame frame;

	if (tl_pcap_open_any(path, &reader, err) != 0)
		return -EINVAL;
	bool empty = tl_pcap_next(reader, &frame, NULL) != 1;
	*out_linktype = empty ? tl_pcap_linktype(reader) : frame.linktype;
	tl_pcap_close(reader);
	return check_linktype(path, *out_linktype, err);
}
