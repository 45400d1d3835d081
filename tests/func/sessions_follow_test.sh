#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# `tapline replay --sessions --follow`: sessions with a server are recorded on one interface, and played meanwhile against a second
# server on another, before they end. Both servers log what they were asked. A feed that is too slow drops sessions, and the capture loses nothing.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

SERVER=$(dirname "$PEER_PY")/session_server.py
OUT_IF=out0 TEST_IP=10.98.0.2 FROM=10.98.0.1/24
PORT=8080 SESSIONS=200 FEW=20
LEDGER='.ledger_ok and .found_sessions + .copied_sessions == ([to_entries[] | select((.key | endswith("_sessions")) and
	(.key | IN("found_sessions", "copied_sessions", "waited_sessions", "beyond_sessions") | not)) | .value] | add)'
STATUS=0

serve() {
	peer_start "$SERVER" serve "$1" "$PORT" "$2.txt" >"$2.log" 2>&1
	wait_for 30 grep -qs listening "$2.log" || func_die "the server on $1 does not listen"
}

capture_runs() {
	in_peer "$TAPLINE" status --socket capture.sock >/dev/null 2>&1
}

capture_start() {
	mkdir rec
	ip netns exec "$PEER_NS" "$TAPLINE" capture -i "$PEER_IF" -w rec/live.pcapng --rotate-seconds 86400 --control capture.sock --json \
		--fail-on-loss tcp or udp >capture.json 2>capture.log </dev/null &
	capture_pid=$!
	wait_for 60 capture_runs || func_die "the capture does not start"
}

# rotate: complete a file. A busy capture may not answer.
rotate() {
	in_peer "$TAPLINE" control --socket capture.sock rotate >/dev/null
}

# rotated COMMAND...: complete a file; then run the command. The last frames are in the file that begins a second later.
rotated() {
	rotate
	"$@"
}

# feed_start ARG...: follow the recording; messages to feed.log, the report to feed.json.
feed_start() {
	rm -f feed.log
	ip netns exec "$APP_NS" "$TAPLINE" replay rec -i "$OUT_IF" --follow --from "$FROM" --json "$@" >feed.json 2>feed.log </dev/null &
	feed_pid=$!
	wait_for 60 grep -qs 'follows rec' feed.log || func_die "the feed does not start"
}

feed_stop() {
	STATUS=0
	stop_process "$feed_pid" INT 60 || STATUS=$?
}

# digests LOG: print what a server was asked, session by session.
digests() {
	cut -d' ' -f1 "$1" | sort
}

both_were_asked_the_same() {
	cmp <(digests real.txt) <(digests test.txt)
}

# stays_open: hold a connection to the server.
stays_open() {
	mkfifo never
	ip netns exec "$APP_NS" bash -c "exec 9<>/dev/tcp/$PEER_IP/$PORT && echo open && read -r <never" >open.log &
	wait_for 30 grep -qs open open.log || func_die "there is no connection"
}

sessions_are_played_while_they_are_recorded() {
	local client_pid
	feed_start --sessions "$TEST_IP" --timeout 100
	stays_open
	in_app "$SERVER" ask "$PEER_IP" "$PORT" "$SESSIONS" &
	client_pid=$!
	until is_gone "$client_pid"; do
		rotate || true
	done
	wait "$client_pid" || func_die "the sessions failed"
	check "sessions are played while the recording runs" wait_for 60 test -s test.txt
	wait_for 60 log_has real.txt "$SESSIONS" || func_die "the server has not seen all sessions"
	check "each session is played against the second server, byte for byte" wait_for 60 rotated both_were_asked_the_same
	feed_stop
	check_equal "Ctrl-C ends the feed with status 0" "$STATUS" 0
	check_json "each session completes, from any number of files; one has no end" feed.json "$LEDGER and .follow and
		.completed_sessions == $SESSIONS and .incomplete_no_end_sessions == 1 and .found_sessions == $SESSIONS + 1 and
		.followed_files > 2 and .unread_files <= 1 and .stopped == false" # the last rotation may complete a file at the end
	cp feed.json whole.json # for its schema
}

