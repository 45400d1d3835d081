#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A recording killed at 30 random moments at full speed, recovered, and checked with tshark, capinfos, tcpdump and the
# numbers in its frames. TL_SEED repeats a run, TL_KILLS sets the number.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"
source "$func_root/tests/lib/killed.sh"

kills=${TL_KILLS:-30}
frames=1021 frame_bytes=1500
seed=${TL_SEED:-$RANDOM$RANDOM}
slab_records=$((1048576 / (frame_bytes + 32))) # or less

# record_start DIR [FSYNC]: record at full speed into a ring in DIR, with a control socket; app_pid is its process.
record_start() {
	local dir=$1 fsync=${2:-auto}
	mkdir -p "$dir"
	cat >config.json <<-END
		{"eal": {"huge": false, "memory_mb": 192},
		"ports": [{"name": "lan", "device": "vdev:net_pcap0,rx_pcap=$DIR/in.pcap,infinite_rx=1"}],
		"capture": [{"port": "lan", "path": "$dir/rot.pcapng", "direction": "rx", "buffer_bytes": "16M",
			"rotate_bytes": "16M", "keep_files": 4, "fsync": "$fsync"}],
		"control": {"socket": "control.sock"}}
	END
	record_run
}

has_written() {
	(($(written) + 0 > 0)) || is_gone "$app_pid"
}

# has_recycled FILES: the ring has recycled this number, so that all files being written are reused.
has_recycled() {
	(($(app_status '.captures[0].recycled_files' 2>/dev/null || true) + 0 >= $1)) || is_gone "$app_pid"
}

# heads DIR: print own and earlier slabs of its .part file.
heads() {
	find "$1" -name '*.part' -exec "$func_root/tests/lib/count_heads.py" {} +
}

# stops_with_slabs DIR: stop the process with slabs in its current file. A file lasts for less time than a check takes:
# stop it before the check, and leave it stopped.
stops_with_slabs() {
	kill -s STOP "$app_pid" || return 0
	[[ $(heads "$1") != [1-9]* ]] || return 0
	kill -s CONT "$app_pid"
	return 1
}

goes_round() {
	(($1 % 5 != 0 && $1 % 2 == 0))
}

# fsync_of N: choose the fsync mode; a reusing ring waits for no disk, because it takes new files while all its own are
# in flight.
fsync_of() {
	if goes_round "$1"; then echo never; else echo auto; fi
}

# kill_at N MILLISECONDS: kill after this time of the recording; every fifth time, of the process; every other time, of
# a ring that has wrapped. before is the amount written by then.
kill_at() {
	local n=$1 ms=$2
	before=0
	if ((n % 5 != 0)); then
		wait_for 60 has_written || true
	fi
	if goes_round "$n"; then
		wait_for 60 has_recycled 5 || true
	fi
	sleep "$(printf '0.%03d' "$ms")"
	if ((n % 5 != 0)); then
		before=$(written)
	fi
	record_kill killed
}

