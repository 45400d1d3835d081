#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Demonstrate the appliance on real input: it receives multicast, sends every payload back over TCP and records both directions,
# between two network namespaces of this host. Print the measurements; only the files in --out remain.
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
compare=true compare_s=2 # for each of the others
huge=false
app_pid='' client_pid='' tee_pid='' relay_pid=''
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
		  --alone       do not compare with relays of the kernel and other settings, $compare_s s each
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
		--alone)
			compare=false
			shift
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
	rm -f "$out"/{config,client,run}.json "$out"/{client,run}.log "$out/capture.pcapng" "$out/control.sock" "$out/latency.html"
	rm -rf "$out/compare"
	mkdir "$out/compare"
}

prepare_host() {
	netns_pair "$app_ns" "$app_if" "$client_ns" "$client_if"
	if hugepages_take $((memory_mb / 2)); then
		huge=true
	else
		say "no hugepages to be had; going on without"
	fi
}

# write_config FILE DEVICE IDLE RECORDING: write a configuration. Paths in it are relative to its directory, where the appliance
# is started.
write_config() {
	cat >"$1" <<-END
		{
			"eal": {"huge": $huge, "memory_mb": $memory_mb},
			"ports": [{"name": "lan", "device": "$2", "ip": "$app_ip/24", "idle": "$3"}],
			"echo": [{
				"port": "lan",
				"receive": {"group": "$group", "udp_port": $udp_port},
				"send": {"tcp_connect": "$client_ip:$tcp_port"}
			}],
			"capture": [{"port": "lan", "direction": "both", "path": "$4"}],
			"control": {"socket": "control.sock"}
		}
	END
}

# start_appliance DEVICE IDLE RECORDING CONFIG RESULTS LOG: start the appliance, without hugepages if other processes have taken
# them meanwhile.
start_appliance() {
	write_config "$4" "$1" "$2" "$3"
	try_appliance "$4" "$5" "$6" && return
	$huge || return 1
	stop_process "$app_pid" TERM 15 || true
	huge=false
	write_config "$4" "$1" "$2" "$3"
	try_appliance "$4" "$5" "$6"
}

# The duration only limits an appliance that is never stopped.
try_appliance() {
	ip netns exec "$app_ns" "$program" run "$1" --json --duration $((seconds + 60)) >"$2" 2>"$3" </dev/null &
	app_pid=$!
	wait_for 15 answers_or_is_gone || true
	answers
}

answers() {
	"$program" status --json --socket control.sock >/dev/null 2>&1
}

answers_or_is_gone() {
	answers || is_gone "$app_pid"
}

# start_client SECONDS RESULTS CSV: start the client, which is another host: it has its own stack and polls the CPU of the
# appliance's control thread, which is mostly idle.
start_client() {
	ip netns exec "$client_ns" taskset -c 0 "$program" client --port "$client_if" --ip "$client_ip/24" --lcore 0 \
		--group "$group" --udp-port "$udp_port" --tcp-listen "$client_ip:$tcp_port" --rate "$rate" --seconds "$1" \
		--payload "$payload" --timestamps user --csv "$3" --json >"$2" </dev/null &
	client_pid=$!
}

# The main run: the appliance with its defaults, and a recording.
run_default() {
	local status=0
	say "starting the appliance on $app_if (hugepages: $huge)"
	if ! start_appliance "$app_if" auto capture.pcapng config.json run.json run.log; then
		say "the appliance did not start:"
		cat run.log >&2
		return 1
	fi
	run_client || status=1
	stop_appliance || status=1
	return "$status"
}

