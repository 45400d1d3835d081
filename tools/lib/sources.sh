# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# The files of the project, for the checks; run from the root of the tree.

# c_sources [DIR...]: every .c and .h file.
c_sources() {
	(($#)) || set -- app lib tests
	find "$@" -name '*.[ch]' -type f | LC_ALL=C sort
}

# module_names: the modules that exist, lowest layer first.
module_names() {
	local name
	for name in $(sed -n "/^modules = \[/,/^\]/{s/#.*//;s/.*=//;s/[][',]/ /g;p}" lib/meson.build); do
		[[ ! -e lib/$name/meson.build ]] || echo "$name"
	done
}

# module_uses NAME: what it declares to use.
module_uses() {
	sed -n "/^module_uses = \[/,/\]/{s/#.*//;s/^module_uses =//;s/[][',]/ /g;p}" "lib/$1/meson.build"
}
