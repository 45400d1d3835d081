#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# tapline bench qualify: the stages of a configuration, its verdict, and cleanup. Rates do not matter here.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

slow_disk=${TL_BUILD:-$func_root/build}/tests/libslow_disk.so

# write_config NAME CAPTURE: write a configuration of one port and one recording with these keys.
write_config() {
	mkdir -p recordings
	jq -n --argjson capture "$2" '{eal: {huge: false, memory_mb: 256}, ports: [{name: "a", device: "eth9"}],
		capture: [{port: "a", buffer_bytes: "8M"} + $capture]}' >"$1"
}

wrong_calls() {
	write_config plain.json '{"path": "recordings/a.pcapng"}'
	echo '{"ports": [{"name": "a", "device": "eth9", "colour": "red"}]}' >unknown.json
	echo '{"ports": [{"name": "a", "device": "eth9"}]}' >idle.json
	refuses "a call without a configuration is refused" "-c CONFIG" "$TAPLINE" bench qualify
	refuses "an interface is refused because it belongs to bench rx" "--interface" "$TAPLINE" bench qualify -c plain.json -i eth0
	refuses "a configuration is refused by the other benchmarks" "bench qualify" "$TAPLINE" bench rx -c plain.json
	refuses "a disk limit too small for a ring is refused" "--disk" "$TAPLINE" bench qualify -c plain.json --disk 1M
	refuses "the cache of a drive is refused by the other benchmarks" "bench qualify" "$TAPLINE" bench rx --cache 6G
	jq '.capture = [range(4) as $i | .capture[0] + {path: "recordings/\($i).pcapng"}]' plain.json >four.json
	refuses "more recordings than the disk limit has room for are refused" "20 MiB of --disk" "$TAPLINE" bench qualify -c four.json --disk 64M
	check_equal "and leave no directory" "$(find recordings -mindepth 1 | wc -l)" 0
	refuses "an error of the configuration is reported with its position" "\$.ports[0].colour" "$TAPLINE" bench qualify -c unknown.json
	refuses "a configuration without recordings is refused" "\$.capture" "$TAPLINE" bench qualify -c idle.json
}

# qualify NAME [OPTION...]: qualify NAME.json; the report goes to NAME.out. Half a second, as a thread may get no CPU for 0.1 s on a busy
# host, and count no frame.
qualify() {
	local name=$1 status=0
	shift
	"$TAPLINE" bench qualify -c "$name.json" --seconds 0.5 --disk 64M --json "$@" >"$name.out" 2>"$name.log" || status=$?
	check_equal "$name: the benchmark ends with status 0" "$status" 0
	check_equal "$name: the recordings are removed" "$(find recordings -mindepth 1 | wc -l)" 0
}

every_stage() {
	write_config whole.json \
		'{"path": "recordings/%Y/a.pcapng", "filter": "udp port 5001", "digest": "crc32c", "rotate_bytes": "1G", "index": true}'
	qualify whole --sizes 1514
	check_json "each stage is measured, in order" whole.out '.rows | map([.size_bytes, .stage, .skipped]) == [
		("source", "rings", "parser", "writer", "disk", "index", "whole") | [1514, ., false]] and .[0].pps > 0'
	check_json "only the stages from the disk on write to it" whole.out '.rows |
		all((.written_bytes_per_s != null) == (.stage | IN("disk", "index", "whole")))'
	check_json "the verdict is the rate of the last stage or, if that slowed down, of its last quarter" whole.out '
		.verdicts[0].pps == (.rows[6] | if .slowdown != null and .slowdown < 0.8 then .quarter_pps[3] else .pps end) and
		(.verdicts | all(.bits_per_s / (.size_bytes + 24) / 8 - .pps | fabs < 1))'
	check_json "the limit is a stage after the source" whole.out '.verdicts | all(.limit != "source" and .next != "source")'
}

stages_without_keys_are_skipped() {
	write_config plain.json '{"path": "recordings/a.pcapng"}'
	qualify plain --sizes 60
	check_json "stages without a key of the configuration are skipped" plain.out \
		'.rows | map(select(.skipped).stage) == ["parser", "index", "whole"]'
	write_config discarded.json '{"path": "null:"}'
	qualify discarded --sizes 60
	check_json "the stages of writer and disk of a discarding recording are skipped" discarded.out \
		'.rows | map(select(.skipped).stage) == ["parser", "writer", "disk", "index", "whole"]'
	check_json "without a disk the verdict is the rate of the rings" \
		discarded.out '.verdicts[0].pps == (.rows | map(select(.stage == "rings"))[0].pps)'
}

