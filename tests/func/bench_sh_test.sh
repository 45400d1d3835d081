#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# tools/bench.sh: evaluation of the runs' output, comparison, documents, and exit status. The measured values do not
# matter here.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

bench=$func_root/tools/bench.sh
figures=$func_root/tools/lib/bench.py

# made_sample FILE STEAL OTHERS OURS MHZ: write a sample of the host after that many ticks of 1000.
made_sample() {
	printf '0m0.000s 0m0.000s\n0m%s.000s 0m0.000s\ncpu  %d 0 0 %d 0 0 0 %d 0 0\ncpu MHz\t\t: %s\n' $(($4 / 100)) $((1000 + $3 + $4)) \
		$((1000 - $2 - $3 - $4)) "$2" "$5" >"$1"
}

# made_run RUN STEAL OTHERS OURS MHZ
made_run() {
	made_sample "raw/$1.before" 0 0 0 2000
	made_sample "raw/$1.after" "${@:2}"
	sed -i 's/^cpu  1000 0 0 1000/cpu  1000 0 0 0/' "raw/$1.before"
}

# made_capture RUN OURS LOW HIGH REFERENCE
made_capture() {
	jq -n --arg name "$1" --argjson ours "$2" --argjson low "$3" --argjson high "$4" --argjson reference "$5" '
		{rounds: 3, scenarios: [{$name, ours_pps: $ours, ours_bps: ($ours * 60), reference: "peer",
		reference_pps: $reference, reference_bps: ($reference * 60),
		ours_pps_range: [$low, $high], reference_pps_range: [$reference, $reference]}]}' >"raw/$1.json"
}

# made_round KERNELS OURS MORE: print a round of the demo.
made_round() {
	jq -n "{kernel_socat: {rtt_ns: {p50: $1}}, Tapline_default: {rtt_ns: {p50: $2}}} + $3"
}

