#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Sessions in the section `replay` of an appliance: one port records sessions with nginx, and feeds them to a second nginx on another
# port; sessions of a file are played once; and errors before the start.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"
source "$(dirname "$0")/../lib/replay_config.sh"
source "$(dirname "$0")/../lib/nginx.sh"

CLIENT=$(dirname "$PEER_PY")/web_sessions.py
OUT_IF=out0 TEST_IP=10.98.0.2 FROM=10.98.0.1/24
PORT=8080 SESSIONS=100
LEDGER='.ledger_ok and .found_sessions + .copied_sessions == ([to_entries[] | select((.key | endswith("_sessions")) and
	(.key | IN("found_sessions", "copied_sessions", "waited_sessions", "beyond_sessions") | not)) | .value] | add)'

ports_json="{\"name\": \"live\", \"device\": \"$APP_IF\"}, {\"name\": \"test\", \"device\": \"$OUT_IF\"},
{\"name\": \"wide\", \"device\": \"vdev:net_null0,no-rx=1\", \"rx_queues\": 2}"

errors_come_before_anything_starts() {
	local entry="{\"name\": \"s\", \"files\": [\"rec\"], \"sessions\": \"$TEST_IP\", \"from\": \"$FROM\", \"follow\": true, \"port\": "
	refused "a port with two queues" '5: $.replay[0].sessions: the port "wide" has 2 RX queues' "$entry"$'"wide"}'
	refused "an lcore of their own" '6: $.replay[0].lcore: sessions are played by the lcore of their port' "$entry"$'"test",\n"lcore": 1}'
	refused "a class tree" '5: $.replay[0].sessions: the shape "t" is on the port' "$entry"$'"test"}' \
		'"shape": [{"name": "t", "port": "test", "rate": "1Mbit", "classes": [{"name": "all", "rate": "1Mbit", "default": true}]}]'
	refused "no own address" '6: $.replay[0].sessions: "sessions" needs an address of its own' \
		$'{"name": "s", "port": "test", "files": ["rec"], "follow": true,\n"sessions": "10.98.0.2"}'
	refused "an option of frames" '5: $.replay[0].sessions: "sessions" goes with' "$entry"$'"test", "loops": 2,\n"scale": 2}'
	refused "an option of sessions without them" '6: $.replay[0].from: "from", "gateway", "scale"' \
		$'{"name": "s", "port": "test", "files": ["a.pcap"],\n"from": "10.98.0.1/24"}'
	refused "a scale out of range" '6: $.replay[0].scale: "scale" takes 1 to 10000' "$entry"$'"test",\n"scale": 0}'
}

# requests NAME: print what a server was asked for.
requests() {
	sort "$1.txt"
}

both_were_asked_the_same() {
	cmp <(requests real) <(requests test)
}

rotate() {
	"$TAPLINE" control --socket control.sock rotate rec/live.pcapng >/dev/null
}

# rotated COMMAND...: complete a file; then run the command. The last frames are in the file that begins a second later.
rotated() {
	rotate
	"$@"
}

a_port_feeds_sessions_to_another() {
	local client_pid
	config "{\"name\": \"feed\", \"port\": \"test\", \"files\": [\"rec\"], \"follow\": true, \"sessions\": \"$TEST_IP\", \"from\": \"$FROM\",
		\"compare\": \"length\", \"timeout\": 100}" \
		'"capture": [{"port": "live", "path": "rec/live.pcapng", "rotate_seconds": 86400, "filter": "tcp"},
			{"port": "test", "path": "played.pcapng", "filter": "tcp"}]' >config.json
	app_start config.json
	in_peer "$CLIENT" "$APP_IP" "$PORT" "$SESSIONS" &
	client_pid=$!
	until is_gone "$client_pid"; do
		rotate || true # a busy appliance may not answer
	done
	wait "$client_pid" || func_die "the sessions failed"
	check "each session is played against the second server while the recording runs" wait_for 60 rotated both_were_asked_the_same
	check "status has the sessions" wait_for 60 status_is ".replays[0] | .state == \"playing\" and .ledger_ok == null and
		.completed_sessions == $SESSIONS"
	check "top shows a row" in_app "$TAPLINE" top --once --socket control.sock
	check_equal "sessions are not paused" "$("$TAPLINE" control --socket control.sock pause feed 2>&1 || echo "status $?")" \
		$'tapline: error: replay feed: it plays sessions: only frames are paused, or sought\nstatus 1'
	app_stop TERM
	check_equal "the run ends with status 0" "$APP_STATUS" 0
	jq '.replays[0]' run.json >feed.json
	check_json "the ledger of sessions adds up" feed.json "$LEDGER and .name == \"feed\" and .port == \"test\" and .state == \"ended\" and
		.completed_sessions == $SESSIONS and .found_sessions == $SESSIONS and .followed_files > 1 and (.failures | length) == 0 and
		.target_response_ns.count > 0 and .recorded_response_ns.count == .target_response_ns.count"
	check_json "with those of ports and recordings, and nothing is lost" run.json '.ledger_ok and .lossless and
		([.captures[] | .rx.written_pkts > 0 and .tx.written_pkts > 0] | all)'
	check "the recording of the second port has the sessions" played_is_recorded
}

# Check that the target received the SYNs that the recording of its port contains.
played_is_recorded() {
	[[ $(tcpdump -r played.pcapng 'tcp[tcpflags] == tcp-syn' 2>/dev/null | wc -l) -ge $SESSIONS ]]
}

# play ARG: run an appliance that plays the recorded files, with keys of the entry; its replay goes to play.json, the status to STATUS.
play() {
	STATUS=0
	config "{\"name\": \"again\", \"port\": \"test\", \"files\": [\"rec\"], \"from\": \"10.98.0.20-10.98.0.29/24\", \"line_rate\": true, $1}" >play.conf
	in_app timeout 200 "$TAPLINE" run play.conf --json >play-run.json 2>play.log </dev/null || STATUS=$?
	jq '.replays[0]' play-run.json >play.json
}

files_are_played_once() {
	play "\"sessions\": \"$TEST_IP\", \"compare\": \"length\", \"scale\": 3"
	check_equal "a run that plays files ends by itself with status 0" "$STATUS" 0
	check_json "three copies of each session complete" play.json "$LEDGER and .completed_sessions == 3 * $SESSIONS and
		.copied_sessions == 2 * $SESSIONS"
	play "\"sessions\": \"$TEST_IP:$((PORT + 2))\""
	check_equal "a target that resets: status 1" "$STATUS" 1
	check_json "its row" play.json "$LEDGER and .reset_by_target_sessions == $SESSIONS"
	check_json "the other identities hold" play-run.json '.ledger_ok'
}

if ! command -v nginx >/dev/null; then
	skip "sessions of an appliance against nginx" "nginx is not installed"
	exit
fi
func_begin
net_begin
netns_join "$APP_NS" "$OUT_IF" "$PEER_NS" test0
ip -netns "$PEER_NS" address add "$TEST_IP/24" dev test0
netns_address "$APP_NS" "$APP_IF" "$APP_IP/24"
"$CLIENT" pages www
nginx_start "$APP_NS" real "$APP_IP" "$PORT"
nginx_start "$PEER_NS" test "$TEST_IP" "$PORT"
mkdir rec
"$(dirname "$PEER_PY")/make_pcap.py" a.pcap 1
errors_come_before_anything_starts
a_port_feeds_sessions_to_another
files_are_played_once
