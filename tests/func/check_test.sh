#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# run --check: how long each recording's buffer lasts at line rate.
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
check_equal "a known line rate is the interface's" \
	"$(jq -c '.captures[0] | [.line_rate_known, .queues, .coverage[].line_bps / 1e6]' check.json)" \
	"[true,2,$(in_app cat "/sys/class/net/$APP_IF/speed"),$(in_app cat "/sys/class/net/$APP_IF/speed")]"
check_equal "an unknown one is 10, 25 and 100 Gbit/s" \
	"$(jq -c '.captures[1] | [.line_rate_known, ([.coverage[].line_bps / 1e9] | unique)]' check.json)" '[false,[10,25,100]]'
check_json "the time is the buffer by the bytes per second, those are frames by their record" check.json \
	'all(.captures[] | .buffer_bytes as $b | .coverage[] | . + {$b};
		(.b * 1e9 / .bytes_per_s / .covered_ns - 1 | fabs < 0.001) and
		(.line_bps / 8 / (.frame_bytes + 24) * .record_bytes / .bytes_per_s - 1 | fabs < 0.001))'
check_json "a snaplen makes records shorter" check.json '[.captures[1].coverage[] | select(.frame_bytes == 1514) |
	.record_bytes] | unique | length == 1 and .[0] < 128'
check_json "a file has no line rate" check.json '.captures[2].coverage == []'
check_equal "the text says the same" "$(grep -c '^capture\[1\]: 1.0 GiB per queue x 1 queue: .* ms of [0-9]* Gbit/s' check.txt)" 3
check "also of two queues" grep -q "^capture\[0\]: 64.0 MiB per queue x 2 queues: [0-9.]* ms of 10 Gbit/s at 60-byte frames ([0-9.]* GB/s), [0-9.]* ms at 1514" check.txt
check "and of the file" grep -q '^capture\[2\]: .* no line rate' check.txt
check_equal "no file was made" "$(ls ./*.pcapng 2>/dev/null)" ""
