// SPDX-License-Identifier: BSD-3-Clause
// "classes" of a recording. Expressions, and rates that have to be exact, are checked in app/police.c.

#include "config_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tl_err.h>
#include <tl_units.h>

#define PACKET_MAX 192 // characters of the terms of "dscp" and "prefix"
#define TAGS_MAX 2     // of a packet

// ---- keys of a class

static int police_prefix(
	struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	struct tl_config_police *cls = section;

	cls->version = tl_config_prefix(r, value, &cls->prefix);
	return cls->version != 0 ? 0 : -EINVAL;
}

_Static_assert(offsetof(struct tl_config_police, meter) == 0, "the keys of the meter are at the offsets of its struct");

static int police_check_class(
	struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section);

static const struct tl_config_key police_keys[] = {
	{KEY(tl_config_police, name, tl_config_name), .max = TL_CONFIG_NAME_MAX - 1, .required = true},
	{KEY(tl_config_police, match, tl_config_text), .max = 4095},
	{KEY(tl_config_police, vlan, tl_config_number), .min = 1, .max = 4094},
	{KEY(tl_config_police, dscp, tl_config_number), .max = 63},
	{KEY(tl_config_police, prefix, police_prefix)},
	{"default", tl_config_bool, FIELD(tl_config_police, is_default), .fallback = "false"},
	TL_CONFIG_METER_KEYS,
	{KEY(tl_config_police, snaplen, tl_config_number), .min = 14, .max = 262144, .fallback = "64"},
	{CHOICE(tl_config_police, per, TL_POLICE_PERS), .fallback = "\"class\""},
	{KEY(tl_config_police, meters, tl_config_number), .min = 64, .max = MIB, .fallback = "65536"},
};
const struct tl_config_table tl_config_police_table = {
	KEYS(police_keys), .bytes = sizeof(struct tl_config_police), .check = police_check_class};

// ---- one class

static int police_check_way(struct tl_config_reader *r, const struct tl_config_police *cls, const json_t *value)
{
	static const char *const ways[] = {"match", "vlan", "dscp", "prefix"};
	bool matches = false;

	for (size_t i = 0; i < TL_ARRAY_LEN(ways); i++) {
		bool has = json_object_get(value, ways[i]) != NULL;
		if (has && cls->is_default)
			return tl_config_refuse_key(r, ways[i],
				"not allowed in the default class: it has the frames that no class matches");
		matches |= has;
	}
	if (matches || cls->is_default)
		return 0;
	return tl_config_refuse(
		r, "a class has at least one of \"match\", \"vlan\", \"dscp\", \"prefix\", or \"default\": true");
}

static int police_check_meter(struct tl_config_reader *r, const struct tl_config_police *cls, const json_t *value)
{
	int rc = tl_config_check_meter(r, &cls->meter);

	if (rc != 0)
		return rc;
	if (json_object_get(value, "snaplen") != NULL && cls->meter.ebs == 0 && cls->meter.pir == 0)
		return tl_config_refuse_key(r, "snaplen",
			"has no effect: no frame of the class is yellow; add \"ebs\", or \"pir\" and \"pbs\"");
	if (json_object_get(value, "meters") != NULL && cls->per == TL_POLICE_PER_CLASS)
		return tl_config_refuse_key(r, "meters", "has no effect without \"per\": \"flow\" or \"source\"");
	if ((cls->meters & (cls->meters - 1)) != 0)
		return tl_config_refuse_key(r, "meters", "%u is not a power of two", cls->meters);
	return 0;
}

static int police_check_class(
	struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	struct tl_config_police *cls = section;
	int rc = police_check_way(r, cls, value);

	cls->has_dscp = json_object_get(value, "dscp") != NULL;
	cls->line = tl_config_line(r);
	return rc == 0 ? police_check_meter(r, cls, value) : rc;
}

// ---- the expression of a class

