#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# -w null: records, counts and discards.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

capture() {
	timeout 60 "$TAPLINE" capture "$@" 2>capture.log </dev/null
}

# The message is the last argument.
refused_with() {
	local status=0
	capture -i pcap:in.pcap -w null: "${@:2}" >/dev/null || status=$?
	((status == 2)) && grep -q "$1" capture.log
}

func_begin
"$(dirname "$PEER_PY")/make_pcap.py" in.pcap 5000

capture -i pcap:in.pcap -w null: --json >run.json || true
check_json "every frame counts as written, and no file exists" run.json '.ledger_ok and .lossless and
	(.captures[0] | .written_pkts == 5000 and .written_bytes > 5000 * 60 and .files == [] and .error == null)'
check_equal "no file exists in the directory" "$(find . -name '*null*')" ""
check "rotation is refused with a message" refused_with 'null:"* is not a file and cannot be rotated' --rotate 8M

cat >two.json <<'J'
{"eal": {"huge": false, "memory_mb": 256},
 "ports": [{"name": "a", "device": "pcap:in.pcap"}],
 "capture": [{"port": "a", "path": "null:"}, {"port": "a", "path": "null:", "filter": "udp port 5001"}]}
J
timeout 60 "$TAPLINE" run two.json --json >run.json 2>run.log </dev/null || true
check_json "two recordings may discard" run.json \
	'.ledger_ok and .captures[0].written_pkts == 5000 and .captures[1].written_pkts == 2500'
