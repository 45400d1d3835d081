// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// replays_priv: a replay of an appliance, shared by its set-up and its run.

#include "replay_session.h"
#include "replays.h"

struct tl_service;

enum phase { WAITING, SENDING, LEAVING, ENDED };

struct replay {
	const struct tl_config_replay *config;
	struct tl_replay_args args;
	char **words; // of args: files
	struct tl_replay_session session;
	struct replay_sessions *sessions;	   // NULL: frames; of the session above then only "failed"
	struct tl_hist *lateness[TL_REPLAY_PORTS]; // copies of the lcore's; NULL: no due times
	struct tl_hist *all;			   // their sum
	struct tl_hist *undisturbed;
	uint32_t lcore; // EAL's
	enum phase phase;
	uint64_t since_ns; // start of WAITING, LEAVING
	char name[20];	   // of its DPDK objects
};

// Take the values of an entry: options, files and filter. Return 0, or -errno with file, line and path; free the
// session's files and the words in both cases.
int replays_read(const struct tl_config *config, uint32_t index, struct replay *r, struct tl_err *err);

// replays_sessions.c: an entry with "sessions".
// Read the sessions, or begin to follow. Return 0, or -errno with a message; destroy in both cases.
int replays_sessions_create(struct replay *r, struct tl_port *port, struct tl_clock *clock, struct tl_err *err);
// Free everything, before the port is closed.
void replays_sessions_destroy(struct replay *r);
// Fill in the service of the port's lcore, which plays the sessions.
void replays_sessions_service(struct replay *r, struct tl_service *out);
// Create the stacks on the started port, before its lcore runs. Return 0, or -errno with a message.
int replays_sessions_join(struct replay *r, struct tl_err *err);
// Let the lcore begin.
void replays_sessions_start(struct replay *r);
void replays_sessions_work(struct replay *r);
// Stop, and wait for the end. Return false if it was not started.
bool replays_sessions_end(struct replay *r);
bool replays_sessions_ledger_ok(const struct replay *r);
json_t *replays_sessions_json(struct replay *r);
void replays_sessions_print(const struct replay *r, FILE *out);
