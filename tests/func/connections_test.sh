#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The cost of a segment is independent of the number of connections, and that of a datagram of the number of groups.
# Instructions are counted, so that a busy host does not matter. tests/bench/connections.sh covers a million
# connections, which take too long here.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"
source "$func_root/tests/lib/counts.sh"

# costs SENTENCE PREFIX CONDITION: check the list of scenarios with this prefix.
costs() {
	check_json "$1" result.json "[.scenarios[] | select(.name | startswith(\"$2\")) | .instructions_per_pkt] |
		length == 3 and min > 50 and ($3)"
}

if ! command -v valgrind >/dev/null; then
	skip "instructions per segment" "valgrind is not installed"
	exit
fi
func_begin
TL_BUILD=$(dirname "$(dirname "$TAPLINE")") "$func_root/tests/bench/connections.sh" --most 100000 --plot plot.svg \
	>result.json 2>bench.log || true
check_counts connections result.json "$(dirname "$(dirname "$TAPLINE")")/tests/bench/bench_connections"
costs "a segment costs at most 6 % more instructions with a thousand or a hundred thousand connections than with one" \
	connections- 'max < min * 1.06'
costs "a datagram costs the same with one group, a hundred and ten thousand" groups- 'max < min * 1.05'
check_json "each payload byte costs less than 1.5 instructions" result.json \
	'[.scenarios[] | select(.name | startswith("payload-"))] | length == 7 and
		(last.instructions_per_pkt - first.instructions_per_pkt) / 1459 < 1.5'
check_json "message and ACK have separate and combined figures" result.json '
	def of($list; $name): [$list[] | select(.name == $name)] | first;
	. as {$figures, $scenarios} | of($figures; "pure-ack-instructions").value as $ack |
	of($figures; "tcp-echo-instructions").value as $echo | $ack > 50 and $echo > 2 * $ack and
		($echo / 2 / of($scenarios; "payload-16").instructions_per_pkt | . > 0.95 and . < 1.05)'
check_json "an echo of 16 bytes and its ACK take at most 1300 instructions, the ACK 420" result.json \
	'[.figures[].value] | .[0] <= 1300 and .[1] <= 420'
check_json "an echo and its ACK over IPv6 take at most 100 instructions more than over IPv4" result.json \
	'[.figures[].value] | .[2] - .[0] > 0 and .[2] - .[0] <= 100 and .[3] - .[1] <= 50'
