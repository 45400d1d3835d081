#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# TCP by packetdrill's scripts (tests/packetdrill), each against the stack on a virtual clock. packetdrill is searched
# in $PACKETDRILL and on the PATH, because Debian has no package of it.
source "$(dirname "${BASH_SOURCE[0]}")/../lib/func.sh"

scripts=$func_root/tests/packetdrill
build=$(cd "$(dirname "$TAPLINE")/.." && pwd)/tests/packetdrill
library=$build/libtapline_packetdrill.so
packetdrill=${PACKETDRILL:-$(command -v packetdrill || true)}

# run_script FILE
run_script() {
	timeout -k 5 60 "$packetdrill" --ip_version=ipv4 --so_filename="$library" "$1"
}

fails() {
	! "$@"
}

# names_unit_tests FILE: check that each script names the unit tests that cover it without packetdrill.
names_unit_tests() {
	local name names
	mapfile -t names < <(sed -n 's|^// Unit: ||p' "$1")
	((${#names[@]})) || { echo "$1 names no unit test" && return 1; }
	for name in "${names[@]}"; do
		grep -qF "TL_TEST(\"$name\")" "$func_root"/tests/unit/test_tcp*.c || { echo "there is no unit test '$name'" && return 1; }
	done
}

all_name_unit_tests() {
	local script
	for script in "$scripts"/rfc*.pkt; do
		names_unit_tests "$script" || return 1
	done
}

func_begin
check "every script names the unit tests with the same guarantees" all_name_unit_tests

if [[ ! -e $library ]]; then
	skip "the stack as a library for packetdrill" "this build has none: meson configure -Dpacketdrill=true"
	exit
fi
check "the library is loaded, keeps its clock, accepts a connection and reads" timeout -k 5 60 "$build/pd_smoke" --library "$library"
if [[ ! -x $packetdrill ]]; then
	skip "the scripts of tests/packetdrill" "packetdrill is not installed, and Debian has no package of it"
	exit
fi

for script in "$scripts"/*.pkt; do
	check "$(basename "$script" .pkt)" run_script "$script"
done

sed 's/> \. 1:1(0) ack 1001/> . 1:1(0) ack 1002/' "$scripts/rfc1122_delayed_ack.pkt" >wrong.pkt
check "a script with wrong expectations fails" fails run_script wrong.pkt
