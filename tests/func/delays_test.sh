#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Delayed calls change the order in which the recorder's threads interact; every guarantee must hold (docs/faults.md).
set -euo pipefail
func_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${TL_BUILD:-$func_root/build}
[[ -e $build/tests/faults/libdelays.so ]] || { echo "skip - delays: sanitizers would meet the preloaded library" && exit; }
exec "$func_root/tests/faults/perturb.py" --build "$build" --unit writer_ring,writer_digest,writer_sidecar \
	--scenario rotate,ring --seeds 1-2 --most-ms 3000
