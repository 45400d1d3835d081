#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Statistics in a growing file: the remains of a killed recording include its counts.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

# Print warnings of other tools about this file, except about running as root and about its end.
complaints() {
	{
		tshark -r "$1" -o nameres.network_name:false >/dev/null
		capinfos "$1" >/dev/null
		tcpdump -nr "$1" >/dev/null
	} 2>&1 | grep -v -e '^Running as user' -e '^reading from file' || true
}

# isbs FILE: print "offset received delivered" of each statistics block; the offset is that of its HEAD, if any.
isbs() {
	python3 - "$1" <<'P'
import struct, sys
data = open(sys.argv[1], 'rb').read()
at = begin = 0
while at + 12 <= len(data):
    kind, length = struct.unpack_from('<II', data, at)
    if length < 12:
        break
    begin = begin if begin + 64 == at else at
    if kind == 5:
        options, opt = {}, at + 20
        while opt < at + length - 4:
            code, size = struct.unpack_from('<HH', data, opt)
            if code == 0:
                break
            options[code] = struct.unpack_from('<Q', data, opt + 4)[0]
            opt += 4 + (size + 3) // 4 * 4
        print(begin, options[4], options[8])
    begin = at if kind == 0x80000002 else 0
    at += length
P
}

has_statistics() {
	(($(isbs "$1" 2>/dev/null | wc -l) >= $2))
}

func_begin
net_begin
ip -netns "$APP_NS" address add "$APP_IP/24" dev "$APP_IF"
for file in killed whole; do
	cat >$file.json <<J
{"eal": {"huge": false, "memory_mb": 128}, "ports": [{"name": "lan", "device": "$APP_IF"}],
 "capture": [{"port": "lan", "path": "$file.pcapng", "filter": "icmp", "buffer_bytes": "4M"}]}
J
	ip netns exec "$APP_NS" "$TAPLINE" run $file.json --json >$file.txt 2>$file.log </dev/null &
	declare ${file}_pid=$!
done
peer_start ping -q -i 0.05 "$APP_IP" >/dev/null
check "a growing file has statistics after some time" wait_for 60 has_statistics killed.pcapng 1
check "another file has statistics too" wait_for 60 has_statistics whole.pcapng 1
stop_process "$killed_pid" KILL 10 2>/dev/null || true
stop_process "$peer_pid" INT 10 || true
app_pid=$whole_pid
app_stop INT

check_equal "the complete run ends with status 0" "$APP_STATUS" 0
check_equal "statistics start at slab positions" "$(isbs killed.pcapng | awk '$1 % 4096' | wc -l)" 0
check_equal "statistics do not decrease" "$(isbs whole.pcapng)" "$(isbs whole.pcapng | sort -snk 2)"
before=$(isbs killed.pcapng | tail -n 1 | cut -d' ' -f3)
check "the statistics count packets of more than that" test "${before:-0}" -gt 50
check "the delivered packets are in the file except those of the last second" \
	test "$(tshark -r killed.pcapng 2>/dev/null | wc -l)" -ge $((before - 50))
check_equal "no reader reports an error in the file of the killed run" "$(complaints killed.pcapng)" ""
check_equal "no reader reports an error in the complete file" "$(complaints whole.pcapng)" ""
check_equal "the last statistics of the complete file equal its frames" \
	"$(isbs whole.pcapng | tail -n 1 | cut -d' ' -f3)" "$(tshark -r whole.pcapng 2>/dev/null | wc -l)"
