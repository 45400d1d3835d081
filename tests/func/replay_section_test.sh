#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The section `replay` of an appliance: two replays, one of them controlled, while another port records the frames of the first; and errors
# before the start.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"
source "$(dirname "$0")/../lib/replay_config.sh"

LIB=$(dirname "$PEER_PY")

ports_json='{"name": "out", "device": "out0"}, {"name": "in", "device": "in0"},
{"name": "null", "device": "vdev:net_null0,no-rx=1"}, {"name": "lan", "device": "app0", "ip": "192.0.2.1/24"}'

errors_come_before_anything_starts() {
	local entry='{"name": "r", "port": "out", "files": ["a.pcap"]'
	refused "a port that does not exist" '5: $.replay[0].port: unknown port "lost"' '{"name": "r", "port": "lost", "files": ["a.pcap"]}'
	refused "a port with an echo" '5: $.replay[0].port: the echo "e" sends from this port' '{"name": "r", "port": "lan", "files": ["a.pcap"]}' \
		'"echo": [{"name": "e", "port": "lan", "udp_listen": 7}]'
	refused "a missing file" '6: $.replay[0].files[1]: b.pcap: no such file' $'{"name": "r", "port": "out", "files": ["a.pcap",\n"b.pcap"]}'
	refused "two paces" '6: $.replay[0].rate: "speed", "rate", "burst" and "line_rate" exclude each other' "$entry"$', "speed": 2,\n"rate": "5pps"}'
	refused "a value out of range" '6: $.replay[0].speed: "speed" takes 0.01 to 100' "$entry"$',\n"speed": 101}'
	refused "keys that contradict each other" '6: $.replay[0].max_gap: "max_gap" is of recorded times' \
		"$entry"$', "rate": "5pps",\n"max_gap": "1s"}'
	refused "a wrong filter" '6: $.replay[0].filter: ' "$entry"$',\n"filter": "udp or"}'
	refused "an unknown key" '6: $.replay[0].loop: unknown key; did you mean "loops"?' "$entry"$',\n"loop": 1}'
	refused "a second port without a rule" '6: $.replay[0].second_port: needs a "split"' "$entry"$',\n"second_port": "null"}'
	refused "a rule without a second port" '6: $.replay[0].split: needs a "second_port"' "$entry"$',\n"split": "clients"}'
	refused "a port twice" '6: $.replay[0].second_port: this is the "port" of the replay' "$entry"$', "split": "clients",\n"second_port": "out"}'
	refused "a second port with an echo" '6: $.replay[0].second_port: the echo "e" sends from this port' \
		"$entry"$', "split": "clients",\n"second_port": "lan"}' '"echo": [{"name": "e", "port": "lan", "udp_listen": 7}]'
	refused "two ports, one with a shape" '6: $.replay[0].second_port: the shape "t" is on a port of this replay' \
		"$entry"$', "split": "clients",\n"second_port": "null"}' \
		'"shape": [{"name": "t", "port": "null", "rate": "1Mbit", "classes": [{"name": "all", "rate": "1Mbit", "default": true}]}]'
	refused "stamps of frames that a shape delays" '6: $.replay[0].wire_stamps: the shape "t" is on the port of this replay' \
		"$entry"$',\n"wire_stamps": true}' \
		'"shape": [{"name": "t", "port": "out", "rate": "1Mbit", "classes": [{"name": "all", "rate": "1Mbit", "default": true}]}]'
	refused "a second port of another replay" '6: $.replay[1].second_port: the replay "q" sends from this port already' \
		'{"name": "q", "port": "null", "files": ["a.pcap"]}, '"$entry"$', "split": "clients",\n"second_port": "null"}'
	refused "the port of another one's second" '6: $.replay[1].port: the replay "r" sends from this port already' \
		"$entry"$', "split": "clients", "second_port": "null"},\n{"name": "q", "files": ["a.pcap"], "port": "null"}'
	refused "a wrong rule" '6: $.replay[0].split: ' "$entry"$', "second_port": "null",\n"split": "mine"}'
	refused "a wrong expression of a rule" '6: $.replay[0].split: ' "$entry"$', "second_port": "null",\n"split": "filter:udp or"}'
	check "no recording was begun" test ! -e got.pcap
}

