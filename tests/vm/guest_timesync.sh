#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Guest part of run.sh timesync: an echo with TX stamps of replies and PTP frames, under load, with a DPDK that stamps
# sent frames, then with Debian's, which does not. TAPLINE, TAPLINE_PTP and ROOT are in the environment.
set -euo pipefail
source "$ROOT/tests/vm/guest_lib.sh"

# echo_begin NAME PROGRAM PROBES_PER_S REPLIES_PER_S: start in the background; return when it replies.
echo_begin() {
	cat >config.json <<-END
		{"ports": [{"name": "lan", "device": "$NIC", "ip": "$NIC_IP/24", "ptp_probes_per_s": $3, "reply_stamps_per_s": $4}],
		"eal": {"memory_mb": 256},
		"echo": [{"port": "lan", "udp_listen": 7}],
		"control": {"socket": "control.sock"}}
	END
	"$2" run config.json --json --latency "$1.latency" >"/out/$1.json" 2>"/out/$1.log" &
	tapline_pid=$!
	wait_for 120 ask "$2"
}

# ask PROGRAM: write the status of the running Tapline to status.json.
ask() {
	"$1" status --socket control.sock --json >status.json 2>/dev/null
}

# has PROGRAM FILTER: check jq's filter on the status of the running Tapline.
has() {
	ask "$1" && jq -e "$2" status.json >/dev/null
}

echo_end() {
	kill -s TERM "$tapline_pid"
	ended "$1"
	cp -r "$1.latency" /out/ # Landlock does not recognize a 9p directory after a new lookup
}

# Send messages until stamps of ten replies were requested.
replies_are_marked() {
	"$ROOT/tests/lib/peer.py" udp_sizes "$NIC_IP" 7 16 16 16 16 >udp.json || true
	has "$TAPLINE_PTP" '.port.ptp.replies.replies_marked >= 10'
}

# Twenty probes and ten replies while the echo runs, then eight PTP frames from the peer.
stamped() {
	tcpdump -i "$peer_if" -Q in -U -w /out/probes.pcap ether proto 0x88f7 2>tcpdump.log &
	dump_pid=$!
	wait_for 60 grep -q 'listening on' tcpdump.log
	echo_begin stamped "$TAPLINE_PTP" 10 20
	"$ROOT/tests/lib/peer.py" udp_sizes "$NIC_IP" 7 0 1 16 100 1000 1472 >/out/udp.json || true
	wait_for 60 replies_are_marked || true
	wait_for 60 has "$TAPLINE_PTP" '.port.ptp.probes_sent >= 20' || true
	"$ROOT/tests/lib/send_pcap.py" "$peer_if" /out/ptp.pcap 100 >/out/sent
	wait_for 60 has "$TAPLINE_PTP" '.port.ptp.ptp_received_pkts >= 8' || true
	echo_end stamped
	kill "$dump_pid"
	wait "$dump_pid" || true
}

unstamped() {
	echo_begin unstamped "$TAPLINE" 40 0
	wait_for 60 has "$TAPLINE" '.port.ptp.stamps_sent == false' || true
	echo_end unstamped
}

two_nics_begin
stamped
unstamped
