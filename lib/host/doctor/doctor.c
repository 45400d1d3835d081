// SPDX-License-Identifier: BSD-3-Clause
// All checks in order, and substitution of facts in their texts.

#include "doctor_priv.h"

#include <inttypes.h>
#include <string.h>

#define HUGEPAGE_MB 2
#define SPARE_PAGES 16	// used by DPDK in addition to its configured memory
#define GENERAL_MB 2048 // default without a configured size

static const struct tl_check_group *const groups[] = {&tl_doctor_memory, &tl_doctor_cpu, &tl_doctor_quiet,
	&tl_doctor_pci, &tl_doctor_link, &tl_doctor_receive, &tl_doctor_time, &tl_doctor_storage, &tl_doctor_dpdk};

const char *tl_verdict_name(enum tl_verdict verdict)
{
	static const char *const names[] = {"ok", "unknown", "warn", "fail"};

	return names[verdict];
}

static const char *or_nothing(const char *text)
{
	return text != NULL ? text : "";
}

// Warn of a setting outside its good values.
static void judge_setting(
	const struct tl_check_setting *setting, const struct tl_facts *facts, struct tl_finding *finding)
{
	const char *base = (const char *)facts;
	const struct tl_fact_num *number = (const void *)(base + setting->number);
	const struct tl_fact_text *text = (const void *)(base + setting->text);

	if (setting->cpus != 0) {
		tl_found_workers_in(facts, finding, (const void *)(base + setting->cpus));
	} else if (setting->number != 0 && number->known) {
		bool good = number->value >= setting->least && number->value <= setting->most;
		tl_found(finding, good ? TL_VERDICT_OK : TL_VERDICT_WARN, "%s%" PRIi64 "%s",
			or_nothing(setting->before), number->value, or_nothing(setting->after));
	} else if (setting->text != 0 && text->known) {
		bool good = setting->good != NULL ? strcmp(text->text, setting->good) == 0
						  : strcmp(text->text, setting->bad) != 0;
		tl_found(finding, good ? TL_VERDICT_OK : TL_VERDICT_WARN, "%s", text->text);
	}
}

// Call the judge for each port on PCI.
static void judge_ports(const struct tl_check *check, const struct tl_facts *facts, struct tl_finding *finding)
{
	uint32_t on_pci = 0;

	for (uint32_t i = 0; i < facts->n_ports; i++) {
		const struct tl_fact_port *port = &facts->ports[i];
		if (port->address[0] == '\0')
			continue;
		on_pci++;
		check->judge_port(facts, port, finding);
	}
	if (on_pci == 0 && facts->wanted.configured)
		tl_found(finding, TL_VERDICT_OK, "no port of the configuration is on PCI");
	else if (on_pci == 0)
		tl_found(finding, TL_VERDICT_UNKNOWN, "no network card was found on PCI");
}

// Call the judge for each port with a kernel interface.
static void judge_interfaces(const struct tl_check *check, const struct tl_facts *facts, struct tl_finding *finding)
{
	uint32_t looked = 0;

	for (uint32_t i = 0; i < facts->n_ports; i++) {
		const struct tl_fact_port *port = &facts->ports[i];
		if (!port->interface.known || port->interface.text[0] == '\0')
			continue;
		looked++;
		check->judge_interface(port, finding);
	}
	if (looked == 0)
		tl_found(finding, TL_VERDICT_UNKNOWN,
			"no port has an interface of the kernel: known when DPDK has started");
}

static void judge_disks(const struct tl_check *check, const struct tl_facts *facts, struct tl_finding *finding)
{
	for (uint32_t i = 0; i < facts->n_disks; i++)
		check->judge_disk(&facts->disks[i], finding);
	if (facts->n_disks == 0 && facts->wanted.configured)
		tl_found(finding, TL_VERDICT_OK, "nothing is recorded to files");
	else if (facts->n_disks == 0)
		tl_found(finding, TL_VERDICT_UNKNOWN, "no configuration");
}

