#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Roles of queues: one lcore owns all echoes and is not recorded, another one records, and hands over frames for the
# echoes.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"
source "$func_root/tests/lib/two_lcores.sh"

OUR_ADDRESS=$APP_IP PEER_AT=$PEER_IP
ECHO='"echo": [{"port": "lan", "tcp_listen": 7}, {"port": "lan", "udp_listen": 7}, {"port": "lan", "udp_listen": 9}]'
RECORD='"capture": [{"port": "lan", "path": "all.pcapng"}]'

# roles FILE ROLES [SECTION...]
roles() {
	local file=$1 roles=$2
	shift 2
	app_config one.json "$@"
	jq --argjson roles "$roles" '.ports[0].rx_queues = 2 | .ports[0].roles = $roles | .eal.memory_mb = 512' one.json >"$file"
}

# refuses_roles SENTENCE TEXT ROLES [SECTION...]: check a rejection; jq writes each role on a separate line.
refuses_roles() {
	local sentence=$1 text=$2
	shift 2
	roles wrong.json "$@"
	refuses "$sentence" "$text" "$TAPLINE" run --check wrong.json
}

answers_arp() {
	ip -netns "$PEER_NS" neighbour flush dev "$PEER_IF"
	answers_ping
}

func_begin
net_begin
refuses_roles "an echo role without an echo is refused" 'wrong.json:14: $.ports[0].roles[1]: no echo is on the port "lan": add one' \
	'["record", "echo"]' "$RECORD"
refuses_roles "a recording role without a recording is refused" 'wrong.json:13: $.ports[0].roles[0]: no recording is of the port "lan"' \
	'["record", "both"]' "$ECHO"
refuses_roles "a port with echoes but no queue for them is refused" '$.ports[0].roles[0]: no queue is left for the echoes' \
	'["record", "record"]' "$ECHO" "$RECORD"
refuses_roles "a port with recordings but no queue for them is refused" '$.ports[0].roles[0]: no queue is left for the recordings' \
	'["echo", "echo"]' "$ECHO" "$RECORD"
refuses_roles "an echo on a queue that only records is refused" \
	'wrong.json:22: $.echo[0].queue: queue 1 of the port "lan" only records' \
	'["echo", "record"]' "${ECHO/7\}/7, \"queue\": 1\}}" "$RECORD"

roles config.json '["record", "echo"]' "$ECHO" "$RECORD"
ip netns exec "$APP_NS" "$TAPLINE" run --explain config.json >explain.txt
check "--explain prints the role of a recorded queue" grep -q '^  queue 0 on CPU .*: record; .*handed over' explain.txt
check "--explain prints the role of an echo queue with its echoes" \
	grep -q '^  queue 1 on CPU .*: echo, owner of echo0, echo1, echo2; its frames are not recorded' explain.txt

app_start config.json
check "10 MB are echoed over TCP, received on either queue" echo_of 7 10000000
check "100 concurrent connections from different ports are echoed" together 7
check "datagrams are echoed" datagrams 9 1472
check "ping is answered" wait_for 60 answers_ping
check "ARP is answered" wait_for 60 answers_arp
check "no connection remains" wait_for 60 status_is '.echoes[0].connections == 0'
app_stop TERM
check_equal "SIGTERM ends the run with status 0" "$APP_STATUS" 0
check_json "the results have the roles, with all echoes on one queue" run.json \
	'[.port.queues[].role] == ["record", "echo"] and [.echoes[].queue] == [1, 1, 1]'
check_json "frames arrived on both queues, and those of the recorded one were handed over" run.json '.ledger_ok and .port.verified and
	all(.port.queues[]; .rx_pkts > 0) and .port.queues[0].handoff_pkts > 100 and .port.queues[1].handoff_pkts == 0 and
	.port.handoff_pkts == .port.handoff_taken_pkts'
check_json "one stack processed each frame for the port" run.json \
	'.net[0].in_pkts == .port.queues[1].rx_pkts + .port.handoff_pkts'
check_json "the ledger counts frames that are not recorded" run.json '.port.unrecorded_rx_pkts == .port.queues[1].rx_pkts and
	.port.unrecorded_tx_pkts == .port.tx_pkts and .captures[0].tx.offered_pkts == 0 and
	.captures[0].rx.offered_pkts + .port.unrecorded_rx_pkts == .port.rx_pkts'
check_equal "the file has the frames of the recorded queue" "$(tshark -r all.pcapng 2>/dev/null | wc -l)" \
	"$(jq '.port.queues[0].rx_pkts' run.json)"
check "the table shows the roles" grep -qE '^ *not recorded: [0-9,]+ frames received and [0-9,]+ sent by queues' run.log
