#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs the public packetdrill suites through the stack, as they are.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=${TL_BUILD:-$here/../../build}
packetdrill=${PACKETDRILL:-$(command -v packetdrill || true)}

usage() {
	cat <<-END
		usage: tests/packetdrill/public.sh [--list] CHECKOUT
		CHECKOUT is a working tree of google/packetdrill or of freebsd-net/tcp-testsuite. Its scripts are run unchanged, in
		a network and mount namespace of their own, where the commands that they give the kernel (sysctl, ip, tc) do
		nothing. Prints a row per directory: passed, differs, not applicable. --list prints a line per script instead, with
		the reason.
		Needs root, packetdrill (\$PACKETDRILL or on the PATH) and a build with -Dpacketdrill=true (\$TL_BUILD).
	END
}

die() {
	echo "public.sh: $*" >&2
	exit 2
}

# What a script wants that is no part of the stack, first match: a regular expression of its path, or of its text.
not_applicable() {
	local path=$1 where what pattern
	while IFS=$'\t' read -r where pattern what; do
		case $where in
		path) [[ $path =~ $pattern ]] || continue ;;
		text) grep -v '^[[:space:]]*//' "$path" | grep -qE "$pattern" || continue ;;
		esac
		echo "$what"
		return 0
	done <<-'TABLE'
		path	ipv6|-v6\.pkt|v4-mapped	IPv6: the library speaks IPv4
		path	fast-?open	TCP Fast Open
		path	/cubic/|-cubic	CUBIC
		path	tcp-over-udp	TCP over UDP
		path	zerocopy|/splice/|/sendfile/|/epoll/	a call of the kernel's: zerocopy, splice, sendfile, epoll
		path	/timestamping/|/inq/	socket timestamps, TCP_INQ
		path	/md5/	TCP MD5
		path	/gro/	GRO
		path	mtu_probe	MTU probing by segments
		path	notsent_lowat	TCP_NOTSENT_LOWAT
		path	syscall_bad_arg	how the kernel checks arguments
		text	tcp_fastopen|TCP_FASTOPEN|MSG_FASTOPEN|FO [0-9a-fT]	TCP Fast Open
		text	udp_encaps|UDP_ENCAPS	TCP over UDP
		text	TCPI_[A-Z]	FreeBSD's TCP_INFO
		text	(mtu|MTU) ?[= ](72|9000|65535)|mtu (72|9000|65535)	another MTU of the interface
		text	md5|MD5	TCP MD5
		text	sockstat|netstat|/proc/net/tcp|\bss -	asks the kernel for its connections
		text	congestion_control=|TCP_CONGESTION|RACK_|FUNCTION_BLK	another congestion control
		text	SEW|S\.E| \[ect|ecn=[13]|SE\.|ECN	ECN
		text	IP_TOS|IP_TTL|IP_MTU_DISCOVER|TCP_NOOPT|KEEPINIT|TCP_KEEPCNT|TCP_KEEPINTVL	a socket option that the stack has no counterpart of
		text	epoll_create|splice\(|sendfile\(	a call of the kernel's: zerocopy, splice, sendfile, epoll
		text	tcpi_(busy_time|rwnd_limited|sndbuf_limited|last_data|delivered|reord|probes)	accounts of Linux' TCP_INFO
	TABLE
	return 1
}

# Commands that would change the kernel's settings and are nobody's here.
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

# run_script FILE: prints pass, or "differs", a tab and what packetdrill says.
run_script() {
	local out
	if out=$(cd "$(dirname "$1")" && PATH=$tmp/bin:$PATH LD_PRELOAD=$preload timeout -k 2 30 "$packetdrill" \
		--ip_version=ipv4 --so_filename="$library" --so_flags="$flags" "$(basename "$1")" 2>&1); then
		echo pass
	else
		printf 'differs\t%s\n' "$(tail -n 2 <<<"$out" | tr -s '\n\t ' '   ')"
	fi
}

judge() {
	local file=${1#./} reason
	if reason=$(not_applicable "$1"); then
		printf '%s\tn/a\t%s\n' "$file" "$reason"
	else
		printf '%s\t%s\n' "$file" "$(run_script "$1")"
	fi
}

# The rows of the table, from lines FILE, outcome, reason.
count() {
	awk -F '\t' '{ dir = $1; sub("/[^/]*$", "", dir); seen[dir]; n[dir, $2]++; all[$2]++ }
		END { printf "%-44s %7s %7s %7s\n", "directory", "passed", "differs", "n/a"
			for (d in seen) printf "%-44s %7d %7d %7d\n", d, n[d, "pass"], n[d, "differs"], n[d, "n/a"] | "sort"
			close("sort"); printf "%-44s %7d %7d %7d\n", "all", all["pass"], all["differs"], all["n/a"] }'
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
export -f judge not_applicable run_script
export tmp preload packetdrill library flags
find . -name '*.pkt' -print0 | sort -z | xargs -0 -n 1 -P "$(nproc)" bash -c 'judge "$1"' judge | sort >"$tmp/outcomes"
if $list; then
	cat "$tmp/outcomes"
else
	count <"$tmp/outcomes"
fi
