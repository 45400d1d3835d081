// SPDX-License-Identifier: BSD-3-Clause
// Write tables of bars as HTML.

#include "bench_page.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tl_err.h>
#include <tl_json.h>

#include "manifest.h"

static const char style[] =
	"body{font:15px sans-serif;max-width:62em;margin:2em auto;padding:0 1em;color:#222;background:#fff}\n"
	"table{border-collapse:collapse;width:100%}td{padding:.15em .5em;vertical-align:middle}\n"
	"td.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}\n"
	"td.b{width:45%}div{background:#37b;height:1em;min-width:1px}tr.noisy div{background:#c93}\n"
	"tr.why td{color:#666;font-size:13px;padding-bottom:.8em}\n"
	"@media (prefers-color-scheme:dark){body{background:#181818;color:#ddd}tr.why td{color:#999}}\n";

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

static void write_bar(const struct tl_bench_bar *bar, double most, FILE *out)
{
	fprintf(out, "<tr%s><td>%s</td><td class=\"n\">%s</td>", bar->noisy ? " class=\"noisy\"" : "", bar->name,
		bar->what);
	if (bar->refused != NULL) {
		fputs("<td colspan=\"3\">refused: ", out);
		escape(bar->refused, out);
		fputs("</td></tr>\n", out);
	} else {
		fprintf(out, "<td class=\"b\"><div style=\"width:%.1f%%\"></div></td><td class=\"n\">%s</td>",
			100 * bar->value / most, bar->text);
		fprintf(out, "<td class=\"n\">%s</td></tr>\n", bar->beside);
	}
	if (bar->why != NULL)
		fprintf(out, "<tr class=\"why\"><td></td><td colspan=\"4\">%s</td></tr>\n", bar->why);
}

static void write_chart(const struct tl_bench_chart *chart, FILE *out)
{
	double most = 1;

	for (unsigned i = 0; i < chart->n; i++)
		if (chart->bars[i].refused == NULL && chart->bars[i].value > most)
			most = chart->bars[i].value;
	fputs("<p>", out);
	escape(chart->caption, out);
	fputs("</p>\n<table>\n", out);
	for (unsigned i = 0; i < chart->n; i++)
		write_bar(&chart->bars[i], most, out);
	fputs("</table>\n", out);
}

// Version, date, command and host of the report.
static int write_origin(const json_t *report, FILE *out)
{
	char *text = NULL;
	size_t bytes;
	FILE *lines = open_memstream(&text, &bytes);

	if (lines == NULL)
		return -ENOMEM;
	int rc = tl_manifest_print(json_object_get(report, "manifest"), lines);
	if (fclose(lines) == 0 && rc == 0) {
		fputs("<pre>", out);
		escape(text, out);
		fputs("</pre>\n", out);
	}
	free(text);
	return rc;
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

static int write_page(const struct tl_bench_page *page, const json_t *report, FILE *out)
{
	fprintf(out,
		"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>%s</title><style>\n%s"
		"</style></head><body>\n<h1>%s</h1>\n",
		page->title, style, page->heading);
	for (unsigned i = 0; i < page->n; i++)
		write_chart(&page->charts[i], out);
	int rc = write_origin(report, out);
	return rc == 0 ? write_report(report, out) : rc;
}

int tl_bench_page_save(const struct tl_bench_page *page, const json_t *report, const char *path, struct tl_err *err)
{
	FILE *out = fopen(path, "we");

	if (out == NULL)
		return tl_fail(err, -errno, "%.300s: cannot write: %s", path, strerror(errno));
	int rc = write_page(page, report, out);
	bool failed = ferror(out) != 0;
	if (fclose(out) != 0 || failed)
		return tl_fail(err, -EIO, "%.300s: cannot write all of it: %s", path, strerror(errno));
	return rc == 0 ? 0 : tl_fail(err, rc, "not enough memory");
}
