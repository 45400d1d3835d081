#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A call that fails breaks no promise of a recording: each site once, with one errno, in one scenario (docs/faults.md).
set -euo pipefail
func_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
exec "$func_root/tests/faults/run.py" --build "${TL_BUILD:-$func_root/build}" --seconds 240
