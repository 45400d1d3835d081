#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The control socket of a running appliance.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

pinged_and_counted() {
	local before
	before=$(app_status .port.rx_pkts)
	in_peer ping -q -c 5 -i 0.05 -W 10 "$APP_IP" && wait_for 60 status_is ".port.rx_pkts >= $before + 5"
}

a_hundred_questions() {
	local i
	for ((i = 0; i < 100; i++)); do
		status_is .ledger_ok || return
	done
}

second_appliance() {
	local status=0
	in_app timeout 20 "$TAPLINE" run config.json --duration 1 >second.txt 2>&1 </dev/null || status=$?
	((status != 0)) && grep -q control.sock second.txt
}

func_begin
net_begin
app_config config.json '"echo": [{"port": "lan", "udp_listen": 7}]' '"capture": [{"port": "lan", "path": "out.pcapng",
	"classes": [{"name": "whole", "match": "udp", "cir": "1Gbit", "cbs": "1m"}, {"name": "rest", "default": true, "cir": "1Gbit", "cbs": "1m"}]}]'

check_equal "without an appliance status fails" \
	"$("$TAPLINE" status --json --socket control.sock >/dev/null 2>&1 && echo answered || echo failed)" failed
app_start config.json

check_equal "the socket is accessible to owner and group only" "$(stat -c %a control.sock)" 660
app_status >status.json
check_json "the reply has the ports, recordings and echoes" status.json \
	'(.ports | length == 1) and (.captures | length == 1) and (.echoes | length == 1) and (.net | length == 1)'
check_json "the status during a run is not final" status.json '.final | not'
check "the counters advance" pinged_and_counted
check "100 requests are answered" a_hundred_questions
check "status prints tables too" "$TAPLINE" status --socket control.sock
check_equal "with each class of a recording" "$("$TAPLINE" status --socket control.sock | grep -A 1 '^class$' | awk '$1 == "name" {print $2}' | xargs)" "whole rest"
check_equal "recordings are accessible to owner and group only" "$(stat -c %a out.pcapng)" 640
check_equal "an unknown command is answered with an error" \
	"$(echo nonsense | timeout 60 socat -t 30 - UNIX-CONNECT:control.sock >/dev/null && status_is true && echo fine)" fine
timeout 5 socat -u EXEC:'sleep 3' UNIX-CONNECT:control.sock &
check "a silent client does not block the others" wait_for 60 status_is '.uptime_ns > 0'
# Any client that can connect may query; commands need more privileges.
chmod 666 control.sock
chmod 711 "$DIR"
as_other() {
	setpriv --reuid 4000 --regid 4000 --clear-groups "$TAPLINE" "$@" --socket "$PWD/control.sock" 2>&1
}
check "another user may read the status" as_other status --json
check_equal "another user may not rotate" "$(as_other control rotate || echo "status $?")" \
	"tapline: error: rotate permission denied: verbs require root, the appliance's user, or membership in the group of control.operators
status 1"
check "root may rotate" "$TAPLINE" control rotate --socket control.sock
check "each verb is in the log with its sender" grep -Eq 'control: rotate by user 4000, process [0-9]+: refused' run.log
check "the log states whether it was executed or refused" grep -Eq 'control: rotate by user 0, process [0-9]+: done' run.log
check "a second appliance with the same socket is refused" second_appliance

app_stop INT
check_equal "SIGINT ends the run with status 0" "$APP_STATUS" 0
check_equal "the socket is removed" "$([[ -e control.sock ]] && echo there || echo gone)" gone
check_json "the last status is final and the ledger is consistent" run.json '.final and .ledger_ok'

# A stale socket of a killed appliance is replaced.
app_start config.json
stop_process "$app_pid" KILL 2>/dev/null || true
check_equal "a killed appliance leaves its socket" "$([[ -S control.sock ]] && echo there)" there
ip netns exec "$APP_NS" "$TAPLINE" run config.json --json >run.json 2>run.log </dev/null &
app_pid=$!
check "the next appliance replaces the socket" wait_for 60 status_is '.uptime_ns > 0'
app_stop TERM
check_equal "the next appliance ends with status 0" "$APP_STATUS" 0
