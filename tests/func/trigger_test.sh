#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Recordings that wait for a trigger, each for its own, and effects of control commands on recordings.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

# send COUNT PORT: send datagrams to the appliance.
send() {
	in_peer bash -c "for ((i = 0; i < $1; i++)); do echo \$i >/dev/udp/$APP_IP/$2; done"
}

# control WORD...
control() {
	"$TAPLINE" control --socket control.sock "$@"
}

# has FILE PORT: print the number of datagrams to this port in it.
has() {
	tshark -r "$1" -Y "udp.dstport == $2 && !icmp" 2>/dev/null | wc -l
}

# comment FILE: print the file's comment about its trigger.
comment() {
	capinfos -k "$1" | sed -n 's/^Capture comment: *//p'
}

# recording PATH TRIGGER
recording() {
	cat <<-EOF
		{"port": "lan", "path": "$1", "direction": "rx", "filter": "udp", "buffer_bytes": "16M",
		 "mode": "trigger", "trigger": {"pre_seconds": 12, "post_seconds": 4$2}}
	EOF
}

# offered INDEX N: check whether this recording was offered N frames.
offered() {
	status_is ".captures[$1] | .offered_pkts - .filtered_pkts >= $2"
}

# saved FILE: wait until an episode's file is complete.
saved() {
	wait_for 60 test -e "$1"
}

visible_files() {
	find . -name '[a-z]*.pcapng*' ! -name '*.tlx' | sort
}

verb_saves_what_was_held() {
	send 5 1001
	wait_for 60 offered 1 5 || true
	check_equal "nothing is written without a trigger" "$(visible_files)" ./cont.pcapng
	status_is '.captures[1].state == "waiting"' || not_ok "it waits"
	check "the trigger command is accepted" control trigger verb.pcapng
	send 4 1002
	check "the file of the episode is complete when its time is over" saved verb.pcapng
	check_equal "it has the frames before the trigger" "$(has verb.pcapng 1001)" 5
	check_equal "it has the frames after the trigger" "$(has verb.pcapng 1002)" 4
	check_equal "the file of the command has its reason" "$([[ $(comment verb.pcapng) == 'trigger: control at 2'*Z* ]] && echo yes)" yes
	check_equal "the log has the reason" "$(grep -c 'verb.pcapng: trigger: control at 2' run.log)" 1
	check_equal "the other recordings still wait" "$(visible_files | xargs)" "./cont.pcapng ./verb.pcapng"
}

frame_saves_what_is_around_it() {
	send 5 1003
	send 1 999
	send 5 1004
	check "a matching frame fires the trigger" saved match.pcapng
	send 3 1005
	check_equal "the file has the matching frame" "$(has match.pcapng 999)" 1
	check_equal "the file has the frames before" "$(has match.pcapng 1003)" 5
	check_equal "the file has the frames after" "$(has match.pcapng 1004)" 5
	check_equal "the file has no frames after the episode" "$(has match.pcapng 1005)" 0
	check_equal "the file of the matching frame has its reason" "$([[ $(comment match.pcapng) == 'trigger: filter at '* ]] && echo yes)" yes
}

slow_echo_saves() {
	send 1 7
	check "an echo above its time limit fires the trigger" saved slow.pcapng
	check_equal "the file has the message" "$(has slow.pcapng 7)" 1
	check_equal "the file of the slow echo has its reason" "$([[ $(comment slow.pcapng) == 'trigger: echo_latency at '* ]] && echo yes)" yes
}

loss_saves() {
	kill -STOP "$app_pid"
	in_peer "$PEER_PY" blast "$PEER_IF" 50000 "$(in_app cat "/sys/class/net/$APP_IF/address")" >/dev/null
	kill -CONT "$app_pid"
	wait_for 60 status_is '.port.drop_nic_pkts > 0' || true
	send 3 3001
	check "a loss fires the trigger" saved lost.pcapng
	check_equal "the file has the frames of that time" "$(has lost.pcapng 3001)" 3
	check_equal "the file of the loss has its reason" "$([[ $(comment lost.pcapng) == 'trigger: drop at '* ]] && echo yes)" yes
}

