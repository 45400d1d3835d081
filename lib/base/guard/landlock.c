// SPDX-License-Identifier: BSD-3-Clause
// Landlock: files that a thread may open, regardless of its user.

#include "guard_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <tl_base.h>
#include <tl_err.h>

// Rights added after Landlock's first version, with the kernel's numbers; missing in older headers.
#define REFER (UINT64_C(1) << 13)     // version 2
#define TRUNCATE (UINT64_C(1) << 14)  // version 3
#define IOCTL_DEV (UINT64_C(1) << 15) // version 5
#define FIRST_RIGHTS ((UINT64_C(1) << 13) - 1)
#define TCP_RIGHTS UINT64_C(3) // version 4: bind and connect

#define READ (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define WRITE                                                                                                          \
	(READ | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |           \
		LANDLOCK_ACCESS_FS_REMOVE_FILE | REFER | TRUNCATE)

struct rules { // struct landlock_ruleset_attr of version 4
	uint64_t files, net;
};

// Paths for counters and topology, hugepages and locks. Nothing below /proc is written: the file mem of a thread is its
// memory, and comm, its name, cannot be allowed alone. Some are missing on some hosts.
static const struct {
	const char *path;
	uint64_t rights;
} always[] = {
	{"/proc", READ}, {"/sys", READ}, {"/dev/hugepages", WRITE}, {"/run/xdp", READ}, // a lock of libxdp
};

static uint64_t all_rights(int version)
{
	return FIRST_RIGHTS | (version >= 2 ? REFER : 0) | (version >= 3 ? TRUNCATE : 0) |
	       (version >= 5 ? IOCTL_DEV : 0);
}

// Allow a path. Return 0 or -errno.
static int allow(int rules, const char *path, uint64_t rights)
{
	struct landlock_path_beneath_attr beneath = {
		.allowed_access = rights, .parent_fd = open(path, O_PATH | O_CLOEXEC)};

	if (beneath.parent_fd < 0)
		return -errno;
	long rc = syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0);
	int error = rc == 0 ? 0 : -errno;
	close(beneath.parent_fd);
	return error;
}

static int allow_all(const struct tl_guard_cfg *cfg, int rules, uint64_t handled, struct tl_err *err)
{
	for (size_t i = 0; i < TL_ARRAY_LEN(always); i++)
		(void)allow(rules, always[i].path, always[i].rights & handled);
	if (cfg->read_dir != NULL)
		(void)allow(rules, cfg->read_dir, READ);
	for (uint32_t i = 0; i < cfg->n_dirs; i++) {
		int rc = allow(rules, cfg->dirs[i], WRITE & handled);
		if (rc != 0)
			return tl_fail(err, rc, "%s: Landlock refuses the directory (%s)", cfg->dirs[i], strerror(-rc));
	}
	for (size_t i = 0; i < cfg->n_reads; i++) {
		int rc = allow(rules, cfg->reads[i], LANDLOCK_ACCESS_FS_READ_FILE);
		if (rc != 0)
			return tl_fail(err, rc, "%s: Landlock refuses the file (%s)", cfg->reads[i], strerror(-rc));
	}
	return 0;
}

int guard_landlock_rules(const struct tl_guard_cfg *cfg, int *version, struct tl_err *err)
{
	long found = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	*version = found > 0 ? (int)found : 0;
	if (found <= 0)
		return -ENOSYS;
	struct rules handled = {.files = all_rights(*version), .net = TCP_RIGHTS};
	size_t bytes = *version >= 4 ? sizeof(handled) : sizeof(handled.files);
	int rules = (int)syscall(SYS_landlock_create_ruleset, &handled, bytes, 0);
	if (rules < 0)
		return tl_fail(err, -errno, "Landlock refuses rules (%s)", strerror(errno));
	int rc = allow_all(cfg, rules, handled.files, err);
	if (rc == 0)
		return rules;
	close(rules);
	return rc;
}

int guard_landlock_restrict(int rules)
{
	return syscall(SYS_landlock_restrict_self, rules, 0) == 0 ? 0 : -errno;
}
