#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Measure the cost of recording a frame of 60 bytes on the RX lcore, in instructions (callgrind), by number of flows, number
# of files and age of the recording; and in nanoseconds from a run without callgrind.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
bench=${TL_BUILD:-$root/build}/tests/bench/bench_record
source "$root/tests/bench/lib/callgrind.sh"

usage() {
	cat <<-END
		usage: tests/bench/instructions.sh [--json]
		Prints one JSON object. Scenarios: plain-flows-N: no cut-off; cutoff-flows-N: one that cuts nothing;
		inner-flows-N: one of the flows in tunnels, none of which there are; rss-inner-N: no cut-off, and the lcore of a tunnel's
		flow is looked up;
		filter-flows-N: with a filter that rejects nothing; police-class-N and police-flow-N: with a class of the same expression, one meter
		or one per flow; cutoff-table-full: where each frame forgets a flow to begin another; files-N: the N-th file; age-*: of a long
		recording. Instructions are exact; nanoseconds are those of one short run.
	END
}

read_options --json -- "$@"
scenarios "$bench" record_burst
