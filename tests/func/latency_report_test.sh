#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The forms of a latency report: each computed a second time from the samples, the page drawn by node and, where there is one, by
# a browser; and `tapline latency --compare`.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

LIB=$(dirname "$PEER_PY")
PAGE=$func_root/lib/latency/latency.html

report() {
	"$LIB/make_report.py" "$@"
}

# compare A B ARG...: its exit status; the comparison is in compare.json.
compare() {
	local status=0
	timeout 60 "$TAPLINE" latency --compare "$1" "$2" --json "${@:3}" >compare.json 2>compare.log </dev/null || status=$?
	echo "$status"
}

forms_agree() {
	"$LIB/make_pairs.py"
	check "captures become a report in every form" timeout 60 "$TAPLINE" latency both.pcapng --trigger 'udp dst port 5001' \
		--reply 'tcp src port 5002' --csv pairs.csv --hgrm pairs.hgrm --html pairs.html --json
	timeout 60 "$TAPLINE" latency both.pcapng --trigger 'udp dst port 5001' --reply 'tcp src port 5002' --json \
		--csv pairs.csv --hgrm pairs.hgrm --html pairs.html >pairs.json 2>pairs.log
	check "JSON, percentile file and the JSON in the page follow from the samples of the CSV" "$LIB/check_report.py" pairs
	check_equal "what is written is not for everybody" "$(stat -c %a pairs.html pairs.csv pairs.hgrm | sort -u)" 640
}

# drawn SENTENCE PAGE FILTER
drawn() {
	local width
	for width in 300 1200; do
		node "$LIB/draw_page.js" "$2" "$width" >drawn.json 2>drawn.log || true
		check_json "$1, $width pixels wide" drawn.json ".drawn and .no_numbers == [] and ($3)"
	done
}

pages_draw() {
	local kind
	for kind in none costs one many full; do
		report "$kind" page="$PAGE" >"$kind.html"
	done
	if ! command -v node >/dev/null; then
		skip "pages draw" "there is no node"
		return
	fi
	drawn "the page of matched captures draws" pairs.html '.shapes > 50 and .sections[:3] == ["Percentiles", "Histogram", "Over time"]'
	drawn "the page of no samples says so" none.html '.shapes == 0 and .sections[0] == "No samples"'
	drawn "the page of costs alone shows no samples, nor that there are none" costs.html '.sections == ["Cost of recording"]'
	drawn "the page of one sample draws" one.html '.shapes >= 5'
	drawn "the page of many samples draws" many.html '.shapes > 50'
	drawn "the page of all that can be measured draws every part" full.html '.sections == ["Percentiles", "Histogram", "Over time",
		"Stages", "Payload", "Rate", "Cost of recording", "Outliers", "Counts", "Host and run"]
		and (.head | contains("with loss: > 1.000 ms") and contains("late: what measured was late itself") and contains("clocks: one"))
		and (.text | contains("; the last 2,000 of 20,000"))
		and (.text | contains("p50 grows by 1.5 ns per byte") and contains("<b>isolcpus=1</b>"))'
}

browser_draws() {
	local browser kind
	browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
	if [[ -z $browser ]]; then
		skip "a browser draws the pages" "there is no chromium"
		return
	fi
	for kind in none one full; do
		timeout -k 5 60 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$DIR/browser" --dump-dom \
			"file://$DIR/$kind.html" >"$kind.dom" 2>browser.log || true
		check "a browser draws the page of $kind" grep -q 'data-drawn="yes"' "$kind.dom"
	done
}

comparisons() {
	report many seed=1 >a.json
	report many seed=2 >same.json
	report many seed=3 shift_ns=20 >slower.json
	report many seed=4 samples=15 >few.json
	report many seed=5 method=software >software.json
	report full >invalid.json
	check_equal "two runs of the same are not different" "$(compare a.json same.json)" 0
	check_json "and every quantile is judged so" compare.json '.verdict == "same" and all(.quantiles[]; .verdict == "same")'
	check_equal "20 ns more of 950 end with status 1" "$(compare a.json slower.json)" 1
	check_json "and the interval of p50 holds them" compare.json '.verdict == "slower" and (.quantiles[0] |
		.quantile == "p50" and .low_ns > 10 and .low_ns <= 20 and .high_ns >= 20 and .high_ns < 30)'
	report many seed=3 shift_ns=20 page="$PAGE" >slower.html
	check_equal "a page is a report, too" "$(compare a.json slower.html)" 1
	check_equal "20 ns less are no reason to refuse" "$(compare slower.json a.json)" 0
	check_json "and are called faster" compare.json '.verdict == "faster"'
	jq '.unmatched_triggers = 7' same.json >lost.json
	check_equal "triggers without a reply are no latency" "$(compare a.json lost.json)" 0
	check "but are told" grep -q '7 triggers of B have no reply, of A 0' compare.log
	check_equal "a threshold of 40 ns lets them pass" "$(compare a.json slower.json --threshold 40ns)" 0
	check_equal "a threshold of 1 % does not" "$(compare a.json slower.json --threshold 1%)" 1
	check_equal "15 samples are too few for any quantile" "$(compare a.json few.json)" 2
	check_json "and that is said of each" compare.json 'all(.quantiles[]; .verdict == "too few samples" and .diff_ns == null)'
	check_equal "an invalid result is not compared" "$(compare a.json invalid.json)" 2
	check "and its reason is told" grep -q 'the sender was late' compare.log
	check_equal "nor are two methods" "$(compare a.json software.json)" 2
	echo '{"verdict": 1}' >other.json
	check_equal "another JSON is refused" "$(compare a.json other.json)" 2
	check "with the file's name" grep -q 'other.json' compare.log
	check_equal "a wrong threshold is refused" "$(compare a.json same.json --threshold 5parsec)" 2
	check "the table says the verdict" bash -c "'$TAPLINE' latency --compare a.json same.json | grep -q 'verdict: B is not shown to differ'"
}

func_begin
forms_agree
pages_draw
browser_draws
comparisons
