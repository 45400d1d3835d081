// SPDX-License-Identifier: BSD-3-Clause
// Escaping of control characters for terminals.

#include <tl_text.h>

#include <stdbool.h>
#include <stdio.h>

#define ESCAPE_BYTES 4u // "\x1b"
#define C1_END 0xa0u	// first code point after DEL and C1

// Length of the printable UTF-8 sequence at p (RFC 3629, section 4); 0: none.
static unsigned shown_bytes(const unsigned char *p)
{
	static const uint32_t least[] = {0, 0, C1_END, 0x800, 0x10000};
	unsigned n = p[0] < 0x80 ? 1 : p[0] >> 5 == 6 ? 2 : p[0] >> 4 == 14 ? 3 : p[0] >> 3 == 30 ? 4 : 0;
	uint32_t code = n == 0 ? 0 : p[0] & (0xffu >> (n + 1));

	if (n == 1)
		return p[0] >= ' ' && p[0] != 0x7f;
	for (unsigned i = 1; i < n; i++) {
		if (p[i] >> 6 != 2)
			return 0;
		code = code << 6 | (p[i] & 0x3fu);
	}
	bool surrogate = code >= 0xd800 && code <= 0xdfff;
	return n != 0 && code >= least[n] && code <= 0x10ffff && !surrogate ? n : 0;
}

char *tl_printable(const char *text, char *buf, size_t size)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t used = 0;

	if (text == NULL)
		return NULL;
	while (*p != '\0') {
		unsigned n = shown_bytes(p);
		if (used + (n != 0 ? n : ESCAPE_BYTES) >= size)
			break;
		if (n == 0)
			used += (size_t)snprintf(buf + used, size - used, "\\x%02x", *p++);
		for (; n > 0; n--)
			buf[used++] = (char)*p++;
	}
	buf[used] = '\0';
	return buf;
}
