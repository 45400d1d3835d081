#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A class tree in front of a port, checked with the kernel's capture: frames per class, and their order. The rates are
# near 0 until all frames are queued, and are then changed at run time.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

# shape RATE A B: print a shape with these rates, and bursts of 1.28 s, for hosts that stall for that long.
shape() {
	cat <<J
{"name": "wan", "port": "lan", "rate": $1, "burst": $(($1 * 16 / 100 + 3200)), "classes": [
  {"name": "a", "echo": "a", "rate": $2, "burst": $(($2 * 16 / 100 + 1600)), "cburst": $(($2 * 16 / 100 + 1600))},
  {"name": "b", "rate": $3, "ceil": $1, "burst": $(($3 * 16 / 100 + 1600)), "cburst": $(($1 * 16 / 100 + 3200)), "default": true,
   "limit": 100},
  {"name": "c", "echo": "c", "drop": "codel", "target_us": 1000, "interval_ms": 1}]}
J
}

# send PORT N...: N datagrams of 1000 bytes to each port, from one socket each.
send() {
	in_peer python3 - "$APP_IP" "$@" <<'P'
import socket, sys
host, *pairs = sys.argv[1:]
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for port, n in zip(pairs[::2], pairs[1::2]):
    for i in range(int(n)):
        s.sendto(bytes(1000), (host, int(port)))
P
}

change() {
	"$TAPLINE" control shape wan "$1" --socket control.sock
}

# came PORT: print the number of replies that the kernel has received from this port.
came() {
	tshark -r kernel.pcap -Y "udp.srcport == $1 && ip.src == $APP_IP" 2>/dev/null | wc -l
}

classes() {
	app_status ".shapes[0].classes | map({(.name): .}) | add | $1"
}

at_rest='.in_pkts == .sent_pkts + .queued_pkts + .drop_long_pkts + .drop_limit_pkts + .drop_late_pkts + .drop_codel_pkts + .drop_memory_pkts + .drop_end_pkts'

has_neighbour() {
	grep -q lladdr <(ip -netns "$PEER_NS" neigh show "$APP_IP")
}

func_begin
net_begin
app_config config.json '"echo": [{"name": "a", "port": "lan", "udp_listen": 1007}, {"name": "b", "port": "lan", "udp_listen": 1009},
	{"name": "c", "port": "lan", "udp_listen": 1010}]' \
	"\"shape\": [$(shape 16000 12000 4000)]"
in_app "$TAPLINE" run --explain config.json >explain.txt </dev/null
check "--explain names CoDel" grep -Fq "c: at most 16.0kbit/s, prio 0; udp src port 1010; limit 1000 frames; CoDel above 1000 us for 1 ms" explain.txt
check "--explain draws the tree" grep -Fq '|- a: 12.0kbit/s guaranteed, at most 12.0kbit/s, prio 0; udp src port 1007; limit 1000 frames' explain.txt
check "with its sums" grep -q 'shape wan, queue 0: at most 16.0kbit/s, classes guaranteed 16.0kbit/s' explain.txt
app_start config.json
peer_start tcpdump -q -U -i "$PEER_IF" -w kernel.pcap "udp and src host $APP_IP" 2>tcpdump.log
wait_for 60 grep -q 'listening on' tcpdump.log

send 1007 1 # until the kernel has resolved the address, it queues few datagrams
wait_for 60 has_neighbour
send 1007 99 1009 150
check "every datagram is echoed into its class, or dropped there" \
	wait_for 60 status_is '.echoes | map(.echoed_msgs + .drop_tx_msgs) == [100, 150, 0] and (map(.drop_tx_msgs) | .[0] == 0 and .[1] >= 30)'
classes . >waiting.json
check_json "frames above the rate are queued, up to the limit" waiting.json '.a.in_pkts == 100 and .a.queued_pkts >= 50 and .b.in_pkts == 150
	and .b.drop_limit_pkts >= 30 and .wan.in_pkts == 250 and all(.[]; '"$at_rest"')'
in_peer ip neigh flush dev "$PEER_IF"
send 1007 1
check "ARP is answered while the classes are full" wait_for 60 has_neighbour

# changed CLASS...: the entry with other classes, in JSON.
changed() {
	local IFS=,
	echo "{\"name\": \"wan\", \"port\": \"lan\", \"rate\": 16000, \"burst\": 5760, \"classes\": [$*]}"
}
class_a='{"name": "a", "echo": "a", "rate": 12000}'
class_b='{"name": "b", "rate": 4000, "default": true, "limit": 100}'
class_d='{"name": "d", "match": "tcp", "limit": 1000}'
check_equal "more classes than the port has buffers for are refused" \
	"$(change "$(changed "$class_a" "$class_b" "${class_d/1000/1001}")" 2>&1 || echo "status $?")" \
	"tapline: error: shape wan not changed: the limits allow 2101 queued frames, and the port has buffers for 2100 since the start: lower \"limit\", or restart
status 1"
check_equal "a class that gets classes of its own is refused" \
	"$(change "$(changed '{"name": "a", "rate": 12000, "classes": [{"name": "e", "echo": "a"}]}' "$class_b")" 2>&1 | head -c 66)" \
	'tapline: error: shape wan not changed: class a: "classes" differs:'
