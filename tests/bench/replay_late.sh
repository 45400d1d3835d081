#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Measure the lateness of replayed frames on a memory port, which costs nothing and has no other side: of all, and without
# those that fell due while the host had taken the CPU; and that of a thread on the same CPU which does nothing but wait.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"
source "$func_root/tools/lib/options.sh"

seconds=5 rounds=5 pps=100000
cpu=$(($(nproc) - 1))

usage() {
	cat <<-END
		usage: tests/bench/replay_late.sh [--seconds N] [--rounds N] [--pps N] [--cpu N]
		  --seconds N   length of a run ($seconds)
		  --rounds N    runs ($rounds)
		  --pps N       frames of 60 bytes per second, at recorded times ($pps)
		  --cpu N       CPU of the sending lcore, and of the waiting thread ($cpu)
		Prints one JSON object. rounds: per run of Tapline (ours) and of the waiting thread (spin), alternately, the lateness of all frames
		and that of the undisturbed ones in ns, and the share of the CPU's time that was taken from Tapline's waiting lcore.
		p99_ns and spin_p99_ns: medians of the undisturbed p99; all_p99_ns and all_spin_p99_ns: of that of all frames.
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

ours() {
	"$TAPLINE" replay timed.pcap --loops $((seconds * 10)) -i vdev:net_null0 --lcore "$cpu" --json </dev/null 2>log |
		jq -c '(.lateness_ns, .lateness_undisturbed_ns) |= {count, p50, p99, max} | {lateness_ns, lateness_undisturbed_ns,
			interrupted_share: (.interrupted_ns / .elapsed_ns)}'
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
jq -n --argjson pps "$pps" --slurpfile rounds rounds 'def median(f): $rounds | map(f) | sort | .[length / 2 | floor];
	{$pps, $rounds, p99_ns: median(.ours.lateness_undisturbed_ns.p99), spin_p99_ns: median(.spin.lateness_undisturbed_ns.p99),
		all_p99_ns: median(.ours.lateness_ns.p99), all_spin_p99_ns: median(.spin.lateness_ns.p99)}'
