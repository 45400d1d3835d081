// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Declarations shared by the files of guard.

#include <tl_guard.h>

// landlock.c: create a ruleset that allows the files of cfg. Return a descriptor, -ENOSYS if the kernel does not
// support Landlock, or another -errno with a message.
int guard_landlock_rules(const struct tl_guard_cfg *cfg, int *version, struct tl_err *err);
// Restrict the calling thread. Return 0 or -errno. Async-signal-safe.
int guard_landlock_restrict(int rules);

// seccomp.c: restrict all threads to the system calls of an appliance. Return 0 or -errno.
int guard_seccomp_process(bool with_bpf);
int guard_seccomp_thread(enum tl_guard_class class);
// Check whether guard_seccomp_process() has restricted this process.
bool guard_seccomp_is_on(void);

// Restriction that fn applies to a thread. A thread that has it is not called; threads created by it inherit it.
enum guard_goal {
	GUARD_NO_NEW_PRIVS,
	GUARD_NO_CAPABILITIES, // except the right to write into all directories
};

// threads.c: call fn, in a signal handler, in every other thread that lacks the goal, until all have reached it. A
// thread that blocks signals is called when it unblocks them, unless it ends or reaches the goal by itself. Return 0,
// the first error of fn, or -ETIMEDOUT after 10 s, with a message.
int guard_each_thread(enum guard_goal goal, int (*fn)(void *arg), void *arg, struct tl_err *err);
