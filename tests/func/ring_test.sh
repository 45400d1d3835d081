#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A recording that rotates and keeps a ring of files: by time while idle, after a restart, on a full disk, and on
# demand.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

capture() {
	timeout 60 "$TAPLINE" capture "$@" 2>>capture.log </dev/null
}

# Check that each file has its header and, once closed, its statistics.
all_are_whole() {
	local file
	for file in "$@"; do
		grep -q 'Number of stat entries = 1' <(capinfos "$file" 2>&1) || return
	done
}

count_frames() {
	local file
	for file in "$@"; do
		tshark -r "$file" 2>/dev/null
	done | wc -l
}

# ring_start OPTION...: record the appliance's end of the veth.
ring_start() {
	rm -f run.log
	ip netns exec "$APP_NS" "$TAPLINE" capture -i "$APP_IF" --json "$@" icmp >run.json 2>run.log </dev/null &
	app_pid=$!
	wait_for 60 grep -qs ' s  received' run.log || func_die "the recording did not start"
}

# has_files N PATTERN
has_files() {
	(($(find . -maxdepth 1 -name "$2" | wc -l) >= $1))
}

now_utc() {
	date -u +idle_%Y%m%d-%H%M%S.pcapng
}

# are_between FIRST LAST NAME...: check that the names are within these.
are_between() {
	[[ ! $3 < $1 && ! ${*: -1} > $2 ]]
}

# some_follow_at_once NAME...: check that one of them is of the second after the one before it. A busy host may miss some.
some_follow_at_once() {
	local time last=''
	for time in $(sed -E 's/.*_(....)(..)(..)-(..)(..)(..)\..*/\1-\2-\3T\4:\5:\6Z/' <<<"$(printf '%s\n' "$@")"); do
		time=$(date -u -d "$time" +%s)
		[[ $last != $((time - 1)) ]] || return 0
		last=$time
	done
	return 1
}

rotates_while_idle() {
	local first names
	first=$(now_utc)
	ring_start -w 'idle_%Y%m%d-%H%M%S.pcapng' --rotate-seconds 1
	wait_for 60 has_files 4 'idle_*.pcapng*' || true
	app_stop TERM
	check_equal "timed rotation without traffic ends with status 0" "$APP_STATUS" 0
	mapfile -t names < <(printf '%s\n' idle_*.pcapng)
	check "a file exists for each second" test "${#names[@]}" -ge 4
	check "file names have the time in UTC" are_between "$first" "$(now_utc)" "${names[@]}"
	check "files of a second follow each other" some_follow_at_once "${names[@]}"
	check "each has a header and statistics" all_are_whole "${names[@]}"
	check_equal "the results list them" "$(printf '%s\n' "${names[@]}")" "$(jq -r '.captures[0].files[]' run.json)"
	check_equal "no other file remains" "$(find . -name '*idle*' | wc -l)" "${#names[@]}"
}

rotates_on_demand() {
	ring_start -w hup.pcapng
	in_peer ping -q -c 5 -i 0.01 "$APP_IP" >/dev/null
	wait_for 60 grep -q 'recorded 10 ' run.log || true # slabs are handed over within a second
	kill -s HUP "$app_pid"
	check "SIGHUP starts a new file" wait_for 60 test -e hup_00001.pcapng
	check "SIGHUP completes the previous file" wait_for 60 all_are_whole hup.pcapng
	check_equal "the file has the recorded packets" "$(count_frames hup.pcapng)" 10
	in_peer ping -q -c 5 -i 0.01 "$APP_IP" >/dev/null
	app_stop INT
	check_equal "the recording continues to its end" "$APP_STATUS" 0
	check_equal "later packets are in the new file" "$(count_frames hup_00001.pcapng)" 10
	check_json "the ledger is consistent" run.json '.ledger_ok and .captures[0].written_pkts == 20'
}

keeps_a_ring() {
	mkdir ring
	echo keep >ring/r_00002.pcapng # has the name of a ring file, but is not ours
	capture -i pcap:in.pcap -w ring/r.pcapng --rotate 4M --keep-files 3 --json >first.json || true
	check_json "a ring of 3 files removes and counts the others" first.json '.ledger_ok and .lossless and
		(.captures[0] | .written_pkts == 20000 and (.files | length) == 3 and .recycled_files > 1 and
		.recycled_bytes > 4000000 * .recycled_files * 0.5)'
	check_equal "the remaining files are those in the results" "$(find ring -name 'r*.pcapng' ! -name r_00002.pcapng | sort)" \
		"$(jq -r '.captures[0].files | sort | .[]' first.json)"
	last=$(jq -r '.captures[0].files[-1]' first.json)
	capture -i pcap:in.pcap -w ring/r.pcapng --count 10 --rotate 4M --keep-files 3 --json >second.json || true
	check_json "after a restart the ring recognizes its files and removes one" second.json \
		'.captures[0] | (.files | length) == 1 and .recycled_files == 1'
	check_equal "the oldest file is removed" "$(test -e "$(jq -r '.captures[0].files[0]' first.json)" || echo gone)" gone
	check "the newest file exists" test -e "$last"
	check_equal "file numbers continue" "$(jq -r '.captures[0].files[0]' second.json)" "$(next_name "$last")"
	check_equal "a foreign file is kept" "$(cat ring/r_00002.pcapng)" keep
}

