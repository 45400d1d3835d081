#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Check that the tree names no package mirror or registry: scripts take them from the package manager's configuration. The pattern is
# tested first. Names in this file have @ for a dot, or it would find itself.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Domains with all their hosts, and hosts alone.
domains=(debian@net ubuntu@com ubuntu@org launchpad@net launchpadcontent@net pypi@org pythonhosted@org pypi@python@org anaconda@org
	anaconda@com crates@io npmjs@org npmjs@com npmmirror@com yarnpkg@com jsr@io jsdelivr@net unpkg@com docker@io docker@com ghcr@io
	quay@io gcr@io pkg@dev registry@k8s@io registry@gitlab@com ecr@aws mcr@microsoft@com rubygems@org maven@org maven@apache@org
	sonatype@org nuget@org packagist@org cpan@org hackage@haskell@org fedoraproject@org centos@org opensuse@org alpinelinux@org
	archlinux@org rpmfusion@org goproxy@io goproxy@cn proxy@golang@org sum@golang@org index@golang@org apt@llvm@org)
# Hosts of any domain with such a name; of debian@org all but the pages.
first='(mirrors?|ftp|deb|apt|rpm|yum|pypi|registry|archive|snapshot|repo)[0-9]*'
pages='(www|wiki|bugs|lists|manpages|packages|sources|tracker|people|salsa)@debian@org'

found=(deb@debian@org security@debian@org snapshot@debian@org ftp@de@debian@org archive@debian@org incoming@debian@org archive@ubuntu@com
	ports@ubuntu@com ppa@launchpadcontent@net pypi@org test@pypi@org files@pythonhosted@org crates@io static@crates@io
	registry@npmjs@org registry@yarnpkg@com docker@io registry-1@docker@io hub@docker@com ghcr@io quay@io eu@gcr@io proxy@golang@org
	mirrors@kernel@org mirror@example@net ftp@halifax@rwth-aachen@de repo1@maven@org dl-cdn@alpinelinux@org DEB@DEBIAN@ORG)
not_found=(www@debian@org/doc bugs@debian@org tools/lib/mirror@sh debian_mirror github@com/DPDK/dpdk.git docs@kernel@org example@com
	archive@c ftp@h repo@git registry@json)

dots() {
	printf '%s\n' "${@//@/.}"
}

pattern=$(dots "${domains[@]}" | sed 's/[.]/[.]/g' | paste -sd '|')
pattern="(^|[^a-z0-9.-])(([a-z0-9-]+[.])*($pattern|debian[.]org)|$first([.][a-z0-9-]+)+[.][a-z]{2,})($|[^a-z0-9-])"
allowed="(^|[^a-z0-9.-])$(dots "$pages" | sed 's/[.]/[.]/g')"

# find_in: print the lines of standard input with a mirror or registry.
find_in() {
	grep -iE "$pattern" | sed -E "s/$allowed/\1/gI" | grep -iE "$pattern"
}

# self_test: print what is wrong with the pattern.
self_test() {
	local name
	for name in "${found[@]}"; do
		find_in <<<"see https://$(dots "$name")/x" >/dev/null || echo "does not find $name"
	done
	for name in "${not_found[@]}"; do
		! find_in <<<"see $(dots "$name")" >/dev/null || echo "takes $name for a mirror"
	done
}

wrong=$(self_test)
[[ -z $wrong ]] || { echo "not ok - mirrors: the pattern" "$wrong" && exit 1; }
if lines=$(git grep -nIiE "$pattern" | find_in); then
	echo "not ok - mirrors: the tree names a package mirror or registry"
	echo "#   ${lines//$'\n'/$'\n#   '}"
	exit 1
fi
echo "ok - mirrors: no package mirror or registry is named"
