#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Replay through a class tree, alone and in an appliance: frames behind the wire beside an oracle of the tree, their account, and errors
# before the start.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

LIB=$(dirname "$PEER_PY")

# entry UDP_RATE REST_RATE [KEYS]: print an entry of "shape" for make_pcap.py's frames, 200 in each class.
entry() {
	cat <<J
{"name": "up", "rate": 100000000, "burst": 1000000,${3:-}
 "classes": [
  {"name": "udp", "match": "udp", "rate": $1, "burst": 29000, "cburst": 29000, "limit": 40},
  {"name": "rest", "rate": $2, "burst": 23000, "cburst": 23000, "limit": 1000, "default": true}]}
J
}

# config ENTRY [SECTION...]: print a configuration whose port "out" replays through this shape.
config() {
	local entry=$1 section
	shift
	echo '{"eal": {"huge": false, "memory_mb": 512}, "ports": [{"name": "out", "device": "app0", "rx_queues": 1}, {"name": "null", "device": "vdev:net_null0"}],'
	echo '"replay": [{"name": "r", "port": "out", "files": ["a.pcap"], "speed": 100}], "control": {"socket": "control.sock"},'
	echo "\"shape\": [$entry]"
	for section in "$@"; do
		echo ", $section"
	done
	echo '}'
}

with_port() {
	sed 's/"name": "up",/"name": "up", "port": "out",/'
}

listen() {
	rm -f got.pcap tcpdump.log
	peer_start tcpdump -n -U -i "$PEER_IF" -Q in -s 2000 -B 16384 --time-stamp-precision=nano -w got.pcap ether src 02:00:00:00:00:01 2>tcpdump.log
	wait_for 60 grep -qs 'listening on' tcpdump.log || func_die "tcpdump does not listen"
}

# came N: tell whether the kernel has captured N frames.
came() {
	(($(tcpdump -r got.pcap 2>/dev/null | wc -l) >= $1))
}

# shows N PATTERN ARG...: tell whether `tapline ARG...` prints N lines like this. On a busy host the answer may take too long.
shows() {
	local n=$1 pattern=$2
	shift 2
	[[ $("$TAPLINE" "$@" --socket control.sock 2>/dev/null | grep -cE "$pattern") == "$n" ]]
}

# replay_start ARG...: replay in the background, with a control socket; the report goes to replay.json.
replay_start() {
	rm -f control.sock
	ip netns exec "$APP_NS" "$TAPLINE" replay a.pcap -i "$APP_IF" --control control.sock --json "$@" >replay.json 2>replay.log </dev/null &
	app_pid=$!
	wait_for 60 app_answers_or_is_gone || true
	! is_gone "$app_pid" || func_die "the replay did not start"
}

