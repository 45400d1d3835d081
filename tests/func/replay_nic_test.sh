#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# `tapline replay --timing` on a port with scheduled sending of the NIC (tests/lib/stamping_nic.c), whose log has the true time of
# each frame.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

LIB=$(dirname "$PEER_PY")
FRAMES=50
SPEED=0.2	    # frames are 5 ms apart
OFF_NS=1000000	    # allowed deviation: of the two clocks on a busy host
STATUS=0
nic=()		    # properties of the NIC

# replay ARG...: write the report to replay.json, the status to STATUS.
replay() {
	STATUS=0
	in_app timeout 60 env LD_PRELOAD="$STAMPING_NIC" STAMPING_NIC_LOG=nic.stamps "${nic[@]}" "$TAPLINE" replay a.pcap \
		-i "vdev:net_af_packet0,iface=$APP_IF" "$@" --json >replay.json 2>replay.log </dev/null || STATUS=$?
}

# replay_timed ARG...: repeat it until the NIC had frames to time; on a busy host all may be late.
replay_timed() {
	local i
	for ((i = 0; i < 20; i++)); do
		replay "$@"
		[[ $(jq '.timed_pkts > 1' replay.json) != true ]] || return 0
	done
}

logged() {
	sed -n "s/^$1 //p" nic.stamps
}

# Print the number of frames with a launch time.
told() {
	echo $(($(logged at_sent) + $(logged at_past)))
}

# Frames from the peer, whose stamps show that the right clock is read.
peer_sends() {
	peer_start python3 -c 'import socket, sys, time
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind((sys.argv[1], 0))
while True:
    s.send(bytes(60))
    time.sleep(0.02)' "$PEER_IF"
}

listens_to_wire() {
	grep -qs 'listening on' tcpdump.log
}

# replay_in SECONDS: replay from a time on, while the peer records.
replay_in() {
	local status=0
	start=$(($(date +%s) + $1))
	peer_start timeout 60 tcpdump -n -i "$PEER_IF" -Q in -s 2000 --time-stamp-precision=nano -c "$FRAMES" -w got.pcap \
		ether src 02:00:00:00:00:01 2>tcpdump.log
	wait_for 30 listens_to_wire || func_die "tcpdump does not listen"
	replay --timing nic --speed "$SPEED" --start-at "@$start"
	wait "$peer_pid" || status=$?
	check_equal "with --timing nic: status 0, and all frames come" "$STATUS $status" "0 0"
}

frames_leave_by_the_nic() {
	local start seconds
	nic=(STAMPING_NIC=mlx5)
	for seconds in 3 6 12 24; do # to begin in; on a busy host all frames may be late
		replay_in "$seconds"
		[[ $(jq '.timed_pkts > 1' replay.json) != true ]] || break
	done
	cp replay.json by_nic.json # for its schema
	check "byte for byte, in order" "$LIB/judge_replay.py" same a.pcap got.pcap replay.json
	check_json "the NIC sends them, those that are not late" replay.json ".ledger_ok and .sent_pkts == $FRAMES and .timing == \"nic\"
		and .timing_reason == null and .timed_pkts > 1 and .timed_pkts == .ports[0].timed_pkts
		and .timed_pkts == $(told) and .ports[0].nic_faults == $(logged at_past) and .lateness_ns.count == $FRAMES"
	"$LIB/judge_timed.py" nic.stamps a.pcap "$SPEED" "${start}000000000" >judged.json
	check_json "each at its due time, by the NIC's clock, in order" judged.json \
		".timed == $(told) and .strays == 0 and .backward == 0 and .worst_ns < $OFF_NS"
}