all_keys_are_those_of_the_command() {
	config '{"name": "a", "port": "out", "files": ["*.pcap"], "filter": "udp", "speed": 0.5, "loops": 2, "merge": true, "max_gap": "1s",
		"start_at": "2100-01-01T00:00:00Z", "max_late": "1ms", "wire_stamps": true, "timing": "auto", "on_underrun": "shift", "mtu_action": "cut", "map": ["10.0.0.0/8=11.0.0.0/8"], "map_port": ["80=81"],
		"per_loop": ["10.1.0.0/16+1"], "src_mac": "02:00:00:00:00:05", "dst_mac": "02:00:00:00:00:06", "vlan": "add:5", "ttl": 9, "dscp": 1},
		{"name": "b", "port": "in", "second_port": "lan", "split": "epb", "files": ["a.pcap"], "rate": "5pps"},
		{"name": "c", "port": "null", "files": ["a.pcap"], "burst": "2:1ms", "line_rate": false}' >all.json
	check "every key is an option of the command" in_app "$TAPLINE" run --check all.json
	in_app "$TAPLINE" run --explain all.json >explain.txt 2>explain.log
	check "--explain shows the CPU" grep -q '^  replay a sends from CPU' explain.txt
}

control() {
	"$TAPLINE" control --socket control.sock -- "$@"
}

slow_is() {
	status_is ".replays[1] | $1"
}

# One port replays, another records it; a third replays to nowhere, and is controlled.
a_replay_is_recorded_by_another_port() {
	local before
	config '{"name": "fast", "port": "out", "files": ["a.pcap"], "filter": "udp", "speed": 2, "wire_stamps": true},
		{"name": "slow", "port": "null", "files": ["a.pcap"], "speed": 0.01}' \
		'"capture": [{"port": "in", "path": "got.pcap", "format": "pcap-ns", "direction": "rx"}]' >config.json
	app_start config.json
	wait_for 60 slow_is '.sent_pkts > 0' || func_die "nothing is sent"
	check "a replay is paused by its name" control pause slow
	check "the status says so" slow_is '.state == "paused" and .ledger_ok == null'
	before=$(app_status '.replays[1].sent_pkts')
	check "it seeks, in the sandbox" control seek slow 300ms
	wait_for 60 slow_is '.state == "paused" and .position_ns == 300000000' || func_die "the seek does not end"
	check "it changes its speed" control speed slow 100
	check_equal "a speed out of range is refused" "$(control speed slow 1000 2>&1 || echo "status $?")" \
		$'tapline: error: replay slow: speed: takes 0.01 to 100\nstatus 1'
	check_equal "a speed without a replay is refused" "$(control speed 2 2>&1 || echo "status $?")" \
		$'tapline: error: speed requires the name of a replay, and a value\nstatus 1'
	check "top shows a row" in_app "$TAPLINE" top --once --socket control.sock
	check "status prints a table" "$TAPLINE" status --socket control.sock
	check "it resumes" control resume slow
	wait_for 60 status_is '.replays | map(.state) == ["ended", "ended"]' || func_die "the replays do not end"
	check_equal "after the end it takes no verb" "$(control pause slow 2>&1 || echo "status $?")" \
		$'tapline: error: replay slow: it has ended\nstatus 1'
	app_stop TERM
	check_equal "the run ends with status 0" "$APP_STATUS" 0
	jq '.replays[0]' run.json >fast.json
	jq '.replays[1]' run.json >slow.json
	check "the other port has recorded every frame, byte for byte and in order" "$LIB/judge_replay.py" same udp.pcap got.pcap fast.json
	check_json "its ledger counts the filter" fast.json '.ledger_ok and .read_pkts == 400 and .sent_pkts == 200 and .filtered_pkts == 200 and
		.hw_sent_pkts >= 200 and .lateness_ns.count == 200 and .lateness_wire_source == "kernel-tx" and .lateness_wire_ns.count > 0'
	check_json "that of the other one the seek" slow.json ".ledger_ok and .sent_pkts == $before + 100 and .seeks == 1 and .paused_ns > 0"
	check_json "the ports count the frames" run.json '.ledger_ok and .ports[0].tx_pkts == 200 and .ports[1].rx_pkts >= 200'
	check "the tables name the replays" grep -q '^replay fast on port out$' run.log
}

