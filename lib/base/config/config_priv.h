// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// config_priv: tables of keys, and the reader that tracks its position in the file.
//
// Order of processing: load.c (text to JSON), sections.c (tables of keys) through table.c (objects) and values.c
// (scalars), check.c (checks across keys), and after an error locate.c (the line).

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include <tl_base.h>
#include <tl_config.h>

#define TL_CONFIG_DEPTH (6 + 2 * TL_CONFIG_CLASS_DEPTH_MAX) // $.shape[0].classes[0].police.red.dscp is 7 steps deep
#define TL_CONFIG_LCORE_MAX 1023
#define TL_CONFIG_BURST_MAX UINT64_C(576460752) // bytes
#define TL_CONFIG_FRAME_BYTES 18		// Ethernet header and a tag

// A step into a JSON document: a key of an object, or an index of an array when key is NULL.
struct tl_config_step {
	const char *key; // borrowed
	size_t index;
};

struct tl_config_path {
	struct tl_config_step step[TL_CONFIG_DEPTH];
	unsigned depth;
};

// Place of a value in the text, and of those around it.
struct tl_config_found {
	struct tl_config_path path;
	const char *at[TL_CONFIG_DEPTH + 1]; // first byte of the document, and of the value of each step
	unsigned line[TL_CONFIG_DEPTH + 1];
};

// State of reading a text.
struct tl_config_reader {
	const char *name; // name of the file in messages
	const char *text; // len bytes
	size_t len;
	struct tl_config_path path;    // path of the current value
	struct tl_config_found found;  // by the last tl_config_line()
	struct tl_config_shape *shape; // whose classes are being read
	// Command line instead of a text, which is then NULL.
	const struct tl_config_option *options;
	size_t n_options;
	struct tl_err *err;
};

// Macros of tables.
#define KIB UINT64_C(1024)
#define MIB (KIB << 10)
#define GIB (MIB << 10)
#define TIB (GIB << 10)

#define FIELD(section, member)                                                                                         \
	.offset = offsetof(struct section, member), .width = sizeof(((struct section *)NULL)->member)
// A key with the name of its field.
#define KEY(section, member, reader) #member, reader, FIELD(section, member)
// A key whose value is one of a list's words (tl_choices.h).
#define CHOICE(section, member, list)                                                                                  \
	KEY(section, member, tl_config_choice), .choices = (const char *const[])                                       \
	{                                                                                                              \
		list(TL_CHOICE_WORD) NULL                                                                              \
	}
#define KEYS(table) .keys = (table), .n_keys = TL_ARRAY_LEN(table)

struct tl_config_key;
struct tl_config_table;

// Check one value and store it into the struct of its section. Return 0 or an error.
typedef int tl_config_read(
	struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section);

// Description of a key.
struct tl_config_key {
	const char *name;
	tl_config_read *read;
	size_t offset, width; // of the field in the section's struct
	uint64_t min, max;    // range of a number or size, of a text's length, of an array's length
	bool or_zero;	      // 0 is also allowed, below min
	bool required;
	const char *fallback;	    // default as JSON text, parsed like a user's value; NULL: the field stays 0
	const char *const *choices; // for a choice: one word per enum value, then NULL
	const struct tl_config_table *table; // for an object, or the elements of an array
	size_t count_offset;		     // for an array: offset of its length
	bool allocated;			     // for an array: the field is the address of as many elements
	unsigned modes;			     // of an echo that use the key, bits by enum tl_echo_kind; 0: all
};

// Keys of one kind of object.
struct tl_config_table {
	const struct tl_config_key *keys;
	size_t n_keys;
	size_t bytes;	       // size of the struct filled from the object
	tl_config_read *check; // check of the object after all its keys, or NULL; its key argument is NULL
};

// sections.c: the whole file; fills a struct tl_config.
extern const struct tl_config_table tl_config_root;

// table.c
int tl_config_read_object(
	struct tl_config_reader *r, const struct tl_config_table *table, const json_t *value, void *section);
tl_config_read tl_config_object; // key->table
tl_config_read tl_config_array;	 // elements of key->table, min..max of them

// values.c
tl_config_read tl_config_bool;
tl_config_read tl_config_number; // for a field of width 4 or 8
tl_config_read tl_config_size;	 // the same, as an integer or "64M"
tl_config_read tl_config_choice;
tl_config_read tl_config_text;	   // for a char *, allocated
tl_config_read tl_config_name;	   // a text of [A-Za-z0-9_-]
tl_config_read tl_config_rate;	   // for a field of width 8: bit/s, or as tc writes it
tl_config_read tl_config_pace;	   // the same, of a connection
tl_config_read tl_config_capacity; // of a share: the same; 0 for "measured"
tl_config_read tl_config_queue;	   // for a field of width 4: a number, or "auto"
tl_config_read tl_config_burst;	   // for a field of width 8: bytes, or as tc writes it
tl_config_read tl_config_limit;	   // the same, of a queue; 0: none

