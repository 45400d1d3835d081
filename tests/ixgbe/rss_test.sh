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
