// SPDX-License-Identifier: BSD-3-Clause
// tapline run --check: plan a configuration, and print each recording's buffer time at line rate.

#include "check.h"

#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include <tl_capture.h>
#include <tl_err.h>
#include <tl_log.h>
#include <tl_units.h>

#include "app.h"
#include "explain.h"
#include "plan.h"
#include "results.h"

#define GBPS UINT64_C(1000000000)

// Shortest and longest Ethernet frame, without FCS.
static const uint32_t frame_bytes[] = {60, 1514};

// Line rates that a recording may have to sustain.
struct rates {
	bool known; // bps[0] is the port's own rate; if false, the usual port rates
	uint32_t n;
	uint64_t bps[3];
};

static struct rates rates_of(const struct tl_port_spec *spec)
{
	uint64_t bps = tl_port_expected_bps(spec);

	if (!tl_port_traits(spec)->sends) // a file is read at full speed
		return (struct rates){0};
	if (bps != 0)
		return (struct rates){.known = true, .n = 1, .bps = {bps}};
	return (struct rates){.n = 3, .bps = {10 * GBPS, 25 * GBPS, 100 * GBPS}};
}

static struct tl_capture_coverage cover(const struct tl_config_capture *capture, uint32_t frame, uint64_t bps)
{
	return tl_capture_cover(capture->buffer_bytes, capture->snaplen, frame, bps);
}

static json_t *rates_json(const struct tl_config_capture *capture, const struct rates *rates)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < rates->n; i++)
		for (size_t f = 0; f < TL_ARRAY_LEN(frame_bytes); f++) {
			struct tl_capture_coverage c = cover(capture, frame_bytes[f], rates->bps[i]);
			json_array_append_new(list,
				json_pack("{s:I, s:i, s:i, s:I, s:I}", "line_bps", (json_int_t)rates->bps[i],
					"frame_bytes", (int)frame_bytes[f], "record_bytes", (int)c.record_bytes,
					"bytes_per_s", (json_int_t)c.bytes_per_s, "covered_ns", (json_int_t)c.ns));
		}
	return list;
}

static int print_json(const struct tl_config *config, const struct tl_plan *plan, bool explain)
{
	json_t *captures = json_array();

	for (uint32_t i = 0; i < config->n_captures; i++) {
		const struct tl_config_capture *capture = &config->captures[i];
		struct rates rates = rates_of(&plan->specs[capture->port]);
		json_array_append_new(captures, json_pack("{s:s, s:I, s:i, s:b, s:o}", "port", capture->port_name,
							"buffer_bytes", (json_int_t)capture->buffer_bytes, "queues",
							(int)config->ports[capture->port].rx_queues, "line_rate_known",
							(int)rates.known, "coverage", rates_json(capture, &rates)));
	}
	json_t *json = json_pack("{s:b, s:i, s:i, s:o}", "ok", 1, "ports", (int)config->n_ports, "echoes",
		(int)config->n_echoes, "captures", captures);
	if (explain)
		json_object_set_new(json, "explained", tl_explain_json(config, plan));
	return tl_results_json(json, stdout);
}

// Print a rate: "49.0 ms of 10 Gbit/s at 60-byte frames (1.37 GB/s), 54.2 ms at 1514 (1.24 GB/s)".
static void print_rate(const struct tl_config_capture *capture, const struct rates *rates, uint32_t index)
{
	uint64_t bps = rates->bps[index];

	for (size_t f = 0; f < TL_ARRAY_LEN(frame_bytes); f++) {
		struct tl_capture_coverage c = cover(capture, frame_bytes[f], bps);
		printf("%s%.3g ms", f == 0 ? "" : ", ", (double)c.ns / (double)TL_NS_PER_MS);
		if (f == 0)
			printf(" of %g Gbit/s%s", (double)bps / (double)GBPS,
				rates->known ? "" : " (the port's rate is not known)");
		printf(" at %u%s (%.2f GB/s)", frame_bytes[f], f == 0 ? "-byte frames" : "",
			(double)c.bytes_per_s / 1e9);
	}
	putchar('\n');
}

static void print_capture(const struct tl_config *config, const struct tl_plan *plan, uint32_t index)
{
	const struct tl_config_capture *capture = &config->captures[index];
	uint32_t queues = config->ports[capture->port].rx_queues;
	struct rates rates = rates_of(&plan->specs[capture->port]);
	char size[32];

	tl_format_bytes(capture->buffer_bytes, size, sizeof(size));
	for (uint32_t i = 0; i < rates.n; i++) {
		printf("capture[%u]: %s per queue x %u queue%s: ", index, size, queues, queues == 1 ? "" : "s");
		print_rate(capture, &rates, i);
	}
	if (rates.n == 0)
		printf("capture[%u]: %s: its port is a file, which has no line rate\n", index, size);
}

static const char *plural(uint32_t n, const char *ending)
{
	return n == 1 ? "" : ending;
}

int tl_check(const struct tl_config *config, bool explain, bool as_json)
{
	struct tl_plan *plan = calloc(1, sizeof(*plan));
	struct tl_err err;

	if (plan == NULL)
		return TL_EXIT_FAILED;
	if (tl_plan_make(config, plan, &err) != 0) {
		tl_error("%s", err.text);
		free(plan);
		return TL_EXIT_USAGE;
	}
	int rc = 0;
	if (as_json) {
		rc = print_json(config, plan, explain);
	} else {
		printf("%s: ok: %u port%s, %u recording%s, %u echo%s\n", config->file, config->n_ports,
			plural(config->n_ports, "s"), config->n_captures, plural(config->n_captures, "s"),
			config->n_echoes, plural(config->n_echoes, "es"));
		for (uint32_t i = 0; i < config->n_captures; i++)
			print_capture(config, plan, i);
		if (explain)
			tl_explain_print(config, plan);
		rc = tl_results_flush(stdout);
	}
	free(plan);
	return rc == 0 ? TL_EXIT_OK : TL_EXIT_FAILED;
}
