#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What it costs the RX lcore to record a frame of 60 bytes, in instructions, as callgrind counts them: whether it grows with
# the number of flows, of files, or the age of the recording. Beside it, from a run without callgrind, nanoseconds.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
bench=${TL_BUILD:-$root/build}/tests/bench/bench_record

usage() {
	cat <<-END
		usage: tests/bench/instructions.sh [--json]
		Prints one JSON object. Scenarios: plain-flows-N: no cut-off; cutoff-flows-N: one that cuts nothing;
		cutoff-table-full: where each frame forgets a flow to begin another; files-N: the N-th file; age-*: of a long
		recording. Instructions are exact; nanoseconds are those of one short run.
	END
}

die() {
	echo "instructions.sh: $*" >&2
	exit 1
}

# counted: the instructions of each scenario. callgrind writes a file where one begins, for what was before, and where it
# ends.
counted() {
	local part
	for ((part = 2; ; part += 2)); do
		[[ -e $dir/out.$part ]] || break
		sed -n 's/^summary: //p' "$dir/out.$part"
	done
}

case ${1:---json} in
--json) ;;
--help)
	usage
	exit
	;;
*)
	usage >&2
	exit 2
	;;
esac
[[ -x $bench ]] || die "there is no $bench; build first"
command -v valgrind >/dev/null || die "valgrind is not installed (apt-get install valgrind)"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$bench" >"$dir/native" 2>"$dir/err" || die "the run without callgrind failed: $(<"$dir/err")"
# Debug information of clang is beyond older valgrinds; names are enough. gcc may put a suffix behind a name.
strip --strip-debug -o "$dir/bench_record" "$bench"
valgrind --tool=callgrind --callgrind-out-file="$dir/out" '--toggle-collect=record_burst*' \
	'--dump-before=end_of_scenario*' "$dir/bench_record" >"$dir/names" 2>"$dir/err" || die "callgrind failed: $(<"$dir/err")"
counted >"$dir/instructions"
(($(wc -l <"$dir/instructions") == $(wc -l <"$dir/native"))) || die "callgrind counted other scenarios than there are"
paste -d' ' "$dir/native" "$dir/instructions" |
	jq -nR --arg cpu "$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)" --arg kernel "$(uname -r)" --argjson cpus "$(nproc)" '
		def per($pkts): . * 10 / $pkts | round / 10;
		[inputs | split(" ") | {name: .[0], pkts: .[1] | tonumber, ns: .[2] | tonumber, instructions: .[3] | tonumber} |
			{name, instructions_per_pkt: (.pkts as $pkts | .instructions | per($pkts)),
			ns_per_pkt: (.pkts as $pkts | .ns | per($pkts))}] |
		{host: {$cpu, $cpus, $kernel}, scenarios: .}'
