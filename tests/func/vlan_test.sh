#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A port in a VLAN: its peer is the kernel behind the access port of a switch (the relay), and if the kernel supports
# VLANs, a VLAN interface. tshark checks the frames on the trunk.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

VID=5

echo_of_socat() {
	head -c 10000000 /dev/urandom >sent
	in_peer timeout 60 socat -b 65536 -t 30 "OPEN:sent,rdonly!!CREATE:received" "TCP:$APP_IP:7" && cmp sent received
}

# trunk FILTER: print tshark's number of matching frames on the trunk.
trunk() {
	tshark -r trunk.pcapng -Y "$1" 2>/dev/null | wc -l
}

# our_frames FILTER: print the number of frames sent by the appliance.
our_frames() {
	trunk "eth.src == $APP_MAC && ($1)"
}

silence() {
	! in_peer ping -q -c 3 -i 0.2 -W 1 "$APP_IP" >/dev/null
}

# switch_to [OPTION...]: insert another switch.
switch_to() {
	relay_stop
	relay_start "$@"
}

# serves_all WHERE: check every protocol with the kernel at the other end.
serves_all() {
	check "$1 ping is answered, up to the MTU" in_peer ping -q -c 5 -i 0.05 -W 10 -M do -s 1472 "$APP_IP"
	check "$1 10 MB are echoed over TCP, byte for byte" echo_of_socat
	in_peer timeout 30 "$PEER_PY" udp_sizes "$APP_IP" 7 0 1 18 100 1471 1472 >udp.json || true
	check_json "$1 datagrams of every size are echoed" udp.json '.wrong == [] and .sizes == 6'
	in_peer timeout 30 "$PEER_PY" multicast "$PEER_IP" 239.1.2.3 5000 20 100 >/dev/null || true
	check "$1 multicast datagrams are delivered" wait_for 60 status_is '.echoes[2].received_msgs == 20'
}

func_begin
net_begin_relayed --vlan "$VID"
APP_MAC=$(in_app cat "/sys/class/net/$APP_IF/address")
app_config config.json '"echo": [{"port": "lan", "tcp_listen": 7, "max_connections": 16}, {"port": "lan", "udp_listen": 7},
	{"port": "lan", "receive": {"group": "239.1.2.3", "udp_port": 5000}, "send": {"tcp_connect": "'"$PEER_IP"':6000"}}]' \
	'"capture": [{"port": "lan", "path": "trunk.pcapng"}]'
sed -i "s/\"ip\": /\"vlan\": $VID, \"ip\": /" config.json
app_start config.json
serves_all "to an access port"

switch_to --vlan $((VID + 1))
check "another VLAN gets no reply" silence
check "frames of other VLANs are counted" wait_for 60 status_is '.net[0] | .drop_vlan_pkts > 0 and .drop_untagged_pkts == 0'
switch_to
check "untagged requests get no reply" silence
check "untagged frames are counted" wait_for 60 status_is '.net[0].drop_untagged_pkts > 0'
switch_to --vlan "$VID"
check "ping in the VLAN is answered again" wait_for 60 answers_ping
app_stop TERM

check_json "each frame is counted exactly once, and the ledger is consistent" run.json \
	'.ledger_ok and (.net[0] | .in_pkts == ([to_entries[] | select(.key | test("^(rx|drop)_")).value] | add))'
check_equal "each of our frames has one tag of our VLAN" "$(our_frames "vlan.id == $VID && !vlan.etype == 0x8100")" "$(our_frames frame)"
for protocol in arp icmp igmp udp tcp; do
	check "frames of $protocol have the tag too" test "$(our_frames "vlan.id == $VID && $protocol")" -gt 0
done
check_equal "the MSS follows the MTU" \
	"$(tshark -r trunk.pcapng -Y "eth.src == $APP_MAC && tcp.flags.syn == 1" -T fields -e tcp.options.mss_val 2>/dev/null | sort -u)" 1460
check "the longest frame has 1518 bytes" test "$(our_frames "frame.len == 1518")" -gt 0
check_equal "no frame is longer" "$(our_frames "frame.len > 1518")" 0
check "the recording has the frames of other VLANs" test "$(trunk "vlan.id == $((VID + 1))")" -gt 0
check "the recording has untagged frames" test "$(trunk '!vlan')" -gt 0

if ! ip -netns "$PEER_NS" link add link "$PEER_IF" name tagged0 type vlan id "$VID" 2>/dev/null; then
	skip "a VLAN interface of the kernel as the peer" "this kernel has no 802.1Q interfaces"
	exit
fi
switch_to
ip -netns "$PEER_NS" address flush dev "$PEER_IF"
ip -netns "$PEER_NS" link set tagged0 up
netns_address "$PEER_NS" tagged0 "$PEER_IP/24"
app_start config.json
serves_all "to a VLAN interface"
app_stop TERM
