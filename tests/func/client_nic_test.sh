#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The client on a port with RX stamps and scheduled transmission of the NIC (tests/lib/stamping_nic.c): wire to wire by
# one clock, whose log has the true time.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

PPB=50000
LEAD_US=4000 # large enough that a busy host is rarely late
nic=()	     # additional properties of the NIC
STAMPED='.received == .sent and .received > 0 and .lost == 0 and .ledger_ok and .timestamps == "nic" and .stamps.arrivals == "nic-rx"
	and .received == (.stamps | .paired + .reply_first + .tx_missing + .rx_missing + .rx_shared)'

# client FILE OPTION...: run the client; its JSON goes to FILE, its messages to client.log.
client() {
	local file=$1 status=0
	shift
	in_peer timeout 60 env LD_PRELOAD="$STAMPING_NIC" STAMPING_NIC_PPB=$PPB STAMPING_NIC_LOG=nic.stamps "${nic[@]}" \
		"$TAPLINE" client --port "vdev:net_af_packet0,iface=$PEER_IF" --ip "$PEER_IP/24" --seconds 0.5 --rate 200 --linger 20 \
		--json "$@" >"$file" 2>client.log || status=$?
	((status == 0)) || not_ok "the client ends well" "status $status: $*" "$(cat client.log)"
}

# Compare the client's samples with the NIC's log.
judged() {
	"$func_root/tests/lib/judge_pairs.py" nic.stamps "$PPB" "$1" samples.csv >judged.json
}

logged() {
	sed -n "s/^$1 //p" nic.stamps
}

# Print the number of frames with a launch time.
launch_times() {
	echo $(($(logged at_sent) + $(logged at_past)))
}

# client_timed FRAMES FILE OPTION...: repeat it until this many frames had a launch time; on a busy host all may be late.
client_timed() {
	local frames=$1 i
	shift
	for ((i = 0; i < 20; i++)); do
		client "$@"
		(($(launch_times) < frames)) || return 0
	done
}

at_a_time() {
	nic=(STAMPING_NIC=mlx5)
	client_timed 1 udp.json --udp-echo "$APP_IP:7" --timestamps nic --lead $LEAD_US --csv samples.csv --report report.json
	check_json "datagrams have launch times, and the NIC stamps their echoes" udp.json \
		"$STAMPED and .stamps.departures == \"nic-tx\" and .stamps.paired > 0 and .stamps.wire_over_rtt == 0"
	check_equal "no other frame has a launch time" "$(launch_times)" "$(jq '.sent - .stamps.tx_missing' udp.json)"
	judged 50
	check_json "the difference agrees with the NIC's clock within some ns" judged.json '.samples > 0 and .strays == 0 and .beyond == 0'
	check_json "the report names the sources and the bounds of one clock" report.json \
		'.trigger_source == "nic-tx" and .reply_source == "nic-rx" and .trigger_bound_ns <= 2 and .reply_bound_ns <= 2'
	client_timed 1 group.json --group 239.1.1.1 --udp-port 5001 --tcp-listen "$PEER_IP:5002" --lead $LEAD_US
	check_json "multicast uses launch times by default" \
		group.json "$STAMPED and .stamps.departures == \"nic-tx\" and .stamps.paired > 0"
}

missed() {
	nic=(STAMPING_NIC=mlx5 STAMPING_NIC_MISS=10)
	client_timed 10 missed.json --udp-echo "$APP_IP:7" --timestamps nic --lead $LEAD_US
	check_json "missed launch times reported by the NIC invalidate the result" missed.json "$STAMPED and .valid == false
		and any(.invalid[]; test(\"counts $(logged at_past) errors in sending at a time .tx_pp_timestamp_past_errors.\"))"
	nic=(STAMPING_NIC=mlx5)
	client late.json --udp-echo "$APP_IP:7" --timestamps nic --lead 1
	check_json "a message too late for its launch time is sent without time and stamp" late.json "$STAMPED and .stamps.tx_missing > 0
		and .stamps.departures == \"nic-tx\" and .stamps.paired == $(launch_times)"
}

# without TEXT OPTION...: check that departures have another source, and that the client gives the reason.
without() {
	local text=$1
	shift
	client without.json --timestamps nic "$@"
	check_json "departures are stamped by tsc$text" without.json "$STAMPED and .stamps.departures == \"tsc\" and .stamps.paired > 0"
	check "the client reports the source of departures" grep -qF -- "departures are stamped by tsc$text" client.log
	check_equal "no frame has a launch time" "$(launch_times)" 0
}

# A NIC whose stamps are not of the readable clock.
refused() {
	nic=(STAMPING_NIC=mlx5-utc)
	client utc.json --udp-echo "$APP_IP:7" --timestamps nic --lead $LEAD_US
	check_json "datagrams have no stamps if the NIC's clock fails its gate" utc.json ".received == .sent and .received > 0 and
		.ledger_ok and .stamps.paired == 0 and .stamps.rx_missing == .received and .valid == false"
	check_equal "no datagram gets a launch time" "$(launch_times)" 0
	check "the client reports the reason" grep -q 'stamps are times since 1970' client.log
}

others() {
	nic=(STAMPING_NIC=ice)
	without ": vdev:net_af_packet0,iface=$PEER_IF has no scheduled sending" --udp-echo "$APP_IP:7"
	nic=(STAMPING_NIC=mlx5)
	without ": TCP segments have no send time" --tcp-connect "$APP_IP:7"
}

func_begin
STAMPING_NIC=${TL_BUILD:-$func_root/build}/tests/libstamping_nic.so
if ! LD_PRELOAD=$STAMPING_NIC "$TAPLINE" --version >/dev/null 2>&1; then
	skip "from wire to wire by the NIC's clock" "this build takes no preloaded library (a sanitizer's does not)"
	exit
fi
net_begin
ip -netns "$PEER_NS" address flush dev "$PEER_IF" # the kernel there must not reply
app_config config.json '"echo": [{"port": "lan", "udp_listen": 7}, {"port": "lan", "tcp_listen": 7},
	{"port": "lan", "receive": {"group": "239.1.1.1", "udp_port": 5001}, "send": {"tcp_connect": "'"$PEER_IP"':5002"}}]'
app_start config.json
at_a_time
missed
refused
others
app_stop TERM
check_json "the ledger of the appliance is consistent" run.json '.ledger_ok'
