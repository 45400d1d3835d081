#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Two shapes, each of an lcore of a port, share a rate: idle, with demand of one, and with demand of both; then the measured rate of a
# slow port. Rates are so low that queued frames last for longer than the test.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

# shape QUEUE KEYS: print a shape with 300 frames in its class at most.
shape() {
	echo "{\"name\": \"q$1\", \"port\": \"lan\", \"queue\": $1, \"rate\": 20000, \"share\": \"up\", $2,
		\"classes\": [{\"name\": \"all\", \"default\": true, \"limit\": 300}]}"
}

# send PORT [COUNT]: datagrams of 1000 bytes, from one socket.
send() {
	in_peer python3 - "$APP_IP" "$1" "${2:-200}" <<'P'
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(int(sys.argv[3])):
    s.sendto(bytes(1000), (sys.argv[1], int(sys.argv[2])))
P
}

# limits Q0 Q1: wait until the shapes have these limits, bit/s.
limits() {
	wait_for 60 status_is ".shapes | map(.classes[0].ceil_bps) == [$1, $2]"
}

has_neighbour() {
	grep -q lladdr <(ip -netns "$PEER_NS" neigh show "$APP_IP")
}

func_begin
net_begin
app_config one.json '"echo": [{"name": "a", "port": "lan", "queue": 0, "udp_listen": 1007}, {"name": "b", "port": "lan", "queue": 1, "udp_listen": 1009}]' \
	'"share": [{"name": "up", "rate": 16000}]' "\"shape\": [$(shape 0 '"weight": 3'), $(shape 1 '"tier": "nonprod", "floor": 2000')]"
jq '.ports[0].rx_queues = 2 | .eal.memory_mb = 512' one.json >config.json
in_app "$TAPLINE" run --explain config.json >explain.txt </dev/null
check "--explain shows the share" grep -Fq 'of share up, at most 16.0kbit/s: nonprod, weight 1, floor 2.00kbit/s' explain.txt
app_start config.json
check "idle shapes have the rate by weight" limits 12000 4000
in_peer ping -c 1 -W 60 "$APP_IP" >/dev/null
wait_for 60 has_neighbour
send 1009
check "an idle prod shape lends its part to a nonprod one, but for a 16th" limits 750 16000
send 1007
check "and has it back when it has demand, beyond the floor of nonprod" limits 14000 2000
check_equal "status shows the limit as the rate of the shape" "$(app_status '.shapes[0].classes[0].rate_bps')" 14000
check_equal "a change of the weight is refused" \
	"$("$TAPLINE" control shape q0 "$(shape 0 '"weight": 4')" --socket control.sock 2>&1 | head -c 76)" \
	"tapline: error: shape q0 not changed: share, tier, weight or floor differ: r"
wait_for 60 "$TAPLINE" control shape q0 "$(shape 0 '"weight": 3' | sed 's/300/299/')" --socket control.sock
check_equal "and does so after a change of the classes" "$(app_status '.shapes[0].classes | map([.rate_bps, .ceil_bps]) | tostring')" \
	"[[14000,14000],[0,14000]]"
check "the rate of a shape limits its share" wait_for 60 "$TAPLINE" control shape q0 "$(shape 0 '"weight": 3' | sed 's/20000/10000/; s/300/299/')" --socket control.sock
check "the others have the rest" limits 10000 6000
app_stop TERM
check_equal "SIGTERM ends it with status 0" "$APP_STATUS" 0
check_json "the ledger holds" run.json '.ledger_ok and all(.shapes[]; .ledger_ok)'

# A port that takes 100,000 bytes per second, which only a measurement can tell. What is queued lasts for longer than the test.
measured() {
	sed 's/"rate": 20000/"rate": "10Mbit"/; s/"limit": 300/"limit": 3000/' <<<"$(shape "$@")"
}
app_config one.json '"echo": [{"name": "a", "port": "lan", "queue": 0, "udp_listen": 1007}, {"name": "b", "port": "lan", "queue": 1, "udp_listen": 1009}]' \
	'"share": [{"name": "up", "rate": "measured"}]' "\"shape\": [$(measured 0 '"weight": 3'), $(measured 1 '"weight": 1')]"
jq '.ports[0].rx_queues = 2 | .eal.memory_mb = 512' one.json >config.json
in_app "$TAPLINE" run --explain config.json >explain.txt </dev/null
check "--explain shows the share as measured" grep -Fq 'of share up, as measured: prod, weight 3' explain.txt
LD_PRELOAD=${TL_BUILD:-$func_root/build}/tests/libslow_port.so SLOW_PORT=100000 app_start config.json
check "while the port takes all frames each shape has its own rate" limits 10000000 10000000
in_peer ping -c 1 -W 60 "$APP_IP" >/dev/null
wait_for 60 has_neighbour
send 1007 2000
send 1009 2000
check "the limits add up to what the port takes, by weight" wait_for 60 status_is '.shapes | map(.classes[0].ceil_bps) |
	(add | . > 600000 and . < 1100000) and .[0] > 2.9 * .[1] and .[0] < 3.1 * .[1]'
app_stop TERM
check_equal "SIGTERM ends it with status 0" "$APP_STATUS" 0
check_json "the ledger holds" run.json '.ledger_ok and all(.shapes[]; .ledger_ok)'

# The same port, with classes of one shape. What is queued lasts for longer than the test.
app_config config.json '"echo": [{"name": "a", "port": "lan", "udp_listen": 1007}, {"name": "b", "port": "lan", "udp_listen": 1009}]' \
	'"share": [{"name": "up", "rate": "measured", "classes": [{"class": "wan/a", "weight": 3}, {"class": "wan/b"}]}]' \
	'"shape": [{"name": "wan", "port": "lan", "rate": "10Mbit", "classes": [{"name": "a", "echo": "a", "limit": 3000},
		{"name": "b", "echo": "b", "limit": 3000}, {"name": "rest", "default": true}]}]'
in_app "$TAPLINE" run --explain config.json >explain.txt </dev/null
check "--explain shows the share of classes as measured" grep -Fq '; of share up, as measured: prod, weight 3' explain.txt
LD_PRELOAD=${TL_BUILD:-$func_root/build}/tests/libslow_port.so SLOW_PORT=100000 app_start config.json
in_peer ping -c 1 -W 60 "$APP_IP" >/dev/null
wait_for 60 has_neighbour
send 1007 2000
send 1009 2000
check "the limits of classes add up to what the port takes, by weight" wait_for 60 status_is '.shapes[0].classes | map({(.name): .ceil_bps}) | add |
	(.a + .b | . > 600000 and . < 1100000) and .a > 2.9 * .b and .a < 3.1 * .b and .rest == 10000000'
app_stop TERM
check_equal "SIGTERM ends it with status 0" "$APP_STATUS" 0
check_json "the ledger holds" run.json '.ledger_ok and all(.shapes[]; .ledger_ok)'
