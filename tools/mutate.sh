#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Test the tests: put each fault of tests/mutants/*.txt into a copy of the tree, alone, and run the suites that could detect it. A
# fault is killed if a suite fails, survived if none does, stale if its place is not found or the copy does not compile. Fail if a
# fault is stale or fewer than 92 % are killed. tests/mutants/README.md describes the format.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tools/lib/options.sh

least_percent=92
only='*' sample=1/1 seed=$(($(date +%s) / 86400)) jobs=$(nproc) list=false places=false work=''
files=() functions=() breaks=() olds=() news=() suites=() reasons=()
chosen=()

usage() {
	cat <<-END
		usage: tools/mutate.sh [option...]
		  --list          print the faults chosen, run nothing
		  --places        find the place of each fault chosen, run nothing
		  --only PATTERN  only faults whose line in --list matches this shell pattern, such as 'lib/net/net/*'
		  --sample N/M    N of every M faults, chosen by the seed; M seeds in a row choose each fault N times
		  --seed NUMBER   of --sample; default: the days since 1970
		  --jobs N        faults tried at a time; default: one per CPU
		  --work DIR      keep the copies and their builds here for the next run; default: a temporary directory
		  --help          this
	END
}

die() {
	echo "mutate: $1" >&2
	exit 2
}

# need_number OPTION VALUE: fail unless the value is a number.
need_number() {
	[[ $2 =~ ^[0-9]+$ ]] || die "$1 $2: not a number"
}

parse_options() {
	read_options --list --places --only= --sample= --seed= --jobs= --work= -- "$@"
	[[ $sample =~ ^([0-9]+)/([1-9][0-9]*)$ ]] || die "--sample $sample: not of the form N/M"
	sample_n=${BASH_REMATCH[1]} sample_m=${BASH_REMATCH[2]}
	need_number --seed "$seed"
	need_number --jobs "$jobs"
	((jobs > 0)) || die "--jobs 0: nothing would run"
}

# ---- the table

# read_table TABLE: append its faults.
read_table() {
	local line place current='' number=0
	while IFS= read -r line || [[ -n $line ]]; do
		number=$((number + 1))
		case $line in
		'' | '#'*) ;;
		'? '*) current=${line:2} ;;
		'@ '*)
			place=${line:2}
			[[ $place =~ ^([^ ]+)\ ([^ :]+):\ (.+)$ ]] || die "$1:$number: expected: @ FILE FUNCTION: CONSEQUENCE"
			files+=("${BASH_REMATCH[1]}") functions+=("${BASH_REMATCH[2]}") breaks+=("${BASH_REMATCH[3]}")
			suites+=("$current") olds+=('') news+=('') reasons+=('')
			;;
		'- '*) olds[-1]=${line:2} ;;
		'+ '*) news[-1]=${line:2} ;;
		'+') ;;
		'= '*) reasons[-1]=${line:2} ;;
		*) die "$1:$number: unknown line: $line" ;;
		esac
	done <"$1"
}

# name_of I: print the name of a fault.
name_of() {
	echo "${files[$1]} ${functions[$1]}: ${breaks[$1]}"
}

