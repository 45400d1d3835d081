// SPDX-License-Identifier: BSD-3-Clause
// Gives each file of a corpus to a fuzz harness once, as a test: `replay NAME DIR`. Also every prefix of each file,
// because most parsers fail at an end that came too soon.

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv) __attribute__((weak));

#define FILE_MAX_BYTES (1u << 20)

// An input of exactly size bytes, so that a sanitizer sees a read past its end.
static void give(const uint8_t *data, size_t size)
{
	uint8_t *exact = malloc(size != 0 ? size : 1);

	if (exact == NULL)
		exit(1);
	memcpy(exact, data, size);
	LLVMFuzzerTestOneInput(exact, size);
	free(exact);
}

static int replay_file(const char *dir, const char *name)
{
	static uint8_t data[FILE_MAX_BYTES];
	char path[1024];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	FILE *f = fopen(path, "rb");
	if (f == NULL)
		return -1;
	size_t size = fread(data, 1, sizeof(data), f);
	fclose(f);
	for (size_t len = 0; len <= size; len++)
		give(data, len);
	return 0;
}

int main(int argc, char **argv)
{
	unsigned files = 0;

	if (argc != 3) {
		fprintf(stderr, "usage: replay NAME DIR\n");
		return 2;
	}
	DIR *dir = opendir(argv[2]);
	if (dir == NULL) {
		printf("not ok - fuzz: %s: there is no corpus %s\n", argv[1], argv[2]);
		return 1;
	}
	if (LLVMFuzzerInitialize != NULL)
		LLVMFuzzerInitialize(&argc, &argv);
	for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
		if (entry->d_name[0] != '.' && replay_file(argv[2], entry->d_name) == 0)
			files++;
	closedir(dir);
	printf("%s - fuzz: %s survives its corpus, and every prefix of it\n", files != 0 ? "ok" : "not ok", argv[1]);
	return files == 0;
}
