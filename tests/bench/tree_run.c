// SPDX-License-Identifier: BSD-3-Clause
// Run a class tree on a simulated clock. Reads a line "PARENT RATE CEIL PRIO QUANTUM BURST FRAME DEMAND" per class,
// parents first, rates in bit/s, demand 0 for a class with children and UINT64_MAX for a leaf that always has frames;
// prints the bytes that each class sent in SECONDS after the first one.

#include <inttypes.h>
#include <stdlib.h>

#include <tl_test_classes.h>

static bool read_class(struct test_tree *t)
{
	struct tl_tree_class c = {.limit_pkts = 1000};
	uint32_t parent, bytes;
	uint64_t demand;

	if (scanf("%" SCNu32 " %" SCNu64 " %" SCNu64 " %" SCNu32 " %" SCNu32 " %" SCNu64 " %" SCNu32 " %" SCNu64,
		    &parent, &c.rate, &c.ceil, &c.prio, &c.quantum, &c.burst, &bytes, &demand) != 8)
		return false;
	c.cburst = c.burst;
	uint32_t i = test_add(t, parent, c);
	t->loads[i].bytes = bytes;
	if (demand == UINT64_MAX)
		t->loads[i].depth = 50;
	else if (demand != 0)
		t->loads[i].gap_ns = bytes * UINT64_C(8000000000) / demand;
	return true;
}

int main(int argc, char **argv)
{
	static struct test_tree t;
	uint64_t before[TEST_CLASSES], seconds = argc == 2 ? strtoull(argv[1], NULL, 10) : 0;

	if (seconds == 0) {
		fprintf(stderr, "usage: bench_tree_run SECONDS <CLASSES\n");
		return 2;
	}
	while (t.n < TEST_CLASSES && read_class(&t))
		;
	if (!test_create(&t, TEST_MTU, 1 << 16))
		return 2;
	test_begin_loads(&t);
	test_run(&t, TL_NS_PER_S);
	memcpy(before, t.sent_bytes, sizeof(before));
	test_run(&t, (seconds + 1) * TL_NS_PER_S);
	for (uint32_t i = 0; i < t.n; i++)
		printf("%" PRIu64 "\n", t.sent_bytes[i] - before[i]);
	tl_tree_destroy(t.tree);
	return 0;
}
