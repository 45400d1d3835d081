// SPDX-License-Identifier: BSD-3-Clause
// Triggers without a reply: the largest share in a valid result.

#include <tl_latency.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <tl_units.h>

int tl_latency_parse_share(const char *text, double *out)
{
	char *end;
	double value = strtod(text, &end);

	if (text[0] < '0' || text[0] > '9')
		return -EINVAL;
	if (strcmp(end, "%") == 0)
		value /= 100;
	else if (*end != '\0')
		return -EINVAL;
	if (!(value >= 0 && value <= 1))
		return -EINVAL;
	*out = value;
	return 0;
}

bool tl_latency_is_loss(uint64_t unanswered, uint64_t triggers, double max_loss)
{
	return max_loss >= 0 && (double)unanswered > max_loss * (double)triggers * (1 + 1e-12);
}

void tl_latency_check_loss(struct tl_latency *report, double max_loss)
{
	uint64_t triggers = report->matched + report->unmatched_triggers;
	char window[32];

	report->max_loss = max_loss;
	if (!tl_latency_is_loss(report->unmatched_triggers, triggers, max_loss))
		return;
	tl_format_ns(report->window_ns, window, sizeof(window));
	tl_latency_add_invalid(&report->invalid,
		"%" PRIu64 " of %" PRIu64
		" triggers have no reply%s%s: more than %.6g %%, so quantiles without them are "
		"of survivors only",
		report->unmatched_triggers, triggers, report->window_ns != 0 ? " within " : "",
		report->window_ns != 0 ? window : "", max_loss * 100);
}
