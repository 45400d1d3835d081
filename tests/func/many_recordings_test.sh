#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# 64 recordings of one port, each with a filter of its own: each has its frames, all are in the ledger, and one more is refused.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

# many_recordings N: print a configuration.
many_recordings() {
	jq -n --argjson n "$1" '{eal: {huge: false, memory_mb: 1024}, ports: [{name: "in", device: "pcap:in.pcap"}],
		capture: [range($n) | {port: "in", filter: "udp dst port \(6000 + .)", path: "out.\(.).pcapng", buffer_bytes: "4M", index: false}]}'
}

func_begin
python3 - <<-'END'
	import struct
	def frame(port):
	    return bytes(12) + b"\x08\x00" + struct.pack(">BBHHHBBH4s4sHHHH", 0x45, 0, 46, 0, 0, 64, 17, 0, bytes([192, 0, 2, 1]),
	        bytes([192, 0, 2, 2]), 4000, port, 26, 0) + bytes(18)
	with open("in.pcap", "wb") as out:
	    out.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
	    for i in range(800):
	        out.write(struct.pack("<IIII", 1700000000, i, 60, 60) + frame(6000 + i % 80))
END
many_recordings 64 >config.json
status=0
timeout 120 "$TAPLINE" run --json config.json >run.json 2>run.log || status=$?
check_equal "the run ends with status 0" "$status" 0
check_json "each of 64 recordings has the ten frames of its filter, and the others in its ledger" run.json \
	'.ledger_ok and (.captures | length == 64 and all(.offered_pkts == 800 and .written_pkts == 10 and .filtered_pkts == 790))'
check_equal "and the last file has those of its filter" "$(tshark -r out.63.pcapng -Y 'udp.dstport == 6063' 2>/dev/null | wc -l)" 10
many_recordings 65 >more.json
refuses "a configuration of one recording more is refused" '$.capture: the list has 65 entries, the most is 64' \
	"$TAPLINE" run --check more.json
