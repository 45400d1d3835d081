#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Check that every C file matches clang-format. Releases of clang-format differ: that of Debian 12 is authoritative.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tools/lib/sources.sh

deciding=14

version=$(clang-format --version | sed 's/.*version \([0-9]*\).*/\1/')
if [[ $version != "$deciding" ]]; then
	echo "skip - format: needs clang-format $deciding, here is $version"
	exit
fi

if wrong=$(c_sources | xargs clang-format --dry-run -Werror 2>&1); then
	echo "ok - format: $(c_sources | wc -l) files"
	exit
fi
echo "not ok - format: clang-format -i changes these places"
head -n 60 <<<"$wrong" | sed 's/^/#   /'
exit 1
