#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Formats of a latency report: each recomputed from the samples, the page drawn by node and, if available, by a browser;
# and `tapline latency --compare`.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

LIB=$(dirname "$PEER_PY")
PAGE=$func_root/lib/measure/latency/latency.html

report() {
	"$LIB/make_report.py" "$@"
}

# compare ARG...: print its exit status; the comparison is in compare.json.
compare() {
	local status=0
	timeout 60 "$TAPLINE" latency --compare --json "$@" >compare.json 2>compare.log </dev/null || status=$?
	echo "$status"
}

forms_agree() {
	"$LIB/make_pairs.py"
	check "captures are reported in every format" timeout 60 "$TAPLINE" latency both.pcapng --trigger 'udp dst port 5001' \
		--reply 'tcp src port 5002' --csv pairs.csv --hgrm pairs.hgrm --html pairs.html --json
	timeout 60 "$TAPLINE" latency both.pcapng --trigger 'udp dst port 5001' --reply 'tcp src port 5002' --json \
		--csv pairs.csv --hgrm pairs.hgrm --html pairs.html >pairs.json 2>pairs.log
	check "JSON, percentile file and page agree with the samples of the CSV" "$LIB/check_report.py" pairs
	check_equal "written files are not readable by other users" \
		"$(stat -c %a pairs.html pairs.csv pairs.hgrm pairs.csv.manifest.json pairs.hgrm.manifest.json | sort -u)" 640
}

# shown FORM: print the text's line, without the label.
shown() {
	sed -n "s/^$1  *//p" pairs.txt
}

