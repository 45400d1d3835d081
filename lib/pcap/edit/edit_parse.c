// SPDX-License-Identifier: BSD-3-Clause
// Edits from the texts of options.

#include <tl_edit.h>

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include <tl_err.h>

#define STEP_MAX UINT32_MAX
#define VLAN_ID_MAX 4094 // 4095 is reserved (IEEE 802.1Q, table 9-2)

void tl_edit_init(struct tl_edit *edit)
{
	memset(edit, 0, sizeof(*edit));
	edit->ttl = edit->dscp = TL_EDIT_KEEP;
}

bool tl_edit_is_set(const struct tl_edit *edit)
{
	return edit->set_src_mac || edit->set_dst_mac || edit->vlan != TL_EDIT_VLAN_KEEP || edit->ttl != TL_EDIT_KEEP ||
	       edit->dscp != TL_EDIT_KEEP || edit->n_maps + edit->n_ports + edit->n_steps != 0;
}

// ---- parts of a text

// Split a text at the last occurrence of a character. Return 0 or -EINVAL: it is missing, or a part is empty or longer
// than any valid one.
static int split(const char *text, char at, char left[static 64], const char **right)
{
	const char *end = strrchr(text, at);

	if (end == NULL || end == text || end[1] == '\0' || end - text >= 64)
		return -EINVAL;
	memcpy(left, text, (size_t)(end - text));
	left[end - text] = '\0';
	*right = end + 1;
	return 0;
}

static tl_edit_addr mask_of(uint8_t bits, bool six)
{
	unsigned width = six ? 128 : 32;
	tl_edit_addr all = six ? ~(tl_edit_addr)0 : UINT32_MAX;

	return all ^ (bits == width ? 0 : all >> bits);
}

static int parse_prefix(const char *text, struct tl_edit_prefix *out, struct tl_err *err)
{
	struct tl_ip6 ip6;
	uint32_t ip_be, mask_be;

	*out = (struct tl_edit_prefix){.six = strchr(text, ':') != NULL};
	if (strcmp(text, "0.0.0.0/0") == 0 || strcmp(text, "::/0") == 0)
		return 0;
	if (out->six && tl_parse_ipv6_prefix(text, &ip6, &out->bits) == 0) {
		for (size_t i = 0; i < sizeof(ip6.byte); i++)
			out->addr = out->addr << 8 | ip6.byte[i];
	} else if (!out->six && tl_parse_ipv4_prefix(text, &ip_be, &mask_be) == 0) {
		out->addr = ntohl(ip_be);
		out->bits = (uint8_t)__builtin_popcount(mask_be);
	} else {
		return tl_fail(err, -EINVAL, "%s: expected a prefix such as 10.0.0.0/8 or 2001:db8::/32", text);
	}
	out->mask = mask_of(out->bits, out->six);
	if ((out->addr & ~out->mask) != 0)
		return tl_fail(err, -EINVAL, "%s: the address has bits beyond the prefix: set them to 0", text);
	return 0;
}

// Parse "80" or "5000-5099".
static int parse_range(const char *text, uint16_t *first, uint16_t *last, struct tl_err *err)
{
	char left[64];
	const char *right = text;
	uint64_t from, to;

	if (split(text, '-', left, &right) != 0)
		strncpy(left, text, sizeof(left) - 1)[sizeof(left) - 1] = '\0';
	if (tl_parse_u64(left, 0, UINT16_MAX, &from) != 0 || tl_parse_u64(right, 0, UINT16_MAX, &to) != 0 || from > to)
		return tl_fail(err, -EINVAL, "%s: expected ports such as 80 or 5000-5099, up to 65535", text);
	*first = (uint16_t)from;
	*last = (uint16_t)to;
	return 0;
}

// ---- edits

static int check_map(const struct tl_edit *edit, const struct tl_edit_map *map, const char *text, struct tl_err *err)
{
	if (map->from.six != map->to.six)
		return tl_fail(err, -EINVAL, "%s: one prefix is IPv4, the other IPv6", text);
	for (unsigned i = 0; i < edit->n_maps; i++) {
		const struct tl_edit_prefix *earlier = &edit->maps[i].from;
		if (earlier->six == map->from.six && (map->from.addr & earlier->mask) == earlier->addr &&
			map->from.bits >= earlier->bits)
			return tl_fail(err, -EINVAL,
				"%s: an earlier map covers all its addresses: give the longer prefix first", text);
	}
	return 0;
}

