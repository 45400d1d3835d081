#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Build Tapline in every way it is tested and run every suite that this host can run. The last line is
# "N passed, N failed, N skipped". A suite prints lines "ok - …", "not ok - …" and "skip - …: reason"; one that ends
# with an error and no such line counts as a failure.
#
# Suites run side by side in three lanes. The front lane runs the ordinary build: unit and functional suites, which
# mostly wait. The second runs one virtual machine after another. The back lane has a lower priority: sanitizers,
# simulations and fuzzers, which use the CPU that is left. Suites that measure run last, one by one.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

only='*' quick=false nightly=false
explore_s=20 # for each fuzzer
places=$(($(nproc) + 1)) # concurrent front suites, which mostly wait
logs=build-logs
results=$logs/results
running=() # process ids of this lane's suites

usage() {
	cat <<-END
		usage: tools/test.sh [--quick] [--nightly] [--jobs N] [--only PATTERN]
		  --quick         only the ordinary build: no sanitizers, no fuzzing
		  --nightly       the long suites too
		  --jobs N        this many suites of the ordinary build at once ($places)
		  --only PATTERN  only suites whose name matches this shell pattern, such as 'func/*' or 'unit/tcp'
		  --help          this
		Suites: check/*, unit/*, fuzz/*, sim/*, func/*, ixgbe/*, vm/*, debian/*, asan/*, explore/*, tsan/*, nightly/*. Logs: $logs/.
		As root it installs what it needs.
	END
}

wrong_call() {
	usage >&2
	exit 2
}

parse_options() {
	while (($#)); do
		case $1 in
		--quick) quick=true ;;
		--nightly) nightly=true ;;
		--jobs)
			[[ ${2:-} =~ ^[1-9][0-9]*$ ]] || wrong_call
			places=$2
			shift
			;;
		--only)
			(($# >= 2)) || wrong_call
			only=$2
			shift
			;;
		--help)
			usage
			exit
			;;
		*) wrong_call ;;
		esac
		shift
	done
}

# ---- suites

# wanted SUITE: tell whether the suite is selected.
wanted() {
	# shellcheck disable=SC2053 # a pattern, not a string
	[[ $1 == $only ]]
}

# any_wanted SUITE...: tell whether one of them is selected.
any_wanted() {
	local suite
	for suite in "$@"; do
		! wanted "$suite" || return 0
	done
	return 1
}

# suite NAME SECONDS COMMAND...: start the suite, if it is selected, as soon as a slot is free.
suite() {
	wanted "$1" || return 0
	while ((${#running[@]} >= places)); do
		await_one
	done
	begin_result "$1"
	run_suite "$@" &
	running+=($!)
}

# alone NAME SECONDS COMMAND...: run the suite, if it is selected, while no other suite of this lane runs.
alone() {
	wanted "$1" || return 0
	finish_suites
	begin_result "$1"
	run_suite "$@"
}

finish_suites() {
	while ((${#running[@]})); do
		await_one
	done
}

await_one() {
	local id='' pid left=()
	wait -n -p id "${running[@]}" || true
	for pid in "${running[@]}"; do
		[[ $pid == "$id" ]] || left+=("$pid")
	done
	running=("${left[@]}")
}

# begin_result NAME: note that this suite or build has failed, until publish replaces the note. A lane that cannot, ends.
begin_result() {
	echo "not ok - $1: has no result: it was killed, or $logs cannot be written" >"$results/${1//\//-}.log" || exit 1
}

# publish LOG: make it the result of its suite, whole or not at all.
publish() {
	local to=$results/${1##*/}
	cp "$1" "$to.part" && mv "$to.part" "$to"
}

