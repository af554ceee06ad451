"""The processes of this machine, as /proc tells of them."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


def send(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def has_session(number: int) -> bool:
    return any(session == number for _, _, session in _live())


def descendants(without: frozenset[int] | set[int] = frozenset()) -> list[int]:
    """Every live process below this one, except those in or below `without`."""
    _reap()
    children = children_by_parent()
    found, queue = [], [os.getpid()]
    while queue:
        for pid in children.get(queue.pop(), ()):
            if pid not in without:
                found.append(pid)
                queue.append(pid)
    return found


def children_by_parent() -> dict[int, list[int]]:
    children: dict[int, list[int]] = {}
    for pid, parent, _ in _live():
        children.setdefault(parent, []).append(pid)
    return children


def _reap() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _live() -> Iterator[tuple[int, int, int]]:
    """The number, the parent and the session of every live process."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        # The name of a program, in parentheses, may hold anything: what follows it does not.
        with contextlib.suppress(OSError, ValueError):
            words = stat.read_text(errors="replace").rpartition(")")[2].split()
            state, parent, _, session = words[:4]
            if state not in "ZX":
                yield int(stat.parent.name), int(parent), int(session)
