# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
# Compare instruction counts with the committed ones. Sourced by functional tests, behind func.sh.

# check_counts RUN FILE PROGRAM: check the output of a run of tools/bench.sh, measured with a program, against
# tests/bench/instructions.json.
check_counts() {
	local status=0 output sentence="the instruction counts of $1 are as committed, within 2 % or one"
	output=$("$func_root/tools/lib/bench.py" check-counts "$1" "$2" "$3" 2>&1) || status=$?
	case $status in
	0) ok "$sentence" ;;
	3) skip "$sentence" "$output" ;;
	*) not_ok "$sentence" "$output" ;;
	esac
}
