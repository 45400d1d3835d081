// SPDX-License-Identifier: BSD-3-Clause
// Stubs for calls that are only counted, and fail or continue: arguments are passed on unchanged. x86-64.

#include "seam.h"

#include <errno.h>
#include <string.h>

struct seam_verdict seam_decide(struct seam_call *call, const void *site);

static void set_rte_errno(int code)
{
	int *place = seam_next("per_lcore__rte_errno"); // of this thread

	if (place != NULL)
		*place = code;
}

__attribute__((visibility("hidden"))) struct seam_verdict seam_decide(struct seam_call *call, const void *site)
{
	int code = seam_count(call->name, site, -1);

	if (call->next == NULL)
		call->next = seam_next(call->name);
	if (code == 0)
		return (struct seam_verdict){.fails = false};
	errno = code; // also set if the return value has the code
	if (strncmp(call->name, "rte_", 4) == 0)
		set_rte_errno(code);
	static const long values[] = {[SEAM_MINUS_ONE] = -1, [SEAM_NULL] = 0};
	long value = call->way == SEAM_CODE ? code : call->way == SEAM_MINUS_CODE ? -code : values[call->way];
	return (struct seam_verdict){.fails = true, .value = value};
}

// Save the argument registers, call seam_decide(), and jump to the next definition or return. r11: the call.
__asm__(".text\n"
	"seam_stub:\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	sub $208, %rsp\n"
	"	mov %rdi, -8(%rbp)\n"
	"	mov %rsi, -16(%rbp)\n"
	"	mov %rdx, -24(%rbp)\n"
	"	mov %rcx, -32(%rbp)\n"
	"	mov %r8, -40(%rbp)\n"
	"	mov %r9, -48(%rbp)\n"
	"	mov %rax, -56(%rbp)\n"
	"	mov %r11, -64(%rbp)\n"
	"	movups %xmm0, -80(%rbp)\n"
	"	movups %xmm1, -96(%rbp)\n"
	"	movups %xmm2, -112(%rbp)\n"
	"	movups %xmm3, -128(%rbp)\n"
	"	movups %xmm4, -144(%rbp)\n"
	"	movups %xmm5, -160(%rbp)\n"
	"	movups %xmm6, -176(%rbp)\n"
	"	movups %xmm7, -192(%rbp)\n"
	"	mov %r11, %rdi\n"
	"	mov 8(%rbp), %rsi\n"
	"	call seam_decide\n"
	"	test %al, %al\n"
	"	jne 1f\n"
	"	mov -8(%rbp), %rdi\n"
	"	mov -16(%rbp), %rsi\n"
	"	mov -24(%rbp), %rdx\n"
	"	mov -32(%rbp), %rcx\n"
	"	mov -40(%rbp), %r8\n"
	"	mov -48(%rbp), %r9\n"
	"	mov -56(%rbp), %rax\n"
	"	mov -64(%rbp), %r11\n"
	"	movups -80(%rbp), %xmm0\n"
	"	movups -96(%rbp), %xmm1\n"
	"	movups -112(%rbp), %xmm2\n"
	"	movups -128(%rbp), %xmm3\n"
	"	movups -144(%rbp), %xmm4\n"
	"	movups -160(%rbp), %xmm5\n"
	"	movups -176(%rbp), %xmm6\n"
	"	movups -192(%rbp), %xmm7\n"
	"	leave\n"
	"	jmp *16(%r11)\n" // seam_call.next
	"1:	mov %rdx, %rax\n"
	"	leave\n"
	"	ret\n");
_Static_assert(offsetof(struct seam_call, next) == 16, "as the stub has it");

#define STUB(function, fails)                                                                                          \
	__attribute__((used, visibility("hidden"))) struct seam_call seam_call_##function = {                          \
		.name = #function, .way = (fails)};                                                                    \
	__asm__(".text\n"                                                                                              \
		".globl " #function "\n"                                                                               \
		".type " #function ", @function\n" #function ":\n"                                                     \
		"	endbr64\n"                                                                                           \
		"	lea seam_call_" #function "(%rip), %r11\n"                                                     \
		"	jmp seam_stub\n");

