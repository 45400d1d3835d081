// SPDX-License-Identifier: BSD-3-Clause
// Line rate of a port that is not open, from the kernel.

#include <glob.h>
#include <stdio.h>

#include <tl_port.h>

// Read a speed in Mbit/s; the file has -1, or fails to be read, if there is no link.
static uint64_t read_speed(const char *path)
{
	FILE *file = fopen(path, "re");
	long mbps = 0;

	if (file == NULL)
		return 0;
	if (fscanf(file, "%ld", &mbps) != 1 || mbps < 0)
		mbps = 0;
	fclose(file);
	return (uint64_t)mbps * UINT64_C(1000000);
}

uint64_t tl_port_expected_bps(const struct tl_port_spec *spec)
{
	const struct tl_port_traits *traits = tl_port_traits(spec);
	char pattern[320];
	uint64_t bps = 0;
	glob_t found;

	if (!traits->nic && !traits->interface)
		return 0;
	// A PCI device has interfaces while a kernel driver is bound to it.
	snprintf(pattern, sizeof(pattern),
		traits->nic ? "/sys/bus/pci/devices/%s/net/*/speed" : "/sys/class/net/%s/speed", spec->arg);
	if (glob(pattern, 0, NULL, &found) != 0)
		return 0;
	for (size_t i = 0; i < found.gl_pathc; i++)
		bps = tl_max_u64(bps, read_speed(found.gl_pathv[i]));
	globfree(&found);
	return bps;
}
