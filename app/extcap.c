// SPDX-License-Identifier: BSD-3-Clause
// Answer Wireshark's queries for interfaces and options, and record into its FIFO (extcap(4)).

#include "extcap.h"

#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tl_base.h>
#include <tl_err.h>
#include <tl_filter.h>
#include <tl_log.h>

#include "app.h"
#include "capture_options.h"

#define ANY "tapline"	  // the interface whose port is an option
#define PREFIX "tapline-" // prefix of a kernel interface's name
#define FIXED_ARGUMENTS 8 // capture -i PORT -w FIFO -- FILTER NULL

enum question { NOTHING, INTERFACES, DLTS, CONFIG, CAPTURE };

struct request {
	enum question question;
	const char *interface, *fifo, *filter;
	char **options; // options of tapline capture; borrowed from argv
	int n_options;
};

bool tl_extcap_is_meant(const char *first_argument)
{
	return strncmp(first_argument, "--extcap-", 9) == 0 || strcmp(first_argument, "--capture") == 0;
}

// Return the value of option name at argv[*i], given as --name=VALUE or --name VALUE, and move *i to its last word.
// NULL: a different option.
static const char *value_of(int argc, char **argv, int *i, const char *name)
{
	size_t len = strlen(name);

	if (strncmp(argv[*i], name, len) != 0)
		return NULL;
	if (argv[*i][len] == '=')
		return argv[*i] + len + 1;
	return argv[*i][len] == '\0' && *i + 1 < argc ? argv[++*i] : NULL;
}

static bool read_question(const char *argument, enum question *out)
{
	static const struct {
		const char *argument;
		enum question question;
	} table[] = {{"--extcap-interfaces", INTERFACES}, {"--extcap-dlts", DLTS}, {"--extcap-config", CONFIG},
		{"--capture", CAPTURE}};

	for (size_t i = 0; i < TL_ARRAY_LEN(table); i++)
		if (strcmp(argument, table[i].argument) == 0) {
			*out = table[i].question;
			return true;
		}
	return false;
}

// Sort the command line; arguments unknown to extcap are options of tapline capture.
static void read_request(int argc, char **argv, struct request *out)
{
	for (int i = 1; i < argc; i++) {
		const char *value;
		if (read_question(argv[i], &out->question))
			continue;
		if ((value = value_of(argc, argv, &i, "--extcap-interface")) != NULL)
			out->interface = value;
		else if ((value = value_of(argc, argv, &i, "--extcap-capture-filter")) != NULL)
			out->filter = value;
		else if ((value = value_of(argc, argv, &i, "--fifo")) != NULL)
			out->fifo = value;
		else if (strncmp(argv[i], "--extcap-version", 16) != 0) // option of Wireshark's, ignored
			out->options[out->n_options++] = argv[i];
	}
}

static int print_interfaces(void)
{
	struct if_nameindex *list = if_nameindex();

	printf("extcap {version=" TL_VERSION "}\n"
	       "interface {value=" ANY "}{display=Tapline: any port}\n");
	for (const struct if_nameindex *i = list; i != NULL && i->if_index != 0; i++)
		printf("interface {value=" PREFIX "%s}{display=Tapline: %s}\n", i->if_name, i->if_name);
	if (list != NULL)
		if_freenameindex(list);
	return TL_EXIT_OK;
}

static int print_config(const char *interface)
{
	int n = 0;

	if (strcmp(interface, ANY) == 0)
		printf("arg {number=%d}{call=--port}{display=Port}{type=string}{required=true}"
		       "{tooltip=eth0, xdp:eth0, 0000:3b:00.0, pcap:FILE or vdev:DEVARGS}\n",
			n++);
	printf("arg {number=%d}{call=--snaplen}{display=Bytes of each frame}{type=unsigned}{range=14,262144}"
	       "{default=262144}{tooltip=Bytes recorded of each frame}\n",
		n++);
	printf("arg {number=%d}{call=--direction}{display=Direction}{type=selector}{tooltip=Which frames}\n", n);
	for (size_t i = 0; i < 3; i++)
		printf("value {arg=%d}{value=%s}{display=%s}{default=%s}\n", n, (const char *[]){"both", "rx", "tx"}[i],
			(const char *[]){"both", "received", "sent"}[i], i == 0 ? "true" : "false");
	n++;
	printf("arg {number=%d}{call=--buffer}{display=Buffer}{type=string}{default=64M}"
	       "{tooltip=Memory between the port and Wireshark}\n",
		n++);
	printf("arg {number=%d}{call=--no-promisc}{display=Leave promiscuous mode as it is}{type=boolflag}{default=false}\n",
		n);
	return TL_EXIT_OK;
}

// Return the port of the interface; NULL: the port is among the options.
static const char *port_of(const char *interface)
{
	return strncmp(interface, PREFIX, strlen(PREFIX)) == 0 ? interface + strlen(PREFIX) : NULL;
}

static int capture(const struct request *request)
{
	char **argv = calloc((size_t)request->n_options + FIXED_ARGUMENTS, sizeof(*argv));
	char command[] = "capture", port_option[] = "-i", write_option[] = "-w", no_more_options[] = "--";
	const char *port = port_of(request->interface);
	struct tl_capture_options o;
	int n = 0;

	if (argv == NULL)
		return TL_EXIT_FAILED;
	argv[n++] = command;
	if (port != NULL) {
		argv[n++] = port_option;
		argv[n++] = strdupa(port);
	}
	argv[n++] = write_option;
	argv[n++] = strdupa(request->fifo);
	for (int i = 0; i < request->n_options; i++)
		argv[n++] = request->options[i];
	argv[n++] = no_more_options;
	if (request->filter != NULL)
		argv[n++] = strdupa(request->filter);
	int status = tl_capture_options_parse(n, argv, &o);
	free(argv);
	if (status >= 0)
		return status;
	o.run.progress = false;
	o.finish.quiet = true;
	o.run.reader_may_leave = true;
	return tl_capture_run(&o);
}

// Check a filter while the user types: extcap requires no output for a valid filter, and the reason on stdout
// otherwise.
static int check_filter(const char *filter)
{
	struct tl_err err;

	if (filter[0] != '\0' && tl_filter_check(filter, &err) != 0)
		puts(err.text);
	return TL_EXIT_OK;
}

static int usage(const char *what)
{
	tl_error("%s (Wireshark calls this; see docs/extract.md)", what);
	return TL_EXIT_USAGE;
}

static int answer(const struct request *request)
{
	if (request->question == INTERFACES)
		return print_interfaces();
	if (request->question == NOTHING && request->filter != NULL)
		return check_filter(request->filter);
	if (request->question == NOTHING) { // --extcap-version alone
		puts("extcap {version=" TL_VERSION "}");
		return TL_EXIT_OK;
	}
	if (request->interface == NULL || (strcmp(request->interface, ANY) != 0 && port_of(request->interface) == NULL))
		return usage("which interface? give --extcap-interface=, one of --extcap-interfaces");
	if (request->question == CONFIG)
		return print_config(request->interface);
	if (request->question == CAPTURE)
		return request->fifo != NULL ? capture(request) : usage("where to? give --fifo=FILE");
	puts("dlt {number=1}{name=EN10MB}{display=Ethernet}");
	return TL_EXIT_OK;
}

int tl_extcap(int argc, char **argv)
{
	struct request request = {.options = calloc((size_t)argc, sizeof(char *))};

	if (request.options == NULL)
		return TL_EXIT_FAILED;
	read_request(argc, argv, &request);
	int status = answer(&request);
	free(request.options);
	return status;
}
