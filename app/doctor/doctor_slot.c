// SPDX-License-Identifier: BSD-3-Clause
// Gather facts about a NIC's slot: links, errors, and the PCI Express capability in its configuration space.

#include "doctor_facts.h"

#include <stdio.h>
#include <string.h>

#define CARD "/sys/bus/pci/devices/%s"
#define CONFIG_BYTES 4096

// PCI Local Bus Specification 3.0, 6.1 and 6.7; PCI Express Base Specification, 7.5.3.
#define CONFIG_STATUS 0x06
#define STATUS_HAS_CAPABILITIES 0x10
#define CONFIG_CAPABILITIES 0x34
#define CAPABILITIES_MAX 48
#define CAPABILITY_EXPRESS 0x10
#define EXPRESS_DEVICE_CONTROL 0x08
#define EXPRESS_LINK_CONTROL 0x10
#define READ_REQUEST_SHIFT 12
#define READ_REQUEST_MASK 7
#define READ_REQUEST_MOST 5 // 4096 bytes; 6 and 7 are reserved
#define ASPM_MASK 3

static uint16_t get_u16(const uint8_t *bytes)
{
	return (uint16_t)(bytes[0] | bytes[1] << 8);
}

// Return the offset of the capability; 0: not among the readable bytes.
static size_t find_express(const uint8_t *config, size_t bytes)
{
	if (bytes <= CONFIG_CAPABILITIES || (config[CONFIG_STATUS] & STATUS_HAS_CAPABILITIES) == 0)
		return 0;
	size_t at = config[CONFIG_CAPABILITIES] & ~3u;
	for (unsigned n = 0; n < CAPABILITIES_MAX && at != 0 && at + 2 <= bytes; n++) {
		if (config[at] == CAPABILITY_EXPRESS)
			return at + EXPRESS_LINK_CONTROL + 2 <= bytes ? at : 0;
		at = config[at + 1] & ~3u;
	}
	return 0;
}

static void read_config(const struct tl_tree *tree, const char *address, struct tl_fact_port *port)
{
	char path[TL_TREE_PATH_MAX];
	uint8_t config[CONFIG_BYTES + 1];

	snprintf(path, sizeof(path), CARD "/config", address);
	ssize_t bytes = tl_tree_bytes(tree, (char *)config, sizeof(config), path);
	size_t express = bytes > 0 ? find_express(config, (size_t)bytes) : 0;
	if (express == 0)
		return;
	unsigned code = get_u16(config + express + EXPRESS_DEVICE_CONTROL) >> READ_REQUEST_SHIFT & READ_REQUEST_MASK;
	if (code <= READ_REQUEST_MOST)
		port->read_request_bytes = tl_fact_is(128 << code);
	port->aspm = tl_fact_is(get_u16(config + express + EXPRESS_LINK_CONTROL) & ASPM_MASK);
}

// Parse a link speed: "8.0 GT/s PCIe", "Unknown".
static struct tl_fact_num parse_speed(const struct tl_fact_text *text)
{
	double gts;

	if (!text->known || sscanf(text->text, "%lf GT/s", &gts) != 1 || !(gts > 0 && gts < 1e6))
		return (struct tl_fact_num){0};
	return tl_fact_is((int64_t)(gts * 1000));
}

// Read the line TOTAL_ERR_… of a counter file.
static struct tl_fact_num read_errors(
	const struct tl_tree *tree, const char *address, const char *file, const char *total)
{
	char path[TL_TREE_PATH_MAX], line[64];

	snprintf(path, sizeof(path), CARD "/%s", address, file);
	if (!tl_tree_line_after(tree, path, total, line, sizeof(line)))
		return (struct tl_fact_num){0};
	return tl_fact_parse(line, 10);
}

void tl_gather_slot(const struct tl_tree *tree, const char *address, struct tl_fact_port *port)
{
	struct tl_fact_text speed = tl_tree_line(tree, CARD "/current_link_speed", address);
	struct tl_fact_text max_speed = tl_tree_line(tree, CARD "/max_link_speed", address);

	port->width = tl_tree_num(tree, CARD "/current_link_width", address);
	port->max_width = tl_tree_num(tree, CARD "/max_link_width", address);
	port->mts = parse_speed(&speed);
	port->max_mts = parse_speed(&max_speed);
	port->aer_correctable = read_errors(tree, address, "aer_dev_correctable", "TOTAL_ERR_COR");
	port->aer_nonfatal = read_errors(tree, address, "aer_dev_nonfatal", "TOTAL_ERR_NONFATAL");
	port->aer_fatal = read_errors(tree, address, "aer_dev_fatal", "TOTAL_ERR_FATAL");
	if (!tl_tree_exists(tree, CARD "/physfn", address)) // a virtual function has the slot of its physical one
		read_config(tree, address, port);
}
