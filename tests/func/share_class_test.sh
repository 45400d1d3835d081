#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Classes of a shape share a rate: their limits beside an oracle, by the classes that have demand, and what they send. The rates are
# so low that queued frames last for longer than the test.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

LIB=$(dirname "$PEER_PY")

# send PORT: 250 datagrams of 1000 bytes, from one socket.
send() {
	in_peer python3 - "$APP_IP" "$1" <<'P'
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(250):
    s.sendto(bytes(1000), (sys.argv[1], int(sys.argv[2])))
P
}

# limits_are LIMITS: tell whether the classes have these limits, to a 64th: they rise by no less.
limits_are() {
	status_is ".shapes[0].classes | map({(.name): .ceil_bps}) | add as \$now | $1 | to_entries |
		all(.[]; ((.value - \$now[.key]) * 64 | fabs) <= \$now[.key] + \$now[.key] / 64 + 64)"
}

# expect SENTENCE CLASS...: check the limits with demand of these classes.
expect() {
	local sentence=$1 limits
	shift
	limits=$("$LIB/share_oracle.py" config.json "$@")
	check "$sentence: $limits" wait_for 60 limits_are "$limits"
}

# refuses_change CHANGE TEXT: tell whether a change of the configuration by jq is refused with this text. A busy appliance may not answer.
refuses_change() {
	! "$TAPLINE" control shape wan "$(jq -c "$1 | .shape[0]" config.json)" --socket control.sock 2>refused.log && grep -qF "$2" refused.log
}

has_neighbour() {
	grep -q lladdr <(ip -netns "$PEER_NS" neigh show "$APP_IP")
}

limits_follow_the_demands() {
	app_config config.json '"echo": [{"name": "a", "port": "lan", "udp_listen": 1007}, {"name": "b", "port": "lan", "udp_listen": 1009},
		{"name": "c", "port": "lan", "udp_listen": 1010}]' \
		'"share": [{"name": "up", "rate": 16000, "classes": [{"class": "wan/a", "weight": 3}, {"class": "wan/b", "floor": 1500},
			{"class": "wan/c", "tier": "nonprod", "floor": 2000}]}]' \
		'"shape": [{"name": "wan", "port": "lan", "rate": 20000, "classes": [{"name": "a", "echo": "a", "rate": 1000, "ceil": 12000},
			{"name": "b", "echo": "b"}, {"name": "c", "echo": "c"}, {"name": "rest", "default": true}]}]'
	in_app "$TAPLINE" run --explain config.json >explain.txt </dev/null
	check "--explain shows the members" grep -Eq ' c: at most 20.0kbit/s, .*; of share up: nonprod, weight 1, floor 2.00kbit/s$' explain.txt
	check_equal "and not the others" "$(grep -c 'of share up' explain.txt)" 3
	app_start config.json
	expect "without demand the rate is divided by weight"
	in_peer ping -c 1 -W 60 "$APP_IP" >/dev/null
	wait_for 60 has_neighbour
	send 1010
	expect "nonprod has what prod leaves, which keeps a 16th of its part and its floors" c
	send 1009
	expect "prod comes first, beyond the floor of nonprod" c b
	send 1007
	expect "classes of a tier share by weight" a b c
	check_equal "a class that is no member keeps its limit" "$(app_status '.shapes[0].classes[] | select(.name == "rest").ceil_bps')" 20000
	check "a rate above the floor of a member is refused" wait_for 60 refuses_change '.shape[0].classes[2].rate = 3000' \
		"shape wan not changed: class c: its rate is more than its floor in the share: restart for that"
	check "a new ceil limits a member" wait_for 60 "$TAPLINE" control shape wan "$(jq -c '.shape[0].classes[0].ceil = 6000 | .shape[0]' config.json)" \
		--socket control.sock
	jq '.shape[0].classes[0].ceil = 6000' config.json >next.json
	mv next.json config.json
	expect "and the others have the rest" a b c
	app_stop TERM
	check_equal "SIGTERM ends it with status 0" "$APP_STATUS" 0
	check_json "the ledger holds" run.json '.ledger_ok and .shapes[0].ledger_ok'
}

# bytes_before_the_last_udp PCAP: print the bytes of udp frames, and those of the others before the last of them.
bytes_before_the_last_udp() {
	tshark -r "$1" -T fields -e udp.dstport -e frame.len 2>/dev/null |
		awk -F '\t' '{if ($1 != "") {udp += $2; at = rest} else rest += $2} END {print "[" udp "," at "]"}'
}

# 146 KB of each class at 1.2 and 0.4 Mbit/s. The bursts have the same proportion: both classes lose as much by a stall of the host.
a_replay_is_sent_in_these_shares() {
	"$LIB/make_pcap.py" a.pcap 400
	cat >config.json <<J
{"eal": {"huge": false, "memory_mb": 512}, "ports": [{"name": "out", "device": "$APP_IF"}],
 "replay": [{"name": "r", "port": "out", "files": ["a.pcap"], "speed": 100}], "control": {"socket": "control.sock"},
 "share": [{"name": "up", "rate": "1.6Mbit", "classes": [{"class": "wan/udp", "weight": 3}, {"class": "wan/rest"}]}],
 "shape": [{"name": "wan", "port": "out", "rate": "10Mbit", "classes": [{"name": "udp", "match": "udp", "cburst": 24000},
	{"name": "rest", "cburst": 8000, "default": true}]}]}
J
	peer_start tcpdump -n -U -i "$PEER_IF" -Q in -s 2000 -B 16384 -w got.pcap ether src 02:00:00:00:00:01 2>tcpdump.log
	wait_for 60 grep -qs 'listening on' tcpdump.log || func_die "tcpdump does not listen"
	APP_STATUS=0
	in_app timeout 120 "$TAPLINE" run config.json --json >run.json 2>run.log </dev/null || APP_STATUS=$?
	check_equal "a replay through classes that share ends with status 0" "$APP_STATUS" 0
	check_json "no frame is dropped" run.json '.ledger_ok and .lossless and .replays[0].sent_pkts == 400'
	wait_for 60 eval '(($(tcpdump -r got.pcap 2>/dev/null | wc -l) >= 400))' || func_die "not all frames came"
	stop_process "$peer_pid" TERM 10 || true
	bytes_before_the_last_udp got.pcap >ratio.json
	check_json "classes with demand send in proportion to their weights ($(cat ratio.json))" ratio.json '.[0] / .[1] | . > 2.3 and . < 3.7'
}

func_begin
net_begin
limits_follow_the_demands
a_replay_is_sent_in_these_shares
