#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Measure every figure stated in README.md and docs/benchmarks.md, together with the tools it is compared with, and
# write result.json and a page. tools/lib/bench.py has the figures; each is picked from the output of one run, below.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
source "$here/lib/options.sh"
source "$here/lib/process.sh"
source "$here/lib/netns.sh"
export LC_ALL=C

only='*' out=bench-out compare='' quick=false write_counts=false write_docs='' list=false
quick_begin_s=140 quick_end_s=180 # latest start of the last run of --quick, and its time limit
full_end_s=14400
raw='' running='' runs=()

usage() {
	cat <<-END
		usage: tools/bench.sh [--quick] [--only NAME] [--out DIR] [--compare OLD.json] [--write-counts]
		       tools/bench.sh --write-docs RESULT.json
		       tools/bench.sh --list
		Builds in build-bench, unless TL_BUILD names a build directory, and measures this host; needs root. Nothing else should run.
		  --quick            within about 3 minutes: single short rounds
		  --only NAME        a figure, or a shell pattern of several; --list prints their names
		  --out DIR          where result.json, index.html and the output of the runs go (default $out); recordings of the
		                     benchmarks go to TMPDIR
		  --compare OLD.json print what became slower than in this result beyond noise; status 1 if something did
		  --write-counts     commit the instruction counts: tests/bench/instructions.json, with which tests compare
		  --write-docs RESULT.json
		                     write the tables of README.md and docs/benchmarks.md
	END
}

say() {
	echo "bench: $*" >&2
}

misuse() {
	say "$*; see tools/bench.sh --help"
	exit 2
}

figures() {
	python3 "$here/lib/bench.py" "$@"
}

# ---- set-up

check_options() {
	[[ -z $compare || -r $compare ]] || misuse "--compare $compare: no such file"
	mapfile -t runs < <(figures plan "$only")
	[[ -n ${runs[*]} ]] || misuse "--only $only: no such figure"
}

build() {
	if [[ -z ${TL_BUILD:-} ]]; then
		"$here/install-deps.sh" test
		"$here/install-deps.sh" bench || say "not everything is installed: some figures are missing"
		export TL_BUILD=$root/build-bench
		[[ -e $TL_BUILD/build.ninja ]] || meson setup "$TL_BUILD" "$root" >&2
		ninja -C "$TL_BUILD" app/tapline tests/bench/bench_{record,echo_path,connections,digest,filter,primary,blast,spin,steer,rules,shape,tree} \
			tests/bench/libbench_paced.so >&2
	fi
	TL_BUILD=$(realpath "$TL_BUILD")
	bench=$TL_BUILD/tests/bench
}

# prepare_out: empty the directory, which may contain the old result.
prepare_out() {
	local run old=''
	[[ -z $compare ]] || old=$(<"$compare")
	mkdir -p "$out"
	out=$(realpath "$out") raw=$out/raw
	rm -rf "$raw" "$out/result.json" "$out/index.html"
	mkdir "$raw"
	host_facts >"$raw/host.json"
	[[ -z $compare ]] || { compare=$raw/old.json && echo "$old" >"$compare"; }
	for run in "${runs[@]}"; do
		echo "interrupted before its end" >"$raw/${run%% *}.why"
	done
}

host_facts() {
	jq -n --arg cpu "$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)" --argjson cpus "$(nproc)" \
		--arg kernel "$(uname -r)" --arg dpdk "$(pkg-config --modversion libdpdk)" \
		--arg compiler "$(readelf -p .comment "$TL_BUILD/app/tapline" | sed -n 's/.*\(GCC:\|clang\)/\1/p' | tail -n 1)" \
		--arg tapline "$("$TL_BUILD/app/tapline" --version | head -n 1)" \
		--arg isolated_cpus "$(cat /sys/devices/system/cpu/isolated)" --arg load "$(cut -d ' ' -f 1-3 /proc/loadavg)" \
		--argjson memory_bytes "$(($(sed -n 's/^MemTotal: *\([0-9]*\) kB/\1/p' /proc/meminfo) * 1024))" \
		--arg disk "$(findmnt -no SOURCE,FSTYPE --target "${TMPDIR:-/tmp}" | tr -s ' ')" \
		'{$cpu, $cpus, $kernel, $dpdk, $compiler, $tapline, $isolated_cpus, $load, $memory_bytes, $disk}'
}

# ---- runs

# sample FILE: keep the host's counters of CPU time, including that of child processes, and its frequencies. times must
# not run in a subshell, which has no child processes.
sample() {
	{
		times
		grep '^cpu ' /proc/stat
		grep '^cpu MHz' /proc/cpuinfo || true
	} >"$1"
}

# start NAME COMMAND...: run a command in a separate session until it ends or times out. Its output is raw/NAME.json and
# .log.
start() {
	local name=$1 limit=$full_end_s status=0
	shift
	! $quick || limit=$((quick_end_s - SECONDS))
	((limit > 5)) || limit=5
	setsid timeout --kill-after=30 "$limit" env --default-signal=INT,TERM,HUP "$@" >"$raw/$name.json" 2>"$raw/$name.log" </dev/null &
	running=$!
	wait "$running" || status=$?
	running=''
	((status == 0)) && return
	if ((status == 124)); then
		why="not ended in time"
	else
		why="ended with status $status: $(grep -v '^ *$' "$raw/$name.log" | tail -n 1)"
	fi
	return 1
}

