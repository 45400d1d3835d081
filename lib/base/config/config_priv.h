// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// config, inside: the tables of keys that drive reading, and the reader that knows where in the file it stands.
//
// A file is read in this order: load.c (text to JSON), sections.c (which keys exist) through table.c (objects) and
// values.c (scalars), check.c (what no single key can tell), and on an error locate.c (the line).

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include <tl_base.h>
#include <tl_config.h>

#define TL_CONFIG_DEPTH 6 // $.echo[0].receive.group is 4 steps deep
#define TL_CONFIG_LCORE_MAX 1023

// One step into a JSON document: a key of an object, or an index of an array when key is NULL.
struct tl_config_step {
	const char *key; // borrowed
	size_t index;
};

struct tl_config_path {
	struct tl_config_step step[TL_CONFIG_DEPTH];
	unsigned depth;
};

// A text while it is read.
struct tl_config_reader {
	const char *name; // stands for the file in messages
	const char *text; // len bytes
	size_t len;
	struct tl_config_path path; // of the value at hand
	// A command line instead of a text, which is NULL then.
	const struct tl_config_option *options;
	size_t n_options;
	struct tl_err *err;
};

struct tl_config_key;
struct tl_config_table;

// Checks one value and stores it into the struct of its section. Returns 0 or a refusal.
typedef int tl_config_read(
	struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section);

// Everything there is to know about a key.
struct tl_config_key {
	const char *name;
	tl_config_read *read;
	size_t offset, width; // of the field in the section's struct
	uint64_t min, max;    // of a number or size, of a text's length, of an array's length
	bool or_zero;	      // 0 is allowed too, below min
	bool required;
	const char *fallback;	    // the default as JSON text, read like a user's value; NULL: the field stays 0
	const char *const *choices; // of a choice: one word per enum value, then NULL
	const struct tl_config_table *table; // of an object, or of an array's elements
	size_t count_offset;		     // of an array: where its length goes
};

// The keys of one kind of object.
struct tl_config_table {
	const struct tl_config_key *keys;
	size_t n_keys;
	size_t bytes;	       // of the struct that the object fills
	tl_config_read *check; // of the whole object after its keys, or NULL; its key argument is NULL
};

// sections.c: the whole file; fills a struct tl_config.
extern const struct tl_config_table tl_config_root;

// table.c
int tl_config_read_object(
	struct tl_config_reader *r, const struct tl_config_table *table, const json_t *value, void *section);
tl_config_read tl_config_object; // key->table
tl_config_read tl_config_array;	 // of key->table, min..max elements

// values.c
tl_config_read tl_config_bool;
tl_config_read tl_config_number; // into a field of width 4 or 8
tl_config_read tl_config_size;	 // the same, as an integer or "64M"
tl_config_read tl_config_choice;
tl_config_read tl_config_text; // into a char *, allocated
tl_config_read tl_config_name; // a text of [A-Za-z0-9_-]

// A whole number within the key's bounds.
int tl_config_integer(struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, uint64_t *out);

// Not NULL only when the value is a string that holds no control characters; else the refusal is in err.
const char *tl_config_string(struct tl_config_reader *r, const json_t *value, const char *wanted);

// neighbours.c: the keys of a port's neighbour, and the port once its keys have been read.
tl_config_read tl_config_neighbour_ip;
tl_config_read tl_config_mac;
tl_config_read tl_config_check_neighbours;

// check_capture.c: of an entry of "capture", all of whose keys have been read.
tl_config_read tl_config_check_capture;

// check.c: resolves port names, gives echoes their default names, and refuses what contradicts itself.
int tl_config_check(struct tl_config_reader *r, struct tl_config *config);

// locate.c
void tl_config_enter(struct tl_config_reader *r, const char *key);
void tl_config_enter_index(struct tl_config_reader *r, size_t index);
void tl_config_leave(struct tl_config_reader *r);

// The line of the value at path, or of the innermost object on the way that exists. Lines count from 1.
unsigned tl_config_line(const char *text, size_t len, const struct tl_config_path *path);

// Puts "NAME:LINE: $.path: sentence" into err for the value at hand; returns -EINVAL.
int tl_config_refuse(struct tl_config_reader *r, const char *fmt, ...) TL_PRINTF(2, 3);

// The same for a key of the object at hand.
#define tl_config_refuse_key(r, key, ...) (tl_config_enter(r, key), tl_config_refuse(r, __VA_ARGS__))

// The same, the sentence being: VALUE is not WANTED.
int tl_config_not(struct tl_config_reader *r, const json_t *value, const char *wanted);
