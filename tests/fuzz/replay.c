// SPDX-License-Identifier: BSD-3-Clause
// Replay a corpus through a fuzz harness, in any build and without libFuzzer: each file of the directory unchanged, and
// truncated at up to 64 lengths. An input that violates an assertion of the harness aborts, with the file name on
// stderr.

#include <dirent.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CUTS 64
#define INPUT_BYTES_MAX (1u << 20)

__attribute__((weak)) int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Heap block of its exact size, so that a sanitizer detects the first byte beyond.
static void run_one(const uint8_t *data, size_t size)
{
	uint8_t *exact = malloc(size != 0 ? size : 1);

	if (exact == NULL)
		abort();
	memcpy(exact, data, size);
	LLVMFuzzerTestOneInput(exact, size);
	free(exact);
}

static void run_cut(const uint8_t *data, size_t size)
{
	size_t step = size / CUTS + 1;

	for (size_t cut = 0; cut < size; cut += step)
		run_one(data, cut);
	run_one(data, size);
}

static int replay_file(const char *path)
{
	uint8_t *data = malloc(INPUT_BYTES_MAX);
	FILE *file = fopen(path, "rb");

	if (data == NULL || file == NULL) {
		fprintf(stderr, "cannot read %s\n", path);
		free(data);
		if (file != NULL)
			fclose(file);
		return -1;
	}
	fprintf(stderr, "%s\n", path);
	size_t size = fread(data, 1, INPUT_BYTES_MAX, file);
	fclose(file);
	run_cut(data, size);
	free(data);
	return 0;
}

int main(int argc, char **argv)
{
	char path[PATH_MAX];
	unsigned count = 0, failed = 0;
	DIR *dir = argc == 2 ? opendir(argv[1]) : NULL;

	if (dir == NULL) {
		fprintf(stderr, "usage: replay_NAME DIRECTORY\n");
		return 2;
	}
	if (LLVMFuzzerInitialize != NULL)
		LLVMFuzzerInitialize(&argc, &argv);
	for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", argv[1], entry->d_name);
		failed += replay_file(path) != 0;
		count++;
	}
	closedir(dir);
	const char *harness = strrchr(argv[1], '/') != NULL ? strrchr(argv[1], '/') + 1 : argv[1];
	printf("%s - fuzz: %s: %u inputs keep the promises\n", count != 0 && failed == 0 ? "ok" : "not ok", harness,
		count);
	return count == 0 || failed != 0;
}
