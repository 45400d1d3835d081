// SPDX-License-Identifier: BSD-3-Clause
// Where stamps come from: our recordings say it in each interface's description (lib/capture/capture_blocks.c); what
// another tool wrote is "file", and the unit it counts in.

#include "latency_source.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EPB_FLAGS 2
#define DIRECTION 3u
#define TSRESOL_BINARY 0x80u

static const char *const known[] = {"nic-rx", "nic-ptp", "nic-tx", "kernel", "file", "tsc"};
#define SOURCE_FILE 4

// What a description says.
struct described {
	unsigned source;		  // index
	uint64_t start_bound_ns, unit_ns; // 0: nothing
};

static uint64_t number_after(const char *text, const char *words)
{
	const char *at = strstr(text, words);

	return at != NULL ? strtoull(at + strlen(words), NULL, 10) : 0;
}

// "..., timestamps: tsc (software, ...), unit 1 ns, bound 57 ns at start"; older ones "..., clock within 57 ns at
// start",
// "..., timestamps: file (in units of 1000 ns)".
static struct described read_description(const char *text)
{
	static const char mark[] = "timestamps: ";
	struct described out = {.source = SOURCE_FILE};
	const char *at = strstr(text, mark);

	if (at == NULL)
		return out;
	at += strlen(mark);
	size_t len = strspn(at, "abcdefghijklmnopqrstuvwxyz-");
	for (size_t i = 0; i < TL_ARRAY_LEN(known); i++)
		if (strlen(known[i]) == len && strncmp(at, known[i], len) == 0)
			out.source = (unsigned)i;
	out.start_bound_ns = tl_max_u64(number_after(at, "bound "), number_after(at, "within "));
	out.unit_ns = tl_max_u64(number_after(at, "unit "), number_after(at, "units of "));
	return out;
}

// Nanoseconds of a unit, rounded up.
static uint64_t unit_ns(uint8_t tsresol)
{
	uint8_t exponent = tsresol & (TSRESOL_BINARY - 1);
	uint64_t ns = TL_NS_PER_S;

	for (; exponent != 0 && ns > 1; exponent--)
		ns = tsresol & TSRESOL_BINARY ? (ns + 1) / 2 : (ns + 9) / 10;
	return ns;
}

// As if_tsresol has it, of a power of ten.
static uint8_t tsresol_of(uint64_t unit_ns)
{
	uint8_t tsresol = 9;

	for (; unit_ns >= 10 && tsresol != 0; unit_ns /= 10)
		tsresol--;
	return tsresol;
}

static bool is_sent(const struct tl_pcap_more *more)
{
	struct tl_pcap_option option;
	uint32_t at = 0, flags;

	while (tl_pcap_next_option(more->options, more->options_bytes, more->swapped, &at, &option) == 1)
		if (option.code == EPB_FLAGS && option.len == sizeof(flags)) {
			memcpy(&flags, option.value, sizeof(flags));
			flags = more->swapped ? __builtin_bswap32(flags) : flags;
			return (flags & DIRECTION) == TL_PCAPNG_OUTBOUND;
		}
	return false;
}

void tl_latency_origin_see(struct tl_latency_origin *origin, const struct tl_pcap_reader *reader)
{
	struct tl_pcap_more more;
	char description[256];

	tl_pcap_get_more(reader, &more);
	origin->sent |= is_sent(&more);
	if (origin->seen && origin->section == more.section && origin->interface_id == more.interface_id)
		return;
	snprintf(description, sizeof(description), "%.*s", (int)more.description_bytes,
		more.description != NULL ? more.description : "");
	struct described says = read_description(description);
	if (says.unit_ns > unit_ns(more.tsresol)) // a recording of ours has ns of whatever there was
		more.tsresol = tsresol_of(says.unit_ns);
	if (!origin->seen || unit_ns(more.tsresol) > unit_ns(origin->tsresol))
		origin->tsresol = more.tsresol;
	origin->sources |= 1u << says.source;
	bool mixed = (origin->sources & (origin->sources - 1)) != 0;
	snprintf(origin->source, sizeof(origin->source), "%s", mixed ? "mixed" : known[says.source]);
	origin->start_bound_ns = tl_max_u64(origin->start_bound_ns, says.start_bound_ns);
	origin->section = more.section;
	origin->interface_id = more.interface_id;
	origin->seen = true;
}

static bool is(const struct tl_latency_origin *origin, const char *source)
{
	return strcmp(origin->source, source) == 0;
}

// Two receive stamps are the method of two ports, whoever took them. What the host itself stamped as it sent, or in
// software, is another.
static const char *method_of(const struct tl_latency_origin *trigger, const struct tl_latency_origin *reply)
{
	const struct tl_latency_origin *both[] = {trigger, reply};
	bool software = false, probe = false, sent = false;

	for (size_t i = 0; i < TL_ARRAY_LEN(both); i++) {
		software |= is(both[i], "tsc") || is(both[i], "kernel") || is(both[i], "mixed");
		probe |= is(both[i], "nic-ptp");
		sent |= both[i]->sent || is(both[i], "nic-tx");
	}
	return software ? "software" : probe ? "probe" : sent ? "rx-tx" : "two-port";
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

// The largest of all its sources; one that is not known makes it unknown.
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
	snprintf(report->method, sizeof(report->method), "%s", method_of(trigger, reply));
	add_unit(report, "unit_of_triggers", trigger);
	add_unit(report, "unit_of_replies", reply);
	add_start_bound(report, "bound_at_start_of_triggers_ns", trigger);
	add_start_bound(report, "bound_at_start_of_replies_ns", reply);
}

void tl_latency_judge_steps(const struct tl_latency_origin *origin, const struct tl_latency_clocks *clocks,
	const char *file, uint64_t first_ns, uint64_t last_ns, struct tl_latency *report)
{
	struct tl_latency_clock_step step;

	for (size_t i = 0; i < TL_ARRAY_LEN(known); i++) {
		if ((origin->sources & 1u << i) == 0)
			continue;
		uint32_t n = tl_latency_clocks_steps(clocks, known[i], first_ns, last_ns, &step);
		if (n != 0)
			tl_latency_add_invalid(report,
				"time was set %" PRIu32
				" time%s while %.100s was measured (stamps %s), first by %+" PRId64
				" ns before %" PRIu64 ".%09" PRIu64 ": times across that are wrong by as much",
				n, n == 1 ? "" : "s", file, known[i], step.offset_ns, step.until_ns / TL_NS_PER_S,
				step.until_ns % TL_NS_PER_S);
	}
}
