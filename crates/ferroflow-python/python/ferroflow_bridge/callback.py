"""Runs a callback that an executor was given, with Airflow's own functions."""

from __future__ import annotations

import socket

from airflow.executors.workloads.base import BundleInfo
from airflow.sdk.execution_time import supervisor
from airflow.sdk.execution_time.callback_supervisor import CallbackSubprocess
from airflow.serialization.serialized_objects import BaseSerialization

from ferroflow_bridge import native_crash, system, workload


def main(requests: socket.socket) -> None:
    system.be_killed_first()
    native_crash.end_at_once()
    asked = workload.receive(requests)
    data = BaseSerialization.deserialize(asked["data"])
    path = data.get("path", "")
    workload.name_process(f"{path.rpartition('.')[2]} {asked['id']}")
    # Airflow would fork, and have the child do this; here this is the child.
    supervisor.WatchedSubprocess.start = classmethod(lambda cls, *, target, **_: target())
    CallbackSubprocess.start(
        id=asked["id"],
        callback_path=path,
        callback_kwargs=data.get("kwargs", {}),
        dag_rel_path=asked["dag_rel_path"],
        bundle_info=BundleInfo(**asked["bundle_info"]),
        client=None,
    )
