# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
# Check the contents of an installation. Sourced by tests of installations, which have func.sh and $TAPLINE.

# installed_files: print the files below the prefix; without .gz, which packages add to man pages.
installed_files() {
	local command family
	cat <<-END
		bin/tapline
		bin/tapline-parquet
		lib/systemd/system/tapline-hugepages.service
		lib/systemd/system/tapline@.service
		lib/udev/rules.d/60-tapline-vfio.rules
		libexec/tapline/tapline-hugepages
		share/bash-completion/completions/tapline
		share/doc/tapline/examples/market.json
		share/doc/tapline/examples/record.json
		share/man/man1/tapline-parquet.1
		share/man/man1/tapline.1
		share/tapline/config.schema.json
		share/tapline/self-test.schema.json
		share/tapline/drivers-config/README.md
		share/tapline/drivers-config/hugepages/hugepages.conf
		share/tapline/drivers-config/modprobe.d/tapline.conf
		share/tapline/drivers-config/modules-load.d/tapline.conf
		share/tapline/drivers-config/sysctl.d/60-tapline.conf
		share/tapline/drivers-config/systemd/mlx5.conf
		share/tapline/drivers-config/systemd/xdp.conf
		share/tapline/drivers-config/tuned/tuned.conf
		share/tapline/report.schema.json
		share/zsh/site-functions/_tapline
	END
	for command in $("$TAPLINE" --help | sed -n 's/^  \([a-z]\+\) .*/\1/p'); do
		echo "share/man/man1/tapline-$command.1"
	done
	for family in "$func_root"/drivers-config/*/capabilities.json; do
		family=$(basename "$(dirname "$family")")
		printf "share/tapline/drivers-config/$family/%s\n" README.md capabilities.json
	done
}

# files_below DIR: print the files below DIR in the same form.
files_below() {
	(cd "$1" && find . -type f -o -type l) | sed 's|^\./||; s|\(man1/.*\)\.gz$|\1|' | LC_ALL=C sort
}

# missing_programs ROOT PREFIX: print programs started by the units that are missing.
missing_programs() {
	local program
	sed -n 's/^ExecStart=\([^ ]*\).*/\1/p' "$1$2"/lib/systemd/system/tapline*.service | while read -r program; do
		[[ $program == "$2"/* && -x $1$program ]] || echo "$program"
	done
}

# host_settings ROOT: print files that the system reads at boot and applies to the whole host.
host_settings() {
	find "$1" -type f \( -path '*/lib/sysctl.d/*' -o -path '*/lib/modprobe.d/*' -o -path '*/lib/modules-load.d/*' -o \
		-path '*/lib/tmpfiles.d/*' -o -path '*/etc/sysctl.d/*' -o -path '*/etc/modprobe.d/*' \) -name '*tapline*'
}
