#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Surprise removal of a card during a recording: the run ends at once, and its file is complete.
set -euo pipefail
source "$(dirname "$0")/lib/ixgbe.sh"

# torn_out VERB HOW: let the model do it during a run that then ends by itself.
torn_out() {
	local verb=$1 how=$2 begin
	rm -f out.pcapng
	app_start card.json
	inject "$CARD" in.pcap
	wait_for 60 received 100 || true
	ask "$verb" "$CARD" >/dev/null
	begin=$SECONDS
	check "$how, the run ends by itself" wait_for 60 is_gone "$app_pid"
	echo "# $how: gone after $((SECONDS - begin)) s"
	app_stop INT
	check "$how, the log reports the removal" grep -q 'is gone: it was unplugged' run.log
	check "$how, what came until then is recorded" same_frames in.pcap out.pcapng
	check_json "$how, the ledger holds and counts no frames that never were" run.json \
		'.ledger_ok and .lossless and .port.hw_seen_pkts == 100 and .port.rx_pkts == 100'
}

ixgbe_begin "a card that is torn out ends the run"
card "$CARD" 10f7 none
"$func_root/tests/lib/make_pcap.py" in.pcap 100
card_config card.json "" "$RECORD"
torn_out unplug "when the BAR is gone and the kernel says so"
torn_out gone "when every register reads as all ones"
