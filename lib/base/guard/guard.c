// SPDX-License-Identifier: BSD-3-Clause
// Drops root and capabilities, and applies the restrictions in order.

#include "guard_priv.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <malloc.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <tl_base.h>
#include <tl_err.h>
#include <tl_log.h>
#include <tl_sanitizer.h>

// Required until the ports are open: packet sockets, promiscuous mode, AF_XDP, locked memory.
static const cap_value_t opening[] = {CAP_NET_RAW, CAP_NET_ADMIN, CAP_IPC_LOCK, CAP_BPF, CAP_SYS_ADMIN};

// Kept to the end if root records into a directory of another user. Landlock limits it to that directory.
static const cap_value_t writing[] = {CAP_DAC_OVERRIDE};
// Same for main; NET_ADMIN if an interface must be restored; and more if an AF_XDP program must be detached: netlink
// requires NET_ADMIN, the search for the program SYS_ADMIN.
static const cap_value_t kept[] = {CAP_DAC_OVERRIDE, CAP_NET_ADMIN, CAP_BPF, CAP_SYS_ADMIN};

// Select the capabilities among these that the thread has. NULL: out of memory.
static cap_t keep_of(const cap_value_t *values, int n)
{
	cap_t has = cap_get_proc(), keep = cap_init();
	cap_flag_value_t set;

	for (int i = 0; i < n && has != NULL && keep != NULL; i++) {
		if (cap_get_flag(has, values[i], CAP_PERMITTED, &set) != 0 || set != CAP_SET)
			continue;
		(void)cap_set_flag(keep, CAP_PERMITTED, 1, &values[i], CAP_SET);
		(void)cap_set_flag(keep, CAP_EFFECTIVE, 1, &values[i], CAP_SET);
	}
	cap_free(has);
	return keep;
}

static int keep_only(const cap_value_t *values, int n)
{
	cap_t keep = keep_of(values, n);
	int rc = keep == NULL ? -ENOMEM : cap_set_proc(keep) == 0 ? 0 : -errno;

	cap_free(keep);
	return rc;
}

static int set_ids(const struct passwd *user)
{
	if (initgroups(user->pw_name, user->pw_gid) != 0 || setresgid(user->pw_gid, user->pw_gid, user->pw_gid) != 0 ||
		setresuid(user->pw_uid, user->pw_uid, user->pw_uid) != 0)
		return -errno;
	return 0;
}

int tl_guard_set_user(const char *name, struct tl_err *err)
{
	const struct passwd *user = getpwnam(name);

	if (user == NULL)
		return tl_fail(err, -ENOENT, "process.user: no such user: \"%s\"", name);
	if (user->pw_uid == geteuid())
		return 0;
	if (geteuid() != 0)
		return tl_fail(
			err, -EPERM, "process.user: only root can switch to %s: start as root, or as that user", name);
	(void)prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
	int rc = set_ids(user);
	if (rc == 0)
		rc = keep_only(opening, TL_ARRAY_LEN(opening));
	if (rc != 0)
		return tl_fail(err, rc, "process.user: cannot switch to %s (%s)", name, strerror(-rc));
	return 0;
}

// ---- restrictions

void tl_guard_prepare(void)
{
	// A thread that creates or trims its own arena opens files of /proc and /sys.
	(void)mallopt(M_ARENA_MAX, 1);
	tzset();				 // file names contain the local time
	(void)dlopen("libgcc_s.so.1", RTLD_NOW); // loaded by pthread_cancel(), which DPDK calls during its cleanup
}

static int restrict_thread(void *rules)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -errno;
	return *(int *)rules >= 0 ? guard_landlock_restrict(*(int *)rules) : 0;
}

// Restrict files. Without Landlock the threads still get no new privileges.
static int restrict_files(const struct tl_guard_cfg *cfg, struct tl_guard_state *out, struct tl_err *err)
{
	int rules = guard_landlock_rules(cfg, &out->landlock, err);

	if (rules < 0 && rules != -ENOSYS)
		return rules;
	int rc = restrict_thread(&rules);
	if (rc != 0)
		(void)tl_fail(err, rc, "cannot restrict the process (%s)", strerror(-rc));
	else
		rc = guard_each_thread(GUARD_NO_NEW_PRIVS, restrict_thread, &rules, err);
	if (rules >= 0)
		close(rules);
	out->no_new_privs = rc == 0;
	return rc;
}