faults_count() {
	nic=(STAMPING_NIC=mlx5 STAMPING_NIC_MISS=2)
	replay_timed --timing auto --speed 0.5
	check_equal "frames that the NIC did not send at their times are no failure" "$STATUS" 0
	check_json "and are counted, with the NIC's name for it" replay.json ".timing == \"nic\" and .timed_pkts > 1 and
		.ports[0].nic_faults == $(logged at_past) and .ports[0].nic_fault == \"tx_pp_timestamp_past_errors\""
	cp replay.json faults.json
	replay_timed --timing auto --speed 0.5 --max-late 60s
	check_equal "with --max-late they are, as their lateness is unknown" "$STATUS $(jq .late_pkts replay.json)" "1 0"
}

# falls_back SENTENCE REASON: --timing auto uses the TSC.
falls_back() {
	replay --timing auto --speed 100
	check_equal "$1: --timing auto: status 0" "$STATUS" 0
	check_json "$1: the lcore waits for due times, and the report says why" replay.json \
		".timing == \"tsc\" and .timed_pkts == 0 and .sent_pkts == $FRAMES and (.timing_reason | test(\"$2\"))"
	check_equal "$1: no frame gets a time" "$(told)" 0
	cp replay.json tsc.json
}

# refused SENTENCE TEXT ARG...
refused() {
	local sentence=$1 text=$2
	shift 2
	replay "$@"
	check_equal "$sentence: status 2" "$STATUS" 2
	check "$sentence: the error says why" grep -qe "$text" replay.log
}

others() {
	nic=(STAMPING_NIC=mlx5-utc)
	falls_back "stamps of another clock" "another clock than its driver reads"
	refused "the same with --timing nic" "another clock than its driver reads" --timing nic
	nic=(STAMPING_NIC=mlx5 STAMPING_NIC_SKIP=1)
	falls_back "no stamp" "received no frame within 1 s"
	nic=(STAMPING_NIC=ice)
	refused "a NIC without scheduled sending" "has no scheduled sending" --timing nic
	refused "--timing nic at line rate" "needs due times" --timing nic --line-rate
	refused "another timing" "takes tsc, nic or auto" --timing wire
	refused "sessions" "no other option of frames" --timing nic --sessions 10.0.0.1 --from 10.0.0.2/24
}

# The NIC leaves TX_AHEAD_NS between the send call and its stamp. Main requests a stamp every 20 ms: loops give it a second, in which a busy
# host runs it.
lateness_up_to_the_wire() {
	nic=(STAMPING_NIC=ice STAMPING_NIC_TX_AHEAD_NS=20000000)
	replay --wire-stamps --speed "$SPEED" --loops 4
	check_equal "--wire-stamps: status 0" "$STATUS" 0
	check_json "lateness up to the wire is that of the stamps, the NIC's delay included" replay.json ".lateness_wire_source == \"nic-tx\" and
		.lateness_wire_ns.count > 0 and .lateness_wire_ns.min + .lateness_wire_bound_ns >= 20000000 and
		.lateness_wire_ns.count + .wire_lost_pkts <= .sent_pkts and .lateness_wire_bound_ns > 0"
	cp replay.json wire.json # for its schema
	nic=(STAMPING_NIC=mlx5)
	replay --wire-stamps --speed 10
	check "a NIC without stamps of sent frames: a warning" grep -q 'wire-stamps: .*stamps no sent frames' replay.log
	check_json "and no lateness up to the wire" replay.json '.lateness_wire_ns == null and .lateness_wire_source == null and .sent_pkts > 0'
	refused "--wire-stamps at line rate" "leave at due times" --wire-stamps --line-rate
}

# run_timed ENTRY_KEYS: the same from a port of an appliance, whose report of the replay goes to replay.json.
run_timed() {
	STATUS=0
	cat >run.conf <<-END
		{"eal": {"huge": false, "memory_mb": 512}, "process": {"sandbox": "off"},
		"ports": [{"name": "nic", "device": "vdev:net_af_packet0,iface=$APP_IF"}],
		"replay": [{"name": "timed", "port": "nic", "files": ["a.pcap"], $1}]}
	END
	in_app timeout 60 env LD_PRELOAD="$STAMPING_NIC" STAMPING_NIC_LOG=nic.stamps "${nic[@]}" "$TAPLINE" run run.conf --json \
		>run.json 2>run.log </dev/null || STATUS=$?
	[[ $STATUS -eq 2 ]] || jq '.replays[0]' run.json >replay.json
}

