#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Fuzz with libFuzzer: build build-fuzz, run each harness of tests/fuzz from its corpus for some seconds, and print one line "ok -
# ..." or "not ok - ..." for each. A new corpus is discarded; inputs that break a harness are kept in found/ of the build, and the
# line of the failure names them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tools/lib/options.sh

build='build-fuzz'
only='*' seconds=20
failed=0

usage() {
	cat <<-END
		usage: tools/fuzz.sh [--seconds N] [--only PATTERN] [--build DIR]
		  --seconds N     for each harness; default: $seconds
		  --only PATTERN  only harnesses whose name matches this shell pattern, such as 'net' or 'm*'
		  --build DIR     build with -Dfuzz=true; default: $build
		  --help          this
	END
}

# Select the harnesses.
names() {
	local file name
	for file in tests/fuzz/fuzz_*.c; do
		name=$(basename "$file" .c)
		name=${name#fuzz_}
		# shellcheck disable=SC2053 # a pattern is what it is
		[[ $name != $only ]] || echo "$name"
	done
}

# build_harnesses NAME...: build them.
build_harnesses() {
	local log
	log=$(mktemp)
	if { [[ -e $build/build.ninja ]] || CC=clang meson setup -Dfuzz=true -Db_sanitize=address,undefined \
		-Db_lundef=false "$build"; } >"$log" 2>&1 && ninja -C "$build" "${@/#/tests/fuzz/fuzz_}" >>"$log" 2>&1; then
		rm -f "$log"
		return
	fi
	echo "not ok - explore: does not build"
	tail -n 20 "$log" | sed 's/^/#   /'
	rm -f "$log"
	exit 1
}

# explore NAME: fuzz a harness. An input that takes over 60 s of wall time, though perhaps little CPU time, hangs; one over 2 GiB
# allocates without bound. Files are kept in memory if the system has a tmpfs: a harness that writes files would wait for the
# disk.
explore() {
	local log found=$build/found/$1- status=0 corpus executions user_ms system_ms TIMEFORMAT='%3U %3S'
	[[ ! -w /dev/shm ]] || export TMPDIR=/dev/shm
	log=$(mktemp) corpus=$(mktemp -d)
	mkdir -p "$build/found"
	{ time UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 "$build/tests/fuzz/fuzz_$1" -max_total_time="$seconds" \
		-timeout=60 -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="$found" "$corpus" \
		"tests/fuzz/corpus/$1" >"$log" 2>&1 </dev/null; } 2>"$corpus.time" || status=$?
	read -r user_ms system_ms < <(tail -n 1 "$corpus.time" | tr -d .)
	executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
	if ((status == 0)) && [[ -n $executions ]]; then
		echo "ok - explore: $1: $executions executions, $((executions * 1000 / (10#$user_ms + 10#$system_ms + 1)))" \
			"a second of CPU, $(find "$corpus" -type f | wc -l) new inputs"
	else
		failed=1
		echo "not ok - explore: $1: ended with status $status"
		grep -m 1 'Test unit written to' "$log" | sed 's/.*Test unit written to /#   replay: /' || true
		grep -v '^#[0-9]*[[:space:]]*\(NEW\|REDUCE\|pulse\|RELOAD\)' "$log" | tail -n 40 | sed 's/^/#   /'
	fi
	rm -rf "$corpus" "$corpus.time" "$log"
}

main() {
	local harnesses name
	read_options --seconds= --only= --build= -- "$@"
	if [[ ! $seconds =~ ^[1-9][0-9]*$ ]]; then
		echo "fuzz: --seconds $seconds: not a number from 1 on" >&2
		exit 2
	fi
	mapfile -t harnesses < <(names)
	if ((${#harnesses[@]} == 0)); then
		echo "fuzz: no harness is called $only" >&2
		exit 2
	fi
	build_harnesses "${harnesses[@]}"
	for name in "${harnesses[@]}"; do
		explore "$name"
	done
	exit "$failed"
}

main "$@"
