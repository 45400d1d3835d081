#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The edits of `tapline replay`, into a file: tshark reads each frame before and after.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

LIB=$(dirname "$PEER_PY")
STATUS=0

# replay FILE OUT ARG...: write the report to replay.json, the status to STATUS.
replay() {
	local file=$1 out=$2
	shift 2
	STATUS=0
	timeout 60 "$TAPLINE" replay "$file" -i "vdev:net_pcap0,tx_pcap=$out" --line-rate "$@" --json >replay.json 2>replay.log </dev/null ||
		STATUS=$?
}

maps_reach_every_place() {
	local map=(--map 10.1.0.0/16=172.16.0.0/16 --map 10.0.0.0/8=11.0.0.0/8 --map 2001:db8::/32=fd00:1::/32 --map-port 5000-5099=6000)
	local edits=(map:10.1.0.0/16=172.16.0.0/16 map:10.0.0.0/8=11.0.0.0/8 map:2001:db8::/32=fd00:1::/32 port:5000-5099=6000)
	replay packets.pcap mapped.pcap "${map[@]}"
	check_json "random packets with a map: all are sent" replay.json \
		'.ledger_ok and .sent_pkts == .read_pkts and .sent_pkts >= 1000 and .edit_malformed_pkts == 0 and .edit_unsummed_pkts == 0'
	check "addresses and ports are edited in every place, checksums are as right or wrong as before" \
		"$LIB/judge_edits.py" packets.pcap mapped.pcap "${edits[@]}"
	replay mapped.pcap back.pcap --map 172.16.0.0/16=10.1.0.0/16 --map 11.0.0.0/8=10.0.0.0/8 --map fd00:1::/32=2001:db8::/32 \
		--map-port 6000-6099=5000
	check "the inverse map restores every byte" "$LIB/judge_replay.py" same packets.pcap back.pcap replay.json
	replay packets.pcap fields.pcap --ttl 9 --dscp 46 --src-mac 02:00:00:00:00:0a --dst-mac 02:00:00:00:00:0b
	check "TTL, DSCP and MAC addresses are those given" "$LIB/judge_edits.py" packets.pcap fields.pcap ttl:9 dscp:46 \
		src-mac:02:00:00:00:00:0a dst-mac:02:00:00:00:00:0b
}

tags_are_edited() {
	replay packets.pcap tagged.pcap --vlan add:100
	replay tagged.pcap set.pcap --vlan set:200
	check_equal "a tag is added to every frame, and rewritten" "$(tshark -n -r set.pcap -Y 'vlan.id == 200' 2>/dev/null | wc -l)" \
		"$(jq .sent_pkts replay.json)"
	replay set.pcap stripped.pcap --vlan strip
	check "a tag that was added can be stripped" "$LIB/judge_replay.py" same packets.pcap stripped.pcap replay.json
}

loops_increment() {
	"$LIB/make_pcap.py" two.pcap 2
	replay two.pcap loops.pcap --loops 3 --per-loop 192.0.2.0/31+1 --per-loop 4000-4009+4
	check_equal "each loop has its own addresses and ports" \
		"$(tshark -n -r loops.pcap -T fields -e ip.src -e udp.srcport -Y udp 2>/dev/null | tr '\t\n' ' ,')" \
		"192.0.2.1 4000,192.0.2.0 4004,192.0.2.1 4008,"
}

long_frames_are_made_to_fit() {
	local identity='.ledger_ok and .read_pkts + .added_pkts == .sent_pkts + .skipped_long_pkts'
	"$LIB/make_pcap.py" long.pcap 400
	replay long.pcap fits.pcap --mtu 576 --mtu-action fragment
	check_json "fragments are in the identity" replay.json \
		"$identity and .fragmented_pkts > 200 and .added_pkts > .fragmented_pkts and .skipped_long_pkts == 0"
	check_equal "fragments are put together to the payloads that were sent" "$(payloads fits.pcap)" "$(payloads long.pcap)"
	replay long.pcap cut.pcap --mtu 576 --mtu-action cut
	check_json "cut frames are counted" replay.json "$identity and .cut_pkts > 200 and .sent_pkts == 400"
	check_equal "no frame is longer than the port's MTU" \
		"$(tshark -n -r cut.pcap -Y 'frame.len > 590 or ip.len > 576 or udp.length > 556 or ip.checksum.status == 0' -o ip.check_checksum:TRUE 2>/dev/null)" ""
}

# payloads FILE: print those of UDP and TCP, reassembled from fragments.
payloads() {
	tshark -n -r "$1" -T fields -e udp.payload -e tcp.payload -Y 'udp or tcp' 2>/dev/null | md5sum
}

# refused CAUSE ARG...: check that nothing is sent.
refused() {
	local cause=$1
	shift
	replay packets.pcap none.pcap "$@"
	check_equal "$*: status 2" "$STATUS" 2
	check "$*: the message has place and cause" grep -qF -- "$cause" replay.log
	check "$*: nothing is sent" test ! -e none.pcap
}

func_begin
"$LIB/make_packets.py" packets.pcap 1000
maps_reach_every_place
tags_are_edited
loops_increment
long_frames_are_made_to_fit
refused "--mtu-action takes drop, cut or fragment" --mtu-action trim
refused "10.0.0.1/8: the address has bits beyond the prefix" --map 10.0.0.1/8=11.0.0.0/8
refused "an earlier map covers all its addresses" --map 10.0.0.0/8=11.0.0.0/8 --map 10.1.0.0/16=12.0.0.0/16
refused "expected a map such as 80=8080" --map-port 80
refused "expected add:ID" --vlan add:4095
refused "--ttl takes 1 to 255" --ttl 0
refused "--dscp takes 0 to 63" --dscp 64
refused "no MAC address" --src-mac 02:00
refused "--per-loop needs --loops" --per-loop 10.0.0.0/8+1
