// SPDX-License-Identifier: BSD-3-Clause
// Manifests of a scripted host and of files written by the test.

#include "tl_test.h"
#include "tl_test_tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <manifest.h>
#include <tl_err.h>

static char dir[] = "/tmp/tapline-test-manifest-XXXXXX";

static char *in_dir(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void put_bytes(const char *name, const char *bytes, size_t n)
{
	tl_test_put_bytes(dir, name, bytes, n);
}

static void put(const char *name, const char *text)
{
	put_bytes(name, text, strlen(text));
}

static void make_host(void)
{
	static const char arguments[] = "tapline\0latency\0\0two words\0it's";

	put_bytes("host/proc/self/cmdline", arguments, sizeof(arguments));
	put("host/proc/self/status", "Name:\ttapline\nCpus_allowed_list:\t0-1\n");
	put("host/proc/cpuinfo",
		"processor\t: 0\nmodel name\t: Some CPU @ 3.00GHz\nmicrocode\t: 0x2b\nflags\t\t: fpu hypervisor sse2\n");
	put("host/proc/sys/kernel/ostype", "Linux\n");
	put("host/proc/sys/kernel/osrelease", "6.1.0-18-amd64\n");
	put("host/proc/sys/kernel/version", "#1 SMP\n");
	put("host/sys/devices/system/cpu/online", "0-3\n");
	put("host/sys/devices/system/cpu/isolated", "2-3\n");
	put("host/sys/devices/system/cpu/nohz_full", " (null)\n");
	put("host/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n");
	put("host/sys/devices/system/cpu/cpu3/cpufreq/scaling_governor", "powersave\n");
	put("host/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text != NULL ? text : "(null)";
}

TL_TEST("a manifest names version, call and host")
{
	make_host();
	json_t *manifest = tl_manifest_create(in_dir("host"));
	const json_t *host = json_object_get(manifest, "host"), *argv = json_object_get(manifest, "argv");

	CU_ASSERT_STRING_EQUAL(text_of(manifest, "version"), TL_VERSION);
	CU_ASSERT_EQUAL(json_array_size(argv), 5);
	CU_ASSERT_STRING_EQUAL(json_string_value(json_array_get(argv, 2)), "");
	CU_ASSERT_STRING_EQUAL(json_string_value(json_array_get(argv, 4)), "it's");
	CU_ASSERT_STRING_EQUAL(text_of(host, "kernel"), "Linux 6.1.0-18-amd64 #1 SMP");
	CU_ASSERT_STRING_EQUAL(text_of(host, "cpu_model"), "Some CPU @ 3.00GHz");
	CU_ASSERT_STRING_EQUAL(text_of(host, "microcode"), "0x2b");
	CU_ASSERT(json_is_true(json_object_get(host, "hypervisor")));
	CU_ASSERT_STRING_EQUAL(text_of(host, "cpus_online"), "0-3");
	CU_ASSERT_STRING_EQUAL(text_of(host, "cpus_allowed"), "0-1");
	CU_ASSERT_STRING_EQUAL(text_of(host, "cpus_isolated"), "2-3");
	CU_ASSERT_STRING_EQUAL(text_of(host, "governor"), "powersave");
	CU_ASSERT_STRING_EQUAL(text_of(host, "clocksource"), "tsc");
	CU_ASSERT_EQUAL(strncmp(text_of(host, "dpdk"), "DPDK ", 5), 0);
	json_decref(manifest);
}

TL_TEST("facts that cannot be read are null")
{
	put("bare/empty", "");
	json_t *manifest = tl_manifest_create(in_dir("bare"));
	const json_t *host = json_object_get(manifest, "host"), *value;
	const char *key;

	json_object_foreach ((json_t *)(uintptr_t)host, key, value)
		CU_ASSERT(json_is_null(value) || strcmp(key, "dpdk") == 0);
	CU_ASSERT_EQUAL(json_object_size(host), 12);
	CU_ASSERT(json_is_null(json_object_get(manifest, "match")));
	json_decref(manifest);
}

TL_TEST("inputs have their SHA-256, null without a regular file")
{
	json_t *manifest = tl_manifest_create("");
	const json_t *inputs = json_object_get(manifest, "inputs");

	put("abc", "abc"); // example of FIPS 180-4
	tl_manifest_add_input(manifest, in_dir("abc"));
	tl_manifest_add_input(manifest, in_dir("not-there"));
	tl_manifest_add_input(manifest, "/dev/null");
	CU_ASSERT_STRING_EQUAL(text_of(json_array_get(inputs, 0), "sha256"),
		"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(json_array_get(inputs, 0), "bytes")), 3);
	for (size_t i = 1; i < 3; i++) {
		CU_ASSERT(json_is_null(json_object_get(json_array_get(inputs, i), "sha256")));
		CU_ASSERT(json_is_null(json_object_get(json_array_get(inputs, i), "bytes")));
	}
	json_decref(manifest);
}

// Longer than the read buffer.
TL_TEST("the digest of a long file covers all of it")
{
	json_t *manifest = tl_manifest_create("");
	char *many = malloc(3000000);

	memset(many, 'a', 3000000);
	put_bytes("long", many, 3000000);
	free(many);
	tl_manifest_add_input(manifest, in_dir("long"));
	CU_ASSERT_STRING_EQUAL(text_of(json_array_get(json_object_get(manifest, "inputs"), 0), "sha256"),
		"2a152c894398719c0570f83fac34ac03a0f6e8e474b995c2403aa5434f7b9dd4");
	json_decref(manifest);
}

TL_TEST("regular CSV and percentile files have a manifest beside them")
{
	json_t *manifest = tl_manifest_create("");
	char csv[256], fifo[256], beside[512];
	struct tl_err err;
	struct stat status;

	put("pairs.csv", "abc");
	snprintf(csv, sizeof(csv), "%s", in_dir("pairs.csv"));
	snprintf(fifo, sizeof(fifo), "%s", in_dir("fifo"));
	CU_ASSERT_EQUAL(mkfifo(fifo, 0600), 0);
	snprintf(beside, sizeof(beside), "%s.manifest.json", csv);
	struct tl_latency_files files = {.csv = csv, .hgrm = fifo, .html = in_dir("abc")};
	CU_ASSERT_EQUAL(tl_manifest_save_beside(manifest, &files, &err), 0);
	json_t *json = json_load_file(beside, 0, NULL);
	CU_ASSERT_STRING_EQUAL(text_of(json, "schema"), TL_SCHEMA_MANIFEST);
	CU_ASSERT(json_equal(json_object_get(json, "manifest"), manifest));
	CU_ASSERT_EQUAL(strncmp(text_of(json_object_get(json, "file"), "sha256"), "ba7816bf", 8), 0);
	CU_ASSERT(stat(beside, &status) == 0 && (status.st_mode & 0777) == 0640);
	CU_ASSERT_NOT_EQUAL(access(in_dir("fifo.manifest.json"), F_OK), 0);
	CU_ASSERT_NOT_EQUAL(access(in_dir("abc.manifest.json"), F_OK), 0);
	json_decref(json);
	unlink(beside);
	mkdir(beside, 0755);
	CU_ASSERT(tl_manifest_save_beside(manifest, &files, &err) < 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "pairs.csv.manifest.json: cannot be written"));
	json_decref(manifest);
}

TL_TEST("the text quotes the call for a shell")
{
	static const char *const parts[] = {"tapline latency '' 'two words' 'it'\\''s'\n",
		"isolated 2-3, tickless none", "Some CPU @ 3.00GHz (virtual)", "0x00000000deadbeef of client", "input ",
		"method payload; window_ns 5\n"};
	json_t *manifest = tl_manifest_create(in_dir("host"));
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	tl_manifest_add_seed(manifest, "client", 0xdeadbeef);
	tl_manifest_add_input(manifest, in_dir("abc"));
	tl_manifest_set_match(
		manifest, json_pack("{s:s, s:n, s:i}", "method", "payload", "reply_bytes", "window_ns", 5));
	CU_ASSERT_EQUAL(tl_manifest_print(manifest, out), 0);
	fclose(out);
	for (size_t i = 0; i < TL_ARRAY_LEN(parts); i++)
		CU_ASSERT_PTR_NOT_NULL(strstr(text, parts[i]));
	free(text);
	json_decref(manifest);
}

TL_TEST("clocks are taken from the report")
{
	json_t *manifest = tl_manifest_create("");
	struct tl_latency *report = tl_latency_create();

	tl_latency_set_sources(report, "nic-rx", 8, "kernel", TL_LATENCY_UNBOUNDED);
	tl_latency_set_clocks(report, 7, "NIC", 0, "");
	strcpy(report->clocks_shown, "two");
	tl_manifest_set_clocks(manifest, report);
	const json_t *clocks = json_object_get(manifest, "clocks");
	const json_t *triggers = json_object_get(clocks, "triggers"), *replies = json_object_get(clocks, "replies");
	CU_ASSERT_STRING_EQUAL(text_of(clocks, "shown"), "two");
	CU_ASSERT_STRING_EQUAL(text_of(triggers, "bound_clock"), "NIC");
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(triggers, "unit_ns")), 7);
	CU_ASSERT(json_is_null(json_object_get(replies, "bound_ns")));
	CU_ASSERT(json_is_null(json_object_get(replies, "unit_ns")));
	tl_latency_destroy(report);
	json_decref(manifest);
}

int main(void)
{
	char remove[sizeof(dir) + 16];

	if (mkdtemp(dir) == NULL)
		return 1;
	int status = tl_test_run("manifest");
	snprintf(remove, sizeof(remove), "rm -rf %s", dir);
	return system(remove) == 0 ? status : 1;
}
