#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Two receive queues, each with its lcore and its slabs, into one file that has every frame once.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

# Many flows, so that both queues get some; -W waits for a reply.
ping_many() {
	local i
	for i in $(seq 10 40); do
		ip -netns "$PEER_NS" address add "10.99.0.$i/24" dev "$PEER_IF"
		in_peer ping -q -c 10 -i 0.002 -W 10 -I "10.99.0.$i" "$APP_IP" >/dev/null || return
	done
}

func_begin
net_begin
ip -netns "$APP_NS" address add "$APP_IP/24" dev "$APP_IF"
ip netns exec "$APP_NS" "$TAPLINE" capture -i "$APP_IF" --queues 2 -w two.pcapng --json icmp >run.json 2>run.log </dev/null &
app_pid=$!
check "recording with two queues starts" wait_for 60 grep -q ' s  received' run.log
check "the kernel continues to reply" ping_many
app_stop INT

check_equal "SIGINT ends the recording with status 0" "$APP_STATUS" 0
check_json "the ledger agrees with the kernel's count" run.json '.ledger_ok and .lossless and .port.verified'
check_equal "the file has two interfaces" "$(capinfos two.pcapng 2>/dev/null | grep -c '^Interface #')" 2
check_equal "both interfaces have frames" \
	"$(tshark -r two.pcapng -T fields -e frame.interface_id 2>/dev/null | sort -u | wc -l)" 2
check_equal "each of the 310 requests is recorded once" \
	"$(tshark -r two.pcapng -Y 'icmp.type == 8' -T fields -e ip.src -e icmp.seq 2>/dev/null | sort -u | wc -l)" 310
check_equal "no other request is recorded" "$(tshark -r two.pcapng -Y 'icmp.type == 8' 2>/dev/null | wc -l)" 310

# Counters per queue, in addition to the totals.
check_json "the ledger has a consistent row for each queue" run.json '.captures[0] | (.queues | length == 2) and
	all(.queues[] | .rx, .tx; .unaccounted_pkts == 0) and all(.queues[]; .slabs_used == 0)'
check_json "both queues have written packets" run.json 'all(.captures[0].queues[]; .rx.written_pkts + .tx.written_pkts > 0)'
check_json "the rows sum up to the totals" run.json '.captures[0] |
	. as $all | all("offered_pkts", "written_pkts", "filtered_pkts", "drop_ring_pkts"; . as $key |
	([$all.queues[] | .rx[$key], .tx[$key]] | add) == $all[$key])'
check_json "the rows of the port sum up to its totals, including kernel drops" run.json '.port | (.queues | length == 2) and
	([.queues[].rx_pkts] | add) == .rx_pkts and ([.queues[].rx_bytes] | add) == .rx_bytes and
	([.queues[].drop_nic_pkts] | add) == .drop_nic_pkts'
check_equal "the table has the rows" "$(grep -c '^  queue [01]   r' run.log)" 4