drops_frames() {
	write_config dropped.json '{"path": "recordings/a.pcapng", "filter": "tcp"}'
	qualify dropped --sizes 60
	check_json "without frames behind the filter there is no verdict on writer and disk" dropped.out '.verdicts[0].kept == 0 and
		(.verdicts[0].limit | IN("rings", "parser", null)) and (.rows | map(select(.skipped).stage) == ["writer", "disk", "index", "whole"])'
	"$TAPLINE" bench qualify -c dropped.json --seconds 0.5 --sizes 60 >dropped.txt 2>dropped.log
	check "the text gives the reason" grep -q '^  no verdict on writer and disk: .* drop 100 % of these frames' dropped.txt
}

knows_keys() {
	write_config classes.json '{"path": "null:", "classes": [{"name": "feed", "match": "udp", "cir": "1mbit", "cbs": "2k"}], "share": "disk", "weight": 2}'
	jq '.share = [{name: "disk", rate: "1gbit"}] | .ports[0] += {timestamps: "tsc"}' classes.json >classes2.json && mv classes2.json classes.json
	qualify classes --sizes 60
	check_json "the classes of a recording are a component" classes.out \
		'.verdicts[0].kept < 0.1 and (.rows[] | select(.stage == "parser") | .skipped == false)'
	check_equal "keys that no stage has are named" "$(sed -n 's/.*warning: \(\$[^ ]*\) has no effect here.*/\1/p' classes.log | xargs)" \
		'$.ports[0].timestamps $.capture[0].share $.capture[0].weight'
}

says_what_limits() {
	"$TAPLINE" bench qualify -c discarded.json --seconds 0.5 --sizes 60,61 >text.txt 2>text.log
	check "the text has a verdict" grep -qE '^60 bytes: sustains [0-9.]+ Mpps, .* for 0.5 s with 1 lcore; limit: ' text.txt
	check "the text has one verdict per size" grep -q '^61 bytes: sustains' text.txt
	check "without a disk the rate of 8 lcores needs none" grep -qE '^  8 lcores with a core each would fill slabs at [0-9.]+ Mpps$' text.txt
}

# A disk of 8 MB/s: a slab of 1 MiB takes 131 ms.
limited_by_the_disk() {
	write_config slow.json '{"path": "recordings/a.pcapng", "io": "pwrite"}'
	LD_PRELOAD=$slow_disk SLOW_DISK=8000000 "$TAPLINE" bench qualify -c slow.json --seconds 1 --sizes 60 >slow.txt 2>slow.log
	check "a slow disk is the limit" grep -qE '^60 bytes: sustains 0\.[0-9]+ Mpps, .* for 1 s with 1 lcore; limit: disk' slow.txt
	check "the longest write stall is compared with the time that the buffers cover" \
		grep -qE '^  the longest write stall, [0-9.]+ ms, is (not )?within the [0-9.]+ ms that the buffers cover$' slow.txt
	check "warm-up and later quarters are told apart" grep -qE \
		'^  warm-up and three quarters more:( [0-9.]+,?){4} Mpps; [0-9.]+ GB written, the cache of the drive is not known' slow.txt
	check "the rate of 8 lcores is computed" \
		grep -qE '^  8 lcores with a core each would fill slabs at [0-9.]+ Mpps, and need [0-9.]+ GB/s of the disk$' slow.txt
	check "progress is shown" grep -qE '60 bytes, disk: 3 of 4 quarters, [0-9.]+ Mpps' slow.log
}

# A thread may get no CPU for a part of a run on a busy host: such a run shows another limit, and is repeated.
#
# The same rate for each write, whatever it is to: also to a device that discards it.
writer_limits() {
	LD_PRELOAD=$slow_disk SLOW_WRITER=8000000 "$TAPLINE" bench qualify -c slow.json --seconds 1 --sizes 60 --json >writer.out 2>writer.log
	jq -e '.verdicts[0] | .limit == "writer" and .next != "disk"' writer.out >/dev/null
}

# 400 comparisons, the last of which matches, and a loop, for which libpcap's interpreter runs them.
parser_limits() {
	"$TAPLINE" bench qualify -c filtered.json --seconds 0.5 --sizes 60 --json >filtered.out 2>filtered.log
	jq -e '.verdicts[0].limit == "parser"' filtered.out >/dev/null
}