errors_come_before_anything_is_sent() {
	local call=(in_app "$TAPLINE" replay a.pcap -i "$APP_IF")
	entry 8000 16000 | sed 's/"rate": 16000/"rate": "16 knots"/' >wrong.json
	refuses "a wrong rate, with its line" 'wrong.json:4: $.shape[0].classes[1].rate: "16 knots" is not a rate' "${call[@]}" --shape wrong.json
	entry 8000 16000 | sed 's/"match": "udp"/"match": "udp or"/' >wrong.json
	refuses "a wrong expression, with its line" 'wrong.json:3: $.shape[0].classes[0].match: ' "${call[@]}" --shape wrong.json
	entry 80000000 80000000 >wrong.json
	refuses "rates above that of the tree" 'the children of up are guaranteed' "${call[@]}" --shape wrong.json
	entry 8000 16000 | sed 's/"burst": 23000/"burst": 1000/' >wrong.json
	refuses "a burst below one frame" 'wrong.json:4: $.shape[0].classes[1]: class rest: burst' "${call[@]}" --shape wrong.json
	refuses "a missing file" 'lost.json: cannot be opened: No such file or directory' "${call[@]}" --shape lost.json
	refuses "a file that is no JSON" 'a.pcap:1: this is not JSON' "${call[@]}" --shape a.pcap
	echo '{"ports": [{"name": "lan", "device": "app0"}]}' >wrong.json
	refuses "a configuration without shapes" '--shape wrong.json: it has no "shape"' "${call[@]}" --shape wrong.json
	config "$(entry 8000 16000 | with_port), $(entry 8000 16000 | with_port | sed 's/"up"/"down"/; s/"out"/"null"/')" \
		'"echo": []' | sed 's/"files": \["a.pcap"\], "speed": 100}/"files": ["a.pcap"]}, {"name": "s", "port": "null", "files": ["a.pcap"]}/' >two.json
	refuses "several shapes" '--shape two.json: it has 2 shapes: choose one, as two.json:up' "${call[@]}" --shape two.json
	refuses "a name of none of them" '--shape two.json: no shape is called "left"' "${call[@]}" --shape two.json:left
	config "$(entry 8000 16000 ' "share": "all",' | with_port)" '"share": [{"name": "all", "rate": "1Gbit"}]' >shared.json
	refuses "a shape with a share" 'the shape "up" has a share, which is divided in an appliance only' "${call[@]}" --shape shared.json
	refuses "two ports" '--shape is for one port' "${call[@]}" -I "$APP_IF" --split epb --shape two.json
	refuses "sessions" '--sessions goes with' "${call[@]}" --sessions 192.0.2.1 --from 192.0.2.2/24 --shape two.json
	refuses "a shape by the NIC's clock" '--timing nic: through a class tree frames leave at the rates of their classes' \
		"${call[@]}" --timing nic --shape two.json:up
	config "$(entry 8000 16000 | with_port | sed 's/"port": "out"/"port": "null"/')" >wrong.json
	refuses "a shape on a port that sends nothing" 'wrong.json:3: $.shape[0].port: the port "null" has no echo and no replay' \
		in_app "$TAPLINE" run --check wrong.json
	config "$(entry 8000 16000 ' "queue": 1,' | with_port)" | sed 's/"rx_queues": 1/"rx_queues": 2/' >wrong.json
	refuses "a shape on another queue than the replay's" '$.shape[0].queue: the replay "r" sends through queue 0' \
		in_app "$TAPLINE" run --check wrong.json
}

# The buckets get a byte per second.
each_frame_leaves_waits_or_is_dropped_as_an_oracle_says() {
	local status=0
	entry 8 8 >tree.json
	listen
	replay_start --speed 100 --shape tree.json
	wait_for 60 status_is '.shapes[0].classes[0].in_pkts == 400' || func_die "not all frames are sent"
	check "status shows the classes" wait_for 60 status_is '.shapes[0].classes | map(.name) == ["up", "udp", "rest"] and .[1].queued_pkts == 40'
	check "as a table, too" wait_for 60 shows 3 '^class' status
	check "top shows the classes" wait_for 60 shows 1 '^  rest +8 +8 ' top --once
	stop_process "$app_pid" INT 60 || status=$?
	check_equal "Ctrl-C: status 0" "$status" 0
	wait_for 60 came "$(jq .sent_pkts replay.json)"
	stop_process "$peer_pid" TERM 10 || true
	check "frames leave, wait and are dropped as an oracle says" "$LIB/judge_shape.py" decisions a.pcap got.pcap tree.json replay.json
	check_json "the ledger has the drops by reason" replay.json '.ledger_ok and .stopped and .shapes[0].ledger_ok and
		.read_pkts == 400 and .read_pkts == .sent_pkts + .drop_limit_pkts + .drop_end_pkts and .drop_limit_pkts > 0 and .drop_end_pkts > 0 and
		.drop_end_pkts == .shapes[0].classes[0].drop_end_pkts and .lateness_ns.count == .sent_pkts'
}

# The files are read in 4 ms; the classes take 0.26 and 1.1 s.
waiting_frames_are_sent_before_the_end() {
	local status=0
	config "$(entry 4000000 1000000 | with_port | sed 's/"limit": 40/"limit": 1000/'), $(entry 8 8 | with_port | sed 's/"up"/"down"/; s/"out"/"null"/')" |
		sed 's/"speed": 100}/"speed": 100}, {"name": "s", "port": "null", "files": ["a.pcap"]}/' >config.json
	jq '.shape[0]' config.json >tree.json
	listen
	in_app timeout 120 "$TAPLINE" replay a.pcap -i "$APP_IF" --speed 100 --shape config.json:up --json >replay.json 2>replay.log </dev/null || status=$?
	check_equal "a shape of a configuration is taken: status 0" "$status" 0
	check "every frame comes" wait_for 60 came 400
	stop_process "$peer_pid" TERM 10 || true
	check "by the kernel's stamps no class was above its rate and burst" "$LIB/judge_shape.py" rates a.pcap got.pcap tree.json replay.json
	check_json "lateness is that of the departure" replay.json '.ledger_ok and (.stopped | not) and .sent_pkts == 400 and .hw_sent_pkts >= 400 and
		.lateness_ns.count == 400 and .lateness_ns.max > 900000000 and .shapes[0].classes[2].delay_max_ns > 900000000 and .shapes[0].bypass_pkts == 0'
	in_app "$TAPLINE" replay a.pcap -i vdev:net_null0 --speed 100 --shape tree.json >replay.txt 2>replay.log </dev/null || true
	check_equal "the tables have the classes" "$(grep -cE '^ +(udp|rest) ' replay.txt)" 2
}

