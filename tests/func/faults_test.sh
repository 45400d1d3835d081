#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A recording whose target cannot be written, at first or later, and one with frames of every length: drops are counted, the
# recording continues when possible and ends on request, and its files are complete.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

# The small file systems are mounted in a private mount namespace, which unmounts them at its end.
if ! unshare --mount true 2>/dev/null; then
	skip "a target that fails" "no mount namespaces"
	exit
fi
[[ -n ${TL_PRIVATE_MOUNTS:-} ]] || TL_PRIVATE_MOUNTS=1 exec unshare --mount "$0"

# ---- recording a file

capture() {
	rm -f capture.log
	timeout 60 "$TAPLINE" capture "$@" 2>capture.log </dev/null
}

# capture_status OPTION...: print its exit status; its results go to run.json.
capture_status() {
	capture --json "$@" >run.json && echo 0 || echo $?
}

# Print the number of frames that capinfos finds in files, without a warning.
count_frames() {
	capinfos -TMrc "$@" 2>&1 | awk -F'\t' '$2 !~ /^[0-9]+$/ {bad = 1; print} {sum += $2} END {if (!bad) print sum}'
}

# lengths FILE SNAPLEN: print the lengths of each frame, on the wire and in a recording with this snaplen.
lengths() {
	tshark -r "$1" -T fields -e frame.len 2>/dev/null | awk -v snap="$2" '{print $1 "\t" ($1 < snap ? $1 : snap)}'
}

# bytes FILE: a checksum of tshark's output per frame.
bytes() {
	tshark -r "$1" -x 2>/dev/null | cksum
}

read_only_from_the_start() {
	local option
	mkdir ro
	mount -t tmpfs -o ro none ro
	for option in '' --rotate=4M; do
		check_equal "a read-only target has exit status 2${option:+, also with $option}" \
			"$(capture_status -i pcap:in.pcap -w ro/x.pcapng $option)" 2
		check "the message has reason and remedy${option:+, also with $option}" \
			grep -q 'ro/.*x.pcapng.*: cannot open: Read-only file system; remount it writable' capture.log
	done
	umount ro
}

no_direct_io() {
	mkdir ram
	mount -t ramfs none ram
	check_equal "without O_DIRECT support the recording ends with status 0" \
		"$(capture_status -i pcap:in.pcap -w ram/x.pcapng --rotate 4M)" 0
	check_equal "the fallback is logged once" "$(grep -c 'refuses O_DIRECT' capture.log)" 1
	check_equal "every frame is in the file" "$(count_frames ram/*.pcapng)" 20000
	umount ram
}

limit_of_file_size() {
	ulimit -S -f 1024 # less than a slab and the opening blocks
	check_equal "a file size limit ends with status 1, not with SIGXFSZ" "$(capture_status -i pcap:in.pcap -w limit.pcapng)" 1
	check "the message names the limit" grep -q 'limit.pcapng: .*File too large; raise the file size limit (ulimit -f)' capture.log
	check_json "frames beyond the limit are counted" run.json \
		'.ledger_ok and (.captures[0] | .drop_disk_pkts > 10000 and .written_pkts > 500 and .written_pkts + .drop_disk_pkts == 20000)'
	check_equal "the written packets are in the file" "$(count_frames limit.pcapng)" "$(jq '.captures[0].written_pkts' run.json)"
	ulimit -S -f 1
	check_equal "a result that cannot be written completely has exit status 1" "$(capture_status -i pcap:in.pcap -w /dev/null)" 1
	check_equal "a log at its size limit has exit status 0" "$(capture -i pcap:in.pcap -w /dev/null >/dev/null && echo 0 || echo $?)" 0
	ulimit -S -f 2560
	check_equal "a rotating recording continues in the next file: status 0" \
		"$(capture_status -i pcap:in.pcap -w limits.pcapng --rotate-seconds 3600)" 0
	check_json "nothing is lost" run.json '.ledger_ok and .lossless and (.captures[0].files | length) > 5'
	check_equal "every frame is recorded once" "$(count_frames limits*.pcapng)" 20000
	ulimit -S -f unlimited
}

