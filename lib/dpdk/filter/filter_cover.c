// SPDX-License-Identifier: BSD-3-Clause
// Comparison of two expressions: libpcap's optimizer removes tests whose results are known from those before, and
// refuses an expression of which nothing is left.

#include "filter_priv.h"

#include <stdio.h>
#include <string.h>

#define TEXT_MAX 160 // of both: longer ones take ms to optimize, and a running appliance compares a hundred pairs
#define ALL "1=1"

static bool is_blank(const char *expression)
{
	return expression[strspn(expression, " \t\r\n")] == '\0';
}

// Check that an expression means the same behind another one, and is libpcap's.
static bool is_comparable(const char *expression)
{
	static const char *const words[] = {
		"vlan", "mpls", "pppoe", "geneve", "inner"}; // all but the last shift offsets
	bool comparable = true;

	for (size_t i = 0; i < TL_ARRAY_LEN(words); i++)
		comparable = comparable && strstr(expression, words[i]) == NULL;
	return comparable;
}

// True if the optimizer leaves nothing of an expression.
static bool rejects_all(const char *text)
{
	struct bpf_program program;
	bool rejects = false;
	pcap_t *pcap = pcap_open_dead(DLT_EN10MB, TL_FILTER_SNAPLEN);

	if (pcap == NULL)
		return false;
	if (pcap_compile(pcap, &program, text, 1, PCAP_NETMASK_UNKNOWN) == 0)
		pcap_freecode(&program);
	else
		rejects = strstr(pcap_geterr(pcap), FILTER_REJECTS_ALL) != NULL;
	pcap_close(pcap);
	return rejects;
}

bool tl_filter_covers(const char *first, const char *second)
{
	char text[2 * TEXT_MAX + 32];

	if (strlen(first) + strlen(second) > TEXT_MAX || !is_comparable(first) || !is_comparable(second))
		return false;
	snprintf(text, sizeof(text), "(%s) and not (%s)", is_blank(second) ? ALL : second,
		is_blank(first) ? ALL : first);
	return rejects_all(text);
}

bool tl_filter_excludes(const char *first, const char *second)
{
	char text[2 * TEXT_MAX + 32];

	if (strlen(first) + strlen(second) > TEXT_MAX || !is_comparable(first))
		return false;
	snprintf(text, sizeof(text), "(%s) and (%s)", first, second);
	return rejects_all(text);
}