# run_suite NAME SECONDS COMMAND...: run the suite, print its time, its CPU time, its result, and the reason of a failure. The log of
# a suite that ends by a crash or a timeout has no line for it: add one.
run_suite() {
	local name=$1 limit=$2 log=$logs/${1//\//-}.log begin=$SECONDS status=0 cpu TIMEFORMAT='%0U + %0S'
	shift 2
	cpu=$({ time timeout --kill-after=30 "$limit" "$@" >"$log" 2>&1 </dev/null; } 2>&1) || status=$?
	if ((status > 1)) || { ((status == 1)) && ! grep -aq '^not ok - ' "$log"; }; then
		echo "not ok - $name: ended with status $status$(explain_status "$status")" >>"$log"
	elif ! grep -aqE '^(ok|not ok|skip) - ' "$log"; then
		echo "not ok - $name: printed no result" >>"$log"
	fi
	publish "$log"
	printf '%-24s %4d s %4d s CPU  %s\n' "$name" $((SECONDS - begin)) $((${cpu##*$'\n'})) "$(result_of "$log")"
	explain_failure "$log"
}

# result_of LOG...: print the counts in words.
result_of() {
	cat "$@" | awk '/^ok - / { ok++ } /^not ok - / { bad++ } /^skip - / { skip++ }
		END { printf "%d ok", ok; if (skip) printf ", %d skipped", skip; if (bad) printf ", %d FAILED", bad }'
}

explain_status() {
	case $1 in
	124) echo " (timed out)" ;;
	137) echo " (killed)" ;;
	134 | 139) echo " (crashed)" ;;
	esac
}

# explain_failure LOG: print each failed test with its own detail, then the end of the log.
explain_failure() {
	grep -aq '^not ok - ' "$1" || return 0
	awk '/^(ok|skip) - / || /^# [^ ]/ { shown = 0 } /^not ok - / { shown = 1 } shown && n++ < 60 { print "  " $0 }' "$1"
	echo "  # the end of $1:"
	grep -av '^ok - ' "$1" | tail -n 40 | sed 's/^/  #   /'
}

# build NAME [-t TARGET...] [MESON OPTION...]: build into build-NAME, as far as possible. A failed build is a failed suite, and the
# suites that need it do not run.
build() {
	local name=$1 log=$logs/build-$1.log begin=$SECONDS targets=() errors
	shift
	while [[ ${1:-} == -t ]]; do
		targets+=("$2")
		shift 2
	done
	begin_result "build-$name"
	if { [[ -e build-$name/build.ninja ]] || meson setup "$@" "build-$name"; } >"$log" 2>&1 &&
		ninja -k 0 -C "build-$name" "${targets[@]}" >>"$log" 2>&1; then
		rm "$results/build-$name.log"
		printf '%-24s %4d s\n' "build-$name" $((SECONDS - begin))
		return
	fi
	errors=$(grep -E -A 3 'error: |ERROR: |undefined reference' "$log" | sed 's/^/#  /') || true
	printf 'not ok - build-%s: does not build\n%s\n' "$name" "$errors" >>"$log"
	publish "$log"
	printf '%-24s %4d s  FAILED\n' "build-$name" $((SECONDS - begin))
	explain_failure "$log"
	return 1
}

# ---- stages: each builds the targets of its suites, if any of them is selected

# names_of PREFIX SUFFIX FILE...: print the part between prefix and suffix of the names of the files.
names_of() {
	local prefix=$1 suffix=$2 file
	shift 2
	for file in "$@"; do
		file=$(basename "$file" "$suffix")
		echo "${file#"$prefix"}"
	done
}

mapfile -t units < <(names_of test_ .c tests/unit/test_*.c)
# Those that run over IPv6, too.
mapfile -t both_families < <(sed -n '/^both_families/,/]/p' tests/unit/meson.build | grep -o "'[a-z_]*'" | tr -d "'")
units+=("${both_families[@]/%/6}")
mapfile -t fuzzers < <(names_of fuzz_ .c tests/fuzz/fuzz_*.c)
mapfile -t functionals < <(names_of '' _test.sh tests/func/*_test.sh)
mapfile -t cards < <(names_of '' _test.sh tests/ixgbe/*_test.sh)
machines=(smoke crash)
sim_worlds=(pair repair peer)
sim_lacks=(rto fast probe)
# Modules shared by two threads.
threaded=(tail slab recode writer writer_rotation writer_kept writer_full writer_removed writer_stream writer_sidecar writer_hold steer clock_track timesync)
# Suites of --nightly only: their set-up takes minutes, and other suites cover most of their findings.
nightly_machines=(deploy cards place powerloss systemd steer isolate qdisc)
nightly_functionals=(package)
# Functional suites that compare durations or rates, or take the host's hugepages: nothing else may run.
measuring=(bench demo overrun slow_disk stages)

# Drivers of devices that suites have.
drivers=(bus_pci bus_vdev mempool_ring net_{af_packet,af_xdp,e1000,ixgbe,null,pcap,ring,tap,virtio,vmxnet3})

# is_among NAME NAME...: tell whether the first name is among the others.
is_among() {
	local name=$1
	shift
	[[ " $* " == *" $name "* ]]
}

# sims PREFIX BUILD SEEDS: run the network simulator with this number of seeds for a pair of stacks, and fewer for the others.
sims() {
	local sim=$2/tests/sim/tcp_sim
	suite "$1pair" 900 "$sim" pair --seeds "$3"
	suite "$1repair" 900 "$sim" repair --seeds $(($3 / 10))
	suite "$1peer" 900 "$sim" peer --seeds $(($3 / 3))
}

# The stack must fail without one of its mechanisms.
lacking_sims() {
	local sim=$1/tests/sim/tcp_sim
	suite sim/without-rto 300 "$sim" pair --seeds 50 --without rto
	suite sim/without-fast 300 "$sim" repair --seeds 50 --without fast
	suite sim/without-probe 300 "$sim" pair --seeds 120 --without probe
}

# few_drivers: leave the drivers that suites use in DPDK's directory, for what this script starts. EAL loads them all, 129 in Debian:
# a third of the CPU time of a short run, and seconds in an emulated machine.
few_drivers() {
	local all driver few
	for all in /usr/lib/*/dpdk/pmds-*; do
		few=$(mktemp -d)
		mount -t tmpfs -o mode=755 none "$few"
		for driver in "${drivers[@]}"; do
			cp -a "$all/librte_$driver".so* "$few/"
		done
		mount --move "$few" "$all"
		rmdir "$few"
	done
}

all_drivers() {
	umount /usr/lib/*/dpdk/pmds-*
}

# The ordinary build, used by most suites.
ordinary_build() {
	case $only in
	check/format | check/length | check/mirrors | check/mutants | asan/* | explore/* | tsan/* | debian/*) return 0 ;;
	esac
	build gcc -Dwerror=true -Dpacketdrill=true
}

checks() {
	suite check/format 300 tools/check-format.sh
	suite check/length 60 tools/check-length.sh
	suite check/mirrors 60 tools/check-mirrors.sh
	suite check/links 60 tools/check-links.py
	suite check/mutants 60 tools/mutate.sh --places
	suite check/layers 120 tools/check-layers.sh build-gcc
	suite check/hotpath 120 tools/check-hotpath.sh build-gcc
}

ordinary() {
	local name
	checks
	for name in "${functionals[@]}"; do
		is_among "$name" "${measuring[@]}" "${nightly_functionals[@]}" || suite "func/$name" 600 "tests/func/${name}_test.sh"
	done
	for name in "${cards[@]}"; do
		[[ $name == sent ]] || suite "ixgbe/$name" 300 "tests/ixgbe/${name}_test.sh"
	done
	for name in "${units[@]}"; do
		suite "unit/$name" 120 "build-gcc/tests/unit/test_$name"
	done
	for name in "${fuzzers[@]}"; do
		suite "fuzz/$name" 120 "build-gcc/tests/fuzz/replay_$name" "tests/fuzz/corpus/$name"
	done
	other_debians
	finish_suites
}

virtual_machines() {
	local name
	places=1 running=()
	for name in "${machines[@]}"; do
		suite "vm/$name" 1500 tests/vm/run.sh "$name"
	done
	stamps_of_ptp
	finish_suites
}

# seeds_of_today N: print N seeds that no other day has.
seeds_of_today() {
	local day=$(($(date +%s) / 86400))
	echo "$((day * $1))-$((day * $1 + $1 - 1))"
}

# Delayed calls, every call of docs/faults.md with every errno, many disks after a power failure, and their contents without one
# fsync, 10000 captures with known latencies, a tenth of the faults that tests should detect, an hour under load: some hours.
long_suites() {
	local name
	for name in "${nightly_functionals[@]}"; do
		alone "func/$name" 600 "tests/func/${name}_test.sh"
	done
	for name in "${nightly_machines[@]}"; do
		alone "vm/$name" 900 tests/vm/run.sh "$name"
	done
	alone nightly/delays 7200 tests/faults/perturb.py --build build-gcc --unit all --scenario all --seeds "$(seeds_of_today 20)"
	alone nightly/delays_func 7200 tests/faults/perturb.py --build build-gcc --func all --seeds "$(seeds_of_today 2)" --jobs 2
	sims nightly/sim- build-gcc 10000
	alone nightly/calls 14400 tests/faults/run.py --build build-gcc --nightly
	TL_BYTES=1000000000 alone nightly/tcp_loss 600 tests/func/tcp_loss_test.sh
	TL_SESSIONS=1000 alone nightly/sessions_nginx 600 tests/func/sessions_nginx_test.sh
	TL_SEEDS=10000 alone nightly/latency_selftest 7200 tests/func/latency_selftest_test.sh
	TL_KILLS=200 alone nightly/recover 1800 tests/func/recover_test.sh
	TL_SEEDS=1000 alone nightly/meter 1800 tests/func/meter_test.sh
	TL_SEEDS=10000 alone nightly/tree_shares 1800 build-gcc/tests/unit/test_tree_shares
	TL_CRASH_IMAGES=2000 alone nightly/crash 7200 tests/vm/run.sh crash
	alone nightly/crash_without 900 tests/vm/run.sh crash_without
	alone nightly/mutants 7200 tools/mutate.sh --sample 1/10
	! wanted nightly/soak || tools/install-deps.sh soak
	alone nightly/soak 4500 tests/soak.sh --minutes 60
}

measurements() {
	local name
	for name in "${measuring[@]}"; do
		alone "func/$name" 600 "tests/func/${name}_test.sh"
	done
}

# NIC stamps need a private DPDK. Building it takes minutes: --nightly builds it, other runs use an existing one.
stamps_of_ptp() {
	local prefix log=$results/build-dpdk.log status=0
	any_wanted vm/timesync ixgbe/sent || return 0
	for prefix in /opt/tapline/dpdk-22.11{,-test}; do
		[[ ! -e $prefix/share/tapline-dpdk ]] || break
	done
	if [[ ! -e $prefix/share/tapline-dpdk ]]; then
		if ! $nightly; then
			echo "skip - vm/timesync: there is no DPDK in $prefix; --nightly builds it" >"$log"
			return 0
		fi
		tools/build-dpdk.sh --prefix "$prefix" --without net/mlx5,common/mlx5 >"$log" 2>&1 </dev/null || status=$?
		if ((status == 3)); then
			echo "skip - vm/timesync: no source of DPDK to be had" >>"$log"
			return 0
		elif ((status != 0)); then
			echo "not ok - build-dpdk: ended with status $status" >>"$log"
			return 0
		fi
	fi
	build ptp -Dwerror=true -Dtests=false "-Ddpdk_prefix=$prefix" || return 0
	export TL_BUILD_PTP=$PWD/build-ptp
	suite ixgbe/sent 300 tests/ixgbe/sent_test.sh
	suite vm/timesync 1500 tests/vm/run.sh timesync
}

# Another DPDK, compiler and libc. Making a root takes minutes: --nightly does, other runs use an existing one.
other_debians() {
	local release if_made=--if-made
	! $nightly || if_made=''
	$quick || for release in 13 14; do
		suite "debian/$release" 1800 tools/test-debian.sh $if_made "$release"
	done
}

# The back lane. Its largest build and the fuzzers, which explore for a fixed time, come first and have no lower priority:
# at the end they would run alone, and with a lower one they would hardly run.
watched() {
	places=2 running=()
	$quick || address_and_undefined
	yield_cpu
	places=4 # the last ones: half of them mostly wait
	mapfile -t names < <(printf 'sim/%s\n' "${sim_worlds[@]}" "${sim_lacks[@]/#/without-}")
	if any_wanted "${names[@]}"; then
		sims sim/ build-gcc 3000
		lacking_sims build-gcc
	fi
	$quick || threads
	finish_suites
}

# Lower the priority of this lane.
yield_cpu() {
	renice -n 10 -p "$BASHPID" >/dev/null
}

# The fuzzers explore; then the same unit tests and corpora, built by the other compiler, with every access and every shift
# checked.
address_and_undefined() {
	local names name
	mapfile -t names < <(printf '%s\n' "${units[@]/#/asan/}" "${fuzzers[@]/#/asan/fuzz-}" "${fuzzers[@]/#/explore/}" "${sim_worlds[@]/#/asan/sim-}")
	any_wanted "${names[@]}" || return 0
	# gold links twice as fast, and checks that end the program take half of the time to compile.
	CC="$(command -v ccache || true) clang" CC_LD=$(command -v ld.gold >/dev/null && echo gold || echo bfd) build asan -t watched -Dwerror=true -Doptimization=1 -Ddebug=false \
		-Dc_args='-gline-tables-only -fno-sanitize-recover=undefined' -Dfuzz=true -Db_sanitize=address,undefined -Db_lundef=false || return 0
	export ASAN_OPTIONS=detect_stack_use_after_return=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 TL_SEEDS=30
	for name in "${fuzzers[@]}"; do
		suite "explore/$name" 600 tools/fuzz.sh --build build-asan --seconds "$explore_s" --only "$name"
	done
	yield_cpu
	places=3
	for name in "${units[@]}"; do
		suite "asan/$name" 600 "build-asan/tests/unit/test_$name"
	done
	for name in "${fuzzers[@]}"; do
		suite "asan/fuzz-$name" 600 "build-asan/tests/fuzz/replay_$name" "tests/fuzz/corpus/$name"
	done
	sims asan/sim- build-asan 300
}

# ThreadSanitizer requires its address layout: no randomization.
threads() {
	local name targets=()
	any_wanted "${threaded[@]/#/tsan/}" || return 0
	for name in "${threaded[@]}"; do
		targets+=(-t "tests/unit/test_$name")
	done
	build tsan "${targets[@]}" -Dwerror=true -Doptimization=1 -Db_sanitize=thread -Db_lundef=false || return 0
	for name in "${threaded[@]}"; do
		TSAN_OPTIONS=halt_on_error=1:suppressions=$PWD/tests/unit/tsan.supp suite "tsan/$name" 600 \
			setarch -R "build-tsan/tests/unit/test_$name"
	done
}

# ---- the complete run

summary() {
	local log failed all
	all=$(for log in "$results"/*.log; do explain_failure "$log"; done | tr -d '\0')
	[[ -z $all ]] || printf '\nFailed:\n%s\n' "$all"
	all=$(cat "$results"/*.log 2>/dev/null | tr -d '\0' | grep -aE '^(ok|not ok|skip) - ' || true)
	! grep -q '^skip' <<<"$all" || printf '\nSkipped:\n%s\n' "$(sed -n 's/^skip - /  /p' <<<"$all")"
	echo
	[[ -n $all ]] || echo "no suite is called $only" >&2
	failed=$(grep -c '^not ok' <<<"$all" || true)
	echo "$(grep -c '^ok' <<<"$all" || true) passed, $failed failed, $(grep -c '^skip' <<<"$all" || true) skipped"
	((failed == 0)) && grep -q '^ok' <<<"$all"
}

parse_options "$@"
[[ ${TL_TEST_MOUNTS:-} == own ]] || TL_TEST_MOUNTS=own exec unshare --mount "${BASH_SOURCE[0]}" "$@" # for few_drivers
unset TL_TEST_MOUNTS
tools/install-deps.sh build
rm -rf "$results"
mkdir -p "$results"
export TL_BUILD=$PWD/build-gcc
tools/install-deps.sh test & # while the first build runs
installing=$!
built=true
ordinary_build || built=false
wait "$installing" # a failure ends this script
if $built; then
	few_drivers
	watched &
	lanes=($!)
	virtual_machines &
	lanes+=($!)
	ordinary
	for lane in "${lanes[@]}"; do
		wait "$lane" || echo "not ok - tools/test.sh: a lane ended early" >"$results/lane-$lane.log"
	done
	all_drivers
	measurements
	! $nightly || long_suites
fi
summary