// Drop the right to write into other users' directories, unless the recordings are there, or files to be read. New
// threads inherit the rest.
static int drop_writing(const struct tl_guard_cfg *cfg)
{
	cap_t all = cap_get_proc(), without = all != NULL ? cap_dup(all) : NULL;
	bool needed = false;
	int rc = without != NULL ? 0 : -ENOMEM;

	if (rc == 0 && (cap_set_flag(without, CAP_PERMITTED, 1, writing, CAP_CLEAR) != 0 ||
			       cap_set_flag(without, CAP_EFFECTIVE, 1, writing, CAP_CLEAR) != 0))
		rc = -errno;
	cap_t effective = rc == 0 ? cap_dup(all) : NULL;
	if (effective != NULL && cap_set_flag(effective, CAP_EFFECTIVE, 1, writing, CAP_CLEAR) == 0 &&
		cap_set_proc(effective) == 0) {
		for (uint32_t i = 0; i < cfg->n_dirs; i++)
			needed |= faccessat(AT_FDCWD, cfg->dirs[i], W_OK | X_OK, AT_EACCESS) != 0;
		for (size_t i = 0; i < cfg->n_reads; i++)
			needed |= faccessat(AT_FDCWD, cfg->reads[i], R_OK, AT_EACCESS) != 0;
	}
	if (rc == 0 && cap_set_proc(needed ? all : without) != 0)
		rc = -errno;
	cap_free(effective);
	cap_free(without);
	cap_free(all);
	return rc;
}

int tl_guard_enter(const struct tl_guard_cfg *cfg, struct tl_guard_state *out, struct tl_err *err)
{
	const struct passwd *user = getpwuid(geteuid());

	out->on = true;
	snprintf(out->user, sizeof(out->user), "%s", user != NULL ? user->pw_name : "?");
	int rc = drop_writing(cfg);
	if (rc != 0)
		return tl_fail(err, rc, "cannot drop capabilities (%s)", strerror(-rc));
	rc = restrict_files(cfg, out, err);
	if (rc != 0)
		return rc;
	if (out->landlock == 0)
		tl_info("sandbox: Landlock is not available in this kernel: files are not restricted");
	if (!TL_SANITIZED) // its runtime inspects its own process, which seccomp forbids
		rc = guard_seccomp_process(cfg->keeps_bpf);
	if (rc == -ENOMEM) // not a kernel without it
		return tl_fail(err, rc, "sandbox: no memory for the rules of seccomp; leave the process more memory");
	out->seccomp = !TL_SANITIZED && rc == 0;
	if (!out->seccomp)
		tl_info("sandbox: seccomp is not available (%s): system calls are not restricted",
			TL_SANITIZED ? "this is a sanitizer's build" : strerror(-rc));
	return 0;
}

// ---- capabilities

static int n_kept(const struct tl_guard_cfg *cfg)
{
	return cfg->keeps_bpf ? TL_ARRAY_LEN(kept) : cfg->keeps_net_admin ? 2 : 1;
}

static int set_capabilities(void *keep)
{
	return cap_set_proc(keep) == 0 ? 0 : -errno;
}

int tl_guard_drop(const struct tl_guard_cfg *cfg, struct tl_guard_state *out, struct tl_err *err)
{
	cap_t none = cap_init();
	int rc = none != NULL ? guard_each_thread(GUARD_NO_CAPABILITIES, set_capabilities, none, err) : -ENOMEM;

	cap_free(none);
	if (rc == 0 && (rc = keep_only(kept, n_kept(cfg))) != 0)
		(void)tl_fail(err, rc, "cannot drop capabilities (%s)", strerror(-rc));
	cap_t left = cap_get_proc();
	char *text = left != NULL ? cap_to_text(left, NULL) : NULL;
	snprintf(out->capabilities, sizeof(out->capabilities), "%s", text != NULL ? text : "?");
	cap_free(text);
	cap_free(left);
	return rc;
}

void tl_guard_thread(enum tl_guard_class class, const char *name)
{
	if (name != NULL)
		(void)prctl(PR_SET_NAME, name);
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return;
	int rc = keep_only(writing, class == TL_GUARD_FILES ? TL_ARRAY_LEN(writing) : 0);
	int filtered = guard_seccomp_is_on() ? guard_seccomp_thread(class) : 0;
	if (rc != 0 || filtered != 0)
		tl_warn("sandbox: thread %s keeps %s that it does not need: %s; restart, and report it if it recurs",
			name != NULL ? name : "of DPDK", rc != 0 ? "capabilities" : "system calls",
			strerror(rc != 0 ? -rc : -filtered));
}
