// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// manifest: how a report came about: version, call, host, and what went into it. Every report of a measurement has one:
// as "manifest" in its JSON and its page, as a few lines below its text, and in FILE.manifest.json beside what has no
// place for it. docs/latency-reports.md describes it, docs/report.schema.json says it exactly.
//
// Threads: main. Memory: the manifest is a JSON object, the caller's. A call that gets no memory leaves its part out:
// tl_json_check() tells before anything is shown.

#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include <tl_latency.h>

// What the reports are, as docs/report.schema.json calls them; beside TL_LATENCY_SCHEMA.
#define TL_SCHEMA_COMPARISON "tapline:comparison:1"
#define TL_SCHEMA_CLIENT "tapline:client:1"
#define TL_SCHEMA_CLIENT_SWEEP "tapline:client-sweep:1"
#define TL_SCHEMA_BENCH_OVERHEAD "tapline:bench-overhead:1"
#define TL_SCHEMA_REPLAY "tapline:replay:1"
#define TL_SCHEMA_MANIFEST "tapline:manifest:1"

// The version, the process's arguments and the host's facts. root: "" is the running host. Returns NULL without memory.
json_t *tl_manifest_create(const char *root);

// Adds a file that was read, by its SHA-256; null where that cannot be had: the file has gone, or is a pipe. Reads it
// whole.
void tl_manifest_add_input(json_t *manifest, const char *path);

// What random numbers of the run came from. name: "client".
void tl_manifest_add_seed(json_t *manifest, const char *name, uint64_t seed);

// How triggers and replies were matched; match is taken over.
void tl_manifest_set_match(json_t *manifest, json_t *match);

// The stamps' sources of a report.
void tl_manifest_set_clocks(json_t *manifest, const struct tl_latency *report);

// Puts "schema" and "manifest" into a report's object.
void tl_manifest_put(const json_t *manifest, const char *schema, json_t *report);

// The short form, below a report's text. Returns 0 or -EIO.
int tl_manifest_print(const json_t *manifest, FILE *out);

// Writes PATH.manifest.json, mode 0640, with the SHA-256 of PATH, for each CSV and percentile file among files that is
// a regular file. Returns 0, or -errno and the sentence.
int tl_manifest_save_beside(const json_t *manifest, const struct tl_latency_files *files, struct tl_err *err);