# asks_twice: send a request, print "answered", and send the second one with the first line of the pipe "again".
asks_twice() {
	mkfifo again
	ip netns exec "$APP_NS" bash -c "exec 9<>/dev/tcp/$PEER_IP/$PORT; printf 'GET /0/7 HTTP/1.1\r\n\r\n' >&9; head -c 20 <&9 >first.txt
		echo answered; read -r <again; printf 'GET /0/7 HTTP/1.1\r\nConnection: close\r\n\r\n' >&9; cat <&9 >second.txt" >asked.log &
	asked_pid=$!
	wait_for 30 grep -qs answered asked.log || func_die "the server has not answered"
}

# has_got_a_request: check whether the second server has an open connection with data.
has_got_a_request() {
	in_peer ss -tinH "src $TEST_IP:$PORT" | grep -q bytes_received
}

sessions_are_played_before_they_end() {
	local asked_pid
	feed_start --sessions "$TEST_IP"
	asks_twice
	check "the first request of an open session is played" wait_for 60 rotated has_got_a_request
	echo >again
	wait "$asked_pid" || func_die "the second request failed"
	check "the session is played to its end" wait_for 60 rotated both_were_asked_the_same
	feed_stop
	check_json "and has completed, each answer as recorded" feed.json "$LEDGER and .completed_sessions == 1 and
		.found_sessions == 1 and .uncompared_bytes == 0 and .received_bytes > 0"
}

# asks_by_datagrams: send a datagram, print "answered" after its two answers, and send the second one with the first line of the pipe "more".
asks_by_datagrams() {
	mkfifo more
	ip netns exec "$APP_NS" bash -c "exec 9<>/dev/udp/$PEER_IP/$PORT; printf one >&9; dd bs=100 count=2 status=none <&9
		echo answered; read -r <more; printf two >&9; dd bs=100 count=2 status=none <&9" >asked.log &
	asked_pid=$!
	wait_for 30 grep -qs answered asked.log || func_die "the server has not answered the datagram"
}

flows_are_played_before_they_end() {
	local asked_pid
	feed_start --sessions "$TEST_IP" --udp udp port "$PORT"
	asks_by_datagrams
	check "the first datagram of an open flow is played" wait_for 60 rotated log_has test.txt.udp 1
	echo >more
	wait "$asked_pid" || func_die "the second datagram failed"
	check "and the second one" wait_for 60 rotated log_has test.txt.udp 2
	check "as recorded" cmp real.txt.udp test.txt.udp
	goes_on # and has read the answers
	feed_stop
	check_equal "a flow that has been played is none that was stopped" "$STATUS" 0
	check_json "it completes with the recording, each answer as recorded" feed.json "$LEDGER and .udp and .completed_sessions == 1 and
		.found_sessions == 1 and .received_bytes == 2 * 11 and .stopped == false"
}

# goes_on: wait until the feed has worked for a second.
goes_on() {
	local lines
	lines=$(grep -c completed feed.log || true)
	wait_for 60 log_exceeds feed.log $((lines + 1)) || func_die "the feed stands"
}

log_exceeds() {
	[[ $(grep -c completed "$1") -gt $2 ]]
}

log_has() {
	[[ $(wc -l <"$1") -eq $2 ]]
}

# found N: check whether the feed has found this many sessions.
found() {
	grep -q "completed [0-9]* of $1 sessions" feed.log
}

