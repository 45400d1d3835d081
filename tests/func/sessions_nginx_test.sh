#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# `tapline replay --sessions` against nginx: sessions recorded by `tapline capture` are played against the same server, and against
# others of it that answer otherwise, reset, hang or do not listen. nginx's own log tells what it was asked for.
# TL_SESSIONS: number of them; --nightly plays 1000.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"
source "$(dirname "$0")/../lib/nginx.sh"

CLIENT=$(dirname "$PEER_PY")/web_sessions.py
PORT=8080 SESSIONS=${TL_SESSIONS:-200}
SEEN=0 # lines of nginx's log that were judged
LEDGER='.ledger_ok and .found_sessions + .copied_sessions == ([to_entries[] | select((.key | endswith("_sessions")) and
	(.key | IN("found_sessions", "copied_sessions", "waited_sessions", "beyond_sessions") | not)) | .value] | add)'
STATUS=0

start_nginx() {
	ulimit -n 16384 # its connections
	"$CLIENT" pages www
	nginx_start "$PEER_NS" asked "$PEER_IP" "$PORT"
}

# asked: print what nginx was asked for on PORT since the last call of judged.
asked() {
	tail -n +$((SEEN + 1)) asked.txt | grep "^$PORT " | sort
}

judged() {
	SEEN=$(wc -l <asked.txt)
}

# asked_as_recorded TIMES: check that nginx had each recorded request so many times.
asked_as_recorded() {
	asked >now.txt
	for ((i = 0; i < $1; i++)); do
		cat recorded.txt
	done | sort | cmp - now.txt
}

# nothing_is_open: check that the kernel has no open connection.
nothing_is_open() {
	[[ -z $(in_peer ss -Htn state established state close-wait state fin-wait-1 state fin-wait-2 state last-ack \
		"sport >= :$PORT and sport <= :$((PORT + 3))") ]]
}

capture_runs() {
	in_peer "$TAPLINE" status --socket capture.sock >/dev/null 2>&1
}

record() {
	local status=0 capture_pid
	ip netns exec "$PEER_NS" "$TAPLINE" capture -i "$PEER_IF" -w rec.pcapng --control capture.sock --json --fail-on-loss tcp \
		>capture.json 2>capture.log </dev/null &
	capture_pid=$!
	wait_for 60 capture_runs || func_die "the capture does not start"
	netns_address "$APP_NS" "$APP_IF" "$APP_IP/24"
	in_app "$CLIENT" "$PEER_IP" "$PORT" "$SESSIONS" || func_die "the sessions failed"
	wait_for 30 nothing_is_open || func_die "sessions are open"
	ip -netns "$APP_NS" address flush dev "$APP_IF"
	stop_process "$capture_pid" TERM 60 || status=$?
	check_equal "the capture loses nothing" "$status" 0
	asked >recorded.txt
	judged
	check "nginx was asked for pages, parts, uploads and missing pages" test "$(cut -d' ' -f5 recorded.txt | sort -u | xargs)" = "200 206 304 404"
}

# replay ARG...: write the report to replay.json, the status to STATUS.
replay() {
	STATUS=0
	in_app timeout 300 "$TAPLINE" replay rec.pcapng -i "$APP_IF" --timeout 100 --json "$@" >replay.json 2>replay.log </dev/null || STATUS=$?
}

plays_as_recorded() {
	replay --sessions "$PEER_IP" --from "$APP_IP/24" --compare length
	check_equal "the same nginx, at the recorded times: status 0" "$STATUS" 0
	check_json "each session completes" replay.json "$LEDGER and .found_sessions == $SESSIONS and .completed_sessions == $SESSIONS"
	check "nginx was asked for the same again" wait_for 30 asked_as_recorded 1
	check "no connection is left in the kernel" wait_for 30 nothing_is_open
	judged
	replay --sessions "$PEER_IP:$PORT" --from 10.99.0.20-10.99.0.29/24 --compare length --scale 10 --line-rate
	check_equal "ten copies of each: status 0" "$STATUS" 0
	check_json "ten copies of each complete" replay.json "$LEDGER and .completed_sessions == 10 * $SESSIONS and .copied_sessions == 9 * $SESSIONS"
	check "nginx was asked for everything ten times" wait_for 60 asked_as_recorded 10
	check "ten copies: no connection is left in the kernel" wait_for 30 nothing_is_open
	judged
}

# lands SENTENCE ROW PORT ARG...: check that all sessions are counted in this row.
lands() {
	local sentence=$1 row=$2 port=$3
	shift 3
	replay --line-rate --sessions "$PEER_IP:$port" --from "$APP_IP/24" "$@"
	check_equal "$sentence: status 1" "$STATUS" 1
	check_json "$sentence: its row" replay.json "$LEDGER and .$row == $SESSIONS and (.failures | length) == ([$SESSIONS, 64] | min) and
		all(.failures[]; .row == \"$row\")"
}

lands_where_it_should() {
	local head='"HTTP/1.1 200 OK\r\nServer: nginx'
	lands "the same nginx, by bytes" diverged_sessions "$PORT"
	check_json "the first byte that differs is in the date" replay.json "($head\\r\\nDate: \" | length) as \$date |
		all(.failures[]; .differs_at >= \$date and .differs_at < \$date + (\"Mon, 23 Nov 2026 16:44:10 GMT\" | length))"
	lands "another nginx, which tells its version" diverged_sessions $((PORT + 1))
	check_json "the first byte that differs is that of the version" replay.json "all(.failures[]; .differs_at == ($head\" | length))"
	lands "one that resets" reset_by_target_sessions $((PORT + 2))
	lands "no server" refused_sessions $((PORT + 3))
	kill -s STOP "$nginx_pid"
	lands "one that hangs" timeout_sessions "$PORT" --timeout 1
	check_json "a server that hangs has been asked, and has not answered" replay.json '.sent_bytes > 0 and .received_bytes == 0'
	kill -s CONT "$nginx_pid"
	check "once it goes on, no connection is left in the kernel" wait_for 60 nothing_is_open
}

if ! command -v nginx >/dev/null; then
	skip "sessions against nginx" "nginx is not installed"
	exit
fi
func_begin
net_begin
start_nginx
record
plays_as_recorded
lands_where_it_should
