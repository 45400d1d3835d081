// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// doctor: judges whether a host is fit to run Tapline, from facts gathered by the caller. Unknown facts are judged
// "unknown", never guessed.
//
// Threads: any. Memory: the caller's.

#include <stddef.h>
#include <stdio.h>

#include <tl_base.h>
#include <tl_doctor_facts.h>

struct json_t;

// Verdicts in order of urgency.
enum tl_verdict { TL_VERDICT_OK, TL_VERDICT_UNKNOWN, TL_VERDICT_WARN, TL_VERDICT_FAIL };
#define TL_VERDICTS 4
#define TL_CAN_WARN (1u << TL_VERDICT_WARN)
#define TL_CAN_FAIL (1u << TL_VERDICT_FAIL)

#define TL_DOCTOR_CHECKS_MAX 96

struct tl_finding {
	enum tl_verdict verdict;
	char read[512]; // basis of the verdict
};

// A fact that decides a check alone: an offset in struct tl_facts, and its good values. Other values cause a warning.
struct tl_check_setting {
	size_t number, text, cpus;  // one of them; 0: none
	int64_t least, most;	    // range of good numbers
	const char *before, *after; // printed around the number; NULL: nothing
	const char *good, *bad;	    // for a text, one of them
};

// A check. Its texts may contain {workers}, {others}, {pages}, {pci} and {memory_mb}, which are replaced by facts.
struct tl_check {
	const char *id; // "group.name", unique
	unsigned can;	// TL_CAN_*: possible verdicts in addition to ok and unknown
	const char *why;
	const char *fix;
	const char *script;  // shell commands that fix it until the next boot; NULL: none
	const char *cmdline; // words for the kernel's command line; NULL: none
	// Judges of the host, of each port on PCI, of each port with an interface of the kernel, and of each directory
	// of recordings. NULL: none.
	void (*judge)(const struct tl_facts *facts, struct tl_finding *finding);
	void (*judge_port)(const struct tl_facts *facts, const struct tl_fact_port *port, struct tl_finding *finding);
	void (*judge_interface)(const struct tl_fact_port *port, struct tl_finding *finding);
	void (*judge_disk)(const struct tl_fact_disk *disk, struct tl_finding *finding);
	const struct tl_check_setting *setting; // NULL: the judges decide
	// Prints more of the script, calls of set_to FILE VALUE. NULL: none.
	void (*print_steps)(const struct tl_facts *facts, FILE *out);
};

struct tl_doctor_report {
	size_t n;
	const struct tl_check *checks[TL_DOCTOR_CHECKS_MAX];
	struct tl_finding findings[TL_DOCTOR_CHECKS_MAX];
	unsigned counts[TL_VERDICTS];
};

// Run all checks, group by group.
void tl_doctor_judge(const struct tl_facts *facts, struct tl_doctor_report *out);

const char *tl_verdict_name(enum tl_verdict verdict);

// DPDK driver for a device ("net_ixgbe"), or NULL if unknown.
const char *tl_doctor_pmd(int64_t vendor, int64_t device);

// Substitute the facts in the text of a check. Return buf.
char *tl_doctor_fill(const char *text, const struct tl_facts *facts, char *buf, size_t size);

// Build {"checks": [{"id", "verdict", "read", "why", "fix"}], "ok", "warn", "fail", "unknown"}, or NULL (no memory).
struct json_t *tl_doctor_json(const struct tl_doctor_report *report, const struct tl_facts *facts);

void tl_doctor_print(const struct tl_doctor_report *report, const struct tl_facts *facts, bool colours, FILE *out);

// Print a shell script that corrects warnings and failures, as far as possible without a reboot. Called with the word
// "undo" it puts the files back that it wrote, and starts again the services that it stopped.
void tl_doctor_print_script(const struct tl_doctor_report *report, const struct tl_facts *facts, FILE *out);
