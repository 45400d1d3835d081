// SPDX-License-Identifier: BSD-3-Clause
// Replies to getsockopt() calls that bypass the library: through pd_preload.c, if that is loaded.

#include <dlfcn.h>
#include <errno.h>

#include "pd.h"

static struct tl_pd *only; // packetdrill creates one

static bool answer(int fd, int level, int name, void *value, socklen_t *len, int *rc)
{
	if (only == NULL || tl_pd_socket_find(&only->host, fd) == NULL)
		return false;
	struct tl_pd *pd = tl_pd_enter(only);
	*rc = (int)tl_pd_leave(pd, tl_pd_socket_get(tl_pd_socket_find(&pd->host, fd), level, name, value, len));
	return true;
}

void tl_pd_answer_for(struct tl_pd *pd)
{
	bool (**hook)(int, int, int, void *, socklen_t *, int *) = dlsym(RTLD_DEFAULT, "tl_pd_answer_getsockopt");

	only = pd;
	if (hook != NULL)
		*hook = answer;
}
