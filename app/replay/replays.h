// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// replays: the section "replay" of an appliance. Each entry sends recordings from a port of the configuration, with the
// engine, options and report of `tapline replay`, on an lcore of its own.
//
// Threads: main only. Memory: create/destroy; the configuration is borrowed for life.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include <tl_clock.h>
#include <tl_config.h>
#include <tl_port.h>

struct tl_err;
struct tl_replays;
struct tl_service;

struct tl_shaping;

#define TL_REPLAY_MEMORY_BYTES (UINT64_C(128) << 20)   // of DPDK, for the frames read ahead
#define TL_SESSIONS_MEMORY_BYTES (UINT64_C(256) << 20) // of DPDK, for the most addresses and connections
#define TL_REPLAY_MBUF_BYTES 448		       // of a frame's buffer beyond the frame

// Return the memory for the frames in a class tree.
static inline uint64_t tl_replay_tree_bytes(uint32_t frames, uint32_t frame_bytes)
{
	return (uint64_t)frames * (frame_bytes + TL_REPLAY_MBUF_BYTES);
}

struct tl_replays_cfg {
	const struct tl_config *config;
	struct tl_port *const *ports;	  // of the configuration, open
	struct tl_shaping *const *shapes; // of the configuration
	struct tl_clock *clock;
	uint32_t first_lcore; // EAL's lcore of the first replay; the others follow
};

// Check values, files and filters of all entries, before anything is started. Return 0, or a negative errno with file,
// line and path.
int tl_replays_check(const struct tl_config *config, struct tl_err *err);

// True if a replay sends from this port by the clock of its NIC, if that can.
bool tl_replays_send_at(const struct tl_config *config, uint32_t port);

// True if a NIC is to stamp frames that a replay sends from this port.
bool tl_replays_wire_stamps(const struct tl_config *config, uint32_t port);

// List the files and compile the filters. Return 0, or a negative errno with a message; destroy *out in both cases.
int tl_replays_create(const struct tl_replays_cfg *cfg, struct tl_replays **out, struct tl_err *err);
void tl_replays_destroy(struct tl_replays *replays);

// Fill in the service of the lcore of a port that plays sessions. Return false if the port plays none.
bool tl_replays_service(struct tl_replays *replays, uint32_t port, struct tl_service *out);

// Create the stacks of sessions, and the stamping of sent frames, when the ports are started, and before their lcores
// run. Return 0, or a negative errno with a message.
int tl_replays_join(struct tl_replays *replays, struct tl_err *err);

// Free what is on the ports, before they are closed. replays may be NULL.
void tl_replays_leave(struct tl_replays *replays);

// Append the files to be read to paths[], if it is not NULL; they are borrowed until destroy. Return their number.
size_t tl_replays_paths(const struct tl_replays *replays, const char **paths);

// Start the readers, when the ports are started. Return 0 or a negative errno with a message.
int tl_replays_start(struct tl_replays *replays, struct tl_err *err);

// Begin, check and end the replays; call it every 20 ms.
void tl_replays_work(struct tl_replays *replays);

// Follow a discipline of the clock.
void tl_replays_follow(struct tl_replays *replays);

// True if everything was sent, or has failed.
bool tl_replays_ended(const struct tl_replays *replays);

// Stop all replays, wait for the frames taken by the drivers to leave, at most a second, and print errors. Return
// whether all replays are right; again after the first call.
bool tl_replays_end(struct tl_replays *replays);

// Execute "pause", "resume", "speed" or "seek"; text: the name of a replay, and for the last two a space and the value.
// Return the answer; NULL: text does not begin with the name of a replay.
json_t *tl_replays_operate(struct tl_replays *replays, const char *verb, const char *text);

// False if the ledger of a replay that has ended does not add up.
bool tl_replays_ledger_ok(const struct tl_replays *replays);

// Return an array with an object per replay: the keys of `tapline replay --json`, and name, port, state, position_ns.
json_t *tl_replays_json(struct tl_replays *replays);
void tl_replays_print(struct tl_replays *replays, FILE *out);
