"""What every forked child does before it comes to its own work."""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import os
import resource
import signal
import socket
import sys
import traceback
from typing import TYPE_CHECKING

from ferroflow_bridge import system, titles

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# The module of each kind of child; its `main` is given the channel.
ENTRIES = {
    "parse": "ferroflow_bridge.parse",
    "helper": "ferroflow_bridge.helper",
    "task": "ferroflow_bridge.task",
    "template": "ferroflow_bridge.template",
    "callback": "ferroflow_bridge.callback",
    "connection_test": "ferroflow_bridge.connection_test",
}

# What Airflow, too, runs in a process that may use the database.
WITH_DATABASE = {"helper"}

# Where structured logs go: the fork server's standard error, or the log channel of a child.
_log: io.FileIO | None = None

# The folders of the import path that were missing when children were last prepared for: plugins, say.
_missing: list[str] = []

# The standard streams that were replaced. If nothing held them, they would close the descriptors of the new.
_replaced: list[io.TextIOWrapper] = []


def configure_logs() -> None:
    """In the fork server: sets up the logs of children; of all that they need, this takes longest."""
    global _log
    from airflow.sdk.log import configure_logging, reset_logging

    _log = os.fdopen(os.dup(2), "wb", buffering=0)
    reset_logging()
    configure_logging(json_output=True, output=_log, sending_to_supervisor=True)


@contextlib.contextmanager
def silent_logs() -> Iterator[None]:
    """In the fork server: nothing is logged while this is entered."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, _log.fileno(), inheritable=False)
    os.close(nothing)
    try:
        yield
    finally:
        os.dup2(2, _log.fileno(), inheritable=False)


def be_forked() -> None:
    """In a process that children are forked from, when it has loaded all: makes their start cheap."""
    # To go through all of the cache in every child would copy most of it.
    _missing[:] = [path for path, finder in sys.path_importer_cache.items() if finder is None]
    gc.collect()
    gc.freeze()


def print_nowhere() -> None:
    """In a child that is not read from."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    for fd in (1, 2, _log.fileno()):
        os.dup2(nothing, fd, inheritable=fd <= 2)
    os.close(nothing)


def log_line(line: str) -> None:
    """In a child: writes a line to the log channel, whatever the loggers are doing."""
    os.write(_log.fileno(), line.encode() + b"\n")


def run(entry: str, fds: list[int], *, parent: int, memory: int | None) -> None:
    """Does all that the child is for; it ends here or in `_fork_main`, and never returns."""
    with _to_the_end():
        _prepare(fds, parent=parent, memory=memory)
        titles.waits(entry)
        _work(entry)


def run_several(fds: list[int], work: Callable[[], None], *, parent: int) -> None:
    """The same for a child that is attached to other streams in the course of its work."""
    from airflow.sdk.execution_time import supervisor

    with _to_the_end():
        _prepare(fds, parent=parent, memory=None)
        titles.waits("task")
        _look_again_for_folders()
        _replaced.extend((sys.stdin, sys.stdout, sys.stderr))
        standard_error, sys.__stderr__ = sys.__stderr__, _StandardError()

        def begin() -> None:
            sys.__stderr__ = standard_error
            work()

        supervisor._fork_main(*map(_Descriptor, (0, 1, 2)), 0, begin)


def attach(fds: list[int]) -> None:
    """Makes these the channel, standard output and error, and the log of this process."""
    for target, fd in zip((0, 1, 2, _log.fileno()), fds, strict=True):
        os.dup2(fd, target, inheritable=target <= 2)
        os.close(fd)


def detach() -> None:
    """Lets go of them."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    print_nowhere()
    os.dup2(1, 0)


@contextlib.contextmanager
def _to_the_end() -> Iterator[None]:
    try:
        yield
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(124)


class _Descriptor:
    """What `_fork_main` opens anew. Were it another number for the same, that would be held until the end."""

    def __init__(self, number: int):
        self.number = number

    def fileno(self) -> int:
        return self.number


class _StandardError(io.TextIOBase):
    """Whatever standard error is at the time. It has no number that `_fork_main` could hold a copy of."""

    def write(self, text: str) -> int:
        os.write(2, text.encode(errors="backslashreplace"))
        return len(text)


def _prepare(fds: list[int], *, parent: int, memory: int | None) -> None:
    # First of all, so that whatever is said, also by a failing interpreter, is the child's.
    attach(fds)
    os.setpgid(0, 0)
    system.die_with_parent(signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(124)
    # So that what it leaves behind comes to the fork server only once it has ended.
    system.adopt_orphans()
    if memory is not None:
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))


def _work(entry: str) -> None:
    from airflow.sdk.execution_time import supervisor

    if entry in WITH_DATABASE:
        supervisor.block_orm_access = lambda: None
    _look_again_for_folders()
    module = importlib.import_module(ENTRIES[entry])
    requests = socket.socket(fileno=os.dup(0))
    streams = [os.fdopen(os.dup(fd), "wb", buffering=0) for fd in (1, 2)]
    _replaced.extend((sys.stdin, sys.stdout, sys.stderr))
    # Zero: the logs are set up.
    supervisor._fork_main(requests, streams[0], streams[1], 0, lambda: module.main(requests))


def _look_again_for_folders() -> None:
    """Forgets which folders of the import path were missing: they may be there by now."""
    for path in _missing:
        sys.path_importer_cache.pop(path, None)
