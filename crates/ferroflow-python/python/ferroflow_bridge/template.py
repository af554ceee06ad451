"""Keeps a DAG file imported, and forks the tasks of its DAGs from there.

A template is a child of the fork server that has become one itself. It is told which file once, and then
speaks as the fork server does:

    -> {"bundle": name, "version": version or null, "file": path within the bundle,
        "tasks_per_process": number}
    <- {"files": [[path, modification time in ns, size], ...]}   as often as it takes to name them all
    <- {"ready": {"files": [...]}}                               the last of them;  or  {"unfit": reason}

A file that cannot be imported, starts a thread, or asks its supervisor for something while it is imported, is
not fit for this: its tasks import it themselves.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from airflow.dag_processing import dagbag
from airflow.sdk.execution_time import task_runner

from ferroflow_bridge import child, fork_server, hot_pages, native_crash, successive, titles

if TYPE_CHECKING:
    import socket

_PACKET = 65536
# Of files that are named in one packet; the longest path there can be leaves room for what is around it.
_MOST_BYTES = 32768

# To fork from gathered memory takes some milliseconds less; to gather it takes as long as thirty forks win.
# It is no longer shared with the fork server then: that is for a template that is much used.
_WORTH_GATHERING = 40


def main(control: socket.socket) -> None:
    order = json.loads(control.recv(_PACKET))
    titles.set_title(f"ferroflow template -- {order['bundle']}: {order['file']}")
    native_crash.end_at_once()
    try:
        folder, files = import_file(order)
    except BaseException as error:
        fork_server.send(control, {"unfit": f"{type(error).__name__}: {error}"})
        return
    child.be_forked()
    hot_pages.to_come = hot_pages.OF_IMPORTED_TASK
    *others, last = in_packets(files)
    for some in others:
        fork_server.send(control, {"files": some})
    fork_server.send(control, {"ready": {"files": last}})
    server = fork_server.ForkServer(control, gather_after=_WORTH_GATHERING)
    if order["tasks_per_process"] > 1:
        tasks = successive.Tasks(most=order["tasks_per_process"], folder=folder)
        server = successive.TaskServer(control, tasks, gather_after=_WORTH_GATHERING)
    server.serve()


def in_packets(files: list[list]) -> list[list[list]]:
    """The files in lists, each of which fits into a packet."""
    packets, room = [[]], _MOST_BYTES
    for file in files:
        length = len(json.dumps(file))
        if length > room and packets[-1]:
            packets.append([])
            room = _MOST_BYTES
        packets[-1].append(file)
        room -= length
    return packets


def import_file(order: dict) -> tuple[Path, list[list]]:
    """Imports a file, for all tasks to come. Answers its bundle's folder, and which files that took."""
    modules = set(sys.modules)
    bundle = task_runner.DagBundlesManager().get_bundle(name=order["bundle"], version=order["version"])
    bundle.initialize()
    path = os.fspath(Path(bundle.path, order["file"]))
    task_runner.SUPERVISOR_COMMS = _Nobody()
    try:
        bag = dagbag.BundleDagBag(
            dag_folder=path,
            safe_mode=False,
            load_op_links=False,
            bundle_path=bundle.path,
            bundle_name=order["bundle"],
        )
    finally:
        del task_runner.SUPERVISOR_COMMS
    if bag.import_errors:
        raise ImportError(next(iter(bag.import_errors.values())).strip().splitlines()[-1])
    if len(list(Path("/proc/self/task").iterdir())) > 1:
        raise RuntimeError("the file starts a thread while it is imported, which its tasks would lack")
    imported = successive.modules_of(bundle.path, set(sys.modules) - modules)
    files = _look_at([path, *imported.values()])
    _reuse(bag, path, files, imported)
    return bundle.path, files


def _look_at(paths: list[str]) -> list[list]:
    looks = []
    for path in dict.fromkeys(paths):
        try:
            stat = Path(path).stat()
        except OSError:
            looks.append([path, 0, 0])
        else:
            looks.append([path, stat.st_mtime_ns, stat.st_size])
    return looks


def _reuse(bag: dagbag.DagBag, path: str, files: list[list], modules: dict[str, str]) -> None:
    """Has the task runner find the file imported, unless something was changed since: then all is anew."""
    original = dagbag.BundleDagBag

    def bundle_dag_bag(*args, **kwargs):
        if kwargs.get("dag_folder") == path and _look_at([file for file, _, _ in files]) == files:
            return bag
        for name in modules:
            sys.modules.pop(name, None)
        return original(*args, **kwargs)

    dagbag.BundleDagBag = bundle_dag_bag


class _NeedsSupervisor(BaseException):
    """What a file asks for while it is imported may be answered differently for every task."""


class _Nobody:
    def send(self, msg):
        raise _NeedsSupervisor(f"the file asks for something while it is imported ({type(msg).__name__})")
