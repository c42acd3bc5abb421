"""What the kernel refuses to the parser's process, whatever code runs in it.

`enclose` takes away the network, other programs, signals to other processes and every file but those named,
for good. Python's own guard can be walked around by machine code that a hostile file has taken over; this
fence cannot. It is made of what the kernel has: namespaces, a filter of system calls through which no socket
is to be had, and Landlock from Linux 5.13 on; what a kernel lacks is left open there, and `enclose` says
whether files are fenced. Nothing keeps the process from looking whether a file is there, or from changing the
rights of a file that its user owns.
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import sys
from collections.abc import Iterable
from stat import S_ISDIR

_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
_SET_PARENT_DEATH_SIGNAL, _SET_NO_NEW_PRIVILEGES = 1, 38
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on every processor
_ASK_VERSION, _BENEATH = 1, 1
_READ_FILE, _READ_FOLDER = 1 << 2, 1 << 3
_ACTS_ON_FILES = (0, 13, 14, 15, 15, 16)  # how many acts each version knows, the first being version 1
_ACTS_ON_NETWORK = 0b11  # from version 4: to bind and to connect
_SCOPES = 0b11  # from version 6: abstract sockets and signals
_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache")
_STORES = ("/nix/store", "/gnu/store", "/home/linuxbrew/.linuxbrew/Cellar")  # of other systems
_SET_FILTER, _OF_CALLS = 22, 2
_LOAD, _IS, _IS_AT_LEAST, _END = 0x20, 0x15, 0x35, 0x06
_ALLOWED, _REFUSED = 0x7FFF0000, 0x00050000 | errno.EACCES
_NO_SOCKETS = (  # a step, how many to pass over if it is so, and if not, and its number
    (_LOAD, 0, 0, 4),  # the processor, as the kernel sees this process
    (_IS, 1, 0, 0xC000003E),  # x86-64
    (_IS, 0, 6, 0xC00000B7),  # ARM, 64 bits
    (_LOAD, 0, 0, 0),  # the number of the call
    (_IS_AT_LEAST, 4, 0, 0x40000000),  # the calls of x86-64 once more, under other numbers
    (_IS, 3, 0, 41),  # socket, of x86-64; on ARM a call that is root's
    (_IS, 2, 0, 198),  # socket, of ARM; on x86-64 it takes a note off a file
    (_IS, 1, 0, 425),  # io_uring_setup: a way around all of these
    (_END, 0, 0, _ALLOWED),
    (_END, 0, 0, _REFUSED),
)


class _Rules(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scopes", ctypes.c_uint64))


class _Place(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("descriptor", ctypes.c_int32))


class _Step(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_uint16),
        ("if_so", ctypes.c_uint8),
        ("if_not", ctypes.c_uint8),
        ("number", ctypes.c_uint32),
    )


class _Filter(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint16), ("steps", ctypes.POINTER(_Step)))


def enclose(places: Iterable[str]) -> bool:
    """Only `places`, with all that lies in them, and the system's libraries can be read from now on."""
    if sys.platform != "linux":
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET)
    libc.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    libc.prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    _refuse_sockets(libc)
    version = libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _ASK_VERSION)
    return version > 0 and _fence(libc, version, (*places, *_LIBRARIES, *_STORES))


def _refuse_sockets(libc: ctypes.CDLL) -> None:
    """Namespaces and Landlock leave the sockets that are files, and not every machine allows either."""
    if os.uname().machine not in ("x86_64", "aarch64") or sys.maxsize < 2**32:
        return
    steps = (_Step * len(_NO_SOCKETS))(*(_Step(*step) for step in _NO_SOCKETS))
    libc.prctl(_SET_FILTER, _OF_CALLS, ctypes.byref(_Filter(len(steps), steps)), 0, 0)


def _fence(libc: ctypes.CDLL, version: int, places: Iterable[str]) -> bool:
    acts = (1 << _ACTS_ON_FILES[min(version, len(_ACTS_ON_FILES) - 1)]) - 1
    rules = _Rules(acts, _ACTS_ON_NETWORK if version >= 4 else 0, _SCOPES if version >= 6 else 0)
    size = 8 * (1 + (version >= 4) + (version >= 6))
    fence = libc.syscall(_CREATE_RULESET, ctypes.byref(rules), ctypes.c_size_t(size), 0)
    if fence < 0:
        return False
    try:
        for place in places:
            _allow(libc, fence, place)
        return bool(libc.syscall(_RESTRICT_SELF, fence, 0) == 0)
    finally:
        os.close(fence)


def _allow(libc: ctypes.CDLL, fence: int, place: str) -> None:
    try:
        descriptor = os.open(place, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # what is not there needs no leave
    try:
        folder = S_ISDIR(os.fstat(descriptor).st_mode)
        rule = _Place(_READ_FILE | (_READ_FOLDER if folder else 0), descriptor)
        libc.syscall(_ADD_RULE, fence, _BENEATH, ctypes.byref(rule), 0)
    finally:
        os.close(descriptor)