// Read a whole number within the key's range.
int tl_config_integer(struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, uint64_t *out);

// Read a string without control characters. NULL: the error is in err.
const char *tl_config_string(struct tl_config_reader *r, const json_t *value, const char *wanted);

// neighbours.c: the keys of a port's neighbour, and a check of the port after its keys.
tl_config_read tl_config_neighbour_ip;
tl_config_read tl_config_mac;
tl_config_read tl_config_check_neighbours;

// rules.c: the keys of a port's flow rules, the check of one, and of all of a port; "rss", "rss_queues", "isolate", and
// its check after the echoes have their ports.
tl_config_read tl_config_rule_ip;
tl_config_read tl_config_rule_queue;
tl_config_read tl_config_rule_drop;
tl_config_read tl_config_check_rule;
tl_config_read tl_config_check_rules;
tl_config_read tl_config_rss;
tl_config_read tl_config_rss_queues;
tl_config_read tl_config_isolate;
int tl_config_check_isolated(struct tl_config_reader *r, const struct tl_config *config, uint32_t port);

// rules.c: read an address with or without a prefix length. Return its version, 4 or 6, or 0 with an error.
uint8_t tl_config_prefix(struct tl_config_reader *r, const json_t *value, struct tl_config_prefix *out);

// roles.c: the roles of a port's queues, and their check after the echoes and recordings have their ports.
tl_config_read tl_config_roles;
int tl_config_check_roles(struct tl_config_reader *r, const struct tl_config *config);

// True if DPDK drives the port's device. If not, *what receives its kind.
bool tl_config_is_nic(const struct tl_config_port *port, const char **what);

// shape.c: an entry of "shape". shape_check.c: its check after the ports and echoes are known.
extern const struct tl_config_table tl_config_shape_table;
tl_config_read tl_config_classes; // of a shape; its key has the table of a class
int tl_config_check_shape(struct tl_config_reader *r, struct tl_config *config, uint32_t index);

// weights.c: "weights" of a class, and a check after its other keys.
extern const struct tl_config_table tl_config_weight_table;
tl_config_read tl_config_weights;
int tl_config_check_weights(struct tl_config_reader *r, const struct tl_config_class *cls);

// police.c: the classes of a recording: their keys, and a check after all its keys.
extern const struct tl_config_table tl_config_police_table;
int tl_config_check_classes(struct tl_config_reader *r, struct tl_config_capture *capture);
void tl_config_free_classes(struct tl_config_capture *capture);

// meter.c: the keys of a meter, whose struct is the first member of the section's; their check in the object; one when
// the port is known, with the path at the object, of a meter whose longest frame has so many bytes.
#define TL_CONFIG_METER_KEYS                                                                                           \
	{CHOICE(tl_config_meter, unit, TL_CONFIG_POLICE_UNITS), .fallback = "\"bytes\""},                              \
		{KEY(tl_config_meter, cir, tl_config_meter_rate), .min = 1, .max = TL_CONFIG_RATE_MAX,                 \
			.required = true},                                                                             \
		{KEY(tl_config_meter, cbs, tl_config_meter_burst), .min = 1, .max = TL_CONFIG_BURST_MAX,               \
			.required = true},                                                                             \
		{KEY(tl_config_meter, ebs, tl_config_meter_burst), .min = 1, .max = TL_CONFIG_BURST_MAX},              \
		{KEY(tl_config_meter, eir, tl_config_meter_rate), .min = 1, .max = TL_CONFIG_RATE_MAX},                \
		{KEY(tl_config_meter, pir, tl_config_meter_rate), .min = 1, .max = TL_CONFIG_RATE_MAX},                \
		{KEY(tl_config_meter, pbs, tl_config_meter_burst), .min = 1, .max = TL_CONFIG_BURST_MAX},              \
	{                                                                                                              \
		KEY(tl_config_meter, aware, tl_config_bool), .fallback = "false"                                       \
	}
tl_config_read tl_config_meter_rate;
tl_config_read tl_config_meter_burst;
int tl_config_check_meter(struct tl_config_reader *r, const struct tl_config_meter *meter);
int tl_config_check_buckets(struct tl_config_reader *r, const struct tl_config_port *port,
	const struct tl_config_meter *meter, uint32_t overhead_bytes);

