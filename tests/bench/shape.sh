#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Measure the cost of a frame from the send queue through its class, in instructions (callgrind), by number of expressions; and in
# nanoseconds from a run without callgrind.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
source "$root/tests/bench/lib/callgrind.sh"

usage() {
	cat <<-END
		usage: tests/bench/shape.sh [--json]
		Prints one JSON object. A frame is classified, enqueued and dequeued. Scenarios: hosts-N: N classes with a destination
		address each, looked up in a table; any-N: N classes with another expression each, tried one by one. The classes
		of the frames are spread evenly. Instructions are exact; nanoseconds are those of one short run.
	END
}

read_options --json -- "$@"
scenarios "${TL_BUILD:-$root/build}/tests/bench/bench_shape" bench_frames
