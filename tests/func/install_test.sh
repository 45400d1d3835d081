#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# `meson install`: every file is in its place, and there are no others.
set -euo pipefail
source "$(dirname "$0")/../lib/func.sh"
source "$func_root/tests/lib/installed.sh"

build=$(dirname "$(dirname "$TAPLINE")")

func_begin
prefix=$(meson introspect --buildoptions "$build" | jq -r '.[] | select(.name == "prefix").value')
DESTDIR=$DIR/root meson install --quiet --no-rebuild -C "$build" >install.log 2>&1 || func_die "meson install failed"
check_equal "every file is in its place, and no other exists" "$(files_below "root$prefix")" "$(installed_files | LC_ALL=C sort)"
check_equal "no file is outside the prefix" "$(find root -type f -not -path "root$prefix/*")" ""
check_equal "units start the installed program" "$(missing_programs "$DIR/root" "$prefix")" ""
check_equal "installation changes no setting of the host" "$(host_settings root)" ""
check "the installed program runs" "root$prefix/bin/tapline" --version
check "the installed program is not writable by other users" test "$(stat -c %a "root$prefix/bin/tapline")" = 755
check_equal "bash finds the completion" "$(bash -c "source root$prefix/share/bash-completion/completions/tapline; complete -p tapline")" \
	"complete -o filenames -F _tapline tapline"
for file in "$func_root"/docs/examples/*.json; do
	check "the example $(basename "$file") is a right configuration" "$TAPLINE" run --check "root$prefix/share/doc/tapline/examples/$(basename "$file")"
done
