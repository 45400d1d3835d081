#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A queue whose lcore is stopped does not affect the others, and frames beyond its ring are counted once, as its loss.
set -euo pipefail
source "$(dirname "$0")/lib/ixgbe.sh"

DESCRIPTORS=1023 # of a ring of 1024
RSS_PY=$func_root/tests/ixgbe/lib/rss.py

# hold_last_lcore: stop the thread of the last queue's lcore, until descriptor 9 is closed.
hold_last_lcore() {
	local pid
	pid=$(pgrep -P "$app_pid" -x tapline || echo "$app_pid")
	mkfifo gate
	"$func_root/tests/lib/hold_thread.py" "$pid" "$(cat /proc/"$pid"/task/*/comm | grep -E 'worker|lcore' | sort -V | tail -n 1)" \
		<gate >held.log 2>&1 &
	exec 9>gate
	wait_for 20 grep -q held held.log || func_die "the lcore is not held: $(<held.log)"
}

queue_received() {
	status_is ".port.queues[$1].rx_pkts >= $2"
}

ixgbe_begin "a slow lcore holds up no other"
card "$CARD" 10f7 none
"$RSS_PY" frames all.pcap 400
for queue in 0 1; do
	"$RSS_PY" pick all.pcap 2 $queue $queue.pcap
done
others=$("$RSS_PY" queues 0.pcap 2 | jq '.[0]')
card_config card.json ', "rx_queues": 2, "rx_descriptors": 1024' "$RECORD"

app_start card.json
hold_last_lcore
flood "$CARD" 1.pcap 2000
inject "$CARD" 0.pcap
check "frames of the other queue arrive while one lcore stands still" wait_for 20 queue_received 0 "$others"
exec 9>&-
check "the held one receives what its descriptors had room for" wait_for 20 queue_received 1 $DESCRIPTORS
app_stop INT
check_json "every frame that it had no room for is counted once, as its loss" run.json ".ledger_ok and .port.verified and
	.port.hw_seen_pkts == 2000 + $others and .port.drop_nic_pkts == 2000 - $DESCRIPTORS and
	[.port.queues[].drop_nic_pkts] == [0, 2000 - $DESCRIPTORS] and
	[.port.queues[].rx_pkts] == [$others, $DESCRIPTORS]"
check_json "the ring of the held one is seen full, that of the other is not" run.json "[.port.queues[].ring |
	[.descriptors, .used_max > 900]] == [[1024, false], [1024, true]]"
check_json "the recording has all that was received" run.json ".captures[0].written_pkts == $DESCRIPTORS + $others"
