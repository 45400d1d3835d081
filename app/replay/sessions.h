// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// sessions: `tapline replay --sessions`: the TCP sessions of recordings, played against a target.
//
//   sessions_args.c  the options
//   sessions_read.c  files to sessions
//   sessions_follow.c  files that are completed during the run
//   sessions_host.c  DPDK, the port, the stack on it
//   sessions_run.c   the run, and the verdict
//   replays_sessions.c  the same on an lcore of an appliance
//   sessions_show.c  the results
//
// Threads: main. Memory: open/close.

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include <tl_eal.h>
#include <tl_err.h>
#include <tl_extract_source.h>
#include <tl_filter.h>
#include <tl_player.h>
#include <tl_port.h>
#include <tl_replay_playlist.h>
#include <tl_replay_schedule.h>
#include <tl_session.h>

struct tl_replay_args;

#define TL_SESSIONS_SCALE_MAX 10000
#define TL_SESSIONS_AT_A_TIME_MAX 4096
#define TL_SESSIONS_ADDRESSES_MAX 64
#define TL_SESSIONS_BACKLOG_MAX 1000000

// Options as given, and their values once checked.
struct tl_sessions_args {
	const char *target; // NULL: no --sessions
	const char *from, *gateway, *wait, *compare;
	uint64_t scale, at_a_time, backlog, timeout_ns; // 0: not given
	bool opaque, udp, any_vlan, follow;
	// Set by tl_sessions_check():
	uint32_t target_be, mask_be, gateway_be;
	uint32_t ip_be, addresses; // first own address, and their number
	// Instead, if the target is of IPv6:
	bool is_ip6;
	struct tl_ip6 target6, ip6, gateway6;
	uint8_t bits6;
	uint16_t target_port_be; // 0: the recorded one
	uint16_t vlan;		 // of the own frames; 0: untagged
	enum tl_player_wait waits_for;
	bool lengths_only;
};

// Own address with this number, of IPv6.
struct tl_ip6 tl_sessions_ip6(const struct tl_sessions_args *args, uint32_t number);

// Parse the texts and check the combination of options, in place of the check of a replay of frames. Return NULL, or
// an error text; without --sessions that of an option that needs it.
const char *tl_sessions_check(struct tl_replay_args *args);

// Outcomes of the records of all files: read = the sum of the others.
struct tl_sessions_frames {
	uint64_t read_pkts;
	uint64_t filtered_pkts;		// rejected by the filter
	uint64_t skipped_linktype_pkts; // link type without IP packets
	uint64_t skipped_damaged_pkts;	// unreadable
	uint64_t taken_pkts;		// given to the sessions
};

#define TL_SESSIONS_DAMAGES_MAX 16
#define TL_SESSIONS_EVENTS_BYTES 4096

// Files that are completed in a directory.
struct tl_sessions_follow {
	int fd; // of inotify; -1: none
	_Alignas(8) char events[TL_SESSIONS_EVENTS_BYTES];
	size_t have, at; // bytes of events; next one
	char path[4096]; // of the open file
	struct tl_extract_source source;
	bool is_open;
	uint64_t next_look_ns;
	uint64_t files;	       // read, or being read
	uint64_t unread_files; // completed and not read to the end: already removed, or the run ended
};

struct tl_sessions_run {
	const struct tl_replay_args *args;
	const char *name; // unique in the process
	struct tl_replay_playlist files;
	struct tl_filter_links *filter; // NULL: none
	struct tl_sessions_follow follow;
	struct tl_replay_schedule schedule; // times of the sessions
	struct tl_session_set *set;
	struct tl_sessions_frames frames;
	struct tl_err damages[TL_SESSIONS_DAMAGES_MAX];
	uint64_t n_damages; // all of them
	struct tl_eal *eal;
	struct tl_clock *clock;
	struct tl_port *port;
	struct tl_port_cfg port_cfg;
	struct tl_net *nets[TL_SESSIONS_ADDRESSES_MAX]; // one per own address
	uint32_t n_nets;
	struct tl_player *player;
	struct tl_burst burst;
	uint64_t next_tick_ns;
	uint64_t begin_ns, elapsed_ns;
	json_t *manifest;
	bool follows; // the directory
	bool stopped, failed;
};

#define TL_SESSIONS_LINGER_NS (200 * TL_NS_PER_MS) // after the end: for the last ACKs, and a RST for each late SYN-ACK

// ---- sessions_read.c

// Read the sessions of all files; with --follow only prepare for it. Return 0, or -errno with a message; damaged places
// are counted.
int tl_sessions_read(struct tl_sessions_run *run, struct tl_err *err);

int tl_sessions_take_frame(struct tl_sessions_run *run, const struct tl_pcap_frame *frame, struct tl_err *err);
void tl_sessions_note_damage(struct tl_sessions_run *run, const struct tl_err *damage);

// ---- sessions_follow.c

// Watch the directory. Return 0, or -errno with a message.
int tl_sessions_follow_open(struct tl_sessions_run *run, struct tl_err *err);

// Read some frames of completed files, and give ended sessions to the player. Return 0, or -errno with a message.
int tl_sessions_follow_turn(struct tl_sessions_run *run, uint64_t now_ns, struct tl_err *err);

// Give the remaining sessions to the player, and count files not read. Nothing is read.
void tl_sessions_follow_end(struct tl_sessions_run *run);
void tl_sessions_follow_close(struct tl_sessions_run *run);

// ---- sessions_host.c

// Check the port, without opening it.
int tl_sessions_plan(struct tl_sessions_run *run, struct tl_err *err);
// Start DPDK, the port and the stack. Return 0, or -errno with a message; -ENETDOWN: no link.
int tl_sessions_open(struct tl_sessions_run *run, struct tl_err *err);
void tl_sessions_close(struct tl_sessions_run *run);

// The same on a port that is open and started, with its clock.
int tl_sessions_join(struct tl_sessions_run *run, struct tl_err *err);
void tl_sessions_leave(struct tl_sessions_run *run);

// Poll the port once, run timers if due, and send. Returns the time.
uint64_t tl_sessions_turn(struct tl_sessions_run *run);

// Parts of a turn: pass a received burst to the stacks, and send; send what a tick of the player has pushed.
void tl_sessions_input(struct tl_sessions_run *run, struct tl_burst *burst);
void tl_sessions_flush(struct tl_sessions_run *run);

// ---- sessions_run.c

// Begin to play.
void tl_sessions_begin(struct tl_sessions_run *run, uint64_t now_ns);

// Read some of what has been completed, with --follow. Return false when everything was played.
bool tl_sessions_continue(struct tl_sessions_run *run, uint64_t now_ns);

// End what is in progress. The port is polled for TL_SESSIONS_LINGER_NS from then on.
void tl_sessions_finish(struct tl_sessions_run *run, uint64_t now_ns);

// Print the errors of a finished run, and set failed.
void tl_sessions_judge(struct tl_sessions_run *run);

// Run everything. Return the exit status.
int tl_sessions_main(const struct tl_replay_args *args);

// ---- sessions_show.c

// Check the identities of a finished run.
bool tl_sessions_ledger_ok(const struct tl_sessions_run *run);
void tl_sessions_show_progress(const struct tl_sessions_run *run);
json_t *tl_sessions_json(const struct tl_sessions_run *run); // without manifest; NULL: out of memory
void tl_sessions_print(const struct tl_sessions_run *run, FILE *out);
