#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Failing calls: each call site fails once, with one errno, in one scenario; every guarantee of a recording must hold
# (docs/faults.md).
set -euo pipefail
func_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
exec "$func_root/tests/faults/run.py" --build "${TL_BUILD:-$func_root/build}" --seconds 150