// Write the terms for the IP packet: DSCP (RFC 2474, section 3; RFC 8200, section 7) and prefix.
static void police_write_packet(const struct tl_config_police *cls, char text[PACKET_MAX])
{
	char ip[TL_IPV6_TEXT];
	struct tl_ip6 ip6;
	uint32_t ip_be;
	size_t used = 0;

	*text = '\0';
	if (cls->has_dscp)
		used = (size_t)snprintf(text, PACKET_MAX,
			"((ip and ip[1] & 0xfc = %u) or (ip6 and ip6[0:2] & 0xfc0 = %u))%s", cls->dscp << 2,
			cls->dscp << 6, cls->version != 0 ? " and " : "");
	if (cls->version == 0)
		return;
	if (cls->version == 4) {
		memcpy(&ip_be, cls->prefix.ip, sizeof(ip_be));
		tl_format_ipv4(ip_be, ip);
	} else {
		memcpy(&ip6, cls->prefix.ip, sizeof(ip6));
		tl_format_ipv6(&ip6, ip);
	}
	snprintf(text + used, PACKET_MAX - used, "net %s/%u", ip, cls->prefix.bits);
}

// Print the terms of a packet behind up to so many tags.
static void police_print_packet(FILE *out, const char *packet, unsigned tags)
{
	if (tags == 0) {
		fputs(packet, out);
		return;
	}
	fprintf(out, "((%s) or (vlan and ", packet);
	police_print_packet(out, packet, tags - 1);
	fputs("))", out);
}

// Print an expression for all keys. "vlan" comes first, the packet last: a tag shifts the offsets of what follows.
// inner: all but "vlan" is about innermost packets, which are found behind tags.
static void police_print(FILE *out, const struct tl_config_police *cls, bool inner)
{
	char packet[PACKET_MAX];

	police_write_packet(cls, packet);
	bool has_packet = *packet != '\0', has_more = has_packet || cls->match != NULL;
	if (cls->vlan != 0)
		fprintf(out, "vlan %u%s", cls->vlan, has_more ? " and " : "");
	if (inner && has_more)
		fputs("inner(", out);
	if (cls->match != NULL)
		fprintf(out, cls->vlan != 0 || has_packet ? "(%s)%s" : "%s%s", cls->match, has_packet ? " and " : "");
	if (has_packet)
		police_print_packet(out, packet, inner ? 0 : cls->vlan != 0 ? 1 : TAGS_MAX);
	if (inner && has_more)
		fputc(')', out);
}

// Replace "match" by that expression.
static int police_compose(struct tl_config_reader *r, struct tl_config_police *cls, bool inner)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);
	bool complete = out != NULL;

	if (out != NULL) {
		police_print(out, cls, inner);
		complete = ferror(out) == 0;
		complete = fclose(out) == 0 && complete;
	}
	if (!complete) {
		free(text);
		return tl_fail(r->err, -ENOMEM, "%s: out of memory", r->name);
	}
	free(cls->match);
	cls->match = text;
	return 0;
}

// ---- the classes of a recording

static int police_check_among(struct tl_config_reader *r, const struct tl_config_capture *capture, uint32_t at)
{
	const struct tl_config_police *cls = &capture->classes[at];

	for (uint32_t i = 0; i < at; i++) {
		const struct tl_config_police *other = &capture->classes[i];
		if (strcmp(other->name, cls->name) == 0)
			return tl_config_refuse_key(r, "name", "duplicate name in the recording: \"%s\"", cls->name);
		if (other->is_default && cls->is_default)
			return tl_config_refuse_key(
				r, "default", "the class \"%s\" is the default already", other->name);
		if (other->is_default)
			return tl_config_refuse(r,
				"unreachable class: the default class \"%s\" precedes it; put that one last",
				other->name);
		if (!cls->is_default && strcmp(cls->match, other->match) == 0)
			return tl_config_refuse(
				r, "unreachable class: the class \"%s\" matches the same frames first", other->name);
	}
	return 0;
}

int tl_config_check_classes(struct tl_config_reader *r, struct tl_config_capture *capture)
{
	int rc = 0;

	for (uint32_t i = 0; i < capture->n_classes && rc == 0; i++) {
		struct tl_config_police *cls = &capture->classes[i];
		tl_config_enter(r, "classes");
		tl_config_enter_index(r, i);
		rc = cls->is_default ? 0 : police_compose(r, cls, capture->inner);
		if (rc == 0)
			rc = police_check_among(r, capture, i);
		if (rc != 0)
			return rc;
		tl_config_leave(r);
		tl_config_leave(r);
	}
	return 0;
}

void tl_config_free_classes(struct tl_config_capture *capture)
{
	for (uint32_t i = 0; i < capture->n_classes; i++) {
		free(capture->classes[i].name);
		free(capture->classes[i].match);
	}
}