next_name() {
	local number=${1##*_}
	printf 'ring/r_%05d.pcapng' $((10#${number%.pcapng} + 1))
}

# As on NFS: a killed run's file is recovered, and the ring of earlier runs is detected and kept.
keeps_a_ring_on_nfs() {
	local LD_PRELOAD=${TL_BUILD:-$func_root/build}/tests/libnfs_locks.so
	check "locks behave as on NFS" test -e "$LD_PRELOAD"
	export LD_PRELOAD
	capture -i pcap:in.pcap -w nfs/r.pcapng --rotate 4M --keep-files 3 --json >nfs1.json || true
	mv "$(jq -r '.captures[0].files[-1]' nfs1.json)" nfs/r_00777.pcapng.part
	check_equal "on NFS recover --dry-run can check a file" \
		"$("$TAPLINE" recover nfs --dry-run --json | jq .recovered)" 1
	capture -i pcap:in.pcap -w nfs/r.pcapng --count 10 --rotate 4M --keep-files 3 --json >nfs2.json || true
	check "the next recording recovers the leftover files" test -e nfs/r_00777.pcapng
	check_json "the ring recognizes its files" nfs2.json '.captures[0].recycled_files == 1'
	check_equal "the ring keeps its limit" "$(find nfs -name 'r*' ! -name '*.tlx' | wc -l)" 3
}

# The small disk is mounted in a private mount namespace, which unmounts it at its end.
# on_small_disk OPTION...
on_small_disk() {
	mkdir -p small
	# shellcheck disable=SC2016 # expanded by the inner shell
	unshare --mount sh -c 'tapline=$1; shift; mount -t tmpfs -o size=12m none small || exit
		timeout 60 "$tapline" capture -i pcap:in.pcap -w small/r.pcapng --json "$@" >run.json 2>run.log
		echo $? >status
		jq -r ".captures[0].files[]" run.json | while read -r file; do tshark -r "$file" 2>/dev/null; done |
			wc -l >frames' sh "$TAPLINE" "$@"
}

recycles_a_full_disk() {
	if ! unshare --mount true 2>/dev/null; then
		skip "a full disk is recycled" "no mount namespaces"
		return
	fi
	on_small_disk --rotate 4M --on-full recycle
	check_equal "on a full disk --on-full recycle continues: status 0" "$(cat status)" 0
	check_json "no frame is lost, and removed files are counted" run.json '.ledger_ok and .lossless and
		(.captures[0] | .written_pkts == 20000 and .drop_disk_pkts == 0 and .recycled_files > 0)'
	check "the last files are complete" test "$(cat frames)" -gt 5000
	on_small_disk --rotate 4M
	check_equal "--on-full pause ends with status 1" "$(cat status)" 1
	check_json "dropped packets are counted" run.json \
		'.ledger_ok and (.captures[0] | .drop_disk_pkts > 0 and .recycled_files == 0)'
	# The last files may lack room for their closing blocks: they keep the name .part.
	check_equal "the written packets are in the files" "$(cat frames)" "$(jq '.captures[0].written_pkts' run.json)"
}

rotates_through_the_socket() {
	app_config control.json '"capture": [{"port": "lan", "path": "ctl.pcapng", "rotate_seconds": 3600}]'
	app_start control.json
	check_equal "the control socket takes \"rotate\"" "$(ask rotate | jq .ok)" true
	check "the last file is completed" wait_for 60 all_are_whole ctl.pcapng
	check "the next file is being written" test -e ctl_00001.pcapng.part
	app_stop TERM
	check_equal "the recording ends with status 0" "$APP_STATUS" 0
	check "the last file is complete" all_are_whole ctl_00001.pcapng
}

# ask COMMAND
ask() {
	python3 -c 'import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect("control.sock")
s.sendall(sys.argv[1].encode() + b"\n")
print(b"".join(iter(lambda: s.recv(65536), b"")).decode())' "$1"
}

func_begin
"$(dirname "$PEER_PY")/make_pcap.py" in.pcap 20000
keeps_a_ring
mkdir nfs
(keeps_a_ring_on_nfs) || func_failed=1
check_equal "a ring without rotation has exit status 2" \
	"$(capture -i pcap:in.pcap -w x.pcapng --keep-files 3 >/dev/null && echo 0 || echo $?)" 2
check_equal "an unknown conversion in the name has exit status 2" \
	"$(capture -i pcap:in.pcap -w 'x_%q.pcapng' >/dev/null && echo 0 || echo $?)" 2
recycles_a_full_disk
net_begin
ip -netns "$APP_NS" address add "$APP_IP/24" dev "$APP_IF"
rotates_while_idle
rotates_on_demand
ip -netns "$APP_NS" address flush dev "$APP_IF"
rotates_through_the_socket
