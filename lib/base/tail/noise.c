// SPDX-License-Identifier: BSD-3-Clause
// Reads the kernel's counters of a CPU and of a thread.

#include <tl_noise.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tl_base.h>

#define PATH 128

// Column of the CPU in a head that names the online CPUs. -1: offline.
static int column_of(const char *head, unsigned cpu)
{
	int column = 0;

	for (const char *at = strstr(head, "CPU"); at != NULL; at = strstr(at + 3, "CPU"), column++)
		if (strtoul(at + 3, NULL, 10) == cpu)
			return column;
	return -1;
}

// Read the number in a column of a line such as "  24:   17   3   IR-PCI-MSI ...". Lines for the whole machine have
// only the first column.
static uint64_t number_in(const char *line, int column)
{
	const char *at = strchr(line, ':');
	char *end;
	uint64_t value = 0;

	for (int i = 0; at != NULL && i <= column; i++) {
		value = strtoull(at + 1, &end, 10);
		if (end == at + 1)
			return 0;
		at = end;
	}
	return value;
}

static uint64_t read_interrupts(const char *proc, unsigned cpu)
{
	char path[PATH], *line = NULL;
	size_t room = 0;
	uint64_t sum = TL_NOISE_UNKNOWN;

	snprintf(path, sizeof(path), "%s/interrupts", proc);
	FILE *file = fopen(path, "re");
	if (file == NULL)
		return TL_NOISE_UNKNOWN;
	int column = getline(&line, &room, file) > 0 ? column_of(line, cpu) : -1;
	for (sum = 0; column >= 0 && getline(&line, &room, file) > 0;)
		sum += number_in(line, column);
	free(line);
	fclose(file);
	return column >= 0 ? sum : TL_NOISE_UNKNOWN;
}

// Read the number after a word at the start of a line, after skip others.
static uint64_t read_number(const char *path, const char *word, int skip)
{
	char *line = NULL;
	size_t room = 0, len = strlen(word);
	uint64_t value = TL_NOISE_UNKNOWN;
	FILE *file = fopen(path, "re");

	while (file != NULL && value == TL_NOISE_UNKNOWN && getline(&line, &room, file) > 0) {
		if (strncmp(line, word, len) != 0)
			continue;
		char *at = line + len, *end = at;
		for (int i = 0; i <= skip; i++, at = end)
			value = strtoull(at, &end, 10);
		if (end == line + len)
			value = TL_NOISE_UNKNOWN;
	}
	free(line);
	if (file != NULL)
		fclose(file);
	return value;
}

void tl_noise_read(const char *proc, unsigned cpu, int tid, struct tl_noise *out)
{
	const uint64_t tick_ns = TL_NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);
	char path[PATH], word[16];

	*out = (struct tl_noise){read_interrupts(proc, cpu), TL_NOISE_UNKNOWN, TL_NOISE_UNKNOWN, TL_NOISE_UNKNOWN};
	snprintf(path, sizeof(path), "%s/stat", proc);
	snprintf(word, sizeof(word), "cpu%u ", cpu);
	uint64_t ticks = read_number(path, word, 7); // after user nice system idle iowait irq softirq
	if (ticks != TL_NOISE_UNKNOWN)
		out->steal_ns = ticks * tick_ns;
	if (tid == 0)
		return;
	snprintf(path, sizeof(path), "%s/self/task/%d/status", proc, tid);
	out->involuntary_switches = read_number(path, "nonvoluntary_ctxt_switches:", 0);
	snprintf(path, sizeof(path), "%s/self/task/%d/schedstat", proc, tid);
	out->wait_ns = read_number(path, "", 1); // after the run time
}

static uint64_t between(uint64_t before, uint64_t after)
{
	if (before == TL_NOISE_UNKNOWN || after == TL_NOISE_UNKNOWN)
		return TL_NOISE_UNKNOWN;
	return after > before ? after - before : 0; // counts of removed devices disappear
}

struct tl_noise tl_noise_between(const struct tl_noise *before, const struct tl_noise *after)
{
	return (struct tl_noise){between(before->interrupts, after->interrupts),
		between(before->steal_ns, after->steal_ns),
		between(before->involuntary_switches, after->involuntary_switches),
		between(before->wait_ns, after->wait_ns)};
}
