#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The accepted options of a command are those of its help, its man page and the shells' completions.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"

docs=$(dirname "$(dirname "$TAPLINE")")/docs

# options_of COMMAND: print its options, from the table.
options_of() {
	jq -r --arg name "$1" '.[] | select(.name == $name).options[].name | values' table.json | sort
}

in_help() {
	"$TAPLINE" "$1" --help | sed -n 's/^  \(-[a-zA-Z],\|   \) --\([a-z-]\+\).*/\2/p' | sort
}

in_page() {
	sed -n '/^\.SH OPTIONS/,/^\.SH EXIT/p' "$docs/tapline-$1.1" | sed 's/\\-/-/g' | sed -n '/^\.TP$/{n;s/.*--\([a-z-]\+\)\\fR.*/\1/p}' | sort
}

# complete_words WORD...: print completions of the last one.
complete_words() (
	# shellcheck source=/dev/null # it is generated
	source "$docs/tapline"
	COMP_WORDS=(tapline "$@")
	COMP_CWORD=$#
	_tapline
	printf '%s\n' "${COMPREPLY[@]}"
)

in_completion() {
	complete_words "$1" -- | sed 's/^--//' | sort
}

# mentioned_but_gone: print options that pages mention and no command has.
mentioned_but_gone() {
	local page
	for page in "$docs"/tapline-*.1 "$func_root/docs/man/tapline.1"; do
		sed '/^\.nf/,/^\.fi/d; s/\\-/-/g' "$page" | grep -oP '(?<![\w-])--[a-z][a-z-]*[a-z]' | sort -u | sed 's/^--//' |
			grep -vxFf <(jq -r '.[].options[].name | values' table.json; echo version; echo rotate-) | sed "s|^|$(basename "$page"): --|" || true
	done
}

commands_in() {
	case $1 in
	help) "$TAPLINE" --help | sed -n 's/^  \([a-z]\+\) .*/\1/p' ;;
	page) sed -n 's/^\.BR \([a-z]\+\) ", see ".*/\1/p' "$func_root/docs/man/tapline.1" ;;
	completion) complete_words '' | grep -v '^-' ;;
	esac | sort -u
}

# unlike_the_schema: print options of capture whose values, or default, differ from those of the key of that name.
unlike_the_schema() {
	jq -r --slurpfile schema "$func_root/docs/config.schema.json" '
		($schema[0].properties | .ports.items.properties + .capture.items.properties +
			.capture.items.properties.trigger.properties) as $keys |
		.[] | select(.name == "capture").options[] | . as $option | $keys[.name // "" | gsub("-"; "_")] // empty |
		select((.enum and ((.enum | sort) != ($option.choices | split(" ") | sort) or
			(.default as $word | $option.help | contains("\($word) (default)") | not))) or
			($option.help | (capture("\\(default (?<word>[0-9]+[KMG]?)\\b").word // empty)) != "\(.default)") |
		$option.name' table.json
}

func_begin
[[ -e $docs/tapline ]] || func_die "there is no $docs/tapline; build everything first"
"$TAPLINE" --dump-options >table.json || func_die "no table"
commands=$(jq -r '.[].name' table.json | sort)
for place in help page completion; do
	check_equal "every command is in the $place, and no other" "$(commands_in "$place")" "$commands"
done
for command in $commands; do
	want=$(options_of "$command")
	check_equal "$command: every option is in the help, and no other" "$(in_help "$command")" "$want"
	check_equal "$command: every option is in the man page, and no other" "$(in_page "$command")" "$want"
	check_equal "$command: every option is completed, and no other" "$(in_completion "$command")" "$want"
done
check_equal "capture: an option has the values and default of its key" "$(unlike_the_schema)" ""
check_equal "the documentation mentions no unknown option" "$(mentioned_but_gone)" ""
check_equal "groff reports no error in the pages" "$(groff -man -ww -z -Tutf8 "$docs"/tapline-*.1 2>&1)" ""
check_equal "a command is completed" "$(complete_words cap)" capture
check_equal "values are completed" "$(complete_words capture --direction '')" $'rx\ntx\nboth'
touch 'a file.json'
check_equal "file names with spaces are completed" "$(complete_words run 'a f')" "a file.json"
check_equal "a number is not completed" "$(complete_words capture --count '')" ""
if command -v zsh >/dev/null; then
	check "zsh accepts its completion" zsh -n "$docs/_tapline"
else
	skip "zsh reads its completion" "there is no zsh"
fi
