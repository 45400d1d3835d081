// SPDX-License-Identifier: BSD-3-Clause
// Check that two reports were measured alike.

#include <tl_latency_compare.h>

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define VALUE 160
#define RATE_APART 1.25 // measured rates differ slightly from run to run
#define SIZE_APART 1.01 // as do mean sizes of varying payloads

// Format a field as text; empty: not in the report.
typedef void field_fn(const struct tl_latency *report, char out[VALUE]);

static const char *fact_of(const struct tl_latency *report, const char *name)
{
	for (size_t i = 0; i < report->n_facts; i++)
		if (strcmp(report->facts[i].name, name) == 0)
			return report->facts[i].value;
	return "";
}

static void method_of(const struct tl_latency *report, char out[VALUE])
{
	snprintf(out, VALUE, "%s", report->method);
}

static void trigger_source_of(const struct tl_latency *report, char out[VALUE])
{
	snprintf(out, VALUE, "%s", report->trigger.name);
}

static void reply_source_of(const struct tl_latency *report, char out[VALUE])
{
	snprintf(out, VALUE, "%s", report->reply.name);
}

static void subtracted_of(const struct tl_latency *report, char out[VALUE])
{
	snprintf(out, VALUE, "%" PRIu64, report->subtracted_ns);
}

static void window_of(const struct tl_latency *report, char out[VALUE])
{
	out[0] = '\0';
	if (report->window_ns != 0)
		snprintf(out, VALUE, "%" PRIu64, report->window_ns);
}

// Format the sweep, as far as it fits; if 64 points of a sweep agree up to there, the rest does.
static void sweep_of(const struct tl_latency *report, char out[VALUE])
{
	static const char *const units[] = {[TL_LATENCY_PAYLOAD_BYTES] = " bytes", [TL_LATENCY_RATE_PPS] = " pps"};
	size_t used = (size_t)snprintf(out, VALUE, "%s", report->n_points == 0 ? "none" : "");

	for (size_t i = 0; i < report->n_points && used < VALUE; i++)
		used += (size_t)snprintf(out + used, VALUE - used, "%s%" PRIu64 "%s", i == 0 ? "" : ", ",
			report->points[i].at, units[report->points[i].axis]);
}

// Return the measured rate: triggers with and without a reply, per second.
static double measured_rate(const struct tl_latency *report)
{
	const struct tl_latency_order *order = &report->order;
	double span_ns = (double)(order->last_ns - order->first_ns), count = (double)report->latency.count;

	if (span_ns <= 0 || count == 0 || order->seen < 2)
		return 0;
	return (double)(order->seen - 1) / span_ns * 1e9 * (1 + (double)report->unmatched_triggers / count);
}

static const struct {
	const char *name;
	field_fn *value;
} fields[] = {{"method", method_of}, {"trigger_source", trigger_source_of}, {"reply_source", reply_source_of},
	{"subtracted_ns", subtracted_of}, {"window_ns", window_of}, {"sweep", sweep_of}};

// Facts are compared if both reports have them. apart: numbers may differ by this factor; 0: not at all.
static const struct {
	const char *name;
	double apart;
} facts[] = {{"transport", 0}, {"mode", 0}, {"time", 0}, {"clocks", 0}, {"asked_pps", 0}, {"payload_bytes", SIZE_APART},
	{"trigger_frame_bytes", SIZE_APART}};

int tl_latency_usable(const struct tl_latency *report, struct tl_err *err)
{
	if (report->invalid.n == 0)
		return 0;
	return tl_fail(err, -EINVAL, "it is an invalid result: %s", report->invalid.text[0]);
}

static int refuse(const char *field, const char *value_a, const char *name_a, const char *value_b, const char *name_b,
	struct tl_err *err)
{
	return tl_fail(
		err, -EINVAL, "%s is %.60s in %.120s and %.60s in %.120s", field, value_a, name_a, value_b, name_b);
}

static bool is_apart(const char *a, const char *b, double apart)
{
	double x = strtod(a, NULL), y = strtod(b, NULL);

	if (a[0] == '\0' || b[0] == '\0' || strcmp(a, b) == 0)
		return false;
	return apart == 0 || !(fmax(x, y) <= apart * fmin(x, y));
}

static int check_rates(const struct tl_latency *a, const char *name_a, const struct tl_latency *b, const char *name_b,
	struct tl_err *err)
{
	double rate_a = measured_rate(a), rate_b = measured_rate(b);
	char text_a[32], text_b[32];

	if (rate_a == 0 || rate_b == 0 || fmax(rate_a, rate_b) <= RATE_APART * fmin(rate_a, rate_b))
		return 0;
	snprintf(text_a, sizeof(text_a), "%.6g", rate_a);
	snprintf(text_b, sizeof(text_b), "%.6g", rate_b);
	return refuse("the measured rate, in triggers per second,", text_a, name_a, text_b, name_b, err);
}

int tl_latency_alike(const struct tl_latency *a, const char *name_a, const struct tl_latency *b, const char *name_b,
	struct tl_err *err)
{
	char value_a[VALUE], value_b[VALUE];

	for (size_t i = 0; i < TL_ARRAY_LEN(fields); i++) {
		fields[i].value(a, value_a);
		fields[i].value(b, value_b);
		if (value_a[0] != '\0' && value_b[0] != '\0' && strcmp(value_a, value_b) != 0)
			return refuse(fields[i].name, value_a, name_a, value_b, name_b, err);
	}
	for (size_t i = 0; i < TL_ARRAY_LEN(facts); i++) {
		const char *fact_a = fact_of(a, facts[i].name), *fact_b = fact_of(b, facts[i].name);
		if (is_apart(fact_a, fact_b, facts[i].apart))
			return refuse(facts[i].name, fact_a, name_a, fact_b, name_b, err);
	}
	return check_rates(a, name_a, b, name_b, err);
}
