#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Hugepages that are free at the program's check and taken when DPDK starts: a bind mount over the kernel's count lists
# pages of 1 GiB that do not exist.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

PAGES=/sys/kernel/mm/hugepages
GIB=hugepages-1048576kB

# These mounts are in a private mount namespace, which unmounts them at its end.
if ! unshare --mount true 2>/dev/null; then
	skip "hugepages that are taken" "no mount namespaces"
	exit 0
fi
[[ -n ${TL_PRIVATE_MOUNTS:-} ]] || TL_PRIVATE_MOUNTS=1 exec unshare --mount "$0"
if [[ $(cat "$PAGES/$GIB/free_hugepages" 2>/dev/null || echo 0) != 0 ]]; then
	skip "hugepages that are taken" "this host has free ones of 1 GiB"
	exit 0
fi

# cover_hugepages: hide the kernel's hugepages, whatever the other suites of this host reserve.
cover_hugepages() {
	mkdir -p "pages/$GIB"
	echo 0 | tee "pages/$GIB"/{nr,free,resv,surplus}_hugepages >"pages/$GIB/nr_overcommit_hugepages"
	mount --bind pages "$PAGES"
}

# claim_hugepages: make the kernel's count show free ones.
claim_hugepages() {
	echo 4 | tee "pages/$GIB/nr_hugepages" >"pages/$GIB/free_hugepages"
}

# lock_is_free: check the lock of a hugetlbfs mount, which DPDK holds while it starts.
lock_is_free() {
	flock --nonblock "$DIR/mount" true
}

# is_up NAME PID: check that it is up, or has failed.
is_up() {
	[[ -S $1.sock ]] || is_gone "$2"
}

# record NAME: record a port without frames, until the program is up; its descriptors are then in NAME.fds.
record() {
	local pid
	"$TAPLINE" capture -i vdev:net_ring0 -w "$1.pcapng" --control "$1.sock" --json >"$1.json" 2>"$1.log" </dev/null &
	pid=$!
	wait_for 60 is_up "$1" "$pid" || true
	[[ -S $1.sock ]] || func_die "the recording did not begin"
	find "/proc/$pid/fd" -type l -printf '%l\n' | sed 's/[0-9]\{2,\}//; s/'"$1"'/NAME/' | sort >"$1.fds"
	lock_free=$(lock_is_free && echo yes || echo no)
	kill -s INT "$pid"
	wait "$pid"
}

# went_on LOG
went_on() {
	grep -q 'warning: DPDK did not start with hugepages: another process took .* starting again with ordinary memory' "$1"
}

# check_begins SENTENCE ARGUMENT...: check that the program continues without hugepages, and end it early.
check_begins() {
	local sentence=$1 pid
	shift
	"$TAPLINE" "$@" >begin.txt 2>begin.log </dev/null &
	pid=$!
	check "$sentence" wait_for 60 went_on begin.log
	stop_process "$pid" KILL 5 2>/dev/null || true
}

func_begin
"$func_root/tests/lib/make_pcap.py" in.pcap 100
mkdir mount
cover_hugepages
record before
mounted=$(mount -t hugetlbfs -o pagesize=1G none mount 2>/dev/null && echo yes || echo no)
claim_hugepages

status=0
"$TAPLINE" capture -i pcap:in.pcap -w out.pcapng --json udp port 5001 >run.json 2>run.log </dev/null || status=$?
check_equal "a capture continues if its hugepages are taken before DPDK starts" "$status" 0
check "the fallback is reported" went_on run.log
check_json "the arguments are preserved" run.json '.lossless and (.captures[0] | .written_pkts == 50 and .filtered_pkts == 50)'

record after
lock_freed="a lock on a mount of hugetlbfs does not outlive the start that failed"
if [[ $mounted == yes ]]; then
	check_equal "$lock_freed" "$lock_free" yes
else
	skip "$lock_freed" "this kernel mounts none for pages of 1 GiB"
fi
check_equal "no descriptors are inherited" "$(cat after.fds)" "$(cat before.fds)"

check_begins "a client on a port continues" client --port vdev:net_ring0 --ip 10.9.0.1/24 --udp-echo 10.9.0.2:7
check_begins "the self-test of a card continues" doctor --self-test vdev:net_ring0
echo in.pcap >list
check_begins "a replay of a list continues" replay @list -i vdev:net_null0

status=0
"$TAPLINE" replay @<(cat list) -i vdev:net_null0 >replay.txt 2>replay.log </dev/null || status=$?
check "a replay of a list from a pipe is not repeated" test -z "$(grep 'starting again' replay.log)"
check "it fails, and the message says why" test "$status $(grep -c 'no second start .* cannot be read again' replay.log)" = "1 1"

status=0
echo '{"ports": [{"name": "lan", "device": "pcap:in.pcap"}]}' >required.json
"$TAPLINE" run required.json --duration 1 >run.json 2>required.log </dev/null || status=$?
check_equal "a configuration that requires hugepages is refused" "$status" 2
check "the start is not repeated without hugepages" test -z "$(grep 'starting again' required.log)"
[[ $mounted == no ]] || umount mount
