#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Policers of the classes of a shape and of echoes, checked with the kernel's capture: tshark judges DSCP, VLAN priority and checksums of
# the marked frames, and counts those that were dropped. The rates are so low that no bucket earns a frame during the test.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

VID=5
FRAME=1046 # of 1000 bytes by IPv4, tagged

# send ADDRESS PORT N BYTES: N datagrams from port 4000.
send() {
	in_peer python3 - "$@" <<'P'
import ipaddress, socket, sys
host, port, n, size = sys.argv[1], *map(int, sys.argv[2:])
six = ipaddress.ip_address(host).version == 6
with socket.socket(socket.AF_INET6 if six else socket.AF_INET, socket.SOCK_DGRAM) as s:
    s.bind(("::" if six else "", 4000))
    for i in range(n):
        s.sendto(bytes(size), (host, port))
P
}

# came EXPRESSION: print how many frames of the appliance the kernel has captured.
came() {
	tcpdump -r trunk.pcap "$1" 2>/dev/null | wc -l
}

has_come() {
	(($(came "$1") == $2))
}

# marks PORT: print how many replies from the port have each DSCP and priority, in the order of their frames, by tshark.
marks() {
	awk -v port="$1" '$1 == port {print $2 "," $3}' marks.txt | uniq -c | awk '{printf "%s%s:%s", sep, $1, $2; sep = " "}'
}

# config_with FILE POLICER: write a configuration with this policer in the second class.
config_with() {
	app_config "$1" '"echo": [{"name": "a", "port": "lan", "udp_listen": 1007}, {"name": "b", "port": "lan", "udp_listen": 1009}, {"name": "six", "port": "lan", "udp_listen": 1008},
		{"name": "limited", "port": "lan", "udp_listen": 1011, "police": {"cir": 8, "cbs": 2050}}]' \
		'"shape": [{"name": "wan", "port": "lan", "rate": "1Gbit", "burst": "1m", "classes": [
		{"name": "marked", "echo": "a", "rate": "300Mbit", "police": {"cir": 8, "cbs": '$((10 * FRAME + 500))', "ebs": '$((5 * FRAME + 500))',
			"green": {"dscp": 10}, "yellow": {"dscp": 12, "pcp": 3}, "red": {"dscp": 14, "pcp": 1}}},
		{"name": "cut", "echo": "b", "rate": "300Mbit", "police": '"$2"'},
		{"name": "six", "echo": "six", "rate": "50Mbit", "police": {"cir": 8, "cbs": 3000, "green": {"dscp": 46}, "red": {"dscp": 8, "pcp": 6}}},
		{"name": "rest", "rate": "300Mbit", "default": true}]}]'
	sed -i "s|\"ip\": |\"vlan\": $VID, \"ip6\": \"$APP_IP6/64\", \"ip\": |" "$1"
}

func_begin
net_begin_relayed --vlan "$VID"
net_ip6
config_with config.json '{"unit": "packets", "cir": 1, "cbs": 2, "pir": 2, "pbs": 4, "green": {"pcp": 7}, "red": "drop"}'
in_app "$TAPLINE" run --explain config.json >explain.txt </dev/null
check "--explain prints the policer of a class" grep -Fq \
	"policed: green up to 8bit/s with bursts of $((10 * FRAME + 500)) bytes (dscp 10), yellow within another $((5 * FRAME + 500)) (dscp 12) (pcp 3), else red (dscp 14) (pcp 1)" explain.txt
check "and that of an echo" grep -Fxq \
	'  echo limited: messages are policed: green up to 8bit/s with bursts of 2050 bytes, else red (drop)' explain.txt
in_app "$TAPLINE" run --explain --json config.json >explain.json </dev/null
check_json "and the JSON has their keys" explain.json '.explained[0] | .policed_echoes[0].police.red == "drop" and
	(.shapes[0].classes[] | select(.name == "cut").police | .unit == "packets" and .pir == 2 and .green == {"pcp": 7} and .yellow == "pass")'
ip netns exec "$RELAY_NS" tcpdump -q -U -i "$RELAY_APP_IF" -w trunk.pcap "inbound" 2>tcpdump.log &
dump_pid=$!
wait_for 60 grep -q 'listening on' tcpdump.log
app_start config.json
wait_for 60 eval '(($(came "vlan and arp") > 0))' # tcpdump captures

send "$APP_IP" 1011 1 100 # resolves the address
wait_for 60 status_is '.echoes[3].received_msgs == 1'
send "$APP_IP" 1011 29 100
check "an echo drops messages beyond its rate, and counts them by colour" wait_for 60 status_is '.echoes[3] |
	.policed and .received_msgs == 30 and .green_msgs == 20 and .yellow_msgs == 0 and .red_msgs == 10 and .drop_police_msgs == 10 and .echoed_msgs == 20'
