#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Long run under faults: echoes, a recording into a ring and one with triggers, while a seed selects one fault after
# another. Each fault must show its effect at least once. At intervals traffic and faults stop, and the appliance's resources are measured. At the end the identities
# hold, every file is readable, and memory, descriptors, threads and mbufs are at the level after the first minute.
set -euo pipefail
minutes=60 seed=$RANDOM

usage() {
	cat <<-END
		usage: tests/soak.sh [--minutes N] [--seed N]
		  --minutes N   how long, at least 2 ($minutes)
		  --seed N      which faults in which order; the same seed gives the same order (random)
		  --help        this
		TL_BUILD names the build directory. As root; needs Debian's python3-scapy.
	END
}

while (($#)); do
	case $1 in
	--minutes | --seed)
		[[ ${2:-} =~ ^[1-9][0-9]*$ ]] || { usage >&2 && exit 2; }
		declare "${1#--}=$2"
		shift
		;;
	--help) usage && exit ;;
	*) usage >&2 && exit 2 ;;
	esac
	shift
done
((minutes >= 2)) || { usage >&2 && exit 2; }
[[ -n ${TL_OWN_MOUNTS:-} ]] || TL_OWN_MOUNTS=1 exec unshare --mount "$0" --minutes "$minutes" --seed "$seed"
source "$(dirname "$0")/lib/func.sh"
func_name=soak
RANDOM=$seed

lib=$(dirname "$PEER_PY")
frames=$func_root/tests/soak/frames.py
warm_up_s=60
ring_files=6
slack_rss_kb=4096 # for arenas of the C library, which threads grow in turn

configure() {
	app_config config.json "$(
		cat <<-END
			"echo": [
			  {"name": "multicast", "port": "lan", "receive": {"group": "239.1.1.1", "udp_port": 5001},
			   "send": {"tcp_connect": "$PEER_IP:5002"}},
			  {"name": "tcp", "port": "lan", "tcp_listen": 7, "max_connections": 256},
			  {"name": "udp", "port": "lan", "udp_listen": 7}],
			"capture": [
			  {"port": "lan", "path": "disk/ring.pcapng", "rotate_bytes": "4M", "keep_files": $ring_files, "on_full": "recycle", "buffer_bytes": "8M"},
			  {"port": "lan", "path": "disk/event_%H%M%S.pcapng", "mode": "trigger", "keep_files": 4, "buffer_bytes": "8M",
			   "trigger": {"pre_seconds": 5, "post_seconds": 1}}]
		END
	)"
}

# ---- traffic, until it is stopped

# again COMMAND...: run it in the background, and restart it when it ends. background collects the process ids.
again() {
	(
		trap 'kill "$child" 2>/dev/null; exit 0' TERM
		while :; do
			"$@" >/dev/null 2>&1 </dev/null &
			child=$!
			wait "$child" || true
			read -rt 0.1 <> <(:) || true # prevents a busy loop with a peer that ends at once
		done
	) &
	background+=($!)
}

traffic_begin() {
	background=()
	again in_peer socat -u TCP-LISTEN:5002,reuseaddr,fork /dev/null
	again in_peer "$PEER_PY" multicast "$PEER_IP" 239.1.1.1 5001 100000 64
	again in_peer timeout 20 "$PEER_PY" echo_bytes "$APP_IP" 7 1000000
	again in_peer "$PEER_PY" udp_sizes "$APP_IP" 7 0 1 64 512 1400 1472
}

traffic_end() {
	local pid
	for pid in "${background[@]}"; do
		stop_process "$pid" TERM 10 2>/dev/null || true
	done
	for pid in $(ip netns pids "$PEER_NS"); do
		kill -s KILL "$pid" 2>/dev/null || true
	done
}

# ---- faults: each undoes what it does, and succeeds if the appliance, or its peer, showed an effect

# pass SECONDS: wait, but not beyond the appliance's end.
pass() {
	timeout "$1" tail --pid="$app_pid" -f /dev/null || true
}

control() {
	timeout 10 "$TAPLINE" control --socket control.sock "$@" >/dev/null
}

# is_above FILTER NUMBER
is_above() {
	local now
	now=$(app_status "$1" 2>/dev/null) && ((now > $2))
}

# grows FILTER COMMAND...: tell whether the counter grows with the command.
grows() {
	local filter=$1 before
	shift
	before=$(app_status "$filter") && "$@" && wait_for 10 is_above "$filter" "$before"
}

