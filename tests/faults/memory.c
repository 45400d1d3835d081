// SPDX-License-Identifier: BSD-3-Clause
// Interpose the program's allocations: each can fail, and those left at the end are leaks.

#include "seam.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECES (1u << 20) // a power of two, several times the number of live allocations

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t align, size_t size);
void __libc_free(void *memory);
int __asprintf_chk(char **text, int flag, const char *format, ...);
void *reallocarray(void *memory, size_t n, size_t size);

#define SITE __builtin_return_address(0)

// ---- allocations of the program

static struct {
	pthread_mutex_t lock;
	struct {
		void *memory; // NULL: free, and never used
		uintptr_t offset;
		bool live;
	} pieces[PIECES]; // hash table with open addressing
} owned = {.lock = PTHREAD_MUTEX_INITIALIZER};

static size_t place_of(const void *memory)
{
	size_t at = ((uintptr_t)memory * UINT64_C(0x9E3779B97F4A7C15)) >> 44;

	while (owned.pieces[at].memory != NULL && owned.pieces[at].memory != memory)
		at = (at + 1) % PIECES;
	return at;
}

// Record an allocation made at this site.
static void *own(void *memory, const void *site)
{
	uintptr_t offset;

	if (memory == NULL || !seam_is_ours(site, &offset))
		return memory;
	pthread_mutex_lock(&owned.lock);
	size_t at = place_of(memory);
	owned.pieces[at].memory = memory;
	owned.pieces[at].offset = offset;
	owned.pieces[at].live = true;
	pthread_mutex_unlock(&owned.lock);
	return memory;
}

static void disown(void *memory)
{
	pthread_mutex_lock(&owned.lock);
	size_t at = place_of(memory);
	if (owned.pieces[at].memory != NULL)
		owned.pieces[at].live = false;
	pthread_mutex_unlock(&owned.lock);
}

void seam_trace_leaks(void)
{
	for (size_t i = 0; i < PIECES; i++)
		if (owned.pieces[i].live)
			seam_trace("leak %lx 1", owned.pieces[i].offset);
}

// ---- the calls

// Check whether the call must fail; errno is set then.
static bool fails(const char *name, const void *site)
{
	int code = seam_count(name, site, -1);

	if (code != 0)
		errno = code;
	return code != 0;
}

void *malloc(size_t size)
{
	return fails("malloc", SITE) ? NULL : own(__libc_malloc(size), SITE);
}

void *calloc(size_t n, size_t size)
{
	return fails("calloc", SITE) ? NULL : own(__libc_calloc(n, size), SITE);
}

static void *resize(void *memory, size_t size, const void *site)
{
	void *resized = __libc_realloc(memory, size);

	if (memory != NULL && (resized != NULL || size == 0))
		disown(memory);
	return own(resized, site);
}

void *realloc(void *memory, size_t size)
{
	return fails("realloc", SITE) ? NULL : resize(memory, size, SITE);
}

void *reallocarray(void *memory, size_t n, size_t size)
{
	size_t bytes;

	if (fails("reallocarray", SITE))
		return NULL;
	if (__builtin_mul_overflow(n, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return resize(memory, bytes, SITE);
}

void *aligned_alloc(size_t align, size_t size)
{
	return fails("aligned_alloc", SITE) ? NULL : own(__libc_memalign(align, size), SITE);
}

int posix_memalign(void **memory, size_t align, size_t size)
{
	int code = seam_count("posix_memalign", SITE, -1);

	if (code != 0)
		return code;
	*memory = own(__libc_memalign(align, size), SITE);
	return *memory != NULL ? 0 : ENOMEM;
}

void free(void *memory)
{
	if (memory != NULL)
		disown(memory);
	__libc_free(memory);
}

static char *copy(const char *text, size_t chars, const void *site)
{
	char *memory = own(__libc_malloc(chars + 1), site);

	if (memory == NULL)
		return NULL;
	memcpy(memory, text, chars);
	memory[chars] = '\0';
	return memory;
}

char *strdup(const char *text)
{
	return fails("strdup", SITE) ? NULL : copy(text, strlen(text), SITE);
}

char *strndup(const char *text, size_t chars)
{
	return fails("strndup", SITE) ? NULL : copy(text, strnlen(text, chars), SITE);
}

static int print(char **text, const char *format, va_list args, const void *site)
{
	int chars = fails("asprintf", site) ? -1 : vasprintf(text, format, args);

	if (chars >= 0)
		own(*text, site);
	return chars;
}

int asprintf(char **text, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	int chars = print(text, format, args, SITE);
	va_end(args);
	return chars;
}

// Name in hardened builds.
int __asprintf_chk(char **text, int flag, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	int chars = print(text, format, args, SITE);
	va_end(args);
	return chars;
}

FILE *open_memstream(char **text, size_t *size)
{
	static FILE *(*next)(char **, size_t *);

	if (fails("open_memstream", SITE))
		return NULL;
	if (next == NULL)
		next = (FILE * (*)(char **, size_t *)) seam_next("open_memstream");
	return next(text, size);
}
