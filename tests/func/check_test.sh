#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# run --check: the time that each recording's buffer lasts at line rate.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

check_of() {
	ip netns exec "$APP_NS" "$TAPLINE" run --check "$@" </dev/null
}

func_begin
net_begin
"$(dirname "$PEER_PY")/make_pcap.py" in.pcap 1
cat >good.json <<J
{"ports": [{"name": "lan", "device": "$APP_IF", "rx_queues": 2}, {"name": "far", "device": "vdev:net_null0"},
           {"name": "old", "device": "pcap:in.pcap"}],
 "capture": [{"port": "lan", "path": "a.pcapng"}, {"port": "far", "path": "b.pcapng", "buffer_bytes": "1G", "snaplen": 64},
             {"port": "old", "path": "null:"}]}
J
check_of good.json >check.txt
check_of good.json --json >check.json

check_equal "the first line is the verdict" "$(head -n 1 check.txt)" "good.json: ok: 3 ports, 3 recordings, 0 echoes"
check_equal "a known line rate is that of the interface" \
	"$(jq -c '.captures[0] | [.line_rate_known, .queues, .coverage[].line_bps / 1e6]' check.json)" \
	"[true,2,$(in_app cat "/sys/class/net/$APP_IF/speed"),$(in_app cat "/sys/class/net/$APP_IF/speed")]"
check_equal "an unknown line rate is shown for 10, 25 and 100 Gbit/s" \
	"$(jq -c '.captures[1] | [.line_rate_known, ([.coverage[].line_bps / 1e9] | unique)]' check.json)" '[false,[10,25,100]]'
check_json "the time is derived from buffer size, line rate and record size" check.json \
	'all(.captures[] | .buffer_bytes as $b | .coverage[] | . + {$b};
		(.b * 1e9 / .bytes_per_s / .covered_ns - 1 | fabs < 0.001) and
		(.line_bps / 8 / (.frame_bytes + 24) * .record_bytes / .bytes_per_s - 1 | fabs < 0.001))'
check_json "a snaplen makes records shorter" check.json '[.captures[1].coverage[] | select(.frame_bytes == 1514) |
	.record_bytes] | unique | length == 1 and .[0] < 128'
check_json "a file has no line rate" check.json '.captures[2].coverage == []'
check_equal "the text shows the same time" "$(grep -c '^capture\[1\]: 1.0 GiB per queue x 1 queue: .* ms of [0-9]* Gbit/s' check.txt)" 3
check "the text shows the time for two queues" \
	grep -q "^capture\[0\]: 64.0 MiB per queue x 2 queues: [0-9.]* ms of 10 Gbit/s at 60-byte frames ([0-9.]* GB/s), [0-9.]* ms at 1514" check.txt
check "the text shows the source file" grep -q '^capture\[2\]: .* no line rate' check.txt
# ---- --explain

cat >echo.json <<J
{"ports": [{"name": "lan", "device": "$APP_IF", "ip": "$APP_IP/24"}, {"name": "far", "device": "vdev:net_null0", "idle": "poll"},
           {"name": "old", "device": "pcap:in.pcap"}],
 "echo": [{"port": "lan", "udp_listen": 7}], "capture": [{"port": "far", "path": "b.pcapng"}, {"port": "old", "path": "null:"}]}
J
explain_of() {
	ip netns exec "$APP_NS" "$TAPLINE" run --explain "$@" </dev/null
}
explain_of echo.json >explain.txt
explain_of echo.json --json >explain.json
check_equal "the output of --explain starts like that of --check" "$(head -n 1 explain.txt)" "echo.json: ok: 3 ports, 2 recordings, 1 echo"
check_json "each port has its receive method and the CPU of each queue" explain.json \
	'[.explained[] | .name, .device] == ["lan", "'"$APP_IF"'", "far", "vdev:net_null0", "old", "pcap:in.pcap"]
	 and all(.explained[]; .queues | length == 1 and (.[0].cpu | type == "number"))
	 and (.explained[0].receives_by | test("AF_PACKET.*echo.*xdp:"))'
check_json "the idle mode of an lcore, and its reason" explain.json \
	'[.explained[] | .idle_why != ""] == [true, true, true] and (.explained[2].idle == "adaptive")
	 and (.explained[1] | .idle == "poll" and .idle_why == "set in the configuration"
		or .idle_why == "a queue shares its CPU with the control thread")'
check_equal "the text shows the same plan" "$(grep -c "^port \|^  idle \|^  queue 0 on CPU [0-9]" explain.txt)" 9
check_equal "--check alone prints no plan" "$(jq -c 'has("explained")' check.json) $(grep -c '^port ' check.txt || true)" "false 0"
check_equal "no file was created" "$(ls ./*.pcapng 2>/dev/null)" ""