run_client() {
	local status=0 progress
	exec {progress}> >(exec tee client.log >&2)
	tee_pid=$!
	say "sending $rate messages of $payload bytes per second to $group:$udp_port for $seconds s"
	start_client "$seconds" client.json compare/Tapline_default.csv 2>&"$progress" {progress}>&-
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

# ---- other systems

# compare_with NAME COMMAND...: print the client's results with a relay that uses the kernel's stack.
compare_with() {
	local name=$1
	shift
	say "comparing with: $name"
	ip -netns "$app_ns" address add "$app_ip/24" dev "$app_if"
	ip -netns "$app_ns" route add 224.0.0.0/4 dev "$app_if"
	start_client "$compare_s" "compare/$name.json" "compare/$name.csv" 2>"compare/$name.log"
	ip netns exec "$app_ns" "$@" 2>>"compare/$name.log" &
	relay_pid=$!
	wait "$client_pid" || true
	client_pid=''
	stop_process "$relay_pid" TERM 5 || true
	relay_pid=''
	ip -netns "$app_ns" address flush dev "$app_if"
}

# compare_setting NAME DEVICE IDLE: print the client's results with other settings.
compare_setting() {
	local name=$1
	say "comparing with: $name"
	if start_appliance "$2" "$3" "compare/$name.pcapng" "compare/$name.config.json" "compare/$name.run.json" "compare/$name.log"; then
		start_client "$compare_s" "compare/$name.json" "compare/$name.csv" 2>>"compare/$name.log"
		wait "$client_pid" || true
		client_pid=''
	else
		say "$name: not to be had here: $(tail -n 1 "compare/$name.log")"
	fi
	stop_process "$app_pid" TERM 15 || true
	app_pid=''
	rm -f "compare/$name.pcapng"
}

compare() {
	cc -O2 -o compare/relay "$here/lib/relay.c"
	compare_with kernel_socat socat -u "UDP4-RECV:$udp_port,ip-add-membership=$group:$app_if,reuseaddr" \
		"TCP:$client_ip:$tcp_port,nodelay,retry=100,interval=0.1"
	compare_with kernel_polling_relay taskset -c $(($(nproc) - 1)) compare/relay "$app_if" "$group" "$udp_port" "$client_ip" "$tcp_port"
	compare_setting Tapline_polling "$app_if" poll
	compare_setting Tapline_AF_XDP_polling "xdp:$app_if" poll
	rm compare/relay
	cp client.json compare/Tapline_default.json
}

# Print rows in the order of the medians of one run; each is compared with socat's.
comparison_table() {
	local file name base
	base=$(jq '.rtt_ns.p50 // 0' compare/kernel_socat.json) || base=0
	printf '%-28s%10s%10s%10s%10s%12s\n' 'round trip, us' p50 p90 p99 max 'p50/socat'
	for file in compare/*.json; do
		[[ $file != *.config.json && $file != *.run.json && -s $file ]] || continue
		name=$(basename "$file" .json)
		jq -r --arg name "${name//_/ }" --argjson base "${base:-0}" '
			def us: if . == null then "-" else . / 1e3 * 10 | round / 10 | tostring end;
			.rtt_ns | select(.p50 != null) | [$name, (.p50 | us), (.p90 | us), (.p99 | us), (.max | us),
				if $base > 0 then .p50 / $base * 100 | round / 100 | tostring else "-" end, .p50] | @tsv' "$file"
	done | sort -t $'\t' -k 7 -n -r | awk -F '\t' '{ printf "%-28s%10s%10s%10s%10s%12s\n", $1, $2, $3, $4, $5, $6 }'
}

comparison() {
	comparison_table
	echo
	echo "round trips, how often (logarithmic axis; as a page: $out/latency.html)"
	awk -f "$here/lib/latency_picture.awk" compare/*.csv
	awk -v html=1 -f "$here/lib/latency_picture.awk" compare/*.csv >latency.html
}

# ---- results

# Print microseconds in columns of 10.
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
		"sent \(.sent), echoed \(.received), lost \(.lost), duplicated \(.duplicates), corrupt \(.corrupt), " +
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
	if $compare; then
		echo
		comparison
	fi
	echo
	echo "recording: $out/capture.pcapng"
}

clean_up() {
	trap '' INT TERM HUP
	set +e
	[[ -z $relay_pid ]] || stop_process "$relay_pid" TERM 5 2>/dev/null
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
	cd "$out"
	run_default || status=1
	((status == 0)) || compare=false
	! $compare || compare
	report || status=1
	say "took $((SECONDS - begin)) s after the build"
	exit "$status"
}

main "$@"
