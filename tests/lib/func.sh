# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034
# Environment of a functional test: the appliance in one network namespace, the kernel as its peer in another, results as lines
# "ok - …", "not ok - …" and "skip - …: reason". Sourced by tests/func/*_test.sh, which run one by one or through tools/test.sh;
# TL_BUILD names the build directory. Background processes of a test are stopped at its end, whatever its exit path.

PATH=/usr/bin:$PATH # Debian's python3 has the modules of tools/install-deps.sh; another may come first
func_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
source "$func_root/tools/lib/process.sh"
source "$func_root/tools/lib/netns.sh"

TAPLINE=${TL_BUILD:-$func_root/build}/app/tapline
PEER_PY=$func_root/tests/lib/peer.py
APP_NS=tl-$$-app APP_IF=app0 APP_IP=10.99.0.1 APP_IP6=2001:db8:99::1
PEER_NS=tl-$$-peer PEER_IF=peer0 PEER_IP=10.99.0.2 PEER_IP6=2001:db8:99::2
APP_PORT_KEYS="\"ip\": \"$APP_IP/24\"" # keys of the port in app_config
RELAY=${TL_BUILD:-$func_root/build}/tests/relay
RELAY_NS=tl-$$-relay RELAY_APP_IF=toapp0 RELAY_PEER_IF=topeer0
func_name=$(basename "$0" _test.sh)
func_failed=0
app_pid='' peer_pid='' relay_pid=''
APP_STATUS=''

# ---- results

ok() {
	echo "ok - $func_name: $1"
}