int tl_edit_add_map(struct tl_edit *edit, const char *text, struct tl_err *err)
{
	struct tl_edit_map map;
	char from[64];
	const char *to;

	if (split(text, '=', from, &to) != 0)
		return tl_fail(err, -EINVAL, "%s: expected a map such as 10.0.0.0/8=192.168.0.0/16", text);
	int rc = parse_prefix(from, &map.from, err);
	if (rc == 0)
		rc = parse_prefix(to, &map.to, err);
	if (rc == 0)
		rc = check_map(edit, &map, text, err);
	if (rc == 0 && edit->n_maps == TL_EDIT_MAPS_MAX)
		return tl_fail(err, -EINVAL, "%s: there are %d maps already", text, TL_EDIT_MAPS_MAX);
	if (rc == 0)
		edit->maps[edit->n_maps++] = map;
	return rc;
}

int tl_edit_add_ports(struct tl_edit *edit, const char *text, struct tl_err *err)
{
	struct tl_edit_ports map;
	const char *right;
	char from[64];
	uint64_t to;

	if (split(text, '=', from, &right) != 0 || tl_parse_u64(right, 0, UINT16_MAX, &to) != 0)
		return tl_fail(err, -EINVAL, "%s: expected a map such as 80=8080 or 5000-5099=6000", text);
	int rc = parse_range(from, &map.first, &map.last, err);
	if (rc != 0)
		return rc;
	map.to = (uint16_t)to;
	if (to + map.last - map.first > UINT16_MAX)
		return tl_fail(err, -EINVAL, "%s: the ports end beyond 65535", text);
	for (unsigned i = 0; i < edit->n_ports; i++)
		if (map.first >= edit->ports[i].first && map.last <= edit->ports[i].last)
			return tl_fail(err, -EINVAL, "%s: an earlier map covers all its ports", text);
	if (edit->n_ports == TL_EDIT_PORTS_MAX)
		return tl_fail(err, -EINVAL, "%s: there are %d maps already", text, TL_EDIT_PORTS_MAX);
	edit->ports[edit->n_ports++] = map;
	return 0;
}

int tl_edit_add_step(struct tl_edit *edit, const char *text, struct tl_err *err)
{
	struct tl_edit_step step = {0};
	const char *right;
	char range[64];
	uint64_t by;

	if (split(text, '+', range, &right) != 0 || tl_parse_u64(right, 1, STEP_MAX, &by) != 0)
		return tl_fail(
			err, -EINVAL, "%s: expected an increment such as 10.1.0.0/16+1 or 40000-49999+100", text);
	step.by = (uint32_t)by;
	step.ports = strchr(range, '/') == NULL;
	int rc = step.ports ? parse_range(range, &step.first, &step.last, err) : parse_prefix(range, &step.prefix, err);
	if (rc == 0 && edit->n_steps == TL_EDIT_STEPS_MAX)
		return tl_fail(err, -EINVAL, "%s: there are %d increments already", text, TL_EDIT_STEPS_MAX);
	if (rc == 0)
		edit->steps[edit->n_steps++] = step;
	return rc;
}

int tl_edit_set_vlan(struct tl_edit *edit, const char *text, struct tl_err *err)
{
	static const struct {
		const char *word;
		enum tl_edit_vlan vlan;
	} edits[] = {{"add:", TL_EDIT_VLAN_ADD}, {"set:", TL_EDIT_VLAN_SET}};
	uint64_t id;

	for (size_t i = 0; i < TL_ARRAY_LEN(edits); i++) {
		size_t len = strlen(edits[i].word);
		if (strncmp(text, edits[i].word, len) == 0 && tl_parse_u64(text + len, 0, VLAN_ID_MAX, &id) == 0) {
			edit->vlan = edits[i].vlan;
			edit->vlan_id = (uint16_t)id;
			return 0;
		}
	}
	if (strcmp(text, "strip") != 0)
		return tl_fail(err, -EINVAL, "%s: expected add:ID, set:ID (0 to %d) or strip", text, VLAN_ID_MAX);
	edit->vlan = TL_EDIT_VLAN_STRIP;
	return 0;
}

void tl_edit_set_loop(struct tl_edit *edit, uint64_t loop)
{
	for (unsigned i = 0; i < edit->n_steps; i++) {
		struct tl_edit_step *step = &edit->steps[i];
		step->shift = (tl_edit_addr)step->by * loop;
		if (step->ports)
			step->shift %= (tl_edit_addr)(step->last - step->first) + 1;
	}
}