a_frame_per_line_ends_although_the_tree_drops() {
	local status=0
	entry 8 8 | sed 's/"limit": 1000/"limit": 1/; s/"limit": 40/"limit": 1/' >tree.json
	printf '\n%.0s' {1..400} | in_app timeout 120 "$TAPLINE" replay a.pcap -i vdev:net_null0 --one-by-one --shape tree.json --json >replay.json 2>replay.log ||
		status=$?
	check_equal "--one-by-one through a tree: status 0" "$status" 0
	check_json "every frame is counted" replay.json '.ledger_ok and .drop_limit_pkts > 300 and .drop_end_pkts <= 2'
}

an_appliance_replays_through_a_tree() {
	config "$(entry 8 8 | with_port | sed 's/"limit": 40/"limit": 1000/')" >config.json
	in_app "$TAPLINE" run --explain config.json >explain.txt 2>explain.log </dev/null
	check "--explain draws the tree" grep -Fq '|- udp: 8bit/s guaranteed, at most 8bit/s, prio 0; udp; limit 1000 frames' explain.txt
	listen
	app_start config.json
	check "all frames go into their classes" wait_for 60 status_is '.shapes[0].classes[0].in_pkts == 400 and .replays[0].state == "playing"'
	app_status . >waiting.json || func_die "no status"
	check_json "they wait there" waiting.json '.shapes[0].classes[0].queued_pkts > 300 and .shapes[0].classes[0].queued_pkts + .replays[0].sent_pkts == 400'
	check "top shows classes and replay" wait_for 60 shows 2 '^  udp +8 +8 |^r +' top --once
	entry 4000000 1000000 | with_port | sed 's/"limit": 40/"limit": 1000/' >tree.json
	check "their rates change at run time" wait_for 60 "$TAPLINE" control shape up "$(cat tree.json)" --socket control.sock
	wait "$app_pid" || APP_STATUS=$?
	app_pid=''
	check_equal "the run ends with the last frame, with status 0" "${APP_STATUS:-0}" 0
	check "every frame comes" wait_for 60 came 400
	stop_process "$peer_pid" TERM 10 || true
	check "by the kernel's stamps no class was above its rate and burst" "$LIB/judge_shape.py" rates a.pcap got.pcap tree.json run.json
	check_json "the ledgers hold" run.json '.ledger_ok and .lossless and .replays[0].ledger_ok and .replays[0].sent_pkts == 400 and
		.shapes[0].ledger_ok and .shapes[0].classes[0].sent_pkts == 400 and .ports[0].tx_pkts == 400 and .replays[0].lateness_ns.max > 900000000'
}

an_appliance_that_ends_counts_what_waits() {
	config "$(entry 8 8 | with_port)" >config.json
	app_start config.json
	wait_for 60 status_is '.shapes[0].classes[0].in_pkts == 400' || func_die "not all frames are in the tree"
	app_stop TERM
	check_equal "SIGTERM ends it with status 0" "$APP_STATUS" 0
	check_json "frames in the tree are dropped and counted" run.json '.ledger_ok and (.lossless | not) and (.replays[0] | .ledger_ok and .stopped and
		.drop_end_pkts > 100 and .drop_limit_pkts > 100) and .shapes[0].classes[0].drop_end_pkts == .replays[0].drop_end_pkts and
		.ports[0].drop_shaped_pkts == (.replays[0] | .drop_end_pkts + .drop_limit_pkts)'
}

func_begin
net_begin
"$LIB/make_pcap.py" a.pcap 400
errors_come_before_anything_is_sent
each_frame_leaves_waits_or_is_dropped_as_an_oracle_says
waiting_frames_are_sent_before_the_end
a_frame_per_line_ends_although_the_tree_drops
an_appliance_replays_through_a_tree
an_appliance_that_ends_counts_what_waits
