"""Limits on a candidate's process, enforced by the system.

The process may compute and read Python's files. Linux uses Landlock (files), seccomp (processes, signals, sockets, other
processes' memory), no capabilities, and resource limits. Other systems use resource limits only, if any. The process
cannot lift any limit until it ends.
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import struct
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

SET_PDEATHSIG, SET_NO_NEW_PRIVS, SET_SECCOMP, SECCOMP_FILTER = 1, 38, 22, 2
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # Landlock's calls have these numbers on every architecture
EXECUTE, WRITE, READ, READ_FOLDER, TRUNCATE = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 14
FILE_RIGHTS = EXECUTE | WRITE | READ | TRUNCATE
ALL_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1}
"""Of files and folders, by version of Landlock; 5 adds control of devices."""

DENIED = {
    "x86_64": (0xC000003E, (29, 41, 42, 49, 53, 56, 57, 58, 59, 62, 101, 129, 165, 200, 234, 240, 248, 250, 272, 297, 298, 302,
                            308, 310, 311, 312, 321, 322, 323, 424, 425, 434, 435, 438)),
    "aarch64": (0xC00000B7, (40, 97, 117, 129, 130, 131, 138, 180, 194, 198, 199, 200, 203, 217, 219, 220, 221, 240, 241, 261,
                             268, 270, 271, 272, 280, 281, 282, 424, 425, 434, 435, 438)),
}  # fmt: skip
"""By architecture: its name for the kernel, and the numbers of: fork, vfork, clone, clone3, execve, execveat; kill, tkill,
tgkill, rt_sigqueueinfo, rt_tgsigqueueinfo, pidfd_open, pidfd_send_signal, pidfd_getfd; ptrace, process_vm_readv,
process_vm_writev, kcmp, perf_event_open, bpf, userfaultfd, io_uring_setup; socket, socketpair, connect, bind; shmget,
mq_open, add_key, keyctl; mount, unshare, setns, prlimit64."""


def confine(folder: Path, readable: Sequence[Path], seconds: int, memory: int, file_bytes: int) -> list[str]:
    """Confine this process for good. Return the limits not enforced.

    folder      the only writable folder
    readable    readable folders, including Python's
    seconds     processor time before the process is killed; `memory` bytes of addresses; `file_bytes` of each file it writes

    Return an empty list on a recent Linux.
    """
    missing = _limits(seconds, memory, file_bytes)
    if sys.platform != "linux":
        return [*missing, "files, processes and sockets: this system has neither Landlock nor seccomp"]
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if libc.prctl(SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        missing.append("privileges: no_new_privs is refused")
    if not _read_only(libc, folder, readable):
        missing.append("files: this kernel has no Landlock")
    header = ctypes.create_string_buffer(struct.pack("=Ii", 0x20080522, 0))
    libc.capset(header, ctypes.create_string_buffer(24))  # a root process drops all capabilities
    if not _filter_calls(libc):
        missing.append("processes and sockets: this kernel has no seccomp")
    return missing


def _limits(seconds: int, memory: int, file_bytes: int) -> list[str]:
    try:
        import resource
    except ImportError:
        return ["time, memory and files: this system has no limits of resources"]
    missing = []
    limits = {"RLIMIT_CPU": seconds, "RLIMIT_AS": memory, "RLIMIT_FSIZE": file_bytes, "RLIMIT_CORE": 0}
    for name, limit in limits.items():
        try:
            resource.setrlimit(getattr(resource, name), (limit, limit))
        except (AttributeError, ValueError, OSError):
            missing.append(f"{name}: the system does not take it")
    return missing


def _read_only(libc: ctypes.CDLL, folder: Path, readable: Sequence[Path]) -> bool:
    """Allow only readable files and `folder` (Landlock). False without Landlock."""
    version = libc.syscall(CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    if version < 1:
        return False
    rights = ALL_RIGHTS[min(version, 3)]
    rules = [(path, EXECUTE | READ | READ_FOLDER) for path in readable] + [(folder, rights), (Path(os.devnull), READ | WRITE)]
    handled = ctypes.create_string_buffer(struct.pack("=Q", rights))
    ruleset = libc.syscall(CREATE_RULESET, handled, ctypes.c_size_t(8), ctypes.c_uint32(0))
    if ruleset < 0:
        return False
    for path, allowed in rules:
        with suppress(OSError):  # a folder that is not there
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
            allowed &= rights if path.is_dir() else FILE_RIGHTS & rights
            rule = ctypes.create_string_buffer(struct.pack("=Qi", allowed, place))
            libc.syscall(ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(1), rule, ctypes.c_uint32(0))
            os.close(place)
    restricted = libc.syscall(RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0)) == 0
    os.close(ruleset)
    return restricted


LOAD, EQUAL, AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06  # instructions of BPF
ALLOW, KILL, NOT_PERMITTED = 0x7FFF0000, 0x80000000, 0x00050001
OTHER_ABI = 0x40000000  # x32's calls begin here


def _filter_calls(libc: ctypes.CDLL) -> bool:
    """Deny calls with EPERM. False without seccomp or known architecture."""
    if platform.machine() not in DENIED:
        return False
    architecture, calls = DENIED[platform.machine()]
    last = len(calls) + 1  # instructions from the first comparison to the one that refuses
    program = [
        (LOAD, 0, 0, 4),
        (EQUAL, 1, 0, architecture),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, 0),
        (AT_LEAST, last, 0, OTHER_ABI),
    ]
    program += [(EQUAL, last - 1 - n, 0, call) for n, call in enumerate(calls)]
    program += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, NOT_PERMITTED)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *line) for line in program))
    filters = ctypes.create_string_buffer(struct.pack("@HP", len(program), ctypes.addressof(code)))
    return bool(libc.prctl(SET_SECCOMP, SECCOMP_FILTER, filters, 0, 0) == 0)
