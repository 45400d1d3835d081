#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Invalid configurations: exit status 2, a message with file and JSON path, and nothing started.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

write_good_config() {
	cat >good.json <<-END
		{
			"eal": {"huge": false, "memory_mb": 256},
			"ports": [{"name": "lan", "device": "lo", "ip": "192.0.2.1/24"}],
			"echo": [
				{"port": "lan", "receive": {"group": "239.1.1.1", "udp_port": 5001}, "send": {"tcp_connect": "192.0.2.2:5002"}}
			],
			"capture": [{"port": "lan", "path": "never.pcapng"}],
			"control": {"socket": "control.sock"}
		}
	END
}

# config_refused SENTENCE TEXT...: check that run and run --check reject bad.json, with each TEXT in the message.
config_refused() {
	local sentence=$1 mode status text wrong=()
	shift
	for mode in --json --check; do
		status=0
		timeout 20 "$TAPLINE" run "$mode" bad.json >out.txt 2>err.txt </dev/null || status=$?
		((status == 2)) || wrong+=("run $mode: status $status")
		for text in bad.json "$@"; do
			grep -qF -- "$text" err.txt || wrong+=("run $mode: no '$text' in: $(<err.txt)")
		done
		[[ ! -s out.txt ]] || wrong+=("run $mode: wrote to stdout")
		[[ ! -e never.pcapng && ! -e control.sock ]] || wrong+=("run $mode: something was started")
	done
	if ((${#wrong[@]})); then not_ok "$sentence" "${wrong[@]}"; else ok "$sentence"; fi
}

# bad SENTENCE PATH EDIT: check the valid configuration after a jq edit.
bad() {
	jq "$3" good.json >bad.json
	config_refused "$1" "$2"
}

func_begin
write_good_config
check "the base configuration is valid" "$TAPLINE" run --check good.json

bad "an unknown key" '$.ports[0].colour' '.ports[0].colour = "red"'
bad "an unknown section" '$.captures' '.captures = []'
bad "a number in place of a text" '$.ports[0].device' '.ports[0].device = 5'
bad "a text in place of a number" '$.ports[0].mtu' '.ports[0].mtu = "1500"'
bad "a fraction in place of an integer" '$.ports[0].mtu' '.ports[0].mtu = 1500.5'
bad "an object in place of an array" '$.ports' '.ports = {}'
bad "no port at all" '$.ports' '.ports = []'
bad "a missing key" '$.ports[0]' 'del(.ports[0].device)'
bad "a bad address" '$.ports[0].ip' '.ports[0].ip = "10.0.0.300/24"'
bad "an address without a prefix" '$.ports[0].ip' '.ports[0].ip = "10.0.0.3"'
bad "the address of the network itself" '$.ports[0].ip' '.ports[0].ip = "10.0.0.0/24"'
bad "a gateway outside the prefix" '$.ports[0].gateway' '.ports[0].gateway = "198.51.100.1"'
bad "a pacing rate below 8 kbit/s" '$.echo[0].pace_bps' '.echo[0].pace_bps = "1kbit"'
bad "a delay without its unit" '$.echo[0].delay' '.echo[0].delay = "5"'
bad "flow rules of a kernel interface" '$.ports[0].flow_rules' '.ports[0].flow_rules = [{"proto": "tcp", "drop": true}]'
bad "an isolated kernel interface" '$.ports[0].isolate' '.ports[0].isolate = true'

# bad_at SENTENCE PATTERN PATH EDIT: check the message's line, too: that of the only one with the pattern.
bad_at() {
	jq "$4" good.json >bad.json
	config_refused "$1" "bad.json:$(grep -n -- "$2" bad.json | cut -d : -f 1): $3"
}
bad_at "an unknown item of a flow rule" colour '$.ports[0].flow_rules[0].colour: ' \
	'.ports[0] += {device: "0000:01:00.0", flow_rules: [{colour: "red", queue: 0}]}'
bad_at "a flow rule to a queue that the port does not have" '"queue"' '$.ports[0].flow_rules[0].queue: the port has 1 RX queue' \
	'.ports[0] += {device: "0000:01:00.0", flow_rules: [{proto: "tcp", queue: 1}]}'
bad "flow rules that overlap" '$.ports[0].flow_rules[1]: a frame may match entry 0, too (dst 10.0.0.1)' \
	'.ports[0] += {device: "0000:01:00.0", flow_rules: [{dst_ip: "10.0.0.1", queue: 0}, {proto: "tcp", drop: true}]}'
bad "more flow rules than the NIC holds" '$.ports[0].flow_rules[128]: one rule more than this NIC holds: 128' \
	'.ports[0] += {device: "vdev:net_ixgbe0", flow_rules: [range(1; 130) | {proto: "tcp", dst_port: ., queue: 0}]}'
bad "RSS over a queue that the port does not have" '$.ports[0].rss_queues[1]: the port has 2 RX queues' \
	'.ports[0] += {device: "0000:01:00.0", rx_queues: 2, rss_queues: [0, 2]}'
jq '.ports[0] = {name: "lan", device: "vdev:net_ring0", rx_queues: 2, rss_queues: [1]} | del(.echo)' good.json >ring.json
refuses "RSS over chosen queues of a device without a table" 'has no RSS table that can be set: omit "rss_queues"' \
	timeout 60 "$TAPLINE" run ring.json --duration 1
check_equal "before a file is made" "$(ls never.pcapng 2>/dev/null)" ""
bad_at "an echo on a queue that the port does not have" '"queue"' '$.echo[0].queue: ' '.echo[0].queue = 1'
bad_at "the role of an echo on a port without one" '"echo"' '$.ports[0].roles[1]: no echo is on the port "lan"' \
	'.ports[0] += {rx_queues: 2, roles: ["record", "echo"]} | del(.echo)'

# isolated DEVICE IP: the good configuration on an isolated device.
isolated() {
	echo ".ports[0] += {device: \"$1\", isolate: true, ip: \"$2\"}"
}
bad "isolation by a driver without it" '$.ports[0].isolate: the driver of' "$(isolated vdev:net_ring0 192.0.2.1/24)"
bad "an isolated net_tap without an interface" '$.ports[0].isolate: the driver of' "$(isolated vdev:net_tap0 192.0.2.1/24)"
jq "$(isolated vdev:net_tap0,remote=lo 127.0.0.1/8) | .echo[0].send.tcp_connect = \"127.0.0.2:5002\"" good.json >kernels.json
check "an isolated port is planned" "$TAPLINE" run --check kernels.json
if timeout 20 "$TAPLINE" run kernels.json 2>err.txt; then status=0; else status=$?; fi
check_equal "an isolated port with a kernel address is not started" \
	"$status: $(grep -o 'the kernel has the address 127.0.0.1 on lo' err.txt)" "2: the kernel has the address 127.0.0.1 on lo"
bad "a group that is not multicast" '$.echo[0].receive.group' '.echo[0].receive.group = "10.1.1.1"'
bad "a UDP port of 0" '$.echo[0].receive.udp_port' '.echo[0].receive.udp_port = 0'
bad "a UDP port over 65535" '$.echo[0].receive.udp_port' '.echo[0].receive.udp_port = 65536'
bad "a TCP peer without a port" '$.echo[0].send.tcp_connect' '.echo[0].send.tcp_connect = "192.0.2.2"'
bad "an echo that receives but does not send" '$.echo[0]' 'del(.echo[0].send)'
bad "an echo of two kinds" '$.echo[0]' '.echo[0].tcp_listen = 7'
bad "an echo on an unknown port" '$.echo[0].port' '.echo[0].port = "wan"'
bad "an echo on a port without an address" '$.echo[0]' 'del(.ports[0].ip)'
bad "a recording of an unknown port" '$.capture[0].port' '.capture[0].port = "wan"'
bad "an invalid filter" '$.capture[0].filter' '.capture[0].filter = "tcp port port"'
bad "a snaplen below an Ethernet header" '$.capture[0].snaplen' '.capture[0].snaplen = 13'
bad "an unknown direction" '$.capture[0].direction' '.capture[0].direction = "up"'
bad "two recordings to one file" '$.capture[1].path' '.capture += [.capture[0]]'
bad "a duplicate port name" '$.ports[1].name' '.ports += [.ports[0] + {device: "lo2", ip: "198.51.100.1/24"}]'
bad "a duplicate device" '$.ports[1].device' '.ports += [.ports[0] + {name: "wan", ip: "198.51.100.1/24"}]'
bad "a duplicate lcore" '$.ports[1].lcores[0]' \
	'.ports[0].lcores = [1] | .ports += [{name: "wan", device: "lo2", lcores: [1]}]'
bad "the main lcore used for a queue" '$.ports[0].lcores[0]' '.ports[0].lcores = [0]'
bad "a device that is not a PORT" '$.ports[0].device' '.ports[0].device = "not a port"'

bad "PTP stamps from a kernel interface" '$.ports[0].ptp_probes_per_s' '.ports[0].ptp_probes_per_s = 1'
bad "stamps of replies from a kernel interface" '$.ports[0].reply_stamps_per_s' '.ports[0].reply_stamps_per_s = 1'
bad "PTP stamps from AF_XDP" '$.ports[0].ptp_probes_per_s' '.ports[0] += {ptp_probes_per_s: 0, device: "xdp:lo"}'
bad "PTP stamps from a file" '$.ports[1].ptp_probes_per_s' \
	'.ports += [{name: "old", device: "pcap:in.pcap", ptp_probes_per_s: 0}]'

# shape_with EDIT: print the edit that adds a shape of three classes, one of them nested, and modifies it.
shape_with() {
	echo ".shape = [{name: \"wan\", port: \"lan\", rate: \"2Mbit\", classes: [{name: \"x\", rate: \"1Mbit\", classes: [
		{name: \"y\", match: \"udp\", rate: \"1Mbit\"}]}, {name: \"z\", rate: \"1Mbit\", default: true}]}] | $1"
}
jq "$(shape_with .)" good.json >shaped.json
check "a valid shape is accepted" "$TAPLINE" run --check shaped.json
bad "a shape of a port without an echo" '$.shape[0].port' "$(shape_with 'del(.echo)')"
bad "children with more than the rate" '$.shape[0].classes[1]: class z: rate 1000001: the children of wan are guaranteed 2000001 bit/s' \
	"$(shape_with '.shape[0].classes[1].rate = 1000001')"
bad "a ceil above that of the parent class" '$.shape[0].classes[0].classes[0]: class y: ceil 2000000: above' \
	"$(shape_with '.shape[0].classes[0].classes[0].ceil = "2Mbit"')"
bad "a burst below a frame" '$.shape[0].classes[1]: class z: burst 1500: out of range; give 1518' \
	"$(shape_with '.shape[0].classes[1].burst = 1500')"
bad "an invalid expression" '$.shape[0].classes[0].classes[0].match' \
	"$(shape_with '.shape[0].classes[0].classes[0].match = "udp port port"')"

# hidden SENTENCE CLASSES TEXT: check that the shape with these classes in front of the others is refused with this text.
hidden() {
	bad "$1" "$3" "$(shape_with ".shape[0].classes = $2 + .shape[0].classes")"
}
hidden "a class behind one with all its frames" '[{name: "a", match: "udp or tcp"}]' \
	'$.shape[0].classes[1].classes[0]: class y: unreachable: the class a matches all its frames first; put it before that one, or remove it'
hidden "a class of the same frames in other words" '[{name: "a", match: "udp port 9"}, {name: "b", match: "port 9 and udp"}]' \
	'$.shape[0].classes[1]: class b: unreachable: the class a matches'
hidden "a class of frames that bypass the tree" '[{name: "a", match: "arp"}]' \
	'$.shape[0].classes[0]: class a: unreachable: ARP, IGMP, MLD and neighbour discovery'
bad "a class of untagged frames on a port with a VLAN" '$.shape[0].classes[0].classes[0]: class y: unreachable: the port sends IP packets with a VLAN tag' \
	"$(shape_with '.ports[0].vlan = 5')"
hidden "a class of tagged frames on a port without" '[{name: "a", match: "vlan 5 and udp"}]' \
	'$.shape[0].classes[0]: class a: unreachable: the port sends IP packets without a VLAN tag'
bad "a default class behind one of any frame" '$.shape[0].classes[1]: class z: unreachable: the class y matches' \
	"$(shape_with '.shape[0].classes[0].classes[0].match = "ip or not ip"')"

# value KEY VALUE [CLASS]: check that this value of the nested class, or of CLASS, is refused at its path.
value() {
	local at=${3-.shape[0].classes[0].classes[0]}
	bad "\"$1\": ${2:0:30}" "\$$at.$1" "$(shape_with "$at.$1 = $2")"
}
for rate in -1 0.5 '"-5Mbit"' '"5 Mbit"' '"Mbit"' '"1e6"' '"5Mbitt"' '"99999999999999999999"' '"5Tbit"' true '[1]' null; do
	value rate "$rate"
	value rate "$rate" '.shape[0]'
done
value rate 0 '.shape[0]'
for size in -1 0.5 '"1T"' '"5Gb"' '""' '{}'; do
	value burst "$size"
	value limit_bytes "$size"
done
value burst 0
value prio 8
value prio -1
value quantum 0
value limit 0
value limit 65537
value limit_ms 60001
value name '"a b"'
value name '"\u0007"'
value match '""'
value match "\"$(printf 'udp or %.0s' {1..600})udp\""
value classes '[]' '.shape[0]'
value classes 5 '.shape[0]'
value queue 1 '.shape[0]'
value overhead 65 '.shape[0]'
bad "a quantum below a frame" 'class y: quantum 1: out of range; give 1518' "$(shape_with '.shape[0].classes[0].classes[0].quantum = 1')"
bad "a limit below a frame" 'class y: limit of 100 bytes: less than a frame' "$(shape_with '.shape[0].classes[0].classes[0].limit_bytes = 100')"
bad "more classes than there can be" 'the shape has more than 10000 classes' \
	"$(shape_with '.shape[0].classes += [range(10000) | {name: "c\(.)", match: "udp port \(.)"}]')"
jq "$(shape_with '.shape[0].classes[0].classes[0] += {limit_bytes: "64Kb", burst: "15Kb", rate: "1000Kbit"}')" good.json >tc.json
check "values as tc prints them are accepted" "$TAPLINE" run --check tc.json

sed 's/"device": "lo"/"device": "lo", "device": "lo"/' good.json >bad.json
config_refused "a duplicate key, with its line" device bad.json:3
sed '4s/.*/\t"echo": [,/' good.json >bad.json
config_refused "a syntax error, with its line" bad.json:4
: >bad.json
config_refused "an empty file"
head -c 4096 /dev/urandom >bad.json
config_refused "a file that is not text"
rm bad.json
config_refused "a missing file"
