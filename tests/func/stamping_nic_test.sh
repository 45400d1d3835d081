#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Stamps of a NIC end to end: the appliance on a virtual device with stamps emulated by tests/lib/stamping_nic.c, from a
# separate clock whose log has CLOCK_REALTIME.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

FRAMES=200
BACK_NS=5000000  # time of a frame on the wire before the poll returned it
AHEAD_NS=3000000 # time from the send call to the wire

# nic LIKE [NAME=VALUE...]: TAPLINE is the program on such a NIC from now on.
nic() {
	local like=$1
	shift
	cat >on_nic <<-END
		#!/bin/sh
		exec env LD_PRELOAD="$STAMPING_NIC" STAMPING_NIC=$like STAMPING_NIC_LOG=nic.stamps $* "$PROGRAM" "\$@"
	END
	chmod +x on_nic
	TAPLINE=$DIR/on_nic
}

# times FILTER: print the times of the recorded frames whose interface matches.
times() {
	tshark -r lan.pcapng -Y "frame.interface_description matches \"$1\"" -T fields -e frame.time_epoch 2>/dev/null
}

# Print the number of frames received so far; there are no others.
has_received() {
	status_is ".port.rx_pkts == $1"
}

bound() {
	app_status .port.timestamps.bound_ns
}

# record CONFIG: record all frames; read the bound before and after them.
record() {
	app_start "$1"
	bound_ns=$(bound)
	in_peer "$func_root/tests/lib/send_pcap.py" "$PEER_IF" frames.pcap 2000 >/dev/null
	wait_for 60 has_received "$FRAMES" || not_ok "all frames come" "$(app_status)"
	bound_ns=$((bound_ns + $(bound))) # it grows until the next comparison of the clocks, and is smaller afterwards
	app_stop TERM
}

# judged KIND TIMES: compare the program's times of stamps with the NIC's log.
judged() {
	"$func_root/tests/lib/judge_stamps.py" nic.stamps "$1" "$bound_ns" "$2" >judged.json
}

logged() {
	sed -n "s/^$1 //p" nic.stamps
}

recordings() {
	nic ice STAMPING_NIC_RX_BACK_NS=$BACK_NS
	record record.json
	check_json "frames of an E810 have NIC stamps with a bound" run.json '.port.unstamped_pkts == 0 and .ledger_ok
		and (.port.timestamps | .source == "nic-rx" and .bound_ns > 0 and .nic_clock.timescale == "ticks" and .nic_clock.steps == 0)'
	tshark -r lan.pcapng -T fields -e frame.time_epoch >frames.times 2>/dev/null
	judged rx frames.times
	check_json "recorded times are CLOCK_REALTIME within that bound" judged.json \
		".stamps == $FRAMES and .times == $FRAMES and .beyond == 0"
	check "the recording names the source" grep -aq 'timestamps: nic-rx' lan.pcapng

	nic mlx5 STAMPING_NIC_RX_BACK_NS=$BACK_NS STAMPING_NIC_SKIP=3
	record record.json
	check_json "frames of a ConnectX have NIC stamps, and those without are counted" run.json \
		".port.timestamps.source == \"nic-rx\" and .port.unstamped_pkts == $(logged rx_skipped) and .ledger_ok"
	tshark -r lan.pcapng -Y 'frame.interface_description matches "nic-rx"' -T fields -e frame.time_epoch >frames.times 2>/dev/null
	judged rx frames.times
	check_json "frames without stamps are listed separately" \
		judged.json ".stamps == $((FRAMES - FRAMES / 3)) and .times == .stamps and .beyond == 0"
}

# Drivers that stamp frames by one clock and read another.
gates() {
	local like
	nic mlx5-utc
	record record.json
	check_json "stamps of a clock other than the one read are refused from the first frame on" \
		run.json '.ledger_ok and .port.unstamped_pkts == 200
		and (.port.timestamps | .source == "tsc" and .unit_ns == 1 and .gate == {state: "shut", closures: 1, refused_pkts: 200})'
	check_json "the recording has no such stamps" \
		run.json '.captures[0].stamps | length == 1 and .[0].source == "tsc" and .[0].unit_ns == 1'
	check "the warning has the reason" grep -q 'stamps are times since 1970.*REAL_TIME_CLOCK_ENABLE=0' run.log
	check "the report has the reason" grep -q 'STAMPS REFUSED: of 200 frames' run.log
	check_equal "the recording has poll times" "$(times nic-rx | wc -l) $(times tsc | wc -l)" "0 200"

	for like in ice-22.11 ice-25.07; do
		nic $like STAMPING_NIC_RX_BACK_NS=$BACK_NS
		record record.json
		check_json "a NIC like $like is read by timesync, and its stamps are used" run.json '.port.unstamped_pkts == 0
			and (.port.timestamps | .source == "nic-rx" and .gate == {state: "open", closures: 0, refused_pkts: 0})'
		times nic-rx >frames.times
		judged rx frames.times
		check_json "the times are within the bound" judged.json ".stamps == $FRAMES and .times == $FRAMES and .beyond == 0"
	done

	nic igc STAMPING_NIC_JUMP_AT=151 STAMPING_NIC_JUMP_NS=3600000000000
	record record.json
	check_json "stamps that jump during a run are refused from then on" run.json '.ledger_ok
		and .port.timestamps.gate == {state: "shut", closures: 1, refused_pkts: 50}'
	check "the warning reports it" grep -q "stamps jumped" run.log
	check_json "the report names both sources of the recording" run.json '[.captures[0].stamps[].source] == ["nic-rx", "tsc"]'
	check_equal "each frame has the time that its interface names" "$(times nic-rx | wc -l) $(times tsc | wc -l)" "150 50"
}

