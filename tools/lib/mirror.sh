# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Find Debian's archive as configured for this host's apt. Sourced by the tools that read other releases.

# debian_mirror: print the base URI of the archive. Fail if apt has none, or none that answers.
debian_mirror() {
	apt_repository || { apt-get -qq update >/dev/null 2>&1 && apt_repository; }
}

# apt distinguishes Debian's archive from its security archive by the label in the index, which a new host has yet to read.
apt_repository() {
	apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' | sed 's:/$::' |
		head -n 1 | grep .
}
