// SPDX-License-Identifier: BSD-3-Clause
// The page of `bench rx`: a bar per rung and size.

#include "rx_show.h"

#include <errno.h>
#include <stdlib.h>

#include "bench_page.h"

// The rate without loss, or of a rung that makes its frames itself, and with real traffic, that received.
static struct tl_bench_bar bar_of(const struct tl_bench_rx_row *row, bool own_traffic, bool last)
{
	bool received = row->loss_free_pps < 0;
	double pps = received ? row->received_pps : row->loss_free_pps;
	struct tl_bench_bar bar = {.name = row->rung->name,
		.value = row->cpu_ns < 0 ? 0 : row->cpu_ns,
		.refused = row->refused[0] != '\0' ? row->refused : NULL,
		.noisy = row->noisy,
		.why = last ? row->rung->why : NULL};

	if (row->size_bytes != 0)
		snprintf(bar.what, sizeof(bar.what), "%u B", row->size_bytes);
	snprintf(bar.text, sizeof(bar.text), "%.0f ns", bar.value);
	snprintf(bar.beside, sizeof(bar.beside), "%.3f Mpps%s", pps / 1e6,
		row->sender_bound	  ? "+"
		: received && own_traffic ? " received"
					  : "");
	return bar;
}

int tl_bench_rx_html(
	const struct tl_bench_rx_result *result, const json_t *report, const char *path, struct tl_err *err)
{
	struct tl_bench_chart chart = {.n = result->n_rows};
	const struct tl_bench_page page = {"tapline bench rx", "Cost of each receive method on this host", &chart, 1};

	chart.bars = calloc(chart.n + 1, sizeof(chart.bars[0]));
	if (chart.bars == NULL)
		return tl_fail(err, -ENOMEM, "not enough memory");
	snprintf(chart.caption, sizeof(chart.caption),
		"Bars: CPU time of the receiving threads per frame; orange where three runs differ by more than 10 %%. "
		"Beside them the %s; + is the sender's limit. %s%s%s, %u CPUs, runs of %g s%s.",
		result->own_traffic ? "highest rate without loss" : "rate received",
		result->pair ? "A private veth pair" : result->ifname,
		!result->pair && result->own_traffic ? ", frames sent by " : "",
		!result->pair && result->own_traffic ? result->sender : "", result->cpus, result->seconds,
		result->interrupted ? "; interrupted" : "");
	for (unsigned i = 0; i < chart.n; i++)
		chart.bars[i] = bar_of(&result->rows[i], result->own_traffic,
			i + 1 == chart.n || result->rows[i + 1].rung != result->rows[i].rung);
	int rc = tl_bench_page_save(&page, report, path, err);
	free(chart.bars);
	return rc;
}
