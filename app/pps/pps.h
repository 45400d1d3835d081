// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// pps: counters of interfaces, their queues, their interrupts and of the CPUs' softirqs, and what has been added to
// them between two looks.
//
// Threads: main. Memory: a sample is the caller's; pps_sample_free() frees its rows.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "doctor_irqs.h"

#define PPS_QUEUES_MAX 256
#define PPS_IRQS_MAX 256
#define PPS_NAME 64
#define PPS_LIST 32 // CPUs as text
#define PPS_ALTNAMES 512

struct tl_err;

// Counters of an interface or a queue; the table pps_counters names them.
enum pps_counter {
	PPS_RX_PKTS,
	PPS_RX_BYTES,
	PPS_TX_PKTS,
	PPS_TX_BYTES,
	PPS_RX_DROPPED, // the host, or DPDK, had no place or no memory
	PPS_RX_MISSED,	// the NIC had no free descriptor
	PPS_RX_FIFO,	// the NIC's FIFO was full
	PPS_TX_DROPPED,
	PPS_N_COUNTERS
};

// Counters of a CPU's softirq (/proc/net/softnet_stat).
enum pps_softnet { PPS_PROCESSED, PPS_BACKLOG_DROPPED, PPS_SQUEEZED, PPS_RPS, PPS_N_SOFTNET };

struct pps_counter_name {
	const char *name, *rate; // JSON keys of the count and its rate per second
	const char *title;	 // of the rate's column
	double factor;		 // of the rate: bits per byte
};

extern const struct pps_counter_name pps_counters[PPS_N_COUNTERS], pps_softnets[PPS_N_SOFTNET];

struct pps_row {
	uint32_t known; // bit of each counter
	uint64_t value[PPS_N_COUNTERS];
};

struct pps_irq {
	uint32_t number;
	int32_t queue; // receive queue; -1: none, or unknown
	char name[TL_IRQ_NAME];
	char cpus[PPS_LIST];	// that receive it: as routed, else as allowed; "": unknown
	char allowed[PPS_LIST]; // that it may be routed to; "": unknown
	bool counted;
	uint64_t count;
};

// State of a row between two looks; without rates, unless PPS_OK.
enum pps_state { PPS_OK, PPS_NEW, PPS_RESET, PPS_GONE };

struct pps_iface {
	char name[PPS_NAME];
	char altnames[PPS_ALTNAMES]; // alternative names, each with a space behind it
	enum pps_state state;	     // in a look PPS_OK or PPS_GONE: asked for, and not there
	uint32_t index;		     // of the kernel's interface; 0: a port of an appliance
	struct pps_row total;
	uint32_t n_queues;
	struct pps_row queues[PPS_QUEUES_MAX]; // known is 0: no such queue
	char no_queues[PPS_NAME];	       // why there are none; "": there are
	uint32_t n_irqs;
	struct pps_irq irqs[PPS_IRQS_MAX];
};

struct pps_cpu {
	uint32_t cpu;
	struct pps_row row; // enum pps_softnet
};

struct pps_sample {
	uint64_t time_ns; // CLOCK_MONOTONIC; of a difference the time between
	size_t n;
	struct pps_iface *ifaces;
	uint32_t n_cpus;
	struct pps_cpu cpus[TL_FACT_CPUS_MAX];
};

struct pps_want {
	size_t n; // 0: all that are up, except loopback
	const char *const *names;
	const char *socket;
	bool insist; // on an answer there
};

// ---- one look

// Return 0 or -errno with a message. An interface that is asked for and not there has the state PPS_GONE.
int pps_look(const struct tl_tree *tree, const struct pps_want *want, struct pps_sample *out, struct tl_err *err);
void pps_sample_free(struct pps_sample *sample);

// Append a row; NULL: no memory.
struct pps_iface *pps_add_iface(struct pps_sample *sample, const char *name);
bool pps_is_called(const struct pps_iface *iface, const char *name); // by an alternative name, too
struct pps_iface *pps_find_iface(const struct pps_sample *sample, const char *name);

static inline void pps_count(struct pps_row *row, unsigned counter, uint64_t value)
{
	row->known |= 1u << counter;
	row->value[counter] += value;
}

static inline bool pps_knows(const struct pps_row *row, unsigned counter)
{
	return (row->known >> counter & 1) != 0;
}

// Take the interfaces of a part of an RTM_GETLINK dump. Return 1 at its end, 0 if there is more, or -errno.
int pps_take_links(const void *messages, size_t bytes, const struct pps_want *want, struct pps_sample *out);
int pps_read_links(const struct pps_want *want, struct pps_sample *out);

// Take an ethtool statistic if its name is one of a queue.
void pps_take_stat(struct pps_iface *iface, const char *name, uint64_t value);
void pps_read_queues(struct pps_iface *iface);

void pps_read_irqs(const struct tl_tree *tree, const char *interrupts, struct pps_iface *iface);
void pps_read_softnet(const struct tl_tree *tree, struct pps_sample *out);

// Take the ports of an appliance's status.
void pps_take_ports(const json_t *status, const struct pps_want *want, struct pps_sample *out);

// ---- two looks

// Set *out to the increments of a row. A counter of 32 bits that has wrapped is corrected; false: the row was reset.
bool pps_row_since(const struct pps_row *before, const struct pps_row *now, struct pps_row *out);

// Set *out, to be freed, to the difference of two looks. Return 0 or -ENOMEM.
int pps_since(const struct pps_sample *before, const struct pps_sample *now, struct pps_sample *out);

// Return the received packets of the busiest queue over the mean of all queues: 1 is even, the number of queues is all
// on one. 0: fewer than two queues, or no packets.
double pps_imbalance(const struct pps_iface *iface);

// ---- output of a difference

void pps_print(FILE *out, const struct pps_sample *diff);
json_t *pps_json(const struct pps_sample *diff); // NULL: no memory
