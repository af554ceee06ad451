"""Processes that cannot be killed.

A process that is traced stops when it is about to end: killed, it is there still, as one is that waits for
a file system which does not answer. It ends when the thread does that holds it.
"""

import ctypes
import os
import signal
import threading

_SEIZE = 0x4206
_STOP_AT_EXIT = 0x40


class Held:
    """Kills a process, which stays nevertheless until it is let go."""

    def __init__(self, pid: int) -> None:
        self.is_held = False
        self._let_go, self._held = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._hold, args=(pid,), daemon=True)
        self._thread.start()
        self._held.wait()

    def let_go(self) -> None:
        self._let_go.set()
        self._thread.join()

    def _hold(self, pid: int) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
        libc.ptrace.restype = ctypes.c_long
        self.is_held = libc.ptrace(_SEIZE, pid, None, _STOP_AT_EXIT) == 0
        if self.is_held:
            os.kill(pid, signal.SIGKILL)
        self._held.set()
        if self.is_held:
            self._let_go.wait()
