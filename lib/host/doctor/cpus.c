// SPDX-License-Identifier: BSD-3-Clause
// Sets of CPUs in the formats of the kernel.

#include <tl_doctor_facts.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tl_base.h>

#define WORDS (TL_FACT_CPUS_MAX / 64)
#define MASK_DIGITS (TL_FACT_CPUS_MAX / 4)

void tl_cpus_add(struct tl_fact_cpus *cpus, uint32_t cpu)
{
	cpus->known = true;
	if (cpu < TL_FACT_CPUS_MAX)
		cpus->bits[cpu / 64] |= UINT64_C(1) << (cpu % 64);
}

bool tl_cpus_is_empty(const struct tl_fact_cpus *cpus)
{
	for (size_t i = 0; i < WORDS; i++)
		if (cpus->bits[i] != 0)
			return false;
	return true;
}

struct tl_fact_cpus tl_cpus_minus(const struct tl_fact_cpus *a, const struct tl_fact_cpus *b)
{
	struct tl_fact_cpus out = {.known = a->known && b->known};

	for (size_t i = 0; i < WORDS; i++)
		out.bits[i] = a->bits[i] & ~b->bits[i];
	return out;
}

struct tl_fact_cpus tl_cpus_both(const struct tl_fact_cpus *a, const struct tl_fact_cpus *b)
{
	struct tl_fact_cpus out = {.known = a->known && b->known};

	for (size_t i = 0; i < WORDS; i++)
		out.bits[i] = a->bits[i] & b->bits[i];
	return out;
}

// Parse one number and advance *text. -1: none, or above the largest CPU number.
static int take_number(const char **text)
{
	char *end;

	if (!isdigit((unsigned char)**text))
		return -1;
	unsigned long number = strtoul(*text, &end, 10);
	*text = end;
	return number < TL_FACT_CPUS_MAX ? (int)number : -1;
}

struct tl_fact_cpus tl_cpus_parse_list(const char *text)
{
	struct tl_fact_cpus out = {.known = true};

	if (text[0] == '\0' || strcmp(text, "(null)") == 0)
		return out;
	for (;;) {
		int first = take_number(&text), last = first;
		if (first >= 0 && *text == '-') {
			text++;
			last = take_number(&text);
		}
		if (first < 0 || last < first || (*text != ',' && *text != '\0'))
			return (struct tl_fact_cpus){0};
		for (int cpu = first; cpu <= last; cpu++)
			tl_cpus_add(&out, (uint32_t)cpu);
		if (*text++ == '\0')
			return out;
	}
}

static int hex_digit(char c)
{
	return isdigit((unsigned char)c)    ? c - '0'
	       : isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10
					    : -1;
}

struct tl_fact_cpus tl_cpus_parse_mask(const char *text)
{
	struct tl_fact_cpus out = {.known = text[0] != '\0'};
	uint32_t digit = 0; // from the right

	for (size_t i = strlen(text); i-- > 0;) {
		int value = hex_digit(text[i]);
		if (text[i] == ',')
			continue;
		if (value < 0 || (value != 0 && digit >= MASK_DIGITS))
			return (struct tl_fact_cpus){0};
		for (uint32_t bit = 0; bit < 4; bit++)
			if (value >> bit & 1)
				tl_cpus_add(&out, digit * 4 + bit);
		digit++;
	}
	return out;
}

char *tl_cpus_format(const struct tl_fact_cpus *cpus, char *buf, size_t size)
{
	size_t used = 0;

	snprintf(buf, size, "none");
	for (uint32_t cpu = 0; cpu < TL_FACT_CPUS_MAX; cpu++) {
		uint32_t last = cpu;
		if (!tl_cpus_has(cpus, cpu))
			continue;
		while (tl_cpus_has(cpus, last + 1))
			last++;
		if (used + sizeof(",1023-1023...") > size) {
			snprintf(buf + used, size - used, "...");
			break;
		}
		used += (size_t)snprintf(
			buf + used, size - used, last > cpu ? "%s%u-%u" : "%s%u", used > 0 ? "," : "", cpu, last);
		cpu = last;
	}
	return buf;
}
