#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Encapsulated traffic, checked with tshark: filters, `extract --inner` and `--decap` find the innermost packet of its
# dissection, for each encapsulation over and of both IP versions, nested, and truncated at each byte.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

LIB=$(dirname "$PEER_PY")

extract() {
	timeout 60 "$TAPLINE" extract "$@" 2>extract.log </dev/null
}

# innermost FILE, outermost FILE: print a line per frame.
innermost() {
	"$LIB/judge_tunnels.py" "$1" last
}

outermost() {
	"$LIB/judge_tunnels.py" "$1" first
}

# misuse ARG...: print the status of the call.
misuse() {
	extract in.pcap -w bad.pcapng "$@" >/dev/null && echo 0 || echo $?
}

# same_packets SENTENCE EXPECTED FILE: check that the innermost packets of the file are those, and that there are some.
same_packets() {
	innermost "$3" >found
	check "$1" cmp "$2" found
	check "$1: some" test -s "$2"
}

decap() {
	check "encapsulations are removed" extract in.pcap -w out.pcapng --decap --json
	outermost out.pcapng >found
	check "the remaining packet is the innermost one of tshark" cmp expected found
	check_equal "each frame is decapsulated, most of them from an outer header" \
		"$(wc -l <found) $(grep -c '192.0.2\|2001:db8' found)" "369 0"
	check_equal "the output is an Ethernet frame or a raw IP packet" \
		"$(tshark -r out.pcapng -T fields -e frame.protocols 2>/dev/null | cut -d: -f1-3 | sort -u | tr '\n' ' ')" \
		"eth:ethertype:ip eth:ethertype:ipv6 raw:ip:tcp raw:ip:udp raw:ipv6:tcp raw:ipv6:udp "
	check_equal "tshark reports no error in the output" "$(tshark -r out.pcapng -Y _ws.malformed 2>/dev/null | wc -l)" 0
	editcap -a 20:kept in.pcap commented.pcapng 2>/dev/null
	extract commented.pcapng -w out.pcapng --decap >/dev/null
	check_equal "comments are kept with their packets" \
		"$(tshark -r out.pcapng -Y frame.comment -T fields -e frame.number -e frame.comment 2>/dev/null)" $'20\tkept'
	extract in.pcap -w out.pcapng >/dev/null
	same_packets "without --decap packets are unchanged" expected out.pcapng
	"$LIB/relink.py" in.pcap sll.pcap 113
	extract sll.pcap -w out.pcapng --decap >/dev/null
	check "tunnels behind other link headers are decapsulated" cmp <(tail -n +13 expected) <(outermost out.pcapng | tail -n +13)
}

# ported FILE: print numbered lines with the port of an innermost packet.
ported() {
	awk '/ 2[0-9][0-9][0-9][0-9]$/ {print NR, $0}' "$1"
}

cut_frames() {
	"$LIB/make_tunnels.py" cut.pcap cut
	innermost cut.pcap >cut.txt
	extract cut.pcap -w out.pcapng --decap >/dev/null
	outermost out.pcapng >found
	check "in a frame truncated anywhere the innermost ports equal those of tshark" \
		cmp <(ported cut.txt) <(ported found)
	check_equal "no frame is missing" "$(wc -l <found)" "$(wc -l <cut.txt)"
	check_equal "original lengths are those of the remaining packets" \
		"$(tshark -r out.pcapng -Y 'ip.dst == 10.0.0.2 && ((raw && frame.len != ip.len) || (eth && frame.len != ip.len + 14))' \
			2>/dev/null | wc -l)" 0
}

choose() {
	grep tcp expected >tcp.txt
	grep '10.0.0.1' expected >host.txt
	extract in.pcap -w out.pcapng 'inner(tcp and dst portrange 20000-20999)' >/dev/null
	same_packets "inner(...) in a filter selects tshark's innermost packets" tcp.txt out.pcapng
	extract in.pcap -w out.pcapng --inner tcp >/dev/null
	same_packets "--inner selects tshark's innermost packets" tcp.txt out.pcapng
	extract in.pcap -w out.pcapng --inner --host 10.0.0.1 >/dev/null
	same_packets "--inner selects innermost addresses" host.txt out.pcapng
	extract in.pcap -w out.pcapng --inner --port 20100 --decap >/dev/null
	check_equal "and ports" "$(outermost out.pcapng)" "$(sed -n 101p expected)"
	timeout 60 "$TAPLINE" capture -i pcap:in.pcap -w live.pcapng --json 'inner(tcp)' >run.json 2>capture.log </dev/null || true
	same_packets "a recording with inner(...) stores the complete frames" tcp.txt live.pcapng
	check_json "other frames count as filtered" run.json \
		'.ledger_ok and (.captures[0] | .offered_pkts == 369 and .filtered_pkts == 369 - .written_pkts)'
}

