# SPDX-License-Identifier: BSD-3-Clause
# Sourced. Measure instructions and nanoseconds of the scenarios of a program, which prints a line "NAME PKTS
# NANOSECONDS [KEY=VALUE]..." for each, between bench_count_begin() and bench_count_end() (counted.h): the cost is that of one function
# in between.

source "$(dirname "${BASH_SOURCE[0]}")/../../../tools/lib/options.sh"

die() {
	echo "$(basename "$0"): $*" >&2
	exit 1
}

# counted DIR: print the instructions of each scenario. callgrind writes a file for each.
counted() {
	local part
	for ((part = 1; ; part++)); do
		[[ -e $1/out.$part ]] || break
		sed -n 's/^summary: //p' "$1/out.$part"
	done
}

# scenarios PROGRAM FUNCTION [ARGUMENT...]: print one JSON object with the facts of the host.
scenarios() {
	local program=$1 function=$2 dir
	shift 2
	[[ -x $program ]] || die "there is no $program; build first"
	command -v valgrind >/dev/null || die "valgrind is not installed (apt-get install valgrind)"
	dir=$(mktemp -d)
	# shellcheck disable=SC2064 # the directory of now
	trap "rm -rf '$dir'" EXIT
	"$program" "$@" >"$dir/native" 2>"$dir/err" || die "the run without callgrind failed: $(<"$dir/err")"
	# Older valgrinds cannot read clang's debug information; names suffice. gcc may add a suffix to a name.
	strip --strip-debug -o "$dir/program" "$program"
	valgrind --tool=callgrind --callgrind-out-file="$dir/out" --instr-atstart=no "--toggle-collect=$function" \
		"--toggle-collect=$function.*" "$dir/program" "$@" >"$dir/names" 2>"$dir/err" ||
		die "callgrind failed: $(<"$dir/err")"
	counted "$dir" >"$dir/instructions"
	(($(wc -l <"$dir/instructions") == $(wc -l <"$dir/native"))) || die "callgrind counted other scenarios than there are"
	paste -d' ' "$dir/native" "$dir/instructions" |
		jq -nR --arg cpu "$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)" --arg kernel "$(uname -r)" --argjson cpus "$(nproc)" '
			def per($pkts): . * 10 / $pkts | round / 10;
			[inputs | split(" ") | {name: .[0], pkts: .[1] | tonumber, ns: .[2] | tonumber, instructions: .[-1] | tonumber,
				facts: (.[3:-1] | map(split("=") | {(.[0]): (.[1] | tonumber? // .)}) | add)} |
				{name, instructions_per_pkt: (.pkts as $pkts | .instructions | per($pkts)),
				ns_per_pkt: (.pkts as $pkts | .ns | per($pkts))} + .facts] |
			{host: {$cpu, $cpus, $kernel}, scenarios: .}'
}
