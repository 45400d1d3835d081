#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Recording from a card: DPDK's ixgbe driver on the modelled 82599, each frame and each counter.
set -euo pipefail
source "$(dirname "$0")/lib/ixgbe.sh"

ixgbe_begin "frames of a card are recorded"
card "$CARD" 10f7 none
"$func_root/tests/lib/make_pcap.py" in.pcap 200
card_config card.json "" "$RECORD"

app_start card.json
inject "$CARD" in.pcap
check "the port receives what arrives" wait_for 60 received 200
app_stop INT
check_equal "the run ends well" "$APP_STATUS" 0
check_json "the ledger holds by the MAC's own count, and nothing is lost" run.json '.ledger_ok and .lossless and .port.hw_seen_pkts == 200 and .port.verified'
check "every frame is recorded as it was" same_frames in.pcap out.pcapng
check_json "the link is the MAC's" run.json '.port.link == "up" and .port.link_downs == 0'
check "the probe names the driver and the speed" grep -q 'link  *10000 Mbit/s' run.log
