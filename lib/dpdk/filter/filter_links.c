// SPDX-License-Identifier: BSD-3-Clause
// Filters for frames of any link type: compiled per link type on first use.

#include "filter_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <tl_err.h>

// LINKTYPE_ numbers of files, where libpcap's DLT_ numbers differ.
#define LINKTYPE_NULL 0
#define LINKTYPE_ETHERNET 1
#define LINKTYPE_RAW 101
#define LINKTYPE_LOOP 108
#define LINKTYPE_LINUX_SLL 113
#define LINKTYPE_LINUX_SLL2 276

// The expression compiled for one link type.
struct compiled {
	uint32_t linktype;
	struct tl_filter *filter; // NULL: refused
	struct tl_err refused;
};

struct tl_filter_links {
	char *expression;
	struct compiled *compiled;
	uint32_t n, at; // at: link type of the last frame
};

static int dlt_of(uint32_t linktype)
{
	return linktype == LINKTYPE_RAW ? DLT_RAW : (int)linktype;
}

const char *tl_filter_linktype_name(uint32_t linktype)
{
	const char *name = pcap_datalink_val_to_name(dlt_of(linktype));

	return name != NULL ? name : "?";
}

// Compile for a link type. Return 0, or -ENOMEM with a message.
static int compile_for(struct tl_filter_links *links, uint32_t linktype, struct tl_err *err)
{
	struct compiled *more = reallocarray(links->compiled, links->n + 1, sizeof(*more));

	if (more == NULL)
		return tl_fail(err, -ENOMEM, "filter '%s': no memory to compile it", links->expression);
	links->compiled = more;
	more[links->n] = (struct compiled){.linktype = linktype};
	int rc = tl_filter_create_dlt(
		links->expression, dlt_of(linktype), &more[links->n].filter, &more[links->n].refused);
	if (rc == -ENOMEM) {
		*err = more[links->n].refused;
		return rc;
	}
	links->n++;
	return 0;
}

int tl_filter_links_add(struct tl_filter_links *links, uint32_t linktype, struct tl_err *err)
{
	uint32_t i = 0;

	while (i < links->n && links->compiled[i].linktype != linktype)
		i++;
	int rc = i == links->n ? compile_for(links, linktype, err) : 0;
	if (rc != 0)
		return rc;
	links->at = i;
	if (links->compiled[i].filter != NULL)
		return 0;
	*err = links->compiled[i].refused;
	return -EINVAL;
}

// Compile for any link type: only Ethernet has Ethernet addresses, only LINUX_SLL2 interface indexes, and so on. Report
// the error for Ethernet.
static int compile_for_any(struct tl_filter_links *links, struct tl_err *err)
{
	static const uint32_t others[] = {LINKTYPE_LINUX_SLL2, LINKTYPE_LINUX_SLL, LINKTYPE_RAW, LINKTYPE_NULL};
	struct tl_err ignored;
	int rc = tl_filter_links_add(links, LINKTYPE_ETHERNET, err);

	for (size_t i = 0; i < TL_ARRAY_LEN(others) && rc == -EINVAL; i++)
		rc = tl_filter_links_add(links, others[i], &ignored) == 0 ? 0 : rc;
	return rc;
}

int tl_filter_links_create(const char *expression, struct tl_filter_links **out, struct tl_err *err)
{
	struct tl_filter_links *links = calloc(1, sizeof(*links));

	if (links != NULL)
		links->expression = strdup(expression);
	if (links == NULL || links->expression == NULL) {
		free(links);
		return tl_fail(err, -ENOMEM, "filter '%s': no memory to compile it", expression);
	}
	int rc = compile_for_any(links, err);
	if (rc != 0)
		tl_filter_links_destroy(links);
	else
		*out = links;
	return rc;
}

void tl_filter_links_destroy(struct tl_filter_links *links)
{
	if (links == NULL)
		return;
	for (uint32_t i = 0; i < links->n; i++)
		tl_filter_destroy(links->compiled[i].filter);
	free(links->compiled);
	free(links->expression);
	free(links);
}

// Link type to compile for: libpcap compares the address family of LINKTYPE_NULL in host byte order, that of
// LINKTYPE_LOOP in network order; otherwise they are the same.
static uint32_t compiled_as(uint32_t linktype, const uint8_t *data, uint32_t cap_bytes)
{
	return linktype == LINKTYPE_NULL && cap_bytes != 0 && data[0] == 0 ? LINKTYPE_LOOP : linktype;
}

int tl_filter_links_match(struct tl_filter_links *links, uint32_t linktype, const uint8_t *data, uint32_t cap_bytes,
	uint32_t wire_bytes, struct tl_err *err)
{
	linktype = compiled_as(linktype, data, cap_bytes);
	const struct compiled *compiled = &links->compiled[links->at];
	if (TL_UNLIKELY(compiled->linktype != linktype || compiled->filter == NULL)) {
		int rc = tl_filter_links_add(links, linktype, err);
		if (rc != 0)
			return rc;
		compiled = &links->compiled[links->at];
	}
	return tl_filter_match_bytes(compiled->filter, data, cap_bytes, wire_bytes);
}
