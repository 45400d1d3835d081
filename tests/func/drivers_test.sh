#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Table of drivers: docs/drivers.md and the capability files agree, and each fact has evidence.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"
cd "$func_root"

# facts FILTER: print the facts of all drivers for which the filter is false.
facts() {
	local found
	found=$(jq -r "input_filename as \$f | .drivers[] | .pmd as \$pmd | .facts[] | select(($1) | not) | \"\(\$f): \(\$pmd): \(.text)\"" \
		drivers-config/*/capabilities.json)
	echo "$found"
	[[ -z $found ]]
}

# known KIND: print evidence of this kind, without duplicates.
known() {
	jq -r ".drivers[] | .known[], .facts[].known[] | select(startswith(\"$1 \")) | sub(\"^$1 \"; \"\")" \
		drivers-config/*/capabilities.json | sort -u
}

# suites_are_there: check the suites of the model and the machine.
suites_are_there() {
	local suite status=0
	while read -r suite; do
		[[ -x tests/ixgbe/${suite#ixgbe/}_test.sh && $suite == ixgbe/* ]] || { echo "no suite $suite" && status=1; }
	done < <(known model)
	while read -r suite; do
		[[ -e tests/vm/scenario_$suite.sh ]] || { echo "no scenario $suite" && status=1; }
	done < <(known vm)
	return "$status"
}

# sources_have_releases: check file and release.
sources_have_releases() {
	! known source | grep -vE '^(drivers/[a-z0-9_/]+\.[ch] v[0-9.]+|git log drivers/net/[a-z0-9]+ v[0-9.]+\.\.v[0-9.]+)$'
}

kinds_are_known() {
	! jq -r '.drivers[] | .known[], .facts[].known[]' drivers-config/*/capabilities.json | grep -vE '^(source|model|vm) '
}

check "docs/drivers.md is generated from the capability files" diff <(python3 docs/generate.py drivers drivers-config) docs/drivers.md
check "each fact has a topic of the table" facts \
	'.about | IN("queues", "rings", "stamps", "drops", "rules", "limits", "faults")'
check "each evidence is a source, the model or a machine" kinds_are_known
check "a source has a file and a release" sources_have_releases
check "each suite named as evidence exists" suites_are_there
check "each driver has facts about stamps and drops" test -z "$(jq -r '.drivers[] | select(([.facts[].about] | contains(["stamps"]) and
	contains(["drops"])) | not).pmd' drivers-config/*/capabilities.json)"
exit "$func_failed"
