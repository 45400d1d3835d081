// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// manifest: the origin of a report: version, call, host and inputs. Every report of a measurement has one: as
// "manifest" in its JSON and its page, as a few lines below its text, and in FILE.manifest.json beside files that
// cannot contain it. docs/latency-reports.md describes it, docs/report.schema.json specifies it.
//
// Threads: main. Memory: the manifest is a JSON object, the caller's. A call that runs out of memory leaves its part
// out: tl_json_check() detects that before the report is shown.

#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include <tl_latency.h>

// Schema names of the reports in docs/report.schema.json, beside TL_LATENCY_SCHEMA.
#define TL_SCHEMA_COMPARISON "tapline:comparison:1"
#define TL_SCHEMA_CLIENT "tapline:client:2"
#define TL_SCHEMA_CLIENT_SWEEP "tapline:client-sweep:2"
#define TL_SCHEMA_BENCH_OVERHEAD "tapline:bench-overhead:1"
#define TL_SCHEMA_BENCH_RX "tapline:bench-rx:1"
#define TL_SCHEMA_BENCH_ECHO "tapline:bench-echo:1"
#define TL_SCHEMA_BENCH_QUALIFY "tapline:bench-qualify:1"
#define TL_SCHEMA_REPLAY "tapline:replay:1"
#define TL_SCHEMA_REPLAY_SESSIONS "tapline:replay-sessions:1"
#define TL_SCHEMA_METER "tapline:meter:1"
#define TL_SCHEMA_PPS "tapline:pps:1"
#define TL_SCHEMA_MANIFEST "tapline:manifest:1"

// Create a manifest with version, process arguments and host facts. root: "" is the running host. Return NULL if out of
// memory.
json_t *tl_manifest_create(const char *root);

// Add an input file with its SHA-256; null if it is not available: the file is gone, or a pipe. Read the whole file.
void tl_manifest_add_input(json_t *manifest, const char *path);

// Add the seed of the run's random numbers. name: "client".
void tl_manifest_add_seed(json_t *manifest, const char *name, uint64_t seed);

// Set the matching of triggers and replies; match is taken over.
void tl_manifest_set_match(json_t *manifest, json_t *match);

// Set the stamp sources of a report.
void tl_manifest_set_clocks(json_t *manifest, const struct tl_latency *report);

// Put "schema" and "manifest" into a report's object.
void tl_manifest_put(const json_t *manifest, const char *schema, json_t *report);

// Print the short form, below a report's text. Return 0 or -EIO.
int tl_manifest_print(const json_t *manifest, FILE *out);

// Write PATH.manifest.json, mode 0640, with the SHA-256 of PATH, for each CSV and percentile file among files that is a
// regular file. Return 0, or -errno with a message in *err.
int tl_manifest_save_beside(const json_t *manifest, const struct tl_latency_files *files, struct tl_err *err);
