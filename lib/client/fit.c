// SPDX-License-Identifier: BSD-3-Clause
// The values of a sweep, and the line through its results.

#include <tl_client_sweep.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <tl_units.h>

static int append(struct tl_client_sweep *sweep, uint64_t value)
{
	if (sweep->n == TL_CLIENT_POINTS)
		return -ERANGE;
	if (sweep->n > 0 && value <= sweep->at[sweep->n - 1])
		return -EINVAL;
	sweep->at[sweep->n++] = value;
	return 0;
}

// first:last:count
static int parse_range(char *text, uint64_t min, uint64_t max, struct tl_client_sweep *sweep)
{
	char *rest = text;
	const char *first_text = strsep(&rest, ":"), *last_text = strsep(&rest, ":");
	uint64_t first, last, count;

	if (last_text == NULL || rest == NULL || tl_parse_u64(first_text, min, max, &first) != 0 ||
		tl_parse_u64(last_text, min, max, &last) != 0 || tl_parse_u64(rest, 2, TL_CLIENT_POINTS, &count) != 0 ||
		last <= first)
		return -EINVAL;
	for (uint64_t i = 0; i < count; i++) {
		int ret = append(sweep, first + (last - first) * i / (count - 1));
		if (ret != 0)
			return ret;
	}
	return 0;
}

int tl_client_sweep_parse(const char *text, uint64_t min, uint64_t max, struct tl_client_sweep *sweep)
{
	char copy[1024], *rest = copy;

	sweep->n = 0;
	if ((size_t)snprintf(copy, sizeof(copy), "%s", text) >= sizeof(copy))
		return -ERANGE;
	if (strchr(copy, ':') != NULL)
		return parse_range(copy, min, max, sweep);
	for (const char *word; (word = strsep(&rest, ",")) != NULL;) {
		uint64_t value;
		int ret = tl_parse_u64(word, min, max, &value);
		if (ret == 0)
			ret = append(sweep, value);
		if (ret != 0)
			return ret;
	}
	return 0;
}

struct tl_client_fit tl_client_fit(const double *x, const double *y, size_t n)
{
	double x_mean = 0, y_mean = 0, xx = 0, xy = 0, yy = 0, rest = 0;

	for (size_t i = 0; i < n; i++) {
		x_mean += x[i] / (double)n;
		y_mean += y[i] / (double)n;
	}
	for (size_t i = 0; i < n; i++) {
		xx += (x[i] - x_mean) * (x[i] - x_mean);
		xy += (x[i] - x_mean) * (y[i] - y_mean);
		yy += (y[i] - y_mean) * (y[i] - y_mean);
	}
	if (n < 2 || xx <= 0)
		return (struct tl_client_fit){0};

	struct tl_client_fit fit = {.known = true, .slope = xy / xx, .slope_se = -1};
	fit.base = y_mean - fit.slope * x_mean;
	for (size_t i = 0; i < n; i++) {
		double off = y[i] - fit.base - fit.slope * x[i];
		rest += off * off;
	}
	fit.r2 = yy > 0 ? 1 - rest / yy : 1;
	if (n > 2)
		fit.slope_se = sqrt(rest / (double)(n - 2) / xx);
	return fit;
}
