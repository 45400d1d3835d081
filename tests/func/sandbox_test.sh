#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The privileges of a running appliance, thread by thread, and cleanup that requires privileges.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

RING='"capture": [{"port": "lan", "path": "ring/a-%Y%m%d-%H%M%S.pcapng", "rotate_seconds": 1, "keep_files": 3, "index": true, "order": "time"}]'

# threads FIELD: print a line for each thread, its name and the kernel's field. Threads of io_uring belong to the
# kernel.
threads() {
	local task
	for task in "/proc/$app_pid/task"/*; do
		grep -q '^iou-' "$task/comm" || echo "$(<"$task/comm") $(sed -n "s/^$1:\t//p" "$task/status")"
	done
}

# unlike FIELD VALUE: print threads with another value of the field.
unlike() {
	threads "$1" | grep -v " $2\$" || true
}

# kills THREAD CALL: check that this system call by the thread kills the process.
kills() {
	app_start config.json
	"$func_root/tests/lib/force_syscall.py" "$app_pid" "$1" "$2" >force.txt 2>&1 || true
	APP_STATUS=0
	wait "$app_pid" 2>/dev/null || APP_STATUS=$?
	check_equal "$1: calling $2 kills the process" "$APP_STATUS" $((128 + 31)) # SIGSYS
}

# goes_on THREAD CALL ERRNO: check that the call is rejected, and the process continues.
goes_on() {
	app_start config.json
	check_equal "$1: calling $2 is refused" "$("$func_root/tests/lib/force_syscall.py" "$app_pid" "$1" "$2" 2>&1)" "-$3"
	in_peer ping -q -c 3 -i 0.1 -W 10 "$APP_IP" >/dev/null
	app_stop TERM
	check_equal "the process continues to an orderly end" "$APP_STATUS" 0
	check_json "nothing is lost" run.json '.ledger_ok and .lossless and .captures[0].written_pkts > 0'
}

# names: print the names of all threads, without duplicates.
names() {
	threads Name | cut -d' ' -f1 | sort -u | paste -sd' '
}

restricted() {
	check_equal "no thread has a capability" "$(unlike CapPrm 0000000000000000)" ""
	check_equal "no thread can gain a capability" "$(unlike NoNewPrivs 1)" ""
	check_equal "the system calls of all threads are filtered" "$(unlike Seccomp 2)" ""
	check_equal "lcores and recording threads have a second filter" \
		"$(threads Seccomp_filters | grep -E '^(rte-|lcore|tl-)' | grep -v ' 2$' || true)" ""
	check "threads of each class exist" \
		test "$(threads Name | grep -cE '^(rte-worker|lcore-worker|tl-writer|tl-files|tl-index|tl-merge)')" -ge 5
	own_names=$(names)
	check "each kind of thread has a name" test "$(wc -w <<<"$own_names")" -ge 7
	app_status >status.json
	check_json "the status reports the restrictions" \
		status.json '.process | .sandbox and .no_new_privs and .seccomp and .capabilities == "="'
	check_equal "the status reports the kernel's version of Landlock" "$(jq .process.landlock status.json)" "$landlock"
}

# opens THREAD PATH: print the result of open(2) by the thread: a descriptor, or -errno.
opens() {
	"$func_root/tests/lib/force_syscall.py" "$app_pid" "$1" openat "$2" 2>&1
}

# Thread tl-writer may call open(2), so Landlock alone confines it.
confined() {
	if ((landlock == 0)); then
		skip "files elsewhere cannot be opened" "the kernel has no Landlock"
		return
	fi
	check "a recording's thread can open a file of the recordings" test "$(opens tl-writer "$DIR/ring/kept")" -ge 0
	check_equal "it can open no other file" "$(opens tl-writer /etc/passwd) $(opens tl-writer /)" "-13 -13" # EACCES
}

has_rotated() {
	[[ $(find ring -name 'a-*.pcapng' -newer status.json | wc -l) -ge 2 ]]
}

# with_packets FILE...
with_packets() {
	local file
	for file in "$@"; do
		[[ -z $(tcpdump -nr "$file" -c 1 2>/dev/null) ]] || echo "$file"
	done
}

as_root() {
	app_start config.json
	restricted
	confined
	in_peer ping -q -c 3 -i 0.1 -W 10 "$APP_IP" >/dev/null
	check "the ring of a recording continues in new files" wait_for 60 has_rotated
	app_stop TERM
	check_equal "the run ends with status 0" "$APP_STATUS" 0
	check_json "the final report has the restrictions in force" run.json '.process.sandbox and .ledger_ok and .lossless'
	check_equal "each file with packets has its index" "$(find ring -name '*.tlx' | sed 's/.tlx$//' | sort)" "$(with_packets ring/a-*.pcapng)"
	check_equal "the socket is removed" "$([[ -e control.sock ]] && echo there || echo gone)" gone
	check_equal "the interface is not promiscuous afterwards" \
		"$(in_app ip -d link show "$APP_IF" | grep -o 'promiscuity [0-9]*')" 'promiscuity 0'
}

# A report that cannot be written at the end is rejected at the start.
latency_of_root() {
	local status=0 before
	mkdir reports
	before=$(ls -A ring)
	in_app timeout 60 "$TAPLINE" run user.json --latency reports >latency.json 2>latency.log || status=$?
	check_equal "a report directory of another user is refused at the start" "$status" 2
	check "the message has reason and remedy" \
		grep -q 'reports/.*\.json: cannot be written: Permission denied: give reports and its files to nobody' latency.log
	check_equal "nothing has been recorded" "$(ls -A ring)" "$before"
	rmdir reports && app_start user.json --latency reports
	app_stop TERM
	check_equal "a created report directory belongs to the user and holds the report" \
		"$APP_STATUS $(stat -c %U reports) $(find reports -name '*.json' | wc -l)" '0 nobody 1'
	chown root reports/*.json && chmod 600 reports/*.json
	status=0
	in_app timeout 60 "$TAPLINE" run user.json --latency reports >latency.json 2>latency.log || status=$?
	check_equal "a report directory with another user's report is refused" "$status" 2
}

as_user() {
	rm -rf ring && mkdir ring && chown nobody . ring
	jq '.process = {"user": "nobody"}' config.json >user.json
	app_start user.json
	check_equal "with process.user every thread runs as that user" "$(unlike Uid "$(id -u nobody).*")" ""
	check_equal "with process.user no thread has a capability" "$(unlike CapPrm 0000000000000000)" ""
	check_equal "each thread has its own name" "$(names)" "$own_names"
	check_equal "the status names the user" "$(app_status .process.user)" nobody
	app_stop TERM
	check_equal "the run with process.user ends with status 0" "$APP_STATUS" 0
	check_equal "the recordings belong to the user" \
		"$(find ring -name '*.pcapng' ! -user nobody; find ring -name '*.pcapng' | head -c 4)" ring
}

switched_off() {
	jq '.process = {"sandbox": "off"}' config.json >off.json
	app_start off.json
	check_equal "without the sandbox no system call is filtered" "$(unlike Seccomp 0)" ""
	check_equal "the status reports the missing sandbox" "$(app_status .process.sandbox)" false
	check "the log reports the missing sandbox" grep -q 'sandbox: off' run.log
	app_stop TERM
}

func_begin
net_begin
mkdir ring
touch ring/kept
# Landlock's version in this kernel: landlock_create_ruleset(NULL, 0, LANDLOCK_CREATE_RULESET_VERSION).
landlock=$(python3 -c 'import ctypes; print(max(ctypes.CDLL(None).syscall(444, None, 0, 1), 0))')
app_config config.json '"echo": [{"port": "lan", "udp_listen": 7}]' "$RING"
if grep -q '__[at]san_init' "$TAPLINE"; then
	skip "the rights of an appliance" "a sanitizer's build has no seccomp"
	exit
fi
as_root
kills tapline execve
kills rte-worker-1 openat
kills tl-writer execve
kills tl-merge openat
goes_on rte-worker-1 append 13 # EACCES
as_user
latency_of_root
switched_off
