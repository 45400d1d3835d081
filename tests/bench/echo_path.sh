#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Measure the cost of a 16-byte message on the RX lcore, from the return of rx_burst to the call of tx_burst, with a recording
# of all frames: in instructions (callgrind), and in nanoseconds from a run without callgrind.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
bench=${TL_BUILD:-$root/build}/tests/bench/bench_echo_path
source "$root/tools/lib/options.sh"
messages=16 # counted by callgrind, after the warm-up

usage() {
	cat <<-END
		usage: tests/bench/echo_path.sh [--json | --cold]
		Prints one JSON object. Scenarios: null-echo: swap addresses and send back; mcast-to-tcp: UDP multicast in, TCP out;
		mcast-to-tcp-stages: the same with "stages"; mcast-to-tcp-vlan: the same on a port with a VLAN; mcast6-to-tcp: from an
		IPv6 group to TCP over IPv4; mcast6-to-tcp6: both over IPv6; echoes-N: mcast-to-tcp without a recording, to N echoes in
		turn, with their bookkeeping after the send call, the time to create them (start_ms) and DPDK's memory (memory_mib).
		Instructions are the median over $messages messages, nanoseconds over 10000 (64 of echoes-N). above_null is the difference of the first two, stages that of the second and third and
		their ratio, with what one stamp costs, and a bare rdtsc.
		--cold: nanoseconds alone, over 500 messages, before each of which the caches are emptied and some ticks pass; without and
		with sends for practice between messages (echo[].warm).
	END
}

die() {
	echo "echo_path.sh: $*" >&2
	exit 1
}

# counted SCENARIOS: print the median of each one's last messages. callgrind writes a file for each message.
counted() {
	local part
	for ((part = 1; ; part++)); do
		[[ -e $dir/out.$part-01 ]] || break
		sed -n 's/^totals: //p' "$dir/out.$part-01"
	done >"$dir/windows"
	local each=$(($(wc -l <"$dir/windows") / $1)) last
	for ((last = each; last <= each * $1; last += each)); do
		sed -n "$((last - messages + 1)),${last}p" "$dir/windows" | sort -n | sed -n "$((messages / 2))p"
	done
}

measure_cold() {
	"$bench" 500 cold | jq -nR '[inputs | split(" ") | {name: .[0], messages: .[1] | tonumber, ns: .[2] | tonumber}] |
		{payload_bytes: 16, scenarios: ., ratio: (.[1].ns * 100 / .[0].ns | round / 100)}'
}

cold=false
read_options --json --cold -- "$@"
[[ -x $bench ]] || die "there is no $bench; build first"
if $cold; then
	measure_cold
	exit
fi
command -v valgrind >/dev/null || die "valgrind is not installed (apt-get install valgrind)"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$bench" >"$dir/native" 2>"$dir/err" || die "the run without callgrind failed: $(<"$dir/err")"
read -r _ rdtsc_ns stamp_ns < <(grep '^stamp ' "$dir/err") || die "the run without callgrind printed no cost of a stamp: $(<"$dir/err")"
# Older valgrinds cannot read clang's debug information; names suffice.
strip --strip-debug -o "$dir/bench_echo_path" "$bench"
valgrind --tool=callgrind --separate-threads=yes --callgrind-out-file="$dir/out" --instr-atstart=no \
	"$dir/bench_echo_path" "$messages" >"$dir/names" 2>"$dir/err" || die "callgrind failed: $(<"$dir/err")"
counted "$(wc -l <"$dir/native")" >"$dir/instructions"
(($(wc -l <"$dir/instructions") == $(wc -l <"$dir/native"))) || die "callgrind counted other scenarios than there are"
paste -d' ' "$dir/native" "$dir/instructions" |
	jq -nR --arg cpu "$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)" --arg kernel "$(uname -r)" --argjson cpus "$(nproc)" \
		--argjson rdtsc_ns "$rdtsc_ns" --argjson stamp_cost_ns "$stamp_ns" '
		[inputs | split(" ") | {name: .[0], instructions: .[-1] | tonumber, ns: .[2] | tonumber} +
			(.[3:-1] | map(split("=") | {(.[0]): (.[1] | tonumber)}) | add // {})] |
		{host: {$cpu, $cpus, $kernel}, payload_bytes: 16, scenarios: .,
		 figures: [{name: "echo-above-null-instructions", value: (.[1].instructions - .[0].instructions), unit: "instructions"},
			{name: "echo-vlan-instructions", value: (.[3].instructions - .[1].instructions), unit: "instructions"},
			{name: "echo-ipv6-instructions", value: (.[5].instructions - .[1].instructions), unit: "instructions"},
			(.[] | select(.name | startswith("echoes-")) | {name: "\(.name)-instructions", value: .instructions, unit: "instructions"})],
		 above_null: {instructions: (.[1].instructions - .[0].instructions), ns: (.[1].ns - .[0].ns)},
		 stages: {instructions: (.[2].instructions - .[1].instructions), ns: (.[2].ns - .[1].ns),
			ratio: (.[2].ns / .[1].ns * 1000 | round / 1000), $rdtsc_ns, $stamp_cost_ns}}'
