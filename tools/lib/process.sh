# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Wait for conditions, and stop processes by their id.

# wait_for SECONDS COMMAND...: wait until COMMAND succeeds; return 1 if it has not within SECONDS. A long wait asks less often.
wait_for() {
	local deadline=$((SECONDS + $1)) pause_ms=50 pause
	shift
	until "$@"; do
		((SECONDS <= deadline)) || return 1
		printf -v pause '0.%03d' "$pause_ms"
		sleep "$pause"
		((pause_ms > 400)) || ((pause_ms += pause_ms / 16))
	done
}

is_gone() {
	! kill -0 "$1" 2>/dev/null
}

# stop_process PID [SIGNAL [SECONDS]]: send the signal, wait, and kill the process after SECONDS (then 137). Return the exit
# status of the process, which must be a child.
stop_process() {
	local pid=$1
	kill -s "${2:-TERM}" "$pid" 2>/dev/null || true
	wait_for "${3:-15}" is_gone "$pid" || kill -s KILL "$pid" 2>/dev/null || true
	wait "$pid"
}
