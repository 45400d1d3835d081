#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# That the way of a message from multicast to TCP stays short: counted in instructions, so that a busy machine does not matter.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

if ! command -v valgrind >/dev/null; then
	skip "instructions per message" "valgrind is not installed"
	exit
fi
func_begin
TL_BUILD=$(dirname "$(dirname "$TAPLINE")") "$func_root/tests/bench/echo_path.sh" >result.json 2>bench.log || true
check_json "16 bytes from multicast to TCP take at most 400 instructions more than a null echo, while all is recorded" result.json \
	'.above_null.instructions > 50 and .above_null.instructions <= 400'
check_json "and the nanoseconds of both are told" result.json '[.scenarios[].ns] | length == 2 and min > 0'
