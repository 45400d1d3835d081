// SPDX-License-Identifier: BSD-3-Clause
// Capability files: parsing, and reports of differences.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tl_base.h>
#include <tl_err.h>
#include <tl_family.h>
#include <tl_test.h>

#define DRIVERS_CONFIG TL_SOURCE_ROOT "/drivers-config"

TL_TEST("every family is found by its driver")
{
	static const char *const pmds[][3] = {
		{"net_ixgbe", "ixgbe", "vfio-pci"},
		{"net_e1000_igb", "igb", "vfio-pci"},
		{"net_ice", "ice-i40e", "vfio-pci"},
		{"net_i40e", "ice-i40e", "vfio-pci"},
		{"mlx5_pci", "mlx5", "mlx5_core"},
		{"net_virtio", "virtio", "vfio-pci"},
		{"net_vmxnet3", "virtio", "vfio-pci"},
		{"net_ixgbe_vf", "ixgbe", "vfio-pci"},
		{"net_iavf", "ice-i40e", "vfio-pci"},
		{"net_bnxt", "bnxt", "vfio-pci"},
		{"net_ena", "virtio", "vfio-pci"},
		{"net_gve", "virtio", "vfio-pci"},
	};
	struct tl_family family;
	struct tl_err err;

	for (size_t i = 0; i < TL_ARRAY_LEN(pmds); i++) {
		CU_ASSERT_EQUAL_FATAL(tl_family_find(DRIVERS_CONFIG, pmds[i][0], &family, &err), 0);
		CU_ASSERT_STRING_EQUAL(family.pmd, pmds[i][0]);
		CU_ASSERT_STRING_EQUAL(family.name, pmds[i][1]);
		CU_ASSERT_STRING_EQUAL(family.bind, pmds[i][2]);
		CU_ASSERT(family.n_notes > 0 && family.ring_max > family.ring_min);
	}
	CU_ASSERT_EQUAL(tl_family_find(DRIVERS_CONFIG, "net_unheard_of", &family, &err), -ENOENT);
	CU_ASSERT_EQUAL(tl_family_find("/nowhere", "net_ixgbe", &family, &err), -ENOENT);
}

struct said {
	unsigned n;
	char last[256];
};

static void note(void *ctx, const char *text)
{
	struct said *said = ctx;

	said->n++;
	snprintf(said->last, sizeof(said->last), "%s", text);
}

TL_TEST("differences between a port and its family are reported")
{
	static const struct {
		struct tl_family_facts facts;
		const char *text; // NULL: no difference
	} cases[] = {
		{{.rx_queues_max = 128, .ring_min = 32, .ring_max = 4096, .reta_size = 128}, NULL},
		{{.rx_queues_max = 8, .ring_min = 32, .ring_max = 4096, .reta_size = 512}, NULL},
		{{.rx_queues_max = 129, .ring_min = 32, .ring_max = 4096, .reta_size = 128}, "129 RX queues"},
		{{.rx_queues_max = 128, .ring_min = 32, .ring_max = 8193, .reta_size = 128}, "rings of 32 to 8193"},
		{{.rx_queues_max = 128, .ring_min = 16, .ring_max = 4096, .reta_size = 128}, "rings of 16 to 4096"},
		{{.rx_queues_max = 128, .ring_min = 32, .ring_max = 4096, .reta_size = 64}, "an RSS table of 64"},
		{{.rx_queues_max = 128, .ring_min = 32, .ring_max = 4096, .reta_size = 128, .rx_timestamps = true},
			"timestamps of every"},
	};
	struct tl_family family;
	struct tl_err err;

	CU_ASSERT_EQUAL_FATAL(tl_family_find(DRIVERS_CONFIG, "net_ixgbe", &family, &err), 0);
	for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++) {
		struct said said = {0};
		CU_ASSERT_EQUAL(tl_family_compare(&family, &cases[i].facts, note, &said), said.n);
		CU_ASSERT_EQUAL(said.n, cases[i].text != NULL);
		CU_ASSERT(cases[i].text == NULL || strstr(said.last, cases[i].text) == said.last);
	}
	family.n_reta_sizes = 0;
	CU_ASSERT_EQUAL(tl_family_compare(&family, &cases[5].facts, note, &(struct said){0}), 0);
}

