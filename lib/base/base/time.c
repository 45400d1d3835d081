// SPDX-License-Identifier: BSD-3-Clause
// Points in time: the clock, and parsing.

#include <tl_units.h>

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FRACTION_DIGITS 9

uint64_t tl_mono_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * TL_NS_PER_S + (uint64_t)now.tv_nsec;
}

// Parse ".123456789" with 0 to 9 digits, or nothing. Return the rest of the text, or NULL.
static const char *read_fraction(const char *text, uint64_t *out_ns)
{
	uint64_t scale = TL_NS_PER_S;

	*out_ns = 0;
	if (*text != '.')
		return text;
	if (!isdigit((unsigned char)*++text))
		return NULL;
	for (int i = 0; isdigit((unsigned char)*text); i++, text++) {
		if (i == FRACTION_DIGITS)
			return NULL;
		scale /= 10;
		*out_ns += (uint64_t)(*text - '0') * scale;
	}
	return text;
}

static int join(uint64_t seconds, uint64_t ns, uint64_t *out_ns)
{
	if (seconds > UINT64_MAX / TL_NS_PER_S - 1)
		return -EINVAL;
	*out_ns = seconds * TL_NS_PER_S + ns;
	return 0;
}

static int parse_epoch(const char *text, uint64_t *out_ns)
{
	uint64_t ns;
	char *end;

	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	errno = 0;
	uint64_t seconds = strtoull(text, &end, 10);
	const char *rest = errno == 0 ? read_fraction(end, &ns) : NULL;
	return rest != NULL && *rest == '\0' ? join(seconds, ns, out_ns) : -EINVAL;
}

static int parse_ago(const char *text, uint64_t now_ns, uint64_t *out_ns)
{
	char number[32];
	size_t len = strlen(text);
	uint64_t ago_ns;

	if (len != 0 && text[len - 1] == 's')
		len--;
	if (len >= sizeof(number))
		return -EINVAL;
	memcpy(number, text, len);
	number[len] = '\0';
	if (tl_parse_seconds(number, &ago_ns) != 0 || ago_ns > now_ns)
		return -EINVAL;
	*out_ns = now_ns - ago_ns;
	return 0;
}

// strptime() also accepts blanks and signs.
static bool is_date(const char *text)
{
	static const char shape[] = "dddd-dd-dd";

	for (size_t i = 0; shape[i] != '\0'; i++)
		if (shape[i] == 'd' ? !isdigit((unsigned char)text[i]) : text[i] != shape[i])
			return false;
	return true;
}

static int parse_utc(const char *text, uint64_t *out_ns)
{
	struct tm tm = {0};
	uint64_t ns = 0;

	if (!is_date(text))
		return -EINVAL;
	const char *rest = strptime(text, "%Y-%m-%d", &tm);
	int day = tm.tm_mday;
	if (rest != NULL && (*rest == 'T' || *rest == ' ')) {
		const char *time_of_day = rest + 1;
		rest = strptime(time_of_day, "%H:%M:%S", &tm);
		rest = rest != NULL ? read_fraction(rest, &ns) : strptime(time_of_day, "%H:%M", &tm);
	}
	if (rest != NULL && *rest == 'Z')
		rest++;
	if (rest == NULL || *rest != '\0' || tm.tm_sec > 59)
		return -EINVAL;
	time_t seconds = timegm(&tm);
	if (seconds < 0 || tm.tm_mday != day) // no such day in the month
		return -EINVAL;
	return join((uint64_t)seconds, ns, out_ns);
}

int tl_parse_time(const char *text, uint64_t now_ns, uint64_t *out_ns)
{
	if (*text == '@')
		return parse_epoch(text + 1, out_ns);
	return *text == '-' ? parse_ago(text + 1, now_ns, out_ns) : parse_utc(text, out_ns);
}
