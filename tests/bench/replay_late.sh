#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Measure the lateness of replayed frames on a memory port, which costs nothing and has no other side, in those seconds in
# which the sending thread kept its CPU; and that of a thread on the same CPU which does nothing but wait: what the host's
# interrupts and the hypervisor cost anyone.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"
source "$func_root/tools/lib/options.sh"

seconds=5 rounds=5 pps=100000
cpu=$(($(nproc) - 1))

usage() {
	cat <<-END
		usage: tests/bench/replay_late.sh [--seconds N] [--rounds N] [--pps N] [--cpu N]
		  --seconds N   undisturbed seconds that a round can have at most ($seconds)
		  --rounds N    runs ($rounds)
		  --pps N       frames of 60 bytes per second, at recorded times ($pps)
		  --cpu N       CPU of the sending lcore, and of the waiting thread ($cpu)
		Prints one JSON object. rounds: per run of Tapline (ours) and of the waiting thread (spin), alternately, the seconds watched,
		the undisturbed ones among them, and p50, p99 and max of the lateness in these, in ns. p99_ns and spin_p99_ns: medians of the
		rounds with undisturbed seconds; null: no round had one.
	END
}

# write_file: write a tenth of a second of frames at recorded times.
write_file() {
	python3 - "$pps" <<-'END'
		import struct, sys
		pps = int(sys.argv[1])
		frame = bytes.fromhex("02000000000202000000000188b5") + bytes(46)
		with open("timed.pcap", "wb") as out:
		    out.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1))
		    for i in range(pps // 10 + 1): # a loop's first frame is due with the last one of the loop before
		        out.write(struct.pack("<IIII", 1700000000, i * 10**9 // pps, len(frame), len(frame)) + frame)
	END
}

# The first second begins with the first look, and the last one is not complete.
ours() {
	"$TAPLINE" replay timed.pcap --loops $(((seconds + 2) * 10)) -i vdev:net_null0 --lcore "$cpu" --json </dev/null 2>log |
		jq -c '.lateness_undisturbed_ns as {$p50, $p99, $max} | {watched_seconds, undisturbed_seconds, $p50, $p99, $max}'
}

spin() {
	taskset -c "$cpu" "$SPIN" "$seconds" "$pps"
}

read_options --seconds= --rounds= --pps= --cpu= -- "$@"
func_begin
SPIN=$(dirname "$(dirname "$TAPLINE")")/tests/bench/bench_spin
[[ -x $SPIN ]] || func_die "there is no $SPIN: ninja -C BUILD tests/bench/bench_spin"
write_file
for ((round = 0; round < rounds; round++)); do
	jq -cn --argjson ours "$(ours)" --argjson spin "$(spin)" '{$ours, $spin}' >>rounds || func_die "a run failed: $(tail -n 1 log)"
done
jq -n --argjson pps "$pps" --slurpfile rounds rounds 'def median: map(.p99 // empty) | sort | .[length / 2 | floor];
	{$pps, $rounds, p99_ns: ($rounds | map(.ours) | median), spin_p99_ns: ($rounds | map(.spin) | median)}'
