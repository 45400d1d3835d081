#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What the guest of run.sh does while each write to its disk is logged: records into a ring, again and again, which writes its
# files again, and marks in the log which of them are complete. TAPLINE and ROOT are in the environment, and
# what else is to be in Tapline's stands in /out/environment, a line each.
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