# capture NAME ARG...: write a recording NAME.pcapng, its results to NAME.json.
capture() {
	local name=$1
	shift
	timeout 60 "$TAPLINE" capture -w "$name.pcapng" --json "$@" >"$name.json" 2>capture.log </dev/null || true
}

# slabs_read ARG...: print the number of slabs read by a search of indexed.pcapng.
slabs_read() {
	extract indexed.pcapng -w out.pcapng --json "$@" | jq .slabs_read
}

index() {
	capture indexed -i pcap:in.pcap --index --inner
	check_equal "an index of innermost packets finds the addresses" "$(slabs_read --inner --host 10.0.0.1)" 1
	same_packets "all packets of the address are found" host.txt out.pcapng
	check_equal "the index excludes absent addresses" "$(slabs_read --inner --host 10.9.9.9) $(slabs_read --inner --port 30000)" "0 0"
	check_equal "the index finds outermost packets" "$(slabs_read --host 192.0.2.1) $(slabs_read --host 10.9.9.9)" "1 0"
	extract indexed.pcapng --reindex >/dev/null
	check_equal "an index without innermost packets does not exclude them" "$(slabs_read --inner --host 10.9.9.9)" 1
	extract indexed.pcapng --reindex --inner >/dev/null
	check_equal "the index can be recreated with innermost packets" "$(slabs_read --inner --host 10.9.9.9)" 0
}

# flows FILE: print the number of flows distinguished by a cut-off, and whether it cut any.
flows() {
	jq -c '.captures[0] | [.flows, .cut_pkts > 0]' "$1"
}

cutoff() {
	"$LIB/make_flows.py" plain.pcap 60 4000
	"$LIB/make_tunnels.py" wrapped.pcap wrap plain.pcap
	capture plain -i pcap:plain.pcap --cutoff-bytes 4K
	capture wrapped -i pcap:wrapped.pcap --cutoff-bytes 4K --inner
	capture outer -i pcap:wrapped.pcap --cutoff-bytes 4K
	capture both -i pcap:plain.pcap --cutoff-bytes 4K --inner
	check_equal "a cut-off separates tunnelled flows like plain ones" "$(flows wrapped.json)" "$(flows plain.json)"
	check_equal "plain frames have the same flows with tunnel parsing" \
		"$(jq -c '.captures[0] | [.flows, .cut_pkts]' both.json)" "$(jq -c '.captures[0] | [.flows, .cut_pkts]' plain.json)"
	check_json "without tunnel parsing flows are those of the tunnels" outer.json '.captures[0].flows > 3000'
	check_json "the ledger is consistent" wrapped.json '.ledger_ok and (.captures[0] | .written_pkts + .cut_pkts == 4000)'
	capture key -i pcap:in.pcap --inner tcp
	same_packets "with --inner the filter of a recording applies to innermost packets" tcp.txt key.pcapng
}

mistakes() {
	check_equal "--inner without filter, cut-off and index has exit status 2" \
		"$("$TAPLINE" capture -i pcap:in.pcap -w bad.pcapng --inner >/dev/null 2>capture.log && echo 0 || echo $?)" 2
	check "the message states where --inner applies" grep -q -e '--inner: applies only to a recording with a "\?filter' capture.log
	check_equal "--inner without an argument has exit status 2" "$(misuse --inner)" 2
	check_equal "Ethernet addresses in inner(...) are refused" "$(misuse 'inner(ether host 1:2:3:4:5:6)')" 2
	check "the message names the Ethernet address" grep -q "filter 'inner(ether host 1:2:3:4:5:6)': .*ethernet addresses" extract.log
	check_equal "a missing parenthesis has exit status 2" "$(misuse 'ip and inner(tcp')" 2
	check "the message gives the position" grep -q 'no closing bracket, at character 8' extract.log
}

func_begin
"$LIB/make_tunnels.py" in.pcap
innermost in.pcap >expected
decap
cut_frames
choose
index
cutoff
mistakes
