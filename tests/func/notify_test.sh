#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Messages of the appliance to a service manager, by the protocol of sd_notify(3).
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

lib=$func_root/tests/lib

# listen_at SOCKET: start a manager in the appliance's namespace, as abstract names are per namespace; heard.log has its
# input from now on.
listen_at() {
	ip netns exec "$APP_NS" "$lib/notify_listen.py" "$1" >heard.log 2>&1 &
	wait_for 60 grep -q listening heard.log || func_die "the manager does not listen"
	export NOTIFY_SOCKET=$1
}

# heard WORD N: check that it was sent at least N times.
heard() {
	(($(grep -c "^$1" heard.log) >= $2))
}

# last_is WORD: check that it is the last one so far. The manager may read it after the end of the appliance.
last_is() {
	[[ $(tail -n 1 heard.log) == "$1" ]]
}

count() {
	grep -c "^$1" heard.log || true
}

# A watchdog of 400 ms, and an lcore that is stuck while the rest continues.
watchdog() {
	local fed
	listen_at "$DIR/notify.sock"
	export WATCHDOG_USEC=400000
	app_config config.json '"capture": [{"port": "lan", "path": "a.pcapng"}]'
	app_start config.json
	unset WATCHDOG_USEC
	check "readiness is reported when the socket answers" wait_for 60 heard READY=1 1
	check "the status is reported every second" wait_for 60 heard STATUS=received 2
	check "the watchdog is notified" wait_for 60 heard WATCHDOG=1 3
	mkfifo gate
	"$lib/hold_thread.py" "$(pgrep -P "$app_pid" -x tapline || echo "$app_pid")" "$(lcore_thread)" <gate >held.log 2>&1 &
	exec 9>gate
	wait_for 60 grep -q held held.log || func_die "the lcore is not held: $(<held.log)"
	wait_for 60 heard STATUS "$(($(count STATUS) + 1))"
	fed=$(count WATCHDOG)
	wait_for 60 heard STATUS "$(($(count STATUS) + 2))"
	check_equal "the watchdog is not notified while an lcore is stuck" "$(count WATCHDOG)" "$fed"
	exec 9>&-
	check "the watchdog is notified again when the lcore continues" wait_for 60 heard WATCHDOG=1 "$((fed + 1))"
	app_stop TERM
	check_equal "the appliance ends with status 0" "$APP_STATUS" 0
	check "stopping is reported last" wait_for 60 last_is STOPPING=1
}

# Find the thread of the one RX lcore.
lcore_thread() {
	local pid task
	pid=$(pgrep -P "$app_pid" -x tapline || echo "$app_pid")
	for task in /proc/"$pid"/task/*/comm; do
		grep -E 'worker|lcore' "$task" && break
	done
}

abstract() {
	listen_at "@tapline-test-$$"
	app_start config.json
	check "an abstract socket is supported" wait_for 60 heard READY=1 1
	app_stop TERM
	check_equal "without a watchdog no notification is sent" "$(count WATCHDOG)" 0
	export NOTIFY_SOCKET=$DIR/nobody
	app_start config.json
	app_stop TERM
	check_equal "a missing manager has no effect" "$APP_STATUS" 0
}

func_begin
net_begin
watchdog
abstract
