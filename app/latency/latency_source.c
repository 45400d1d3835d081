// SPDX-License-Identifier: BSD-3-Clause
// Determine the source of stamps: Tapline recordings state it in each interface's description
// (lib/record/capture/capture_blocks.c); other files have the source "file" and their unit.

#include "latency_source.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EPB_FLAGS 2
#define DIRECTION 3u
#define TSRESOL_BINARY 0x80u
#define MARK "timestamps: " // in the descriptions of Tapline recordings
#define NAME_SHOWN 32u

static const char *const known[] = {"nic-rx", "nic-ptp", "nic-tx", "kernel", "file", "tsc"};
#define SOURCE_FILE 4

// Contents of a description.
struct described {
	unsigned source;		  // source, as an index
	uint64_t start_bound_ns, unit_ns; // 0: not given
	bool ours;
};

static uint64_t number_after(const char *text, const char *words)
{
	const char *at = strstr(text, words);

	return at != NULL ? strtoull(at + strlen(words), NULL, 10) : 0;
}

// Parse "..., timestamps: tsc (software, ...), unit 1 ns, bound 57 ns at start"; older recordings have "..., clock
// within 57 ns at start", "..., timestamps: file (in units of 1000 ns)".
static struct described read_description(const char *text)
{
	struct described out = {.source = SOURCE_FILE};
	const char *at = strstr(text, MARK);

	if (at == NULL)
		return out;
	out.ours = true;
	at += strlen(MARK);
	size_t len = strspn(at, "abcdefghijklmnopqrstuvwxyz-");
	for (size_t i = 0; i < TL_ARRAY_LEN(known); i++)
		if (strlen(known[i]) == len && strncmp(at, known[i], len) == 0)
			out.source = (unsigned)i;
	out.start_bound_ns = tl_max_u64(number_after(at, "bound "), number_after(at, "within "));
	out.unit_ns = tl_max_u64(number_after(at, "unit "), number_after(at, "units of "));
	return out;
}

// Return the nanoseconds of a unit, rounded up.
static uint64_t unit_ns(uint8_t tsresol)
{
	uint8_t exponent = tsresol & (TSRESOL_BINARY - 1);
	uint64_t ns = TL_NS_PER_S;

	for (; exponent != 0 && ns > 1; exponent--)
		ns = tsresol & TSRESOL_BINARY ? (ns + 1) / 2 : (ns + 9) / 10;
	return ns;
}

// Return the if_tsresol of a power of ten.
static uint8_t tsresol_of(uint64_t unit_ns)
{
	uint8_t tsresol = 9;

	for (; unit_ns >= 10 && tsresol != 0; unit_ns /= 10)
		tsresol--;
	return tsresol;
}

// Return TL_PCAPNG_INBOUND, TL_PCAPNG_OUTBOUND, or 0: not given.
static uint32_t direction_of(const struct tl_pcap_more *more)
{
	struct tl_pcap_option option;
	uint32_t at = 0, flags;

	while (tl_pcap_next_option(more->options, more->options_bytes, more->swapped, &at, &option) == 1)
		if (option.code == EPB_FLAGS && option.len == sizeof(flags)) {
			memcpy(&flags, option.value, sizeof(flags));
			return (more->swapped ? __builtin_bswap32(flags) : flags) & DIRECTION;
		}
	return 0;
}

// Store the device of a frame. Interfaces of one name are one device in Tapline recordings, which have one interface
// per queue. In other files, such as merged ones, each interface may have its own clock.
static void note_device(struct tl_latency_origin *origin, const struct tl_pcap_more *more, bool ours)
{
	char device[sizeof(origin->device)], name[NAME_SHOWN + 1] = "";

	if (more->name != NULL)
		snprintf(name, sizeof(name), "%.*s", (int)tl_min_u64(more->name_bytes, NAME_SHOWN), more->name);
	if (ours && name[0] != '\0')
		snprintf(device, sizeof(device), "%s in section %u", name, more->section);
	else
		snprintf(device, sizeof(device), "%s%sinterface %u of section %u", name, name[0] != '\0' ? ", " : "",
			more->interface_id, more->section);
	if (!origin->seen)
		snprintf(origin->device, sizeof(origin->device), "%s", device);
	origin->several |= strcmp(origin->device, device) != 0;
}

static struct described read_interface(const struct tl_pcap_more *more)
{
	char description[256];

	snprintf(description, sizeof(description), "%.*s", (int)more->description_bytes,
		more->description != NULL ? more->description : "");
	return read_description(description);
}

void tl_latency_stamps_of(const struct tl_pcap_more *more, struct tl_latency_stamps *out)
{
	struct described says = read_interface(more);

	*out = (struct tl_latency_stamps){.source = known[says.source],
		.start_bound_ns = says.start_bound_ns,
		.unit_ns = tl_max_u64(says.unit_ns, unit_ns(more->tsresol))};
}

