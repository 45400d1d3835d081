// SPDX-License-Identifier: BSD-3-Clause
// The delay of an echo: "5us", "5us +- 1us" or "5us +- 1us normal".

#include "config_priv.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <tl_err.h>
#include <tl_rates.h>

static const char *const delay_words[] = {TL_JITTERS(TL_CHOICE_WORD)};

static bool delay_is_sign(const char *text)
{
	return strcmp(text, "+-") == 0 || strcmp(text, "±") == 0;
}

static bool delay_kind(const char *word, enum tl_jitter *out)
{
	for (size_t i = 0; i < TL_ARRAY_LEN(delay_words); i++) {
		if (strcmp(word, delay_words[i]) == 0) {
			*out = (enum tl_jitter)i;
			return true;
		}
	}
	return false;
}

// Parse the text. False: it does not have the form.
static bool delay_parse(const char *text, struct tl_config_echo *echo)
{
	char mean[24], sign[4], jitter[24], word[16], more[2];
	int n = sscanf(text, "%23s %3s %23s %15s %1s", mean, sign, jitter, word, more);
	struct tl_err unused;

	if (n != 1 && n != 3 && n != 4)
		return false;
	if (tl_parse_span(mean, &echo->delay_ns, &unused) != 0)
		return false;
	if (n >= 3 && (!delay_is_sign(sign) || tl_parse_span(jitter, &echo->jitter_ns, &unused) != 0))
		return false;
	return n < 4 || delay_kind(word, &echo->jitter);
}

int tl_config_delay(struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	static const char wanted[] =
		"a delay from 1ns to 10s, such as \"5us\", \"5us +- 1us\" or \"5us +- 1us normal\" "
		"(uniform, normal, pareto)";
	struct tl_config_echo *echo = section;
	const char *text = tl_config_string(r, value, wanted);

	if (text == NULL)
		return -EINVAL;
	if (!delay_parse(text, echo) || echo->delay_ns < key->min || echo->delay_ns > key->max)
		return tl_config_not(r, value, wanted);
	if (echo->jitter_ns > echo->delay_ns)
		return tl_config_refuse(r, "the jitter of \"%.64s\" is more than the delay: lower it", text);
	return 0;
}

int tl_config_check_delay(struct tl_config_reader *r, const json_t *object, const struct tl_config_echo *echo)
{
	if (echo->delay_ns == 0 && json_object_get(object, "delay_limit") != NULL)
		return tl_config_refuse_key(r, "delay_limit", "has no effect without \"delay\"");
	if (echo->delay_ns != 0 && (echo->stages || echo->outliers.above_us != 0 || echo->samples != 0))
		return tl_config_refuse_key(r, "delay",
			"delayed replies have no stages: leave out \"stages\", \"outliers\" and \"samples\", or the delay");
	return 0;
}
