"""Keeps a DAG file imported, and forks the tasks of its DAGs from there.

A template is a child of the fork server that has become one itself. It is told which file once, and then
speaks as the fork server does:

    -> {"bundle": name, "version": version or null, "file": path within the bundle}
    <- {"ready": {"files": [[path, modification time in ns, size], ...]}}  or  {"unfit": reason}

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

from ferroflow_bridge import child, fork_server, native_crash

if TYPE_CHECKING:
    import socket

_PACKET = 65536


def main(control: socket.socket) -> None:
    order = json.loads(control.recv(_PACKET))
    native_crash.end_at_once()
    try:
        files = _import(order)
    except BaseException as error:
        fork_server.send(control, {"unfit": f"{type(error).__name__}: {error}"})
        return
    child.be_forked()
    fork_server.send(control, {"ready": {"files": files}})
    fork_server.ForkServer(control).serve()


def _import(order: dict) -> list[list]:
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
    imported = _modules_of(bundle.path, set(sys.modules) - modules)
    files = _look_at([path, *imported.values()])
    _reuse(bag, path, files, imported)
    return files


def _modules_of(folder: Path, modules: set[str]) -> dict[str, str]:
    """Those that are in the bundle, with their files."""
    root = f"{folder}/"
    files = {name: getattr(sys.modules[name], "__dict__", {}).get("__file__") for name in sorted(modules)}
    return {name: file for name, file in files.items() if isinstance(file, str) and file.startswith(root)}


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
