// SPDX-License-Identifier: BSD-3-Clause
// Student's t distribution.

#include <tl_latency.h>

#include <math.h>

#define STEPS 400
#define T_MAX 12 // with many degrees of freedom the density beyond is zero

static double cos_power(double x, double power)
{
	return pow(fmax(cos(x), 0), power); // rounding may put x beyond pi / 2
}

// Integrate the density: with t = sqrt(df) tan x it is proportional to cos(x)^(df - 1); Simpson's rule.
double tl_latency_student(double miss, double df)
{
	int sign;
	double scale = sqrt(M_PI) * exp(lgamma_r(df / 2, &sign) - lgamma_r((df + 1) / 2, &sign));
	double step = fmin(M_PI_2, T_MAX / sqrt(df)) / STEPS, wanted = (1 - miss) / 2 * scale, area = 0;

	for (size_t i = 0; i < STEPS; i++) {
		double x = (double)i * step;
		double part =
			step / 6 *
			(cos_power(x, df - 1) + 4 * cos_power(x + step / 2, df - 1) + cos_power(x + step, df - 1));
		if (area + part >= wanted)
			return sqrt(df) * tan(x + step * (wanted - area) / part);
		area += part;
	}
	return T_MAX;
}
