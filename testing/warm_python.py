"""A Python that has imported what Airflow is built on, and forks for each script that a test wants run.

    <venv>/bin/python testing/warm_python.py SOCKET

To import all of that takes half of the time that a short script of the official Airflow takes. Nothing of
Airflow itself is imported here: that reads the configuration, and each script has one of its own.

A request is a line of JSON: `argv`, `environment`, `folder`, and the files that are `input`, `output` and
`errors`; the answer is a line with the exit status, negative for a signal. A script whose
client hangs up is killed.
"""

import contextlib
import gc
import importlib
import json
import os
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# What scripts of tests import of Airflow, more or less.
IMPORTS = """
import sys
import airflow.models.dagrun, airflow.models.taskinstance, airflow.serialization.serialized_objects
import airflow.sdk, airflow.dag_processing.processor, airflow.api_fastapi.execution_api.app
print("\\n".join(name for name in sys.modules if name.partition(".")[0] not in ("airflow", "__main__")))
"""


class Become(BaseException):
    """Leaves the server in a child, which is a script from then on."""

    def __init__(self, request: dict):
        super().__init__()
        self.request = request


class Server:
    def __init__(self, path: str):
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(64)
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listener, selectors.EVENT_READ)
        self.woken, wakes = os.pipe()
        for end in (self.woken, wakes):
            os.set_blocking(end, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wakes)
        self.selector.register(self.woken, selectors.EVENT_READ)
        self.clients: dict[int, socket.socket] = {}

    def serve(self) -> None:
        while True:
            for key, _ in self.selector.select():
                if key.fileobj is self.listener:
                    self._take(self.listener.accept()[0])
                elif key.fileobj == self.woken:
                    os.read(self.woken, 512)
                    self._reap()
                else:
                    self._hung_up(key.fileobj)

    def _take(self, client: socket.socket) -> None:
        with client.makefile("rb") as lines:
            request = lines.readline()
        if not request:
            client.close()
            return
        pid = os.fork()
        if pid == 0:
            raise Become(json.loads(request))
        self.clients[pid] = client
        self.selector.register(client, selectors.EVENT_READ)

    def _hung_up(self, client: socket.socket) -> None:
        for pid, other in self.clients.items():
            if other is client:
                os.kill(pid, signal.SIGKILL)
        self.selector.unregister(client)

    def _reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return
                client = self.clients.pop(pid)
                with contextlib.suppress(OSError, KeyError):
                    client.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))
                with contextlib.suppress(KeyError, ValueError):
                    self.selector.unregister(client)
                client.close()


def main(path: str) -> None:
    gc.disable()
    _import()
    gc.freeze()
    gc.enable()
    server = Server(path)
    try:
        server.serve()
    except Become as become:
        request = become.request
    _leave(server)
    _be(request)
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
    finally:
        # What was frozen is not finalized: a script with another standard output would lose its last words.
        for stream in (sys.__stdout__, sys.__stderr__):
            stream.flush()


def _import() -> None:
    with tempfile.TemporaryDirectory() as home:
        env = os.environ | {"AIRFLOW_HOME": home}
        listed = subprocess.run(
            [sys.executable, "-c", IMPORTS], env=env, stdout=subprocess.PIPE, text=True, check=True
        )
    for name in listed.stdout.splitlines():
        # Some cannot be imported by themselves; who needs those imports them again.
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    ours = [name for name in sys.modules if name.partition(".")[0] == "airflow"]
    if ours:
        raise SystemExit(f"Airflow is imported by what it is built on: {ours[:3]}")


def _leave(server: Server) -> None:
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    server.selector.close()
    server.listener.close()
    for client in server.clients.values():
        client.close()


def _be(request: dict) -> None:
    for number, name, flags in (
        (0, "input", os.O_RDONLY),
        (1, "output", os.O_WRONLY | os.O_CREAT | os.O_APPEND),
        (2, "errors", os.O_WRONLY | os.O_CREAT | os.O_APPEND),
    ):
        opened = os.open(request[name], flags, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    time.tzset()
    tempfile.tempdir = None
    sys.argv[:] = request["argv"]
    # In the place of the folder of this file.
    sys.path[0] = str(Path(sys.argv[0]).parent)
    # Python has looked at these before it was warm.
    sys.path[1:1] = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))


if __name__ == "__main__":
    main(sys.argv[1])
