// SPDX-License-Identifier: BSD-3-Clause
// Take the ports of a running appliance: of a NIC that DPDK has, only the process that owns it has the counters.

#include "pps.h"

#include <string.h>

// Counters of a port in the appliance's status; several of one are added.
static const struct {
	const char *key;
	enum pps_counter counter;
} keys[] = {
	{"rx_pkts", PPS_RX_PKTS},
	{"rx_bytes", PPS_RX_BYTES},
	{"tx_pkts", PPS_TX_PKTS},
	{"tx_bytes", PPS_TX_BYTES},
	{"drop_nic_pkts", PPS_RX_MISSED},
	{"drop_nombuf_pkts", PPS_RX_DROPPED},
	{"drop_error_pkts", PPS_RX_DROPPED},
	{"drop_handoff_pkts", PPS_RX_DROPPED},
	{"drop_tx_pkts", PPS_TX_DROPPED},
};

static void take_row(const json_t *object, struct pps_row *row)
{
	for (size_t i = 0; i < TL_ARRAY_LEN(keys); i++) {
		const json_t *value = json_object_get(object, keys[i].key);
		if (json_is_integer(value) && json_integer_value(value) >= 0)
			pps_count(row, keys[i].counter, (uint64_t)json_integer_value(value));
	}
}

// Return the name that a port is shown by: as it was asked for, by device or name; else its device. NULL: not wanted.
static const char *shown_name(const json_t *port, const struct pps_want *want)
{
	const char *device = json_string_value(json_object_get(port, "device"));
	const char *name = json_string_value(json_object_get(port, "name"));

	for (size_t i = 0; i < want->n; i++)
		if ((device != NULL && strcmp(want->names[i], device) == 0) ||
			(name != NULL && strcmp(want->names[i], name) == 0))
			return want->names[i];
	return want->n == 0 ? device : NULL;
}

void pps_take_ports(const json_t *status, const struct pps_want *want, struct pps_sample *out)
{
	size_t p, q;
	const json_t *port, *queue;

	json_array_foreach (json_object_get(status, "ports"), p, port) {
		const char *name = shown_name(port, want);
		if (name == NULL || pps_find_iface(out, name) != NULL)
			continue;
		struct pps_iface *iface = pps_add_iface(out, name);
		if (iface == NULL)
			return;
		take_row(port, &iface->total);
		json_array_foreach (json_object_get(port, "queues"), q, queue) {
			if (iface->n_queues == PPS_QUEUES_MAX)
				break;
			take_row(queue, &iface->queues[iface->n_queues++]);
		}
	}
}
