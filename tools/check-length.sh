#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Check that every function has at most 80 lines from brace to brace. A function's braces are alone in column 0.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tools/lib/sources.sh

limit=80

# Print the length of each function, and its location.
lengths() {
	c_sources | xargs awk '
		FNR == 1 { begin = 0 }
		/^\{$/ { begin = FNR }
		/^\}/ && begin { print FNR - begin + 1, FILENAME ":" begin; begin = 0 }' | sort -n
}

# percentile P: print a percentile of the first column.
percentile() {
	awk -v p="$1" '{v[NR] = $1} END {i = int(NR * p / 100 + 0.999); print v[i < 1 ? 1 : i]}' <<<"$all"
}

all=$(lengths)
long=$(awk -v limit="$limit" '$1 > limit {print "not ok - length: " $2 " has " $1 " lines, the most is " limit}' <<<"$all")
if [[ -n $long ]]; then
	echo "$long"
	exit 1
fi
echo "ok - length: $(wc -l <<<"$all") functions, p50 $(percentile 50), p90 $(percentile 90), max $(percentile 100) lines"
