// SPDX-License-Identifier: BSD-3-Clause
// Subtraction of the mean time of a run against a null echo, if both were measured in the same way. The mean of a sum
// is the sum of the means, even if its parts are dependent; medians and other quantiles do not add up.

#include <tl_client_link.h>

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

int tl_client_null_load(const char *path, json_t **out, struct tl_err *err)
{
	json_error_t error;

	*out = json_load_file(path, 0, &error);
	if (*out != NULL)
		return 0;
	if (access(path, R_OK) != 0)
		return tl_fail(err, -EINVAL, "--null %s: %s", path, strerror(errno));
	return tl_fail(err, -EINVAL, "--null %s: line %d: %s; give the output of `tapline client --json`", path,
		error.line, error.text);
}

static bool text_is(const json_t *run, const char *key, const char *text)
{
	const char *has = json_string_value(json_object_get(run, key));
	return has != NULL && text != NULL && strcmp(has, text) == 0;
}

static bool number_is(const json_t *run, const char *key, uint64_t number)
{
	const json_t *has = json_object_get(run, key);
	return json_is_integer(has) && (uint64_t)json_integer_value(has) == number;
}

// Compare the burst. Files written before bursts existed have none.
static bool burst_is(const json_t *run, uint64_t burst)
{
	return json_object_get(run, "burst") == NULL ? burst < 2 : number_is(run, "burst", tl_max_u64(burst, 1));
}

// Properties that two runs must share to be of one path, measured in one way.
struct likeness {
	const char *transport;
	enum tl_client_mode mode;
	uint64_t payload_bytes, rate_pps, burst;
	enum tl_client_timestamps timestamps;
};

static bool is_like(const json_t *run, const struct likeness *wanted)
{
	return text_is(run, "transport", wanted->transport) &&
	       text_is(run, "mode", tl_client_mode_name(wanted->mode)) &&
	       number_is(run, "payload_bytes", wanted->payload_bytes) &&
	       number_is(run, "asked_pps", wanted->rate_pps) && burst_is(run, wanted->burst) &&
	       text_is(run, "timestamps", tl_client_timestamps_name(wanted->timestamps));
}

// Find the matching run of the file: itself, or one of a sweep's.
static const json_t *find(const json_t *null, const struct likeness *wanted)
{
	const json_t *points = json_object_get(null, "points");

	if (is_like(null, wanted))
		return null;
	for (size_t i = 0; i < json_array_size(points); i++)
		if (is_like(json_array_get(points, i), wanted))
			return json_array_get(points, i);
	return NULL;
}

static const json_t *best_of(const json_t *run, const char *suffix)
{
	char key[64];
	const char *name = json_string_value(json_object_get(run, "best"));

	snprintf(key, sizeof(key), "%s%s", name != NULL ? name : "", suffix);
	return json_object_get(run, key);
}

static int check_one(const json_t *null, const struct tl_client_cfg *cfg, struct tl_err *err)
{
	const struct likeness wanted = {
		.transport = tl_client_transport(cfg)->name,
		.mode = cfg->mode,
		.payload_bytes = cfg->payload_bytes,
		.rate_pps = cfg->rate_pps,
		.burst = cfg->burst,
		.timestamps = cfg->timestamps,
	};
	const json_t *run = find(null, &wanted);

	if (run == NULL)
		return tl_fail(err, -EINVAL,
			"--null: the file has no run over %s with --%s --payload %" PRIu64 " --rate %" PRIu64
			" --burst %" PRIu64 " --timestamps %s; measure the null echo like that",
			tl_client_mode_name(cfg->mode), wanted.transport, cfg->payload_bytes, cfg->rate_pps,
			tl_max_u64(cfg->burst, 1), tl_client_timestamps_name(cfg->timestamps));
	if (!json_is_number(json_object_get(best_of(run, ""), "mean")) ||
		!json_is_number(json_object_get(best_of(run, "_ci95"), "mean")))
		return tl_fail(err, -EINVAL, "--null: the file has no times for --payload %" PRIu64 " --rate %" PRIu64,
			cfg->payload_bytes, cfg->rate_pps);
	return 0;
}

int tl_client_null_check(
	const json_t *null, const struct tl_client_cfg *cfg, const struct tl_client_sweep *sweep, struct tl_err *err)
{
	for (size_t i = 0; i < sweep->n; i++) {
		struct tl_client_cfg one = tl_client_point(cfg, sweep, i);
		int ret = check_one(null, &one, err);
		if (ret != 0)
			return ret;
	}
	return 0;
}

static double number_of(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

void tl_client_null_subtract(const json_t *null, struct tl_client_result *result)
{
	const struct likeness wanted = {
		.transport = result->sources.transport,
		.mode = result->mode,
		.payload_bytes = result->payload_bytes,
		.rate_pps = result->asked_pps,
		.burst = result->burst,
		.timestamps = result->timestamps,
	};
	const json_t *run = find(null, &wanted);
	const struct tl_client_times *best = tl_client_best(result);
	const json_t *times = best_of(run, ""), *ci95 = best_of(run, "_ci95");

	if (run == NULL || best->all.count == 0)
		return;
	// Errors of independent runs add up as squares.
	result->net = (struct tl_client_net){
		.given = true,
		.mean_ns = best->all.mean_ns - number_of(times, "mean"),
		.mean_ci95_ns = hypot(best->spread.mean_ns, number_of(ci95, "mean")),
	};
	if (!json_is_true(json_object_get(run, "valid")))
		tl_latency_add_invalid(&result->invalid, "the subtracted result of the null echo is invalid");
	// With --timestamps nic the stamp source depends on the port.
	const json_t *stamps = json_object_get(run, "stamps");
	if (!text_is(stamps, "departures", result->sources.departures) ||
		!text_is(stamps, "arrivals", result->sources.arrivals))
		tl_latency_add_invalid(
			&result->invalid, "packets of the subtracted null echo were stamped by another source");
}