makes_a_result() {
	mkdir raw
	echo '{"cpu": "made up"}' >raw/host.json
	echo '{"above_null": {"instructions": 300}, "stages": {"instructions": 20}, "scenarios": []}' >raw/path.json
	made_run path 0 900 100 2000
	jq -n '{scenarios: [{name: "connections-1", instructions_per_pkt: 100, ns_per_pkt: 10},
		{name: "connections-1000", instructions_per_pkt: 101, ns_per_pkt: 20}],
		figures: [{name: "tcp-echo-instructions", value: 190}]}' >raw/connections.json
	jq -n '{scenarios: [{name: "files-1", instructions_per_pkt: 73, ns_per_pkt: 10},
		{name: "files-1000", instructions_per_pkt: 74, ns_per_pkt: 20},
		{name: "age-first-tenth", instructions_per_pkt: 75, ns_per_pkt: 20}]}' >raw/record.json
	jq -n '{rounds: 3, scenarios: [{name: "run-echoes-1", start_ms: 50, start_ms_range: [40, 55], memory_mib: 30},
		{name: "run-echoes-1000", start_ms: 200, start_ms_range: [200, 200], memory_mib: 500}]}' >raw/startup.json
	made_run startup 0 0 900 2000
	jq -n '{rounds: [900, 1000 | {ours: {lateness_undisturbed_ns: {p99: .}}}], p99_ns: 1000, spin_p99_ns: 600}' >raw/replay.json
	made_run replay 0 0 900 2000
	made_capture null-60 2000000 1900000 2100000 4000000
	made_run null-60 0 0 900 2000
	made_capture disk-1514 100 90 110 200
	made_run disk-1514 20 0 900 2000
	made_capture dummy-60 100 50 110 200
	made_run dummy-60 0 60 900 2100
	echo "tcpdump is not installed" >raw/veth-tcpdump.why
	made_round 40000 20000 '{why: {Tapline_AF_XDP_polling: "no AF_XDP"}}' >raw/demo.1.json
	made_round 50000 22000 '{}' >raw/demo.2.json
	made_run demo 0 0 900 2000
	echo '# our_trial 1000000 pps: 1000000 recorded per second, 0 lost' >raw/paced.log
	echo '# dumpcap_trial 2000000 pps: 1500000 recorded per second, 500000 lost' >>raw/paced.log
	"$figures" result '*' full raw . >table.txt
	check_json "a result has the host and, per figure, name, value, unit, reference, ratio and noisy" result.json \
		'.host.cpu == "made up" and (.quick | not) and (.figures | length) == '"$("$figures" list | wc -l)"' and
		all(.figures[]; (.name | length > 0) and (.value == null or (.value | type) == "number") and (.unit | length > 0) and
			has("reference") and has("ratio") and (.noisy | type) == "boolean")'
	has "a figure has its value, that of its reference and the ratio" null-60 \
		'.value == 2000000 and .reference == {name: "peer", value: 4000000} and .ratio == 0.5 and (.noisy | not) and .spread == 0.1'
	has "a round trip is the median of its rounds, compared with the kernel's in the same rounds" demo-default-p50 \
		'.value == 21000 and .reference == {name: "socat", value: 45000} and .ratio == 0.467'
	has "an unavailable figure is null with the reason" veth-tcpdump \
		'.value == null and .why == "tcpdump is not installed" and .ratio == null'
	has "a system that did not start has a separate reason" demo-xdp-p50 '.value == null and (.why | endswith("no AF_XDP"))'
	has "a figure missing from its benchmark is named" pure-ack-instructions '.value == null and (.why | test("no figure pure-ack"))'
	has "a figure of scale is that of its scenario" record-files-1000-instructions '.value == 74'
	has "a figure listed by its benchmark is copied" tcp-echo-instructions '.value == 190'
	has "the start of an appliance has the spread of its rounds" start-echoes-1 '.value == 50000000 and .spread == 0.2 and .unit == "ns"'
	has "the lateness of a replay is beside that of a thread that only waits" replay-late-p99 '.value == 1000 and .spread == 0.1 and
		.reference == {name: "thread that only waits", value: 600} and .unit == "ns"'
	has "the memory of an appliance is in bytes" memory-echoes-1000 '.value == 524288000 and .unit == "B"'
	has "steal makes a figure noisy" disk-1514 '.noisy and .noise == ["steal 2.0%"]'
	has "other processes, a changed frequency and differing rounds make a figure noisy" dummy-60 '.noise ==
		["other processes 6.0%", "change of frequency 5.0%", "rounds differ by 55%"]'
	has "an instruction count is never noisy" echo-above-null-instructions '.value == 300 and (.noisy | not)'
	check "the table has a line for each figure" [ "$(wc -l <table.txt)" = $((1 + $("$figures" list | wc -l))) ]
	check "the page is well-formed and loads no external resource" page_is_self_contained
}

# has SENTENCE NAME CONDITION: check the figure.
has() {
	check_json "$1" result.json ".figures[] | select(.name == \"$2\") | $3"
}

page_is_self_contained() {
	python3 - <<-'END'
		import re, xml.dom.minidom
		text = open("index.html", encoding="utf-8").read()
		drawn = re.findall(r"<svg.*?</svg>", text, re.S)
		assert len(drawn) == 5, drawn
		assert ">files<" in text and ">connections<" in text and ">1000<" in text
		assert text.count(">run-echoes<") == 1 and "MiB of memory" in text and "500 MiB" in text
		for one in drawn:
		    xml.dom.minidom.parseString(one)
		assert not re.search(r"(src|href)=|url\(|@import|https?://(?!www.w3.org/2000/svg)", text)
		assert "2 Mpps" in text or "2.00 Mpps" in text
	END
}

# compared SENTENCE STATUS TEXT CHANGE...: compare result.json with a copy modified by jq's CHANGE.
compared() {
	local sentence=$1 expected=$2 text=$3 status=0
	jq "(.figures[] | select(.name == \"$4\")) |= ($5)" result.json >new.json
	"$figures" compare result.json new.json >compared.txt 2>&1 || status=$?
	if ((status == expected)) && grep -qE -- "$text" compared.txt; then
		ok "$sentence"
	else
		not_ok "$sentence" "status $status: $(<compared.txt)"
	fi
}

