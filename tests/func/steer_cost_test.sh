#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The cost of frames on several lcores is that of the model in docs/benchmarks.md. Instructions are counted, so that a busy host
# does not matter.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

if ! command -v valgrind >/dev/null; then
	skip "instructions per handed-over frame" "valgrind is not installed"
	exit
fi
func_begin
"$func_root/tests/bench/steer.sh" >result.json 2>bench.log || true
check_json "a hand-off costs instructions" result.json '.figures[0].value > 10'
check_json "the model of 2 and 4 lcores predicts the cost of 8 and 16 within 5 %" result.json '
	(.model.predictions | length == 2) and all(.model.predictions[]; .counted / .predicted | . > 0.95 and . < 1.05)'
check_json "a local frame costs at most 2 instructions more per further lcore" result.json '
	[.scenarios[] | select(.name | startswith("own-")) | .instructions_per_pkt] | length == 4 and .[3] - .[0] < 2 * 14'