void tl_latency_origin_see(struct tl_latency_origin *origin, const struct tl_pcap_reader *reader, uint32_t direction)
{
	struct tl_pcap_more more;

	tl_pcap_get_more(reader, &more);
	direction = direction_of(&more) != 0 ? direction_of(&more) : direction;
	origin->sent |= direction == TL_PCAPNG_OUTBOUND;
	origin->undirected |= direction != TL_PCAPNG_INBOUND;
	if (origin->seen && origin->section == more.section && origin->interface_id == more.interface_id)
		return;
	struct described says = read_interface(&more);
	if (says.unit_ns > unit_ns(more.tsresol)) // a Tapline recording converts any unit to ns
		more.tsresol = tsresol_of(says.unit_ns);
	if (!origin->seen || unit_ns(more.tsresol) > unit_ns(origin->tsresol))
		origin->tsresol = more.tsresol;
	origin->sources |= 1u << says.source;
	bool mixed = (origin->sources & (origin->sources - 1)) != 0;
	snprintf(origin->source, sizeof(origin->source), "%s", mixed ? "mixed" : known[says.source]);
	origin->start_bound_ns = tl_max_u64(origin->start_bound_ns, says.start_bound_ns);
	note_device(origin, &more, says.ours);
	origin->section = more.section;
	origin->interface_id = more.interface_id;
	origin->seen = true;
}

uint64_t tl_latency_origin_unit_ns(const struct tl_latency_origin *origin)
{
	return unit_ns(origin->tsresol);
}

static const char *unit_text(uint8_t tsresol, char buf[32])
{
	switch (tsresol) {
	case 3:
		return "ms";
	case 6:
		return "us";
	case 9:
		return "ns";
	default:
		snprintf(buf, 32, "%s^-%u s", tsresol & TSRESOL_BINARY ? "2" : "10", tsresol & (TSRESOL_BINARY - 1));
		return buf;
	}
}

static void add_unit(struct tl_latency *report, const char *name, const struct tl_latency_origin *origin)
{
	char buf[32];

	if (origin->seen)
		tl_latency_add_fact(report, name, "%s", unit_text(origin->tsresol, buf));
}

// Return the largest bound of all sources; unknown if that of any source is unknown.
static uint64_t bound_ns(const struct tl_latency_origin *origin, const struct tl_latency_clocks *clocks,
	uint64_t first_ns, uint64_t last_ns)
{
	uint64_t most_ns = origin->seen ? 0 : TL_LATENCY_UNBOUNDED;

	for (size_t i = 0; i < TL_ARRAY_LEN(known); i++)
		if ((origin->sources & 1u << i) != 0)
			most_ns = tl_max_u64(most_ns, tl_latency_clocks_bound_ns(clocks, known[i], first_ns, last_ns));
	return most_ns;
}

static void add_start_bound(struct tl_latency *report, const char *name, const struct tl_latency_origin *origin)
{
	if (origin->start_bound_ns != 0)
		tl_latency_add_fact(report, name, "%" PRIu64, origin->start_bound_ns);
}

void tl_latency_origins(const struct tl_latency_origin origins[2], const struct tl_latency_clocks *clocks[2],
	uint64_t first_ns, uint64_t last_ns, struct tl_latency *report)
{
	const struct tl_latency_origin *trigger = &origins[0], *reply = &origins[1];

	tl_latency_set_sources(report, trigger->seen ? trigger->source : "file",
		bound_ns(trigger, clocks[0], first_ns, last_ns), reply->seen ? reply->source : "file",
		bound_ns(reply, clocks[1], first_ns, last_ns));
	tl_latency_set_clocks(report, trigger->seen ? unit_ns(trigger->tsresol) : 0, "REALTIME",
		reply->seen ? unit_ns(reply->tsresol) : 0, "REALTIME");
	add_unit(report, "unit_of_triggers", trigger);
	add_unit(report, "unit_of_replies", reply);
	add_start_bound(report, "bound_at_start_of_triggers_ns", trigger);
	add_start_bound(report, "bound_at_start_of_replies_ns", reply);
}

void tl_latency_check_steps(const struct tl_latency_origin *origin, const struct tl_latency_clocks *clocks,
	const char *file, uint64_t first_ns, uint64_t last_ns, struct tl_latency *report)
{
	struct tl_latency_clock_step step;

	for (size_t i = 0; i < TL_ARRAY_LEN(known); i++) {
		if ((origin->sources & 1u << i) == 0)
			continue;
		uint32_t n = tl_latency_clocks_steps(clocks, known[i], first_ns, last_ns, &step);
		if (n != 0)
			tl_latency_add_invalid(&report->invalid,
				"time was set %" PRIu32
				" time%s while %.100s was measured (stamps %s), first by %+" PRId64
				" ns before %" PRIu64 ".%09" PRIu64 ": times across that are wrong by as much",
				n, n == 1 ? "" : "s", file, known[i], step.offset_ns, step.until_ns / TL_NS_PER_S,
				step.until_ns % TL_NS_PER_S);
	}
}
