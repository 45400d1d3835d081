// SPDX-License-Identifier: BSD-3-Clause
// Remedies by errno, of commands that read files and write results. Those of a recording are in writer_error.c.

#include <tl_remedy.h>

#include <errno.h>

const char *tl_remedy(int code)
{
	static const struct {
		int code;
		const char *text;
	} table[] = {
		{ENOENT, "; correct the path"},
		{ENOTDIR, "; correct the path"},
		{EISDIR, "; name a file in it"},
		{ELOOP, "; name the target of the link"},
		{EACCES, "; change its permissions, or be a user who may"},
		{EPERM, "; change its permissions, or be a user who may"},
		{EROFS, "; name another place"},
		{ENOSPC, "; free some space"},
		{EDQUOT, "; raise the quota"},
		{EFBIG, "; raise the file size limit (ulimit -f)"},
		{EIO, "; look for disk errors in the kernel log (dmesg)"},
		{EMFILE, "; raise the limit of open files (ulimit -n)"},
		{ENOMEM, "; leave it more memory"},
		{EPIPE, "; its reader has to read to the end"},
	};

	for (size_t i = 0; i < TL_ARRAY_LEN(table); i++)
		if (table[i].code == -code)
			return table[i].text;
	return "";
}