reports_say_how_they_came_about() {
	local call=(latency both.pcapng --trigger 'udp dst port 5001' --match 'sequence:0,0:8' --reply 'tcp src port 5002')
	"$TAPLINE" "${call[@]}" --json >manifest.json 2>manifest.log
	check_json "the manifest has the call with its arguments in order" manifest.json \
		".manifest.argv[1:] == $(printf '%s\n' "${call[@]}" --json | jq -Rs 'split("\n")[:-1]')"
	check_json "the manifest has the SHA-256 of the inputs" manifest.json \
		".manifest.inputs == [{path: \"both.pcapng\", bytes: $(stat -c %s both.pcapng), sha256: \"$(sha256sum both.pcapng | cut -d' ' -f1)\"}]"
	"$TAPLINE" latency triggers.pcap replies.pcap --trigger udp --reply tcp --match sequence:2,1:4 --json >two.json 2>manifest.log || true
	check_json "both of two files are inputs with their own offset" \
		two.json '(.manifest.inputs | map(.path)) == ["triggers.pcap", "replies.pcap"]
		and (.manifest.match | .trigger_offset == 2 and .reply_offset == 1)'
	check_json "the manifest has the matching method" \
		manifest.json '.manifest.match | .method == "sequence" and .trigger == "udp dst port 5001"
		and .reply == "tcp src port 5002" and .trigger_offset == 0 and .number_bytes == 8 and .window_ns == 1000000000'
	check_json "the manifest has the timestamp sources" \
		manifest.json '.manifest.clocks.triggers == {source: .trigger_source, unit_ns: .trigger_unit_ns,
		bound_ns: .trigger_bound_ns, bound_clock: .trigger_bound_clock} and .manifest.clocks.shown == .clocks_shown'
	check_json "the manifest has version and host" manifest.json ".manifest | .version == \"$("$TAPLINE" --version | cut -d' ' -f2)\"
		and (.host.kernel | contains(\"$(uname -r)\"))"
	check_equal "the CSV has a manifest of its own" \
		"$(jq -c '[.schema, .manifest.inputs[0].path, .file.sha256]' pairs.csv.manifest.json)" \
		"[\"tapline:manifest:1\",\"both.pcapng\",\"$(sha256sum pairs.csv | cut -d' ' -f1)\"]"
	"$TAPLINE" "${call[@]}" >pairs.txt 2>manifest.log
	check_equal "the text names the input" "$(shown input)" "SHA-256 $(sha256sum both.pcapng | cut -d' ' -f1)  both.pcapng"
	check "the text has the call, quoted for a shell" \
		grep -qF -- "${call[0]} ${call[1]} --trigger 'udp dst port 5001' --match sequence:0,0:8" pairs.txt
	"$TAPLINE" latency --compare --json manifest.json manifest.json >compared.json 2>manifest.log || true
	check_json "the manifest of a comparison names the reports" compared.json '.schema == "tapline:comparison:1"
		and (.manifest.inputs | map(.path)) == ["manifest.json", "manifest.json"]'
}

# schema_refuses SENTENCE JQ: check that the schema rejects a report modified by jq.
schema_refuses() {
	mkdir -p refused
	jq "$2" manifest.json >refused/report
	if "$LIB/check_schema.py" "$func_root/docs/report.schema.json" refused >schema.txt; then
		not_ok "$1" "$(cat schema.txt)"
	else
		ok "$1"
	fi
}

schema_is_strict() {
	if ! python3 -c 'import jsonschema' 2>/dev/null; then
		skip "the schema of reports is strict" "python3-jsonschema is not installed"
		return
	fi
	schema_refuses "the schema refuses an unknown key" '.more = 1'
	schema_refuses "the schema refuses an unknown nested key" '.quantiles.p50.more = 1'
	schema_refuses "the schema refuses an unknown key of the manifest" '.manifest.host.more = 1'
	schema_refuses "the schema refuses a missing key" 'del(.manifest)'
	schema_refuses "the schema refuses a value of another type" '.series.residuals.points[0][1] = "0"'
	schema_refuses "the schema refuses another version" '.schema = "tapline:latency:2"'
}

# parquet PYTHON...: convert pairs.csv; print the exit status.
parquet() {
	local status=0
	"$@" "$func_root/app/tapline-parquet.py" pairs.csv pairs.parquet >parquet.log 2>&1 || status=$?
	echo "$status"
}

pairs_become_parquet() {
	check_equal "without pyarrow the converter fails" "$(parquet python3 -I -S)" 2
	check "the message names the missing package" grep -q 'pip install pyarrow' parquet.log
	if ! python3 -c 'import pyarrow' 2>/dev/null; then
		skip "pairs become Parquet" "pyarrow is not installed"
		return
	fi
	check_equal "pairs are converted to Parquet" "$(parquet python3)" 0
	check "Parquet has the same values, types and manifest" "$LIB/check_parquet.py" pairs.csv pairs.parquet
	check_equal "the Parquet file is not readable by other users" "$(stat -c %a pairs.parquet)" 640
	rm pairs.parquet
	echo "1,2,3" >>pairs.csv
	check_equal "a CSV other than that of the manifest is refused" "$(parquet python3)" 1
	rm pairs.csv.manifest.json
	check_equal "a CSV with a damaged line is refused" "$(parquet python3)" 1
	check_equal "no output remains" "$(find . -name 'pairs.parquet*')" ""
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
	drawn "the page of matched captures is drawn" pairs.html '.shapes > 50 and .sections[:3] == ["Percentiles", "Histogram", "Over time"]'
	drawn "the page states that there are no samples" none.html '.shapes == 0 and .sections[0] == "No samples"'
	drawn "the page of costs alone has no section of samples" costs.html '.sections == ["Cost of recording", "round trip"]'
	drawn "the page of one sample is drawn" one.html '.shapes >= 5'
	drawn "the page of many samples is drawn" many.html '.shapes > 50'
	drawn "the page of a complete report has every section" full.html '.sections == ["Percentiles", "Histogram", "Over time",
		"Residuals", "Autocorrelation", "Stages", "Payload", "Rate", "Cost of recording", "round trip", "Outliers", "Counts",
		"Host and run", "Manifest"]
		and (.head | contains("with loss: > 1.000 ms") and contains("late: the measuring program was late") and contains("clocks: one"))
		and (.text | contains("; the last 2,000 of 20,000"))
		and (.head | contains("95 %: 941 ns – 957 ns")) and (.text | contains("most, number 1999: +") and contains("the run does not settle")
		and contains("worth as many independent samples: p50 814") and contains("argvtapline "))
		and (.text | contains("[unbounded]") and contains("Invalid: the sender was late") and contains("with joint intervals for all 6"))
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
		check "a browser renders the page of $kind" grep -q 'data-drawn="yes"' "$kind.dom"
	done
}

