// SPDX-License-Identifier: BSD-3-Clause
// Quantiles of a delay. As in tc-netem(8), jitter is half the width of a uniform distribution and the standard
// deviation of the others.

#include "delay.h"

#include <math.h>

#define STEPS 60 // of a bisection: below the resolution of a double

// Quantile of the standard normal distribution, by bisection of its distribution function.
static double delay_normal(double u)
{
	double low = -8, high = 8;

	for (int i = 0; i < STEPS; i++) {
		double middle = (low + high) / 2;
		if (erfc(-middle / M_SQRT2) / 2 < u)
			low = middle;
		else
			high = middle;
	}
	return low;
}

// The same of the Pareto distribution with minimum 1 and shape 3.
static double delay_pareto(double u)
{
	return pow(1 - u, -1.0 / 3);
}

// Scale quantiles, between which the distribution is linear, to mean 0 and variance 1: their tails are cut.
static void delay_normalize(double quantile[DELAY_POINTS + 1])
{
	double sum = 0, squares = 0;

	for (int i = 0; i < DELAY_POINTS; i++) {
		double from = quantile[i], to = quantile[i + 1];
		sum += (from + to) / 2;
		squares += (from * from + from * to + to * to) / 3;
	}
	double mean = sum / DELAY_POINTS, deviation = sqrt(squares / DELAY_POINTS - mean * mean);
	for (int i = 0; i <= DELAY_POINTS; i++)
		quantile[i] = (quantile[i] - mean) / deviation;
}

void tl_delay_fill(uint64_t after_ns[DELAY_POINTS + 1], const struct tl_echo_cfg *cfg)
{
	double quantile[DELAY_POINTS + 1];

	for (int i = 0; i <= DELAY_POINTS; i++) {
		double inside = (i + 0.5) / (DELAY_POINTS + 1);
		quantile[i] = cfg->jitter == TL_JITTER_NORMAL	? delay_normal(inside)
			      : cfg->jitter == TL_JITTER_PARETO ? delay_pareto(inside)
								: 2.0 * i / DELAY_POINTS - 1;
	}
	if (cfg->jitter != TL_JITTER_UNIFORM)
		delay_normalize(quantile);
	for (int i = 0; i <= DELAY_POINTS; i++) {
		double ns = (double)cfg->delay_ns + (double)cfg->jitter_ns * quantile[i];
		after_ns[i] = ns > 0 ? (uint64_t)(ns + 0.5) : 0;
	}
}
