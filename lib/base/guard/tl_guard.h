// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// guard: takes from the process what it no longer needs: root, capabilities, files, system calls.
//
// Threads: all calls on main, but tl_guard_thread(). Memory: none is kept.

#include <stdbool.h>
#include <stdint.h>

struct tl_err;

// Kinds of threads, by the system calls that they need.
enum tl_guard_class {
	TL_GUARD_LCORE,	  // polls a port: sockets that are open, no files
	TL_GUARD_FILES,	  // makes, writes, renames and removes files
	TL_GUARD_COMPUTE, // memory and clocks alone
};

struct tl_guard_cfg {
	const char *const *dirs; // directories of the recordings, the reports and the socket
	uint32_t n_dirs;
	const char *read_dir; // directory that is only read, NULL: none
	bool keeps_bpf;	      // an AF_XDP port detaches its program at the end
};

// Restrictions in force, for the status.
struct tl_guard_state {
	bool on;	       // false: the configuration switched all off
	bool no_new_privs;     //
	bool seccomp;	       // false: not available
	int landlock;	       // version of the kernel's; 0: not available
	char user[32];	       // that the process runs as
	char capabilities[96]; // that main keeps, "=": none
};

// Have the C library open now what it would open when the process is restricted. Before any thread is made.
void tl_guard_prepare(void);

// Become this user, with its groups. Root's capabilities that open ports are kept until tl_guard_drop(). Returns 0, or
// -errno and a sentence.
int tl_guard_become(const char *user, struct tl_err *err);

// Restrict every thread that there is, and all that will be made, to the files of cfg and to the system calls of an
// appliance. Before threads of a class begin. Returns 0, or -errno and a sentence; what the kernel lacks is no error.
int tl_guard_enter(const struct tl_guard_cfg *cfg, struct tl_guard_state *out, struct tl_err *err);

// Give up the capabilities, in every thread. After the ports have been opened. Returns 0, or -errno and a sentence.
int tl_guard_drop(const struct tl_guard_cfg *cfg, struct tl_guard_state *out, struct tl_err *err);

// Name the calling thread, and restrict it to its class where tl_guard_enter() has restricted the process. First in the
// thread's main function: once root is dropped, nobody else can name it. name: 15 characters at most; NULL: as it is.
void tl_guard_thread(enum tl_guard_class class, const char *name);
