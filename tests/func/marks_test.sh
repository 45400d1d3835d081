#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Marks of flow rules end to end, on an emulated NIC that marks frames (tests/lib/marking_nic.c).
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

NIC=${TL_BUILD:-$func_root/build}/tests/libmarking_nic.so

func_begin
netns_create "$APP_NS"
cat >on_nic <<-END
	#!/bin/sh
	exec env LD_PRELOAD="$NIC" "$TAPLINE" "\$@"
END
chmod +x on_nic
PROGRAM=$TAPLINE
TAPLINE=$DIR/on_nic

"$func_root/tests/ixgbe/lib/flows.py" in.pcap udp 239.1.1.1 5001 70 udp 239.1.1.2 5001 20 udp 239.1.1.1 5002 41 \
	tcp 10.0.0.1 80 9 udp 239.1.1.1 5001 3
cat >marks.json <<-END
	{"eal": {"huge": false, "memory_mb": 256},
	"ports": [{"name": "lan", "device": "vdev:net_ice0,rx_pcap=$DIR/in.pcap", "flow_rules": [
		{"dst_ip": "239.1.1.1", "proto": "udp", "dst_port": 5001, "queue": 0, "mark": 7},
		{"dst_ip": "239.1.1.2", "proto": "udp", "dst_port": 5001, "queue": 0, "mark": 255},
		{"dst_ip": "10.0.0.1", "proto": "tcp", "queue": 0}]}],
	"capture": [
		{"port": "lan", "path": "seven.pcapng", "marks": [7]},
		{"port": "lan", "path": "both.pcapng", "marks": [7, 255], "snaplen": 42},
		{"port": "lan", "path": "all.pcapng"}],
	"control": {"socket": "control.sock"}}
END

# packets FILE [FILTER]: print the number of recorded packets.
packets() {
	tshark -r "$1" ${2:+-Y "$2"} 2>/dev/null | wc -l
}

app_start marks.json
wait_for 60 status_is '.port.rx_pkts == 143' || not_ok "all frames come" "$(app_status .port)"
app_status .port.flow_rules >status.json
app_stop INT
check_json "the marked frames of each rule are counted, in the status too" run.json '.ledger_ok and
	[.port.flow_rules[] | [.mark, .marked_pkts, .hits_pkts]] == [[7, 73, 73], [255, 20, 20], [null, null, 9]]'
check_json "the counts are available at run time" status.json '[.[].marked_pkts] == [73, 20, null]'
check_json "a recording of a mark has the frames of its rule, the others count as filtered" run.json '.captures[0] |
	.written_pkts == 73 and .filtered_pkts == 70 and .rx.offered_pkts == 143'
check_equal "the frames are those of the rule" \
	"$(packets seven.pcapng) $(packets seven.pcapng 'ip.dst == 239.1.1.1 && udp.dstport == 5001')" "73 73"
check_equal "several marks can be recorded" "$(packets both.pcapng) $(packets both.pcapng 'ip.dst == 239.1.1.2')" "93 20"
check_equal "all other frames can be recorded" "$(packets all.pcapng)" 143

timeout 20 "$PROGRAM" run --explain marks.json >explained.txt 2>err.txt || func_die "--explain: $(<err.txt)"
check "--explain prints the mark" \
	grep -qF 'rule 0: dst 239.1.1.1 udp dst port 5001 -> queue 0, mark 7: planned, flow director 1 of 8192' explained.txt

sed 's/vdev:net_ice0/vdev:net_pcap0/' marks.json >other.json
refuses "marks are refused for a NIC with an unknown driver, with path and line before the start" \
	'other.json:3: $.ports[0].flow_rules[0]: a rule with a "mark" has to be in the NIC' "$PROGRAM" run other.json

status=0
rm -f ./*.pcapng
MARKING_NIC=refuse timeout 60 ip netns exec "$APP_NS" "$TAPLINE" run marks.json >out.txt 2>err.txt </dev/null || status=$?
check "a port whose driver refuses a mark does not start" \
	grep -qF 'refuses entry 0 (rte_flow_create: no marks today); without them no frame bears a mark: remove "mark"' err.txt
check_equal "the run has exit status 1" "$((status != 0))" 1
