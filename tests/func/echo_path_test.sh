#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The path of a message from multicast to TCP stays short, with stamps and without. Instructions are counted, so that a
# busy host does not matter.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"
source "$func_root/tests/lib/counts.sh"

if ! command -v valgrind >/dev/null; then
	skip "instructions per message" "valgrind is not installed"
	exit
fi
func_begin
TL_BUILD=$(dirname "$(dirname "$TAPLINE")") "$func_root/tests/bench/echo_path.sh" >result.json 2>bench.log || true
check_json "16 bytes from multicast to TCP take at most 400 instructions more than a null echo, while recording" result.json \
	'.above_null.instructions > 50 and .above_null.instructions <= 400'
check_json "the nanoseconds are reported" result.json '[.scenarios[].ns] | length == 10 and min > 0'
check_json "stage stamps take at most 40 instructions on this path" result.json \
	'.stages.instructions > 3 and .stages.instructions <= 40'
check_json "a VLAN and IPv6 instead of IPv4 take at most 60 instructions each" result.json \
	'[.figures[] | select(.name == "echo-vlan-instructions" or .name == "echo-ipv6-instructions") | .value] |
		length == 2 and max <= 60'
check_json "a stamp costs little more than rdtsc" result.json \
	'.stages | .rdtsc_ns > 0 and 2 * .stamp_cost_ns <= 2.4 * .rdtsc_ns + 5'
check_json "a message costs the same with 16 echoes, 100 and a thousand, at most 5 % more than with one" result.json \
	'[.scenarios[] | select(.name | startswith("echoes-")) | .instructions] | length == 4 and .[0] > 500 and
		(.[1:] | max < min * 1.02) and max < .[0] * 1.05'
check_counts path result.json "$(dirname "$(dirname "$TAPLINE")")/tests/bench/bench_echo_path"
