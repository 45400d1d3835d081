#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Test the classes of a recording against an oracle that meters the frames of the file in fractions: frames recorded whole, cut, and counted only.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

ORACLE=$(dirname "$PEER_PY")/police_oracle.py

# configure FILE CLASSES [KEYS]: write a configuration.
configure() {
	cat >"$1" <<-J
		{"eal": {"huge": false}, "ports": [{"name": "file", "device": "pcap:in.pcap"}],
		 "capture": [{"port": "file", "path": "out.pcap", "format": "pcap-ns", ${3-}
		  "classes": [
		$2]}]}
	J
}

func_begin
"$ORACLE" write in.pcap
configure config.json '{"name": "storm", "match": "udp", "prefix": "10.0.0.1", "cir": "2Mbit", "cbs": 4000, "ebs": 3000, "snaplen": 60},
  {"name": "voice", "dscp": 46, "unit": "packets", "cir": 200, "cbs": 5, "pir": 400, "pbs": 10},
  {"name": "tagged", "vlan": 7, "cir": "1Mbit", "cbs": 2000, "eir": "500kbit", "ebs": 3000},
  {"name": "rest", "default": true, "per": "source", "aware": true, "cir": "4Mbit", "cbs": 4000, "ebs": 2000}'
timeout 60 "$TAPLINE" run config.json --json >run.json 2>run.log </dev/null || true
"$ORACLE" judge in.pcap config.json out.pcap run.json >judged.txt
check_equal "each frame is recorded whole, cut or only counted, by the formulas of the RFCs" "$(head -n 1 judged.txt)" \
	"rest green rest red rest yellow storm green storm red storm yellow tagged green tagged red tagged yellow voice green voice red voice yellow"
check_equal "during a storm every frame of a slow flow is recorded whole" "$(tail -n 1 judged.txt)" \
	"120 of 120 frames of the trickle are whole"
check_json "the ledger holds, and red frames are no loss" run.json '.ledger_ok and .lossless and (.captures[0] |
	.unmatched_pkts == 0 and .written_pkts + .policed_pkts == .offered_pkts and .policed_pkts > 1000 and
	([.classes[].red_pkts] | add) == .policed_pkts and ([.classes[].yellow_pkts] | add) == .yellow_pkts)'
check_json "each source has a meter" run.json '.captures[0].classes[3] | .meters == 13 and .overflow_pkts == 0'

"$TAPLINE" run --explain config.json >explain.txt 2>&1 </dev/null || true
check "--explain prints a line per class" grep -Fxq \
	'  capture[0] class storm: (udp) and ((net 10.0.0.1/32) or (vlan and ((net 10.0.0.1/32) or (vlan and net 10.0.0.1/32)))); whole up to 2.00Mbit/s with bursts of 4000 bytes, cut to 60 bytes within another 3000; the rest is counted' \
	explain.txt
check "the line has the excess rate of RFC 4115" grep -Fq \
	'whole up to 1.00Mbit/s with bursts of 2000 bytes, cut to 64 bytes up to another 500kbit/s with bursts of 3000 bytes; the rest is counted' explain.txt
check "the line has the unit, the rates and the scope of a meter" grep -Fxq \
	'  capture[0] class rest: unmatched frames; whole up to 4.00Mbit/s with bursts of 4000 bytes, cut to 64 bytes within another 2000; the rest is counted; frames arrive with the colour of their DSCP; per source, 65536 meters' \
	explain.txt
"$TAPLINE" run --explain --json config.json >explain.json 2>&1 </dev/null || true
check_json "the JSON of --explain has the classes" explain.json '.explained[0].recording_classes[1] |
	.eir == null and .name == "voice" and .unit == "packets" and .pir == 400 and .ebs == null and .snaplen == 64 and .meters == null'
check_json "and the excess rate" explain.json '.explained[0].recording_classes[2] | .eir == 500000 and .ebs == 3000 and .pir == null'

rm out.pcap
configure bad.json '{"name": "a", "match": "udp", "cir": 1000, "cbs": 2000},
  {"name": "b", "match": "no such", "cir": 1000, "cbs": 2000}'
refuses "an expression that does not compile is refused by line and path" "bad.json:5: \$.capture[0].classes[1]: " \
	"$TAPLINE" run bad.json
configure bad.json '{"name": "a", "match": "ip", "cir": 1000, "cbs": 2000},
  {"name": "b", "match": "ip and udp", "cir": 1000, "cbs": 2000}'
refuses "a class behind one with all its frames is refused" "bad.json:5: \$.capture[0].classes[1]: class b: unreachable: the class a matches" \
	"$TAPLINE" run bad.json
configure bad.json '{"name": "a", "match": "udp", "cir": 1000, "cbs": 100}'
refuses "a bucket smaller than a frame is refused" "bad.json:4: \$.capture[0].classes[0].cbs: 100 is less than" "$TAPLINE" run bad.json
check "errors are reported before a file is written" test ! -e out.pcap
