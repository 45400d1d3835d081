#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Guest part of run.sh powerloss after the cut: recover the files on the disk. TAPLINE and ROOT are in the environment.
set -euo pipefail

mkdir -p /disk
mount -t ext4 /dev/vda /disk
ls -A /disk >/out/left
status=0
"$TAPLINE" recover /disk --json >/out/recover.json 2>/out/recover.log || status=$?
echo "$status" >/out/recover.status
cksum /disk/*.pcapng >/out/after
umount /disk
