// SPDX-License-Identifier: BSD-3-Clause
// Position of an error in an expression: libpcap reports the error, but not its position.
//
// A syntax error is at the first word after which no words complete an expression. Any other error is also that of the
// shortest prefix that has it.

#include "filter_priv.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define SYNTAX_ERROR "syntax error"
#define COMPARISON " = 1"
#define NESTING_MAX 64
#define ROOM (NESTING_MAX + 32) // space for a completion

struct search {
	pcap_t *pcap;
	const char *expression;
	char *text;   // a prefix with its completion
	size_t *word; // start of each word; after the last, the end of the expression
	uint32_t words;
};

// Error of libpcap for s->text; NULL: valid.
static const char *error_of(struct search *s)
{
	struct bpf_program program;

	if (pcap_compile(s->pcap, &program, s->text, 0, PCAP_NETMASK_UNKNOWN) != 0)
		return pcap_geterr(s->pcap);
	pcap_freecode(&program);
	return NULL;
}

static size_t word_chars(const char *at)
{
	static const char *const pairs[] = {"&&", "||", "==", "!=", ">=", "<=", ">>", "<<"};
	size_t n = 0;

	while (isalnum((unsigned char)at[n]) || (at[n] != '\0' && strchr("_.:\\-$", at[n]) != NULL))
		n++;
	for (size_t i = 0; i < TL_ARRAY_LEN(pairs) && n == 0; i++)
		n = strncmp(at, pairs[i], 2) == 0 ? 2 : 0;
	return n != 0 ? n : 1;
}

static void find_words(struct search *s)
{
	const char *at = s->expression;

	for (;;) {
		at += strspn(at, " \t\n\r");
		s->word[s->words] = (size_t)(at - s->expression);
		if (*at == '\0')
			return;
		s->words++;
		at += word_chars(at);
	}
}

// End of the first words.
static size_t end_of(const struct search *s, uint32_t words)
{
	size_t last = s->word[words - 1];

	return last + word_chars(s->expression + last);
}

// Brackets that close those open in the prefix. False: too many.
static bool close_brackets(const char *beginning, size_t len, char closing[NESTING_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		char c = beginning[i];
		if ((c == '(' || c == '[') && n == NESTING_MAX - 1)
			return false;
		if (c == '(' || c == '[') {
			memmove(closing + 1, closing, n++);
			closing[0] = c == '(' ? ')' : ']';
		} else if (n > 0 && c == closing[0]) {
			memmove(closing, closing + 1, --n);
		}
	}
	closing[n] = '\0';
	return true;
}

// True if the first words can be completed: by an operand, closing brackets, and a comparison in between.
static bool can_complete(struct search *s, uint32_t words)
{
	static const char *const operands[] = {
		"", " 1", " ip", " 1.2.3.4", " 1:2:3:4:5:6", " 1-2", " port 1", " dst 1.2.3.4", " [0]", " = 1"};
	char closing[NESTING_MAX];
	size_t len = end_of(s, words);

	if (!close_brackets(s->expression, len, closing))
		return true;
	size_t closings = strlen(closing);
	memcpy(s->text, s->expression, len);
	for (size_t i = 0; i < TL_ARRAY_LEN(operands); i++)
		for (size_t at = 0; at <= closings + 1; at++) { // in the last round without a comparison
			const char *comparison = at <= closings ? COMPARISON : "";
			int before = (int)(at <= closings ? at : closings);
			snprintf(s->text + len, ROOM, "%s%.*s%s%s", operands[i], before, closing, comparison,
				closing + before);
			const char *error = error_of(s);
			if (error == NULL || strstr(error, SYNTAX_ERROR) == NULL)
				return true;
		}
	return false;
}

static size_t find_syntax_error(struct search *s)
{
	uint32_t right = 0, wrong = s->words + 1; // number of words

	while (wrong - right > 1) {
		uint32_t middle = right + (wrong - right) / 2;
		if (middle <= s->words && can_complete(s, middle))
			right = middle;
		else
			wrong = middle;
	}
	return s->word[right];
}

static size_t find_other_error(struct search *s, const char *reason)
{
	for (uint32_t i = 0; i < s->words; i++) {
		size_t len = end_of(s, i + 1);
		memcpy(s->text, s->expression, len);
		s->text[len] = '\0';
		const char *error = error_of(s);
		if (error != NULL && strcmp(error, reason) == 0)
			return s->word[i];
	}
	return TL_FILTER_NOWHERE;
}

size_t tl_filter_where(const char *expression, int dlt, const char *reason)
{
	size_t chars = strlen(expression), where = TL_FILTER_NOWHERE;
	struct search s = {.expression = expression,
		.pcap = pcap_open_dead(dlt, TL_FILTER_SNAPLEN),
		.text = malloc(chars + ROOM),
		.word = calloc(chars + 1, sizeof(*s.word))};

	if (s.pcap != NULL && s.text != NULL && s.word != NULL) {
		find_words(&s);
		where = strstr(reason, SYNTAX_ERROR) != NULL ? find_syntax_error(&s) : find_other_error(&s, reason);
	}
	if (s.pcap != NULL)
		pcap_close(s.pcap);
	free(s.text);
	free(s.word);
	return where;
}
