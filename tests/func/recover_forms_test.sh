#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Compressed recordings and classic pcap, killed at full speed, recovered, and checked with zstd, tcpdump, and the
# numbers in their frames. TL_SEED repeats a run.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"
source "$func_root/tests/lib/killed.sh"

kills=${TL_KILLS:-6}
frames=1021 frame_bytes=1000
seed=${TL_SEED:-$RANDOM$RANDOM}
slab_records=$((1048576 / (frame_bytes + 32))) # or less

# record_start FILE KEYS: record at full speed into FILE, which rotates.
record_start() {
	mkdir -p "$(dirname "$1")"
	cat >config.json <<-END
		{"eal": {"huge": false, "memory_mb": 192},
		"ports": [{"name": "lan", "device": "vdev:net_pcap0,rx_pcap=$DIR/in.pcap,infinite_rx=1"}],
		"capture": [{"port": "lan", "path": "$1", "direction": "rx", "buffer_bytes": "16M", "rotate_bytes": "64M", $2}],
		"control": {"socket": "control.sock"}}
	END
	record_run
}

# has_written PACKETS
has_written() {
	(($(written) + 0 > $1)) || is_gone "$app_pid"
}

# kill_one DIR SUFFIX KEYS: kill it in its first or second file. before is the amount of data written until then.
kill_one() {
	record_start "$1/x.$2" "$3"
	wait_for 60 has_written $((RANDOM % 80000))
	before=$(written)
	record_kill "$1"
	"$TAPLINE" recover "$1" --json >recover.json 2>recover.log || { cat recover.log && return 1; }
	none_left "$1" || { echo "recover left these" && cat recover.json recover.log && return 1; }
	"$TAPLINE" recover "$1"/x* --json >again.json 2>>recover.log || { cat recover.log && return 1; }
	jq -e '.whole == (.files | length) and .whole > 0' again.json >/dev/null || { echo "a second one finds something" && return 1; }
}

# Compressed: the output of zstd is an ordinary recording.
judge_zstd() {
	local file
	for file in "$1"/x*; do
		zstd -qt "$file" || return
		zstd -dcq "$file" >plain && mv plain "$file"
	done
	"$func_root/tests/lib/check_recovered.py" "$frames" "$slab_records" "$before" recover.json "$1"/x*
}

judge_pcap() {
	local file records=0 n
	for file in "$1"/x*; do
		n=$(tcpdump -nr "$file" 2>tcpdump.log | wc -l)
		! grep -q 'truncated\|bogus' tcpdump.log || { cat tcpdump.log && return 1; }
		records=$((records + n))
	done
	((records >= before)) || { echo "$records records, but $before were written" && return 1; }
}

survives_kills() {
	local form=$1 suffix=$2 keys=$3 n bad=0 all=0
	for ((n = 1; n <= kills; n++)); do
		if ! { kill_one killed "$suffix" "$keys" && "judge_$form" killed; } >once.out 2>&1; then
			bad=$((bad + 1))
			echo "# kill $n:"
			head -n 20 once.out | sed 's/^/#   /'
			rm -rf "kept-$form-$n" && cp -r killed "kept-$form-$n"
		fi
		all=$((all + before))
		rm -rf killed
	done
	check "$form: there was something" test "$all" -gt 0
	check_equal "$form: after each of $kills kills all that was written is there" "$bad" 0
}

next_start_recovers() {
	local form=$1 suffix=$2 keys=$3 status=0
	record_start "next_$form/x.$suffix" "$keys"
	wait_for 60 has_written 1000
	record_kill "next_$form"
	check "$form: a kill leaves a file .part" compgen -G "next_$form/*.part"
	sed -i "s|vdev:.*\"|pcap:$DIR/in.pcap\"|" config.json
	timeout 60 "$TAPLINE" run config.json >next.json 2>next.log </dev/null || status=$?
	check_equal "$form: the next recording on the same path ends well" "$status" 0
	check "$form: it recovers what was left, and says so" grep -q 'left by an earlier run: recovered' next.log
	check_equal "$form: no file .part is left" "$(compgen -G "next_$form/*.part" || true)" ""
	"$TAPLINE" recover "next_$form"/x* --json >again.json 2>&1 || true
	check_json "$form: all files are whole" again.json '.whole == (.files | length) and .whole > 1'
}

# A loss of power leaves zeros from a sector in the middle of record 10 on.
torn_record_is_reported() {
	local size=$((24 + 10 * (frame_bytes + 16)))
	mkdir torn
	"$TAPLINE" capture -i pcap:in.pcap -w torn/x.pcap --format pcap-ns >torn.out 2>torn.log
	truncate -s $(((size + 600) / 512 * 512)) torn/x.pcap
	truncate -s 1M torn/x.pcap
	cp torn/x.pcap torn/x.pcap.part
	"$TAPLINE" recover torn/x.pcap --json >recover.json 2>recover.log || true
	check_json "a record that may be torn is cut off, counted and located" recover.json \
		".files[0] | .records_kept == 10 and .doubtful_records == 1 and .doubtful_at == $size and .cut_bytes == 1048576 - $size"
	check_equal "its file has the records before it" "$(tcpdump -nr torn/x.pcap 2>/dev/null | wc -l)" 10
	rm torn/x.pcap
	"$TAPLINE" recover torn >recover.out 2>&1 || true
	check "the text says where it was" grep -q "1 record at byte $size may be torn, and is cut off" recover.out
}

TMPDIR=${TMPDIR:-/var/tmp} # a real disk
func_begin
echo "# TL_SEED=$seed"
RANDOM=$seed
"$func_root/tests/lib/make_numbered.py" in.pcap "$frames" "$frame_bytes"
survives_kills zstd pcapng.zst '"compress": "zstd"'
survives_kills pcap pcap '"format": "pcap-ns"'
torn_record_is_reported
next_start_recovers zstd pcapng.zst '"compress": "zstd"'
next_start_recovers pcap pcap '"format": "pcap-ns"'
