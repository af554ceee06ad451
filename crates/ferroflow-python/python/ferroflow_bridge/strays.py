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

# Killed processes take a moment to end, and may have started others in the meantime.
_SECONDS = 2.0


def kill(is_wanted: Callable[[int], bool], immortal: set[int]) -> set[int]:
    """Kills the children of this process that nobody wants, and theirs in turn, as they come to it.

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
