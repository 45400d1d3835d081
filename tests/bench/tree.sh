#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Measure the cost of a frame in a class tree of 4 levels, in instructions (callgrind), and its growth with the number
# of classes; and in nanoseconds from a run without callgrind.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
source "$root/tests/bench/lib/callgrind.sh"

usage() {
	cat <<-END
		usage: tests/bench/tree.sh [--json]
		Prints one JSON object. A frame arrives and one leaves: enqueue and dequeue together. Scenarios, each with 10
		classes and with 10,000: tree-borrow: leaves without a rate, which always have frames; -single: one frame per call,
		else up to 32; tree-rates: half of the root's rate is guaranteed, so that each leaf comes and goes beyond its rate;
		tree-light: each leaf is empty after its frame; tree-alone: so is the tree; tree-flows: leaves with 64 queues. tree-change: a change of rates,
		tree-adopt: of the classes; both per class, not per frame.
		Instructions are exact; nanoseconds are those of one short run.
	END
}

read_options --json -- "$@"
scenarios "${TL_BUILD:-$root/build}/tests/bench/bench_tree" bench_frames
