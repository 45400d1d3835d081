#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Guest part of run.sh crash, while each write to its disk is logged: record repeatedly into a ring that reuses its files, and
# mark complete files in the log. TAPLINE and ROOT are in the environment; /out/environment has further variables of
# Tapline, one per line.
set -euo pipefail

mkdir -p /disk
mount -t ext4 /dev/vda /disk
cd "$(mktemp -d)"
"$ROOT/tests/vm/guest_marks.py" /disk /dev/vda "$(cat /out/tail)" >/out/marks.log 2>&1 &
marks_pid=$!
mapfile -t environment </out/environment
for input in /out/in.*.pcap; do
	status=0
	env "${environment[@]}" timeout 200 "$TAPLINE" capture -i "pcap:$input" -w /disk/r.pcapng --rotate 4M --keep-files 4 \
		--fsync close --buffer 16M --json >"$input.json" 2>"$input.log" || status=$?
	echo "$status" >>/out/record.status
done
touch /out/recorded
wait "$marks_pid"
umount /disk
