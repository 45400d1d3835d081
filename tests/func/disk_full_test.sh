#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A disk that fills up during a recording: no hang, recorded packets stay readable, the rest is counted.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

# The small disk is mounted in a private mount namespace, which unmounts it at its end.
record_to_small_disk() {
	mkdir -p small
	# shellcheck disable=SC2016 # expanded by the inner shell
	unshare --mount sh -c 'mount -t tmpfs -o size=3m none small &&
		{ timeout 60 "$1" capture -i pcap:in.pcap -w small/out.pcapng --json >run.json 2>run.log; echo $? >status; } &&
		cp small/out.pcapng out.pcapng' sh "$TAPLINE"
}

func_begin
"$(dirname "$PEER_PY")/make_pcap.py" in.pcap 20000
if ! unshare --mount true 2>/dev/null; then
	skip "a disk that fills up" "no mount namespaces"
	exit
fi
record_to_small_disk

check_equal "a full disk ends the recording with status 1" "$(cat status)" 1
check "the message names file, cause and remedy" \
	grep -q 'small/out.pcapng: .*No space left on device; free some space' run.log
check_json "frames beyond the space count as dropped by the disk, and the ledger is consistent" run.json \
	'.ledger_ok and (.lossless | not) and (.captures[0] | .drop_disk_pkts > 0 and
	.written_pkts + .drop_disk_pkts + .drop_ring_pkts == 20000)'
check_equal "the file contains every frame counted as written" \
	"$(tshark -r out.pcapng 2>/dev/null | wc -l)" "$(jq '.captures[0].written_pkts' run.json)"