odd_frames() {
	"$(dirname "$PEER_PY")/make_pcap.py" odd.pcap 3 0 1 13 14 9000 65535 65536 262144
	check_equal "frames of 0 to 262144 bytes are recorded: status 0" "$(capture_status -i pcap:odd.pcap -w odd.pcapng --buffer 4M)" 0
	check_json "the frames are counted" run.json '.ledger_ok and .lossless and .captures[0].written_pkts == 24'
	check_equal "the frames are recorded byte for byte" "$(bytes odd.pcapng)" "$(bytes odd.pcap)"
	check_equal "a recording of large frames with a snaplen ends with status 0" \
		"$(capture_status -i pcap:odd.pcap -w snap.pcapng --snaplen 5000)" 0
	check_equal "the frames are truncated at the snaplen" \
		"$(tshark -r snap.pcapng -T fields -e frame.len -e frame.cap_len 2>/dev/null)" \
		"$(lengths odd.pcap 5000)"
	check_equal "a recording with a filter on large frames ends with status 0" \
		"$(capture_status -i pcap:odd.pcap -w long.pcapng 'ether[8999] >= 0 and greater 9000')" 0
	check_json "frames that do not match are counted" \
		run.json '.ledger_ok and (.captures[0] | .written_pkts == 12 and .filtered_pkts == 12)'
}

bad_filter() {
	check_equal "an invalid filter has exit status 2" "$(capture_status -i pcap:in.pcap -w bad.pcapng tcp port port)" 2
	check "the message has libpcap's reason and the position" grep -q "syntax error, at character 10: 'port'" capture.log
	cat >bad.json <<-END
		{
			"eal": {"huge": false, "memory_mb": 256},
			"ports": [{"name": "file", "device": "pcap:in.pcap"}],
			"capture": [{"port": "file", "path": "good.pcapng", "filter": "udp"}, {"port": "file", "path": "bad.pcapng", "filter": "udp and"}],
			"control": {"socket": "bad.sock"}
		}
	END
	check_equal "an invalid filter in a configuration has exit status 2" \
		"$(timeout 20 "$TAPLINE" run bad.json >bad.out 2>bad.log && echo 0 || echo $?)" 2
	check "the message has the path of the recording" grep -q 'bad.json: $.capture\[1\].filter: .*syntax error, at its end' bad.log
	check_equal "no file was created" "$(ls good.pcapng bad.pcapng bad.sock 2>/dev/null)" ""
}

# ---- recording of received frames

