#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The cost of a frame for the RX lcore does not depend on the number of flows, recordings or files or the age of the recording.
# Instructions are counted, so that a busy host does not matter. tests/bench/instructions.sh covers ten million flows and a ring of a
# hundred thousand files, which take too long here.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"
source "$func_root/tests/lib/counts.sh"

# flat SENTENCE PREFIX N: check that the N scenarios of that name differ by less than 5 %.
flat() {
	check_json "$1" result.json "[.scenarios[] | select(.name | startswith(\"$2\")) | .instructions_per_pkt] |
		length == $3 and min > 50 and max < min * 1.05"
}

if ! command -v valgrind >/dev/null; then
	skip "instructions per frame" "valgrind is not installed"
	exit
fi
func_begin
TL_BUILD=$(dirname "$(dirname "$TAPLINE")") "$func_root/tests/bench/instructions.sh" --most 1000000 >result.json 2>bench.log || true
flat "a frame costs the same with one flow, a thousand and a million" plain-flows- 3
flat "a frame costs the same with one flow, a thousand and a million with a cut-off" cutoff-flows- 3
check_json "with tunnel parsing plain frames take at most 3 instructions more" result.json \
	'[.scenarios[] | select(.name == "inner-flows-1000", .name == "cutoff-flows-1000") | .instructions_per_pkt] |
		length == 2 and .[1] <= .[0] + 3'
check_json "and 75 at most where the lcore of a tunnel's flow is looked up" result.json \
	'[.scenarios[] | {(.name): .instructions_per_pkt}] | add | .["rss-inner-1000"] - .["plain-flows-1000"] | . > 0 and . <= 75'
check_json "a class costs 220 instructions at most beyond a filter, and as many more with a meter per flow" result.json \
	'[.scenarios[] | {(.name): .instructions_per_pkt}] | add | .["police-class-1000"] - .["filter-flows-1000"] <= 220 and
		.["police-flow-1000"] - .["police-class-1000"] <= 220'
check_json "a frame that starts a flow and evicts another takes at most a third more" result.json \
	'[.scenarios[] | select(.name | startswith("cutoff-")) | .instructions_per_pkt] | length == 4 and max < min * 1.34'
flat "a frame costs the same in the first file, the hundredth and the thousandth" files- 3
flat "a frame costs the same in each of 1, 8 and 64 recordings" recordings- 3
flat "a frame costs the same in a full ring of ten files and of a thousand" ring- 2
flat "a frame costs the same in the first and the last tenth of a long recording" age- 2
check_json "memory and time to start are reported: those of a flow table, and of buffers" result.json \
	'[.scenarios[] | {(.name): .memory_mib}] | add | ."cutoff-flows-1" - ."plain-flows-1" > 63 and
		."recordings-64" - ."recordings-1" > 63 * 8'
check_counts record result.json "$(dirname "$(dirname "$TAPLINE")")/tests/bench/bench_record"
