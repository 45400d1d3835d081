// SPDX-License-Identifier: BSD-3-Clause
// Write a line for each pair: both stamps, and for each side the packet, the interface, and the source of its stamp.

#include "latency_pairs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "latency_source.h"

#define INTERFACE_BITS 24 // of a frame's name; its number is above
#define INTERFACE_MASK ((UINT64_C(1) << INTERFACE_BITS) - 1)
#define NAME_MAX_BYTES 128

// Interface of a file, as shown in the CSV.
struct interface {
	const struct tl_pcap_reader *reader; // reader of the file
	uint32_t section, id;
	char name[NAME_MAX_BYTES];
	struct tl_latency_stamps stamps;
};

struct tl_latency_pairs {
	FILE *out;
	const char *path;
	struct interface *interface; // known interfaces, and index of that of the last frame
	uint64_t n, last;
	int rc; // first memory or disk error
};

int tl_latency_pairs_create(const char *path, struct tl_latency_pairs **out, struct tl_err *err)
{
	struct tl_latency_pairs *pairs = calloc(1, sizeof(*pairs));
	int fd = pairs != NULL ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0640) : -1;

	if (fd >= 0)
		pairs->out = fdopen(fd, "w");
	if (pairs == NULL || pairs->out == NULL) {
		int rc = pairs != NULL ? -errno : -ENOMEM;
		if (fd >= 0)
			close(fd);
		free(pairs);
		return tl_fail(err, rc, "%.300s: cannot be written: %s", path, strerror(-rc));
	}
	pairs->path = path;
	fputs("packet_id,time_ns,latency_ns,ambiguous,reply_ns,trigger_packet,reply_packet,trigger_interface,"
	      "reply_interface,trigger_source,reply_source,trigger_unit_ns,reply_unit_ns,trigger_start_bound_ns,reply_start_bound_ns,"
	      "segments,retransmitted,version\n",
		pairs->out);
	*out = pairs;
	return 0;
}

// ---- interfaces

static bool is_known(
	const struct interface *interface, const struct tl_pcap_reader *reader, const struct tl_pcap_more *more)
{
	return interface->reader == reader && interface->section == more->section &&
	       interface->id == more->interface_id;
}

// Write a text field in double quotes (RFC 4180, section 2). An interface without a name is shown by its number, in
// classic pcap by an empty field.
static void put_name(const struct tl_pcap_more *more, char out[NAME_MAX_BYTES])
{
	size_t used = 0;

	if (more->name == NULL || more->name_bytes == 0) {
		out[0] = '\0';
		if (more->section != 0)
			snprintf(out, NAME_MAX_BYTES, "%" PRIu32, more->interface_id);
		return;
	}
	out[used++] = '"';
	for (uint32_t i = 0; i < more->name_bytes && more->name[i] != '\0' && used < NAME_MAX_BYTES - 4; i++) {
		if (more->name[i] == '"')
			out[used++] = '"';
		out[used++] = more->name[i];
	}
	out[used++] = '"';
	out[used] = '\0';
}

static void add_interface(
	struct tl_latency_pairs *pairs, const struct tl_pcap_reader *reader, const struct tl_pcap_more *more)
{
	struct interface *grown = reallocarray(pairs->interface, pairs->n + 1, sizeof(*grown));

	if (grown == NULL) {
		pairs->rc = -ENOMEM;
		return;
	}
	pairs->interface = grown;
	struct interface *interface = &grown[pairs->n];
	*interface = (struct interface){.reader = reader, .section = more->section, .id = more->interface_id};
	put_name(more, interface->name);
	tl_latency_stamps_of(more, &interface->stamps);
	pairs->n++;
}

uint64_t tl_latency_pairs_name(struct tl_latency_pairs *pairs, const struct tl_pcap_reader *reader, uint64_t number)
{
	struct tl_pcap_more more;

	if (pairs == NULL)
		return number << INTERFACE_BITS;
	tl_pcap_get_more(reader, &more);
	if (pairs->n == 0 || !is_known(&pairs->interface[pairs->last], reader, &more)) {
		pairs->last = 0;
		while (pairs->last < pairs->n && !is_known(&pairs->interface[pairs->last], reader, &more))
			pairs->last++;
		if (pairs->last == pairs->n)
			add_interface(pairs, reader, &more);
		if (pairs->last == pairs->n) // out of memory
			pairs->last = 0;
	}
	return number << INTERFACE_BITS | pairs->last;
}

uint64_t tl_latency_pairs_number(uint64_t name)
{
	return name >> INTERFACE_BITS;
}

// ---- lines

static void put_bounds(FILE *out, const struct tl_latency_stamps *trigger, const struct tl_latency_stamps *reply)
{
	const uint64_t bounds_ns[] = {trigger->start_bound_ns, reply->start_bound_ns};

	for (size_t i = 0; i < TL_ARRAY_LEN(bounds_ns); i++)
		if (bounds_ns[i] != 0)
			fprintf(out, ",%" PRIu64, bounds_ns[i]);
		else
			fputc(',', out); // unknown
}

void tl_latency_pairs_add(struct tl_latency_pairs *pairs, const struct tl_match_link *link)
{
	if (pairs->n == 0)
		return;
	const struct interface *trigger = &pairs->interface[link->trigger_frame & INTERFACE_MASK];
	const struct interface *reply = &pairs->interface[link->reply_frame & INTERFACE_MASK];

	fprintf(pairs->out, "%" PRIu64 ",%" PRIu64 ",%" PRId64 ",%d,%" PRIu64 ",%" PRIu64 ",%" PRIu64, link->number,
		link->trigger_ns, (int64_t)(link->reply_ns - link->trigger_ns), link->ambiguous, link->reply_ns,
		tl_latency_pairs_number(link->trigger_frame), tl_latency_pairs_number(link->reply_frame));
	fprintf(pairs->out, ",%s,%s,%s,%s,%" PRIu64 ",%" PRIu64, trigger->name, reply->name, trigger->stamps.source,
		reply->stamps.source, trigger->stamps.unit_ns, reply->stamps.unit_ns);
	put_bounds(pairs->out, &trigger->stamps, &reply->stamps);
	fprintf(pairs->out, ",%" PRIu32 ",%d,%d\n", link->segments, link->retransmitted, TL_LATENCY_PAIRS_VERSION);
	if (TL_UNLIKELY(ferror(pairs->out)) && pairs->rc == 0)
		pairs->rc = -errno;
}

int tl_latency_pairs_close(struct tl_latency_pairs *pairs, struct tl_err *err)
{
	if (pairs == NULL)
		return 0;
	int rc = pairs->rc;
	if (fclose(pairs->out) != 0 && rc == 0)
		rc = -errno;
	if (rc != 0)
		tl_fail(err, rc, "%.300s: cannot be written: %s", pairs->path, strerror(-rc));
	free(pairs->interface);
	free(pairs);
	return rc;
}
