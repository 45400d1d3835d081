# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Configurations with a section "replay", and their errors. Sourced behind func.sh by suites that set ports_json: the entries of
# "ports" in two lines, lines 2 and 3 of the file.

# config ENTRIES [SECTION...]: print a configuration with these entries of "replay", which begin in line 5.
config() {
	local section
	echo '{"eal": {"huge": false, "memory_mb": 512},'
	echo "\"ports\": [$ports_json],"
	echo '"replay": ['
	echo "$1]"
	shift
	for section in "$@"; do
		echo ", $section"
	done
	echo ', "control": {"socket": "control.sock"}}'
}

# refused SENTENCE TEXT ENTRIES [SECTION...]: the configuration is refused, with this text behind the file's name.
refused() {
	local sentence=$1 text=$2
	shift 2
	config "$@" >wrong.json
	refuses "$sentence" "wrong.json:$text" in_app "$TAPLINE" run wrong.json --json
}