rings_limit() {
	"$TAPLINE" bench qualify -c discarded.json --seconds 0.5 --sizes 60 --json >rings.out 2>rings.log
	jq -e '.verdicts[0].limit == "rings"' rings.out >/dev/null
}

names_the_limit() {
	check "a slow writer is the limit, and the disk behind it is none" wait_for 120 writer_limits
	write_config filtered.json "$(jq -n '{path: "null:", filter: ("ip6 protochain 99 or udp dst port " + ([range(1; 400), 5001 | tostring] | join(" or ")))}')"
	check "a slow filter is the limit" wait_for 120 parser_limits
	check "without a filter the copy is the limit" wait_for 120 rings_limit
}

# In the least time half of the bytes would be written.
beyond_the_cache() {
	LD_PRELOAD=$slow_disk SLOW_DISK=8000000 qualify slow --cache 4M --sizes 60
	check_json "with a known cache a run goes on until twice the cache is written" slow.out '.cache_bytes == 4194304 and
		(.rows[] | select(.stage == "disk") | .written_bytes >= 8388608 and .seconds > 0.8)'
	check_json "a stall is at least a write, and the buffers cover their bytes at the rate of the disk" slow.out '.rows[] |
		select(.stage == "disk") | .stall_ns > 100000000 and (.buffer_ns / 1e9 * .written_bytes_per_s / 8388608 - 1 | fabs) < 0.01'
	check_json "eight lcores have eight times the rate of one" slow.out '(.rows[] | select(.stage == "rings").pps) as $pps |
		.verdicts[0].eight_lcores | (.pps - 8 * $pps | fabs) < 10 and .written_bytes_per_s > 0'
}

one_and_two_queues() {
	"$func_root/tests/bench/queues.sh" --seconds 0.5 --rounds 2 >queues.out 2>queues.log || true
	check_json "tests/bench/queues.sh compares two queues with one, of frames polled and of frames recorded" queues.out '.rounds == 2 and
		[.stages[].stage] == ["source", "rings"] and all(.stages[]; .pps_1.median > 0 and .pps_2.most >= .pps_2.least)'
	check_equal "it refuses unknown options" "$("$func_root/tests/bench/queues.sh" --queues 3 >queues.out 2>queues.log || echo $?)" 2
}

interrupted() {
	: >interrupted.log
	"$TAPLINE" bench qualify -c plain.json --seconds 3600 --sizes 60 --json >interrupted.out 2>interrupted.log &
	app_pid=$!
	wait_for 60 grep -q '60 bytes, source' interrupted.log || func_die "nothing runs: $(<interrupted.log)"
	app_stop INT
	check_equal "an interrupted run ends with status 1" "$APP_STATUS" 1
	check_json "the report of an interrupted run is marked and has no verdict" interrupted.out '.interrupted and .verdicts == []'
	check_equal "no namespace remains" "$(ip netns list | grep -c "^tapline-$app_pid-")" 0
	check_equal "no file remains" "$(find tmp recordings -mindepth 1 | wc -l)" 0
}

# Interrupted in the second quarter of the second stage, which lasts long enough for a late signal.
interrupted_with_results() {
	: >partly.log
	"$TAPLINE" bench qualify -c plain.json --seconds 10 --sizes 60,512,1514 --json >partly.out 2>partly.log &
	app_pid=$!
	wait_for 60 grep -q '60 bytes, rings: 1 of 4 quarters' partly.log || func_die "the second stage does not run: $(<partly.log)"
	app_stop INT
	check_equal "a run interrupted in a later stage ends with status 1" "$APP_STATUS" 1
	check_json "its report has the stages that had ended, and no verdict about sizes that had not" partly.out \
		'.interrupted and (.rows[0] | .stage == "source" and .pps > 0 and .quarter_pps[3] > 0) and .verdicts == []'
	check_json "the stage that was interrupted has its figures so far" partly.out '.rows | length == 2 and
		(.[1] | .stage == "rings" and .seconds >= 2.5 and .quarter_pps[0] > 0 and .quarter_pps[3] == null and .slowdown == null)'
	check_equal "no process of it remains" "$(pgrep -c -f "$DIR/tmp/" || true)" 0
	check_equal "its recordings and files are removed" "$(find tmp recordings -mindepth 1 | wc -l)" 0
}

func_begin
mkdir tmp
export TMPDIR=$DIR/tmp
wrong_calls
every_stage
stages_without_keys_are_skipped
drops_frames
knows_keys
says_what_limits
limited_by_the_disk
names_the_limit
beyond_the_cache
one_and_two_queues
interrupted
interrupted_with_results
