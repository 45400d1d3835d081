#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""make_host.py DIR DRIVER_DIR: make the sysfs and procfs of a host that is fit for Tapline.

8 CPUs on 2 nodes, of which 2 and 3 poll and 6 and 7 are their siblings; an E810 NIC on vfio-pci, an mlx5 NIC, a disk.
DRIVER_DIR is the directory of DPDK's drivers, /…/pmds-23.0.
"""

import os
import struct
import sys

ICE, MLX5 = "0000:3b:00.0", "0000:5e:00.0"
CARD_DIR = "sys/devices/pci0000:3a/"
CPU_DIR = "sys/devices/system/cpu/"

root, driver_dir = sys.argv[1], sys.argv[2].lstrip("/")


def put(path, content):
    """Write a file. content: text, to which a newline is added, or bytes."""
    path = os.path.join(root, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content if isinstance(content, bytes) else (content + "\n").encode())


def link(path, target):
    """Make a relative link, as in sysfs. target: from the root."""
    full = os.path.join(root, path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    os.symlink(os.path.relpath(target, os.path.dirname(path)), full)


def config_space():
    """Return a configuration space with power management and PCI Express capabilities: reads of 512 bytes, no ASPM."""
    space = bytearray(256)
    space[0x06] = 0x10  # status: capabilities list
    space[0x34] = 0x40
    space[0x40:0x42] = bytes((0x01, 0x50))
    space[0x50:0x52] = bytes((0x10, 0x00))
    struct.pack_into("<H", space, 0x58, 0x2000)
    return bytes(space)


def put_card(address, vendor, device, driver, group):
    card = CARD_DIR + address
    link("sys/bus/pci/devices/" + address, card)
    for name, content in {
        "vendor": vendor, "device": device, "class": "0x020000", "numa_node": "0",
        "current_link_width": "8", "max_link_width": "8",
        "current_link_speed": "8.0 GT/s PCIe", "max_link_speed": "8.0 GT/s PCIe",
        "aer_dev_correctable": "RxErr 0\nBadTLP 0\nTOTAL_ERR_COR 0",
        "aer_dev_nonfatal": "Undefined 0\nTOTAL_ERR_NONFATAL 0",
        "aer_dev_fatal": "Undefined 0\nTOTAL_ERR_FATAL 0",
        "config": config_space(),
    }.items():
        put(card + "/" + name, content)
    os.makedirs(os.path.join(root, "sys/bus/pci/drivers", driver), exist_ok=True)
    link(card + "/driver", "sys/bus/pci/drivers/" + driver)
    link(card + "/iommu_group", f"sys/kernel/iommu_groups/{group}")
    link(f"sys/kernel/iommu_groups/{group}/devices/{address}", card)


def put_cards():
    put_card(ICE, "0x8086", "0x1593", "vfio-pci", 40)
    put_card(MLX5, "0x15b3", "0x1017", "mlx5_core", 41)
    put(CARD_DIR + MLX5 + "/infiniband/mlx5_0/fw_ver", "16.35.2000")
    put(CARD_DIR + MLX5 + "/resource0", "")
    put(CARD_DIR + MLX5 + "/net/ens1/mtu", "1500")
    put(CARD_DIR + MLX5 + "/net/ens1/carrier", "1")
    put(CARD_DIR + MLX5 + "/net/ens1/speed", "25000")
    os.symlink("../../../" + MLX5, os.path.join(root, CARD_DIR + MLX5 + "/net/ens1/device"))  # as sysfs writes it
    link("sys/class/net/ens1", CARD_DIR + MLX5 + "/net/ens1")
    put("sys/module/vfio/parameters/enable_unsafe_noiommu_mode", "N")
    put("sys/kernel/security/lockdown", "[none] integrity confidentiality")
    put("dev/vfio/vfio", "")
    put("usr/lib/firmware/intel/ice/ddp/ice.pkg", "")
    put("dev/vfio/40", "")


def put_memory():
    for directory, pages in {
        "sys/kernel/mm/hugepages": 2048,
        "sys/devices/system/node/node0/hugepages": 1024,
        "sys/devices/system/node/node1/hugepages": 1024,
    }.items():
        put(directory + "/hugepages-2048kB/nr_hugepages", str(pages))
        put(directory + "/hugepages-2048kB/free_hugepages", str(pages))
    put("sys/devices/system/node/node0/cpulist", "0-3")
    put("sys/devices/system/node/node1/cpulist", "4-7")
    put("proc/self/mounts", "/dev/sda1 / ext4 rw 0 0\nhugetlbfs /dev/hugepages hugetlbfs rw,pagesize=2M 0 0")
    put("proc/self/mountinfo", "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n21 20 8:2 / /data rw shared:1 - xfs /dev/sdb rw")
    put("proc/self/limits", "Limit Soft Limit Hard Limit Units\nMax locked memory         unlimited            unlimited            bytes")
    put("proc/self/status", "Name:\ttapline\nCapEff:\t0000000000000000\nCpus_allowed_list:\t0-1,4-5")
    put("sys/fs/cgroup/cpuset.cpus.effective", "0-7")
    put("proc/self/cgroup", "0::/system.slice/tapline.service")
    put("sys/fs/cgroup/system.slice/memory.max", "max")
    put("sys/fs/cgroup/system.slice/hugetlb.2MB.max", "max")
    put("sys/fs/cgroup/system.slice/tapline.service/cpu.max", "max 100000")
    put("proc/sys/kernel/numa_balancing", "0")
    put("sys/kernel/mm/ksm/run", "0")
    put("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never")
    os.makedirs(os.path.join(root, "dev/hugepages"))
    os.makedirs(os.path.join(root, "data"))


def put_cpus():
    with open("/proc/cpuinfo", encoding="ascii") as file:
        flags = next(line for line in file if line.startswith("flags")).split(":")[1].split()
    put("proc/cpuinfo", "processor\t: 0\nflags\t\t: " + " ".join(sorted({*flags, "constant_tsc", "nonstop_tsc"})))
    put("proc/cmdline", "root=/dev/sda1 isolcpus=2-3,6-7 nohz_full=2-3 rcu_nocbs=2-3")
    put(CPU_DIR + "online", "0-7")
    put(CPU_DIR + "isolated", "2-3,6-7")
    put(CPU_DIR + "nohz_full", "2-3")
    put(CPU_DIR + "cpuidle/current_driver", "intel_idle")
    for cpu in range(8):
        here = f"{CPU_DIR}cpu{cpu}/"
        put(here + "cpufreq/scaling_governor", "performance")
        put(here + "topology/thread_siblings_list", f"{cpu % 4},{cpu % 4 + 4}")
        for cache, (level, cpus) in enumerate(((1, f"{cpu % 4},{cpu % 4 + 4}"), (3, "0-3" if cpu < 4 else "4-7"))):
            put(f"{here}cache/index{cache}/level", str(level))
            put(f"{here}cache/index{cache}/shared_cpu_list", cpus)
        put(here + "thermal_throttle/core_throttle_count", "0")
        for state, (latency_us, disable) in enumerate(((2, 0), (133, 1))):
            put(f"{here}cpuidle/state{state}/latency", str(latency_us))
            put(f"{here}cpuidle/state{state}/disable", str(disable))
    put("sys/devices/virtual/workqueue/cpumask", "33")
    put("sys/class/thermal/thermal_zone0/temp", "45000")
    put("dev/cpu/0/msr", bytes(0x40))


def put_kernel():
    for name, value in {
        "sched_rt_runtime_us": "-1", "nmi_watchdog": "0", "watchdog": "0", "watchdog_cpumask": "0-7",
    }.items():
        put("proc/sys/kernel/" + name, value)
    put("proc/stat", "cpu  1000 0 100 90000 0 0 0 0 0 0\ncpu0 1000 0 100 90000 0 0 0 0 0 0")
    put("proc/uptime", "360000.00 2000000.00")
    put("proc/irq/40/smp_affinity_list", "0-7")
    put("proc/irq/40/effective_affinity_list", "1")
    for pid, name, parent, cpus in ((9, "ksoftirqd/2", 2, "2"), (800, "chronyd", 1, "0-1,4-5"), (900, "tapline", 1, "0-7")):
        put(f"proc/{pid}/comm", name)
        put(f"proc/{pid}/task/{pid}/status", f"Name:\t{name}\nPPid:\t{parent}\nCpus_allowed_list:\t{cpus}")
    put("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc")


def put_libraries():
    abi = driver_dir.rsplit("-", 1)[1]
    for pmd in ("net_ice", "net_ixgbe", "net_mlx5"):
        put(f"{driver_dir}/librte_{pmd}.so.{abi}", "")
    put("usr/lib/x86_64-linux-gnu/libibverbs.so.1.14.44.0", "")


put_memory()
put_cpus()
put_cards()
put_kernel()
put_libraries()