choose() {
	local i
	for i in "${!files[@]}"; do
		[[ -n ${olds[i]} && -n ${suites[i]} ]] || die "$(name_of "$i"): no line to replace, or no suite"
		# shellcheck disable=SC2053 # a pattern is what it is
		[[ $(name_of "$i") == $only ]] || continue
		(((i + seed) % sample_m < sample_n)) || continue
		chosen+=("$i")
	done
	((${#chosen[@]} > 0)) || die "no fault is chosen"
}

# check_places: check that every fault has its place; print those that have lost it.
check_places() {
	local i verdict=ok stale
	stale=$(for i in "${chosen[@]}"; do
		printf '%s\0' "${files[i]}" "${functions[i]}" "${olds[i]}" "$(name_of "$i")"
	done | python3 tools/lib/put_fault.py --places) || verdict='not ok'
	echo "$verdict - mutants: the places of ${#chosen[@]} faults are found"
	[[ $verdict == ok ]] || { echo "$stale" && return 1; }
}

# ---- a copy of the tree

# copy_tree DIR: copy changed files only, with a new time, so that a build in DIR stays usable.
copy_tree() {
	local file
	while IFS= read -r -d '' file; do
		cmp -s "$file" "$1/$file" && continue
		mkdir -p "$1/$(dirname "$file")"
		cp -P --preserve=mode "$file" "$1/$file"
	done < <(find . \( -path './build*' -o -path './.git' \) -prune -o \( -type f -o -type l \) -print0)
}

# prepare DIR: make a copy with a build directory, nothing built. Optimize as usual: some suites count instructions.
prepare() {
	mkdir -p "$1"
	copy_tree "$1"
	[[ -e $1/build/build.ninja ]] || meson setup -Ddebug=false "$1/build" "$1" >"$1.log" 2>&1 || {
		tail -n 20 "$1.log" >&2
		die "meson setup failed"
	}
}

# ---- suites

# preloads: print the libraries that functional suites preload.
preloads() {
	sed -n "s|^shared_library('\([a-z_]*\)'.*|tests/lib\1.so|p" tests/meson.build
}

# targets SUITE: print the build targets of the suite.
targets() {
	local name=${1#*/}
	case $1 in
	unit/*) echo "tests/unit/test_$name" ;;
	fuzz/*) echo "tests/fuzz/replay_$name" ;;
	sim/*) echo tests/sim/tcp_sim ;;
	func/bench_sh) echo app/tapline tests/bench/bench_digest ;;
	func/*)
		echo app/tapline tests/relay
		preloads
		grep -o 'tests/bench/bench_[a-z_]*' "tests/func/${name}_test.sh" || true
		;;
	ixgbe/*)
		echo app/tapline tests/ixgbe/libixgbe_model.so tests/ixgbe/driver
		preloads
		;;
	*) die "$1: no such suite" ;;
	esac
}

# build DIR SUITE: build the targets of the suite.
build() {
	local names
	read -rd '' -a names <<<"$(targets "$2")" || true
	ninja -C "$1/build" "${names[@]}" >"$1.log" 2>&1
}

# run DIR SUITE SECONDS: run a suite; functional suites one at a time, because they disturb each other.
run() {
	local name=${2#*/} command alone=()
	case $2 in
	unit/*) command=(build/tests/unit/test_"$name") ;;
	fuzz/*) command=(build/tests/fuzz/replay_"$name" "tests/fuzz/corpus/$name") ;;
	sim/*) command=(build/tests/sim/tcp_sim "$name" --seeds 300) ;;
	func/* | ixgbe/*) command=("tests/${2%%/*}/${name}_test.sh") alone=(flock "$work/func.lock") ;;
	esac
	# Freed memory is overwritten, so that a use after free shows.
	export GLIBC_TUNABLES=glibc.malloc.tcache_count=0:glibc.malloc.perturb=165
	# Use a subshell, whose standard error takes bash's message about a crashed command.
	(cd "$1" && TL_BUILD=$1/build "${alone[@]}" timeout --kill-after=5 "$3" "${command[@]}" >"$1.log" 2>&1 </dev/null ||
		exit) 2>/dev/null
}

# check_suites DIR: check that each suite passes without a fault; else it could not detect one. Its time limits its later runs.
check_suites() {
	local suite begin i red=()
	for suite in $(for i in "${chosen[@]}"; do printf '%s\n' "${suites[i]}"; done | tr ' ' '\n' | sort -u); do
		targets "$suite" >/dev/null
		begin=$SECONDS
		if ! build "$1" "$suite" || ! run "$1" "$suite" 600; then
			grep -a '^not ok' "$1.log" >&2 || tail -n 20 "$1.log" >&2
			red+=("$suite")
		fi
		limits[$suite]=$((20 + 10 * (SECONDS - begin)))
	done
	((${#red[@]} == 0)) || die "fails without any fault: ${red[*]}"
}

# ---- one fault

# judge DIR I: set verdict and detail.
judge() {
	local suite
	verdict=stale detail='its place is not found'
	python3 tools/lib/put_fault.py "$1/${files[$2]}" "${functions[$2]}" "${olds[$2]}" "${news[$2]}" || return 0
	for suite in ${suites[$2]}; do
		if ! build "$1" "$suite"; then
			detail='does not compile'
			return
		elif ! run "$1" "$suite" "${limits[$suite]}" && ! run "$1" "$suite" "${limits[$suite]}"; then # not by chance
			verdict=killed detail="$suite: $(reason "$1.log")"
			return
		fi
	done
	verdict=survived detail=${reasons[$2]:-not explained}
}

# reason LOG: print the first failed test.
reason() {
	local line
	line=$(grep -a -m 1 '^not ok - ' "$1" | cut -d ' ' -f 4- || true)
	echo "${line:-crashed or timed out}"
}

# work_off DIR WORKER: process every jobs-th fault, each undone before the next.
work_off() {
	local n i file verdict detail
	for ((n = $2; n < ${#chosen[@]}; n += jobs)); do
		i=${chosen[n]} verdict=stale detail='there is no such file'
		file=$1/${files[i]}
		if [[ -e $file ]]; then
			cp "$file" "$1.saved"
			judge "$1" "$i"
			cp "$1.saved" "$file"
		fi
		printf '%-8s %s (%s)\n' "$verdict" "$(name_of "$i")" "$detail" | tee -a "$work/results"
	done
}

# ---- all

count() {
	grep -c "^$1 " "$work/results" || true
}

summary() {
	local killed survived stale
	killed=$(count killed) survived=$(count survived) stale=$(count stale)
	if ((killed + survived + stale != ${#chosen[@]})); then
		die "only $((killed + survived + stale)) of ${#chosen[@]} faults were tried"
	fi
	grep -v '^killed ' "$work/results" || true
	local verdict=ok
	((stale == 0 && killed * 100 >= least_percent * ${#chosen[@]})) || verdict='not ok'
	echo "$verdict - mutants: at least $least_percent % of ${#chosen[@]} faults are seen by a test"
	echo "$killed killed, $survived survived, $stale stale"
	[[ $verdict == ok ]]
}

main() {
	local worker table i pids=()
	declare -gA limits=()
	parse_options "$@"
	for table in tests/mutants/*.txt; do
		read_table "$table"
	done
	choose
	if $list; then
		for i in "${chosen[@]}"; do
			name_of "$i"
		done
		return
	fi
	if $places; then
		check_places
		return
	fi
	if [[ -z $work ]]; then
		work=$(mktemp -d)
		trap 'rm -rf "$work"' EXIT
	fi
	mkdir -p "$work"
	work=$(realpath "$work")
	: >"$work/results"
	for ((worker = 0; worker < jobs; worker++)); do
		prepare "$work/$worker"
	done
	check_suites "$work/0"
	for ((worker = 0; worker < jobs; worker++)); do
		work_off "$work/$worker" "$worker" &
		pids+=($!)
	done
	wait "${pids[@]}"
	echo
	summary
}

main "$@"