# not_ok SENTENCE [DETAIL...]: print a failed test.
not_ok() {
	func_failed=1
	echo "not ok - $func_name: $1"
	shift
	(($# == 0)) || printf '%s\n' "$*" | sed 's/^/#   /'
}

# skip SENTENCE REASON: skip a test for an environment that lacks something, never for a failed set-up.
skip() {
	echo "skip - $func_name: $1: $2"
}

# check SENTENCE COMMAND...: print the result of the command as a test; its output is shown on failure.
check() {
	local sentence=$1 output
	shift
	if output=$("$@" 2>&1); then
		ok "$sentence"
	else
		not_ok "$sentence" "failed: $*" "$output"
	fi
}

check_equal() {
	if [[ $2 == "$3" ]]; then
		ok "$1"
	else
		not_ok "$1" "is '$2', not '$3'"
	fi
}

# check_json SENTENCE FILE FILTER: check that jq's filter returns true. jq 1.6 -e succeeds on an empty file.
check_json() {
	if [[ -s $2 ]] && jq -e "$3" "$2" >/dev/null 2>&1; then
		ok "$1"
	else
		not_ok "$1" "not true of $2: $3" "$(jq -c . "$2" 2>&1 | head -c 3000)"
	fi
}

# refuses SENTENCE TEXT COMMAND...: check that a wrong call ends with status 2, has the text in its message, and prints nothing else.
refuses() {
	local sentence=$1 text=$2 status=0
	shift 2
	"$@" >refused.txt 2>refused.log || status=$?
	if ((status == 2)) && [[ ! -s refused.txt ]] && grep -qF -- "$text" refused.log; then
		ok "$sentence"
	else
		not_ok "$sentence" "status $status: $(cat refused.txt refused.log)"
	fi
}

# is_equal_to_itself REPORT: check that a comparison with itself finds no difference. On a busy host a result may be invalid, and
# then cannot be compared, or its times too correlated for a verdict.
is_equal_to_itself() {
	jq '.valid = true | .invalid = []' "$1" >valid.json
	"$TAPLINE" latency --compare valid.json valid.json >compared.txt 2>&1 || grep -qE 'inconclusive|too few samples' compared.txt ||
		{ cat compared.txt && false; }
}

# ---- set-up and end

# func_begin: create the scratch directory (the current one from then on), and register the cleanup.
func_begin() {
	[[ -x $TAPLINE ]] || func_die "there is no $TAPLINE; build first"
	((EUID == 0)) || func_die "network namespaces need root"
	DIR=$(mktemp -d "${TMPDIR:-/tmp}/tapline-$func_name-XXXXXX")
	cd "$DIR" || exit
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
	trap func_end EXIT
}

# func_reports: check each report that the test left as a file, alone or in a page, against docs/report.schema.json.
func_reports() {
	local found status=0
	mapfile -d '' -t found < <(find "$DIR" -xdev -type f \( -name '*.json' -o -name '*.html' \) -size -64M \
		-exec grep -lZ '"schema": *"tapline:' {} + 2>/dev/null)
	((${#found[@]} > 0)) || return 0
	"$func_root/tests/lib/check_schema.py" "$func_root/docs/report.schema.json" "${found[@]}" >"$DIR/schema.txt" 2>&1 || status=$?
	case $status in
	0) ok "its reports conform to their schema ($(head -n 1 "$DIR/schema.txt"))" ;;
	3) skip "its reports conform to their schema" "python3-jsonschema is not installed" ;;
	*) not_ok "its reports conform to their schema" "$(head -n 20 "$DIR/schema.txt")" ;;
	esac
}

func_die() {
	echo "not ok - $func_name: set-up: $*"
	exit 1
}

func_end() {
	local status=$? pid
	trap '' INT TERM HUP
	set +e
	[[ $0 != */bench/* ]] || exec >&2 # a benchmark prints one JSON object
	((status != 0)) || func_reports
	((status == 0 && func_failed == 0)) || func_show_logs
	for pid in $(jobs -rp); do
		kill -s CONT "$pid"
		stop_process "$pid" TERM 5 2>/dev/null
	done
	netns_delete "$APP_NS" "$PEER_NS" "$RELAY_NS"
	cd / && rm -rf "$DIR"
	((status == 0)) && status=$func_failed
	exit "$status"
}

func_show_logs() {
	local log
	for log in "$DIR"/*.log; do
		[[ -s $log ]] || continue
		echo "# $(basename "$log"):"
		tail -n 30 "$log" | sed 's/^/#   /'
	done
}

# net_begin: create the two namespaces, joined; the kernel's end has an address, the appliance's has none.
net_begin() {
	netns_pair "$APP_NS" "$APP_IF" "$PEER_NS" "$PEER_IF"
	netns_address "$PEER_NS" "$PEER_IF" "$PEER_IP/24"
}

# net_ip6: add an IPv6 address to the kernel's end; the appliance's gets none.
net_ip6() {
	in_peer sysctl -qe -w "net.ipv6.conf.$PEER_IF.accept_dad=0" "net.ipv6.conf.$PEER_IF.accept_ra=0" \
		"net.ipv6.conf.$PEER_IF.disable_ipv6=0"
	ip -netns "$PEER_NS" -6 address add "$PEER_IP6/64" dev "$PEER_IF" nodad
}

# net_begin_relayed [OPTION...]: do the same with a bad wire between; the options define its faults (tests/lib/relay.c).
net_begin_relayed() {
	local ns
	for ns in "$APP_NS" "$PEER_NS" "$RELAY_NS"; do
		netns_create "$ns"
	done
	netns_join "$APP_NS" "$APP_IF" "$RELAY_NS" "$RELAY_APP_IF"
	netns_join "$PEER_NS" "$PEER_IF" "$RELAY_NS" "$RELAY_PEER_IF"
	netns_address "$PEER_NS" "$PEER_IF" "$PEER_IP/24"
	relay_start "$@"
}

relay_start() {
	rm -f relay.log
	ip netns exec "$RELAY_NS" "$RELAY" "$@" "$RELAY_APP_IF" "$RELAY_PEER_IF" >relay.json 2>relay.log </dev/null &
	relay_pid=$!
	wait_for 60 grep -qs 'relay: up' relay.log || func_die "the relay did not start"
}

# relay_stop: stop the relay; its counts are in relay.json.
relay_stop() {
	stop_process "$relay_pid" TERM 10
}

in_app() {
	ip netns exec "$APP_NS" "$@"
}

in_peer() {
	ip netns exec "$PEER_NS" "$@"
}

# members NAMESPACE: count the processes in a network namespace, given as readlink /proc/PID/ns/net prints it.
members() {
	find /proc -maxdepth 3 -path '/proc/[0-9]*/ns/net' -lname "${1//[\[\]]/?}" 2>/dev/null | wc -l
}

# peer_start COMMAND...: start a peer in the background; peer_pid is its process.
peer_start() {
	ip netns exec "$PEER_NS" "$@" <&0 &
	peer_pid=$!
}

# ---- the appliance

# app_config FILE [SECTION...]: write a configuration for the veth; each section is JSON text without the outer braces.
app_config() {
	local file=$1 section
	shift
	{
		echo '{"eal": {"huge": false, "memory_mb": 256},'
		echo "\"ports\": [{\"name\": \"lan\", \"device\": \"$APP_IF\", $APP_PORT_KEYS}]"
		for section in "$@"; do
			echo ", $section"
		done
		echo ', "control": {"socket": "control.sock"}}'
	} >"$file"
}

# app_start CONFIG [OPTION...]: start the appliance and wait until it is up. Its JSON goes to run.json, its messages to run.log.
app_start() {
	rm -f control.sock
	ip netns exec "$APP_NS" "$TAPLINE" run "$@" --json >run.json 2>run.log </dev/null &
	app_pid=$!
	wait_for 60 app_answers_or_is_gone || true
	! is_gone "$app_pid" || func_die "the appliance did not start"
}

# The socket exists before the ports are started; it answers when everything runs.
app_answers_or_is_gone() {
	status_is true || is_gone "$app_pid"
}

# app_stop SIGNAL: stop the appliance; APP_STATUS is its exit status.
app_stop() {
	APP_STATUS=0
	stop_process "$app_pid" "$1" 60 || APP_STATUS=$?
}

# app_kill: end the appliance without a chance to close its files. The kernel may still process its writes, and hold its file locks.
app_kill() {
	app_stop KILL 2>/dev/null
}

# app_status [FILTER]: print the status of the running appliance, filtered by jq. The appliance allows a client 200 ms: on a busy
# host that may be too short.
app_status() {
	local answer tries
	for tries in 1 2 3 4 5; do
		! answer=$("$TAPLINE" status --json --socket control.sock) || break
		((tries < 5)) || return
	done
	jq -r "${1:-.}" <<<"$answer"
}

# status_is FILTER: tell whether the filter is true for the running appliance; for wait_for.
status_is() {
	[[ $(app_status "$1" 2>/dev/null) == true ]]
}

# answers_ping: tell whether the appliance answers on the wire.
answers_ping() {
	in_peer ping -q -c 1 -W 1 "$APP_IP" >/dev/null
}

# listens PORT: tell whether a process of the peer listens on this TCP port.
listens() {
	[[ -n $(in_peer ss -Hltn "sport = :$1") ]]
}
