# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034
# Sourced after func.sh. Recordings that are killed.

# record_run: start the recording of config.json; app_pid is its process.
record_run() {
	rm -f control.sock
	"$TAPLINE" run config.json >run.json 2>run.log </dev/null &
	app_pid=$!
}

# record_kill DIR: kill it, and wait until the kernel has processed its writes to files in DIR and released their locks.
record_kill() {
	app_kill
	wait_for 60 unlocked "$1"
}

# unlocked DIR
unlocked() {
	local file
	for file in "$1"/* "$1"/.*; do
		[[ ! -f $file ]] || flock --nonblock "$file" true || return
	done
}

# none_left DIR: tell whether a recovery has left no incomplete file; print those left.
none_left() {
	! find "$1" \( -name '*.part' -o -name '.*.next' \) -ls | grep .
}

# written: print the number of packets that the recording has written so far.
written() {
	app_status '.captures[0].written_pkts' 2>/dev/null || true
}
