#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# `tapline latency --self-test`, and an oracle that reads the same captures byte by byte and implements docs/latency.md
# only. TL_SEEDS is the number of captures; tools/test.sh --nightly sets 10000.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

LIB=$(dirname "$PEER_PY")
SEEDS=${TL_SEEDS:-200}
AT_ONCE=500 # captures on disk at a time

selftest() {
	timeout 600 "$TAPLINE" latency --self-test "$@" </dev/null
}

# Print the differences, and the sums of the last lines of both.
judge_all() {
	local first count wrong=0
	for ((first = 1; first <= SEEDS; first += AT_ONCE)); do
		count=$((SEEDS - first + 1 < AT_ONCE ? SEEDS - first + 1 : AT_ONCE))
		selftest --seed "$first" --seeds "$count" --keep cases >>selftest.log 2>&1 || echo "status $?" >>selftest.log
		timeout 600 python3 -B "$LIB/latency_oracle.py" "$TAPLINE" cases >>oracle.log 2>&1 || wrong=1
		((wrong)) || rm -rf cases
	done
}

# all_right LOG SUMMARY: check that each of its lines is a summary without an error.
all_right() {
	grep -q -- "$2" "$1" && ! grep -v -- "$2" "$1"
}

misuse() {
	local status=0
	selftest "${@:3}" >misuse.log 2>&1 || status=$?
	check_equal "$1: status 2" "$status" 2
	check "$1: the reason is reported" grep -q -e "$2" misuse.log
}

files_are_kept_or_not() {
	mkdir tmp
	TMPDIR=$PWD/tmp selftest --seeds 3 >last.log
	check_equal "without --keep no files remain" "$(ls tmp)" ''
	selftest --seeds 3 --seed 7 --keep one >last.log
	selftest --seeds 3 --seed 7 --keep two >last.log
	check_equal "--keep keeps the captures of each seed" "$(ls one)" "$(printf 'seed-%06d\n' 7 8 9)"
	check "equal seeds generate equal captures" diff -r one two
}

# The output for seed 3 contains no pairs, that for seed 4 is not a capture.
wrong_ones_are_named() {
	local status=0
	mkdir -p wrong/seed-00000{3,4}
	ln -s /dev/null wrong/seed-000003/pairs.csv
	ln -s /dev/null wrong/seed-000004/triggers.cap
	selftest --seeds 5 --keep wrong >wrong.log 2>&1 || status=$?
	check_equal "a capture read incorrectly has exit status 1" "$status" 1
	check "its seed, files and events are named" grep -q '^seed 3: files in wrong/seed-000003; [a-zA-Z]' wrong.log
	check "the reason of an unreadable capture is reported" grep -q '^seed 4: .*triggers.cap' wrong.log
	check "the other captures are correct" grep -q '^self-test: seeds 1 to 5, .* 2 captures were read wrongly$' wrong.log
	ln -s /proc/no missing
	status=0
	selftest --keep missing/there >wrong.log 2>&1 || status=$?
	check_equal "a directory that cannot be created has exit status 1" "$status" 1
	check "the directory is named" grep -q 'missing/there: cannot make it' wrong.log
}

func_begin
judge_all
check "$SEEDS captures with known latencies are read correctly" all_right selftest.log ' 0 captures were read wrongly$'
check "an independent oracle finds the same pairs, counts and verdicts" all_right oracle.log ', 0 differ$'
files_are_kept_or_not
wrong_ones_are_named
misuse "no seeds" 'seeds takes a number from 1' --seeds 0
misuse "a seed that is none" 'seed takes a number from 0' --seed x
misuse "a file" 'self-test reads no file' some.pcap
check "the options without --self-test are refused" grep -q 'write --self-test' <("$TAPLINE" latency --seeds 3 2>&1 || true)
