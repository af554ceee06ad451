"""Runs a task: Airflow's own task runner, in a process that has already imported it."""

from __future__ import annotations

import functools
import json
import os
import signal
import socket

from airflow.sdk.execution_time import comms, task_runner

from ferroflow_bridge import child, hot_pages, native_crash, system, titles


def main(requests: socket.socket) -> None:
    prepare()
    run(requests)


def prepare() -> None:
    """Makes this the process of a task, or of several."""
    system.be_killed_first()
    native_crash.end_at_once()
    _tell_when_told_to_end()


def run(requests: socket.socket) -> None:
    """Runs the task that is asked for."""
    _be_ready_before_told(requests)
    _name_task()
    task_runner.main()


def warm_up() -> None:
    """In the fork server: makes once what Airflow's task runner makes in every process."""
    # How messages are read depends on their classes alone; working that out takes longer than a short task.
    comms.TypeAdapter = task_runner.TypeAdapter = functools.cache(comms.TypeAdapter)
    comms.TypeAdapter(comms.ToTask)
    _decoder.of_a_task = comms.CommsDecoder[comms.ToTask, comms.ToSupervisor]


class _Decoder:
    """`CommsDecoder` with its types given: to look them up takes going through all messages there are."""

    of_a_task = None

    def __getitem__(self, types):
        return self.of_a_task


_decoder = _Decoder()


def _be_ready_before_told(requests: socket.socket) -> None:
    """Has the task runner wait for what to run once all is set up, and before it logs.

    A process may be there before its task is. What the log says has the time of the task.
    """
    stats = task_runner.stats
    initialize, decoder = stats.initialize, task_runner.CommsDecoder

    @functools.wraps(initialize)
    def initialize_and_wait(*args, **kwargs):
        # User code, which is still to come, finds all as it is in Airflow.
        stats.initialize, task_runner.CommsDecoder = initialize, decoder
        initialize(*args, **kwargs)
        if not _is_told(requests):
            hot_pages.to_come.copy()
        requests.recv(1, socket.MSG_PEEK)

    stats.initialize = initialize_and_wait
    if _decoder.of_a_task is not None:
        task_runner.CommsDecoder = _decoder


def _name_task() -> None:
    """Has the title that Airflow gives the process, the id of the try, say what it is a try of."""
    startup = task_runner.startup

    @functools.wraps(startup)
    def start(msg):
        task_runner.startup = startup
        titles.add_to_next(_described(msg.ti))
        return startup(msg)

    task_runner.startup = start


def _described(ti) -> str:
    mapped = f" map_index={ti.map_index}" if ti.map_index is not None and ti.map_index >= 0 else ""
    return f"{ti.dag_id} {ti.task_id} {ti.run_id}{mapped} try_number={ti.try_number}"


def _is_told(requests: socket.socket) -> bool:
    try:
        return bool(requests.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT))
    except BlockingIOError:
        return False


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