# stop_session PID: end all processes of the session that begins with PID, by their ids, and delete namespaces left by
# them.
stop_session() {
	local pids pid
	mapfile -t pids < <(ps -o pid= -s "$1" | tr -d ' ')
	kill -s TERM "${pids[@]}" 2>/dev/null || true
	wait_for 30 is_gone "$1" || true
	mapfile -t -O "${#pids[@]}" pids < <(ps -o pid= -s "$1" | tr -d ' ')
	kill -s KILL "${pids[@]}" 2>/dev/null || true
	wait "$1" 2>/dev/null || true
	for pid in "${pids[@]}"; do
		netns_delete "tapline-$pid-"{app,client,peer} "tl-$pid-"{app,peer}
	done
}

run_path() {
	start path "$root/tests/bench/echo_path.sh"
}

run_cold() {
	start cold "$root/tests/bench/echo_path.sh" --cold
}

run_connections() {
	local most=1000000
	! $quick || most=100000
	start connections "$root/tests/bench/connections.sh" --most "$most"
}

run_record() {
	local most=10000000
	! $quick || most=1000000
	start record "$root/tests/bench/instructions.sh" --most "$most"
}

run_startup() {
	local rounds=5
	! $quick || rounds=1
	start startup "$root/tests/bench/startup.py" "$rounds"
}

run_tree() {
	start tree "$root/tests/bench/tree.sh"
}

run_shape() {
	start shape "$root/tests/bench/shape.sh"
}

run_steer() {
	start steer "$root/tests/bench/steer.sh"
}

run_rules() {
	start rules "$root/tests/bench/rules.sh"
}

run_digest() {
	start digest "$bench/bench_digest"
}

run_filter() {
	start filter "$bench/bench_filter"
}

run_ping() {
	local size=(--rounds 4)
	! $quick || size=(--rounds 1 --count 500)
	start ping "$root/tests/bench/ping.sh" "${size[@]}"
}

run_residence() {
	local size=(--rounds 14 --seconds 0.5)
	! $quick || size=(--rounds 6 --seconds 0.1)
	start residence "$TL_BUILD/app/tapline" bench overhead "${size[@]}" --json
}

run_replay() {
	local size=()
	! $quick || size=(--seconds 2 --rounds 1)
	start replay "$root/tests/bench/replay_late.sh" "${size[@]}"
}

run_demo() {
	local round rounds=3 seconds=5
	! $quick || { rounds=1 && seconds=2; }
	for ((round = 1; round <= rounds; round++)); do
		start demo-log."$round" "$here/demo.sh" --seconds "$seconds" --out "$raw/demo.$round" || return
		rm -f "$raw/demo.$round"/*.pcapng
		demo_results "$raw/demo.$round/compare" >"$raw/demo.$round.json"
	done
}

# demo_results DIR: print one object of the clients' results by system, and the reasons of missing ones.
demo_results() {
	local system file
	for system in kernel_socat kernel_polling_relay Tapline_default Tapline_polling Tapline_AF_XDP_polling; do
		file=$1/$system.json
		if [[ -s $file ]]; then
			jq -c --arg system "$system" '{($system): {rtt_ns, valid, invalid, lost}}' "$file"
		else
			jq -nc --arg system "$system" --arg why "$(tail -qn 1 "$1/$system.log" 2>/dev/null)" '{why: {($system): $why}}'
		fi
	done | jq -s 'reduce .[] as $one ({}; . * $one)'
}

run_paced() {
	start paced "${capture[@]}" --only "@($(tr ' ' '|' <<<"$*"))"
}

# run NAME FIGURE...: print progress, measure, and note a failure. A run without a function is a scenario of capture.sh.
run() {
	local name=$1 why=''
	shift
	if $quick && ((SECONDS > quick_begin_s)); then
		echo "no time was left for it in a quick run" >"$raw/$name.why"
		return
	fi
	say "$name: $* ($SECONDS s)"
	sample "$raw/$name.before"
	if declare -F "run_$name" >/dev/null; then
		"run_$name" "$@" || true
	else
		start "$name" "${capture[@]}" --only "$name" || true
	fi
	sample "$raw/$name.after"
	rm "$raw/$name.why"
	[[ -z $why ]] || { say "$name: $why" && echo "$why" >"$raw/$name.why"; }
}

# ---- the end

write_result() {
	figures result "$only" "$($quick && echo quick || echo full)" "$raw" "$out"
	say "$out/result.json, $out/index.html; took $SECONDS s after the build"
}

interrupt() {
	trap '' INT TERM HUP
	[[ -z $running ]] || stop_session "$running"
	write_result
	exit "$1"
}

main() {
	local one
	read_options --quick --only= --out= --compare= --write-counts --write-docs= --list -- "$@"
	if $list; then
		figures list
		exit
	fi
	if [[ -n $write_docs ]]; then
		exec python3 "$here/lib/bench.py" write-docs "$write_docs"
	fi
	check_options
	build
	prepare_out
	capture=("$root/tests/bench/capture.sh" --seconds 5 --rounds 3)
	! $quick || capture=("$root/tests/bench/capture.sh" --seconds 1 --rounds 1 --resolution 25 --ring-seconds 5)
	trap 'interrupt 129' HUP
	trap 'interrupt 130' INT
	trap 'interrupt 143' TERM
	SECONDS=0
	for one in "${runs[@]}"; do
		# shellcheck disable=SC2086 # words: the run and its figures
		run $one
	done
	write_result
	! $write_counts || figures write-counts "$out/result.json" "$bench/bench_record"
	[[ -z $compare ]] || figures compare "$compare" "$out/result.json"
}

main "$@"