signal_saves_everywhere() {
	send 2 3002
	kill -s USR1 "$app_pid"
	check "SIGUSR1 fires the trigger of every waiting recording" saved verb_00001.pcapng
	check "SIGUSR1 fires the trigger of this recording" saved lost_00001.pcapng
	check_equal "the file of SIGUSR1 has its reason" "$([[ $(comment verb_00001.pcapng) == 'trigger: signal at '* ]] && echo yes)" yes
}

verbs_say_what_is_wrong() {
	check_equal "an unknown recording is refused" \
		"$(control trigger nix.pcapng 2>&1 || echo $?)" \
		"tapline: error: nix.pcapng is not a recording; give its path, or its index in the configuration from 0
1"
	check_equal "a trigger for a recording without triggers is refused" \
		"$(control trigger 0 2>&1 | grep -o 'only "mode": "trigger"')" 'only "mode": "trigger"'
	check_equal "an unknown verb is refused" "$(control explode 2>&1 || echo $?)" "tapline: error: unknown command
1"
	check_equal "a call without a verb has exit status 2" "$(control 2>/dev/null || echo $?)" 2
	check_equal "the socket answers in JSON" \
		"$(echo 'rotate 9' | timeout 5 socat -t 2 - UNIX-CONNECT:control.sock | jq -c '.ok')" false
}

pause_leaves_out() {
	local before
	before=$(app_status '.captures[0].written_pkts + .captures[0].in_flight_pkts')
	send 5 2001
	wait_for 60 status_is ".captures[0] | .written_pkts + .in_flight_pkts >= $before + 5" || true
	check "a recording is paused by path" control pause cont.pcapng
	send 7 2002
	check "frames are counted during the pause" wait_for 60 status_is '.captures[0] | .paused_pkts >= 7 and .state == "paused"'
	check "another recording is not paused" status_is '.captures[1] | .paused_pkts == 0 and .state != "paused"'
	check "the recording is resumed by index" control resume 0
	send 6 2003
	wait_for 60 status_is ".captures[0] | .written_pkts + .in_flight_pkts >= $before + 11" || true
}

pause_was_exact() {
	check_equal "frames before the pause are recorded" "$(has cont.pcapng 2001)" 5
	check_equal "no frames of the pause are recorded" "$(has cont.pcapng 2002)" 0
	check_equal "frames after the pause are recorded in the same file" "$(has cont.pcapng 2003)" 6
	check_json "the counts are exact" run.json \
		'.captures[0] | .paused_pkts == 7 and .offered_pkts == .written_pkts + .filtered_pkts + .paused_pkts'
	check_equal "the file has the written packets" "$(tshark -r cont.pcapng 2>/dev/null | wc -l)" \
		"$(jq '.captures[0].written_pkts' run.json)"
	check_equal "no record has a drop count" "$(tshark -r cont.pcapng -Y 'frame.drop_count > 0' 2>/dev/null | wc -l)" 0
}

all_is_accounted_for() {
	local i file sum=0
	check_json "the ledger is consistent" run.json .ledger_ok
	check_json "triggers are counted" run.json '[.captures[].triggers] | .[0] == 0 and all(.[1:][]; . >= 2)'
	check_json "the reason of the last trigger is reported" run.json 'all(.captures[1:][]; .last_trigger.reason == "signal")'
	for i in 1 2 3 4; do
		sum=0
		for file in $(jq -r ".captures[$i].files[]" run.json); do
			sum=$((sum + $(tshark -r "$file" 2>/dev/null | wc -l)))
		done
		check_equal "recording $i: its files have the packets counted as written" \
			"$sum" "$(jq ".captures[$i].written_pkts" run.json)"
	done
	check_equal "no other file remains" "$(find . -name '*.next' -o -name '*.part')" ""
}