change "$(changed '{"name": "e", "match": "udp"}' '{"name": "f", "match": "udp port 7"}' "$class_b")" 2>refused.log || true
check "a class that no frame can reach is refused" grep -qF 'shape wan not changed: class f: unreachable: the class e matches all its frames first' refused.log
check_equal "rates above that of the shape are refused" "$(change "$(shape 16000 13000 4000)" 2>&1 | head -c 130)" \
	"tapline: error: shape wan not changed: class b: rate 4000: the children of wan are guaranteed 17000 bit/s with it, more than its r"
check_equal "a missing file is named" "$(change missing.json 2>&1)" "tapline: error: unable to open missing.json: No such file or directory"
check_equal "an unknown shape is refused" \
	"$("$TAPLINE" control shape lan '{}' --socket control.sock 2>&1 || echo "status $?")" \
	"tapline: error: unknown shape \"lan\"; see \"shape\" in the configuration
status 1"
classes . >unchanged.json
check_json "refused changes have no effect" unchanged.json '.a.rate_bps == 12000 and .wan.rate_bps == 16000'

echo "{\"shape\": [$(shape 800000 600000 200000)]}" >faster.json
check "a file changes the rates at run time" change faster.json
check "all queued frames are sent" wait_for 60 status_is '.shapes[0].classes[0].queued_pkts == 0'
classes . >after.json
check_json "the change loses no frame" after.json '.a.sent_pkts == 101 and .b.sent_pkts == 150 - .b.drop_limit_pkts and
	.b.drop_limit_pkts == '"$(jq .b.drop_limit_pkts waiting.json)"' and all(.[]; '"$at_rest"') and .a.rate_bps == 600000'
check_json "the classes have a delay" after.json '.a.delay_max_ns >= .a.delay_p99_ns and .a.delay_p99_ns > 0 and .a.delay_max_ns >= .a.delay_mean_ns and .a.delay_mean_ns > 0'
check "the kernel received the frames of each class" wait_for 60 eval '[[ $(came 1007) == 101 && $(came 1009) == $(jq .b.sent_pkts after.json) ]]'
# Count frames of b before the last frame of a: until then both classes were backlogged.
tshark -r kernel.pcap -Y "ip.src == $APP_IP" -T fields -e udp.srcport 2>/dev/null >order.txt
first=$(jq '.a.sent_pkts + .b.sent_pkts' waiting.json)
ratio=$(awk -v first="$first" 'NR > first + 5 {if ($1 == 1007) {a++; at = b} else b++} END {print a, at}' order.txt)
echo "[${ratio/ /,}]" >ratio.json
check_json "classes share in proportion to their rates ($ratio of a and b)" ratio.json '.[0] / .[1] | . > 2.4 and . < 3.7'

send 1010 60 # 10 ms each
check "CoDel drops from a class with a standing queue" wait_for 60 status_is '.shapes[0].classes[3] | .in_pkts == 60 and .queued_pkts == 0 and .drop_codel_pkts > 0 and
	.sent_pkts + .drop_codel_pkts == 60'

"$TAPLINE" top --socket control.sock --once >top.txt
check "top shows the classes" grep -Eq '^  b +200k +800k ' top.txt
"$TAPLINE" status --socket control.sock >status.txt
check_equal "status shows the classes" "$(grep -c '^class' status.txt)" 4

change "$(shape 16000 12000 4000)"
wait_for 60 status_is '.shapes[0].classes[0].rate_bps == 16000'
send 1009 90
wait_for 60 status_is '.shapes[0].classes[2].queued_pkts > 20'
send 1007 30
wait_for 60 status_is '.shapes[0].classes | map({(.name): .}) | add | .a.queued_pkts > 10 and .a.in_pkts == 131'
classes . >waiting.json
check "classes are added and removed at run time" change "$(changed "$class_d" "$class_b")"
classes . >after.json
check_json "frames of a removed class go to the default class, and none is lost" after.json '(keys == ["b", "d", "wan"]) and all(.[]; '"$at_rest"') and
	.wan.in_pkts == '"$(jq .wan.in_pkts waiting.json)"' and .wan.drop_limit_pkts == '"$(jq .wan.drop_limit_pkts waiting.json)"' and
	.b.in_pkts > '"$(jq '.b.in_pkts + 5' waiting.json)"' and .b.queued_pkts > 20 and .d.in_pkts == 0'
check "the new version is the base of the next change" change "$(changed "$class_b" "${class_d/1000/500}")"
check_equal "in its order" "$(app_status '.shapes[0].classes | map(.name) | join(" ")')" "wan b d"
app_stop TERM
check_equal "SIGTERM ends it with status 0" "$APP_STATUS" 0
check_json "frames queued at the end are dropped and counted" run.json '.shapes[0].classes[1] | .drop_end_pkts > 10 and .queued_pkts == 0'
check_json "the ledger holds, and has the losses" run.json '.ledger_ok and (.lossless | not) and .shapes[0].ledger_ok and
	(.shapes[0].classes[0] | .drop_limit_pkts + .drop_codel_pkts + .drop_end_pkts) == .port.drop_shaped_pkts and .port.mbufs_in_use <= 1' # the stack holds a spare one
check_equal "the tables show the classes" "$(grep -cE '^    (b|d) ' run.log)" 2