# One port sends the frames of the rule, the other one the rest.
two_ports_share_a_replay() {
	config '{"name": "both", "port": "out", "second_port": "null", "split": "filter:udp", "files": ["a.pcap"], "speed": 5}' \
		'"capture": [{"port": "in", "path": "two.pcap", "format": "pcap-ns", "direction": "rx"}]' >config.json
	app_start config.json
	wait_for 60 status_is '.replays[0].state == "ended"' || func_die "the replay does not end"
	app_stop TERM
	check_equal "two ports: status 0" "$APP_STATUS" 0
	jq '.replays[0]' run.json >both.json
	check "the first port sends the frames of the rule, byte for byte and in order" "$LIB/judge_replay.py" same udp.pcap two.pcap both.json
	check_json "and the second one the others, in one ledger" both.json '.ledger_ok and .split == "filter:udp" and .sent_pkts == 400 and
		([.ports[].sent_pkts] == [200, 200]) and ([.ports[].lateness_ns.count] == [200, 200]) and .lateness_ns.count == 400'
	check_json "the ports count the frames" run.json '.ledger_ok and .ports[0].tx_pkts == 200 and .ports[2].tx_pkts == 200'
	check "the table names both ports" grep -q '^replay both on port out and port null$' run.log
	in_app "$TAPLINE" run --explain config.json >two.txt 2>explain.log
	check_equal "--explain shows its CPU for both" "$(grep -c '^  replay both sends from CPU' two.txt)" 2
}

a_damaged_file_fails_the_run() {
	local status=0
	head -c 10000 a.pcap >cut.pcap
	config '{"name": "r", "port": "null", "files": ["cut.pcap"], "line_rate": true}' >config.json
	in_app timeout 60 "$TAPLINE" run config.json --json >cut.json 2>cut.log </dev/null || status=$?
	check_equal "a run with a damaged file ends by itself with status 1" "$status" 1
	check_json "the report has the place" cut.json '.ledger_ok and .replays[0].damages == 1 and .replays[0].skipped_damaged_pkts == 1 and
		.replays[0].sent_pkts > 0'
}

# The list of files is read twice: before the start, and when the replay is created. Then the clock is set beyond the time to start at, which is
# seen within a second. A frame in 30,000 is sent, so that the replay waits for two seconds.
a_missed_start_fails_the_run() {
	local status=0 so=${TL_BUILD:-$func_root/build}/tests/libstep_clock.so
	head -c 8 /dev/zero >step
	python3 -c 'import struct
frame = bytes(12) + b"\x88\xb6" + bytes(46)
sent = bytes(12) + b"\x88\xb5" + bytes(46)
with open("rare.pcap", "wb") as out:
    out.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1))
    for i in range(30000):
        out.write(struct.pack("<IIII", 1700000000, i, 60, 60) + (frame if i else sent))'
	mkfifo list.pipe
	config "{\"name\": \"r\", \"port\": \"null\", \"start_at\": \"@$(($(date +%s) + 1000))\", \"files\": [\"@list.pipe\"],
		\"filter\": \"ether proto 0x88b5\", \"loops\": 1000000}" >missed_config.json
	in_app env LD_PRELOAD="$so" STEP_CLOCK="$PWD/step" TAPLINE_WITHOUT_HUGEPAGES=1 timeout 60 "$TAPLINE" run missed_config.json --json \
		>missed.json 2>missed.log </dev/null &
	app_pid=$!
	exec 7>list.pipe
	rm list.pipe
	mkfifo list.pipe
	echo rare.pcap >&7
	exec 7>&-
	exec 7>list.pipe # the second reading
	python3 -c 'open("step", "r+b").write((2000 * 10**9).to_bytes(8, "little"))'
	echo rare.pcap >&7
	exec 7>&-
	wait "$app_pid" || status=$?
	app_pid=''
	check_equal "a start that is missed: the run ends with status 1" "$status" 1
	check "the message has replay and key, and by how much" grep -Eq 'replay r: start_at: .* (999|10[0-9][0-9])\.[0-9]+ s ago' missed.log
	check_json "nothing is sent, and the ledger holds" missed.json '.ledger_ok and (.replays[0] | .ledger_ok and .sent_pkts == 0 and .unsent_pkts > 0)'
}

func_begin
net_begin
netns_join "$APP_NS" out0 "$APP_NS" in0
"$LIB/make_pcap.py" a.pcap 400
tcpdump -r a.pcap --time-stamp-precision=nano -w udp.pcap udp 2>/dev/null
errors_come_before_anything_starts
all_keys_are_those_of_the_command
a_replay_is_recorded_by_another_port
two_ports_share_a_replay
a_damaged_file_fails_the_run
a_missed_start_fails_the_run
