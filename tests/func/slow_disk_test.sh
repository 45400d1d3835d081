#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A disk that stalls for 5 s while a million frames per second arrive: a large buffer loses none of them, a small one an
# exact number. The number of frames matters, not the rate: on a slow host the disk stalls for longer.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

lib=$(dirname "$PEER_PY")
stall_pkts=5000000

# slow_config FILE BUFFER MEMORY_MB
slow_config() {
	cat >"$1" <<-END
		{
			"eal": {"huge": false, "memory_mb": $3},
			"ports": [{"name": "lan", "device": "$APP_IF"}],
			"capture": [{"port": "lan", "path": "slow.pcapng", "direction": "rx", "buffer_bytes": "$2"}],
			"control": {"socket": "control.sock"}
		}
	END
}

# Only the writer thread is blocked, until disk_answers.
disk_hangs() {
	rm -f gate held.log
	mkfifo gate
	"$lib/hold_thread.py" "$app_pid" tl-writer <gate >held.log 2>&1 &
	holder_pid=$!
	exec {gate}>gate
	wait_for 60 grep -q held held.log || func_die "the writer is not held: $(<held.log)"
}

disk_answers() {
	exec {gate}>&-
	wait "$holder_pid"
}

# Wait until the port has received, or lost, all sent frames.
flood() {
	local before
	before=$(app_status .port.hw_seen_pkts)
	in_peer "$PEER_PY" flood "$PEER_IF" "$1" 1000000 >flood.json
	wait_for 60 status_is ".port | .hw_seen_pkts >= $before + $1 and .rx_pkts + .drop_nic_pkts == .hw_seen_pkts" ||
		func_die "the frames did not arrive"
}

large_buffer() {
	slow_config large.json 768M 1200
	app_start large.json
	disk_hangs
	flood "$stall_pkts"
	echo "# sent in $(jq .seconds flood.json) s, lost by the port: $(app_status .port.drop_nic_pkts)"
	check_equal "nothing is written during a disk stall" "$(app_status '.captures[0].written_pkts')" 0
	disk_answers
	app_stop TERM
	check_equal "the run ends with status 0" "$APP_STATUS" 0
	check_json "768 MiB buffer 5 million frames without loss" run.json '.ledger_ok and .port.rx_pkts == .captures[0].offered_pkts and
		(.captures[0] | .drop_ring_pkts + .drop_disk_pkts == 0 and .written_pkts == .offered_pkts and .written_pkts > 4000000)'
	check_equal "all frames are in the file" "$(capinfos -TMrc slow.pcapng 2>/dev/null | cut -f2)" \
		"$(jq '.captures[0].written_pkts' run.json)"
}

small_buffer() {
	slow_config small.json 64M 256
	app_start small.json
	disk_hangs
	flood "$stall_pkts"
	disk_answers
	check "the recording continues after the stall" wait_for 60 status_is '.captures[0].in_flight_pkts == 0'
	flood 1000
	app_stop TERM
	check_equal "the run ends with status 0 despite counted loss" "$APP_STATUS" 0
	check_json "frames beyond 64 MiB are lost, and the ledger is consistent" run.json '.ledger_ok and (.captures[0] |
		.drop_ring_pkts > 4000000 and .drop_disk_pkts == 0 and .offered_pkts == .written_pkts + .drop_ring_pkts)'
	check_equal "the file has the written packets" "$(capinfos -TMrc slow.pcapng 2>/dev/null | cut -f2)" \
		"$(jq '.captures[0].written_pkts' run.json)"
	check_equal "its records account for every lost frame" "$("$lib/sum_drops.py" slow.pcapng)" \
		"$(jq '.captures[0].drop_ring_pkts' run.json)"
}

# stop_while_hanging SIGNAL
stop_while_hanging() {
	app_start small.json
	disk_hangs
	flood 100000
	kill -s "$1" "$app_pid"
	wait_for 60 not_polling
	check "SIG$1 waits for the disk" kill -0 "$app_pid"
	check "the wait is logged with its reason" wait_for 60 grep -q 'slow.pcapng: the disk is slow: still writing' run.log
	disk_answers
	app_stop "$1"
	check_equal "after the stall the run ends with status 0" "$APP_STATUS" 0
	check_json "all received frames are counted" run.json '.ledger_ok and (.captures[0] | .written_pkts == .offered_pkts)'
	check_equal "the file is complete" \
		"$(capinfos -TMrc slow.pcapng 2>/dev/null | cut -f2)" "$(jq '.captures[0].written_pkts' run.json)"
}

# The appliance has left its loop: the socket no longer replies.
not_polling() {
	! timeout 1 "$TAPLINE" status --socket control.sock >/dev/null 2>&1
}

func_begin
net_begin
large_buffer
small_buffer
stop_while_hanging TERM
stop_while_hanging INT
