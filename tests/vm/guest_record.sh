#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Guest part of run.sh powerloss before the cut: record to the disk and report each complete file.
# TAPLINE and ROOT are in the environment.
set -euo pipefail

mkdir -p /disk
mount -t ext4 /dev/vda /disk
cd "$(mktemp -d)"
timeout 120 "$TAPLINE" capture -i vdev:net_pcap0,rx_pcap=/out/in.pcap,infinite_rx=1 -w /disk/rot.pcapng --direction rx \
	--rotate 4M --keep-files 500 --fsync close --buffer 4M >/out/record.json 2>/out/record.log &

declare -A told=()
while sleep 0.05; do
	for file in /disk/*.pcapng; do
		[[ -e $file && -z ${told[$file]:-} ]] || continue
		told[$file]=1
		cksum "$file" >>/out/complete
	done
done
