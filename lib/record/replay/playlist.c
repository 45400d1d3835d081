// SPDX-License-Identifier: BSD-3-Clause
// Files from the words of a call.

#include <tl_replay_playlist.h>

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <tl_err.h>
#include <tl_extract_source.h>

void tl_replay_playlist_free(struct tl_replay_playlist *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->paths[i]);
	free(list->paths);
	free(list->first_ns);
	*list = (struct tl_replay_playlist){0};
}

// ---- one file

// Read the time of the first frame; a file without one, or damaged there, has 0. The run reports damage. Return 0,
// -EBADMSG: nothing of the file can be read, or another -errno.
static int read_first(const char *path, uint64_t *first_ns, uint64_t *bytes, struct tl_err *err)
{
	struct tl_extract_source source;
	struct tl_pcap_frame frame;
	struct tl_err ignored;

	*first_ns = *bytes = 0;
	int rc = tl_extract_source_open(&source, path, err);
	if (rc != 0)
		return rc == -EINVAL && tl_extract_may_be_capture(path) ? -EBADMSG : rc;
	*bytes = tl_extract_source_bytes(&source);
	*first_ns = tl_extract_source_next(&source, &frame, &ignored) == 1 ? frame.ts_ns : 0;
	tl_extract_source_close(&source);
	return 0;
}

static bool grow(struct tl_replay_playlist *list)
{
	size_t capacity = list->capacity == 0 ? 64 : 2 * list->capacity;
	char **paths = reallocarray(list->paths, capacity, sizeof(*paths));

	if (paths == NULL)
		return false;
	list->paths = paths;
	uint64_t *first_ns = reallocarray(list->first_ns, capacity, sizeof(*first_ns));
	if (first_ns == NULL)
		return false;
	list->first_ns = first_ns;
	list->capacity = capacity;
	return true;
}

static int add_file(struct tl_replay_playlist *list, const char *path, struct tl_err *err)
{
	uint64_t first_ns, bytes;

	int rc = read_first(path, &first_ns, &bytes, err);
	if (rc != 0 && rc != -EBADMSG)
		return rc;
	list->unreadable += rc != 0;
	char *copy = list->n < list->capacity || grow(list) ? strdup(path) : NULL;
	if (copy == NULL)
		return tl_fail(err, -ENOMEM, "not enough memory");
	list->paths[list->n] = copy;
	list->first_ns[list->n++] = first_ns;
	list->bytes += bytes;
	list->packed += rc == 0 && bytes == 0;
	return 0;
}

// ---- several files

static int add_list(struct tl_replay_playlist *list, const char *path, struct tl_err *err)
{
	FILE *file = fopen(path, "re");
	struct stat status;
	char *line = NULL;
	size_t size = 0;
	ssize_t len;
	int rc = 0;

	if (file == NULL)
		return tl_fail(err, -errno, "@%.300s: %s", path, strerror(errno));
	list->once |= fstat(fileno(file), &status) != 0 || !S_ISREG(status.st_mode);
	for (unsigned number = 1; rc == 0 && (len = getline(&line, &size, file)) > 0; number++) {
		while (len > 0 && (line[len - 1] == '\n' || line[len - 1] == '\r'))
			line[--len] = '\0';
		rc = line[0] != '\0' ? add_file(list, line, err) : 0;
		if (rc != 0)
			tl_fail_at(err, rc, "@%.200s, line %u", path, number);
	}
	if (rc == 0 && ferror(file))
		rc = tl_fail(err, -EIO, "@%.300s: cannot be read to its end", path);
	free(line);
	fclose(file);
	return rc;
}

static int add_directory(struct tl_replay_playlist *list, const char *path, struct tl_err *err)
{
	char **found = NULL;
	size_t n = 0;

	int rc = tl_extract_directory(path, &found, &n, err);
	for (size_t i = 0; i < n; i++) {
		if (rc == 0)
			rc = add_file(list, found[i], err);
		free(found[i]);
	}
	free(found);
	return rc;
}

static int add_matches(struct tl_replay_playlist *list, const char *pattern, struct tl_err *err)
{
	glob_t found;
	int rc = 0;

	if (glob(pattern, 0, NULL, &found) != 0)
		return tl_fail(err, -ENOENT, "%.300s: no such file", pattern);
	for (size_t i = 0; i < found.gl_pathc && rc == 0; i++)
		rc = add_file(list, found.gl_pathv[i], err);
	globfree(&found);
	return rc;
}

// ---- order

struct entry {
	char *path;
	uint64_t first_ns;
	size_t place;
};

static int by_time(const void *a_entry, const void *b_entry)
{
	const struct entry *a = a_entry, *b = b_entry;

	if (a->first_ns != b->first_ns)
		return a->first_ns < b->first_ns ? -1 : 1;
	return a->place < b->place ? -1 : 1;
}

static int sort_from(struct tl_replay_playlist *list, size_t first)
{
	size_t n = list->n - first;
	struct entry *entries = calloc(n + 1, sizeof(*entries));

	if (entries == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		entries[i] = (struct entry){list->paths[first + i], list->first_ns[first + i], i};
	qsort(entries, n, sizeof(*entries), by_time);
	for (size_t i = 0; i < n; i++) {
		list->paths[first + i] = entries[i].path;
		list->first_ns[first + i] = entries[i].first_ns;
	}
	free(entries);
	return 0;
}

int tl_replay_playlist_finish(struct tl_replay_playlist *list, bool merge, struct tl_err *err)
{
	uint64_t first_ns, bytes;

	if (list->n != 0 && list->unreadable == list->n)
		return read_first(list->paths[0], &first_ns, &bytes, err);
	return merge && sort_from(list, 0) != 0 ? tl_fail(err, -ENOMEM, "not enough memory") : 0;
}

// ---- words

bool tl_replay_playlist_is_word(const char *word)
{
	struct stat status;
	glob_t found;

	if (word[0] == '@' || stat(word, &status) == 0)
		return true;
	if (glob(word, 0, NULL, &found) != 0)
		return false;
	globfree(&found);
	return true;
}

int tl_replay_playlist_add(struct tl_replay_playlist *list, const char *word, struct tl_err *err)
{
	size_t first = list->n;
	struct stat status;
	int rc;

	if (stat(word, &status) == 0)
		rc = S_ISDIR(status.st_mode) ? add_directory(list, word, err) : add_file(list, word, err);
	else
		rc = word[0] == '@' ? add_list(list, word + 1, err) : add_matches(list, word, err);
	if (rc == 0 && list->n == first)
		return tl_fail(err, -ENOENT, "%.300s: there is no capture file in it", word);
	return rc == 0 && sort_from(list, first) != 0 ? tl_fail(err, -ENOMEM, "not enough memory") : rc;
}
