#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Control socket of `tapline replay`: pause, speed, seek and status during the run, and permissions.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

LIB=$(dirname "$PEER_PY")

# replay_start ARG...: replay in the background, with a control socket; the report goes to replay.json.
replay_start() {
	cat replay.log >>replays.log 2>/dev/null || true
	ip netns exec "$APP_NS" timeout 120 "$TAPLINE" replay "$@" --control control.sock --json >replay.json 2>replay.log </dev/null &
	app_pid=$!
	wait_for 60 status_is true || func_die "the replay does not answer"
}

replay_ends() {
	local status=0
	wait "$app_pid" || status=$?
	app_pid=''
	check_equal "$1: status 0" "$status" 0
}

control() {
	"$TAPLINE" control --socket control.sock -- "$@"
}

# status_is FILTER: check that the status fulfils it.
status_is() {
	"$TAPLINE" status --json --socket control.sock 2>/dev/null | jq -e ".replays[0] | $1" >/dev/null
}

status_of() {
	"$TAPLINE" status --json --socket control.sock | jq ".replays[0] | $1"
}

refused() {
	local sentence=$1 status=0
	shift
	control "$@" 2>refusal.log || status=$?
	check_equal "$sentence: status 1" "$status" 1
}

# No time passes in a run that waits for an hour: a seek starts it.
a_seek_begins_with_the_frames_behind() {
	local status=0
	rm -f got.pcap
	peer_start timeout 60 tcpdump -n -i "$PEER_IF" -Q in -s 2000 -B 16384 --time-stamp-precision=nano -c 200 -w got.pcap \
		ether src 02:00:00:00:00:01 2>tcpdump.log
	wait_for 30 grep -qs 'listening on' tcpdump.log || func_die "tcpdump does not listen"
	replay_start a.pcap -i "$APP_IF" --start-at "@$(($(date +%s) + 3600))"
	check "a seek is accepted" control seek 200ms
	replay_ends "a run that was sought"
	wait "$peer_pid" || status=$?
	check_equal "the second half comes" "$status" 0
	check "frames from the position on come, byte for byte and in order" "$LIB/judge_replay.py" same half.pcap got.pcap replay.json
	check_json "the frames before are counted" replay.json '.ledger_ok and .sent_pkts == 200 and .seeks == 1 and .skipped_seek_pkts >= 200 and
		.read_pkts == .sent_pkts + .skipped_seek_pkts'
}

a_pause_holds_the_frames() {
	local before
	replay_start a.pcap -i vdev:net_null0 --speed 0.01
	wait_for 60 status_is '.sent_pkts > 0' || func_die "nothing is sent"
	check "pause is accepted" control pause
	check "the status says so" status_is '.state == "paused"'
	check "seek to a file is accepted" control seek file:a.pcap
	wait_for 60 status_is '.state == "paused"' || func_die "the seek does not end"
	check_equal "the position is that of the file" "$(status_of .position_ns)" 0
	before=$(status_of .sent_pkts)
	check "seek from the position is accepted" control seek +300ms
	wait_for 60 status_is '.state == "paused" and .position_ns == 300000000' || func_die "the seek does not end"
	check "and back" control seek -50ms
	wait_for 60 status_is '.state == "paused" and .position_ns == 250000000' || func_die "the seek does not end"
	check "the time left is that of the frames behind, at the speed" wait_for 60 status_is '.left_exact and (.left_ns / 1e6 | floor) == 14900'
	check_equal "no frame was sent meanwhile" "$(status_of .sent_pkts)" "$before"
	check "speed is accepted" control speed 100
	check "status prints a table" "$TAPLINE" status --socket control.sock
	only_the_owner_may_operate
	refused "a speed out of range" speed 1000
	check "a reason is given" grep -q 'speed: takes 0.01 to 100' refusal.log
	refused "a position that is none" seek here
	refused "a file of another run" seek file:b.pcap
	refused "a verb of recordings" rotate
	check "resume is accepted" control resume
	replay_ends "a run that was paused"
	check_json "what was left is sent" replay.json ".ledger_ok and .sent_pkts == $before + 150 and .seeks == 3 and .paused_ns > 0 and (.stopped | not)"
	check_equal "the socket is gone" "$(test -e control.sock && echo there || echo gone)" gone
}

as_other() {
	setpriv --reuid 4000 --regid 4000 --clear-groups "$TAPLINE" "$@" --socket "$PWD/control.sock" 2>&1
}

only_the_owner_may_operate() {
	local status=0
	check_equal "the socket is for its owner and group only" "$(stat -c %a control.sock)" 660
	chmod 666 control.sock
	chmod 711 "$DIR"
	check "another user who can open it may read the status" as_other status --json
	check_equal "and may not resume" "$(as_other control resume || echo "status $?")" \
		"tapline: error: resume needs more rights than status: be root or the user of the replay
status 1"
	check "it is in the log" grep -Eq 'control: resume by user 4000, process [0-9]+: refused' replay.log
	"$TAPLINE" replay a.pcap -i vdev:net_null1 --control control.sock >/dev/null 2>second.log </dev/null || status=$?
	check_equal "a second replay with the same socket: status 2" "$status" 2
}

# keys_in_a_terminal: what the run shows is in terminal.txt.
keys_in_a_terminal() {
	check "keys in the terminal pause, change the speed, seek and end; the terminal is restored" \
		"$LIB/press_keys.py" "$TAPLINE" replay a.pcap -i vdev:net_null0 --speed 0.01 --loops 1000 --json
	check_json "the report follows" terminal.json '.ledger_ok and .stopped and .seeks == 5 and .paused_ns > 0'
}

# underruns_with ACTION FILTER: hold the reader until all that it has read is sent; the report fulfils the filter.
underruns_with() {
	local gate holder_pid
	replay_start a.pcap -i vdev:net_null0 --rate 100kpps --loops 600 --on-underrun "$1"
	rm -f gate held.log
	mkfifo gate
	"$LIB/hold_thread.py" "$(pgrep -P "$app_pid" -x tapline)" tl-replay <gate >held.log 2>&1 &
	holder_pid=$!
	exec {gate}>gate
	wait_for 60 grep -q held held.log || func_die "the reader is not held: $(<held.log)"
	wait_for 60 status_is '.sent_pkts > .read_pkts - 64' || func_die "the frames that were read are not sent"
	exec {gate}>&-
	wait "$holder_pid"
	replay_ends "a run with --on-underrun $1"
	check_json "--on-underrun $1: the underrun is counted" replay.json ".ledger_ok and .sent_pkts == 240000 and .on_underrun == \"$1\" and
		.reader_late_times > 0 and .reader_late_pkts > 0 and ($2)"
}

func_begin
net_begin
"$LIB/make_pcap.py" a.pcap 400
python3 -c 'import struct
data, at = open("a.pcap", "rb").read(), 24
for i in range(200):
    at += 16 + struct.unpack_from("<I", data, at + 8)[0]
open("half.pcap", "wb").write(data[:24] + data[at:])'
a_seek_begins_with_the_frames_behind
a_pause_holds_the_frames
keys_in_a_terminal
underruns_with keep '.shifted_ns == 0'
underruns_with shift '.shifted_ns > 0'
refuses "an underrun of frames without due times" "needs due times" "$TAPLINE" replay a.pcap -i vdev:net_null0 --line-rate --on-underrun shift