// policer.c: "police" of a section whose key has the field, and the refusal of marks where there are no frames.
extern const struct tl_config_table tl_config_policer_table;
tl_config_read tl_config_policer;
int tl_config_check_unmarked(struct tl_config_reader *r, const struct tl_config_policer *policer);

// delay.c: the delay of an echo, and its check after the other keys of the echo.
tl_config_read tl_config_delay;
int tl_config_check_delay(struct tl_config_reader *r, const json_t *object, const struct tl_config_echo *echo);

// replay.c: an entry of "replay", and its check after the ports and echoes are known.
extern const struct tl_config_table tl_config_replay_table;
int tl_config_check_replay(struct tl_config_reader *r, struct tl_config *config, uint32_t index);
void tl_config_free_replay(struct tl_config_replay *replay);

// share.c: an entry of "share", the keys of a shape that belong to it, and their check after the shapes are known.
extern const struct tl_config_table tl_config_share_table;
tl_config_read tl_config_check_member;
int tl_config_join_share(struct tl_config_reader *r, struct tl_config *config, uint32_t index); // of a shape
// Refuse the keys of a part of a share, in the object that has no "share".
int tl_config_check_unshared(struct tl_config_reader *r, const char *share_name, const json_t *value);
// Find the entry with this name, of entry index of the section; TL_CONFIG_NO_SHARE: name is NULL.
int tl_config_find_share(struct tl_config_reader *r, const struct tl_config *config, const char *section,
	uint32_t index, const char *name, uint32_t *out);
int tl_config_check_share(struct tl_config_reader *r, const struct tl_config *config, uint32_t index);

// share_capture.c: the keys of a recording that belong to a share, after the others; the share of a recording; the
// check of a share that has recordings.
int tl_config_check_recorded(struct tl_config_reader *r, const struct tl_config_capture *capture, const json_t *value);
int tl_config_join_disk(struct tl_config_reader *r, struct tl_config *config, uint32_t index);
bool tl_config_shares_disk(const struct tl_config *config, uint32_t share);
int tl_config_check_disk(struct tl_config_reader *r, const struct tl_config *config, uint32_t share);

// share_class.c: "classes" of a share; the members among the classes of a shape; a check after the shapes are known.
extern const struct tl_config_table tl_config_member_table;
void tl_config_join_classes(const struct tl_config *config, struct tl_config_shape *shape);
int tl_config_check_members(struct tl_config_reader *r, const struct tl_config *config, uint32_t index);
void tl_config_free_members(struct tl_config_share *share);

// check_capture.c: check of an entry of "capture" after its keys.
tl_config_read tl_config_check_capture;

// marks.c: a check after all keys of a recording, and one when its port is known.
tl_config_read tl_config_marks;
int tl_config_check_marked(struct tl_config_reader *r, struct tl_config_capture *capture, const json_t *value);
int tl_config_check_marks(struct tl_config_reader *r, const struct tl_config *config, uint32_t capture);

// check.c: resolve port names, give echoes their default names, and refuse contradictions.
int tl_config_check(struct tl_config_reader *r, struct tl_config *config);

// check.c: find the index of the named port; the error, at the current path, lists the existing names.
int tl_config_resolve_port(
	struct tl_config_reader *r, const struct tl_config *config, const char *name, uint32_t *out_index);

// locate.c
void tl_config_enter(struct tl_config_reader *r, const char *key);
void tl_config_enter_index(struct tl_config_reader *r, size_t index);
void tl_config_leave(struct tl_config_reader *r);

// Set the path to $.section[index].key, or without a key to $.section[index], for the errors that follow.
void tl_config_point_at(struct tl_config_reader *r, const char *section, uint32_t index, const char *key);

// Find the line of the current value, or of the innermost existing object on its path, from 1; 0 without a text. Values
// in the order of the text are found in one pass through it.
unsigned tl_config_line(struct tl_config_reader *r);

// Write "NAME:LINE: $.path: sentence" for the current value into err; return -EINVAL.
int tl_config_refuse(struct tl_config_reader *r, const char *fmt, ...) TL_PRINTF(2, 3);

// Same for a key of the current object.
#define tl_config_refuse_key(r, key, ...) (tl_config_enter(r, key), tl_config_refuse(r, __VA_ARGS__))

// Same for $.section[index].key.
#define tl_config_refuse_at(r, section, index, key, ...)                                                               \
	(tl_config_point_at(r, section, index, key), tl_config_refuse(r, __VA_ARGS__))

// Same with the sentence: VALUE is not WANTED.
int tl_config_not(struct tl_config_reader *r, const json_t *value, const char *wanted);
