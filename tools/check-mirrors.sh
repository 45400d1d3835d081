#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Check that the tree names no package mirror or registry: scripts take them from the package manager's configuration.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

hosts='(deb|ftp|security|snapshot|archive)[a-z.]*[.](debian|ubuntu)[.]|(pypi|pythonhosted|npmjs|crates)[.]|(proxy|sum)[.]golang[.]'
if found=$(git grep -nIE "$hosts"); then
	echo "not ok - mirrors: the tree names a package mirror or registry"
	echo "#   ${found//$'\n'/$'\n#   '}"
	exit 1
fi
echo "ok - mirrors: no package mirror or registry is named"
