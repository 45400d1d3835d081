// SPDX-License-Identifier: BSD-3-Clause
// Checks of DPDK and of the dependencies of its drivers.

#include "doctor_priv.h"

#include <inttypes.h>
#include <string.h>

#define RDMA_CORE_LEAST 16 // DPDK's mlx5 guide, "Prerequisites"

static void judge_version(const struct tl_facts *facts, struct tl_finding *f)
{
	const struct tl_fact_text *built = &facts->dpdk.built, *running = &facts->dpdk.running;

	if (built->known && running->known)
		tl_found(f, strcmp(built->text, running->text) == 0 ? TL_VERDICT_OK : TL_VERDICT_WARN,
			"built with %s, runs with %s", built->text, running->text);
}

static void judge_pmd_of(const struct tl_facts *facts, const struct tl_fact_port *port, struct tl_finding *f)
{
	const char *pmd = tl_doctor_pmd(port->vendor.known ? port->vendor.value : -1, port->device.value);

	if (pmd == NULL)
		tl_found(f, TL_VERDICT_UNKNOWN, "%s: a card that is not known here", port->name);
	else if (!port->pmd_present.known)
		tl_found(f, TL_VERDICT_UNKNOWN, "%s: %s", port->name, pmd);
	else
		tl_found(f,
			port->pmd_present.value ? TL_VERDICT_OK
			: port->configured	? TL_VERDICT_FAIL
						: TL_VERDICT_WARN,
			"%s: %s is %sthere", port->name, pmd, port->pmd_present.value ? "" : "not ");
}

static void judge_pmds(const struct tl_facts *facts, struct tl_finding *f)
{
	if (facts->dpdk.driver_dir.known)
		tl_found(f, TL_VERDICT_OK, "%s", facts->dpdk.driver_dir.text);
}

static void judge_ieee1588_of(const struct tl_facts *facts, const struct tl_fact_port *port, struct tl_finding *f)
{
	static const char *const need_it[] = {"net_ixgbe", "net_e1000", "net_i40e"};
	const char *pmd = tl_doctor_pmd(port->vendor.known ? port->vendor.value : -1, port->device.value);
	bool needs = false;

	for (size_t i = 0; i < TL_ARRAY_LEN(need_it); i++)
		needs |= pmd != NULL && strcmp(pmd, need_it[i]) == 0;
	if (pmd == NULL)
		tl_found(f, TL_VERDICT_UNKNOWN, "%s: a card that is not known here", port->name);
	else if (!needs)
		tl_found(f, TL_VERDICT_OK, "%s: %s does without", port->name, pmd);
	else if (!facts->dpdk.ieee1588.known)
		tl_found(f, TL_VERDICT_UNKNOWN, "%s: whether DPDK was built so is not known", port->name);
	else
		tl_found(f, facts->dpdk.ieee1588.value ? TL_VERDICT_OK : TL_VERDICT_WARN, "%s: DPDK was %sbuilt for it",
			port->name, facts->dpdk.ieee1588.value ? "" : "not ");
}

static void judge_rdma_core_of(const struct tl_facts *facts, const struct tl_fact_port *port, struct tl_finding *f)
{
	const struct tl_fact_num *version = &facts->dpdk.rdma_core;

	if (!port->vendor.known)
		tl_found(f, TL_VERDICT_UNKNOWN, "%s: could not be read", port->name);
	else if (!tl_port_is_bifurcated(port))
		tl_found(f, TL_VERDICT_OK, "%s: does without", port->name);
	else if (!version->known)
		tl_found(f, TL_VERDICT_UNKNOWN, "%s: libraries could not be looked for", port->name);
	else if (version->value == 0)
		tl_found(f, port->configured ? TL_VERDICT_FAIL : TL_VERDICT_WARN, "%s: there is no libibverbs",
			port->name);
	else
		tl_found(f, version->value >= RDMA_CORE_LEAST ? TL_VERDICT_OK : TL_VERDICT_WARN,
			"%s: rdma-core %" PRIi64, port->name, version->value);
}

// Oldest firmware in DPDK's mlx5 guide, by family, which is the first number.
static const struct {
	unsigned family, minor, patch;
} oldest_firmware[] = {{12, 21, 1000}, {14, 21, 1000}, {16, 21, 1000}, {20, 27, 90}, {22, 27, 90}};

// Compare a text such as "22.31.1014 (MT_0000000359)". True also for an unlisted family, or another text.
static bool firmware_is_young(const char *text)
{
	unsigned family, minor, patch;

	if (sscanf(text, "%u.%u.%u", &family, &minor, &patch) != 3)
		return true;
	for (size_t i = 0; i < TL_ARRAY_LEN(oldest_firmware); i++)
		if (oldest_firmware[i].family == family)
			return minor != oldest_firmware[i].minor ? minor > oldest_firmware[i].minor
								 : patch >= oldest_firmware[i].patch;
	return true;
}

static void judge_firmware_of(const struct tl_facts *facts, const struct tl_fact_port *port, struct tl_finding *f)
{
	const char *firmware = port->firmware.known ? port->firmware.text : "unknown";

	if (!port->vendor.known || (tl_port_is_bifurcated(port) && !port->firmware.known))
		tl_found(f, TL_VERDICT_UNKNOWN, "%s: %s", port->name, firmware);
	else if (!tl_port_is_bifurcated(port))
		tl_found(f, TL_VERDICT_OK, "%s: %s, and DPDK asks for none", port->name, firmware);
	else
		tl_found(f, firmware_is_young(firmware) ? TL_VERDICT_OK : TL_VERDICT_WARN, "%s: %s", port->name,
			firmware);
}

static const struct tl_check checks[] = {
	{"dpdk.version", TL_CAN_WARN,
		"Tapline contains inline code of the DPDK release it was built with, and needs the libraries of that release.",
		"Rebuild Tapline with the installed DPDK.", .judge = judge_version},
	{"dpdk.pmds", TL_CAN_WARN | TL_CAN_FAIL, "DPDK does not detect a NIC without its driver.",
		"Install DPDK's drivers: apt-get install dpdk, or build DPDK with the driver.", .judge = judge_pmds,
		.judge_port = judge_pmd_of},
	{"dpdk.ieee1588", TL_CAN_WARN,
		"ixgbe, igb and i40e stamp received PTP frames, and sent frames, only in a DPDK built with RTE_LIBRTE_IEEE1588.",
		"Build DPDK with -Dc_args=-DRTE_LIBRTE_IEEE1588 if sent frames need stamps.",
		.judge_port = judge_ieee1588_of},
	{"dpdk.rdma_core", TL_CAN_WARN | TL_CAN_FAIL, "DPDK accesses Mellanox NICs through libibverbs and libmlx5.",
		"apt-get install libibverbs1 ibverbs-providers", .judge_port = judge_rdma_core_of},
	{"dpdk.firmware", TL_CAN_WARN, "Older firmware of Mellanox NICs lacks features that DPDK's driver requires.",
		"Update it with mlxup, or with flint of mstflint.", .judge_port = judge_firmware_of},
};

const struct tl_check_group tl_doctor_dpdk = {checks, TL_ARRAY_LEN(checks)};
