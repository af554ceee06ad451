"""Kills the processes that others have left to this one."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from typing import TYPE_CHECKING

from ferroflow_bridge import system

if TYPE_CHECKING:
    from collections.abc import Callable

# Of looks for what was started meanwhile.
_MOST_LOOKS = 100

# Killed processes take a moment to end, and may have started others in the meantime.
_SECONDS = 2.0


def kill(is_wanted: Callable[[int], bool], immortal: set[int]) -> set[int]:
    """Kills the unwanted children of this process, and theirs in turn, as they come to it.

    Those that do not die, or may not be killed, are told once and answered: they are not waited for again.
    """
    deadline = time.monotonic() + _SECONDS
    while True:
        others = {pid for pid in system.children() if not is_wanted(pid)}
        immortal = immortal & others
        strays = others - immortal
        if not strays:
            return immortal
        for pid in strays:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        for pid in strays:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        if time.monotonic() >= deadline:
            print(f"processes could not be killed: {sorted(strays)}", file=sys.stderr, flush=True)
            return immortal | strays
        time.sleep(0.001)


def kill_descendants(ancestor: int) -> None:
    """Kills all that a process has started, and what these have; waits for none of them."""
    killed: set[int] = set()
    for _ in range(_MOST_LOOKS):
        found = system.descendants(ancestor) - killed
        if not found:
            return
        for pid in found:
            with contextlib.suppress(OSError):
                _kill_descendant(ancestor, pid)
        killed |= found


def _kill_descendant(ancestor: int, pid: int) -> None:
    """Through a descriptor that is opened first, so that it is the descendant that is killed."""
    process = os.pidfd_open(pid)
    try:
        if system.is_descendant(pid, ancestor):
            signal.pidfd_send_signal(process, signal.SIGKILL)
    finally:
        os.close(process)
