#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Measure the cost of a segment or a datagram on the RX lcore, in instructions (callgrind) and in nanoseconds, by number
# of connections, number of multicast groups and length of the payload.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
bench=${TL_BUILD:-$root/build}/tests/bench/bench_connections
source "$root/tests/bench/lib/callgrind.sh"

usage() {
	cat <<-END
		usage: tests/bench/connections.sh [--most N] [--plot FILE]
		Prints one JSON object. Scenarios: connections-N: messages of 16 bytes to N connections in turn, each echoed and
		the echo acknowledged; payload-N: of N bytes, to one; message-N and ack-N: only the messages of the same, and only
		the ACKs; groups-N: multicast datagrams to N groups in turn; NAME6-N: over IPv6. figures: a message of 16 bytes with its
		ACK, and the ACK, in each family.
		--most N     of connections; 1000000 if left out, which takes some minutes
		--plot FILE  draws cost against number into FILE, as SVG
		Instructions are exact; nanoseconds are those of one short run. start_ms: time to create the stack; memory_mib: DPDK's
		memory in use.
	END
}

most=1000000
plot=
read_options --most= --plot= -- "$@"
[[ $most =~ ^[0-9]+$ ]] || die "--most needs a number"
result=$(scenarios "$bench" take "$most" | jq '
	def of($name): .scenarios[] | select(.name == $name) | .instructions_per_pkt;
	def echo($message; $ack): of($message) + of($ack) | . * 10 | round / 10;
	. + {figures: [{name: "tcp-echo-instructions", value: echo("message-16"; "ack-16"), unit: "instructions"},
		{name: "pure-ack-instructions", value: of("ack-16"), unit: "instructions"},
		{name: "tcp-echo-ipv6-instructions", value: echo("message6-16"; "ack6-16"), unit: "instructions"},
		{name: "pure-ack-ipv6-instructions", value: of("ack6-16"), unit: "instructions"}]}')
[[ -z $plot ]] || python3 "$root/tests/bench/plot.py" "$plot" <<<"$result"
echo "$result"
