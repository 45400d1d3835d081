#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Measure the cost of recording a frame of 60 bytes on the RX lcore, in instructions (callgrind), by number of flows, of
# recordings and of files, and by age of the recording; and in nanoseconds from a run without callgrind.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
bench=${TL_BUILD:-$root/build}/tests/bench/bench_record
source "$root/tests/bench/lib/callgrind.sh"

usage() {
	cat <<-END
		usage: tests/bench/instructions.sh [--json] [--most N]
		Prints one JSON object. Scenarios: plain-flows-N: no cut-off; cutoff-flows-N: one that cuts nothing;
		inner-flows-N: one of the flows in tunnels, none of which there are; rss-inner-N: no cut-off, and the lcore of a tunnel's
		flow is looked up;
		filter-flows-N: with a filter that rejects nothing; police-class-N and police-flow-N: with a class of the same expression, one meter
		or one per flow; cutoff-table-full: where each frame forgets a flow to begin another; recordings-N: a frame in one of N recordings of
		all frames; files-N: the N-th file; ring-N: a full ring of N files, with the CPU time of the recording's threads per
		new file (file_us); age-*: of a long recording. start_ms: time to begin the recordings; memory_mib: DPDK's memory in use.
		--most N     of flows; the ring has at most N / 100 files. 10000000 if left out, which takes some minutes
		Instructions are exact; nanoseconds are those of one short run.
	END
}

most=10000000
read_options --json --most= -- "$@"
[[ $most =~ ^[0-9]+$ ]] || die "--most needs a number"
scenarios "$bench" record_burst "$most"
