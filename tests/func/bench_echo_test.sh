#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# tapline bench echo: each rung returns the sent bytes, or gives a reason; nothing is left behind. Durations do not matter
# here.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

RAN='.rungs | map(select(.refused == null))'

wrong_calls() {
	refuses "an impossible message size is refused" "--sizes" "$TAPLINE" bench echo --sizes 16,7
	refuses "a size above 1 MiB is refused" "--sizes" "$TAPLINE" bench echo --sizes 1048577
	refuses "an unknown rung is refused" "--rungs" "$TAPLINE" bench echo --rungs epoll,epol
	refuses "a rung of the other ladder is refused" "--rungs" "$TAPLINE" bench echo --rungs recv
	refuses "a port without a client port is refused" "--peer" "$TAPLINE" bench echo -i vdev:net_null0
	refuses "a kernel interface is refused because its rungs use a private pair" "private pair" "$TAPLINE" bench echo -i lo --peer eth0
	refuses "an option of bench rx is refused" "bench rx" "$TAPLINE" bench echo --take
	refuses "an option of bench overhead is refused" "bench overhead" "$TAPLINE" bench echo --rate 5
}

# 50 paced messages: fewer than any socket or ring holds, so none is lost on a busy host either.
every_rung() {
	local status=0
	"$TAPLINE" bench echo --seconds 0.01 --sizes 16 --json --html page.html >all.json 2>all.log || status=$?
	check_equal "the benchmark ends with status 0" "$status" 0
	check_json "each rung has a row for each protocol, in the order of the ladder" all.json '.rungs | map([.name, .protocol]) == [
		("blocking", "epoll", "epoll-busy", "io_uring", "testpmd", "tapline", "tapline-poll", "tapline-xdp", "tapline-xdp-poll", "tapline-nic") |
		[., "udp-tcp"], [., "tcp-tcp"]]'
	check_json "paced messages return once, intact and in order" all.json "$RAN"' | length > 8 and all(.paced |
		.sent == 50 and .received == 50 and .corrupt + .duplicated + .reordered == 0)'
	check_json "round trips are measured except the first" all.json \
		"$RAN"' | all(.paced.rtt_ns | .count == 49 and 0 < .min and .min <= .p50 and .p50 <= .p99 and .p99 <= .p999 and .p999 <= .max)'
	check_json "TCP loses nothing in the bulk stage" all.json "$RAN"' | map(select(.protocol == "tcp-tcp").bulk) | length > 4 and all(
		.sent > 0 and .lost == 0 and .corrupt + .duplicated + .reordered == 0)'
	check_json "every bulk datagram is intact and in order or counted as lost" all.json \
		"$RAN"' | map(select(.protocol == "udp-tcp").bulk) | length > 4 and all(
		.received + .lost == .sent and .corrupt + .duplicated + .reordered == 0)'
	check_json "the throughput counts returned messages only" all.json \
		"$RAN"' | all(.bulk | (.msgs_per_s > 0) == (.received > 0) and
		(.bytes_per_s - 16 * .msgs_per_s | fabs) <= 1e-6 * .bytes_per_s)'
	check_json "testpmd is refused because it does not support TCP" all.json \
		'.rungs | map(select(.name == "testpmd")) | length == 2 and all((.refused | test("no TCP")) and .paced == null and .bulk == null)'
	check_json "without a NIC its rung is refused with a remedy" all.json '.rungs | map(select(.name == "tapline-nic")) |
		length == 2 and all((.refused | test("tapline bind.*-i.*--peer")) and .paced == null and .hugepages == null)'
	check_json "rungs supported by every kernel were run" all.json '.rungs | map(select(.name |
		IN("blocking", "epoll", "epoll-busy", "tapline", "tapline-poll"))) | length == 10 and all(.refused == null)'
	check_equal "the page has a bar, or a reason, for each row: of the throughput and, if measured, of the round trips" \
		"$(grep -cE '^<tr( class="noisy")?><td>' page.html)" "$(jq '[.rungs[] | 1, (select(.paced != null) | 1)] | length' all.json)"
	check_equal "the page needs no other file" "$(grep -ciE '(src|href)=|url\(|@import' page.html)" 0
}

large_messages() {
	"$TAPLINE" bench echo --seconds 0.01 --sizes 1000000 --rungs blocking,epoll,io_uring,tapline --json >large.json 2>large.log
	check_json "messages of 1 MB return intact over TCP" large.json "$RAN"' | map(select(.protocol == "tcp-tcp")) | length == 4 and
		all(.message_bytes == 1000000 and .bulk.sent == 4 and .bulk.received == 4 and .bulk.corrupt == 0)'
	check_json "over UDP they are sent as datagrams of one frame" large.json \
		"$RAN"' | map(select(.protocol == "udp-tcp")) | length == 4 and all(.message_bytes == 1472 and .bulk.sent > 4)'
	check_json "and have no round trip of their own" large.json '.rungs | length > 0 and all(.paced == null)'
}

tells_why() {
	"$TAPLINE" bench echo --seconds 0.01 --sizes 16 --rungs blocking,epoll >text.txt 2>text.log
	check "the text states the cause of each difference" grep '^epoll, beside blocking: one more system call per message' text.txt
	check "the text states the size of each difference" \
		grep -qE '^  tcp-tcp, 16 bytes: [0-9.]+ us, [0-9.]+ times blocking; [0-9.]+ MB/s, [0-9.]+ times' text.txt
}

# interrupted RUNG: check an interrupted run.
interrupted() {
	local namespace
	"$TAPLINE" bench echo --rungs "testpmd,$1" --sizes 16 --seconds 3600 --json >interrupted.json 2>interrupted.log &
	app_pid=$!
	wait_for 60 client_runs || func_die "$1 is not measured: $(<interrupted.log)"
	namespace=$(ip netns exec "tapline-$app_pid-app" readlink /proc/self/ns/net)
	check "$1 runs in its own namespace" test "$(members "$namespace")" -gt 0
	app_stop INT
	check_equal "$1: the run is interrupted" "$APP_STATUS" 1
	check_json "the result has no row of $1" interrupted.json '.interrupted and (.rungs | all(.name == "testpmd"))'
	check_equal "$1 leaves no process" "$(members "$namespace")" 0
	check_equal "$1 leaves no namespace" "$(ip netns list | grep -c "^tapline-$app_pid-")" 0
	check_equal "$1 leaves no file" "$(find "$TMPDIR" -mindepth 1 | wc -l)" 0
}

# client_runs: check whether the client has a connection, in the peer's namespace.
client_runs() {
	[[ -n $(ip netns exec "tapline-$app_pid-peer" ss -Htn state established 2>/dev/null) ]]
}

func_begin
mkdir tmp
export TMPDIR=$DIR/tmp
wrong_calls
every_rung
large_messages
tells_why
interrupted blocking
interrupted tapline