compares() {
	local count=echo-above-null-instructions
	compared "a result compared with itself shows no difference" 0 '^0 of' null-60 .
	compared "3 % more instructions count as slower" 1 "^slower: $count: value 300 became 309" "$count" '.value = 309'
	compared "1 % more instructions do not count as slower" 0 '^0 of' "$count" '.value = 303'
	compared "fewer instructions count as faster" 0 "^faster: $count" "$count" '.value = 200'
	compared "a rate lower by more than both spreads counts as slower" 1 '^slower: null-60: ratio 0.5 became 0.39' null-60 '.ratio = 0.39'
	compared "a rate lower by less than both spreads does not count as slower" 0 '^0 of' null-60 '.ratio = 0.43'
	compared "a rate of 0 counts as slower" 1 '^slower: null-60' null-60 '.value = 0 | .ratio = 0 | .reference = null'
	compared "a longer time counts as slower" 1 '^slower: demo-default-p50' demo-default-p50 '.ratio = 0.9'
	compared "a shorter time counts as faster" 0 '^faster: demo-default-p50' demo-default-p50 '.ratio = 0.2'
	compared "ratios are compared, not absolute values" 0 '^0 of' null-60 '.value = 1000000'
	compared "a noisy figure gets no verdict" 0 '^not judged: null-60: noisy: steal' null-60 \
		'.ratio = 0.1 | .noisy = true | .noise = ["steal 9%"]'
	compared "an unavailable figure gets no verdict, with the reason" 0 '^not judged: null-60: no disk' null-60 '.value = null | .why = "no disk"'
	jq 'del(.figures)' result.json >new.json
	refuses "a file that is not a result is refused" "no result of tools/bench.sh" "$figures" compare result.json new.json
}

# counted N: check a count of N above the null echo, where 300 are committed; print what differs, and return 3 without counts.
counted() {
	jq -n --argjson n "$1" '{above_null: {instructions: $n}, stages: {instructions: 20}, scenarios: []}' >counted.json
	"$figures" check-counts path counted.json "$TAPLINE" counts.json
}

commits_counts() {
	local status=0
	counted 300 >/dev/null || status=$?
	check_equal "without committed counts for this compiler there is no verdict" "$status" 3
	"$figures" write-counts result.json "$TAPLINE" counts.json
	check_json "only instruction counts are written, by compiler and DPDK version" counts.json \
		'length == 1 and (keys[0] | test("^(gcc|clang)-[0-9]+ dpdk-[0-9.]+$")) and
		.[] == {"connections-1-instructions": 100, "connections-1000-instructions": 101, "echo-above-null-instructions": 300, "echo-stages-instructions": 20,
			"record-files-1-instructions": 73, "record-files-1000-instructions": 74, "tcp-echo-instructions": 190}'
	check "an instruction count 1 % above the committed one passes" counted 303
	check "an instruction count 3 % above the committed one fails" fails counted 309
	check "an instruction count 3 % below the committed one fails, so that a gain is committed" fails counted 291
	jq '.[]."connections-1000000-instructions" = 408' counts.json >more.json
	check "a count that only a complete run has is not demanded from a short one" \
		"$figures" check-counts connections raw/connections.json "$TAPLINE" more.json
}

wrong_calls() {
	refuses "an unknown option is refused" "usage: tools/bench.sh" "$bench" --fast
	refuses "an option without a value is refused" "usage: tools/bench.sh" "$bench" --only
	refuses "an unknown figure is refused" "--only nothing: no such figure" "$bench" --only nothing
	refuses "a missing old result is refused" "--compare nothing.json: no such file" "$bench" --compare nothing.json
}

