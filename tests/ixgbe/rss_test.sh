#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Frames are spread over 1 to 16 receive queues as the hash says, and each is recorded once.
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

"$RSS_PY" back in.pcap back.pcap
card_config card.json ', "rx_queues": 3, "rss": "symmetric"' "$RECORD"
rm -f out.pcapng
app_start card.json
inject "$CARD" in.pcap
wait_for 60 received 400 || true
there=$(app_status '[.port.queues[].rx_pkts | 2 * .]')
inject "$CARD" back.pcap
wait_for 60 received 800 || true
app_stop INT
check_json "with a symmetric key, both directions of each flow come to one queue" run.json \
	"[.port.queues[].rx_pkts] == $there and .port.rx_pkts == 800"
check_json "and the results say so, with the shares that the table of RSS gives" run.json \
	'.port.rss_symmetric and ([.port.queues[].rss_share * 128] == [43, 43, 42])'