static void judge(const struct tl_check *check, const struct tl_facts *facts, struct tl_finding *finding)
{
	*finding = (struct tl_finding){.verdict = TL_VERDICT_UNKNOWN};
	if (check->setting != NULL)
		judge_setting(check->setting, facts, finding);
	if (check->judge != NULL)
		check->judge(facts, finding);
	if (check->judge_port != NULL)
		judge_ports(check, facts, finding);
	if (check->judge_interface != NULL)
		judge_interfaces(check, facts, finding);
	if (check->judge_disk != NULL)
		judge_disks(check, facts, finding);
	if (finding->read[0] == '\0')
		tl_found(finding, TL_VERDICT_UNKNOWN, "could not be read");
}

void tl_doctor_judge(const struct tl_facts *facts, struct tl_doctor_report *out)
{
	*out = (struct tl_doctor_report){0};
	for (size_t g = 0; g < TL_ARRAY_LEN(groups); g++)
		for (size_t i = 0; i < groups[g]->n && out->n < TL_DOCTOR_CHECKS_MAX; i++) {
			out->checks[out->n] = &groups[g]->checks[i];
			judge(out->checks[out->n], facts, &out->findings[out->n]);
			out->counts[out->findings[out->n].verdict]++;
			out->n++;
		}
}

// ---- texts

static void put_addresses(const struct tl_facts *facts, char *buf, size_t size)
{
	size_t used = 0;

	snprintf(buf, size, "ADDRESS");
	for (uint32_t i = 0; i < facts->n_ports && used + sizeof(facts->ports[i].address) < size; i++)
		if (facts->ports[i].address[0] != '\0')
			used += (size_t)snprintf(
				buf + used, size - used, "%s%s", used > 0 ? " " : "", facts->ports[i].address);
}

static bool is_word(const char *word, size_t chars, const char *name)
{
	return chars == strlen(name) && memcmp(word, name, chars) == 0;
}

static void put_cpus(const struct tl_fact_cpus *cpus, char *buf, size_t size)
{
	if (cpus->known && !tl_cpus_is_empty(cpus))
		tl_cpus_format(cpus, buf, size);
	else
		snprintf(buf, size, "CPUS");
}

// Substitute a word in braces; "": unknown word.
static void put_value(const char *word, size_t chars, const struct tl_facts *facts, char *buf, size_t size)
{
	uint64_t memory_mb = facts->wanted.configured ? facts->wanted.memory_mb : GENERAL_MB;
	struct tl_fact_cpus others = tl_cpus_minus(&facts->cpu.online, &facts->wanted.workers);

	buf[0] = '\0';
	if (is_word(word, chars, "workers"))
		put_cpus(&facts->wanted.workers, buf, size);
	else if (is_word(word, chars, "others"))
		put_cpus(&others, buf, size);
	else if (is_word(word, chars, "pages"))
		snprintf(buf, size, "%" PRIu64, memory_mb / HUGEPAGE_MB + SPARE_PAGES);
	else if (is_word(word, chars, "memory_mb"))
		snprintf(buf, size, "%" PRIu64, tl_max_u64(memory_mb, facts->wanted.used_mb));
	else if (is_word(word, chars, "pci"))
		put_addresses(facts, buf, size);
}

char *tl_doctor_fill(const char *text, const struct tl_facts *facts, char *buf, size_t size)
{
	size_t used = 0;

	while (*text != '\0' && used + 1 < size) {
		const char *end = *text == '{' ? strchr(text, '}') : NULL;
		char value[512] = "";
		if (end != NULL)
			put_value(text + 1, (size_t)(end - text - 1), facts, value, sizeof(value));
		if (value[0] == '\0') {
			buf[used++] = *text++;
			continue;
		}
		int chars = snprintf(buf + used, size - used, "%s", value);
		used = tl_min_u64(used + (size_t)chars, size - 1);
		text = end + 1;
	}
	buf[used] = '\0';
	return buf;
}
