# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Test two lcores on one port with echoes on both, over IPv4 (tests/func/handoff_test.sh) or IPv6 (handoff6_test.sh). Sourced
# behind func.sh by scripts that have set OUR_ADDRESS, the appliance's, and PEER_AT, the kernel's in the form used before a port.

# lcores_start GROUP0 GROUP1 [ECHO...]: start an appliance in which each lcore has a feed of its group and a TCP echo, echoes 0 to
# 3; more echoes as JSON. begin.json is its status.
lcores_start() {
	local q echoes=()
	for q in 0 1; do
		echoes+=("{\"name\": \"feed$q\", \"port\": \"lan\", \"queue\": $q, \"receive\": {\"group\": \"$1\", \"udp_port\": 5001},
			\"send\": {\"tcp_connect\": \"$PEER_AT:$((5002 + q))\"}}")
		shift
	done
	for q in 0 1; do
		echoes+=("{\"name\": \"tcp$q\", \"port\": \"lan\", \"queue\": $q, \"tcp_listen\": $((7 + q))}")
	done
	app_config one.json "\"echo\": $(printf '%s\n' "${echoes[@]}" "$@" | jq -s .)" \
		'"capture": [{"port": "lan", "path": "all.pcapng"}]'
	jq '.ports[0].rx_queues = 2 | .eal.memory_mb = 512' one.json >config.json
	app_start config.json
	app_status >begin.json
}

# feed GROUP TCP_PORT: multicast in, TCP out. The client fails if a message is lost, corrupt, duplicated or out of order.
feed() {
	in_peer timeout 60 "$TAPLINE" client --kernel --group "$1" --udp-port 5001 --tcp-listen "$PEER_AT:$2" \
		--rate 1000 --seconds 1 --payload 16 --connect-timeout 30 --linger 20 --json >client.json 2>client.log
}

# echo_of PORT BYTES: check that a TCP echo returns this many bytes unchanged.
echo_of() {
	in_peer timeout 120 "$PEER_PY" echo_bytes "$OUR_ADDRESS" "$1" "$2" >echo.json
	jq -e ".received == $2 and .same and .fin" echo.json
}

# together PORT: check two concurrent echoes.
together() {
	in_peer timeout 60 "$PEER_PY" open_together "$OUR_ADDRESS" "$1" 100 >together.json
	jq -e '.same == 100' together.json
}

# datagrams PORT LARGEST: send every sixteenth size.
datagrams() {
	# shellcheck disable=SC2046 # each a word
	in_peer "$PEER_PY" udp_sizes "$OUR_ADDRESS" "$1" $(seq 0 16 "$2") >sizes.json
	jq -e ".sizes == $(($2 / 16 + 1)) and .wrong == []" sizes.json
}

# recorded FILTER: print the number of matching frames in the recording.
recorded() {
	tshark -r all.pcapng -Y "$1" 2>/dev/null | wc -l
}

# lcores_serve GROUP0 GROUP1
lcores_serve() {
	check "a feed of the first lcore is echoed, message by message" feed "$1" 5002
	check "and one of the second" feed "$2" 5003
	check "10 MB come back from a TCP echo of the first lcore" echo_of 7 10000000
	check "and of the second" echo_of 8 10000000
	check "100 connections at once, from as many ports, are served by the first lcore" together 7
	check "and by the second" together 8
}

# Status of hand-offs in an idle appliance.
lcores_at_rest() {
	check "no connection is left" wait_for 60 status_is '[.echoes[] | select(.mode == "tcp") | .connections] == [0, 0]'
	app_status >status.json
	check_json "each queue handed frames over" status.json 'all(.port.queues[]; .handoff_pkts > 0)'
}

# Counters of hand-offs after the appliance has ended.
lcores_ended() {
	check_json "the ledger holds, by the kernel's count" run.json '.ledger_ok and .port.verified'
	check_json "all that was handed over was taken" run.json '.port |
		.handoff_pkts == .handoff_taken_pkts and .drop_handoff_pkts == 0'
	check_json "each message of the feeds was echoed" run.json \
		'[.echoes[] | select(.name | test("feed")) | .received_msgs, .echoed_msgs] == [1000, 1000, 1000, 1000]'
	check_json "no mbuf is left" run.json ".port.mbufs_in_use <= $(jq .port.mbufs_in_use begin.json)"
	check_equal "each message of the feeds is recorded once" "$(recorded 'udp.dstport == 5001')" 2000
}
