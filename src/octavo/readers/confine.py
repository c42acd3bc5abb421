"""Confine the parser process with the kernel's own means, so that no code in it can get out.

`confine` takes away the network, other programs, signals to other processes and all files but those named,
for good. Machine code that a hostile file has taken over can get around Python's audit hook, but not around
this. It uses what the kernel offers: namespaces, a seccomp filter that refuses sockets, and Landlock from
Linux 5.13 on. What a kernel lacks is left out; `confine` returns whether files are restricted. The process
can still find out whether a file exists, and change the permissions of files that its user owns.
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import struct
import sys
from collections.abc import Iterable
from stat import S_ISDIR

_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38
# Landlock. Its system calls have the same numbers on every processor.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_GET_VERSION, _PATH_BENEATH = 1, 1
_RUN_FILE, _READ_FILE, _READ_FOLDER = 1, 1 << 2, 1 << 3
# How many rights on files each version of Landlock knows; the index is the version.
_FILE_RIGHTS = (0, 13, 14, 15, 15, 16)
# From version 4 on: bind and connect.
_NETWORK_RIGHTS = 0b11
# From version 6 on: abstract sockets and signals.
_SCOPES = 0b11
_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache")
_PACKAGE_STORES = ("/nix/store", "/gnu/store", "/home/linuxbrew/.linuxbrew/Cellar")
# The head of a program, and the kind of its part that names its loader.
_ELF_64, _LOADER = b"\x7fELF\x02", 3
_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 22, 2
_LOAD, _JUMP_IF_EQUAL, _JUMP_IF_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | errno.EACCES
# Each step: the instruction, how many steps to skip if it holds, and if not, and its operand.
_SOCKET_FILTER = (
    (_LOAD, 0, 0, 4),  # the processor architecture
    (_JUMP_IF_EQUAL, 1, 0, 0xC000003E),  # x86-64
    (_JUMP_IF_EQUAL, 0, 6, 0xC00000B7),  # 64-bit ARM
    (_LOAD, 0, 0, 0),  # the number of the system call
    (_JUMP_IF_AT_LEAST, 4, 0, 0x40000000),  # x32: the calls of x86-64 under other numbers
    (_JUMP_IF_EQUAL, 3, 0, 41),  # socket on x86-64; on ARM a call for root only
    (_JUMP_IF_EQUAL, 2, 0, 198),  # socket on ARM; lremovexattr on x86-64
    (_JUMP_IF_EQUAL, 1, 0, 425),  # io_uring_setup, which gets around the others
    (_RETURN, 0, 0, _ALLOW),
    (_RETURN, 0, 0, _REFUSE),
)


class _LandlockRules(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scopes", ctypes.c_uint64))


class _LandlockPath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("descriptor", ctypes.c_int32))


class _FilterStep(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_uint16),
        ("if_so", ctypes.c_uint8),
        ("if_not", ctypes.c_uint8),
        ("number", ctypes.c_uint32),
    )


class _FilterProgram(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint16), ("steps", ctypes.POINTER(_FilterStep)))


def confine(paths: Iterable[str], *, run: str = "") -> bool:
    """Let this process read only `paths`, what lies in them, and the system's libraries, from now on.

    It may become the program `run`, and no other.
    """
    if sys.platform != "linux":
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    _refuse_sockets(libc)
    version = libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _GET_VERSION)
    if version <= 0:
        return False
    return _restrict_files(libc, version, (*paths, *_LIBRARIES, *_PACKAGE_STORES), _list_run_files(run))


def _refuse_sockets(libc: ctypes.CDLL) -> None:
    """Refuse sockets by system call: namespaces and Landlock allow Unix sockets, and may be missing."""
    if os.uname().machine not in ("x86_64", "aarch64") or sys.maxsize < 2**32:
        return
    steps = (_FilterStep * len(_SOCKET_FILTER))(*(_FilterStep(*step) for step in _SOCKET_FILTER))
    libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(_FilterProgram(len(steps), steps)), 0, 0)


def _list_run_files(program: str) -> tuple[str, ...]:
    """Return a program and its loader, which the kernel runs first."""
    if not program:
        return ()
    with open(program, "rb") as file:
        head = file.read(4096)
        if head[:5] != _ELF_64:
            return (program,)
        (table,) = struct.unpack_from("=Q", head, 32)
        size, count = struct.unpack_from("=HH", head, 54)
        for place in range(table, min(table + size * count, len(head) - size), size):
            kind, offset, length = struct.unpack_from("=I4xQ16xQ", head, place)
            if kind == _LOADER:
                file.seek(offset)
                return program, os.fsdecode(file.read(length).rstrip(b"\0"))
    return (program,)


def _restrict_files(libc: ctypes.CDLL, version: int, paths: Iterable[str], run: Iterable[str]) -> bool:
    rights = (1 << _FILE_RIGHTS[min(version, len(_FILE_RIGHTS) - 1)]) - 1
    rules = _LandlockRules(rights, _NETWORK_RIGHTS if version >= 4 else 0, _SCOPES if version >= 6 else 0)
    size = 8 * (1 + (version >= 4) + (version >= 6))
    ruleset = libc.syscall(_CREATE_RULESET, ctypes.byref(rules), ctypes.c_size_t(size), 0)
    if ruleset < 0:
        return False
    try:
        for path in paths:
            _allow(libc, ruleset, path, _READ_FILE, _READ_FOLDER)
        for path in run:
            _allow(libc, ruleset, path, _READ_FILE | _RUN_FILE)
        return bool(libc.syscall(_RESTRICT_SELF, ruleset, 0) == 0)
    finally:
        os.close(ruleset)


def _allow(libc: ctypes.CDLL, ruleset: int, path: str, rights: int, in_folders: int = 0) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        # What does not exist needs no permission.
        return
    try:
        is_folder = S_ISDIR(os.fstat(descriptor).st_mode)
        rule = _LandlockPath(rights | (in_folders if is_folder else 0), descriptor)
        libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0)
    finally:
        os.close(descriptor)
