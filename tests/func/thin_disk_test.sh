#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A thinly provisioned disk: writes through the page cache succeed, and are lost later. Data counted as written must be
# present after a new mount of the file system.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

mount_options=loop

# 64 MiB on 24.
thin_disk() {
	mkdir -p store disk
	mount -t tmpfs -o size=24m none store
	truncate -s 64M store/image
	mkfs.ext4 -q -F -J size=4 store/image
	mount -o "$mount_options" store/image disk
}

# Mount again, so that no data comes from memory; the journal needs room.
remount() {
	umount disk
	mount -o remount,size=96m store
	mount -o "$mount_options" store/image disk
}

# capture OPTION...: as classic pcap, through the page cache.
capture() {
	capture_as pcap-ns "$@"
}

# capture_as FORMAT OPTION...
capture_as() {
	timeout 60 "$TAPLINE" capture -i pcap:in.pcap --json --format "$@"
}

# The results are the last lines of standard error.
capture_to_stdout() {
	local status=0
	capture -w - 2>all.log >disk/x.pcap || status=$?
	sed -n '/^{/,$p' all.log
	return $status
}

# record NAME COMMAND...: record; keep the results, the status, tcpdump's count of each file, and the damaged files.
record() {
	local name=$1 file
	shift
	thin_disk
	"$@" >"$name.json" 2>"$name.log" && echo 0 >"$name.status" || echo $? >"$name.status"
	remount
	for file in disk/x*.pcap disk/x*.pcap.part; do
		[[ -e $file ]] || continue
		tcpdump -nr "$file" 2>>"$name.tcpdump" || echo "$file" >>"$name.broken"
	done | wc -l >"$name.records"
	umount disk store
}

# judge NAME SENTENCE
judge() {
	check_equal "$2: the run ends with status 1" "$(cat "$1.status")" 1
	check_json "$2: data lost by the disk counts as dropped, and the ledger is consistent" "$1.json" \
		'.ledger_ok and (.lossless | not) and .captures[0].drop_disk_pkts > 0'
	check_json "$2: frames were written before the disk was full" "$1.json" '.captures[0].written_pkts > 0'
	check "$2: the files hold at least what is counted as written" \
		test "$(cat "$1.records")" -ge "$(jq '.captures[0].written_pkts' "$1.json")"
}

if ! unshare --mount true 2>/dev/null || ! losetup -f >/dev/null 2>&1; then
	skip "a disk that promises more than it has" "no mount namespaces, or no loop devices"
	exit
fi
[[ -n ${TL_PRIVATE_MOUNTS:-} ]] || TL_PRIVATE_MOUNTS=1 exec unshare --mount "$0"
func_begin
touch rotated.broken
"$(dirname "$PEER_PY")/make_pcap.py" in.pcap 40000
record rotated capture -w disk/x.pcap --rotate 4M
judge rotated "a recording that rotates"
check "every file with a complete name is complete" awk '/pcap$/ { exit 1 }' rotated.broken
record single capture -w disk/x.pcap
judge single "a recording in one file"
record stdout capture_to_stdout
check_equal "standard output into a file: the run ends with status 1" "$(cat stdout.status)" 1
check_json "standard output into a file: what the disk has lost is not counted as written" stdout.json \
	'.ledger_ok and (.lossless | not) and .captures[0].drop_disk_pkts > 0'
check "standard output into a file: it holds at least what is counted as written" \
	test "$(cat stdout.records)" -ge "$(jq '.captures[0].written_pkts' stdout.json)"
# It accepts O_DIRECT, and writes through the page cache.
mount_options=loop,data=journal
record journal capture_as pcapng -w disk/x.pcap --rotate 4M --fsync never
judge journal "a file system that ignores O_DIRECT"
check_equal "a file system that ignores O_DIRECT: the page cache is logged once" "$(grep -c 'or ignores it' journal.log)" 1
