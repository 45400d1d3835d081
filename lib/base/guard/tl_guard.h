// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// guard: drops privileges that the process no longer needs: root, capabilities, files, system calls.
//
// Threads: all calls on main, except tl_guard_thread(). Memory: none is kept.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tl_err;

// Classes of threads, by required system calls.
enum tl_guard_class {
	TL_GUARD_LCORE,	  // polls a port: open sockets, no files
	TL_GUARD_FILES,	  // creates, writes, renames and removes files
	TL_GUARD_COMPUTE, // memory and clocks only
	TL_GUARD_PLAYER,  // polls a port, and opens files
};

struct tl_guard_cfg {
	const char *const *dirs; // directories of the recordings, the reports and the socket
	uint32_t n_dirs;
	const char *read_dir;	  // read-only directory, NULL: none
	const char *const *reads; // read-only files
	size_t n_reads;
	bool keeps_bpf;	      // an AF_XDP port detaches its program at the end
	bool keeps_net_admin; // a port restores an interface of the kernel at the end
};

// Active restrictions, for the status.
struct tl_guard_state {
	bool on;	       // false: all disabled by the configuration
	bool no_new_privs;     //
	bool seccomp;	       // false: not available
	int landlock;	       // version supported by the kernel; 0: not available
	char user[32];	       // user of the process
	char capabilities[96]; // capabilities kept by main, "=": none
};

// Make the C library open now all files that it would open in the restricted process. Before any thread is created.
void tl_guard_prepare(void);

// Become this user, with its groups. Root's capabilities that open ports are kept until tl_guard_drop(). Return 0, or
// -errno with a message.
int tl_guard_set_user(const char *user, struct tl_err *err);

// Restrict all existing and future threads to the files of cfg and to the system calls of an appliance. Before threads
// of a class begin. Return 0, or -errno with a message; missing kernel support is not an error.
int tl_guard_enter(const struct tl_guard_cfg *cfg, struct tl_guard_state *out, struct tl_err *err);

// Drop the capabilities, in every thread. After the ports have been opened. Return 0, or -errno with a message.
int tl_guard_drop(const struct tl_guard_cfg *cfg, struct tl_guard_state *out, struct tl_err *err);

// Name the calling thread, and restrict it to its class if tl_guard_enter() has restricted the process. First call of
// the thread's main function: once root is dropped, no other thread can name it. name: 15 characters at most; NULL:
// unchanged.
void tl_guard_thread(enum tl_guard_class class, const char *name);
