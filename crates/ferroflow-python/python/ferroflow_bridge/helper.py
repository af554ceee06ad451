"""A process that answers questions about Python extension points, one at a time, until its channel is closed.

A frame is four bytes of length, most significant first, and so many bytes of JSON. A request is
`{"id", "method", "params"}`; the answer is `{"id", "result"}` or `{"id", "error": {"type", "message",
"traceback"}}`.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import sys
import threading
import traceback
from importlib import import_module
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from ferroflow_bridge import titles

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

LENGTH = struct.Struct(">I")

# The part of a method's name before the dot says in which module it is. Modules are imported when they are
# needed: what a purpose does not use, its process does not load.
MODULES = {
    "timetable": "ferroflow_bridge.timetables",
    "partition": "ferroflow_bridge.partitions",
    "deadline": "ferroflow_bridge.deadlines",
    "bundle": "ferroflow_bridge.bundles",
    "bundles": "ferroflow_bridge.bundles",
    "connections": "ferroflow_bridge.connections",
    "rendering": "ferroflow_bridge.rendering",
    "task_instances": "ferroflow_bridge.task_instances",
    "scheduler_listener": "ferroflow_bridge.listeners",
    "discovery": "ferroflow_bridge.extensions",
    "listener": "ferroflow_bridge.extensions",
    "secrets": "ferroflow_bridge.extensions",
    "survey": "ferroflow_bridge.survey",
}

METHODS: dict[str, Callable[..., Any]] = {}

# An error is read by people: the last calls say where, and a text without end is of no use.
MOST_CALLS = 6
MOST_TEXT = 8_000


def method(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Registers a function under the name by which it is called."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        METHODS[name] = function
        return function

    return register


def main(channel: socket.socket) -> None:
    """Answers until the other side closes the channel."""
    _keep_the_channel_apart()
    _be_a_server()
    requests: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_receive, args=(channel, requests), daemon=True).start()
    kinds: dict[str, None] = {}
    while True:
        request = json.loads(requests.get())
        _show_kind(request["method"], kinds)
        channel.sendall(_frame(_answer(request)))


def _show_kind(method: str, kinds: dict[str, None]) -> None:
    """Has `ps` show what this process is asked about."""
    kind = method.partition(".")[0]
    if kind not in kinds:
        kinds[kind] = None
        titles.set_title(f"ferroflow helper -- {', '.join(kinds)}")


def _keep_the_channel_apart() -> None:
    """User code may read and print: the channel is none of the standard streams."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    # The one that the supervisor's functions made cannot be read. It closes descriptor 0 as it goes.
    sys.stdin = os.fdopen(nothing)
    os.dup2(nothing, 0)
    # The terminal sends an interrupt to everybody; when to end is for the other side to say.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _be_a_server() -> None:
    """Extension points may use connections and variables, as in the official processor and scheduler."""
    os.environ["_AIRFLOW_PROCESS_CONTEXT"] = "server"
    from airflow import settings

    # An engine that was made before the fork must not be used in two processes.
    settings.reconfigure_orm()


def _receive(channel: socket.socket, requests: SimpleQueue[bytes]) -> None:
    """Hands on requests. Runs beside user code: even one that hangs ends when the other side is gone."""
    while True:
        header = _read(channel, LENGTH.size)
        body = header and _read(channel, LENGTH.unpack(header)[0])
        if not body:
            os._exit(0)
        requests.put(body)


def _read(channel: socket.socket, size: int) -> bytes | None:
    data = bytearray()
    while len(data) < size:
        try:
            part = channel.recv(size - len(data))
        except OSError:
            return None
        if not part:
            return None
        data += part
    return bytes(data)


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    try:
        result = _find(request["method"])(**request["params"])
        # Here, so that what cannot be written is an error of this request.
        json.dumps(result, allow_nan=False)
    # Whatever user code raises, SystemExit included, is its answer.
    except BaseException as error:
        return {"id": request["id"], "error": describe_error(error)}
    return {"id": request["id"], "result": result}


def _find(name: str) -> Callable[..., Any]:
    module = MODULES.get(name.partition(".")[0])
    if module:
        import_module(module)
    if name not in METHODS:
        raise LookupError(f"the helper has no method {name}")
    return METHODS[name]


def _frame(answer: dict[str, Any]) -> bytes:
    body = json.dumps(answer, allow_nan=False).encode()
    return LENGTH.pack(len(body)) + body


def describe_error(error: BaseException) -> dict[str, str]:
    """What went wrong, for the author of the user code: without the calls of this package."""
    kind = type(error)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    own = _without_own_calls(error.__traceback__)
    lines = traceback.format_exception(kind, error, own, limit=-MOST_CALLS)
    return {"type": name, "message": _text(error)[:MOST_TEXT], "traceback": "".join(lines)[-MOST_TEXT:]}


def _without_own_calls(calls: TracebackType | None) -> TracebackType | None:
    while calls and calls.tb_frame.f_globals.get("__package__") == __package__:
        calls = calls.tb_next
    return calls


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return "(its text cannot be made)"


if __name__ == "__main__":
    # As the module itself, not as __main__: the others register their methods in it.
    import_module("ferroflow_bridge.helper").main(socket.socket(fileno=os.dup(0)))
    sys.exit(0)
