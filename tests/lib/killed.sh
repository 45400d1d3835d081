# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034
# Sourced after func.sh. Recordings that are killed.

# record_run: start the recording of config.json; app_pid is its process.
record_run() {
	rm -f control.sock
	"$TAPLINE" run config.json >run.json 2>run.log </dev/null &
	app_pid=$!
}

# written: print the number of packets that the recording has written so far.
written() {
	app_status '.captures[0].written_pkts' 2>/dev/null || true
}
