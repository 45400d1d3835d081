#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# check-layers.sh [BUILD_DIR]: check that dependencies point down the layers, beyond the checks of Meson.
set -euo pipefail
build=$(realpath "${1:-build}")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tools/lib/sources.sh

status=0

# verdict SENTENCE FINDINGS: print ok if there are none.
verdict() {
	if [[ -z $2 ]]; then
		echo "ok - layers: $1"
		return
	fi
	status=1
	echo "not ok - layers: $1"
	echo "#   ${2//$'\n'/$'\n#   '}"
}

# A grep without matches is not an error.
found() {
	grep "$@" || (($? == 1))
}

climbing_includes() {
	c_sources | xargs grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]*["<]\.\.?/' /dev/null || true
}

headers_without_once() {
	c_sources | found '\.h$' | xargs grep -L '^#pragma once$' || true
}

files_without_license() {
	{
		c_sources
		find app lib tests tools .ci -type f \( -name '*.sh' -o -name '*.py' -o -name meson.build -o -name run \)
		ls meson.build meson_options.txt
	} | xargs awk '
		FNR == 1 { if (file != "" && !named) print file; file = FILENAME; named = 0 }
		FNR <= 2 && /SPDX-License-Identifier: BSD-3-Clause$/ { named = 1 }
		END { if (!named) print file }'
}

# undeclared PATH: print symbols that it takes from another module without a declared use.
undeclared() {
	local module=${1#*/} uses symbol
	uses=" $module $(module_uses "$1" | tr '\n' ' ') "
	while read -r symbol; do
		[[ -n ${owner[$symbol]:-} && $uses != *" ${owner[$symbol]} "* ]] || continue
		echo "lib/$1 uses $symbol of ${owner[$symbol]}, which it does not declare"
	done < <(nm -u -j "$build/lib/libtl_$module.a" 2>/dev/null | found '^tl_' | sort -u)
}

# later PATH: print declared modules that do not precede it in the list.
later() {
	local used
	for used in $(module_uses "$1"); do
		((${place[$used]:-99} < place[${1#*/}])) || echo "lib/$1 declares $used, which is not below it"
	done
}

# A folder whose modules are not contiguous in the list could be both above and below another.
scattered_folders() {
	printf '%s\n' "${paths[@]%%/*}" | uniq | sort | uniq -d
}

declare -A owner place
mapfile -t paths < <(module_paths)
for i in "${!paths[@]}"; do
	module=${paths[i]#*/}
	place[$module]=$i
	[[ -e $build/lib/libtl_$module.a ]] || {
		echo "not ok - layers: $build holds no libtl_$module.a; build first"
		exit 1
	}
	while read -r symbol; do
		owner[$symbol]=$module
	done < <(nm -g -j --defined-only "$build/lib/libtl_$module.a" 2>/dev/null | found '^tl_')
done

verdict "no include climbs or names a directory's neighbour" "$(climbing_includes)"
verdict "every header is guarded by #pragma once" "$(headers_without_once)"
verdict "every file says its license" "$(files_without_license)"
verdict "docs/modules.svg shows the tree" "$(tools/draw-modules.py --check || true)"
verdict "the modules of a folder are listed together" "$(scattered_folders)"
for path in "${paths[@]}"; do
	verdict "$path uses only what it declares, and only what is below it" "$(undeclared "$path"; later "$path")"
done
exit "$status"
