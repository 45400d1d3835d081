#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Measure the memory of a replay whose files are larger than memory, and the rate at which they are read, without a device.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"
source "$func_root/tools/lib/options.sh"

megabytes=100000 file_megabytes=1000 frame_bytes=1514 way=list

usage() {
	cat <<-END
		usage: tests/bench/replay_size.sh [--megabytes N] [--file-megabytes N] [--frame-bytes N] [--way WAY]
		  --megabytes N        size of all that is played ($megabytes)
		  --file-megabytes N   with the way "list": size of the file ($file_megabytes)
		  --frame-bytes N      with the ways "list" and "disk": length of its frames ($frame_bytes)
		  --way WAY            list: a playlist names one file as often as necessary. All bytes pass through the reader, and
		                       after the first time they come from the page cache, if that has room for the file: this is
		                       not one file of that size, nor a disk's rate.
		                       sparse: one file of that size, of which the disk stores a small part: a frame after each
		                       padding block of 8 MB. Its offsets are those of a large file, its content is not.
		                       disk: one file of that size, none of it in the page cache: the rate includes the disk's ($way)
		Prints one JSON object. rss_kib: resident memory of the process, which excludes the page cache, in the middle of the
		run, and the largest; its samples are 100 ms apart. descriptors: the most open ones.
		seconds: the run's own time, without that to list the files before and to digest them afterwards. read: bytes read past
		the page cache and through it, and how often the reader waited for the disk.
	END
}

# write_file PATH MEGABYTES: write a pcap file of frames.
write_file() {
	"$func_root/tests/lib/make_pcap.py" block.pcap 1000 "$frame_bytes"
	python3 - block.pcap "$1" "$2" <<-'END'
		import sys
		data = open(sys.argv[1], "rb").read()
		with open(sys.argv[2], "wb") as file:
		    file.write(data[:24])
		    for _ in range(max(int(sys.argv[3]) * 10**6 // (len(data) - 24), 1)):
		        file.write(data[24:])
	END
}

# write_sparse PATH: write a pcapng file with holes.
write_sparse() {
	python3 - "$1" "$megabytes" <<-'END'
		import struct, sys
		def block(kind, body):
		    return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)
		frame = block(6, struct.pack("<IIIII", 0, 0, 0, 60, 60) + bytes.fromhex("02000000000202000000000188b5") + bytes(46))
		pad = 8 * 10**6
		with open(sys.argv[1], "wb") as file:
		    file.write(block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)) + block(1, struct.pack("<HHI", 1, 0, 0)))
		    for _ in range(max(int(sys.argv[2]) * 10**6 // (pad + len(frame)), 1)):
		        file.write(struct.pack("<II", 0x80000001, pad))
		        file.seek(pad - 12, 1)
		        file.write(struct.pack("<I", pad) + frame)
	END
}

# write_input: write the files, and print the words that name them.
write_input() {
	local i names
	if [[ $way == sparse ]]; then
		write_sparse sparse.pcapng
		echo sparse.pcapng
		return
	fi
	if [[ $way == disk ]]; then
		write_file disk.pcap "$megabytes"
		sync disk.pcap
		python3 -c 'import os; os.posix_fadvise(os.open("disk.pcap", os.O_RDONLY), 0, 0, os.POSIX_FADV_DONTNEED)'
		echo disk.pcap
		return
	fi
	write_file file.pcap "$file_megabytes"
	names=$(((megabytes + file_megabytes - 1) / file_megabytes))
	for ((i = 0; i < names; i++)); do
		echo file.pcap
	done >names
	echo @names
}

# watch PID: append a line of memory and descriptors, until the process ends.
watch() {
	while kill -s 0 "$1" 2>/dev/null; do
		echo "$(awk '/^VmRSS/ {print $2}' "/proc/$1/status" 2>/dev/null) $(find "/proc/$1/fd" -maxdepth 1 2>/dev/null | wc -l)"
		sleep 0.1
	done | awk 'NF == 2' >samples
}

# summary: print the result.
summary() {
	local n
	n=$(wc -l <samples)
	jq -n --arg way "$way" --slurpfile report replay.json --argjson bytes "$(xargs -a played stat -L -c %s | awk '{sum += $1} END {printf "%.0f", sum}')" \
		--argjson stored "$(xargs -a played stat -L -c '%b' | sort -u | awk '{sum += $1} END {printf "%.0f", 512 * sum}')" \
		--argjson middle "$(sed -n "$((n / 2 + 1))p" samples | cut -d' ' -f1)" --argjson most "$(cut -d' ' -f1 samples | sort -n | tail -n 1)" \
		--argjson descriptors "$(cut -d' ' -f2 samples | sort -n | tail -n 1)" '$report[0] as $r | ($r.elapsed_ns / 1e9) as $seconds |
		{way: $way, bytes: $bytes, stored_bytes: $stored, files: $r.files_read, read_pkts: $r.read_pkts, sent_pkts: $r.sent_pkts, ledger_ok: $r.ledger_ok,
		seconds: $seconds, bytes_per_s: ($bytes / $seconds | floor), pkts_per_s: ($r.sent_pkts / $seconds | floor),
		read: ($r | {read_io, read_direct_bytes, read_cached_bytes, read_waits}), rss_kib: {middle: $middle, most: $most}, descriptors: $descriptors}'
}

read_options --megabytes= --file-megabytes= --frame-bytes= --way= -- "$@"
[[ $way == list || $way == sparse || $way == disk ]] || func_die "--way takes list, sparse or disk"
func_begin
word=$(write_input)
if [[ $word == @* ]]; then
	cp names played
else
	echo "$word" >played
fi
"$TAPLINE" replay "$word" -i vdev:net_null0 --line-rate --json >replay.json 2>replay.log </dev/null &
app_pid=$!
watch "$app_pid"
wait "$app_pid" || func_die "the replay failed: $(tail -n 3 replay.log)"
app_pid=''
summary