comparisons() {
	report many seed=1 >a.json
	report many seed=2 >same.json
	report many seed=3 shift_ns=20 >slower.json
	report many seed=4 samples=15 >few.json
	report full >invalid.json
	check_equal "two runs of the same are not different" "$(compare a.json same.json)" 0
	check_json "and every quantile is judged so" compare.json '.verdict == "same" and .no_verdict == null and (.quantiles | length > 0 and all(.verdict == "same"))'
	check_equal "20 ns more of 950 end with status 1" "$(compare a.json slower.json)" 1
	check_json "and the interval of p50 holds them" compare.json '.verdict == "slower" and (.quantiles[0] |
		.quantile == "p50" and .low_ns > 10 and .low_ns <= 20 and .high_ns >= 20 and .high_ns < 30)'
	report many seed=3 shift_ns=20 page="$PAGE" >slower.html
	check_equal "a page is accepted as a report" "$(compare a.json slower.html)" 1
	check_equal "an improvement of 20 ns has exit status 0" "$(compare slower.json a.json)" 0
	check_json "the improvement is reported as faster" compare.json '.verdict == "faster"'
	check_equal "a threshold of 40 ns accepts the shift" "$(compare a.json slower.json --threshold 40ns)" 0
	check_equal "a threshold of 1 % rejects the shift" "$(compare a.json slower.json --threshold 1%)" 1
	check_equal "15 samples are too few for any quantile" "$(compare a.json few.json)" 2
	check_json "and each is reported" compare.json '.quantiles | length > 0 and all(.verdict == "too few samples" and .diff_ns == null)'
	report many seed=5 drift_ns=400 >drifts.json
	check_equal "a run too short for its correlation time gets no verdict" "$(compare a.json drifts.json)" 2
	check_json "the figures and the reason are reported" compare.json '.verdict == "inconclusive" and
		(.no_verdict | test("too short for how slowly it changes: measure ten times as long, or compare several runs")) and
		(.quantiles[0] | .verdict == "inconclusive" and .diff_ns == null and .b_effective < 100)'
	check "the reason is printed on standard error" grep -q 'error: a run is too short for how slowly it changes' compare.log
	check_equal "an invalid result is not compared" "$(compare a.json invalid.json)" 2
	check "the reason of invalidity is reported" grep -q 'invalid.json: .*the sender was late' compare.log
	check_equal "--force does not compare an invalid result" "$(compare --force a.json invalid.json)" 2
	echo '{"verdict": 1}' >other.json
	check_equal "other JSON is refused" "$(compare a.json other.json)" 2
	check "the message names the file" grep -q 'other.json' compare.log
	check_equal "an invalid threshold is refused" "$(compare a.json same.json --threshold 5parsec)" 2
	check "the table has the verdict" bash -c "'$TAPLINE' latency --compare a.json same.json | grep -q 'verdict: B is not shown to differ'"
}

# refused SENTENCE WORDS FILE: check the rejection by name, unless forced.
refused() {
	check_equal "$1 are refused" "$(compare a.json "$3")" 2
	check "both values are reported" grep -q -- "$2.*: measure both alike, or give --force" compare.log
	check_equal "--force compares them" "$(compare --force a.json "$3")" 0
	check_json "the comparison reports the difference in parameters" compare.json ".differs | contains(\"$2\")"
}

unlike_reports_are_refused() {
	report many seed=5 method=software >software.json
	report many seed=5 payload_bytes=64 >p64.json
	report many seed=1 payload_bytes=16 >a.json
	refused "two methods" "method is two-port in a.json and software in software.json" software.json
	refused "two sizes of payloads" "payload_bytes is 16 in a.json and 64 in p64.json" p64.json
	jq '.series.span_ns *= 2' same.json >half.json
	refused "two rates" "measured rate" half.json
	jq '.reply_source = "kernel"' same.json >kernel.json
	refused "two sources of stamps" "reply_source is nic-rx in a.json and kernel" kernel.json
}

