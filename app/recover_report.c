// SPDX-License-Identifier: BSD-3-Clause
// Print the outcome of each file of `tapline recover`, as text or as JSON.

#include "recover_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <tl_json.h>
#include <tl_text.h>
#include <tl_units.h>

#define RANGES_SHOWN 16

static const char *const words[TL_OUTCOMES] = {
	[TL_OUTCOME_WHOLE] = "whole",
	[TL_OUTCOME_RECOVERED] = "recovered",
	[TL_OUTCOME_REMOVED] = "removed",
	[TL_OUTCOME_BUSY] = "busy",
	[TL_OUTCOME_FOREIGN] = "foreign",
	[TL_OUTCOME_FAILED] = "failed",
};

// ---- text

static void print_missing(const struct tl_recover_ring *ring)
{
	uint64_t missing = tl_recover_missing(ring);

	printf("    queue %" PRIu32 ": slabs %" PRIu64 "-%" PRIu64, ring->ring, ring->kept[0].first,
		ring->kept[ring->n - 1].last);
	printf(missing == 0 ? ", none missing" : ", MISSING %" PRIu64 ":", missing);
	for (uint32_t i = 1; i < ring->n && i <= RANGES_SHOWN; i++) {
		uint64_t first = ring->kept[i - 1].last + 1, last = ring->kept[i].first - 1;
		printf(" %" PRIu64, first);
		if (last > first)
			printf("-%" PRIu64, last);
	}
	printf(ring->n > RANGES_SHOWN + 1 ? " ...\n" : "\n");
}

static void print_damage(const struct tl_recover_report *report)
{
	char covered[32], cut[32];

	if (report->slabs_torn != 0 || report->padded_bytes != 0 || report->cut_bytes != 0)
		printf("    %" PRIu64 " torn slabs; %s covered, %s cut off\n", report->slabs_torn,
			tl_format_bytes(report->padded_bytes, covered, sizeof(covered)),
			tl_format_bytes(report->cut_bytes, cut, sizeof(cut)));
	if (report->doubtful_records != 0)
		printf("    %" PRIu64 " record at byte %" PRIu64
		       " may be torn, and is cut off: it ends in zeros, and nothing follows\n",
			report->doubtful_records, report->doubtful_at);
	if (report->rebuilt_section || report->rebuilt_interfaces != 0)
		printf("    %s%" PRIu32 " interface descriptions were lost and rebuilt: Ethernet, nanoseconds\n",
			report->rebuilt_section ? "the section header and " : "", report->rebuilt_interfaces);
}

void tl_recovered_print(const struct tl_recovered *file)
{
	const struct tl_recover_report *report = file->report;

	if (report == NULL) {
		printf("%s: %s\n", TL_PRINTABLE(file->path), TL_PRINTABLE(file->why));
		return;
	}
	if (file->outcome == TL_OUTCOME_REMOVED) {
		printf("%s: nothing was recorded in it: %s\n", TL_PRINTABLE(file->path),
			file->dry_run ? "to be removed" : "removed");
		return;
	}
	printf("%s: %s", TL_PRINTABLE(file->path),
		file->outcome == TL_OUTCOME_WHOLE ? "whole"
		: file->dry_run			  ? "to be recovered"
						  : "recovered");
	printf(file->name != NULL ? ", now %s\n" : "\n", TL_PRINTABLE(file->name));
	printf("    %" PRIu64 " records in %" PRIu64 " slabs kept\n", report->records_kept, report->slabs_kept);
	print_damage(report);
	for (uint32_t i = 0; i < report->n_rings; i++)
		print_missing(&report->rings[i]);
}

// ---- JSON

static json_t *ring_json(const struct tl_recover_ring *ring)
{
	char run[24];
	json_t *missing = json_array();

	snprintf(run, sizeof(run), "%016" PRIx64, ring->run_id);
	for (uint32_t i = 1; i < ring->n; i++)
		json_array_append_new(missing, json_pack("[I,I]", (json_int_t)ring->kept[i - 1].last + 1,
						       (json_int_t)ring->kept[i].first - 1));
	return json_pack("{s:s, s:I, s:I, s:I, s:I, s:o}", "run", run, "ring", (json_int_t)ring->ring, "first",
		(json_int_t)ring->kept[0].first, "last", (json_int_t)ring->kept[ring->n - 1].last, "missing_slabs",
		(json_int_t)tl_recover_missing(ring), "missing", missing);
}

static void add_report(json_t *row, const struct tl_recover_report *report)
{
	const struct tl_counter numbers[] = {{"size_bytes", report->size_bytes}, {"slabs_kept", report->slabs_kept},
		{"records_kept", report->records_kept}, {"doubtful_records", report->doubtful_records},
		{"doubtful_at", report->doubtful_at}, {"slabs_torn", report->slabs_torn},
		{"covered_bytes", report->padded_bytes}, {"cut_bytes", report->cut_bytes},
		{"interfaces", report->interfaces}, {"rebuilt_interfaces", report->rebuilt_interfaces},
		{"statistics_added", report->statistics}};

	tl_json_put_counters(row, numbers, TL_ARRAY_LEN(numbers));
	json_object_set_new(row, "rebuilt_section", json_boolean(report->rebuilt_section));
	json_t *rings = json_array();
	for (uint32_t i = 0; i < report->n_rings; i++)
		json_array_append_new(rings, ring_json(&report->rings[i]));
	json_object_set_new(row, "rings", rings);
}

json_t *tl_recovered_json(const struct tl_recovered *file)
{
	json_t *row = json_pack("{s:s%, s:s}", "path", file->path, strlen(file->path), "outcome", words[file->outcome]);

	if (row == NULL) // name that is not UTF-8
		row = json_pack("{s:n, s:s}", "path", "outcome", words[file->outcome]);
	if (file->name != NULL)
		json_object_set_new(row, "name", json_string(file->name));
	if (file->why != NULL)
		json_object_set_new(row, "why", json_string(file->why));
	if (file->report != NULL)
		add_report(row, file->report);
	return row;
}

json_t *tl_recovered_summary(json_t *files, const unsigned counts[TL_OUTCOMES])
{
	json_t *summary = json_pack("{s:o}", "files", files);

	for (int i = 0; i < TL_OUTCOMES; i++)
		json_object_set_new(summary, words[i], json_integer(counts[i]));
	return summary;
}
