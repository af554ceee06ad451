"""The few calls of Linux that Python has no function for."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_NAME = 15
_PR_SET_CHILD_SUBREAPER = 36

_libc = ctypes.CDLL(None, use_errno=True)


def _prctl(option: int, argument) -> None:
    if _libc.prctl(option, argument, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"prctl({option}): {os.strerror(number)}")


def die_with_parent(signal_number: int) -> None:
    """Has the kernel send this signal when the parent ends, however it ends."""
    _prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(int(signal_number)))


def adopt_orphans() -> None:
    """Makes this process the parent of every descendant whose own parent ends."""
    _prctl(_PR_SET_CHILD_SUBREAPER, ctypes.c_ulong(1))


def name_process(name: str) -> None:
    """Sets the short name that `ps` and `top` show (15 characters)."""
    _prctl(_PR_SET_NAME, ctypes.c_char_p(name.encode()[:15]))


def children() -> list[int]:
    """The processes whose parent is this one (of a single thread), ended or not."""
    pid = os.getpid()
    try:
        listing = Path(f"/proc/self/task/{pid}/children").read_bytes()
    except FileNotFoundError:
        return [child for child in _processes() if _parent(child) == pid]
    return [int(child) for child in listing.split()]


def _processes() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _parent(pid: int) -> int | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    # The name, in parentheses, may have anything in it.
    return int(stat.rpartition(b")")[2].split()[1])
