# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Parse the options of a script. Sourced by scripts that define usage().

# read_options NAME... -- ARG...: set the variable of each option among ARG: seconds to 5 for --seconds 5, quick to true for
# --quick. Names are "--seconds=" for an option with a value, "--quick" for a switch. --help prints usage() and ends the
# script; any other argument does with status 2.
read_options() {
	local names=' ' name
	for (( ; $#; )); do
		name=$1
		shift
		[[ $name != -- ]] || break
		names+="$name "
	done
	while (($#)); do
		name=${1#--}
		name=${name//-/_}
		if [[ $1 == --help ]]; then
			usage
			exit
		elif [[ $1 == --[a-z]* && $names == *" $1 "* ]]; then
			declare -g "$name=true"
		elif [[ $1 == --[a-z]* && $names == *" $1= "* ]] && (($# >= 2)); then
			declare -g "$name=$2"
			shift
		else
			usage >&2
			exit 2
		fi
		shift
	done
}
