// SPDX-License-Identifier: BSD-3-Clause
// Lookup of the default route in /proc/net, and of the login's address among those of the interfaces.

#include <tl_iface.h>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <net/route.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_CHARS 4096
#define LOGIN_VARIABLE "SSH_CONNECTION" // client and port, server and port; set by sshd(8)

// True if a line of a routing table is a default route through the interface.
typedef bool is_default_fn(const char *line, const char *iface);

// Parse the columns of proc(5): interface, destination, gateway, flags, counts, metric, mask.
static bool is_default4(const char *line, const char *iface)
{
	unsigned long destination, mask;
	char name[64];

	return sscanf(line, "%63s %lx %*s %*s %*s %*s %*s %lx", name, &destination, &mask) == 3 && destination == 0 &&
	       mask == 0 && strcmp(name, iface) == 0;
}

// Parse destination, prefix length, source, prefix length, next hop, metric, counts, flags, interface. The kernel's own
// "unreachable" is a default route that rejects.
static bool is_default6(const char *line, const char *iface)
{
	char destination[33], name[64];
	unsigned bits, flags;

	return sscanf(line, "%32s %x %*s %*s %*s %*s %*s %*s %x %63s", destination, &bits, &flags, name) == 4 &&
	       bits == 0 && strspn(destination, "0") == 32 && (flags & RTF_REJECT) == 0 && strcmp(name, iface) == 0;
}

static bool any_line(const char *root, const char *path, is_default_fn *is_default, const char *iface)
{
	char full[PATH_CHARS], line[256];
	bool found = false;

	snprintf(full, sizeof(full), "%s%s", root, path);
	FILE *routes = fopen(full, "re");
	if (routes == NULL)
		return false;
	while (fgets(line, sizeof(line), routes) != NULL)
		found |= is_default(line, iface);
	fclose(routes);
	return found;
}

bool tl_iface_has_default_route(const char *root, const char *iface)
{
	return any_line(root, "/proc/net/route", is_default4, iface) ||
	       any_line(root, "/proc/net/ipv6_route", is_default6, iface);
}

static bool is_address(const struct sockaddr *address, const char *text)
{
	char own[INET6_ADDRSTRLEN] = "";

	if (address == NULL)
		return false;
	if (address->sa_family == AF_INET)
		inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)address)->sin_addr, own, sizeof(own));
	else if (address->sa_family == AF_INET6)
		inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, own, sizeof(own));
	return strcmp(own, text) == 0;
}

// Read a variable from a process's /proc/PID/environ, if readable.
static bool environ_value(pid_t pid, const char *name, char *value, size_t size)
{
	char path[64], *entry = NULL;
	size_t room = 0, chars = strlen(name);
	bool found = false;

	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	FILE *file = fopen(path, "re");
	if (file == NULL)
		return false;
	while (!found && getdelim(&entry, &room, '\0', file) > 0) {
		found = strncmp(entry, name, chars) == 0 && entry[chars] == '=';
		if (found)
			snprintf(value, size, "%s", entry + chars + 1);
	}
	free(entry);
	fclose(file);
	return found;
}

static pid_t parent_of(pid_t pid)
{
	char path[64];
	int parent = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	FILE *file = fopen(path, "re");
	if (file == NULL)
		return 0;
	if (fscanf(file, "%*d (%*[^)]) %*c %d", &parent) != 1)
		parent = 0;
	fclose(file);
	return parent;
}

// Find the variable in our environment, or in that of the nearest ancestor that has it: sudo removes it.
static bool find_connection(char *connection, size_t size)
{
	const char *own = getenv(LOGIN_VARIABLE);

	if (own != NULL)
		return snprintf(connection, size, "%s", own) > 0;
	for (pid_t pid = getppid(); pid > 1; pid = parent_of(pid))
		if (environ_value(pid, LOGIN_VARIABLE, connection, size))
			return true;
	return false;
}

bool tl_iface_carries_login(const char *iface)
{
	char connection[256], local[64];
	struct ifaddrs *list;
	bool found = false;

	if (!find_connection(connection, sizeof(connection)) || sscanf(connection, "%*s %*s %63s", local) != 1 ||
		getifaddrs(&list) != 0)
		return false;
	local[strcspn(local, "%")] = '\0'; // scope of a link-local address
	for (const struct ifaddrs *a = list; a != NULL; a = a->ifa_next)
		found |= strcmp(a->ifa_name, iface) == 0 && is_address(a->ifa_addr, local);
	freeifaddrs(list);
	return found;
}

bool tl_iface_with_address(const char *address, char *name)
{
	struct ifaddrs *list;
	bool found = false;

	if (getifaddrs(&list) != 0)
		return false;
	for (const struct ifaddrs *a = list; a != NULL && !found; a = a->ifa_next) {
		found = is_address(a->ifa_addr, address);
		if (found)
			snprintf(name, IF_NAMESIZE, "%s", a->ifa_name);
	}
	freeifaddrs(list);
	return found;
}
