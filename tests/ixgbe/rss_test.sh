#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Frames are distributed over 1 to 16 receive queues by the hash, and each is recorded once.
set -euo pipefail
source "$(dirname "$0")/lib/ixgbe.sh"

ixgbe_begin "frames are spread over the queues of a card"
card "$CARD" 10f7 none
RSS_PY=$func_root/tests/ixgbe/lib/rss.py
"$RSS_PY" frames in.pcap 400
MEMORY_MB=512

for queues in 1 2 3 8 16; do
	card_config card.json ", \"rx_queues\": $queues" "$RECORD"
	rm -f out.pcapng
	app_start card.json
	inject "$CARD" in.pcap
	wait_for 60 received 400 || true
	app_stop INT
	check_equal "with $queues queues, each gets the frames that the hash gives it" \
		"$(jq -c '[.port.queues[].rx_pkts]' run.json)" "$("$RSS_PY" queues in.pcap "$queues")"
	check_json "with $queues queues, the ledger holds and nothing is lost" run.json \
		'.ledger_ok and .lossless and .captures[0].written_pkts == 400'
done

# both_ways KEYS N THERE BACK: record N conversations in both directions.
both_ways() {
	card_config card.json ", \"rx_queues\": 3$1" "$RECORD"
	rm -f out.pcapng
	app_start card.json
	inject "$CARD" "$3"
	wait_for 60 received "$2" || true
	there=$(app_status '[.port.queues[].rx_pkts | 2 * .]')
	inject "$CARD" "$4"
	wait_for 60 received $((2 * $2)) || true
	app_stop INT
	torn=$("$RSS_PY" torn out.pcapng)
}

"$RSS_PY" frames many.pcap 3000
"$RSS_PY" back many.pcap back.pcap
both_ways ', "rss": "symmetric"' 3000 many.pcap back.pcap
check_json "with a symmetric key, each queue gets as many frames back as there" run.json \
	"[.port.queues[].rx_pkts] == $there and .port.rx_pkts == 6000"
by_rss=$there
check_json "and the results say so, with the shares that the table of RSS gives" run.json \
	'.port.rss_symmetric and ([.port.queues[].rss_share * 128] == [43, 43, 42])'
check_equal "both directions of each of 3000 flows are on one queue" "$torn" '[3000,0]'
both_ways '' 3000 many.pcap back.pcap
check "with the driver's key most are not" jq -en "$torn | .[0] == 3000 and .[1] > 1500"

# The card hashes the outer headers.
"$RSS_PY" wrap many.pcap many-vxlan.pcap 1
"$RSS_PY" wrap back.pcap back-vxlan.pcap 2
both_ways ', "rss": "symmetric"' 3000 many-vxlan.pcap back-vxlan.pcap
check "in VXLAN most are not, in spite of a symmetric key" jq -en "$torn | .[0] == 3000 and .[1] > 1500"
both_ways ', "rss": "inner"' 3000 many-vxlan.pcap back-vxlan.pcap
check_equal "with \"inner\", each is recorded on one queue" "$torn" '[3000,0]'
check_json "by a hand-off that is counted, and each frame is recorded once" run.json '.ledger_ok and .lossless and .port.rss_symmetric and
	.port.inner_handoff_pkts > 3000 and .port.inner_handoff_pkts == .port.inner_taken_pkts + .port.inner_kept_pkts and
	.port.inner_kept_pkts == 0 and .captures[0].written_pkts == 6000 and all(.captures[0].queues[]; .rx.offered_pkts > 1500)'
check_json "the results say that it is by hand-off alone, and why" run.json \
	'.port.rss_inner == {by: "handoff", why: "its driver offers no RSS level"}'
"$TAPLINE" run --explain card.json >explained.txt 2>err.txt || func_die "--explain: $(<err.txt)"
check "--explain says so, too" grep -q "rss inner: .*: net_ixgbe offers no RSS level" explained.txt

# with_inner_nic MODE: run with a driver that offers an RSS level, on the card, which hashes outer headers nevertheless.
with_inner_nic() {
	sed -i "s|LD_PRELOAD=.*|LD_PRELOAD=\"$MODEL:$(dirname "$MODEL")/../libinner_nic.so\" INNER_NIC=$1|" "$TAPLINE"
	both_ways ', "rss": "inner"' 3000 many-vxlan.pcap back-vxlan.pcap
}

with_inner_nic keep
check_json "a driver that offers an RSS level is asked for it" run.json '.port.rss_inner == {by: "nic", why: null}'
check_equal "what the card hashed otherwise is handed over to the queue of its inner flow" "$torn" '[3000,0]'
check_json "which is that of the flow without encapsulation" run.json "[.captures[0].queues[].rx.offered_pkts] == $by_rss"
check_json "and is recorded once" run.json '.ledger_ok and .lossless and .captures[0].written_pkts == 6000 and
	.port.inner_handoff_pkts > 3000 and .port.inner_kept_pkts == 0 and all(.captures[0].queues[]; .rx.offered_pkts > 1500)'
for mode in refuse forget; do
	with_inner_nic $mode
	check_json "a driver that ${mode}s the level gets none, and the results say why" run.json ".ledger_ok and
		.port.rss_inner.by == \"handoff\" and (.port.rss_inner.why | test(\"refuses the RSS level|did not keep the RSS level\"))"
	check_equal "with a driver that ${mode}s it, each flow is on one queue nevertheless" "$torn" '[3000,0]'
done
