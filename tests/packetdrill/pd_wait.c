// SPDX-License-Identifier: BSD-3-Clause
// A lock for all calls, and the wait of blocking calls.

#include <errno.h>
#include <stdlib.h>

#include "pd.h"

#define FLAGS_KNOWN (MSG_DONTWAIT | MSG_NOSIGNAL | MSG_PEEK | MSG_MORE | MSG_EOR)

// ---- set-up and end

struct tl_pd *tl_pd_create(const char *flags)
{
	struct tl_pd *pd = calloc(1, sizeof(*pd));

	if (pd == NULL)
		abort();
	if (!tl_pd_flags_parse(flags, &pd->host.flags))
		exit(2);
	TAILQ_INIT(&pd->host.sockets);
	pthread_mutex_init(&pd->lock, NULL);
	pthread_cond_init(&pd->changed, NULL);
	pthread_cond_init(&pd->looked, NULL);
	pd->main_thread = pthread_self();
	tl_pd_stack_init(&pd->host.stack, &pd->host.flags);
	tl_pd_answer_for(pd);
	return pd;
}

void tl_pd_destroy(struct tl_pd *pd)
{
	struct tl_pd_socket *s;

	tl_pd_answer_for(NULL);
	while ((s = TAILQ_FIRST(&pd->host.sockets)) != NULL)
		tl_pd_socket_close(s);
	tl_pd_stack_fini(&pd->host.stack);
	pthread_mutex_destroy(&pd->lock);
	pthread_cond_destroy(&pd->changed);
	pthread_cond_destroy(&pd->looked);
	free(pd);
}

// ---- every call

struct tl_pd *tl_pd_enter(void *userdata)
{
	struct tl_pd *pd = userdata;

	pthread_mutex_lock(&pd->lock);
	tl_pd_stack_work(&pd->host.stack);
	return pd;
}

bool tl_pd_is_main(const struct tl_pd *pd)
{
	return pthread_equal(pthread_self(), pd->main_thread);
}

void tl_pd_settle(struct tl_pd *pd)
{
	if (pd->waiting == 0 || (!pd->host.news && pd->host.stack.now_us < pd->wait_until_us))
		return;
	pd->host.news = false;
	pd->news++;
	pthread_cond_broadcast(&pd->changed);
	while (pd->waiting > 0 && pd->news_seen != pd->news)
		pthread_cond_wait(&pd->looked, &pd->lock);
}

ssize_t tl_pd_leave(struct tl_pd *pd, ssize_t rc)
{
	tl_pd_stack_work(&pd->host.stack);
	if (tl_pd_is_main(pd))
		tl_pd_settle(pd);
	pthread_mutex_unlock(&pd->lock);
	if (rc >= 0)
		return rc;
	errno = (int)-rc;
	return -1;
}

// ---- blocking calls

// Only timers of the stack can end the main thread's wait.
static ssize_t wait_alone(struct tl_pd *pd, struct tl_pd_look *look, uint64_t until_us)
{
	uint64_t patience_us = pd->host.stack.now_us + (uint64_t)pd->host.flags.patience_s * TL_PD_US_PER_S;
	ssize_t rc;

	while ((rc = look->fn(look)) == -EAGAIN) {
		if (pd->host.stack.now_us >= until_us)
			return -EAGAIN;
		if (pd->host.stack.now_us >= patience_us)
			return -EDEADLK;
		tl_pd_stack_step(&pd->host.stack, until_us);
	}
	return rc;
}

// The other thread sleeps until a change.
static ssize_t wait_for_news(struct tl_pd *pd, struct tl_pd_look *look, uint64_t until_us)
{
	ssize_t rc;

	pd->waiting++;
	pd->wait_until_us = until_us;
	while ((rc = look->fn(look)) == -EAGAIN && pd->host.stack.now_us < until_us) {
		tl_pd_stack_work(&pd->host.stack);
		pd->news_seen = pd->news;
		pthread_cond_signal(&pd->looked);
		pthread_cond_wait(&pd->changed, &pd->lock);
	}
	pd->returned_us = pd->host.stack.now_us;
	pd->waiting--;
	pthread_cond_signal(&pd->looked);
	return rc;
}

ssize_t tl_pd_wait(struct tl_pd *pd, struct tl_pd_look *look, uint64_t until_us)
{
	return tl_pd_is_main(pd) ? wait_alone(pd, look, until_us) : wait_for_news(pd, look, until_us);
}

ssize_t tl_pd_on_socket(void *userdata, int fd, struct tl_pd_look *look, int flags)
{
	struct tl_pd *pd = tl_pd_enter(userdata);
	ssize_t rc = -EBADF;

	look->s = tl_pd_socket_find(&pd->host, fd);
	if (look->s != NULL && (flags & ~FLAGS_KNOWN) != 0) {
		rc = -EOPNOTSUPP;
	} else if (look->s != NULL) {
		look->blocks = !look->s->nonblocking && (flags & MSG_DONTWAIT) == 0;
		rc = tl_pd_wait(pd, look, look->blocks ? TL_PD_NEVER : 0);
	}
	return tl_pd_leave(pd, rc);
}
