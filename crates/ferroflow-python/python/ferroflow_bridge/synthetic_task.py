"""Runs tasks of our own in the fork server, so that what a first run takes long for is there in every child.

That is not work of a task, but what Python and Airflow find out once and remember: how classes relate, how
messages and templates are read, which modules are needed on the way. Nothing of it leaves this process: no
plugin is loaded, there is no listener, no XCom is pushed, no metric sent, and the environment is as before.
"""

from __future__ import annotations

import contextlib
import contextvars
import os
import signal
from pathlib import Path

import structlog
from airflow.dag_processing.bundles.local import LocalDagBundle
from airflow.sdk import listener
from airflow.sdk.execution_time import comms, task_runner

# Of what tells how long a frame is, in bytes.
_LENGTH = 4

_DATE = "2024-01-01T00:00:00Z"
_DAG_RUN = {
    "dag_id": "ferroflow_warm_up",
    "run_id": "warm-up",
    "logical_date": _DATE,
    "data_interval_start": _DATE,
    "data_interval_end": _DATE,
    "run_after": _DATE,
    "start_date": _DATE,
    "end_date": None,
    "clear_number": 0,
    "run_type": "manual",
    "state": "running",
    "conf": {},
    "consumed_asset_events": [],
    "partition_key": None,
}


def run(file: Path, task_ids: list[str]) -> None:
    """Runs tasks of the DAG `ferroflow_warm_up` in this file."""
    environment = dict(os.environ)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGALRM)}
    try:
        run_and_leave(file, task_ids)
    finally:
        del task_runner.SUPERVISOR_COMMS
        os.environ.clear()
        os.environ.update(environment)
        for number, handler in handlers.items():
            signal.signal(number, handler)


def run_and_leave(file: Path, task_ids: list[str]) -> None:
    """The same, in a process that has nothing else to do: traces are left in it."""
    task_runner.SUPERVISOR_COMMS = _Nobody()
    with _in_bundle(file.parent), _without_listeners(), _without_metrics():
        for task_id in task_ids:
            contextvars.copy_context().run(_run_task, file, task_id)


def import_for_all(file: Path) -> None:
    """Imports this file as a template does. There is no way back."""
    from ferroflow_bridge import template

    with _in_bundle(file.parent):
        template.import_file({"bundle": "warm-up", "version": None, "file": file.name})


def _run_task(file: Path, task_id: str) -> None:
    message = {
        "type": "StartupDetails",
        "ti": {
            "id": "00000000-0000-7000-8000-000000000000",
            "task_id": task_id,
            "dag_id": _DAG_RUN["dag_id"],
            "run_id": _DAG_RUN["run_id"],
            "try_number": 1,
            "dag_version_id": "00000000-0000-7000-8000-000000000000",
            "map_index": -1,
            "hostname": None,
            "context_carrier": None,
            "queue": "default",
        },
        "dag_rel_path": file.name,
        "bundle_info": {"name": "warm-up", "version": None},
        "start_date": _DATE,
        "ti_context": {
            "dag_run": _DAG_RUN,
            "task_reschedule_count": 0,
            "max_tries": 0,
            "should_retry": False,
            "xcom_keys_to_clear": [],
        },
        "sentry_integration": "",
    }
    log = structlog.get_logger(logger_name="task")
    details = _pass_on(message, log)
    task_runner._make_task_span(msg=details)
    instance = task_runner.parse(details, log)
    context = instance.get_template_context()
    state, _, error = task_runner.run(instance, context, log)
    task_runner.finalize(instance, state, context, log, error)


def _pass_on(message: dict, log) -> comms.StartupDetails:
    """Reads a message as a child does that was sent it."""
    decoder = comms.CommsDecoder[comms.ToTask, comms.ToSupervisor](log=log, socket=None)
    frame = comms._ResponseFrame(id=0, body=message).as_bytes()
    return decoder._from_frame(decoder.resp_decoder.decode(frame[_LENGTH:]))


class _Nobody:
    """Takes every message, as a supervisor would, and does nothing."""

    def send(self, msg):
        comms._RequestFrame(id=0, body=msg.model_dump()).as_bytes()


@contextlib.contextmanager
def _in_bundle(folder: Path):
    """Which bundles are configured does not matter here."""

    class Bundles:
        def get_bundle(self, name, version):
            return LocalDagBundle(name=name, version=version, path=os.fspath(folder))

    original = task_runner.DagBundlesManager
    task_runner.DagBundlesManager = Bundles
    try:
        yield
    finally:
        task_runner.DagBundlesManager = original


@contextlib.contextmanager
def _without_listeners():
    """Listeners are found in the children, where plugins are loaded."""
    original = listener.integrate_listener_plugins
    listener.integrate_listener_plugins = lambda manager: None
    try:
        yield
    finally:
        listener.integrate_listener_plugins = original
        listener.get_listener_manager.cache_clear()


@contextlib.contextmanager
def _without_metrics():
    """These tasks belong to no processor. Children set up their metrics themselves."""
    stats = task_runner.stats
    original = (stats._factory, stats._backend, stats._get_backend)
    nothing = stats.NoStatsLogger()
    stats._get_backend = lambda: nothing
    try:
        yield
    finally:
        stats._factory, stats._backend, stats._get_backend = original