probes() {
	nic ice STAMPING_NIC_TX_AHEAD_NS=$AHEAD_NS
	app_start probes.json
	wait_for 60 status_is '.port.ptp.probes_stamped >= 10' || not_ok "probes come back with stamps" "$(app_status .port.ptp)"
	app_stop TERM
	check_equal "each requested stamp was read, and none was left in a register" \
		"$(jq .port.ptp.probes_stamped run.json) 0" "$(logged tx_read) $(logged tx_busy)"
	check_json "the time of a probe to the wire depends on the NIC's clock only" run.json ".port.ptp.tx_to_wire_ns
		| .source == \"nic-tx\" and .min >= $AHEAD_NS - 1000000 and .count >= 10"
	nic mlx5
	app_status=0
	timeout 60 ip netns exec "$APP_NS" "$TAPLINE" run probes.json 2>err.txt </dev/null || app_status=$?
	check_equal "a ConnectX sends no probes and reports so" "$app_status $(grep -c 'stamps no PTP frames' err.txt)" "2 1"
}

# replies_are FILTER: send messages until the replies' counts match.
replies_are() {
	in_peer "$PEER_PY" udp_sizes "$APP_IP" 7 16 100 1000 >udp.json || true
	status_is ".port.ptp.replies | $1"
}

replies() {
	nic ice STAMPING_NIC_RX_BACK_NS=$BACK_NS STAMPING_NIC_TX_AHEAD_NS=$AHEAD_NS
	app_start replies.json --latency reports
	wait_for 60 replies_are '.replies_timed >= 10' || not_ok "replies come back with stamps" "$(app_status .port.ptp)"
	app_stop TERM
	check "the start reports the stamped frames and the sources" grep -q 'at most 40 replies and 0 PTP probes a second: nic-tx' run.log
	check_json "each marked reply has a latency with both stamps from the NIC" run.json '.ledger_ok and (.port.ptp.replies
		| .replies_timed >= 10 and .replies_timed == .replies_marked and .trigger_source == "nic-rx")'
	check_json "the report has method rx-tx, is exact and has three parts" reports/lan-replies.json '
		.method == "rx-tx" and .trigger_source == "nic-rx" and .reply_source == "nic-tx" and .valid and
		.trigger_bound_ns == 1 and .reply_bound_ns == 1 and
		[.stages[].name] == ["wire_to_poll", "poll_to_tx", "tx_to_wire"] and
		([.stages[].latency_ns.count] | unique) == [.matched]'
	"$func_root/tests/lib/judge_replies.py" nic.stamps reports/lan-replies.csv >judged.json
	check_json "the latency equals the difference of two NIC stamps to the nanosecond" judged.json \
		".samples >= 10 and .exact == .samples and .sent == .samples"
	check_json "the latency includes the NIC's part on both sides" reports/lan-replies.json \
		".latency_ns.min > $BACK_NS + $AHEAD_NS and (.stages[0].latency_ns.min > $BACK_NS - 1000000) and
		(.stages[2].latency_ns.min > $AHEAD_NS - 1000000)"

	nic ice STAMPING_NIC_SKIP=2
	app_start replies.json
	wait_for 60 replies_are '.replies_timed >= 3 and .replies_untimed >= 3' ||
		not_ok "some replies come back with stamps, some triggers without" "$(app_status .port.ptp)"
	app_stop TERM
	check_json "a reply to an unstamped trigger has no latency and is counted" run.json '.ledger_ok and (.port.ptp.replies
		| .replies_untimed >= 3 and .latency_ns.count == .replies_timed)'
}

func_begin
PROGRAM=$TAPLINE
STAMPING_NIC=${TL_BUILD:-$func_root/build}/tests/libstamping_nic.so
nic ice
if ! "$TAPLINE" --version >/dev/null 2>&1; then
	skip "stamps of a NIC from end to end" "this build takes no preloaded library (a sanitizer's does not)"
	exit
fi
net_begin
"$(dirname "$PEER_PY")/make_pcap.py" frames.pcap "$FRAMES"
app_config lan.json '"capture": [{"port": "lan", "path": "lan.pcapng"}]' '"echo": [{"port": "lan", "udp_listen": 7}]'
jq ".ports[0] += {device: \"vdev:net_af_packet0,iface=$APP_IF\", ptp_probes_per_s: 40}" lan.json >probes.json
jq 'del(.echo, .ports[0].ptp_probes_per_s)' probes.json >record.json
jq 'del(.ports[0].ptp_probes_per_s, .capture) | .ports[0].reply_stamps_per_s = 40' probes.json >replies.json
recordings
gates
probes
replies