# judge DIR: check the result after recover wrote recover.json.
judge() {
	local dir=$1 files=() file
	mapfile -t files < <(find "$dir" -type f -name '*.pcapng' | sort)
	none_left "$dir" || { echo "recover left these" && return 1; }
	((${#files[@]})) || { echo "no files"; return; }
	capinfos -c "${files[@]}" >capinfos.out 2>&1 || { cat capinfos.out && return 1; }
	for file in "${files[@]}"; do
		tcpdump -nr "$file" -w /dev/null 2>tcpdump.out || { cat tcpdump.out && return 1; }
	done
	check_recovered "${before:-0}" "${files[@]}"
}

# check_recovered WRITTEN FILE...
check_recovered() {
	local number=$1
	shift
	"$func_root/tests/lib/check_recovered.py" "$frames" "$slab_records" "$number" recover.json "$@"
}

# once N: kill, recover, check. Print every error.
once() {
	local n=$1 ms=$2 status=0
	record_start killed "$(fsync_of "$n")"
	kill_at "$n" "$ms"
	echo "slabs of its own and of an earlier file: $(heads killed)"
	"$TAPLINE" recover killed --json >recover.json 2>recover.log || status=$?
	((status == 0)) || { echo "recover ended with $status" && cat recover.log recover.json && return 1; }
	judge killed >judged.out 2>&1 || { cat judged.out && return 1; }
	"$TAPLINE" recover killed --json >again.json 2>>recover.log || { echo "a second recover failed" && return 1; }
	jq -e '.files == []' again.json >/dev/null || { echo "a second recover found something" && return 1; }
}

survives_kills() {
	local n ms bad=0 parts=0 again=0
	echo "# TL_SEED=$seed"
	RANDOM=$seed
	# On a slow disk a ring wraps later: then more kills, later ones.
	for ((n = 1; n <= kills || (again < kills / 5 && n <= 4 * kills); n++)); do
		ms=$((RANDOM % (300 * ((n - 1) / kills + 1))))
		if ! once "$n" "$ms" >once.out 2>&1; then
			bad=$((bad + 1))
			echo "# kill $n, after $ms ms:"
			head -n 20 once.out | sed 's/^/#   /'
			rm -rf "kept-$n" && mv killed "kept-$n"
		fi
		parts=$((parts + $(jq '.recovered' recover.json)))
		again=$((again + $(grep -c 'earlier file: [1-9][0-9]* [1-9]' once.out || true)))
		rm -rf killed
	done
	check_equal "after each of $kills kills every slab that was written is there, and nothing is torn" "$bad" 0
	check "most kills left a file to recover" test "$parts" -ge $((kills / 2))
	check "some of them overlie an earlier file" test "$again" -ge $((kills / 5))
}

tshark_reads_it() {
	record_start shark
	wait_for 60 stops_with_slabs shark || func_die "no slab in time"
	record_kill shark
	"$TAPLINE" recover shark --json >recover.json 2>recover.log || true
	local file
	file=$(jq -r '[.files[] | select(.outcome == "recovered")][0].name' recover.json)
	check_equal "tshark reads the recovered file, with the number of frames reported by recover" \
		"$(tshark -r "$file" 2>tshark.log | wc -l)" \
		"$(jq '[.files[] | select(.outcome == "recovered")][0].records_kept' recover.json)"
	check_equal "tshark reports no error" "$(grep -v 'Running as user' tshark.log || true)" ""
}

next_start_recovers() {
	local status
	record_start next
	wait_for 60 has_recycled 5 || true
	wait_for 60 stops_with_slabs next || func_die "no slab in time"
	record_kill next
	check "a kill leaves a file .part" compgen -G 'next/*.part'
	status=0
	timeout 60 "$TAPLINE" capture -i pcap:in.pcap -w next/rot.pcapng --rotate 16M >next.out 2>next.log || status=$?
	check_equal "the next recording on the same path ends well" "$status" 0
	check "it recovers the leftover file, and reports it" grep -q 'left by an earlier run: recovered' next.log
	check_equal "no file .part is left" "$(compgen -G 'next/*.part' || true)" ""
	check "and all files are whole" capinfos -c next/*.pcapng
	"$TAPLINE" recover next/*.pcapng --json >recover.json 2>recover.log || true
	check_json "as recover finds them, too" recover.json '.whole == (.files | length) and .whole > 0'
}

leaves_alone() {
	local status=0
	record_start busy
	wait_for 60 has_written || true
	"$TAPLINE" recover busy >busy.out 2>&1 || status=$?
	check_equal "beside a recording that runs it ends with status 0" "$status" 0
	app_stop TERM
	check_equal "and the recording does not mind" "$APP_STATUS" 0
	mkdir locked
	cp "$(find busy -name '*.pcapng' -print -quit)" locked/x.pcapng.part
	check "a file being written is left alone: status 0" \
		flock locked/x.pcapng.part "$TAPLINE" recover locked --json >locked.json
	flock locked/x.pcapng.part "$TAPLINE" recover locked >busy.out || true
	check "and it is reported" grep -q 'is being written, and left alone' busy.out
	check "it has kept its name" test -e locked/x.pcapng.part

	tcpdump -nr in.pcap -w other.pcapng.part 2>/dev/null
	cp other.pcapng.part before
	status=0
	"$TAPLINE" recover other.pcapng.part >other.out 2>&1 || status=$?
	check_equal "a file of another program is refused: status 1" "$status" 1
	check "with the reason" grep -q 'is a pcap file, not a recording of tapline' other.out
	check "and untouched" cmp other.pcapng.part before
	check_equal "no path is misuse" "$("$TAPLINE" recover >/dev/null 2>&1 && echo 0 || echo $?)" 2
	check_equal "nor is an unknown option any use" "$("$TAPLINE" recover --what x >/dev/null 2>&1 && echo 0 || echo $?)" 2
}

# Other files with names like ours: neither they nor the files of another recording in the directory may be removed.
leaves_foreign_files() {
	local status=0 file
	mkdir foreign
	: >foreign/ubuntu.iso.part
	truncate -s 1M foreign/rot.pcapng.part
	: >foreign/.rot.pcapng.next
	tcpdump -nr in.pcap -w foreign/.other.next 2>/dev/null
	find foreign -type f -exec cksum {} + | sort >foreign.before
	"$TAPLINE" recover foreign >foreign.out 2>&1 || status=$?
	find foreign -type f -exec cksum {} + | sort >foreign.after
	check "recover leaves files without our mark unchanged" cmp foreign.before foreign.after
	for file in foreign/ubuntu.iso.part foreign/rot.pcapng.part foreign/.rot.pcapng.next foreign/.other.next; do
		check "recover reports $file" grep -q "^$file: .*the file stays as it is" foreign.out
	done
	check_equal "foreign files are no failure: status 0" "$status" 0
	status=0
	timeout 60 "$TAPLINE" capture -i pcap:in.pcap -w foreign/rot.pcapng --rotate 16M >next.out 2>foreign.log || status=$?
	check_equal "a recording beside them ends well" "$status" 0
	find foreign -type f ! -name 'rot*.pcapng' ! -name '*.tlx' -exec cksum {} + | sort >foreign.after
	check "the recording leaves them unchanged" cmp foreign.before foreign.after
	for file in foreign/rot.pcapng.part foreign/.rot.pcapng.next; do
		check "the recording reports $file" grep -q "$file: has no mark of a recording of tapline" foreign.log
	done
}

only_looks_when_dry() {
	record_start dry
	wait_for 60 stops_with_slabs dry || func_die "no slab in time"
	record_kill dry
	find dry -type f -exec cksum {} + | sort >dry.before
	"$TAPLINE" recover dry --dry-run >dry.out
	find dry -type f -exec cksum {} + | sort >dry.after
	check "--dry-run prints its actions" grep -q 'to be recovered' dry.out
	check "--dry-run changes nothing" cmp dry.before dry.after
}

TMPDIR=${TMPDIR:-/var/tmp} # a real disk
func_begin
"$func_root/tests/lib/make_numbered.py" in.pcap "$frames" "$frame_bytes"
survives_kills
tshark_reads_it
next_start_recovers
leaves_alone
leaves_foreign_files
only_looks_when_dry