# A window of bytes: all frames outside the file have expired.
window_slides() {
	local first
	app_config config.json '"capture": [{"port": "lan", "path": "win.pcapng", "filter": "src host 192.0.2.1",
		"mode": "trigger", "trigger": {"pre_bytes": "1M", "post_seconds": 1, "filter": "ip[4:2] = 5000"}}]'
	"$(dirname "$PEER_PY")/make_pcap.py" in.pcap 6000
	app_start config.json
	in_peer "$(dirname "$PEER_PY")/send_pcap.py" "$PEER_IF" in.pcap 4000 >/dev/null
	check "a frame among many fires the trigger" saved win.pcapng
	app_stop INT
	tshark -r win.pcapng -T fields -e ip.id 2>/dev/null | while read -r id; do echo $((id)); done >ids
	first=$(head -n 1 ids)
	check_equal "the file has the frame" "$(grep -cx 5000 ids)" 1
	check_equal "the file has a contiguous run of frames around it" "$(cat ids)" "$(seq "$first" 5999)"
	check "earlier frames have left the window" test "$first" -gt 0
	check_json "they count as expired, exactly" run.json ".ledger_ok and (.captures[0] |
		.expired_pkts == $first and .written_pkts == 6000 - $first and .offered_pkts - .filtered_pkts == 6000)"
}

# Saved files do not belong to the ring, and a file ends with a slab: send until a file is removed.
ring_goes_round() {
	status_is '.captures[0].recycled_files > 0' ||
		{ in_peer "$(dirname "$PEER_PY")/send_pcap.py" "$PEER_IF" more.pcap 4000 >/dev/null && false; }
}

# In a ring of files a trigger saves those of its time; files removed by the ring count as expired.
ring_is_saved_from() {
	local saved sum=0 file
	rm -f run.log
	"$(dirname "$PEER_PY")/make_pcap.py" more.pcap 1000
	ip netns exec "$APP_NS" "$TAPLINE" capture -i "$APP_IF" -w ring.pcapng --mode trigger --store files \
		--rotate-packets 1000 --keep-files 3 --pre-seconds 0 --post-seconds 0 --trigger 'ip[4:2] = 3000' \
		--control control.sock --json src host 192.0.2.1 >run.json 2>run.log </dev/null &
	app_pid=$!
	wait_for 60 app_answers_or_is_gone || true
	in_peer "$(dirname "$PEER_PY")/send_pcap.py" "$PEER_IF" in.pcap 4000 >/dev/null
	check "a recording with a ring receives the trigger" wait_for 60 status_is '.captures[0].triggers == 1'
	wait_for 60 ring_goes_round || true
	wait_for 60 status_is '.captures[0] | .state == "waiting" and .in_flight_pkts == 0' || true
	app_stop INT
	saved=$(find . -name 'ring*.saved.pcapng')
	check "a file of the ring is saved" test -n "$saved"
	check_equal "the saved file has the frame" \
		"$(for file in $saved; do tshark -r "$file" -Y 'ip.id == 3000' 2>/dev/null; done | wc -l)" 1
	for file in ring*.pcapng; do
		sum=$((sum + $(tshark -r "$file" 2>/dev/null | wc -l)))
	done
	check_json "the existing files have the written packets, and the others count as expired" run.json ".ledger_ok and
		(.captures[0] | .written_pkts == $sum and .expired_pkts == .offered_pkts - .filtered_pkts - $sum and .recycled_files > 0)"
}

func_begin
net_begin
app_config config.json '"echo": [{"port": "lan", "udp_listen": 7}]' "\"capture\": [
	{\"port\": \"lan\", \"path\": \"cont.pcapng\", \"direction\": \"rx\", \"filter\": \"udp\", \"buffer_bytes\": \"4M\"},
	$(recording verb.pcapng ''),
	$(recording match.pcapng ', "filter": "udp dst port 999"'),
	$(recording slow.pcapng ', "echo_latency_us": 1'),
	$(recording lost.pcapng ', "on_drop": true')]"
app_start config.json
verb_saves_what_was_held
frame_saves_what_is_around_it
slow_echo_saves
verbs_say_what_is_wrong
pause_leaves_out
loss_saves
signal_saves_everywhere
app_stop INT
check_equal "SIGINT ends the run with status 0" "$APP_STATUS" 0
pause_was_exact
all_is_accounted_for
window_slides
ring_is_saved_from
