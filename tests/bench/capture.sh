#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# How fast one RX lcore records: to nothing and to disk, each beside its ceiling in the same run. The source is DPDK's pcap
# device, which repeats a file without end and waits for whoever is slow: with it loss shows as back-pressure, so what counts
# is the rate. Frames of 60 bytes, IMIX and 1514 bytes.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"
source "$func_root/tools/lib/hugepages.sh"

seconds=5 rounds=3 only='*' dir=${TMPDIR:-/tmp}
all=(null-60 null-imix null-1514 disk-60 disk-imix disk-1514)

usage() {
	cat <<-END
		usage: tests/bench/capture.sh [--seconds N] [--rounds N] [--only NAME] [--dir DIR] [--json]
		Scenarios: ${all[*]}. --dir is where the disk scenarios write (default $dir); 3 GB/s are not unusual.
		Prints one JSON object. null-*: the reference is the same lcore when it only receives. disk-*: the reference
		is what fio writes to the same disk, 1 MiB blocks, O_DIRECT, depth 8 (reference_pps: as records of ours).
		Figures are medians over the rounds; lost_pkts sums all rounds.
	END
}

parse_options() {
	while (($#)); do
		case $1 in
		--json) ;;
		--seconds | --rounds | --only | --dir)
			(($# >= 2)) || { usage >&2 && exit 2; }
			printf -v "${1#--}" %s "$2"
			shift
			;;
		--help)
			usage
			exit
			;;
		*)
			usage >&2
			exit 2
			;;
		esac
		shift
	done
}

# record SIZES FILE [OPTION...]: prints "pps bytes_per_second lost".
record() {
	local sizes=$1 file=$2
	shift 2
	timeout -k 5 $((seconds + 20)) "$TAPLINE" capture -i "vdev:net_pcap0,rx_pcap=$DIR/$sizes.pcap,infinite_rx=1" -w "$file" \
		--duration "$seconds" --json "$@" 2>capture.log |
		jq -r '(.uptime_ns / 1e9) as $s | (.captures[0].written_pkts) as $n |
			"\(if $n > 0 then $n else .port.rx_pkts end / $s | round) \(.captures[0].written_bytes / $s | round) \(
			.captures[0].drop_ring_pkts + .captures[0].drop_disk_pkts)"'
}

# The lcore does all but record: no direction that it receives is wanted.
receive_only() {
	record "$1" /dev/null --direction tx
}

fio_bytes_per_second() {
	fio --name=ceiling --filename="$bench_file" --rw=write --bs=1M --direct=1 --ioengine=io_uring --iodepth=8 \
		--size=4G --runtime="$seconds" --time_based --output-format=json 2>fio.log | jq -r '.jobs[0].write.bw_bytes'
	rm -f "$bench_file"
}

# result NAME PPS BPS REF_PPS REF_BPS LOST
result() {
	jq -nc --arg name "$1" --argjson pps "$2" --argjson bps "$3" --argjson rpps "$4" --argjson rbps "$5" --argjson lost "$6" \
		'{$name, pps: $pps, bps: $bps, rpps: $rpps, rbps: $rbps, lost: $lost}' >>results
}

run_null() {
	local pps bps lost ref
	read -r pps bps lost < <(record "${1#null-}" /dev/null)
	read -r ref _ _ < <(receive_only "${1#null-}")
	result "$1" "$pps" "$bps" "$ref" 0 "$lost"
}

run_disk() {
	local pps bps lost ref
	read -r pps bps lost < <(record "${1#disk-}" "$bench_file")
	rm -f "$bench_file"
	ref=$(fio_bytes_per_second)
	result "$1" "$pps" "$bps" $((ref / (bps / pps))) "$ref" "$lost"
}

report() {
	jq -s --arg cpu "$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)" --arg kernel "$(uname -r)" \
		--argjson cpus "$(nproc)" --argjson seconds "$seconds" --argjson rounds "$rounds" '
		def median: sort | .[length / 2 | floor];
		def ratio($name): if $name | startswith("null") then .pps / .rpps else .bps / .rbps end * 1000 | round / 1000;
		def summary: .[0].name as $name | {$name, ours_pps: (map(.pps) | median), ours_bps: (map(.bps) | median),
			reference: (if $name | startswith("null") then "receive-only" else "fio" end),
			reference_pps: (map(.rpps) | median), reference_bps: (map(.rbps) | median),
			ratio: (map(ratio($name)) | median), lost_pkts: (map(.lost) | add)};
		{host: {$cpu, $cpus, $kernel}, $seconds, $rounds, scenarios: (group_by(.name) | map(summary))}' results
}

main() {
	local name round
	parse_options "$@"
	func_begin
	trap 'rm -f "$bench_file"; hugepages_give_back; func_end' EXIT
	bench_file=$dir/tapline-bench-$$.pcapng
	command -v fio >/dev/null || func_die "fio is not installed (apt-get install fio)"
	hugepages_take 160 || func_die "no 160 hugepages to be had"
	for name in 60 imix 1514; do
		"$func_root/tests/bench/make_source.py" "$name.pcap" "$name"
	done
	for ((round = 0; round < rounds; round++)); do
		for name in "${all[@]}"; do
			# shellcheck disable=SC2053 # a pattern is what it is
			[[ $name != $only ]] || "run_${name%%-*}" "$name"
		done
	done
	report
}

main "$@"
