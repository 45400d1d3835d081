// SPDX-License-Identifier: BSD-3-Clause
// The page of `bench rx`: a bar per rung and size, without scripts or anything from elsewhere.

#include "rx_show.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tl_json.h>

static const char head[] =
	"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>tapline bench rx</title><style>\n"
	"body{font:15px sans-serif;max-width:62em;margin:2em auto;padding:0 1em;color:#222;background:#fff}\n"
	"table{border-collapse:collapse;width:100%}td{padding:.15em .5em;vertical-align:middle}\n"
	"td.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}\n"
	"td.b{width:45%}div{background:#37b;height:1em;min-width:1px}tr.noisy div{background:#c93}\n"
	"tr.why td{color:#666;font-size:13px;padding-bottom:.8em}\n"
	"@media (prefers-color-scheme:dark){body{background:#181818;color:#ddd}tr.why td{color:#999}}\n"
	"</style></head><body>\n<h1>What each way of receiving costs on this host</h1>\n";

static void escape(const char *text, FILE *out)
{
	for (; *text != '\0'; text++)
		switch (*text) {
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '&':
			fputs("&amp;", out);
			break;
		default:
			fputc(*text, out);
		}
}

static double largest(const struct tl_bench_rx_result *result)
{
	double most = 1;

	for (unsigned i = 0; i < result->n_rows; i++)
		if (result->rows[i].refused[0] == '\0' && result->rows[i].cpu_ns > most)
			most = result->rows[i].cpu_ns;
	return most;
}

static void write_row(const struct tl_bench_rx_row *row, double most, FILE *out)
{
	fprintf(out, "<tr%s><td>%s</td><td class=\"n\">", row->noisy ? " class=\"noisy\"" : "", row->rung->name);
	if (row->size_bytes != 0)
		fprintf(out, "%u B", row->size_bytes);
	fputs("</td>", out);
	if (row->refused[0] != '\0') {
		fputs("<td colspan=\"3\">refused: ", out);
		escape(row->refused, out);
		fputs("</td></tr>\n", out);
		return;
	}
	double cost = row->cpu_ns < 0 ? 0 : row->cpu_ns;
	double pps = row->loss_free_pps < 0 ? row->received_pps : row->loss_free_pps;
	fprintf(out, "<td class=\"b\"><div style=\"width:%.1f%%\"></div></td><td class=\"n\">%.0f ns</td>",
		100 * cost / most, cost);
	fprintf(out, "<td class=\"n\">%.3f Mpps%s</td></tr>\n", pps / 1e6, row->sender_bound ? "+" : "");
}

static void write_table(const struct tl_bench_rx_result *result, FILE *out)
{
	double most = largest(result);

	fputs("<table>\n", out);
	for (unsigned i = 0; i < result->n_rows; i++) {
		const struct tl_bench_rx_row *row = &result->rows[i];
		write_row(row, most, out);
		if (i + 1 == result->n_rows || row[1].rung != row->rung)
			fprintf(out, "<tr class=\"why\"><td></td><td colspan=\"4\">%s</td></tr>\n", row->rung->why);
	}
	fputs("</table>\n", out);
}

// The report for programs; "<" within it would end the element.
static int write_report(const json_t *report, FILE *out)
{
	char *text = tl_json_text(report, JSON_COMPACT);

	if (text == NULL)
		return -ENOMEM;
	fputs("<script id=\"report\" type=\"application/json\">", out);
	for (const char *at = text; *at != '\0'; at++)
		if (*at == '<')
			fputs("\\u003c", out);
		else
			fputc(*at, out);
	fputs("</script>\n</body></html>\n", out);
	free(text);
	return 0;
}

static int write_page(const struct tl_bench_rx_result *result, const json_t *report, FILE *out)
{
	fputs(head, out);
	fprintf(out,
		"<p>Bars: CPU time of the receiving threads per frame; orange where three runs differ by more than 10 %%. "
		"Beside them the %s; + is the sender's limit. %s, %u CPUs, runs of %g s%s.</p>\n",
		result->own_traffic ? "highest rate without loss" : "rate received",
		result->own_traffic ? "A private veth pair" : result->ifname, result->cpus, result->seconds,
		result->interrupted ? "; interrupted" : "");
	write_table(result, out);
	return write_report(report, out);
}

int tl_bench_rx_html(
	const struct tl_bench_rx_result *result, const json_t *report, const char *path, struct tl_err *err)
{
	FILE *out = fopen(path, "we");

	if (out == NULL)
		return tl_fail(err, -errno, "%.300s: cannot write: %s", path, strerror(errno));
	int rc = write_page(result, report, out);
	bool failed = ferror(out) != 0;
	if (fclose(out) != 0 || failed)
		return tl_fail(err, -EIO, "%.300s: cannot write all of it: %s", path, strerror(errno));
	return rc == 0 ? 0 : tl_fail(err, rc, "not enough memory");
}
