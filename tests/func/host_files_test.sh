#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Files of drivers-config: units validated by systemd, and hugepages on simulated NUMA nodes.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

config=$func_root/drivers-config
script=$config/hugepages/tapline-hugepages

# TL_SYSTEMD_ANALYZE: program of another release.
analyze=${TL_SYSTEMD_ANALYZE:-systemd-analyze}

# exposure UNIT: print systemd's rating, from 0.0 to 10.0, times ten. Releases before 250 rate running units only.
exposure() {
	"$analyze" security --offline=yes --no-pager "./$1" | sed -n 's/.*exposure level for .*: \([0-9]*\)\.\([0-9]\) .*/\1\2/p'
}

# units: install the units, with programs at the expected paths.
units() {
	local unit tenths
	for unit in tapline@.service tapline-hugepages.service; do
		if ! command -v "$analyze" >/dev/null; then
			skip "systemd understands $unit" "there is no systemd-analyze"
			continue
		fi
		sed "s|@BINDIR@/tapline|/bin/true|; s|@LIBEXECDIR@/tapline/tapline-hugepages|/bin/true|; s|@DATADIR@|/usr/share|" \
			"$config/systemd/$unit.in" >"$unit"
		check_equal "systemd accepts $unit" "$(complaints "$unit")" ""
		grep -q -e --offline <("$analyze" --help) || continue
		tenths=$(exposure "$unit")
		check "the exposure of $unit is at most 2.0 of 10" test "${tenths:-100}" -le 20
	done
}

# complaints UNIT: print warnings about the unit and its drop-ins.
complaints() {
	"$analyze" verify --man=no "./$1" 2>&1 | grep -F "${1%.service}" || true
}

# refused UNIT...: print system calls permitted by the program's filter and rejected by the unit with its drop-ins.
refused() {
	"$analyze" syscall-filter | "$func_root/tests/lib/unit_calls.py" "$func_root/lib/base/guard/seccomp.c" "$@"
}

# drop_ins: print those of ports that need more than the unit allows, as in docs/deploy.md.
drop_ins() {
	local name
	command -v "$analyze" >/dev/null || return 0
	check_equal "the unit denies only clock-reading calls and mincore" \
		"$(refused tapline@.service)" "adjtimex clock_adjtime mincore"
	for name in mlx5 xdp; do
		mkdir -p tapline@.service.d
		cp "$config/systemd/$name.conf" tapline@.service.d/
		check_equal "systemd accepts the unit with $name.conf" "$(complaints tapline@.service)" ""
	done
	check_equal "xdp.conf permits the call that loads a program" \
		"$(refused --also bpf tapline@.service) $(refused --also bpf tapline@.service tapline@.service.d/xdp.conf)" \
		"adjtimex bpf clock_adjtime mincore adjtimex clock_adjtime mincore"
	echo 'NoSuchSetting=yes' >>tapline@.service.d/xdp.conf
	check "systemd reports an unknown setting" grep -q NoSuchSetting <(complaints tapline@.service)
}

# node N SIZE_KB PAGES
node() {
	local dir=root/sys/devices/system/node/node$1/hugepages/hugepages-$2kB
	mkdir -p "$dir"
	echo "$3" >"$dir/nr_hugepages"
}

pages() {
	cat "root/sys/devices/system/node/node$1/hugepages/hugepages-$2kB/nr_hugepages"
}

# take LINE...: the script's exit status is in status, its output in out.txt.
take() {
	printf '%s\n' "$@" >hugepages.conf
	status=0
	ROOT=root "$script" hugepages.conf >out.txt 2>&1 || status=$?
}

hugepages() {
	local status
	node 0 2048 0
	node 1 2048 700
	node 1 1048576 0
	take "# a comment" "" "0 2M 512" "1 2M 600" "1 1G 4"
	check_equal "each node gets its pages and keeps existing ones" "$status $(pages 0 2048) $(pages 1 2048) $(pages 1 1048576)" \
		"0 512 700 4"
	take "7 2M 1"
	check "a missing node is named, with the line" grep -q "line 1: node 7" out.txt
	check_equal "the script fails" "$status" 1
	take "0 4K 1"
	check "an invalid size is named" grep -q "size 4K" out.txt
	take "0 2M" "0 2M 5 6" "zero 2M 5"
	check_equal "lines in another format are refused" "$(grep -c 'not NODE SIZE COUNT' out.txt)" 3
	ln -sf /dev/null root/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages
	take "0 2M 9"
	check_equal "fewer pages from the kernel make the script fail" "$status" 1
}

func_begin
units
drop_ins
hugepages
check "the supplied configuration is valid" test "$(grep -cv '^#' "$config/hugepages/hugepages.conf")" = 1
