#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The control socket of a running appliance.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

pinged_and_counted() {
	local before
	before=$(app_status .port.rx_pkts)
	in_peer ping -q -c 5 -i 0.05 -W 1 "$APP_IP" && wait_for 60 status_is ".port.rx_pkts >= $before + 5"
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
app_config config.json '"echo": [{"port": "lan", "udp_listen": 7}]' '"capture": [{"port": "lan", "path": "out.pcapng"}]'

check_equal "without an appliance status fails" \
	"$("$TAPLINE" status --json --socket control.sock >/dev/null 2>&1 && echo answered || echo failed)" failed
app_start config.json

check_equal "the socket is for its owner and group only" "$(stat -c %a control.sock)" 660
app_status >status.json
check_json "the answer has the ports, recordings and echoes" status.json \
	'(.ports | length == 1) and (.captures | length == 1) and (.echoes | length == 1) and (.net | length == 1)'
check_json "while it runs it is not final" status.json '.final | not'
check "the counters move" pinged_and_counted
check "100 questions are answered" a_hundred_questions
check "status prints tables too" "$TAPLINE" status --socket control.sock
check_equal "recordings are for their owner and group only" "$(stat -c %a out.pcapng)" 640
check_equal "an unknown command does not hurt" \
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
check_equal "and may not rotate" "$(as_other control rotate || echo "status $?")" \
	"tapline: error: rotate permission denied: verbs require root, the appliance's user, or membership in the group of control.operators
status 1"
check "root may" "$TAPLINE" control rotate --socket control.sock
check "each verb is in the log with its sender" grep -Eq 'control: rotate by user 4000, process [0-9]+: refused' run.log
check "done or refused" grep -Eq 'control: rotate by user 0, process [0-9]+: done' run.log
check "a second appliance with the same socket is refused" second_appliance

app_stop INT
check_equal "SIGINT ends it with status 0" "$APP_STATUS" 0
check_equal "the socket is gone" "$([[ -e control.sock ]] && echo there || echo gone)" gone
check_json "the end is final and the ledger holds" run.json '.final and .ledger_ok'

# A stale socket of a killed appliance is replaced.
app_start config.json
stop_process "$app_pid" KILL 2>/dev/null || true
check_equal "a killed appliance leaves its socket" "$([[ -S control.sock ]] && echo there)" there
ip netns exec "$APP_NS" "$TAPLINE" run config.json --json >run.json 2>run.log </dev/null &
app_pid=$!
check "the next one replaces it" wait_for 60 status_is '.uptime_ns > 0'
app_stop TERM
check_equal "and ends in order" "$APP_STATUS" 0
