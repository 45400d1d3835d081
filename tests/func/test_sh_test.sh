#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# tools/test.sh, in a tree whose suites are those written here: a failed suite is seen and explained, whatever becomes of its log.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

# write_suite NAME: write the suite func/NAME; stdin: its commands.
write_suite() {
	{ echo '#!/usr/bin/env bash' && cat; } >"tree/tests/func/$1_test.sh"
	chmod +x "tree/tests/func/$1_test.sh"
}

# Another suite has ended: its result is safe.
UNTIL_FINE='until grep -qs "^ok" build-logs/results/func-own_fine.log; do sleep 0.05; done'

make_tree() {
	mkdir -p tree/tests/{func,unit} tree/build-gcc tree/build-logs
	cp -r "$func_root/tools" tree
	printf '#!/bin/sh\n' >tree/tools/install-deps.sh # nothing to install
	touch tree/tests/unit/meson.build
	echo 'build it: phony' >tree/build-gcc/build.ninja
	write_suite own_fine <<<'echo "ok - own_fine: it works"'
	# The disk with the logs is full when its result is printed.
	write_suite own_full <<-END
		$UNTIL_FINE
		dd if=/dev/zero of=build-logs/filler bs=4k status=none
		echo "not ok - own_full: it does not work"
		exit 1
	END
	# The disk has room for one copy of its log.
	write_suite own_large <<-END
		$UNTIL_FINE
		yes 'ok - own_large: one of many' | head -n 6000
		echo "not ok - own_large: it does not work"
		exit 1
	END
	write_suite own_nul <<-'END'
		printf 'ok - own_nul: before\nnot ok - own_nul: it does not work\n#   the detail\nthe log of a peer: \0\n'
		exit 1
	END
}

# run_suites PATTERN: run these suites with their logs on a small disk.
run_suites() {
	status=0
	(cd tree && unshare --mount bash -c 'mount -t tmpfs -o size=256k none build-logs && exec tools/test.sh --quick --only "$1"' _ "$1") \
		>out.log 2>&1 || status=$?
}

func_begin
make_tree
run_suites 'func/own_f*'
check_equal "a failed suite fails the run when its log cannot be written" "$status" 1
check "and is named" grep -q '^  not ok - func/own_full: ' out.log
check "the result of another suite counts" grep -q '^1 passed, 1 failed, 0 skipped' out.log
run_suites 'func/own_[fl][ia]*'
check_equal "a failed suite fails the run when its log cannot be copied" "$status" 1
check "half a result does not count" grep -q '^1 passed, 1 failed, 0 skipped' out.log
run_suites func/own_nul
check_equal "a suite with a NUL byte in its log fails the run" "$status" 1
check "its failure is explained" grep -qF '#   the log of a peer:' out.log
