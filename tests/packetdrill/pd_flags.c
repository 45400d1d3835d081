// SPDX-License-Identifier: BSD-3-Clause
// Reads --so_flags.

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pd_flags.h"

static const struct {
	const char *name;
	size_t offset;
} FLAGS[] = {
#define FLAG(name)                                                                                                     \
	{                                                                                                              \
#name, offsetof(struct tl_pd_flags, name)                                                              \
	}
	FLAG(mtu),
	FLAG(send_bytes),
	FLAG(window_bytes),
	FLAG(follow_room),
	FLAG(rto_min_us),
	FLAG(connect_timeout_ms),
	FLAG(user_timeout_ms),
	FLAG(keepalive_ms),
	FLAG(conns),
	FLAG(like),
	FLAG(patience_s),
#undef FLAG
};

static uint32_t *find(struct tl_pd_flags *flags, const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(FLAGS) / sizeof(FLAGS[0]); i++) {
		if (strlen(FLAGS[i].name) == len && memcmp(FLAGS[i].name, name, len) == 0)
			return (uint32_t *)(void *)((char *)flags + FLAGS[i].offset);
	}
	return NULL;
}

static bool take_flag(struct tl_pd_flags *flags, const char *text, size_t len)
{
	const char *equals = memchr(text, '=', len);
	uint32_t *field = equals != NULL ? find(flags, text, (size_t)(equals - text)) : NULL;
	char *end = NULL;
	unsigned long number = equals != NULL ? strtoul(equals + 1, &end, 10) : 0;

	if (field == NULL || end == equals + 1 || end != text + len || number > UINT32_MAX) {
		fprintf(stderr, "--so_flags: '%.*s' is no flag; they are name=number:", (int)len, text);
		for (size_t i = 0; i < sizeof(FLAGS) / sizeof(FLAGS[0]); i++)
			fprintf(stderr, " %s", FLAGS[i].name);
		fprintf(stderr, "\n");
		return false;
	}
	*field = (uint32_t)number;
	return true;
}

bool tl_pd_flags_parse(const char *text, struct tl_pd_flags *out)
{
	*out = (struct tl_pd_flags){
		.mtu = 1500,
		.send_bytes = 65536,
		.conns = 64,
		.patience_s = 300,
	};
	while (text != NULL && *text != '\0') {
		size_t len = strcspn(text, ",");
		if (!take_flag(out, text, len))
			return false;
		text += len + (text[len] == ',');
	}
	return true;
}
