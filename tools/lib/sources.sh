# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# List the files of the project for the checks; run from the root of the tree.

# c_sources [DIR...]: print every .c and .h file.
c_sources() {
	(($#)) || set -- app lib tests
	find "$@" -name '*.[ch]' -type f | LC_ALL=C sort
}

# module_paths: print folder/name of each module, lowest layer first.
module_paths() {
	meson_list modules lib/meson.build
}

# module_uses PATH: print the modules that it declares to use.
module_uses() {
	meson_list module_uses "lib/$1/meson.build"
}

# meson_list VARIABLE FILE: print the words of a list, one per line.
meson_list() {
	sed 's/#.*//' "$2" | tr '\n' ' ' | sed -n "s/.*\b$1 = \[\([^]]*\)\].*/\1/p" | grep -o '[a-z0-9_/]\+' || true
}
