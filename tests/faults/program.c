// SPDX-License-Identifier: BSD-3-Clause
// Find the address range of the program's text.

#include "seam.h"

#include <link.h>

static struct {
	uintptr_t base, begin, end;
} text;

bool seam_is_ours(const void *site, uintptr_t *out_offset)
{
	*out_offset = (uintptr_t)site - text.base;
	return (uintptr_t)site >= text.begin && (uintptr_t)site < text.end;
}

static int find_program(struct dl_phdr_info *info, size_t size, void *unused)
{
	text.base = info->dlpi_addr;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) != 0) {
			text.begin = text.base + segment->p_vaddr;
			text.end = text.begin + segment->p_memsz;
		}
	}
	return 1; // the program is the first entry
}

__attribute__((constructor)) static void begin(void)
{
	dl_iterate_phdr(find_program, NULL);
}
