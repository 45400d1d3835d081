// SPDX-License-Identifier: BSD-3-Clause
// Tests of the control socket: server and client in one process, the server on a thread.

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <tl_ctl.h>
#include <tl_err.h>
#include <tl_test.h>

struct server {
	struct tl_ctl *ctl;
	char path[64];
	atomic_bool stop;
	pthread_t thread;
};

static char *answer(void *ctx, const char *command)
{
	if (strcmp(command, "long") == 0) {
		char *text = malloc(1000001);
		memset(text, 'x', 1000000);
		text[1000000] = '\0';
		return text;
	}
	return strcmp(command, "status") == 0 ? strdup("{\"up\": true}") : NULL;
}

static void *serve(void *arg)
{
	struct server *s = arg;

	while (!s->stop) {
		struct pollfd fd = {.fd = tl_ctl_fd(s->ctl), .events = POLLIN};
		if (poll(&fd, 1, 5) == 1)
			tl_ctl_serve(s->ctl);
	}
	return NULL;
}

static void start(struct server *s)
{
	struct tl_err err;

	*s = (struct server){0};
	snprintf(s->path, sizeof(s->path), "/tmp/tl_test_ctl_%d.sock", (int)getpid());
	CU_ASSERT_EQUAL_FATAL(tl_ctl_open(s->path, answer, NULL, &s->ctl, &err), 0);
	pthread_create(&s->thread, NULL, serve, s);
}

static void stop(struct server *s)
{
	s->stop = true;
	pthread_join(s->thread, NULL);
	tl_ctl_close(s->ctl);
}

static void a_command_gets_its_answer_whole(void)
{
	struct server s;
	struct tl_err err;
	char *text;

	start(&s);
	CU_ASSERT_EQUAL_FATAL(tl_ctl_ask(s.path, "status", &text, &err), 0);
	CU_ASSERT_STRING_EQUAL(text, "{\"up\": true}");
	free(text);
	CU_ASSERT_EQUAL_FATAL(tl_ctl_ask(s.path, "long", &text, &err), 0);
	CU_ASSERT_EQUAL(strlen(text), 1000000);
	free(text);
	stop(&s);
}

static void an_unknown_command_is_answered_with_an_error(void)
{
	struct server s;
	struct tl_err err;
	char *text;

	start(&s);
	CU_ASSERT_EQUAL_FATAL(tl_ctl_ask(s.path, "nonsense", &text, &err), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "unknown command"));
	free(text);
	stop(&s);
}

static void the_socket_has_mode_0660_and_goes_away_at_close(void)
{
	struct server s;
	struct stat st;

	start(&s);
	CU_ASSERT_EQUAL(stat(s.path, &st), 0);
	CU_ASSERT_EQUAL(st.st_mode & 07777, 0660);
	stop(&s);
	CU_ASSERT_EQUAL(stat(s.path, &st), -1);
}

static void a_second_server_on_the_same_path_is_refused(void)
{
	struct server s;
	struct tl_ctl *second;
	struct tl_err err;

	start(&s);
	CU_ASSERT_EQUAL(tl_ctl_open(s.path, answer, NULL, &second, &err), -EADDRINUSE);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, s.path));
	stop(&s);
}

static void a_socket_left_by_a_dead_process_is_replaced(void)
{
	struct server s;
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	snprintf(address.sun_path, sizeof(address.sun_path), "/tmp/tl_test_ctl_%d.sock", (int)getpid());
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	CU_ASSERT_EQUAL_FATAL(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	close(fd); // the file stays
	start(&s);
	stop(&s);
}

static void a_file_that_is_no_socket_is_left_alone(void)
{
	char path[64];
	struct tl_ctl *ctl;
	struct tl_err err;

	snprintf(path, sizeof(path), "/tmp/tl_test_ctl_%d.txt", (int)getpid());
	fclose(fopen(path, "w"));
	CU_ASSERT_EQUAL(tl_ctl_open(path, answer, NULL, &ctl, &err), -EEXIST);
	CU_ASSERT_EQUAL(unlink(path), 0);
}

static void a_place_where_no_socket_can_be_made_is_known_before(void)
{
	struct tl_err err;

	CU_ASSERT_EQUAL(tl_ctl_check("/tmp/no-such-directory/x.sock", &err), -ENOENT);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "/tmp/no-such-directory/x.sock: no socket can be made"));
	CU_ASSERT_EQUAL(tl_ctl_check("/dev/null/x.sock", &err), -ENOTDIR);
	CU_ASSERT_EQUAL(tl_ctl_check("x.sock", NULL), 0);
}

static void asking_where_nobody_listens_says_so(void)
{
	struct tl_err err;
	char *text;

	CU_ASSERT_EQUAL(tl_ctl_ask("/tmp/no-such-appliance.sock", "status", &text, &err), -ENOENT);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "/tmp/no-such-appliance.sock"));
}

static void a_client_that_says_nothing_does_not_hold_up_the_next(void)
{
	struct server s;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct tl_err err;
	char *text;

	start(&s);
	memcpy(address.sun_path, s.path, strlen(s.path));
	int silent = socket(AF_UNIX, SOCK_STREAM, 0);
	CU_ASSERT_EQUAL(connect(silent, (struct sockaddr *)&address, sizeof(address)), 0);
	CU_ASSERT_EQUAL_FATAL(tl_ctl_ask(s.path, "status", &text, &err), 0);
	free(text);
	close(silent);
	stop(&s);
}

int main(void)
{
	static const struct tl_test tests[] = {
		{"a command gets its answer whole", a_command_gets_its_answer_whole},
		{"an unknown command is answered with an error", an_unknown_command_is_answered_with_an_error},
		{"the socket has mode 0660 and goes away at close", the_socket_has_mode_0660_and_goes_away_at_close},
		{"a second server on the same path is refused", a_second_server_on_the_same_path_is_refused},
		{"a socket left by a dead process is replaced", a_socket_left_by_a_dead_process_is_replaced},
		{"a file that is no socket is left alone", a_file_that_is_no_socket_is_left_alone},
		{"a place where no socket can be made is known before",
			a_place_where_no_socket_can_be_made_is_known_before},
		{"asking where nobody listens says so", asking_where_nobody_listens_says_so},
		{"a client that says nothing does not hold up the next",
			a_client_that_says_nothing_does_not_hold_up_the_next},
	};

	return tl_test_main("ctl", tests, TL_ARRAY_LEN(tests));
}
