#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A recording in several files: each is readable by itself, none exceeds the size limit, together they are complete.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

limit=$((4 << 20))

each_opens_and_closes_in_order() {
	local file
	for file in rotated*.pcapng; do
		grep -q 'Number of stat entries = 1' <(capinfos "$file" 2>&1) || return
	done
}

func_begin
"$(dirname "$PEER_PY")/make_pcap.py" in.pcap 20000
timeout 60 "$TAPLINE" capture -i pcap:in.pcap -w rotated.pcapng --rotate 4M --json >run.json 2>run.log || true

check_json "the ledger is consistent and nothing is lost" run.json '.ledger_ok and .lossless'
check_equal "the files are those in the results" \
	"$(printf '%s\n' rotated*.pcapng)" "$(jq -r '.captures[0].files | sort | .[]' run.json)"
check_equal "several files exist" "$(($(printf '%s\n' rotated*.pcapng | wc -l) > 3))" 1
check_equal "no file exceeds the limit" "$(find . -name 'rotated*.pcapng' -size +"$limit"c)" ""
check "each has its own header and statistics" each_opens_and_closes_in_order
mergecap -a -w merged.pcapng rotated.pcapng rotated_*.pcapng 2>/dev/null
check_equal "the files together have every frame, in order" \
	"$(tshark -r merged.pcapng -T fields -e frame.time_epoch -e frame.len 2>/dev/null | cksum)" \
	"$(tshark -r in.pcap -T fields -e frame.time_epoch -e frame.len 2>/dev/null | cksum)"
