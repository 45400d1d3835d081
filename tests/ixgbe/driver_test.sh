#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# DPDK's driver on the modelled card, without Tapline (tests/ixgbe/driver.c).
set -euo pipefail
source "$(dirname "$0")/lib/ixgbe.sh"

ixgbe_begin "the driver runs on the model"
card "$CARD" 10f7 loop
status=0
SYSFS_PCI_DEVICES=$DIR/host/sys/bus/pci/devices LD_PRELOAD=$MODEL timeout 100 \
	"${TL_BUILD:-$func_root/build}/tests/ixgbe/driver" "$CARD" 2>driver.log || status=$?
check_equal "the driver's program ends well" "$status" 0