peer_mac() {
	in_app cat "/sys/class/net/$APP_IF/address"
}

rotates() {
	grows '.captures[0] | (.files | length) + .recycled_files' control rotate
}

triggers() {
	grows '.captures[1].triggers' control trigger
}

pause_a_second() {
	control pause
	pass 1
	control resume
}

pauses() {
	grows '.captures[0].paused_pkts' pause_a_second
}

status_storm() {
	local i answers=0
	for ((i = 0; i < 20; i++)); do
		! timeout 5 "$TAPLINE" status --json --socket control.sock >/dev/null || answers=$((answers + 1))
	done
	((answers > 0))
}

send_slowly() {
	local i
	for i in {1..10}; do
		printf s
		echo "$i" >slow_bytes
		sleep 0.15
	done
}

# A client that sends a byte at intervals, and no complete line: the appliance leaves it before the tenth.
slow_client() {
	rm -f slow_bytes
	send_slowly | timeout 10 socat -u - UNIX-CONNECT:control.sock || true
	(($(cat slow_bytes) < 10))
}

flap() {
	ip -netns "$PEER_NS" link set "$PEER_IF" down
	pass 1
	ip -netns "$PEER_NS" link set "$PEER_IF" up
	ip -netns "$PEER_NS" route replace 224.0.0.0/4 dev "$PEER_IF"
}

link_flaps() {
	grows '.ports[0].link_downs' flap
}

syn_flood() {
	grows '.net[0].tcp_syn_cookies_tx' in_peer "$frames" syn_flood "$PEER_IF" "$APP_IP" "$(peer_mac)" "$RANDOM" 2000
}

malformed() {
	grows '.net[0] | .drop_malformed_pkts + .drop_cksum_pkts' \
		in_peer "$frames" malformed "$PEER_IF" "$APP_IP" "$(peer_mac)" "$RANDOM" 2000
}

peers_stop() {
	local pid stopped=0
	for pid in $(ip netns pids "$PEER_NS"); do
		kill -s STOP "$pid" 2>/dev/null || true
	done
	pass $((1 + RANDOM % 4))
	for pid in $(ip netns pids "$PEER_NS"); do
		! grep -q '^State:.*stopped' "/proc/$pid/status" || stopped=$((stopped + 1))
		kill -s CONT "$pid" 2>/dev/null || true
	done
	((stopped > 0))
}

kill_peers() {
	local pid
	for pid in $(ip netns pids "$PEER_NS"); do
		kill -s KILL "$pid" 2>/dev/null || true
	done
}

peers_die() {
	grows '.net[0] | .tcp_closed + .tcp_resets_rx' kill_peers
}

# The peer prints whether it could not send any more, and holds its connection until the timeout.
never_reads() {
	in_peer timeout 10 "$PEER_PY" never_read "$APP_IP" 7 10000000 >never_reads.json || true
	jq -e .blocked never_reads.json
}

open_and_close() {
	in_peer timeout 10 "$PEER_PY" open_close "$APP_IP" 7 100 || true
}

connections_come_and_go() {
	grows '.net[0].tcp_passive_opens' open_and_close
}

# The writer of the first recording stands still: what it records waits.
disk_hangs() {
	local holder before gate waits=false
	rm -f held gate && mkfifo gate
	timeout 20 "$lib/hold_thread.py" "$app_pid" tl-writer 1 2 <gate >held &
	holder=$!
	exec {gate}>gate
	wait_for 10 test -s held && before=$(app_status '.captures[0].written_pkts') && pass 2 &&
		status_is ".captures[0] | .written_pkts == $before and .in_flight_pkts > 0" && waits=true
	exec {gate}>&-
	wait "$holder" && [[ $waits == true ]]
}

# makes_room RECYCLED DROPPED: go on in a new file; tell whether the ring, which is not full, has removed files since, or frames
# were dropped.
makes_room() {
	control rotate && status_is "(.captures[0] | (.files | length) < $ring_files and .recycled_files > $1) or
		([.captures[].drop_disk_pkts] | add) > $2"
}

