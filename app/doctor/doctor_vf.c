// SPDX-License-Identifier: BSD-3-Clause
// Find out whether the physical function trusts a virtual one. The host of the physical function alone knows: a guest
// does not know it, since the drivers of ixgbe, i40e and ice answer a request for promiscuous mode with success and
// ignore it (Linux: ixgbe_update_vf_xcast_mode(), i40e_vc_config_promiscuous_mode_msg(),
// ice_vc_cfg_promiscuous_mode_msg()).

#include "doctor_facts.h"

#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CARD "/sys/bus/pci/devices/%s"
#define ANSWER_BYTES (128u << 10) // longer than the list of 256 functions
#define NO_SETTING UINT32_MAX	  // of a driver without such a setting: rtnl_fill_vfinfo() of Linux

// ---- answer of the kernel

static struct rtattr *find_attribute(struct rtattr *from, int bytes, unsigned type)
{
	for (; RTA_OK(from, bytes); from = RTA_NEXT(from, bytes))
		if ((from->rta_type & NLA_TYPE_MASK) == type)
			return from;
	return NULL;
}

// Read one IFLA_VF_INFO.
static struct tl_fact_num trust_in(struct rtattr *info, uint32_t vf)
{
	struct rtattr *trust = find_attribute(RTA_DATA(info), (int)RTA_PAYLOAD(info), IFLA_VF_TRUST);
	struct ifla_vf_trust value;

	if (trust == NULL || RTA_PAYLOAD(trust) < sizeof(value))
		return (struct tl_fact_num){0};
	memcpy(&value, RTA_DATA(trust), sizeof(value));
	if (value.vf != vf || value.setting == NO_SETTING)
		return (struct tl_fact_num){0};
	return tl_fact_is(value.setting != 0);
}

struct tl_fact_num tl_vf_trust(void *answer, size_t bytes, uint32_t vf)
{
	struct nlmsghdr *header = answer;
	struct tl_fact_num trust = {0};

	if (!NLMSG_OK(header, bytes) || header->nlmsg_type != RTM_NEWLINK ||
		header->nlmsg_len < NLMSG_LENGTH(sizeof(struct ifinfomsg)))
		return trust;
	struct rtattr *list = find_attribute(IFLA_RTA(NLMSG_DATA(header)), (int)IFLA_PAYLOAD(header), IFLA_VFINFO_LIST);
	if (list == NULL)
		return trust;
	int left = (int)RTA_PAYLOAD(list);
	for (struct rtattr *info = RTA_DATA(list); RTA_OK(info, left) && !trust.known; info = RTA_NEXT(info, left))
		trust = trust_in(info, vf);
	return trust;
}

// ---- question

// Ask rtnetlink(7) for an interface and its virtual functions. Return the bytes of the answer, 0 if there is none.
static size_t ask_link(const char *interface, void *answer)
{
	struct {
		struct nlmsghdr header;
		struct ifinfomsg link;
		struct rtattr attribute;
		uint32_t mask;
	} request = {
		.header = {.nlmsg_len = sizeof(request), .nlmsg_type = RTM_GETLINK, .nlmsg_flags = NLM_F_REQUEST},
		.link = {.ifi_index = (int)if_nametoindex(interface)},
		.attribute = {.rta_len = RTA_LENGTH(sizeof(uint32_t)), .rta_type = IFLA_EXT_MASK},
		.mask = RTEXT_FILTER_VF | RTEXT_FILTER_SKIP_STATS,
	};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	ssize_t got = -1;

	if (fd < 0)
		return 0;
	if (request.link.ifi_index != 0 && send(fd, &request, sizeof(request), 0) == (ssize_t)sizeof(request))
		got = recv(fd, answer, ANSWER_BYTES, 0);
	close(fd);
	return got > 0 ? (size_t)got : 0;
}

struct parent {
	const struct tl_tree *tree;
	const char *address; // of the physical function
	struct tl_fact_port *port;
	void *answer;
};

static void look_function(void *ctx, const char *name)
{
	struct parent *parent = ctx;
	unsigned vf;

	if (sscanf(name, "virtfn%u", &vf) == 1 &&
		strcmp(tl_tree_link(parent->tree, CARD "/%.32s", parent->address, name).text, parent->port->address) ==
			0)
		parent->port->vf = tl_fact_is(vf);
}

// With switchdev the card has an interface per virtual function, too; only its own knows all.
static void look_interface(void *ctx, const char *name)
{
	struct parent *parent = ctx;
	struct tl_fact_port *port = parent->port;

	if (port->trusted.known)
		return;
	port->parent = tl_fact_says(name);
	if (parent->tree->live && port->vf.known)
		port->trusted = tl_vf_trust(parent->answer, ask_link(name, parent->answer), (uint32_t)port->vf.value);
}

void tl_gather_trust(const struct tl_tree *tree, struct tl_fact_port *port)
{
	struct tl_fact_text physical = tl_tree_link(tree, CARD "/physfn", port->address);
	struct parent parent = {.tree = tree, .address = physical.text, .port = port, .answer = malloc(ANSWER_BYTES)};
	char path[TL_TREE_PATH_MAX];

	port->virtual_function = tl_fact_is(physical.text[0] != '\0');
	if (physical.text[0] != '\0' && parent.answer != NULL) {
		snprintf(path, sizeof(path), CARD, physical.text);
		tl_tree_each(tree, path, look_function, &parent);
		snprintf(path, sizeof(path), CARD "/net", physical.text);
		tl_tree_each(tree, path, look_interface, &parent);
	}
	free(parent.answer);
}
