# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
# Scenario systemd: checks on the host of the installed units under a real systemd. Sourced by run.sh.

# First unit of systemd: it runs the script, and ends the machine.
unit_of_script() {
	cat <<-END
		[Unit]
		Description=Script of tests/vm/run.sh
		After=systemd-udev-trigger.service
		SuccessAction=poweroff-immediate
		FailureAction=poweroff-immediate
		[Service]
		Type=oneshot
		Environment=HOME=/root
		ExecStart=/bin/bash /out/run
		ExecStopPost=/bin/sh -c 'echo "\$\$EXIT_STATUS" >/out/status; sync'
	END
}

# ended NAME: print the status of systemctl, and systemd's output for the unit.
ended() {
	cat "out/$1.status" "out/$1.show" | xargs
}

# right NAME: print the capabilities of the service's process.
right() {
	sed -n "s/^$1:[[:space:]]*//p" out/rights | xargs
}

judge_machine() {
	check_equal "the guest's first process is $(cut -d ' ' -f 1-2 out/version)" "$(<out/first)" systemd
	check_equal "tapline-hugepages takes what its file says" "$(<out/hugepages.status) $(<out/hugepages)" "0 200"
	check "and tells the journal" grep -qx 'node 0: 200 pages of 2M' out/hugepages.journal
	check_equal "udev gives the NIC to the group vfio" "$(<out/group)" "vfio 660"
}

judge_service() {
	check_equal "systemctl start returns when the service is ready" "$(ended start)" \
		"0 ActiveState=active NRestarts=0 Result=success SubState=running"
	check "it is not root" grep -Eq '^[1-9][0-9]*( [1-9][0-9]*)+$' <(right Uid)
	check_equal "and has no right left" "$(right CapEff) $(right NoNewPrivs) $(right Seccomp)" "0000000000000000 1 2"
	check_equal "the unit allows all that DPDK asks for" "$(grep EAL: out/journal.log || true)" ""
	check "the state that it tells is what was recorded" grep -q 'StatusText=.*recorded 100' out/recorded.show
	check_equal "systemctl stop ends it well" "$(ended stop)" "0 ActiveState=inactive ExecMainStatus=0 NRestarts=0 Result=success"
	check_equal "systemctl reload had begun a new file" "$(<out/reload.status) $(grep -c 'pcapng$' out/stopped.files)" "0 2"
	check_equal "and both are complete" "$(grep -c part out/stopped.files || true)" 0
}

judge_watchdog() {
	check "a process that is stopped is ended by the watchdog" grep -qi 'watchdog timeout' out/journal.log
	check_equal "and another is started in its place" "$(<out/again.show)" "ActiveState=active NRestarts=1 SubState=running"
	check "which recovers the file that was left" grep -q 'left by an earlier run: recovered 100 records' out/journal.log
	check_equal "and ends well" "$(<out/again_stopped.show)" "ExecMainStatus=0 Result=success"
	check_equal "every file is complete" "$(find out/files -name '*.part')" ""
	check_equal "and no frame is missing, before or after" "$(capinfos -Trc out/files/*.pcapng | awk '{ n += $2 } END { print n }')" 400
}

judge_others() {
	check_equal "a kernel interface can be opened" "$(ended kernel)" "0 ActiveState=active NRestarts=0"
	check_equal "and let go" "$(<out/kernel_stopped.show)" "ExecMainStatus=0 Result=success"
	check_equal "a wrong configuration is not tried again" "$(ended wrong)" \
		"1 ActiveState=failed ExecMainStatus=2 NRestarts=0 Result=exit-code"
	check_equal "nothing else of Tapline has failed" "$(grep tapline out/failed | cut -d ' ' -f 1)" tapline@wrong.service
}

# The program of the other Debian, with the same other files.
other_debian() {
	vm_tree=/src
	echo "$vm_tree" >out/tree
	tree=(-virtfs "local,path=$func_root,mount_tag=tree,security_model=none,readonly=on,multidevs=remap")
	cp "$vm_root/build/app/tapline" out/installed/usr/local/bin/tapline
}

systemd() {
	local tree=()
	(cd "$func_root" && meson install -C "$(dirname "$TAPLINE")/.." --no-rebuild --destdir "$DIR/out/installed") >install.log 2>&1 ||
		func_die "meson install fails"
	unit_of_script >out/vm.service
	[[ $vm_root == / ]] || other_debian
	"$func_root/tests/lib/make_numbered.py" out/in.pcap 100 200
	vm_boot "$vm_tree/tests/vm/guest_systemd.sh" "${nics[@]}" "${tree[@]}"
	vm_end
	judge_machine
	judge_service
	judge_watchdog
	judge_others
}