lost_replies_count() {
	report many seed=1 shift_ns=100 >a.json
	report many seed=2 lost=300 >lossy.json
	check_equal "a side that lost its slowest replies is slower" "$(compare a.json lossy.json)" 1
	check_json "p99 is in the range of lost triggers" compare.json '.b_lost == 300 and .answered.verdict == "slower" and
		(.quantiles[0].verdict == "faster") and (.quantiles[2] | .b_ns == null and .high_ns == null and .verdict == "slower")'
	report many seed=2 lost=60 lost_at=once >burst.json
	check_equal "60 simultaneous losses count as one event and do not change the status" "$(compare same.json burst.json)" 0
	check_json "the effective number of losses is reported" \
		compare.json '.b_lost == 60 and .answered.verdict == "same" and .answered.b_effective < 1000'
	jq 'del(.series.blocks[][6])' burst.json >undated.json
	check_equal "without times of losses there is no verdict" "$(compare same.json undated.json)" 2
	check "the reason is reported" grep -q 'the times of its losses' compare.log
	jq 'del(.unmatched_triggers, .series.blocks[][6])' same.json >uncounted.json
	check_equal "a report without a loss count has exit status 0" "$(compare a.json uncounted.json)" 0
	check_json "the side without a loss count is not called faster" \
		compare.json '.counted == false and .verdict == "same" and .quantiles[0].verdict == "faster"'
	check "the table states the reason" bash -c "'$TAPLINE' latency --compare a.json uncounted.json | grep -q 'answered unknown'"
}

# Up to 5 % of the pairs of equal series may be called different.
dependent_samples_are_not_taken_for_independent() {
	local pair differ=0
	for pair in {1..20}; do
		report dependent "seed=$pair" >dependent_a.json
		report dependent "seed=$((100 + pair))" >dependent_b.json
		compare dependent_a.json dependent_b.json >status
		jq -e '.verdict != "same"' compare.json >/dev/null && differ=$((differ + 1))
	done
	check "of 20 pairs of equal, correlated series at most 3 differ, not $differ" test "$differ" -le 3
	check_json "the effective sample size of 20,000 is some hundred" \
		compare.json '.a_samples == 20000 and .quantiles[0].a_effective < 2000'
	jq 'del(.series.blocks)' dependent_a.json >unordered.json
	check_equal "without sample order there is no verdict" "$(compare unordered.json dependent_b.json)" 2
	check "the message has a remedy" grep -q 'compare several runs' compare.log
}

coarse_stamps_show_no_small_differences() {
	report many seed=1 unit_ns=1000 shift_ns=30 >coarse_a.json
	report many seed=2 unit_ns=1000 shift_ns=70 >coarse_b.json
	check_equal "40 ns between microsecond stamps are not a difference" "$(compare coarse_a.json coarse_b.json)" 0
	check_json "the difference is below the resolution" compare.json '.stamps_ns == 4000 and .quantiles[0].diff_ns == 1000'
}

several_runs() {
	local i
	for i in 1 2 3; do
		report many "seed=1$i" "shift_ns=$((10 * i))" >"a$i.json"
		report many "seed=2$i" "shift_ns=$((10 * i + 5))" >"b$i.json"
		report many "seed=3$i" "shift_ns=$((10 * i + 400))" >"c$i.json"
	done
	check_equal "several runs of each are compared" "$(compare a1.json a2.json a3.json -- b1.json b2.json b3.json)" 0
	check_json "they are compared by their variance" \
		compare.json '.a_runs == 3 and .b_runs == 3 and .quantiles[0].a_effective == 3 and .verdict == "same"'
	check_equal "a slower side is found slower" "$(compare a1.json a2.json a3.json -- c1.json c2.json c3.json)" 1
	jq 'del(.series.blocks)' c1.json >c0.json
	check_equal "several runs are compared without sample order" "$(compare a1.json a2.json a3.json -- c0.json c2.json c3.json)" 1
	check_equal "one run is not compared with several" "$(compare a1.json -- b1.json b2.json)" 2
	check_equal "three reports without -- are refused" "$(compare a1.json a2.json b1.json)" 2
	check_equal "-- is accepted between two reports" "$(compare a1.json -- b1.json)" 0
	check_equal "an empty side is refused" "$(compare -- b1.json b2.json)" 2
}

func_begin
forms_agree
reports_say_how_they_came_about
schema_is_strict
pages_draw
browser_draws
comparisons
unlike_reports_are_refused
lost_replies_count
dependent_samples_are_not_taken_for_independent
coarse_stamps_show_no_small_differences
several_runs
pairs_become_parquet
