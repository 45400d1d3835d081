// SPDX-License-Identifier: BSD-3-Clause
// Compilation of expressions with inner(...) terms, which libpcap does not know.
//
// A term is compiled alone, with spaces in place of all before and behind it, so that positions stay right. The rest is
// compiled once per set of terms that hold, with a constant in place of each term: libpcap's grammar, precedence
// included, stays libpcap's, and its optimizer removes the constants.

#include "filter_priv.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <tl_err.h>

#define WORD "inner"
#define WORD_CHARS (sizeof(WORD) - 1)
#define HOLDS "(1=1)"
#define FAILS "(1=0)"

// Offsets of a term in the expression: of the word, of its brackets.
struct term {
	size_t at, open, close;
};

static bool is_word_char(char c)
{
	return isalnum((unsigned char)c) || (c != '\0' && strchr("_.:-\\", c) != NULL);
}

// Find the next "inner (" from this offset on.
static bool find_term(const char *expression, size_t from, struct term *out)
{
	const char *at = expression + from;

	while ((at = strstr(at, WORD)) != NULL) {
		const char *open = at + WORD_CHARS + strspn(at + WORD_CHARS, " \t\r\n");
		if (*open == '(' && (at == expression || !is_word_char(at[-1]))) {
			*out = (struct term){.at = (size_t)(at - expression), .open = (size_t)(open - expression)};
			return true;
		}
		at += WORD_CHARS;
	}
	return false;
}

bool tl_filter_has_inner(const char *expression)
{
	struct term ignored;

	return find_term(expression, 0, &ignored);
}

// Find the closing bracket. False: there is none.
static bool close_term(const char *expression, struct term *term)
{
	unsigned depth = 0;

	for (size_t i = term->open; expression[i] != '\0'; i++) {
		depth += expression[i] == '(';
		if (expression[i] != ')' || --depth != 0)
			continue;
		term->close = i;
		return true;
	}
	return false;
}

// Find all terms. Return their number, or -EINVAL with a message.
static int find_terms(const char *expression, struct term term[TL_FILTER_INNER_MAX], struct tl_err *err)
{
	struct term next;
	size_t from = 0;
	int n = 0;

	for (; find_term(expression, from, &next); from = next.close + 1) {
		const char *why = NULL;
		if (!close_term(expression, &next))
			why = WORD "( has no closing bracket";
		else if (strspn(expression + next.open + 1, " \t\r\n") == next.close - next.open - 1)
			why = WORD "() needs an expression";
		else if (n == TL_FILTER_INNER_MAX)
			why = "more than 4 " WORD "(...)";
		if (why != NULL)
			return tl_fail(
				err, -EINVAL, "filter '%.200s': %s, at character %zu", expression, why, next.at + 1);
		term[n++] = next;
	}
	return n;
}

_Static_assert(TL_FILTER_INNER_MAX == 4, "stated in the message");

static void blank(char *text, size_t from, size_t to)
{
	memset(text + from, ' ', to - from);
}

// Compile the content of a term, for raw IP packets.
static int compile_term(
	const char *expression, const struct term *term, char *text, struct tl_filter **out, struct tl_err *err)
{
	strcpy(text, expression);
	blank(text, 0, term->open + 1);
	text[term->close] = '\0';
	return tl_filter_create_part(expression, text, DLT_RAW, out, err);
}

// Compile the rest for the terms in this set. *out is NULL if no frame matches then.
static int compile_rest(const char *expression, const struct term *term, uint32_t n, unsigned set, int dlt, char *text,
	struct tl_filter **out, struct tl_err *err)
{
	strcpy(text, expression);
	for (uint32_t i = 0; i < n; i++) {
		blank(text, term[i].at, term[i].close + 1);
		memcpy(text + term[i].at, (set >> i & 1) != 0 ? HOLDS : FAILS, sizeof(HOLDS) - 1);
	}
	struct tl_err own;
	int rc = tl_filter_create_part(expression, text, dlt, out, &own);
	if (rc != 0 && err != NULL)
		*err = own;
	return rc == -EINVAL && strstr(own.text, FILTER_REJECTS_ALL) != NULL ? 0 : rc;
}

static int compile_all(const char *expression, const struct term *term, int dlt, struct filter_inner *inner, char *text,
	struct tl_err *err)
{
	bool any = false;
	int rc = 0;

	for (uint32_t i = 0; i < inner->n && rc == 0; i++)
		rc = compile_term(expression, &term[i], text, &inner->term[i], err);
	for (unsigned set = 0; set < 1u << inner->n && rc == 0; set++) {
		rc = compile_rest(expression, term, inner->n, set, dlt, text, &inner->rest[set], err);
		any |= inner->rest[set] != NULL;
	}
	return rc == 0 && !any ? -EINVAL : rc; // the message is that of the last
}

int tl_filter_create_inner(const char *expression, int dlt, struct tl_filter **out, struct tl_err *err)
{
	struct term term[TL_FILTER_INNER_MAX];
	int n = find_terms(expression, term, err), rc = -ENOMEM;

	if (n < 0)
		return n;
	struct tl_filter *filter = calloc(1, sizeof(*filter));
	char *text = strdup(expression);
	if (filter != NULL)
		filter->inner = calloc(1, sizeof(*filter->inner));
	if (text == NULL || filter == NULL || filter->inner == NULL) {
		tl_fail(err, rc, "filter '%s': no memory to compile it", expression);
	} else {
		filter->engine = FILTER_INTERPRETED "asked for";
		filter->inner->link = dlt == DLT_RAW ? TL_LINK_RAW : tl_link_of((uint32_t)dlt);
		filter->inner->n = (uint32_t)n;
		rc = compile_all(expression, term, dlt, filter->inner, text, err);
	}
	free(text);
	if (rc == 0)
		*out = filter;
	else
		tl_filter_destroy(filter);
	return rc;
}

const char *tl_filter_inner_make_native(struct filter_inner *inner)
{
	const char *engine = FILTER_JIT;

	for (uint32_t i = 0; i < TL_FILTER_INNER_MAX + TL_ARRAY_LEN(inner->rest); i++) {
		struct tl_filter *part =
			i < TL_FILTER_INNER_MAX ? inner->term[i] : inner->rest[i - TL_FILTER_INNER_MAX];
		const char *its = part != NULL ? tl_filter_make_all_native(part) : FILTER_JIT;
		if (strcmp(engine, FILTER_JIT) == 0)
			engine = its;
	}
	return engine;
}

void tl_filter_inner_destroy(struct filter_inner *inner)
{
	if (inner == NULL)
		return;
	for (uint32_t i = 0; i < TL_ARRAY_LEN(inner->term); i++)
		tl_filter_destroy(inner->term[i]);
	for (uint32_t i = 0; i < TL_ARRAY_LEN(inner->rest); i++)
		tl_filter_destroy(inner->rest[i]);
	free(inner);
}