send "$APP_IP" 1007 20 1000
send "$APP_IP6" 1008 3 1000
send "$APP_IP" 1009 30 100
check "a class drops frames beyond its rates, and counts them by colour" wait_for 60 status_is '.shapes[0].classes | map({(.name): .}) | add |
	.cut.in_pkts == 30 and .cut.drop_police_pkts >= 20 and .cut.drop_police_pkts == .cut.red_pkts and .cut.sent_pkts == .cut.green_pkts + .cut.yellow_pkts and
	.marked.sent_pkts == 20 and .six.sent_pkts == 3 and .wan.red_pkts == .cut.red_pkts + .marked.red_pkts + .six.red_pkts and (.rest.policed | not) and .rest.green_pkts == 0'
"$TAPLINE" top --socket control.sock --once >top.txt
check "top shows the policers" grep -Eq '^wan +marked .* 5$' top.txt
check "with that of the echo" grep -Eq '^echo +limited .* 10$' top.txt
"$TAPLINE" status --socket control.sock >status.txt
check_equal "status shows the colours of each class and echo" "$(grep -Ec '^    (red_pkts|red_msgs) ' status.txt)" 9
check_equal "a change of a policer is refused" "$("$TAPLINE" control shape wan <(jq '.shape[0].classes[1].police.cbs = 3' config.json) --socket control.sock 2>&1 | head -c 84)" \
	'tapline: error: shape wan not changed: class cut: "police" differs: restart for that'
app_stop TERM
check_equal "SIGTERM ends it with status 0" "$APP_STATUS" 0
check_json "the ledger holds, and drops by a policer are losses" run.json '.ledger_ok and (.lossless | not) and .shapes[0].ledger_ok and
	.shapes[0].classes[0].drop_police_pkts == .port.drop_shaped_pkts and .port.mbufs_in_use <= 1 and all(.echoes[]; .ledger_ok)'
check "the tables show the colours" grep -Fq "  policer of marked: 10 green, 5 yellow, 5 red" run.log
check "the kernel received all frames that were not dropped" wait_for 60 has_come "vlan and udp dst port 4000" "$(jq '.shapes[0].classes[0].sent_pkts' run.json)"
stop_process "$dump_pid" TERM 10
tshark -r trunk.pcap -o ip.check_checksum:TRUE -o udp.check_checksum:TRUE -Y 'udp.dstport == 4000' -T fields -E separator=' ' -E aggregator=/ \
	-e udp.srcport -e ip.dsfield.dscp -e ipv6.tclass.dscp -e vlan.priority -e ip.checksum.status -e udp.checksum.status 2>/dev/null |
	tr -s ' ' >marks.txt # a frame has the DSCP of one version
check_equal "tshark sees 10 frames with DSCP 10, 5 with 12 and priority 3, 5 with 14 and priority 1" "$(marks 1007)" "10:10,0 5:12,3 5:14,1"
check_equal "frames of no policer are not marked" "$(marks 1011)" "20:0,0"
check_equal "the same for IPv6: 2 frames with DSCP 46, 1 with 8 and priority 6" "$(marks 1008)" "2:46,0 1:8,6"
check_equal "green frames have their priority, yellow ones none" "$(awk '$1 == 1009 && $3 == 7' marks.txt | wc -l)" \
	"$(jq '.shapes[0].classes[2].green_pkts' run.json)"
check_equal "every checksum is right, of IPv4 headers and of UDP" "$(awk '{print (NF > 4 ? $4 "," $5 : $4)}' marks.txt | sort | uniq -c | tr -s ' ')" \
	" 3 1
 $(jq '.shapes[0].classes[0].sent_pkts - 3' run.json) 1,1"

config_with apart.json '{"cir": 8, "cbs": 2000, "eir": "1Mbit", "ebs": 3000}'
in_app "$TAPLINE" run --explain apart.json >explain.txt </dev/null
check "--explain prints the excess rate of RFC 4115" grep -Fq \
	"policed: green up to 8bit/s with bursts of 2000 bytes, yellow up to another 1.00Mbit/s with bursts of 3000 bytes, else red (drop)" explain.txt
config_with bad.json '{"cir": 8, "cbs": 100}'
refuses "a bucket that cannot hold a frame is refused by line and path" 'bad.json:8: $.shape[0].classes[1].police.cbs: 100 is less than' in_app "$TAPLINE" run bad.json
config_with bad.json '{"cir": 8, "cbs": 2000, "red": "mark"}'
refuses "and so is an unknown action" '$.shape[0].classes[1].police.red: "mark" is not "pass", "drop"' in_app "$TAPLINE" run bad.json
