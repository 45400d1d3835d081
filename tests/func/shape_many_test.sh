#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A class tree of 10,000 classes in front of a port: start, classification, change of rates and of classes, end.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

# tree CEIL ADDED: print a shape of 99 groups with 100 classes each, one for each destination port from 20000, and the default class.
# The class of port 25000 has this ceil, bit/s; the port of the last class is changed to that of ADDED.
tree() {
	python3 - "$@" <<'P'
import json, sys
ceil, added = map(int, sys.argv[1:])
ports = list(range(20000, 20000 + 9899)) + [added]
leaves = [{"name": f"p{p}", "match": f"udp dst port {p}", "rate": 8000, "limit": 2} for p in ports]
leaves[5000]["ceil"] = ceil
groups = [{"name": f"g{i}", "rate": "1Mbit", "ceil": "1Gbit", "classes": leaves[100 * i:100 * i + 100]} for i in range(99)]
rest = {"name": "rest", "limit": 100, "default": True}
print(json.dumps({"name": "wan", "port": "lan", "rate": "1Gbit", "classes": groups + [rest]}, indent=1))
P
}

# exchange PORT...: send a datagram from each port, one after the other, and wait for its reply.
exchange() {
	in_peer python3 - "$APP_IP" "$@" <<'P'
import socket, sys
for port in sys.argv[2:]:
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(("", int(port)))
    s.settimeout(60)
    s.sendto(b"x", (sys.argv[1], 1007))
    assert s.recv(9) == b"x"
P
}

# classes FILE: write the rows of the shape that have frames, and p25000, by name.
classes() {
	app_status '.shapes[0] | .classes as $rows | {rows: ($rows | length), ledger_ok, names: ($rows | map(.name) | unique | length),
		of: ($rows | map(select(.in_pkts > 0 or .name == "p25000") | {(.name): {in_pkts, sent_pkts, ceil_bps}}) | add)}' >"$1"
}

change() {
	tree "$@" >changed.json
	"$TAPLINE" control shape wan changed.json --socket control.sock
}

func_begin
net_begin
app_config config.json '"echo": [{"name": "a", "port": "lan", "udp_listen": 1007}]' "\"shape\": [$(tree 8000 29999)]"
in_app "$TAPLINE" run --explain config.json >explain.txt </dev/null
check_equal "--explain draws all classes" "$(grep -cE '^    (\|  )?[|`]- ' explain.txt)" 10000
check_equal "with branches and sums" "$(grep -oE '^    (\|  )?[|`]- (g1|p20099|p25000|rest): |^.* g1: .*' explain.txt)" \
	'    |  `- p20099: 
    |- g1: 1.00Mbit/s guaranteed, at most 1.00Gbit/s, prio 0; children guaranteed 800kbit/s
    |  |- p25000: 
    `- rest: '
app_start config.json
check "frames pass through 10,000 classes" exchange 20000 25000 25000 29898 29999 19999
classes first.json
check_json "each frame is in its class, and each class has a row" first.json '.rows == 10001 and .names == 10001 and .ledger_ok and
	(.of | map_values(.sent_pkts)) == {wan: 6, g0: 1, p20000: 1, g50: 2, p25000: 2, g98: 2, p29898: 1, p29999: 1, rest: 1}'
check "their rates change at run time" change 16000 29999
classes second.json
check_json "the change has no other effect" second.json '.of.p25000.ceil_bps == 16000 and (.of | map_values(.sent_pkts)) ==
	'"$(jq -c '.of | map_values(.sent_pkts)' first.json)"
check "a class is removed, and another added" change 16000 30000
check "frames of both pass" exchange 29999 30000 25000
classes third.json
check_json "frames of the removed class are in the default class" third.json '.rows == 10001 and .ledger_ok and
	(.of | map_values(.sent_pkts)) == {wan: 9, g0: 1, p20000: 1, g50: 3, p25000: 3, g98: 3, p29898: 1, p30000: 1, rest: 2}'
app_stop TERM
check_equal "SIGTERM ends it with status 0" "$APP_STATUS" 0
check_json "the ledger holds at the end" run.json '.ledger_ok and .lossless and (.shapes[0] | .ledger_ok and (.classes | length) == 10001)'