# live_start CAPTURE...: start recordings, each the JSON of a capture without its port; all of them get all frames sent
# here.
live_start() {
	local captures
	captures=$(printf ', {"port": "lan", "filter": "ether proto 0x88b5", %s}' "$@")
	cat >live.json <<-END
		{
			"eal": {"huge": false, "memory_mb": 384},
			"ports": [{"name": "lan", "device": "$APP_IF"}],
			"capture": [${captures#, }],
			"control": {"socket": "control.sock"}
		}
	END
	app_start live.json
}

send_frames() {
	in_peer "$PEER_PY" flood "$PEER_IF" "$1" 200000 >/dev/null
}

# Wait until each recording's counter has this value.
wait_all() {
	wait_for 60 status_is "[.captures[].$1] | all(. == $2)" || not_ok "$1 becomes $2" "$(app_status '.captures')"
}

# check_end SENTENCE SIGNAL DIR: end it by the signal; check for bounded time, status 1, a valid ledger, and complete
# files of the first recording, or in DIR.
check_end() {
	app_stop "$2"
	check_equal "$1: SIG$2 ends it with status 1" "$APP_STATUS" 1
	check_json "$1: every frame is accounted for, and some are lost" run.json \
		'.ledger_ok and (.lossless | not) and all(.captures[]; .offered_pkts == .written_pkts + .drop_disk_pkts + .drop_ring_pkts)'
}

# holds SENTENCE FILE...: check that they have the packets that the first recording counts as written.
holds() {
	check_equal "$1" "$(count_frames "${@:2}")" "$(jq '.captures[0].written_pkts' run.json)"
}

target_removed() {
	mkdir gone
	live_start '"path": "gone/one.pcapng"' '"path": "gone/many.pcapng", "rotate_bytes": "64M", "index": false'
	send_frames 1000
	wait_all written_pkts 1000
	rm -r gone
	send_frames 1000
	wait_all drop_disk_pkts 1000
	mkdir gone
	check "a recording continues when its directory is restored" wait_for 60 test -e gone/one_00001.pcapng
	check "a rotating recording continues when its directory is restored" wait_for 60 compgen -G 'gone/many*.part'
	send_frames 1000
	wait_all written_pkts 2000
	check_end "a directory that was removed for a while" TERM
	check "the message names the remedy" grep -q 'gone/one.pcapng: .*No such file or directory; create its directory' run.log
	check_json "lost frames are counted exactly" run.json \
		'all(.captures[]; .written_pkts == 2000 and .drop_disk_pkts == 1000)'
	check_equal "the results list the existing files" "$(jq -r '.captures[].files[]' run.json | sort)" "$(printf '%s\n' gone/* | sort)"
	check_equal "the files contain the frames received since" "$(count_frames gone/*.pcapng)" 2000
	check_equal "no other file remains" "$(find gone -name '.*' -o -name '*.part')" ""
}

stopped_without_target() {
	mkdir gone2
	live_start '"path": "gone2/one.pcapng"' '"path": "gone2/many.pcapng", "rotate_seconds": 1'
	rm -r gone2
	send_frames 200000
	check_end "a directory that is gone" INT
	check_json "nothing is taken for written" run.json '.captures | length == 2 and all(.drop_disk_pkts > 0)'
}

stopped_on_a_full_disk() {
	mkdir full
	mount -t tmpfs -o size=3m none full
	live_start '"path": "full/x.pcapng"'
	send_frames 100000
	wait_for 60 status_is '.captures[0].drop_disk_pkts > 0' || true
	check_end "a full disk" INT
	holds "a full disk: the file has the packets counted as written" full/x.pcapng
	umount full
}

stopped_at_the_limit() {
	ulimit -S -f 1024
	live_start '"path": "stop.pcapng"'
	send_frames 100000
	wait_for 60 status_is '.captures[0].drop_disk_pkts > 0' || true
	check_end "a file size limit" TERM
	holds "a file size limit: the file has the packets counted as written" stop.pcapng
	ulimit -S -f unlimited
}

# A private file system, which the kernel makes read-only, as it does after an error.
disk_begin() {
	truncate -s 64M disk.img
	mkfs.ext4 -q -O ^has_journal disk.img && mkdir disk && mount -o loop,errors=remount-ro disk.img disk 2>mount.log
}

read_only_while_running() {
	local device
	device=$(findmnt -no SOURCE disk)
	live_start '"path": "disk/one.pcapng"' '"path": "disk/many.pcapng", "rotate_bytes": "64M"'
	send_frames 50000
	wait_all written_pkts 50000
	echo 1 >"/sys/fs/ext4/${device##*/}/trigger_fs_error"
	send_frames 1000
	wait_all drop_disk_pkts 1000
	check_end "a file system that turns read-only" TERM
	check_json "earlier frames count as written, later ones are counted as lost" run.json \
		'all(.captures[]; .written_pkts == 50000 and .drop_disk_pkts == 1000)'
	holds "a file system remounted read-only: the file has the packets counted as written" disk/one.pcapng
	check_equal "a rotating recording keeps the name of an incomplete file" "$(count_frames disk/many.pcapng.part)" 50000
}

# No new file can be created, and the old ones can be written.
directory_protected() {
	live_start '"path": "disk/kept.pcapng", "rotate_packets": 1000, "index": false'
	chattr +i disk
	send_frames 5000
	wait_all written_pkts 5000
	send_frames 5000
	wait_all written_pkts 10000
	chattr -i disk
	check "a directory that becomes writable again receives the next file" wait_for 60 grep -q 'rotating again' run.log
	app_stop TERM
	check_equal "a temporarily read-only directory has exit status 1" "$APP_STATUS" 1
	check "the message names the directory" grep -q 'disk/.*: cannot begin the next file.*Operation not permitted' run.log
	check_json "nothing is lost in the read-only directory" run.json '.ledger_ok and .lossless and .captures[0].written_pkts == 10000'
	holds "every frame is in the files" disk/kept*
}

# Unmount the remaining mounts when a check ends the test early; keep $?.
unmount_all() {
	local status=$?
	set +e
	umount -ql "$DIR"/{ro,ram,full,disk} 2>/dev/null
	return "$status"
}

func_begin
trap 'unmount_all; func_end' EXIT
"$(dirname "$PEER_PY")/make_pcap.py" in.pcap 20000
read_only_from_the_start
no_direct_io
limit_of_file_size
odd_frames
bad_filter
net_begin
target_removed
stopped_without_target
stopped_on_a_full_disk
stopped_at_the_limit
if disk_begin; then
	directory_protected
	read_only_while_running
	umount disk
else
	skip "a disk that turns read-only" "no loop device: $(<mount.log)"
fi