writes_documents() {
	mkdir -p tree/docs
	cp "$func_root/README.md" tree/
	cp "$func_root/docs/benchmarks.md" tree/docs/
	"$figures" write-docs result.json tree >docs.log 2>&1 || true
	check "figures with host and date are inserted into the documents between their marks" grep -qE \
		"^Measured by .tools/bench.sh.: $(date -u +%Y)-[0-9-]*, made up, " tree/README.md tree/docs/benchmarks.md
	check "the table of benchmarks.md has all figures" grep -qE \
		'^\| 60-byte frames to no file \| 2.00 Mpps \| 4.00 Mpps, peer \| 0.5 \|' tree/docs/benchmarks.md
	check "noisy figures are marked in the table" grep -qE '^\| 1514-byte frames to disk \| .* \(noisy: steal 2.0%\) \|' tree/README.md
	check_equal "the rest of the page is unchanged" "$(sed '/<!-- tools/,/<!-- end/d' tree/README.md)" \
		"$(sed '/<!-- tools/,/<!-- end/d' "$func_root/README.md")"
	cp tree/README.md before.md
	"$figures" write-docs result.json tree
	check "a second update changes nothing" cmp before.md tree/README.md
	jq '.quick = true' result.json >quick.json
	check "a quick result is not written to the documents" fails "$figures" write-docs quick.json tree
}

fails() {
	! "$@"
}

# A run with namespaces and processes.
ends_when_interrupted() {
	local status=0 pid below
	setsid env --default-signal=INT TL_BUILD="$(dirname "$(dirname "$TAPLINE")")" "$bench" --only residence-recorded --out interrupted \
		>interrupted.txt 2>bench.log </dev/null &
	pid=$!
	wait_for 60 grep -qs 'round 1' interrupted/raw/residence.log || func_die "the measurement did not begin"
	below=$(ip netns list | sed -n 's/^tapline-\([0-9]*\)-app.*/\1/p' | while read -r one; do ! is_below "$one" "$pid" || echo "$one"; done)
	check "a measurement runs in its own namespaces" [ -n "$below" ]
	kill -s INT "$pid"
	wait "$pid" || status=$?
	check_equal "an interrupted measurement ends with status 130" "$status" 130
	check_equal "an interrupted measurement leaves no namespace" "$(ip netns list | grep -c "^tapline-$below-" || true)" 0
	check "an interrupted measurement leaves no process" is_gone "$below"
	check_json "an interrupted measurement writes the figures measured so far" interrupted/result.json \
		'(.figures | length) == 1 and all(.figures[]; .value == null and .why == "interrupted before its end")'
}

# is_below PID ANCESTOR
is_below() {
	local pid=$1
	while ((pid > 1)); do
		[[ $pid != "$2" ]] || return 0
		pid=$(ps -o ppid= -p "$pid" | tr -d ' ')
		[[ -n $pid ]] || return 1
	done
	return 1
}

starts_by_scale() {
	TL_BUILD=$(dirname "$(dirname "$TAPLINE")") "$func_root/tests/bench/startup.py" 1 echoes >startup.json 2>bench.log || true
	check_json "an appliance of 1, 100 and 1,000 echoes starts, with 450 KiB of memory per echo" startup.json \
		'[.scenarios[] | .memory_mib] | length == 3 and .[2] - .[0] > 400 and .[2] - .[0] < 700'
	check_json "and the time to start is reported" startup.json 'all(.scenarios[]; .start_ms > 0 and .start_ms <= .start_ms_range[1])'
}

# Measure the cheapest figure.
measures() {
	local status=0
	mkdir out
	cp result.json out/
	TL_BUILD=$(dirname "$(dirname "$TAPLINE")") "$bench" --quick --only digest-sha256 --out out --compare out/result.json \
		>measured.txt 2>bench.log || status=$?
	check_equal "a single figure is measured and compared with the result it replaces" "$status" 0
	check_json "no other figure is measured" out/result.json '.quick and (.figures | length) == 1 and
		(.figures[0] | .name == "digest-sha256" and .value > 0) and (.host | .cpus > 0 and (.dpdk | length > 0))'
	check "the page is written" grep -q digest-sha256 out/index.html
	check "the comparison reports that there is no earlier result" grep -q \
		'^not judged: digest-sha256: the old result has no value' measured.txt
}

func_begin
makes_a_result
compares
commits_counts
wrong_calls
writes_documents
ends_when_interrupted
starts_by_scale
measures
