#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Overlay frames of the kernel: two kernels talk through VXLAN devices, and the appliance records their link on two
# queues. Each inner conversation is on one queue, and `extract --decap` returns the frames sent into the tunnel, as
# tshark confirms. tests/vm/run.sh steer does the same with other tunnels.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"
source "$(dirname "$0")/../lib/overlay.sh"

func_begin
net_begin
if ! ip -netns "$PEER_NS" link add probe0 type vxlan id 1 dstport 4789 2>probe.log; then
	skip "overlay frames of the kernel are recorded by inner flow" "this kernel has no VXLAN: $(<probe.log)"
	exit 0
fi
ip -netns "$PEER_NS" link delete probe0
overlay_record vxlan
overlay_judge vxlan
