#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Run the public packetdrill suites, unchanged, on the stack.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=${TL_BUILD:-$here/../../build}
reasons=$here/public.tsv
packetdrill=${PACKETDRILL:-$(command -v packetdrill || true)}

usage() {
	cat <<-END
		usage: tests/packetdrill/public.sh [--list] CHECKOUT
		CHECKOUT is a working tree of google/packetdrill or of freebsd-net/tcp-testsuite. Its scripts are run unchanged, in
		a network and mount namespace of their own, where the commands that they give the kernel (sysctl, ip, tc) do
		nothing. Prints tables by directory and by reason: passed, differs on purpose, not applicable. --list prints a line
		per script first. public.tsv has the reasons. Exit 1: a script differs and has none.
		Needs root, packetdrill (\$PACKETDRILL or on the PATH) and a build with -Dpacketdrill=true (\$TL_BUILD).
	END
}

die() {
	echo "public.sh: $*" >&2
	exit 2
}

# explain WHERE TEXT: print class and reason of the first row of public.tsv whose pattern matches TEXT.
explain() {
	local class where pattern reason
	while IFS=$'\t' read -r class where pattern reason; do
		[[ $where == "$1" && $2 =~ $pattern ]] || continue
		printf '%s\t%s\n' "$class" "$reason"
		return 0
	done <"$reasons"
	return 1
}

# Disable commands that would change the kernel's settings.
make_stubs() {
	local name
	mkdir "$tmp/bin" "$tmp/common"
	for name in sysctl ip tc ifconfig ethtool nstat ipfw kldload; do
		printf '#!/bin/sh\nexit 0\n' >"$tmp/bin/$name"
	done
	printf '#!/bin/sh\nexit 0\n' >"$tmp/common/defaults.sh"
	cat >"$tmp/common/set_sysctls.py" <<-'END'
		#!/bin/sh
		printf '#!/bin/sh\nrm -f "$0"\n' >"/tmp/sysctl_restore_$PACKETDRILL_PID.sh"
		chmod +x "/tmp/sysctl_restore_$PACKETDRILL_PID.sh"
	END
	chmod +x "$tmp"/bin/* "$tmp"/common/*
}

# run_script FILE: print passed, or packetdrill's message.
run_script() {
	local out
	if out=$(cd "$(dirname "$1")" && PATH=$tmp/bin:$PATH LD_PRELOAD=$preload timeout -k 2 30 "$packetdrill" \
		--ip_version=ipv4 --so_filename="$library" --so_flags="$flags" "$(basename "$1")" 2>&1); then
		echo passed
	else
		tail -n 2 <<<"${out:-no word: killed, or out of time}" | tr -s '\n\t ' '   '
	fi
}

# Print a line: file, class, reason, packetdrill's message.
judge() {
	local file=${1#./} said='' row
	row=$(explain path "$1" || explain text "$(grep -v '^[[:space:]]*//' "$1")") || said=$(run_script "$1")
	if [[ $said == passed ]]; then
		row=$'passed\t' said=''
	elif [[ -n $said ]]; then
		row=$(explain said "$file: $said") || row=$'unexplained\t'
	fi
	printf '%s\t%s\t%s\n' "$file" "$row" "$said"
}

# Print tables by directory and by reason, from lines of judge. Fail if there are none, or a difference is unexplained.
report() {
	awk -F '\t' '{ dir = $1; sub("/?[^/]*$", "", dir); seen[dir]; n[dir, $2]++; all[$2]++ }
		$3 != "" { why[$2 "\t" $3]++ }
		$2 == "unexplained" { unexplained = unexplained "unexplained: " $1 ": " $4 "\n" }
		END { printf "%-44s %7s %7s %7s\n", "directory", "passed", "differs", "n/a"
			for (d in seen) printf "%-44s %7d %7d %7d\n", d, n[d, "passed"], n[d, "differs"], n[d, "n/a"] | "sort"
			close("sort"); print ""
			for (w in why) { split(w, part, "\t"); printf "%-7s %5d  %s\n", part[1], why[w], part[2] | "sort -k1,1 -k2,2nr" }
			close("sort -k1,1 -k2,2nr")
			printf "\n%s%d scripts: %d passed, %d differ on purpose, %d not applicable, %d unexplained\n", unexplained, NR,
				all["passed"], all["differs"], all["n/a"], all["unexplained"]
			exit NR == 0 || all["unexplained"] > 0 }'
}

list=false
[[ ${1:-} == --list ]] && list=true && shift
[[ ${1:-} == --help ]] && usage && exit
(($# == 1)) || { usage >&2 && exit 2; }
checkout=$(realpath "$1")
library=$(realpath -m "$build/tests/packetdrill/libtapline_packetdrill.so")
preload=$(realpath -m "$build/tests/packetdrill/libtapline_packetdrill_preload.so")
[[ -e $library && -e $preload ]] || die "there is no $library: meson setup -Dpacketdrill=true"
[[ -x $packetdrill ]] || die "there is no packetdrill: build it from google/packetdrill, and set PACKETDRILL"
if [[ ${TL_PUBLIC_INSIDE:-} != yes ]]; then
	options=()
	$list && options+=(--list)
	TL_PUBLIC_INSIDE=yes exec unshare --net --mount "${BASH_SOURCE[0]}" "${options[@]}" "$checkout"
fi
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
make_stubs
if [[ -d $checkout/gtests/net/tcp ]]; then
	cd "$checkout/gtests/net/tcp"
	mount --bind "$tmp/common" common
	flags=window_bytes=15728640,send_bytes=1048576,like=1
else
	cd "$checkout"
	flags=window_bytes=2097152,like=2
fi
export -f judge explain run_script
export tmp preload packetdrill library flags reasons
find . -name '*.pkt' -print0 | sort -z | xargs -0 -r -n 1 -P "$(nproc)" bash -c 'judge "$1"' judge | sort >"$tmp/outcomes"
! $list || cat "$tmp/outcomes"
report <"$tmp/outcomes"
