#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# check-hotpath.sh [BUILD_DIR]: check the rules of the hot path: the objects of *_dp.c call nothing that allocates, locks, logs or
# enters the kernel, and contain no division by a variable and no floating point. Exceptions, each with its reason:
# tools/hotpath-exceptions.txt.
set -euo pipefail
build=$(realpath "${1:-build}")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
exceptions=$here/hotpath-exceptions.txt

# Extended regular expressions of whole symbol names.
denied_symbols=(
	'(m|c|re)alloc|free|reallocarray|posix_memalign|aligned_alloc|memalign|strn?dup|v?asprintf|mmap|munmap|brk'
	'rte_(m|z|c|re)alloc(_socket)?|rte_free|rte_mempool_create.*|rte_pktmbuf_pool_create.*|rte_memzone_.*'
	'(v|f|d|s|sn|vf|vs|vsn)?printf|__.*printf_chk|f?put[cs]|putchar|puts|fwrite|fflush|perror|v?syslog'
	'rte_v?log|tl_(info|warn|error)|tl_fail|strerror(_r)?'
	'pthread_(mutex|rwlock|cond|spin|barrier|join|create).*|sem_.*|(mtx|cnd)_.*|rte_thread_.*'
	'p?p?(read|write)v?[0-9]*(64)?|__p?read(64)?_chk|open(at)?(64)?|close|ioctl|fcntl(64)?|fsync|fdatasync|lseek(64)?'
	'(send|recv)(to|from|msg|mmsg)?|[gs]etsockopt|socket|accept4?|connect|bind|listen'
	'p?poll|p?select|epoll_.*|io_uring_.*|eventfd.*|futex|syscall|kill|raise|signal.*'
	'(nano|u)?sleep|clock_nanosleep|sched_yield|rte_delay_.*|clock_gettime|gettimeofday|time|getrandom'
)
# Whole mnemonics, without AT&T's size suffix where one follows.
denied_instructions=(
	'i?div[bwlq]?'
	'f(add|sub|mul|div|ild|ist|ld|st|com|ucom|sqrt|chs|abs)[a-z0-9]*'
	'v?(add|sub|mul|div|sqrt|min|max|round)[sp][sd]'
	'v?u?comis[sd]'
	'v?cvtt?(si|ss|sd|ps|pd|dq|usi)[a-z0-9]*'
	'vfn?m(add|sub)[a-z0-9]*'
)

alternatives() {
	local IFS='|'
	echo "$*"
}

# findings OBJECT: print forbidden content, one finding per line.
findings() {
	nm -u -j "$1" | sed 's/@.*//' | grep -xE "$(alternatives "${denied_symbols[@]}")" | sed 's/^/calls /' || true
	objdump -d --no-show-raw-insn "$1" | awk -v denied="^($(alternatives "${denied_instructions[@]}"))\$" '
		/>:$/ { name = $2 }
		$2 ~ denied { print "has " $2 " in " name }' | tr -d '<>:' | sort | uniq
}

# A line of the exceptions: FILE FINDING # REASON
is_excepted() {
	sed -n 's/[[:space:]]*#.*//; /./p' "$exceptions" 2>/dev/null | grep -qxF "$1 $2"
}

# judge NAME OBJECT
judge() {
	local finding all=()
	while read -r finding; do
		[[ -z $finding ]] || is_excepted "$1" "$finding" || all+=("$finding")
	done < <(findings "$2")
	if ((${#all[@]} == 0)); then
		echo "ok - hot path: $1"
		return
	fi
	echo "not ok - hot path: $1"
	printf '#   %s\n' "${all[@]}"
	return 1
}

# Prove that the check can fail: break each rule once.
test_myself() {
	local dir status=0 finding
	dir=$(mktemp -d)
	cat >"$dir/bad.c" <<-'END'
		#include <stdio.h>
		#include <stdlib.h>
		#include <unistd.h>
		void *hot_alloc(void) { return malloc(1); }
		void hot_log(int n) { printf("%d\n", n); }
		long hot_call(int fd, void *to) { return read(fd, to, 1); }
		unsigned hot_divide(unsigned a, unsigned b) { return a / b; }
		double hot_double(double a, long b) { return a * b; }
	END
	"${CC:-cc}" -O2 -U_FORTIFY_SOURCE -c "$dir/bad.c" -o "$dir/bad.o"
	findings "$dir/bad.o" >"$dir/found"
	rm -f "$dir/bad.c"
	for finding in 'calls malloc' 'calls printf' 'calls read' 'has divl? in hot_divide' 'has mulsd in hot_double'; do
		grep -qxE "$finding" "$dir/found" || {
			echo "not ok - hot path: the check itself does not see: $finding"
			status=1
		}
	done
	rm -rf "$dir"
	((status)) || echo "ok - hot path: the check sees what it should refuse"
	return "$status"
}

main() {
	local status=0 object
	if [[ $(uname -m) != x86_64 ]]; then
		echo "skip - hot path: knows the instructions of x86_64 only, this is $(uname -m)"
		return
	fi
	test_myself || status=1
	while read -r object; do
		judge "$(basename "$object" .c.o)" "$object" || status=1
	done < <(find "$build/lib" -name '*_dp.c.o' | LC_ALL=C sort)
	return "$status"
}

main