# Another process fills the disk. A file with room left has no need of it: rotate.
disk_fills() {
	local recycled dropped seen=false
	read -r recycled dropped < <(app_status '"\(.captures[0].recycled_files) \([.captures[].drop_disk_pkts] | add)"')
	fallocate -l "$(($(stat -f -c '%a * %S' disk)))" disk/other || true
	! wait_for 10 makes_room "$recycled" "$dropped" || seen=true
	rm -f disk/other
	[[ $seen == true ]]
}

faults=(rotates triggers pauses status_storm slow_client link_flaps syn_flood malformed peers_stop peers_die never_reads
	connections_come_and_go disk_hangs disk_fills)
declare -A done_times effects
deck=()

# next_fault: set fault. All have their turn before any has its next.
next_fault() {
	local i
	((${#deck[@]} > 0)) || deck=("${faults[@]}")
	i=$((RANDOM % ${#deck[@]}))
	fault=${deck[i]}
	unset 'deck[i]'
	deck=("${deck[@]}")
}

# faults_for SECONDS
faults_for() {
	local until=$((SECONDS + $1)) fault last=''
	while ((SECONDS < until)); do
		! is_gone "$app_pid" || func_die "the appliance ended in the middle of: ${last:-nothing yet}"
		next_fault
		last=$fault
		done_times[$fault]=$((${done_times[$fault]:-0} + 1))
		echo "== $fault" >>faults.log
		! "$fault" >>faults.log 2>&1 || effects[$fault]=$((${effects[$fault]:-0} + 1))
	done
}

# ---- resources of the idle appliance

is_quiet() {
	status_is '[.echoes[].connections] | add == 0' && status_is '.ports[0].mbufs_in_use == '"$mbufs_at_start"
}

# own_threads: count threads; the kernel starts and ends its workers of io_uring as it likes.
own_threads() {
	cat "/proc/$app_pid"/task/*/comm | grep -vc '^iou-'
}

# quiet_sample: print "RSS_KB DESCRIPTORS THREADS MBUFS".
quiet_sample() {
	wait_for 120 is_quiet || true
	echo "$(awk '/^VmRSS/ {print $2}' "/proc/$app_pid/status") $(find "/proc/$app_pid/fd" | wc -l) \
$(own_threads) $(app_status '.ports[0].mbufs_in_use')"
}

round() {
	traffic_begin
	faults_for "$1"
	traffic_end
	quiet_sample >>samples
	echo "# $((SECONDS / 60)) min, $(tail -n 1 samples): RSS kB, descriptors, threads, mbufs"
}

# grown COLUMN: print the difference of the last sample and the first.
grown() {
	awk -v c="$1" 'NR == 1 { first = $c } { last = $c } END { print last - first }' samples
}

readable_files() {
	local file
	for file in disk/*.pcapng; do
		capinfos "$file" >/dev/null 2>&1 || echo "$file"
	done
}

func_begin
/usr/bin/python3 -c 'import scapy.all' 2>/dev/null || func_die "there is no python3-scapy (tools/install-deps.sh soak)"
net_begin
mkdir disk
mount -t tmpfs -o size=64m tapline-soak disk
trap 'status=$?; umount --lazy "$DIR/disk"; (exit "$status"); func_end' EXIT
echo "# seed $seed, $minutes min"
configure
app_start config.json
mbufs_at_start=$(app_status '.ports[0].mbufs_in_use')
round "$warm_up_s"
while ((SECONDS < minutes * 60)) || ((${#done_times[@]} < ${#faults[@]})); do
	round $((minutes * 60 - SECONDS > 240 ? 240 : 60))
done
for fault in "${faults[@]}"; do
	check "$fault had an effect ${effects[$fault]:-0} of ${done_times[$fault]} times" [ "${effects[$fault]:-0}" -gt 0 ]
done
app_status >running.json
check_json "while it runs the identities hold" running.json .ledger_ok
app_stop TERM
check "the appliance ends with status 0, or 1 for the frames that the disk had no room for" [ "$APP_STATUS" -le 1 ]
check_json "at the end the identities hold" run.json .ledger_ok
check_json "messages went through each echo" run.json ".echoes | length == 3 and all(.echoed_msgs > 15 * $minutes)"
check_equal "every file can be read" "$(readable_files)" ""
check_equal "no descriptor was leaked" "$(grown 2)" 0
check_equal "no thread was left behind" "$(grown 3)" 0
check_equal "no mbuf was leaked" "$(grown 4)" 0
check "memory did not grow: $(grown 1) kB" [ "$(grown 1)" -le "$slack_rss_kb" ]
