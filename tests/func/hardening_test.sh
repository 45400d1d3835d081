#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Hardening by compiler and linker, checked with readelf.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

objects=("$TAPLINE".p/*.o "$(dirname "$TAPLINE")"/../lib/libtl_*.a.p/*.o)

# untracked: print objects that lack the marks of control-flow enforcement. The program has no mark if the C library's
# start files have none.
untracked() {
	local object
	for object in "${objects[@]}"; do
		grep -q 'IBT, SHSTK' <(readelf -nW "$object" 2>/dev/null) || echo "$object"
	done
}

# protected PATTERN: print the files, among those with the pattern in their names, whose functions check their stack.
protected() {
	local object
	for object in "${objects[@]}"; do
		[[ $object != *$1* ]] || ! grep -q __stack_chk_fail <(readelf -sW "$object") || echo "$object"
	done
}

func_begin
readelf -hldsW "$TAPLINE" >elf.txt
if grep -q '__[at]san_init' elf.txt; then
	skip "the program is hardened" "it is built with a sanitizer"
	exit
fi
check "the program is position-independent" grep -q 'DYN (Position-Independent' elf.txt
check "relocations are read-only after the dynamic linker" grep -q GNU_RELRO elf.txt
check "all symbols are resolved at start" grep -q BIND_NOW elf.txt
check_equal "no segment is writable and executable" "$(grep -E 'LOAD|GNU_STACK' elf.txt | grep -c 'RWE')" 0
check "functions have stack protectors" test "$(protected _ | grep -c /lib/)" -ge 50
check_equal "hot-path objects have no stack protector" "$(protected _dp.c.o)" ""
check "calls with known buffer sizes are checked" grep -Eq '__[a-z]+_chk(@|$)' elf.txt
check_equal "every object has indirect branch and return tracking" "$(untracked)" ""
