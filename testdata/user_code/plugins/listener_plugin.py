"""A listener that notes what it hears, and what it can see of it. `LISTENER_MODE` makes it a bad one."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import ClassVar

from airflow.listeners import hookimpl
from airflow.plugins_manager import AirflowPlugin


class Listener:
    @hookimpl
    def on_starting(self, component):
        note("starting", job=component.job_type)

    @hookimpl
    def before_stopping(self, component):
        note("stopping", job=component.job_type)

    @hookimpl
    def on_dag_run_running(self, dag_run, msg):
        note("run running", **of_run(dag_run, msg))

    @hookimpl
    def on_dag_run_success(self, dag_run, msg):
        note("run success", **of_run(dag_run, msg), tasks=tasks(dag_run))

    @hookimpl
    def on_dag_run_failed(self, dag_run, msg):
        note("run failed", **of_run(dag_run, msg), tasks=tasks(dag_run))

    @hookimpl
    def on_task_instance_failed(self, previous_state, task_instance, error):
        ti = task_instance
        key = [ti.dag_id, ti.run_id, ti.task_id, ti.map_index]
        seen = {"state": str(ti.state), "task": ti.task.task_id, "before": previous_state, "error": error}
        note("task failed", key=key, **seen)


def of_run(run, msg):
    seen = {"dag_id": run.dag_id, "run_id": run.run_id, "state": str(run.state), "msg": msg}
    has = {"has_start": run.start_date is not None, "has_end": run.end_date is not None}
    return {**seen, **has, "type": run.run_type, "conf": run.conf, "dag": run.dag.dag_id}


def tasks(run):
    return sorted([ti.task_id, ti.map_index, str(ti.state)] for ti in run.get_task_instances())


def note(what, **seen):
    file = os.environ.get("LISTENER_FILE")
    if not file:
        return
    mode = os.environ.get("LISTENER_MODE")
    if mode == "raises":
        raise RuntimeError("the listener is broken")
    if mode == "hangs":
        time.sleep(3600)
    if mode == "exits":
        os._exit(3)
    with Path(file).open("a") as lines:
        lines.write(json.dumps({"what": what, **seen}, default=str) + "\n")


class ListenerPlugin(AirflowPlugin):
    name = "listeners"
    listeners: ClassVar = [Listener()]
