"""Runs a task: Airflow's own task runner, in a process that has already imported it."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import signal
import socket
from pathlib import Path

from airflow.sdk.execution_time import comms, task_runner

from ferroflow_bridge import child, native_crash

# When memory runs out, a task goes before the fork server, with which all tasks would go.
_KILLED_FIRST = "500"


def main(requests: socket.socket) -> None:
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_KILLED_FIRST)
    native_crash.end_at_once()
    _tell_when_told_to_end()
    _be_ready_before_told(requests)
    task_runner.main()


def warm_up() -> None:
    """In the fork server: makes once what Airflow's task runner makes in every process."""
    # How messages are read depends on their classes alone; working that out takes longer than a short task.
    comms.TypeAdapter = task_runner.TypeAdapter = functools.cache(comms.TypeAdapter)
    comms.TypeAdapter(comms.ToTask)


def _be_ready_before_told(requests: socket.socket) -> None:
    """Has the task runner wait for what to run once all is set up, and before it logs.

    A process may be there before its task is. What the log says has the time of the task.
    """
    stats = task_runner.stats
    initialize = stats.initialize

    @functools.wraps(initialize)
    def initialize_and_wait(*args, **kwargs):
        stats.initialize = initialize
        initialize(*args, **kwargs)
        requests.recv(1, socket.MSG_PEEK)

    stats.initialize = initialize_and_wait


def _tell_when_told_to_end() -> None:
    """Lets ferroflow know when `on_kill` has returned: a process that is to end has no more to do then."""
    register = signal.signal

    @functools.wraps(register)
    def registering(signalnum, handler):
        if signalnum == signal.SIGTERM and getattr(handler, "__module__", None) == task_runner.__name__:
            handler = _then_tell(handler, os.getpid())
        return register(signalnum, handler)

    signal.signal = registering


def _then_tell(handler, pid):
    @functools.wraps(handler)
    def handle(*args):
        try:
            handler(*args)
        finally:
            if os.getpid() == pid:
                child.log_line(json.dumps({"ferroflow": "on_kill has returned"}))

    return handle
