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

status=0
while read -r file; do
	if output=$(clang-format --dry-run -Werror "$file" 2>&1); then
		continue
	fi
	status=1
	echo "not ok - format: $file"
	head -n 3 <<<"$output" | sed 's/^/#   /'
done < <(c_sources)
((status)) || echo "ok - format: $(c_sources | wc -l) files"
exit "$status"
