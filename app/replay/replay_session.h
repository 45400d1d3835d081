// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// replay_session: the open resources of a replay.
//
// Threads: main. Memory: open/close.

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include <tl_eal.h>
#include <tl_err.h>
#include <tl_filter.h>
#include <tl_metrics.h>
#include <tl_port.h>
#include <tl_replay_playlist.h>

#include "replay_args.h"
#include "replay_show.h"

#define TL_REPLAY_LCORE 1 // EAL's id of the sending lcore

// A port of the call.
struct tl_replay_port {
	const char *device;
	struct tl_port_cfg cfg;
	struct tl_port *port;
	struct tl_shape *shape;	  // class tree; NULL: none
	uint32_t shape_pkts;	  // frames that it may hold
	struct tl_timesync *sync; // --wire-stamps; NULL: none
	bool kernel_stamps;	  // they are the kernel's, not the NIC's
	uint64_t hw_before;
	struct tl_replay_nic nic;			     // with --timing nic
	uint64_t nic_steps, nic_faults[TL_PORT_SEND_FAULTS]; // at the start
	bool link_known;				     // at the start
	uint64_t moved_ns, moved_pkts; // last time that the port accepted frames, or was offered none; its count then
};

struct tl_config;
struct tl_ctl;
struct tl_shaping;
struct tl_timesync;

struct tl_replay_session {
	const char *name; // unique in the process; NULL: the only one
	const struct tl_replay_args *args;
	struct tl_replay_playlist files;
	struct tl_eal *eal;
	struct tl_clock *clock;
	struct tl_replay_port ports[TL_REPLAY_PORTS];
	unsigned n_ports;
	bool by_nic;	       // chosen at the start
	bool is_polled;	       // other lcores receive from the ports
	struct tl_burst burst; // received frames, whose stamps show that the NIC's clock is the one that is read
	struct tl_filter *filter, *split_filter;
	struct tl_replay *replay;
	struct tl_replay_cfg cfg;
	struct tl_replay_results results;
	uint32_t lcore;	    // CPU
	struct tl_ctl *ctl; // NULL: no --control
	// --shape; NULL: none. In an appliance these are in its configuration.
	struct tl_config *shape_config;
	uint32_t shape_index;
	struct tl_shaping *shaping;
	struct tl_metrics_shape shape;
	json_t *manifest;
	bool failed; // an error was printed
};

// Check the call against files and host, start DPDK and the port, and create the replay. Return 0, or -errno with a
// message in *err; call tl_replay_close() in both cases.
int tl_replay_open(struct tl_replay_session *s, struct tl_err *err);
void tl_replay_close(struct tl_replay_session *s);

// Compile the filters, before the process is restricted. Return 0, or -errno with a message.
int tl_replay_make_filters(struct tl_replay_session *s, struct tl_err *err);

// Create the replay: the ports are started, the files listed, the filters made. Return 0, or -errno with a message.
int tl_replay_make(struct tl_replay_session *s, struct tl_err *err);

// Note link, speed and own count of a started port.
void tl_replay_note_port(struct tl_replay_port *port, struct tl_replay_port_results *results);

// replay_timing.c: choose the clock of the due times. Return 0, or -EINVAL with a message: --timing nic, and a NIC
// cannot.
int tl_replay_choose_timing(struct tl_replay_session *s, struct tl_err *err);
// Let the NICs' clocks follow; after tl_clock_discipline().
void tl_replay_follow_nics(struct tl_replay_session *s);
// Compare the stamps of received frames with the NICs' clocks, every tick.
void tl_replay_poll_stamps(struct tl_replay_session *s);
// Count the frames that the NICs did not send at their times.
void tl_replay_count_faults(struct tl_replay_session *s);

// replay_wire.c: stamps of sent frames, with --wire-stamps. A port without them gets a warning.
void tl_replay_open_stamps(struct tl_replay_session *s);
void tl_replay_read_stamps(struct tl_replay_session *s);   // every tick
void tl_replay_sample_stamps(struct tl_replay_session *s); // after tl_clock_discipline()
// Fill the results so far; at the end, when the lcore has returned.
void tl_replay_sum_stamps(struct tl_replay_session *s);
void tl_replay_end_stamps(struct tl_replay_session *s);
void tl_replay_close_stamps(struct tl_replay_session *s);

// replay_watch.c: stop the run with an error if a port is gone, or accepts no more frames.
void tl_replay_check_ports(struct tl_replay_session *s);

// replay_shape.c: the class tree of --shape. All functions do nothing without.
// Read the file. Return 0, or -errno with file, line and path.
int tl_replay_load_shape(struct tl_replay_session *s, struct tl_err *err);
// Return the memory for the frames that the tree may hold.
uint64_t tl_replay_shape_bytes(const struct tl_replay_session *s);
// Set up the tree on the first port, which is started. Return 0, or -errno with a message.
int tl_replay_make_shape(struct tl_replay_session *s, struct tl_err *err);
// Free the tree, before the port is closed.
void tl_replay_drop_shape(struct tl_replay_session *s);
// Return "shapes" of the report: an array, empty without a tree. final: the lcore has returned.
json_t *tl_replay_shapes_json(const struct tl_replay_session *s, bool final);
// Print the classes.
void tl_replay_print_shape(const struct tl_replay_session *s, FILE *out);
// Check the identities of the tree, when the lcore has returned.
bool tl_replay_shape_ok(const struct tl_replay_session *s);

// Compare the frames taken by the drivers with the ports' own counts, after the last sample. Return whether all have
// left, within TL_REPLAY_WIRE_NS on a port that works.
#define TL_REPLAY_WIRE_NS TL_NS_PER_S
bool tl_replay_is_on_wire(struct tl_replay_session *s);

// Print the errors of a finished run, and set failed.
void tl_replay_judge(struct tl_replay_session *s);