an_appliance_sends_by_its_nic() {
	local i
	nic=(STAMPING_NIC=mlx5 STAMPING_NIC_MISS=2)
	for ((i = 0; i < 20; i++)); do
		run_timed '"timing": "nic", "speed": 0.5'
		[[ $(jq '.timed_pkts > 1' replay.json) != true ]] || break
	done
	check_equal "a replay of an appliance: status 0" "$STATUS" 0
	check_json "the NIC sends its frames, and its faults are counted" replay.json ".ledger_ok and .sent_pkts == $FRAMES and
		.timing == \"nic\" and .timing_reason == null and .timed_pkts > 1 and .timed_pkts == $(told) and
		.ports[0].nic_faults == $(logged at_past) and .ports[0].nic_fault == \"tx_pp_timestamp_past_errors\""
	nic=(STAMPING_NIC=mlx5-utc)
	run_timed '"timing": "auto", "speed": 100'
	check_json "stamps of another clock: the lcore waits for due times" replay.json \
		".timing == \"tsc\" and .timed_pkts == 0 and .sent_pkts == $FRAMES and (.timing_reason | test(\"another clock\"))"
	run_timed '"timing": "nic"'
	check "the same with timing nic: the error names the replay" grep -q 'replay timed: --timing nic: .* another clock' run.log
	check_equal "and fails the run" "$STATUS" 1
	run_timed '"timing": "nic", "line_rate": true'
	check "timing nic at line rate is refused before the start" grep -q 'replay\[0\].timing: "timing" nic needs due times' run.log
}

an_appliance_measures_up_to_the_wire() {
	nic=(STAMPING_NIC=ice STAMPING_NIC_TX_AHEAD_NS=20000000)
	run_timed "\"wire_stamps\": true, \"speed\": $SPEED, \"loops\": 4"
	check_equal "wire_stamps of an appliance: status 0" "$STATUS" 0
	check_json "lateness up to the wire is that of the stamps" replay.json ".ledger_ok and .sent_pkts == 4 * $FRAMES and .lateness_wire_source == \"nic-tx\" and
		.lateness_wire_ns.count > 0 and .lateness_wire_ns.min + .lateness_wire_bound_ns >= 20000000 and
		.lateness_wire_ns.count + .wire_lost_pkts <= .sent_pkts and .lateness_wire_bound_ns > 0"
	nic=(STAMPING_NIC=mlx5)
	run_timed '"wire_stamps": true, "speed": 10'
	check "a NIC without stamps of sent frames: a warning" grep -q 'wire-stamps: .*stamps no sent frames' run.log
	check_json "and no lateness up to the wire" replay.json '.lateness_wire_ns == null and .lateness_wire_source == null and .sent_pkts > 0'
	run_timed '"wire_stamps": true, "line_rate": true'
	check "wire_stamps at line rate is refused before the start" grep -q 'replay\[0\].wire_stamps: "wire_stamps" are of frames' run.log
}

func_begin
STAMPING_NIC=${TL_BUILD:-$func_root/build}/tests/libstamping_nic.so
if ! LD_PRELOAD=$STAMPING_NIC "$TAPLINE" --version >/dev/null 2>&1; then
	skip "a replay by the NIC's clock" "this build takes no preloaded library (a sanitizer's does not)"
	exit
fi
net_begin
"$LIB/make_pcap.py" a.pcap "$FRAMES"
peer_sends
frames_leave_by_the_nic
faults_count
others
lateness_up_to_the_wire
an_appliance_sends_by_its_nic
an_appliance_measures_up_to_the_wire