// Files and directories.
STUB(open64, SEAM_MINUS_ONE)
STUB(__open64_2, SEAM_MINUS_ONE) // name in hardened builds
STUB(fopen64, SEAM_NULL)
STUB(fdopen, SEAM_NULL)
STUB(fdopendir, SEAM_NULL)
STUB(opendir, SEAM_NULL)
STUB(readdir64, SEAM_NULL)
STUB(scandir64, SEAM_MINUS_ONE)
STUB(access, SEAM_MINUS_ONE)
STUB(faccessat, SEAM_MINUS_ONE)
STUB(stat64, SEAM_MINUS_ONE)
STUB(lstat64, SEAM_MINUS_ONE)
STUB(fstat64, SEAM_MINUS_ONE)
STUB(statx, SEAM_MINUS_ONE)
STUB(fstatfs64, SEAM_MINUS_ONE)
STUB(statvfs64, SEAM_MINUS_ONE)
STUB(fstatvfs64, SEAM_MINUS_ONE)
STUB(lseek64, SEAM_MINUS_ONE)
STUB(fcntl64, SEAM_MINUS_ONE)
STUB(flock, SEAM_MINUS_ONE)
STUB(ioctl, SEAM_MINUS_ONE)
STUB(readlink, SEAM_MINUS_ONE)
STUB(linkat, SEAM_MINUS_ONE)
STUB(readlinkat, SEAM_MINUS_ONE)
STUB(realpath, SEAM_NULL)
STUB(mkdir, SEAM_MINUS_ONE)
STUB(mkdtemp, SEAM_NULL)
STUB(futimens, SEAM_MINUS_ONE)
STUB(posix_fadvise64, SEAM_CODE)
STUB(fflush, SEAM_MINUS_ONE)
STUB(fread, SEAM_NULL)
STUB(__fread_chk, SEAM_NULL)
STUB(fwrite, SEAM_NULL)
STUB(mmap64, SEAM_MINUS_ONE)
STUB(munmap, SEAM_MINUS_ONE)
STUB(madvise, SEAM_MINUS_ONE)
// Sockets, signals, threads, host.
STUB(socket, SEAM_MINUS_ONE)
STUB(bind, SEAM_MINUS_ONE)
STUB(listen, SEAM_MINUS_ONE)
STUB(connect, SEAM_MINUS_ONE)
STUB(accept4, SEAM_MINUS_ONE)
STUB(getsockname, SEAM_MINUS_ONE)
STUB(getsockopt, SEAM_MINUS_ONE)
STUB(setsockopt, SEAM_MINUS_ONE)
STUB(recv, SEAM_MINUS_ONE)
STUB(__recv_chk, SEAM_MINUS_ONE)
STUB(recvmsg, SEAM_MINUS_ONE)
STUB(send, SEAM_MINUS_ONE)
STUB(sendto, SEAM_MINUS_ONE)
STUB(poll, SEAM_MINUS_ONE)
STUB(ppoll, SEAM_MINUS_ONE)
STUB(__ppoll_chk, SEAM_MINUS_ONE)
STUB(getifaddrs, SEAM_MINUS_ONE)
STUB(if_nameindex, SEAM_NULL)
STUB(signalfd, SEAM_MINUS_ONE)
STUB(sigaction, SEAM_MINUS_ONE)
STUB(sigprocmask, SEAM_MINUS_ONE)
STUB(pthread_create, SEAM_CODE)
STUB(sched_getaffinity, SEAM_MINUS_ONE)
STUB(sched_setaffinity, SEAM_MINUS_ONE)
STUB(setpriority, SEAM_MINUS_ONE)
STUB(prctl, SEAM_MINUS_ONE)
STUB(getrlimit64, SEAM_MINUS_ONE)
STUB(setrlimit64, SEAM_MINUS_ONE)
STUB(getrandom, SEAM_MINUS_ONE)
STUB(uname, SEAM_MINUS_ONE)
STUB(syscall, SEAM_MINUS_ONE)
STUB(posix_spawnp, SEAM_CODE)
STUB(waitpid, SEAM_MINUS_ONE)
// io_uring except submissions.
STUB(io_uring_queue_init, SEAM_MINUS_CODE)
STUB(io_uring_register_buffers, SEAM_MINUS_CODE)
// Libraries that allocate. jansson allocates through lib/base/json, whose malloc() fails.
STUB(json_loads, SEAM_NULL)
STUB(json_loadb, SEAM_NULL)
STUB(json_load_file, SEAM_NULL)
STUB(json_dumps, SEAM_NULL)
STUB(json_dumpf, SEAM_MINUS_ONE)
STUB(json_dump_file, SEAM_MINUS_ONE)
STUB(json_dump_callback, SEAM_MINUS_ONE)
STUB(ZSTD_createCCtx, SEAM_NULL)
STUB(ZSTD_createDCtx, SEAM_NULL)
STUB(ZSTD_compress2, SEAM_MINUS_CODE) // error code in the range of ZSTD_isError()
STUB(ZSTD_decompressDCtx, SEAM_MINUS_CODE)
STUB(pcap_open_dead, SEAM_NULL)
STUB(pcap_compile, SEAM_MINUS_ONE)
STUB(rte_bpf_convert, SEAM_NULL)
STUB(rte_bpf_load, SEAM_NULL)
STUB(rte_eal_init, SEAM_MINUS_ONE)
STUB(rte_eal_hotplug_add, SEAM_MINUS_CODE)
STUB(rte_eal_remote_launch, SEAM_MINUS_CODE)
STUB(rte_malloc_socket, SEAM_NULL)
STUB(rte_zmalloc, SEAM_NULL)
STUB(rte_zmalloc_socket, SEAM_NULL)
STUB(rte_memzone_reserve_aligned, SEAM_NULL)
STUB(rte_pktmbuf_pool_create, SEAM_NULL)
STUB(rte_mbuf_dyn_rx_timestamp_register, SEAM_MINUS_ONE)
STUB(rte_kvargs_parse, SEAM_NULL)
STUB(rte_eth_dev_get_port_by_name, SEAM_MINUS_CODE)
STUB(rte_eth_dev_info_get, SEAM_MINUS_CODE)
STUB(rte_eth_dev_configure, SEAM_MINUS_CODE)
STUB(rte_eth_dev_adjust_nb_rx_tx_desc, SEAM_MINUS_CODE)
STUB(rte_eth_rx_queue_setup, SEAM_MINUS_CODE)
STUB(rte_eth_tx_queue_setup, SEAM_MINUS_CODE)
STUB(rte_eth_dev_start, SEAM_MINUS_CODE)
STUB(rte_eth_stats_get, SEAM_MINUS_CODE)
STUB(rte_eth_macaddr_get, SEAM_MINUS_CODE)
STUB(rte_eth_promiscuous_enable, SEAM_MINUS_CODE)
