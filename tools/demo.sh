#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The appliance on real input: receives multicast, sends every payload back over TCP and records both directions, between
# two network namespaces of this host. Prints what it measured and leaves nothing behind but the files in --out.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
source "$here/lib/process.sh"
source "$here/lib/netns.sh"
source "$here/lib/hugepages.sh"

group=239.1.1.1 udp_port=5001 tcp_port=5002
app_ip=10.99.0.1 client_ip=10.99.0.2
app_ns=tapline-$$-app client_ns=tapline-$$-client
app_if=app0 client_if=client0
memory_mb=512

seconds=5 rate=1000 payload=16 out=demo-out
huge=false
app_pid='' client_pid='' tee_pid=''
program=${TL_BUILD:-$root/build}/app/tapline

usage() {
	cat <<-END
		usage: tools/demo.sh [options]
		Runs the appliance and its echo client on this host, without a NIC. Needs root. Builds the program first, unless
		TL_BUILD names a build directory.
		  --seconds N   how long to send (default $seconds)
		  --rate N      messages per second (default $rate)
		  --payload N   bytes per message, 8 to 1472 (default $payload)
		  --out DIR     where config.json, client.json, run.json, capture.pcapng and the logs go (default $out)
		  --help        this
	END
}

say() {
	echo "demo: $*" >&2
}

misuse() {
	say "$*; see tools/demo.sh --help"
	exit 2
}

number() {
	if [[ ! $2 =~ ^[1-9][0-9]{0,8}$ ]] || (($2 < $3 || $2 > $4)); then
		misuse "$1 $2: give a whole number from $3 to $4"
	fi
}

parse_options() {
	while (($#)); do
		case $1 in
		--help)
			usage
			exit 0
			;;
		--seconds | --rate | --payload | --out)
			(($# >= 2)) || misuse "$1 needs a value"
			printf -v "${1#--}" %s "$2"
			shift 2
			;;
		*) misuse "$1: no such option" ;;
		esac
	done
	number --seconds "$seconds" 1 86400
	number --rate "$rate" 1 1000000
	number --payload "$payload" 8 1472
	[[ -n $out ]] || misuse "--out needs a directory"
}

require_root() {
	((EUID == 0)) && return
	say "network namespaces need root; run it as root"
	exit 1
}

build() {
	[[ -z ${TL_BUILD:-} ]] || return 0
	"$here/install-deps.sh" run
	[[ -e $root/build/build.ninja ]] || meson setup --buildtype=release -Dtests=false "$root/build" "$root" >&2
	ninja -C "$root/build" app/tapline >&2
}

prepare_out() {
	mkdir -p "$out"
	out=$(cd "$out" && pwd)
	rm -f "$out"/{config,client,run}.json "$out"/{client,run}.log "$out/capture.pcapng" "$out/control.sock"
}

prepare_host() {
	netns_pair "$app_ns" "$app_if" "$client_ns" "$client_if"
	netns_address "$client_ns" "$client_if" "$client_ip/24"
	if hugepages_take $((memory_mb / 2)); then
		huge=true
	else
		say "no hugepages to be had; going on without"
	fi
}

# Paths in it are relative to the directory it is in, where the appliance is started.
write_config() {
	cat >"$out/config.json" <<-END
		{
			"eal": {"huge": $huge, "memory_mb": $memory_mb},
			"ports": [{"name": "lan", "device": "$app_if", "ip": "$app_ip/24", "idle": "adaptive"}],
			"echo": [{
				"port": "lan",
				"receive": {"group": "$group", "udp_port": $udp_port},
				"send": {"tcp_connect": "$client_ip:$tcp_port"}
			}],
			"capture": [{"port": "lan", "direction": "both", "path": "capture.pcapng"}],
			"control": {"socket": "control.sock"}
		}
	END
}

# The duration only bounds an appliance that nobody stops.
start_appliance() {
	say "starting the appliance on $app_if (hugepages: $huge)"
	cd "$out"
	ip netns exec "$app_ns" "$program" run config.json --json --duration $((seconds + 60)) \
		>run.json 2>run.log </dev/null &
	app_pid=$!
	wait_for 15 answers_or_is_gone || true
	answers && return
	say "the appliance did not start:"
	cat run.log >&2
	return 1
}

answers() {
	"$program" status --json --socket control.sock >/dev/null 2>&1
}

answers_or_is_gone() {
	answers || is_gone "$app_pid"
}

run_client() {
	local status=0 progress
	exec {progress}> >(exec tee client.log >&2)
	tee_pid=$!
	say "sending $rate messages of $payload bytes per second to $group:$udp_port for $seconds s"
	# On the CPU of the appliance's control thread, which has time to spare, and never on that of its receive queue.
	ip netns exec "$client_ns" taskset -c 0 "$program" client --kernel --group "$group" --udp-port "$udp_port" \
		--tcp-listen "$client_ip:$tcp_port" --rate "$rate" --seconds "$seconds" --payload "$payload" --json \
		>client.json 2>&"$progress" {progress}>&- </dev/null &
	client_pid=$!
	exec {progress}>&-
	wait "$client_pid" || status=$?
	client_pid=''
	wait "$tee_pid"
	((status == 0)) || say "the client failed with status $status"
	return "$status"
}

stop_appliance() {
	local status=0
	stop_process "$app_pid" TERM 15 || status=$?
	app_pid=''
	((status == 0)) && return
	say "the appliance failed with status $status:"
	tail -n 20 run.log >&2
	return "$status"
}

# Microseconds, in columns of 10.
latency_table() {
	jq -r '
		def us: if type == "number" then (. / 100 | round) / 10 | tostring elif . == null then "-" else . end;
		def cells: map(us | " " * (10 - length) + .) | add;
		def row(name): name + ([.min, .p50, .p90, .p99, .p999, .max, .mean] | cells);
		"latency, us " + (["min", "p50", "p90", "p99", "p99.9", "max", "mean"] | cells),
		(.rtt_ns | row("round trip  ")),
		(.sender_late_ns | row("sender late ")),
		"first echo  " + ([.first_rtt_ns] | cells) + "  (not among the round trips)",
		"",
		"sent \(.sent), echoed \(.received), lost \(.lost), duplicated \(.duplicated), corrupt \(.corrupt), " +
			"reordered \(.reordered); \(.rate_pps | round) messages of \(.payload_bytes) bytes per second"
	' client.json
}

# The appliance logs its tables last.
ledger() {
	sed -n '/^echo /,$p' run.log
}

report() {
	[[ -s client.json && -s run.json ]] || return
	echo
	latency_table
	echo
	ledger
	echo
	echo "recording: $out/capture.pcapng"
}

clean_up() {
	trap '' INT TERM HUP
	set +e
	[[ -z $client_pid ]] || stop_process "$client_pid" TERM 5 2>/dev/null
	[[ -z $app_pid ]] || stop_process "$app_pid" TERM 15 2>/dev/null
	[[ -z $tee_pid ]] || wait "$tee_pid" # it ends with the client
	netns_delete "$app_ns" "$client_ns"
	hugepages_give_back
	rm -f "$out/control.sock"
}

main() {
	local status=0 begin
	parse_options "$@"
	require_root
	build
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
	trap clean_up EXIT
	begin=$SECONDS
	prepare_out
	prepare_host
	write_config
	start_appliance
	run_client || status=1
	stop_appliance || status=1
	report || status=1
	say "took $((SECONDS - begin)) s after the build"
	exit "$status"
}

main "$@"