// Limits in the sources of releases: NAME_rxtx.h (NAME_MIN_RING_DESC, NAME_MAX_RING_DESC), otherwise NAME_ethdev.c. If
// a release changed one: the last value before, and the first after.
TL_TEST("limits of every release of a driver are documented")
{
	static const struct {
		const char *release;
		struct tl_family_facts facts;
	} releases[] = {
		{"22.11.7", {.pmd = "net_ixgbe", .ring_min = 32, .ring_max = 4096, .reta_size = 128}},
		{"22.11.8", {.pmd = "net_ixgbe", .ring_min = 64, .ring_max = 4096, .reta_size = 128}},
		{"24.11", {.pmd = "net_ixgbe", .ring_min = 32, .ring_max = 8192, .reta_size = 512}},
		{"24.11.2", {.pmd = "net_ixgbe", .ring_min = 64, .ring_max = 8192, .reta_size = 512}},
		{"24.11", {.pmd = "net_ixgbe_vf", .ring_min = 32, .ring_max = 8192, .reta_size = 64}},
		{"24.03", {.pmd = "net_i40e", .ring_min = 64, .ring_max = 4096, .reta_size = 512}},
		{"24.07", {.pmd = "net_i40e", .ring_min = 64, .ring_max = 8160, .reta_size = 512}},
		{"24.07",
			{.pmd = "net_ice", .ring_min = 64, .ring_max = 4096, .reta_size = 512, .rx_timestamps = true}},
		{"24.11",
			{.pmd = "net_ice", .ring_min = 64, .ring_max = 8160, .reta_size = 512, .rx_timestamps = true}},
		{"25.07",
			{.pmd = "net_ice", .ring_min = 64, .ring_max = 8096, .reta_size = 512, .rx_timestamps = true}},
		{"26.03",
			{.pmd = "net_iavf", .ring_min = 64, .ring_max = 4096, .reta_size = 64, .rx_timestamps = true}},
		{"26.07",
			{.pmd = "net_iavf", .ring_min = 64, .ring_max = 8160, .reta_size = 64, .rx_timestamps = true}},
		{"26.07", {.pmd = "net_e1000_igb", .ring_min = 32, .ring_max = 4096, .reta_size = 128}},
		{"26.07",
			{.pmd = "net_bnxt", .ring_min = 16, .ring_max = 8192, .reta_size = 128, .rx_timestamps = true}},
		{"26.07", {.pmd = "net_virtio", .ring_min = 32, .ring_max = 65535, .reta_size = 128}},
		{"26.07", {.pmd = "net_vmxnet3", .ring_min = 128, .ring_max = 4096, .reta_size = 4}},
		{"25.03", {.pmd = "net_ena", .ring_min = 128, .ring_max = 32768, .reta_size = 256}},
		{"24.11", {.pmd = "net_gve", .ring_min = 512, .ring_max = 4096, .reta_size = 128}},
	};
	struct tl_family family;
	struct tl_err err;

	for (size_t i = 0; i < TL_ARRAY_LEN(releases); i++) {
		struct said said = {0};
		CU_ASSERT_EQUAL_FATAL(tl_family_find(DRIVERS_CONFIG, releases[i].facts.pmd, &family, &err), 0);
		CU_ASSERT_EQUAL(tl_family_compare(&family, &releases[i].facts, note, &said), 0);
		if (said.n != 0)
			printf("%s of DPDK %s: %s\n", family.pmd, releases[i].release, said.last);
	}
}

TL_TEST("an invalid file is reported with name and error")
{
	static const struct {
		const char *text, *wrong;
	} cases[] = {
		{"{", "capabilities.json:1: "},
		{"{\"drivers\": [{\"pmd\": \"p\"}]}", "bind"},
		{"{\"drivers\": [{\"pmd\": \"p\", \"bind\": \"v\", \"nics\": \"n\", \"rx_queues_max\": 1, \"ring_min\": 1, "
		 "\"ring_max\": 2, \"reta_sizes\": [], \"rx_timestamps\": false, \"multicast_filter\": false, \"known\": [], \"facts\": [1]}]}",
			"facts of about"},
		{"{\"drivers\": [{\"pmd\": \"p\", \"bind\": \"v\", \"nics\": \"n\", \"rx_queues_max\": 1, \"ring_min\": 1, "
		 "\"ring_max\": 2, \"reta_sizes\": [], \"rx_timestamps\": false, \"multicast_filter\": false, \"known\": [], \"facts\": [], "
		 "\"surprise\": 1}]}",
			"surprise"},
	};
	char dir[] = "/tmp/tl-family-XXXXXX", sub[64], path[96];
	struct tl_family family;

	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(dir));
	snprintf(sub, sizeof(sub), "%s/some", dir);
	snprintf(path, sizeof(path), "%s/capabilities.json", sub);
	CU_ASSERT_EQUAL(mkdir(sub, 0700), 0);
	for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++) {
		struct tl_err err = {0};
		FILE *file = fopen(path, "w");
		fputs(cases[i].text, file);
		fclose(file);
		CU_ASSERT_EQUAL(tl_family_find(dir, "p", &family, &err), -EINVAL);
		CU_ASSERT(strstr(err.text, path) == err.text && strstr(err.text, cases[i].wrong) != NULL);
	}
	unlink(path);
	rmdir(sub);
	rmdir(dir);
}

int main(void)
{
	return tl_test_run("family");
}
