# SPDX-License-Identifier: BSD-3-Clause
"""The errnos of each call, from its manual. Errnos caused only by program errors are left out: EBADF, EFAULT, and EINVAL unless
the kind of file or the kernel causes it."""

import errno
import re

SHORT = 1000  # half of the request: seam.h
SKIPPED = 1001  # nothing done, success reported
KILLED = 1002  # the program is killed before the call

_PATH = "EACCES ELOOP ENOENT ENOMEM ENOTDIR EIO"
_SPACE = "ENOSPC EDQUOT EFBIG EIO EPERM"
_TABLE = {
    "open64": "ENOSPC EACCES EMFILE ENFILE EROFS EDQUOT ELOOP ENOENT ENOMEM ENOTDIR EPERM EINTR EINVAL EIO ETXTBSY EAGAIN EISDIR ENXIO ENODEV"
              " ENAMETOOLONG EOVERFLOW",
    "fopen64": "EMFILE EACCES ENOENT ENOMEM", "fdopen": "ENOMEM", "fdopendir": "ENOMEM ENOTDIR",
    "opendir": "EMFILE EACCES ENFILE ENOENT ENOMEM ENOTDIR", "readdir64": "EIO ENOENT", "scandir64": "ENOMEM ENOENT",
    "access": _PATH, "faccessat": _PATH, "stat64": _PATH, "lstat64": _PATH, "fstat64": "EIO ENOMEM ESTALE",
    "statx": "ENOMEM ENOSYS EIO", "fstatfs64": "EIO ENOMEM ENOSYS", "statvfs64": "EIO ENOMEM ENOSYS EACCES", "fstatvfs64": "EIO ENOMEM ENOSYS", "lseek64": "ESPIPE EOVERFLOW ENXIO",
    "fcntl64": "EINVAL EAGAIN EACCES ENOLCK EMFILE EPERM", "flock": "EWOULDBLOCK EINTR ENOLCK EOPNOTSUPP", "ioctl": "ENOTTY EIO EPERM",
    "readlink": _PATH, "readlinkat": _PATH, "realpath": _PATH, "mkdir": "EACCES EDQUOT EEXIST ENOSPC EROFS",
    "mkdtemp": "EACCES ENOSPC", "futimens": "EACCES EPERM EROFS", "posix_fadvise64": "ESPIPE", "fflush": "ENOSPC EPIPE EIO",
    "fread": "EIO", "fwrite": "ENOSPC EPIPE EIO", "mmap64": "ENOMEM EACCES EAGAIN ENODEV", "munmap": "ENOMEM",
    "madvise": "ENOMEM EAGAIN EINVAL",
    "socket": "EMFILE EACCES EAFNOSUPPORT ENFILE ENOBUFS ENOMEM", "bind": "EADDRINUSE EACCES ENOENT ENOTDIR EROFS ENOMEM",
    "listen": "EADDRINUSE EOPNOTSUPP", "connect": "ECONNREFUSED EACCES EAGAIN EINTR ENOENT ETIMEDOUT",
    "accept4": "EAGAIN ECONNABORTED EINTR EMFILE ENFILE ENOBUFS ENOMEM EPERM EPROTO", "getsockname": "ENOBUFS",
    "getsockopt": "ENOPROTOOPT", "setsockopt": "ENOPROTOOPT EDOM ENOMEM EPERM EINVAL",
    "recv": "EAGAIN ECONNRESET EINTR ENOMEM",
    "recvmsg": "EAGAIN ECONNREFUSED ECONNRESET EINTR ENOMEM", "send": "EAGAIN ECONNRESET EINTR ENOBUFS ENOMEM EPIPE",
    "sendto": "EAGAIN ENETDOWN EINTR ENOBUFS ENOMEM", "poll": "EINTR ENOMEM", "ppoll": "EINTR ENOMEM",
    "getifaddrs": "ENOMEM EMFILE", "if_nameindex": "ENOBUFS", "signalfd": "EMFILE ENFILE ENODEV ENOMEM", "sigaction": "", "sigprocmask": "", "pthread_create": "EAGAIN EPERM", "sched_getaffinity": "EINVAL EPERM",
    "sched_setaffinity": "EINVAL EPERM", "setpriority": "EACCES EPERM", "prctl": "EPERM EINVAL", "getrlimit64": "",
    "setrlimit64": "EPERM EINVAL", "getrandom": "EINTR EAGAIN ENOSYS", "uname": "", "syscall": "ENOSYS EPERM",
    "posix_spawnp": "ENOMEM EAGAIN", "waitpid": "ECHILD EINTR",
    "io_uring_queue_init": "ENOSYS EMFILE ENFILE ENOMEM EPERM", "io_uring_register_buffers": "ENOMEM EOPNOTSUPP",
    "io_uring_submit": "EAGAIN EBUSY EINTR", "io_uring_submit_and_wait": "EAGAIN EBUSY EINTR",
    "uring_write": _SPACE + " EAGAIN EINTR EINVAL ENOMEM SHORT", "pwrite64": _SPACE + " EINTR EINVAL EAGAIN SHORT",
    "write": "ENOSPC EDQUOT EFBIG EIO EINTR EPIPE SHORT", "pread64": "EIO EINTR SHORT EISDIR ENXIO", "read": "EIO EINTR SHORT EISDIR",
    "ftruncate64": "EIO EFBIG EINTR EPERM EROFS", "fallocate64": "ENOSPC EFBIG EINTR EIO ENODEV EOPNOTSUPP EPERM EDQUOT",
    "fsync": "EIO ENOSPC EDQUOT EROFS EINVAL EINTR", "fdatasync": "EIO ENOSPC EDQUOT EROFS EINVAL EINTR",
    "close": "EIO EINTR ENOSPC EDQUOT",
    "renameat2": "EACCES EBUSY EDQUOT EEXIST EINVAL EIO ELOOP EMLINK ENOENT ENOMEM ENOSPC ENOTDIR EPERM EROFS EISDIR",
    "linkat": "EACCES EDQUOT EEXIST EIO ELOOP EMLINK ENOENT ENOMEM ENOSPC ENOTDIR EPERM EROFS",
    "rename": "EACCES EBUSY EDQUOT EIO ENOENT ENOMEM ENOSPC EPERM EROFS EISDIR",
    "unlink": "EACCES EBUSY EIO ENOENT ENOMEM EPERM EROFS EISDIR", "remove": "EACCES EBUSY EIO ENOENT EPERM EROFS EISDIR",
    "rte_eal_init": "ENODEV EACCES EAGAIN ENOMEM", "rte_eal_hotplug_add": "ENODEV ENOMEM", "rte_eal_remote_launch": "EBUSY",
    "rte_eth_dev_get_port_by_name": "ENODEV", "rte_eth_dev_info_get": "ENODEV ENOTSUP", "rte_eth_dev_start": "EIO EAGAIN",
    "rte_eth_stats_get": "ENODEV ENOTSUP", "rte_eth_macaddr_get": "ENODEV", "rte_eth_promiscuous_enable": "ENOTSUP EIO",
}
# These faults are not tried; docs/faults.md has the reasons.
_EXCUSED_PLACES = {  # with the errnos; none: all
    ("tl_writer_is_unshared()", "fcntl64"): "",
    ("tl_recover_open()", "open64"): "ENOENT",
    ("tl_writer_sync_directory()", "fsync"): "EINVAL",
    ("sync_directory()", "fsync"): "EINVAL",
    ("is_capture()", "open64"): "ENOENT ELOOP ENXIO",
    ("open_regular()", "open64"): "ENOENT ELOOP EISDIR ENXIO",
    ("tl_writer_remove()", "unlink"): "ENOENT",
    ("begins_as_capture()", "read"): "SHORT",
    ("is_being_written()", "flock"): "EWOULDBLOCK",
    ("verify_file()", "open64"): "ENOENT",
    ("has_sidecar()", "access"): "ENOENT",
    ("extract_input_open()", "open64"): "ENOENT",
    ("extract_input_data_from()", "lseek64"): "ENXIO",
    ("extract_input_is_written()", "flock"): "EWOULDBLOCK",
    ("tl_zslab_unpack()", "ZSTD_decompressDCtx"): "",
}
_MANY = (r"json/json\.c:\d+ allocate\(\)", 16)  # the missing part of a report depends on the failed allocation
_CHANGING = set("open64 linkat flock ftruncate64 fallocate64 fcntl64 statx fstat64 pwrite64 write uring_write io_uring_submit fsync fdatasync"
                " close renameat2 rename unlink".split())
TWICE = {"EINTR", "SHORT", "EAGAIN", "EEXIST"}  # never for ever: a kernel returns these occasionally


def errnos_of(call):
    """Return the names of the errnos of a call, the likeliest first; ENOMEM for an allocation."""
    return _TABLE.get(_plain(call), "ENOMEM").split()


def _plain(call):
    """Return the plain name of a call; hardened builds use other names."""
    return call.lstrip("_").removesuffix("_chk").removesuffix("_2")


def kills(call):
    """Tell whether the state of the files changes near a call, so that a kill there leaves another one."""
    return _plain(call) in _CHANGING


def tries_of(place):
    """Return the number of random calls of a place that fail individually."""
    return _MANY[1] if re.fullmatch(_MANY[0], place) else 1


def code_of(name):
    return {"SHORT": SHORT, "KILLED": KILLED}.get(name) or getattr(errno, name)


def is_excused(place, call, errno=""):
    return any(place.endswith(end) and _plain(call) == excused and (not codes or errno in codes.split())
               for (end, excused), codes in _EXCUSED_PLACES.items())
