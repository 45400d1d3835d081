// SPDX-License-Identifier: BSD-3-Clause
// Create the directory of the latency reports.

#include "latency_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tl_err.h>

// Give the new directory to its user, who may own the parent, and put a link in its place: follow none.
static int give(const char *dir, const struct passwd *owner)
{
	size_t chars = strlen(dir);

	while (chars > 1 && dir[chars - 1] == '/') // open() would follow a link with a slash behind it
		chars--;
	char *name = strndup(dir, chars);
	int fd = name != NULL ? open(name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
	int rc = fd >= 0 && fchown(fd, owner->pw_uid, owner->pw_gid) == 0 ? 0 : -errno;

	if (fd >= 0)
		close(fd);
	free(name);
	return rc;
}

int tl_latency_dir_make(const char *dir, const char *user, struct tl_err *err)
{
	const struct passwd *owner = user != NULL ? getpwnam(user) : NULL;
	struct stat what;
	int rc = 0;

	if (mkdir(dir, 0750) != 0) {
		if (errno != EEXIST)
			return tl_fail(err, -errno, "--latency %s: cannot be made: %s", dir, strerror(errno));
	} else if (owner != NULL && (rc = give(dir, owner)) != 0) {
		return tl_fail(err, rc, "--latency %s: cannot be given to %s: %s", dir, user, strerror(-rc));
	}
	if (stat(dir, &what) != 0 || !S_ISDIR(what.st_mode))
		return tl_fail(err, -ENOTDIR, "--latency %s: not a directory", dir);
	return 0;
}
