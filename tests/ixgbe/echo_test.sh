#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Echoes on a card whose peer is the kernel: every protocol through the ixgbe driver's rings, with checksums verified
# and computed by the card.
set -euo pipefail
source "$(dirname "$0")/lib/ixgbe.sh"

echo_of_socat() {
	head -c 5000000 /dev/urandom >sent
	in_peer timeout 60 socat -b 65536 -t 30 "OPEN:sent,rdonly!!CREATE:received" "TCP:$APP_IP:7" && cmp sent received
}

# serves_all WHERE: check every protocol.
serves_all() {
	check "$1 ping is answered, up to the MTU" in_peer ping -q -c 5 -i 0.05 -W 2 -M do -s 1472 "$APP_IP"
	check "$1 5 MB come back by TCP, byte for byte" echo_of_socat
	in_peer timeout 30 "$PEER_PY" udp_sizes "$APP_IP" 7 0 1 18 100 1471 1472 >udp.json || true
	check_json "$1 datagrams of every size come back" udp.json '.wrong == [] and .sizes == 6'
}

# from_group GROUP: send 20 datagrams to the group; wait until the echo has received them.
from_group() {
	in_peer timeout 30 "$PEER_PY" multicast "$PEER_IP" "$1" 5000 20 100 >/dev/null || true
	wait_for 60 status_is '.echoes[2].received_msgs == 20'
}

ECHOES='"echo": [{"port": "lan", "tcp_listen": 7}, {"port": "lan", "udp_listen": 7},
	{"port": "lan", "receive": {"group": "239.1.2.3", "udp_port": 5000}, "send": {"tcp_connect": "'"$PEER_IP"':6000"}}]'

stop_well() {
	app_stop INT
	check_equal "$1 the run ends well" "$APP_STATUS" 0
	check_json "$1 no frame is lost, and none unaccounted for" run.json '.ledger_ok and .port.drop_nic_pkts == 0 and .port.drop_tx_pkts == 0'
}

ixgbe_begin "the kernel is served over a card"
card "$CARD" 10f7 "tap tap0"
tap_begin

MEMORY_MB=512
for queues in 1 2; do
	card_config card.json ", \"ip\": \"$APP_IP/24\", \"rx_queues\": $queues" "$ECHOES" "$RECORD"
	rm -f out.pcapng
	peer_start socat -u TCP-LISTEN:6000,reuseaddr,bind="$PEER_IP" "CREATE:tcp.$queues"
	app_start card.json
	serves_all "with $queues lcores,"
	check "with $queues lcores, the group's datagrams leave by TCP" from_group 239.1.2.3
	stop_well "with $queues lcores,"
	check_equal "with $queues lcores, what came by TCP is what came to the group" "$(stat -c %s "tcp.$queues")" 2000
	grep -E 'multicast|TX checksums' run.log >"probe.$queues" || true
	check "with $queues lcores, the card filters the group" grep -q 'multicast  *MAC filter' run.log
done

ip -netns "$APP_NS" link set tap0 mtu 9000
card_config card.json ", \"ip\": \"$APP_IP/24\", \"mtu\": 9000" '"echo": [{"port": "lan", "tcp_listen": 7}, {"port": "lan", "udp_listen": 7}]'
app_start card.json
check "with an MTU of 9000, ping is answered, up to it" in_peer ping -q -c 5 -i 0.05 -W 2 -M do -s 8972 "$APP_IP"
check "with an MTU of 9000, 5 MB come back by TCP, byte for byte" echo_of_socat
stop_well "with an MTU of 9000,"
