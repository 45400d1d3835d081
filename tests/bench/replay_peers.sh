#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Measure replay and tcpreplay on the same veth pair, in the same run: arrival times of a file's frames against their
# recorded times, and the highest rate. Absolute figures depend on the host; compare the ratios.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"
source "$func_root/tools/lib/options.sh"

frames=2000 loops=200 rounds=3
PEER=${TCPREPLAY:-tcpreplay}

usage() {
	cat <<-END
		usage: tests/bench/replay_peers.sh [--frames N] [--loops N] [--rounds N]
		  --frames N   frames of the timed file, a millisecond apart ($frames)
		  --loops N    times that a file of 1000 frames of 60 bytes is sent as fast as possible ($loops)
		  --rounds N   runs of each, alternately ($rounds)
		Prints one JSON object. arrival_late_ns: the kernel's arrival times minus the recorded ones, above the smallest
		difference of the run: p50, p99, max; drift_ns: median difference of the last tenth of the frames minus that of the
		first; each the median of the rounds. pps: the median of the rounds, by the arrivals counted and the sender's own
		time. tcpreplay: \$TCPREPLAY, or the Debian package's; null if there is none.
	END
}

# arrivals FILE.pcap GOT.pcap: print the lateness of arrivals.
arrivals() {
	python3 - "$@" <<-'END'
		import json, statistics, struct, sys
		def times(path):
		    data, at, found = open(path, "rb").read(), 24, []
		    unit = {0xA1B2C3D4: 1000, 0xA1B23C4D: 1}[struct.unpack_from("<I", data)[0]]
		    while at < len(data):
		        seconds, fraction, captured = struct.unpack_from("<III", data, at)
		        found.append(seconds * 10**9 + fraction * unit)
		        at += 16 + captured
		    return found
		sent, got = times(sys.argv[1]), times(sys.argv[2])
		assert len(sent) == len(got), f"{len(got)} frames of {len(sent)} arrived"
		offsets = [b - a for a, b in zip(sent, got)]
		least = min(offsets)
		late = sorted(offset - least for offset in offsets)
		tenth = max(len(offsets) // 10, 1)
		print(json.dumps({"p50": late[len(late) // 2], "p99": late[len(late) * 99 // 100], "max": late[-1],
		                  "drift": round(statistics.median(offsets[-tenth:]) - statistics.median(offsets[:tenth]))}))
	END
}

ours() {
	in_app "$TAPLINE" replay "$@" -i "$APP_IF" --json </dev/null >ours.out 2>ours.log
}

# theirs ARG...: run tcpreplay with a busy wait for each frame's time, its most exact timer.
theirs() {
	in_app "$PEER" -q -T gtod -i "$APP_IF" "$@" </dev/null >theirs.txt 2>theirs.log
}

# timed NAME COMMAND...: append the lateness of a run to timed.NAME.
timed() {
	local name=$1
	shift
	rm -f got.pcap tcpdump.log
	peer_start timeout $((frames / 1000 + 600)) tcpdump -n -i "$PEER_IF" -Q in -s 64 -B 65536 --time-stamp-precision=nano -c "$frames" -w got.pcap \
		ether src 02:00:00:00:00:01 2>tcpdump.log
	wait_for 30 grep -qs 'listening on' tcpdump.log || func_die "tcpdump does not listen"
	"$@" || func_die "$name failed"
	wait "$peer_pid"
	arrivals timed.pcap got.pcap >>"timed.$name"
}

received() {
	in_peer cat "/sys/class/net/$PEER_IF/statistics/rx_packets"
}

# fast NAME SECONDS COMMAND...: append the rate of a run to fast.NAME; SECONDS prints the sender's duration.
fast() {
	local name=$1 seconds=$2 before
	shift 2
	before=$(received)
	"$@" || func_die "$name failed"
	jq -n "$(($(received) - before)) / $("$seconds") | floor" >>"fast.$name"
}

our_seconds() {
	jq '.elapsed_ns / 1e9' ours.out
}

their_seconds() {
	sed -n 's/^Actual: .* sent in \([0-9.]*\) seconds.*/\1/p' theirs.txt
}

play_round() {
	timed ours ours timed.pcap
	fast ours our_seconds ours fast.pcap --line-rate --loops "$loops"
	[[ -n $has_peer ]] || return 0
	timed theirs theirs timed.pcap
	fast theirs their_seconds theirs --topspeed --preload-pcap --loop "$loops" fast.pcap
}

# summary NAME: print the medians of the rounds.
summary() {
	jq -n --slurpfile timed "timed.$1" --slurpfile fast "fast.$1" 'def median: sort | .[length / 2 | floor];
		{pps: ($fast | median), arrival_late_ns: {p50: ($timed | map(.p50) | median), p99: ($timed | map(.p99) | median),
		max: ($timed | map(.max) | median)}, drift_ns: ($timed | map(.drift) | median)}'
}

read_options --frames= --loops= --rounds= -- "$@"
has_peer=$(command -v "$PEER" || true)
func_begin
net_begin
"$func_root/tests/lib/make_pcap.py" timed.pcap "$frames"
"$func_root/tests/lib/make_pcap.py" fast.pcap 1000 60
for ((round = 0; round < rounds; round++)); do
	play_round
done
peer=null
[[ -z $has_peer ]] || peer=$(summary theirs)
jq -n --argjson frames "$frames" --argjson rounds "$rounds" --argjson ours "$(summary ours)" --argjson peer "$peer" \
	'{frames: $frames, rounds: $rounds, replay: $ours, tcpreplay: $peer}'
