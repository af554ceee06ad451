"""The few calls of Linux that Python has no function for."""

from __future__ import annotations

import contextlib
import ctypes
import os
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36

_MADV_HUGEPAGE = 14
_MADV_COLLAPSE = 25
_HUGE_PAGE = 2 << 20
_AT_ONCE = 1 << 16

# When memory runs out, what runs user code goes before the fork server, with which all of it would go.
_KILLED_FIRST = b"500"

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


def be_killed_first() -> None:
    """Has the kernel end this process before others when memory runs out."""
    with contextlib.suppress(OSError):
        file = os.open("/proc/self/oom_score_adj", os.O_WRONLY | os.O_CLOEXEC)
        os.write(file, _KILLED_FIRST)
        os.close(file)


def gather_memory() -> None:
    """Has the kernel put our memory into huge pages, of which a fork has hundreds of times less to copy.

    Old kernels, and machines that are set up so, have none: then all is as it was.
    """
    for start, end, name in private_memory():
        if name not in ("", "[heap]"):
            continue
        start = -(-start // _HUGE_PAGE) * _HUGE_PAGE
        end = end // _HUGE_PAGE * _HUGE_PAGE
        if start < end and _madvise(start, end - start, _MADV_HUGEPAGE):
            for piece in range(start, end, _HUGE_PAGE):
                _madvise(piece, _HUGE_PAGE, _MADV_COLLAPSE)


def _madvise(address: int, length: int, advice: int) -> bool:
    return _libc.madvise(ctypes.c_void_p(address), ctypes.c_size_t(length), advice) == 0


def private_memory() -> list[tuple[int, int, str]]:
    """What this process can write to and shares with no other: start, end and name."""
    found = []
    for line in Path("/proc/self/maps").read_text().splitlines():
        addresses, access, _, _, _, *name = line.split(maxsplit=5)
        if access == "rw-p":
            start, end = (int(address, 16) for address in addresses.split("-"))
            found.append((start, end, "".join(name)))
    return found


def write_to_itself(pieces: ctypes.Array, number: int) -> None:
    """Writes to pieces of our own memory what they hold; as far as that is allowed."""
    _libc.process_vm_writev(os.getpid(), pieces, number, pieces, number, 0)


def children() -> list[int]:
    """The processes whose parent is this one (of a single thread), ended or not."""
    pid = os.getpid()
    try:
        listing = read_at_once(f"/proc/self/task/{pid}/children")
    except FileNotFoundError:
        return [child for child in _processes() if _parent(child) == pid]
    return [int(child) for child in listing.split()]


def descendants(ancestor: int) -> set[int]:
    """The processes that this one has started, and those that these have."""
    parents = {pid: _parent(pid) for pid in _processes()}
    found = {ancestor}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {ancestor}


def is_descendant(pid: int, ancestor: int) -> bool:
    while pid and pid != ancestor:
        pid = _parent(pid) or 0
    return pid == ancestor


def read_at_once(path: str) -> bytes:
    """A file of the kernel. What is not used on the way costs a fork server no copy of a page."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        parts = []
        while part := os.read(file, _AT_ONCE):
            parts.append(part)
        return b"".join(parts)
    finally:
        os.close(file)


def _processes() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _parent(pid: int) -> int | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    # The name, in parentheses, may have anything in it.
    return int(stat.rpartition(b")")[2].split()[1])
