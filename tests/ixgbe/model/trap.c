// SPDX-License-Identifier: BSD-3-Clause
// Turn each access of the driver to a register into a call of the model: the BAR is not accessible, so an access
// faults; the handler decodes the instruction, emulates it, and advances past it.
//
// An access costs 2 to 3 us. A thread that polls ordinary memory would be faster but incorrect: registers that clear on
// read, self-clearing bits and latches need every access.

#include "model.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void model_lock(void)
{
	pthread_mutex_lock(&lock);
}

void model_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

void model_lacks(const char *what, uint64_t value)
{
	char text[160];
	int n = snprintf(text, sizeof(text), "ixgbe model: lacks %s 0x%llx\n", what, (unsigned long long)value);

	(void)!write(STDERR_FILENO, text, (size_t)n);
	abort();
}

// ---- decoder: loads and stores of a register as emitted by compilers

enum operand { GENERAL, VECTOR, IMMEDIATE };

struct insn {
	unsigned length; // of the complete instruction
	unsigned bytes;	 // of the access
	bool store;
	enum operand operand;
	unsigned reg; // its number if it is GENERAL or VECTOR
	uint32_t immediate;
};

// Return the length of ModRM, SIB and displacement.
static unsigned modrm_bytes(const uint8_t *p)
{
	unsigned mod = p[0] >> 6, rm = p[0] & 7;
	unsigned n = rm == 4 ? 2 : 1;
	unsigned base = rm == 4 ? p[1] & 7 : rm;

	if (mod == 1)
		return n + 1;
	return mod == 2 || base == 5 ? n + 4 : n; // mod 0 with base 5: 32 bits and no base
}

static bool decode(const uint8_t *code, struct insn *out)
{
	const uint8_t *p = code;
	bool wide16 = false;
	uint8_t rex = 0;

	*out = (struct insn){.bytes = 4};
	for (; *p == 0x66; p++)
		wide16 = true;
	if ((*p & 0xF0) == 0x40)
		rex = *p++;
	if ((rex & 8) != 0)
		return false; // 64 bits
	uint8_t op = *p++;
	if (op == 0x0F) {
		op = *p++;
		if (wide16 && op == 0x6E) // movd xmm, m32
			out->operand = VECTOR;
		else if (wide16 && op == 0x7E) // movd m32, xmm
			*out = (struct insn){.bytes = 4, .operand = VECTOR, .store = true};
		else if (op == 0xB6 || op == 0xB7) // movzx
			out->bytes = op == 0xB6 ? 1 : 2;
		else
			return false;
	} else if (op == 0x89 || op == 0xC7) {
		out->store = true;
		out->operand = op == 0xC7 ? IMMEDIATE : GENERAL;
	} else if (op != 0x8B) {
		return false;
	}
	if (wide16 && out->operand != VECTOR)
		return false;
	out->reg = (unsigned)((*p >> 3) & 7) | (rex & 4u) << 1;
	p += modrm_bytes(p);
	if (out->operand == IMMEDIATE) {
		memcpy(&out->immediate, p, sizeof(out->immediate));
		p += sizeof(out->immediate);
	}
	out->length = (unsigned)(p - code);
	return true;
}

// ---- the handler

static greg_t *general(ucontext_t *context, unsigned reg)
{
	static const int names[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI, REG_R8,
		REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

	return &context->uc_mcontext.gregs[names[reg]];
}

// movd clears the rest of the register. XSAVE's header, after the 512 bytes of FXSAVE, selects the restored state.
static void put_vector(ucontext_t *context, unsigned reg, uint32_t value)
{
	struct _libc_fpstate *state = context->uc_mcontext.fpregs;
	uint64_t components;

	memset(&state->_xmm[reg], 0, sizeof(state->_xmm[reg]));
	state->_xmm[reg].element[0] = value;
	memcpy(&components, (uint8_t *)state + 512, sizeof(components));
	components |= 2;
	memcpy((uint8_t *)state + 512, &components, sizeof(components));
}

static void access_card(struct card *card, uint32_t offset, const struct insn *insn, ucontext_t *context)
{
	uint32_t shift = 8 * (offset & 3), mask = insn->bytes == 4 ? UINT32_MAX : (1u << 8 * insn->bytes) - 1;

	if (insn->store) {
		uint32_t value = insn->immediate;
		if (insn->operand == GENERAL)
			value = (uint32_t)*general(context, insn->reg);
		else if (insn->operand == VECTOR)
			value = context->uc_mcontext.fpregs->_xmm[insn->reg].element[0];
		card_write(card, offset, value);
		return;
	}
	uint32_t value = card_read(card, offset & ~3u) >> shift & mask;
	if (insn->operand == VECTOR)
		put_vector(context, insn->reg, value);
	else
		*general(context, insn->reg) = value;
}

static struct card *card_at(uintptr_t address)
{
	for (unsigned i = 0; i < n_cards; i++)
		if (cards[i].bar != NULL && address - (uintptr_t)cards[i].bar < BAR_BYTES)
			return &cards[i];
	return NULL;
}

static void on_fault(int number, siginfo_t *info, void *context)
{
	uintptr_t address = (uintptr_t)info->si_addr;
	greg_t *rip = &((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
	int saved = errno;
	struct insn insn;
	uint64_t code;

	struct card *card = card_at(address);
	if (card == NULL) { // a fault of the program: let the default action follow
		signal(number, SIG_DFL);
		return;
	}
	if (!decode((const uint8_t *)*rip, &insn)) {
		memcpy(&code, (const void *)*rip, sizeof(code));
		model_lacks("the instruction (little-endian)", code);
	}
	model_lock();
	access_card(card, (uint32_t)(address - (uintptr_t)card->bar), &insn, context);
	model_unlock();
	*rip += insn.length;
	errno = saved;
}

void trap_begin(void)
{
	struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};

	sigaction(SIGSEGV, &action, NULL);
}

// A thread that blocks SIGSEGV would be killed by its first access.
static int set_mask(int how, const sigset_t *wanted, sigset_t *before)
{
	sigset_t mask;

	if (wanted != NULL) {
		mask = *wanted;
		if (how != SIG_UNBLOCK)
			sigdelset(&mask, SIGSEGV);
		wanted = &mask;
	}
	return (int)syscall(SYS_rt_sigprocmask, how, wanted, before, 8);
}

int sigprocmask(int how, const sigset_t *restrict wanted, sigset_t *restrict before)
{
	return set_mask(how, wanted, before);
}

int pthread_sigmask(int how, const sigset_t *restrict wanted, sigset_t *restrict before)
{
	return set_mask(how, wanted, before) == 0 ? 0 : errno;
}
