"""Has a process that waits for a task copy, before it is told, the memory that a task is going to write to.

Python counts references where objects are, so to call a function is to write to memory all over. In a forked
process the kernel copies every page that is written to for the first time, which is a third of what a short
task takes. Which pages those are hardly depends on the task: a process that runs one of our own tells, and
every other copies them while it has nothing to do. Where that cannot be, they are copied when written to.
"""

from __future__ import annotations

import array
import ctypes
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

from ferroflow_bridge import system

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

_PAGE = os.sysconf("SC_PAGE_SIZE")
_PER_CALL = os.sysconf("SC_IOV_MAX")

# Of the kernel's `pagemap`.
_ENTRY = 8
_PRESENT = 1 << 63
_IN_NO_OTHER_PROCESS = 1 << 56


class _Piece(ctypes.Structure):
    """The system's `struct iovec`."""

    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


class HotPages:
    """The pages that one kind of work writes to, each as one of its bytes."""

    def __init__(self) -> None:
        self.calls: list[ctypes.Array] = []

    def learn(self, within: Callable[[], AbstractContextManager], work: Callable) -> None:
        """Finds them out, in a process that others are forked from: `work` is given what `within` makes.

        What is written to where nothing is done belongs to finding out, or is written to by every process.
        """
        addresses = sorted(_written_to(within, work) - _written_to(within, lambda _: None))
        for start in range(0, len(addresses), _PER_CALL):
            part = addresses[start : start + _PER_CALL]
            self.calls.append((_Piece * len(part))(*((address, 1) for address in part)))

    def copy(self) -> None:
        """In a process of a single thread: has them copied, by writing to each what is there."""
        for pieces in self.calls:
            system.write_to_itself(pieces, len(pieces))


# Of a task whose file is still to be imported, and of one whose file is.
OF_TASK = HotPages()
OF_IMPORTED_TASK = HotPages()

# What is to come in processes that are forked from this one.
to_come = OF_TASK


def _written_to(within: Callable[[], AbstractContextManager], work: Callable) -> set[int]:
    """The pages that a child of a child writes to: what the one between makes for it is there already."""
    read, write = os.pipe()
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        # Or it would not be noticed that there is no reader any more.
        os.close(read)
        _end_with(lambda: _have_told(within, work, write), parent)
    os.close(write)
    with os.fdopen(read, "rb") as told:
        addresses = array.array("Q", told.read())
    os.waitpid(pid, 0)
    return set(addresses)


def _have_told(within: Callable[[], AbstractContextManager], work: Callable, write: int) -> None:
    with within() as given:
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            _end_with(lambda: _tell(lambda: work(given), write), parent)
        os.waitpid(pid, 0)


def _tell(work: Callable[[], object], write: int) -> None:
    work()
    addresses = array.array("Q", _pages_of_its_own())
    with os.fdopen(write, "wb") as file:
        file.write(addresses.tobytes())


def _end_with(work: Callable[[], None], parent: int) -> None:
    """In a child: does this and nothing else, whatever becomes of it."""
    try:
        system.die_with_parent(signal.SIGKILL)
        if os.getppid() == parent:
            work()
    finally:
        os._exit(0)


def _pages_of_its_own() -> Iterator[int]:
    """The addresses of the pages that no other process has, and that can be written to."""
    with Path("/proc/self/pagemap").open("rb") as file:
        for start, end, _ in system.private_memory():
            file.seek(start // _PAGE * _ENTRY)
            entries = array.array("Q", file.read((end - start) // _PAGE * _ENTRY))
            for number, entry in enumerate(entries):
                if entry & _PRESENT and entry & _IN_NO_OTHER_PROCESS:
                    yield start + number * _PAGE