a_slow_feed_drops_sessions() {
	feed_start --sessions "$TEST_IP:$((PORT + 3))" --at-a-time 1 --backlog 2 --timeout 600
	in_app "$SERVER" ask "$PEER_IP" "$PORT" $FEW || func_die "the sessions failed"
	check "a feed against a server that stalls reads on" wait_for 60 rotated found $FEW
	feed_stop
	check_equal "a feed with dropped sessions ends with status 0" "$STATUS" 0
	# All sessions may be found before the first of them begins.
	check_json "one session is open, at most two wait, the others are dropped" feed.json "$LEDGER and .stopped_sessions == 1 and
		(.unsent_sessions | IN(1, 2)) and .unsent_sessions + .dropped_sessions == $FEW - 1 and .backlog == 2"
	cp feed.json slow.json # for its schema
}

# files: print the complete files.
files() {
	find rec -name 'live*.pcapng' | sort
}

removed_files_are_counted() {
	local before
	feed_start --sessions "$TEST_IP"
	in_app "$SERVER" ask "$PEER_IP" "$PORT" $FEW || func_die "the sessions failed"
	wait_for 60 log_has real.txt $((SESSIONS + 1 + 2 * FEW)) || func_die "the server has not seen all sessions"
	kill -s STOP "$feed_pid"
	before=$(files)
	wait_for 60 rotate
	wait_for 30 has_others_than "$before" || func_die "no file was completed"
	comm -13 <(echo "$before") <(files) | xargs rm
	kill -s CONT "$feed_pid"
	check "a file that is removed before it is read is named" wait_for 60 grep -q 'was removed before it was read' feed.log
	feed_stop
	check_json "and counted, as its sessions are unknown" feed.json "$LEDGER and .unread_files == 1 and .followed_files == 0 and
		.found_sessions == 0"
}

has_others_than() {
	[[ $(files) != "$1" ]]
}

other_files_are_left_out() {
	local name
	feed_start --sessions "$TEST_IP"
	mkdir directory
	echo "remember the milk" >note.txt
	: >empty.pcapng
	mv directory note.txt empty.pcapng rec
	for name in directory note.txt; do
		check "$name is left out of the feed, with a message" wait_for 30 grep -q "rec/$name does not begin like a capture" feed.log
	done
	goes_on # and has read the last one
	feed_stop
	check_equal "an empty file is damaged: status 1" "$STATUS" 1
	check_json "and it alone" feed.json "$LEDGER and .damages == 1 and (.damaged[0] | test(\"empty.pcapng\"))"
}

the_directory_must_stay() {
	feed_start --sessions "$TEST_IP"
	mv rec moved
	STATUS=0
	wait "$feed_pid" || STATUS=$?
	check_equal "a feed whose directory is renamed ends with status 1" "$STATUS" 1
	check "and says why" grep -q 'rec was removed or renamed' feed.log
}

func_begin
net_begin
netns_join "$APP_NS" "$OUT_IF" "$PEER_NS" test0
ip -netns "$PEER_NS" address add "$TEST_IP/24" dev test0
netns_address "$APP_NS" "$APP_IF" "$APP_IP/24"
serve "$PEER_IP" real
serve "$TEST_IP" test
capture_start
sessions_are_played_while_they_are_recorded
sessions_are_played_before_they_end
flows_are_played_before_they_end
a_slow_feed_drops_sessions
removed_files_are_counted
stop_process "$capture_pid" TERM 60 || func_die "the capture lost frames"
ok "the capture loses nothing"
other_files_are_left_out
the_directory_must_stay

refuses "--follow needs --sessions" "go with --sessions" "$TAPLINE" replay moved -i "$OUT_IF" --follow
refuses "--follow takes one directory" "takes one FILE" "$TAPLINE" replay moved moved -i "$OUT_IF" --follow --sessions "$TEST_IP" --from "$FROM"
refuses "--follow takes no file" "Not a directory" in_app "$TAPLINE" replay real.txt -i "$OUT_IF" --follow --sessions "$TEST_IP" --from "$FROM"
refuses "--backlog needs --follow" "--backlog goes with --follow" "$TAPLINE" replay moved -i "$OUT_IF" --backlog 5 --sessions "$TEST_IP" \
	--from "$FROM"
