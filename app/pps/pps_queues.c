// SPDX-License-Identifier: BSD-3-Clause
// Read the counters of queues: statistics of the driver (ethtool -S), by the names that drivers give to them.

#include "pps.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <stdlib.h>
#include <string.h>

#include <tl_iface.h>

#define STATS_SPARE 4096 // the kernel writes what the driver has by then, whatever room was announced

// Names of statistics, without their common beginning; # stands for the queue's number. Several of one counter are
// added: words separated by spaces.
static const struct {
	const char *head;
	const char *pkts, *bytes, *drops; // NULL: none
	bool tx;
} families[] = {
	// ixgbe, igb, igc, ice, txgbe, hv_netvsc, mvpp2; virtio_net before Linux 6.9
	{"rx_queue_#_", "packets", "bytes", "drops", false},
	{"tx_queue_#_", "packets", "bytes", NULL, true},
	{"rx_queue_#_xdp_", "packets", "bytes", NULL, false}, // veth: of frames that NAPI takes, so with XDP or GRO
	{"rx-#.", "packets rx_packets", "bytes rx_bytes", NULL, false}, // i40e, iavf, sfc
	{"tx-#.", "packets tx_packets", "bytes tx_bytes", NULL, true},
	// mlx5 (buff_alloc_err, wqe_err), mlx4 (dropped), ibmvnic; virtio_net from Linux 6.9 has only drops
	{"rx#_", "packets", "bytes", "drops dropped buff_alloc_err wqe_err", false},
	{"tx#_", "packets", "bytes", "dropped", true},
	{"rx_#_", "packets", "bytes", "dropped", false}, // mana, tsnep
	{"tx_#_", "packets", "bytes", "dropped", true},
	{"queue_#_rx_", "cnt", "bytes", NULL, false}, // ena
	{"queue_#_tx_", "cnt", "bytes", NULL, true},
	// bnxt_en, bnx2x
	{"[#]: rx_", "ucast_packets mcast_packets bcast_packets", "ucast_bytes mcast_bytes bcast_bytes", "discards",
		false},
	{"[#]: tx_", "ucast_packets mcast_packets bcast_packets", "ucast_bytes mcast_bytes bcast_bytes", "discards",
		true},
};

static bool has_word(const char *words, const char *word)
{
	size_t chars = strlen(word);

	for (const char *at = words; at != NULL && *at != '\0'; at += strspn(at, " ")) {
		size_t n = strcspn(at, " ");
		if (n == chars && strncmp(at, word, n) == 0)
			return true;
		at += n;
	}
	return false;
}

// Return the part of the name behind the head, and the queue's number; NULL: the name does not begin with the head.
static const char *skip_head(const char *head, const char *name, uint32_t *queue)
{
	size_t prefix = strcspn(head, "#");
	const char *tail = head + prefix + 1, *digits = name + prefix;

	if (strncmp(head, name, prefix) != 0)
		return NULL;
	size_t n = strspn(digits, "0123456789");
	if (n == 0 || n > 5 || strncmp(digits + n, tail, strlen(tail)) != 0)
		return NULL;
	*queue = (uint32_t)atoi(digits);
	return digits + n + strlen(tail);
}

void pps_take_stat(struct pps_iface *iface, const char *name, uint64_t value)
{
	for (size_t i = 0; i < TL_ARRAY_LEN(families); i++) {
		uint32_t queue;
		const char *word = skip_head(families[i].head, name, &queue);
		int counter = -1;
		if (word == NULL || queue >= PPS_QUEUES_MAX)
			continue;
		if (has_word(families[i].pkts, word))
			counter = families[i].tx ? PPS_TX_PKTS : PPS_RX_PKTS;
		else if (has_word(families[i].bytes, word))
			counter = families[i].tx ? PPS_TX_BYTES : PPS_RX_BYTES;
		else if (has_word(families[i].drops, word))
			counter = families[i].tx ? PPS_TX_DROPPED : PPS_RX_DROPPED;
		if (counter < 0)
			continue;
		pps_count(&iface->queues[queue], (unsigned)counter, value);
		iface->n_queues = (uint32_t)tl_max_u64(iface->n_queues, queue + 1);
		return;
	}
}

// Read names and values. Return the number of statistics, or -errno.
static int read_stats(const char *interface, struct ethtool_gstrings **names, struct ethtool_stats **values)
{
	union {
		struct ethtool_sset_info info; // and behind it the number
		uint8_t bytes[sizeof(struct ethtool_sset_info) + sizeof(uint32_t)];
	} set = {.info = {.cmd = ETHTOOL_GSSET_INFO, .sset_mask = 1u << ETH_SS_STATS}};
	int rc = tl_iface_ethtool(interface, &set);
	uint32_t n = rc == 0 && set.info.sset_mask != 0 ? set.info.data[0] : 0;

	if (n == 0 || n > INT32_MAX / ETH_GSTRING_LEN - STATS_SPARE)
		return rc != 0 ? rc : -EOPNOTSUPP;
	*names = calloc(1, sizeof(**names) + ((size_t)n + STATS_SPARE) * ETH_GSTRING_LEN);
	*values = calloc(1, sizeof(**values) + ((size_t)n + STATS_SPARE) * sizeof(uint64_t));
	if (*names == NULL || *values == NULL)
		return -ENOMEM;
	**names = (struct ethtool_gstrings){.cmd = ETHTOOL_GSTRINGS, .string_set = ETH_SS_STATS, .len = n};
	**values = (struct ethtool_stats){.cmd = ETHTOOL_GSTATS, .n_stats = n};
	rc = tl_iface_ethtool(interface, *names);
	rc = rc == 0 ? tl_iface_ethtool(interface, *values) : rc;
	// A driver that changes its number of queues meanwhile has names and values of two kinds.
	if (rc == 0 && ((*names)->len != n || (*values)->n_stats != n))
		rc = -EAGAIN;
	return rc != 0 ? rc : (int)n;
}

void pps_read_queues(struct pps_iface *iface)
{
	struct ethtool_gstrings *names = NULL;
	struct ethtool_stats *values = NULL;
	int n = read_stats(iface->name, &names, &values);

	for (int i = 0; i < n; i++) {
		char name[ETH_GSTRING_LEN + 1] = "";
		memcpy(name, names->data + (size_t)i * ETH_GSTRING_LEN, ETH_GSTRING_LEN);
		pps_take_stat(iface, name, values->data[i]);
	}
	if (n == -EOPNOTSUPP)
		snprintf(iface->no_queues, sizeof(iface->no_queues), "the driver has no statistics");
	else if (n < 0)
		snprintf(iface->no_queues, sizeof(iface->no_queues), "%s", strerror(-n));
	else if (iface->n_queues == 0)
		snprintf(iface->no_queues, sizeof(iface->no_queues), "the driver has no statistics of queues");
	free(names);
	free(values);
}
