#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Measure the recording rate, with its upper bounds and other recorders in the same run. docs/benchmarks.md describes
# the scenarios.
set -euo pipefail
# A separate build: that of tools/demo.sh lacks the measurement programs.
TL_BUILD=${TL_BUILD:-$(realpath "$(dirname "$0")/../..")/build-bench}
source "$(dirname "$0")/../lib/func.sh"
source "$func_root/tools/lib/hugepages.sh"
source "$func_root/tools/lib/options.sh"
source "$func_root/tests/bench/lib/results.sh"
source "$func_root/tests/bench/lib/unpaced.sh"
source "$func_root/tests/bench/lib/paced.sh"
source "$func_root/tests/bench/lib/veth.sh"

seconds=5 rounds=3 only='*' dir=${TMPDIR:-/tmp} ring_seconds=60 ring_ms=25 buffer_ms=40 buffer_max_mb=512
resolution=5 # %, of a loss-free rate
all=(null-60 null-imix null-1514 dummy-60 paced-60 paced-1514 paced-ring-60 disk-60 disk-imix disk-1514 ring-1514 dumpcap-60
	veth-tcpdump veth-dumpcap veth-netsniff-ng)

usage() {
	cat <<-END
		usage: tests/bench/capture.sh [--json] [--seconds N] [--rounds N] [--only NAME] [--dir DIR]
		                              [--ring-seconds N] [--ring-ms N] [--buffer-ms N] [--resolution N]
		  --only NAME       a scenario, or a shell pattern of several: ${all[*]}
		  --seconds N       of one measurement (default $seconds), of which each scenario takes --rounds N (default $rounds)
		  --dir DIR         where it records to (default $dir): up to 20 GB, at 3 GB/s
		  --ring-seconds N  of paced-ring-60 (default $ring_seconds)
		  --ring-ms N       how much the paced source holds for a thread that is late (default $ring_ms)
		  --buffer-ms N     how much lies between that thread and the one that writes (default $buffer_ms)
		  --resolution N    how well the highest rate without loss is known, in percent (default $resolution)
		Prints one JSON object; --json is understood, and changes nothing. As root it installs what it needs.
	END
}

# wanted NAME
wanted() {
	# shellcheck disable=SC2053 # a pattern is intended
	[[ $1 == $only ]]
}

build_programs() {
	bench_build=$TL_BUILD/tests/bench
	"$func_root/tools/install-deps.sh" test >&2 || true
	[[ -e $TL_BUILD/build.ninja ]] || meson setup "$TL_BUILD" "$func_root" >&2
	ninja -C "$TL_BUILD" app/tapline tests/bench/libbench_paced.so tests/bench/bench_primary tests/bench/bench_blast \
		tests/bench/bench_spin >&2
}

# Allocated once: if too few are free for dpdk-dumpcap, its scenario is skipped; if too few for Tapline, it is an error.
take_hugepages() {
	local pages=$(((160 + buffer_max_mb) / 2))
	if wanted dumpcap-60 && hugepages_take $((pages + dumpcap_pages)); then return; fi
	hugepages_take "$pages" || func_die "no $pages hugepages to be had"
}

prepare() {
	local sizes
	"$func_root/tools/install-deps.sh" bench || echo "# not everything is installed: some scenarios are skipped" >&2
	command -v fio >/dev/null || func_die "fio is not installed (apt-get install fio)"
	take_hugepages
	for sizes in 60 imix 1514; do
		"$func_root/tests/bench/make_source.py" "$sizes.pcap" "$sizes"
	done
	bench_file=$dir/tapline-bench-$$.pcapng
	PACED_FILE=/dev/shm/tapline-bench-$$
}

clean_up() {
	set +e
	[[ -z $primary_pid ]] || stop_process "$primary_pid" KILL 2>/dev/null
	! mountpoint -q "$DIR/huge" || umount "$DIR/huge"
	rm -rf "$dir/tapline-bench-$$"* "$PACED_FILE"*
	hugepages_give_back
}

main() {
	local name round
	read_options --json --seconds= --rounds= --only= --dir= --ring-seconds= --ring-ms= --buffer-ms= --resolution= -- "$@"
	build_programs
	func_begin
	trap 'clean_up; func_end' EXIT
	bench_file='' PACED_FILE=''
	prepare
	for ((round = 0; round < rounds; round++)); do
		for name in "${all[@]}"; do
			! wanted "$name" || "run_${name%%-*}" "$name"
		done
	done
	report
}

main "$@"
