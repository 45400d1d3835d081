#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Cut-off of flows, checked with tshark: it finds the frames of each flow's first bytes in the input and in the
# recording.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

LIMIT=4096

capture() {
	timeout 60 "$TAPLINE" capture "$@" 2>capture.log </dev/null
}

# dissect FILE: print a line per frame: time, length, source MAC, VLANs, addresses, protocol, fragment offset, ports,
# SYN.
dissect() {
	tshark -r "$1" -o ip.defragment:FALSE -T fields -E separator='|' -e frame.time_epoch -e frame.len -e eth.src \
		-e vlan.id -e ip.src -e ip.dst -e ipv6.src -e ipv6.dst -e ip.proto -e ip.frag_offset \
		-e tcp.srcport -e tcp.dstport -e udp.srcport -e udp.dstport -e sctp.srcport -e sctp.dstport \
		-e tcp.flags.syn 2>/dev/null
}

# expected FILE: print the times of the frames that belong in the recording; write the number of flows to FILE.flows.
expected() {
	dissect "$1" | awk -F'|' -v limit="$LIMIT" -v flows="$1.flows" '
		function end(address, port) { return address "," port }
		$3 ~ /ee$/ || ($5 == "" && $7 == "") || ($10 != "" && $10 != 0) { print $1; next }
		{
			a = end($5 $7, $11 $13 $15); b = end($6 $8, $12 $14 $16)
			proto = $11 != "" ? "tcp" : $13 != "" ? "udp" : "sctp"
			flow = (a < b ? a " " b : b " " a) " " proto " " $4
			syn = $17 == 1 || $17 == "True"
			if (!(flow in last) || $1 - last[flow] > 60 || (syn && !opening[flow])) {
				used[flow] = 0
				begun++
			}
			if (used[flow] < limit)
				print $1
			used[flow] += $2; last[flow] = $1; opening[flow] = syn
		}
		END { print begun > flows }'
}

times() {
	tshark -r "$1" -T fields -e frame.time_epoch 2>/dev/null
}

count_lines() {
	wc -l <"$1"
}

# misuse OPTION...: print the status of the call.
misuse() {
	capture -i pcap:in.pcap -w bad.pcapng "$@" >/dev/null && echo 0 || echo $?
}

func_begin
"$(dirname "$PEER_PY")/make_flows.py" in.pcap 60 8000
expected in.pcap >expected.txt

capture -i pcap:in.pcap -w out.pcapng --cutoff-bytes $LIMIT --json >run.json || true
times out.pcapng >recorded.txt
check "the first bytes of each flow are recorded, and no other frame" diff expected.txt recorded.txt
check_json "the remaining frames count as cut, and the ledger is consistent" run.json ".ledger_ok and .lossless and (.captures[0] |
	.offered_pkts == 8000 and .written_pkts == $(count_lines expected.txt) and .cut_pkts == 8000 - .written_pkts and
	.cut_pkts > 1000 and .flows == $(<in.pcap.flows) and .flows_evicted == 0)"
check_equal "tshark reports no error in the file" \
	"$(tshark -r out.pcapng -Y '_ws.malformed && eth.src != 02:00:00:00:00:ee' 2>&1 >/dev/null | grep -v '^Running as')" ""

check_equal "the interface description states the cut-off" \
	"$(tshark -r out.pcapng -c 1 -T fields -e frame.interface_description 2>/dev/null)" \
	"queue 0, received, first $LIMIT bytes of each flow, timestamps: file, unit 1 ns, bound unknown"

capture -i pcap:in.pcap -w all.pcapng --json >run.json || true
check_json "without a cut-off everything is recorded" run.json \
	'.ledger_ok and (.captures[0] | .written_pkts == 8000 and .cut_pkts == 0 and .flows == 0)'

capture -i pcap:in.pcap -w snap.pcapng --cutoff-bytes $LIMIT --snaplen 64 >/dev/null || true
times snap.pcapng >recorded.txt
check "a snaplen does not change the cut-off" diff expected.txt recorded.txt

"$(dirname "$PEER_PY")/make_flows.py" many.pcap 1500 20000
LIMIT=1024
expected many.pcap | sort >expected.txt
capture -i pcap:many.pcap -w many.pcapng --cutoff-bytes $LIMIT --cutoff-flows 1K --json >run.json || true
times many.pcapng | sort >recorded.txt
check_equal "with more flows than entries no frame is missing" "$(comm -23 expected.txt recorded.txt)" ""
check_json "evicted flows are counted, and the ledger is consistent" run.json '.ledger_ok and (.captures[0] |
	.flows_evicted > 0 and .written_pkts + .cut_pkts == 20000 and .cut_pkts > 0)'

check_equal "a cut-off below 1K has exit status 2" "$(misuse --cutoff-bytes 1000)" 2
check_equal "a table size that is not a power of two has exit status 2" "$(misuse --cutoff-bytes 1K --cutoff-flows 3000)" 2
check_equal "a flow table without a cut-off has exit status 2" "$(misuse --cutoff-flows 4K)" 2
check "the message names the option" grep -q -e '--cutoff-flows: applies only to a recording' capture.log
