// SPDX-License-Identifier: BSD-3-Clause
// Line through points by least squares, and through the payloads of a sweep.

#include <tl_latency.h>

#include <math.h>

struct tl_latency_fit tl_latency_fit(const double *x, const double *y, size_t n)
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
		return (struct tl_latency_fit){0};

	struct tl_latency_fit fit = {.known = true, .slope = xy / xx, .slope_se = -1};
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

struct tl_latency_fit tl_latency_payload_fit(const struct tl_latency_point *points, size_t n)
{
	double x[TL_LATENCY_POINTS], y[TL_LATENCY_POINTS];
	size_t fitted = 0;

	for (size_t i = 0; i < n; i++) {
		const struct tl_latency_point *point = &points[i];
		if (point->axis != TL_LATENCY_PAYLOAD_BYTES || point->latency.count == 0)
			continue;
		x[fitted] = (double)point->at;
		y[fitted++] = (double)point->latency.p50_ns;
	}
	return tl_latency_fit(x, y, fitted);
}
