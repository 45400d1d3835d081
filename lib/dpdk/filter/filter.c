// SPDX-License-Identifier: BSD-3-Clause
// Compilation of filter expressions with libpcap.

#include "filter_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <tl_err.h>

#define OPTIMIZE 1

// Fail with libpcap's reason for text, and the position, which is that in the expression.
static int fail_at(const char *expression, const char *text, int dlt, const char *reason, struct tl_err *err)
{
	char place[64] = "";
	size_t where = tl_filter_where(text, dlt, reason);

	if (where != TL_FILTER_NOWHERE && expression[where] == '\0')
		snprintf(place, sizeof(place), ", at its end");
	else if (where != TL_FILTER_NOWHERE)
		snprintf(place, sizeof(place), ", at character %zu: '%.20s'", where + 1, expression + where);
	return tl_fail(err, -EINVAL, "filter '%.200s': %.160s%s", expression, reason, place);
}

// The number of the address family of IPv6 is that of the host that captured. libpcap takes all of them for what was
// opened as a file, and this host's alone for what was not.
static pcap_t *open_families(int dlt)
{
	struct pcap_file_header header = {.magic = 0xa1b2c3d4,
		.version_major = 2,
		.version_minor = 4,
		.snaplen = TL_FILTER_SNAPLEN,
		.linktype = (uint32_t)dlt};
	char reason[PCAP_ERRBUF_SIZE];
	FILE *file = fmemopen(NULL, sizeof(header), "w+");

	if (file == NULL)
		return NULL;
	fwrite(&header, sizeof(header), 1, file);
	rewind(file);
	pcap_t *pcap = pcap_fopen_offline(file, reason);
	if (pcap == NULL)
		fclose(file);
	return pcap;
}

static int compile(const char *expression, const char *text, int dlt, struct bpf_program *out, struct tl_err *err)
{
	bool has_family = dlt == DLT_NULL || dlt == DLT_LOOP;
	pcap_t *pcap = has_family ? open_families(dlt) : pcap_open_dead(dlt, TL_FILTER_SNAPLEN);
	int rc = 0;

	if (pcap == NULL)
		return tl_fail(err, -ENOMEM, "filter '%s': no memory to compile it", expression);
	if (pcap_compile(pcap, out, text, OPTIMIZE, PCAP_NETMASK_UNKNOWN) != 0)
		rc = fail_at(expression, text, dlt, pcap_geterr(pcap), err);
	pcap_close(pcap);
	return rc;
}

static bool reads_length(const struct bpf_program *program)
{
	for (unsigned i = 0; i < program->bf_len; i++) {
		uint16_t code = program->bf_insns[i].code;
		if (code == (BPF_LD | BPF_W | BPF_LEN) || code == (BPF_LDX | BPF_W | BPF_LEN))
			return true;
	}
	return false;
}

int tl_filter_create_part(const char *expression, const char *text, int dlt, struct tl_filter **out, struct tl_err *err)
{
	struct tl_filter *filter = calloc(1, sizeof(*filter));

	if (filter == NULL)
		return tl_fail(err, -ENOMEM, "filter '%s': no memory to compile it", expression);
	int rc = compile(expression, text, dlt, &filter->program, err);
	if (rc != 0) {
		free(filter);
		return rc;
	}
	filter->engine = FILTER_INTERPRETED "asked for";
	*out = filter;
	return 0;
}

int tl_filter_create_dlt(const char *expression, int dlt, struct tl_filter **out, struct tl_err *err)
{
	if (tl_filter_has_inner(expression))
		return tl_filter_create_inner(expression, dlt, out, err);
	return tl_filter_create_part(expression, expression, dlt, out, err);
}

int tl_filter_create_plain(const char *expression, struct tl_filter **out, struct tl_err *err)
{
	return tl_filter_create_dlt(expression, DLT_EN10MB, out, err);
}

int tl_filter_check(const char *expression, struct tl_err *err)
{
	struct tl_filter *filter;
	int rc = tl_filter_create_plain(expression, &filter, err);

	if (rc == 0)
		tl_filter_destroy(filter);
	return rc;
}

const char *tl_filter_make_all_native(struct tl_filter *filter)
{
	if (filter->inner != NULL) {
		filter->engine = tl_filter_inner_make_native(filter->inner);
	} else {
		filter->reads_length = reads_length(&filter->program);
		filter->engine = tl_filter_make_native(filter);
	}
	return filter->engine;
}

int tl_filter_create(const char *expression, struct tl_filter **out, struct tl_err *err)
{
	int rc = tl_filter_create_plain(expression, out, err);

	if (rc == 0)
		tl_filter_make_all_native(*out);
	return rc;
}

bool tl_filter_match_bytes(const struct tl_filter *filter, const uint8_t *data, uint32_t cap_bytes, uint32_t wire_bytes)
{
	if (TL_UNLIKELY(filter->inner != NULL))
		return tl_filter_match_inner_bytes(filter->inner, data, cap_bytes, wire_bytes);
	return bpf_filter(filter->program.bf_insns, data, wire_bytes, cap_bytes) != 0;
}

void tl_filter_destroy(struct tl_filter *filter)
{
	if (filter == NULL)
		return;
	tl_filter_inner_destroy(filter->inner);
	tl_filter_free_native(filter);
	pcap_freecode(&filter->program);
	free(filter);
}

const char *tl_filter_engine(const struct tl_filter *filter)
{
	return filter->engine;
}
