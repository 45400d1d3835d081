#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds Tapline in every way it is tested and runs every suite this host can run. Ends with one line
# "N passed, N failed, N skipped". A suite prints lines "ok - …", "not ok - …" and "skip - …: reason"; one that ends
# badly without saying so counts as a failure.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

only='*' quick=false
passed=0 failed=0 skipped=0
failures='' skips=''
logs=build-logs

usage() {
	cat <<-END
		usage: tools/test.sh [--quick] [--only PATTERN]
		  --quick         only the ordinary build: no sanitizers
		  --only PATTERN  only suites whose name matches this shell pattern, such as 'func/*' or 'unit/tcp'
		  --help          this
		Suites: check/*, unit/*, fuzz/*, sim/*, func/*, vm/*, debian/*, asan/*, tsan/*. Logs: $logs/.
		As root it installs what it needs.
	END
}

parse_options() {
	while (($#)); do
		case $1 in
		--quick) quick=true ;;
		--only)
			(($# >= 2)) || { usage >&2 && exit 2; }
			only=$2
			shift
			;;
		--help)
			usage
			exit
			;;
		*)
			usage >&2
			exit 2
			;;
		esac
		shift
	done
}

# ---- suites

# wanted SUITE
wanted() {
	# shellcheck disable=SC2053 # a pattern is what it is
	[[ $1 == $only ]]
}

# any_wanted SUITE...
any_wanted() {
	local suite
	for suite in "$@"; do
		! wanted "$suite" || return 0
	done
	return 1
}

# suite NAME SECONDS COMMAND...: runs it if it is wanted, and counts.
suite() {
	local name=$1 limit=$2 log=$logs/${1//\//-}.log begin=$SECONDS status=0
	shift 2
	wanted "$name" || return 0
	timeout --kill-after=30 "$limit" "$@" >"$log" 2>&1 </dev/null || status=$?
	count "$name" "$log" "$status"
	printf '%-24s %4d s  %s\n' "$name" $((SECONDS - begin)) "$counted"
}

# count NAME LOG STATUS: counted says it in a few words.
count() {
	local ok not_ok skip
	ok=$(grep -c '^ok - ' "$2" || true)
	not_ok=$(grep -c '^not ok - ' "$2" || true)
	skip=$(grep -c '^skip - ' "$2" || true)
	counted="$ok ok"
	((skip == 0)) || counted+=", $skip skipped"
	((not_ok == 0)) || counted+=", $not_ok FAILED"
	failures+=$(grep '^not ok - ' "$2" || true)
	if (($3 > 1 || ($3 == 1 && not_ok == 0))); then
		not_ok=$((not_ok + 1))
		counted+=", ended with status $3"
		failures+=$'\n'"not ok - $1: ended with status $3$(explain_status "$3")"
	elif ((ok + not_ok + skip == 0)); then
		not_ok=1
		counted+=", NO RESULT"
		failures+=$'\n'"not ok - $1: printed no result"
	fi
	((not_ok == 0)) || failures+=$'\n'"#   from $2:"$'\n'$(grep -v '^ok - ' "$2" | tail -n 40 | sed 's/^/#     /' || true)$'\n'
	skips+=$(sed -n 's/^skip - /\n  /p' "$2")
	passed=$((passed + ok)) failed=$((failed + not_ok)) skipped=$((skipped + skip))
}

explain_status() {
	case $1 in
	124) echo " (its time was over)" ;;
	137) echo " (killed)" ;;
	134 | 139) echo " (crashed)" ;;
	esac
}

# build NAME OPTION...: into build-NAME; what cannot be built is a failure, and its suites do not run.
build() {
	local name=$1 log=$logs/build-$1.log begin=$SECONDS
	shift
	if { [[ -e build-$name/build.ninja ]] || meson setup "$@" "build-$name"; } >"$log" 2>&1 &&
		ninja -C "build-$name" >>"$log" 2>&1; then
		printf '%-24s %4d s\n' "build-$name" $((SECONDS - begin))
		return
	fi
	printf '%-24s %4d s  FAILED\n' "build-$name" $((SECONDS - begin))
	failed=$((failed + 1))
	failures+=$'\n'"not ok - build-$name: does not build"$'\n'$(tail -n 30 "$log" | sed 's/^/#     /')$'\n'
	return 1
}

# ---- stages: each builds what its suites need, if any of them is wanted

unit_names() {
	local file
	for file in tests/unit/test_*.c; do
		basename "$file" .c | sed 's/^test_//'
	done
}

fuzz_names() {
	local file
	for file in tests/fuzz/fuzz_*.c; do
		basename "$file" .c | sed 's/^fuzz_//'
	done
}

sim_worlds=(pair repair peer)
sim_lacks=(rto fast probe)

# sims PREFIX BUILD SECONDS SEEDS: the network simulator with so many seeds of a pair of stacks, and fewer of the others.
sims() {
	local sim=$2/tests/sim/tcp_sim
	suite "$1pair" "$3" "$sim" pair --seeds "$4"
	suite "$1repair" "$3" "$sim" repair --seeds $(($4 / 10))
	suite "$1peer" "$3" "$sim" peer --seeds $(($4 / 3))
}

# Without one of its mechanisms the stack must not pass.
lacking_sims() {
	local sim=$1/tests/sim/tcp_sim
	suite sim/without-rto 300 "$sim" pair --seeds 200 --without rto
	suite sim/without-fast 300 "$sim" repair --seeds 200 --without fast
	suite sim/without-probe 300 "$sim" pair --seeds 400 --without probe
}

# names_in PREFIX NAME...
names_in() {
	local prefix=$1
	shift
	printf "$prefix/%s\n" "$@"
}

ordinary() {
	local checks=(check/format check/length check/layers check/hotpath) units fuzzers tests name
	mapfile -t units < <(unit_names)
	mapfile -t fuzzers < <(fuzz_names)
	mapfile -t tests < <(basename -s _test.sh -a tests/func/*_test.sh)
	mapfile -t names < <(names_in unit "${units[@]}"; names_in fuzz "${fuzzers[@]}"; names_in func "${tests[@]}"; names_in vm smoke deploy cards powerloss timesync
		names_in sim "${sim_worlds[@]}" "${sim_lacks[@]/#/without-}")
	any_wanted "${checks[@]}" "${names[@]}" || return 0
	suite check/format 120 tools/check-format.sh
	suite check/length 60 tools/check-length.sh
	any_wanted check/layers check/hotpath "${names[@]}" || return 0
	build gcc -Dwerror=true -Dpacketdrill=true || return 0
	suite check/layers 120 tools/check-layers.sh build-gcc
	suite check/hotpath 120 tools/check-hotpath.sh build-gcc
	for name in "${units[@]}"; do
		suite "unit/$name" 120 "build-gcc/tests/unit/test_$name"
	done
	for name in "${fuzzers[@]}"; do
		suite "fuzz/$name" 120 "build-gcc/tests/fuzz/replay_$name" "tests/fuzz/corpus/$name"
	done
	sims sim/ build-gcc 600 10000
	lacking_sims build-gcc
	for name in "${tests[@]}"; do
		TL_BUILD=$PWD/build-gcc suite "func/$name" 600 "tests/func/${name}_test.sh"
	done
	for name in smoke deploy cards powerloss; do
		TL_BUILD=$PWD/build-gcc suite "vm/$name" 600 tests/vm/run.sh "$name"
	done
	stamps_of_ptp
}

# With a DPDK of our own, which the NIC's stamps need; it is built once on a machine, and skipped where its source is not to
# be had.
stamps_of_ptp() {
	local prefix=/opt/tapline/dpdk-22.11 log=$logs/build-dpdk.log begin=$SECONDS status=0
	wanted vm/timesync || return 0
	if [[ ! -e $prefix/share/tapline-dpdk ]]; then
		prefix+=-test
		tools/build-dpdk.sh --prefix "$prefix" --without net/mlx5,common/mlx5 >"$log" 2>&1 </dev/null || status=$?
	fi
	printf '%-24s %4d s\n' build-dpdk $((SECONDS - begin))
	if ((status == 0)); then
		build ptp -Dwerror=true -Dtests=false "-Ddpdk_prefix=$prefix" || return 0
	elif ((status != 3)); then
		failed=$((failed + 1))
		failures+=$'\n'"not ok - build-dpdk: ended with status $status"$'\n'$(tail -n 20 "$log" | sed 's/^/#     /')$'\n'
		return 0
	fi
	TL_BUILD=$PWD/build-gcc TL_BUILD_PTP=$PWD/build-ptp suite vm/timesync 600 tests/vm/run.sh timesync
}

# Another DPDK, compiler and libc, where somebody has made the root for it.
other_debians() {
	local release
	for release in 13 14; do
		suite "debian/$release" 1800 tools/test-debian.sh --if-made "$release"
	done
}

# The same unit tests and corpora again, built by the other compiler, with every access and every shift watched.
address_and_undefined() {
	local units fuzzers names name
	mapfile -t units < <(unit_names)
	mapfile -t fuzzers < <(fuzz_names)
	mapfile -t names < <(names_in asan "${units[@]}" "${fuzzers[@]/#/fuzz-}" "${sim_worlds[@]/#/sim-}")
	any_wanted "${names[@]}" || return 0
	CC=clang build asan -Dwerror=true -Db_sanitize=address,undefined -Db_lundef=false || return 0
	export ASAN_OPTIONS=detect_stack_use_after_return=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
	for name in "${units[@]}"; do
		suite "asan/$name" 300 "build-asan/tests/unit/test_$name"
	done
	for name in "${fuzzers[@]}"; do
		suite "asan/fuzz-$name" 300 "build-asan/tests/fuzz/replay_$name" "tests/fuzz/corpus/$name"
	done
	sims asan/sim- build-asan 600 300
}

# The modules that two threads meet in. ThreadSanitizer needs its address layout: no randomization.
threads() {
	local names=(tail slab recode writer writer_hold steer clock_track timesync) name
	any_wanted "${names[@]/#/tsan/}" || return 0
	build tsan -Dwerror=true -Db_sanitize=thread -Db_lundef=false || return 0
	export TSAN_OPTIONS=halt_on_error=1:suppressions=$PWD/tests/unit/tsan.supp
	for name in "${names[@]}"; do
		suite "tsan/$name" 300 setarch -R "build-tsan/tests/unit/test_$name"
	done
}

summary() {
	[[ -z $skips ]] || printf '\nSkipped:%s\n' "$skips"
	[[ -z $failures ]] || printf '\nFailed:\n%s\n' "$failures"
	echo
	((passed + failed + skipped > 0)) || echo "no suite is called $only" >&2
	echo "$passed passed, $failed failed, $skipped skipped"
	((failed == 0 && passed > 0))
}

parse_options "$@"
tools/install-deps.sh test
mkdir -p "$logs"
ordinary
$quick || other_debians
$quick || address_and_undefined
$quick || threads
summary
