"""Processes that run several tasks of a DAG file, one after the other.

To fork a process for a task, and to copy all the memory that it writes to, takes several times as long as a
short task itself. A process that has run one is ready for the next, if it is as it was before: what user code
leaves behind within Python cannot be seen, which is why it is off by default.

Between a template and each of these processes there is one more socket:

    -> b"task"                                         with [channel, stdout, stderr, log] attached
    <- {"user": s, "system": s, "max_rss": bytes}      the task has ended, and another may come

When it is closed, no other comes.
"""

from __future__ import annotations

import atexit
import contextvars
import json
import os
import resource
import selectors
import signal
import socket
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from airflow.sdk.execution_time import task_runner

from ferroflow_bridge import child, fork_server, hot_pages, strays, task, titles

_PACKET = 4096
_STREAMS = 4

# So long a process waits for its next task.
_KEPT_SECONDS = 5.0

# Of memory that a process may have gained by its tasks, in KiB.
_MOST_GAINED = 256 << 10

# What tasks and Airflow set handlers for.
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM, signal.SIGUSR1, signal.SIGUSR2)


@dataclass(frozen=True)
class Tasks:
    """What processes are told of the tasks that they will run."""

    # Of one process.
    most: int
    # Where the modules of their DAG file are.
    folder: Path


class TaskServer(fork_server.ForkServer):
    """Hands a task to a process that has run one, or forks one."""

    def __init__(self, control: socket.socket, tasks: Tasks, gather_after: int):
        super().__init__(control, gather_after)
        self.tasks = tasks
        # Our ends of their sockets, by process.
        self.orders: dict[int, socket.socket] = {}
        # Since when a process waits, the longest first.
        self.waiting: dict[int, float] = {}
        # Of the socket of the process that is being forked: ours and its own.
        self.ends: tuple[socket.socket, ...] = ()

    def rest(self) -> float | None:
        """Lets those end that have waited long enough."""
        now = time.monotonic()
        for pid, since in list(self.waiting.items()):
            if since + _KEPT_SECONDS > now:
                return since + _KEPT_SECONDS - now
            self.is_gone(pid)
        return None

    def fork(self, message: dict, fds: list[int]) -> None:
        while self.waiting and len(fds) == _STREAMS:
            # The one that was busy last has most at hand.
            pid, _ = self.waiting.popitem()
            try:
                socket.send_fds(self.orders[pid], [b"task"], fds)
            except OSError:
                # It has died, which is told apart.
                continue
            for fd in fds:
                os.close(fd)
            self.has_begun(message["fork"], pid)
            return
        try:
            self.ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        except OSError as error:
            self.refuse(message["fork"], error)
            for fd in fds:
                os.close(fd)
            return
        super().fork(message, fds)
        ours, theirs = self.ends
        theirs.close()
        if message["fork"] not in self.pids:
            ours.close()

    def has_begun(self, id_: int, pid: int, *, outlives: bool = True) -> None:
        super().has_begun(id_, pid, outlives=outlives)
        if pid not in self.orders:
            self.orders[pid], _ = self.ends
            self.heard.register(self.orders[pid], selectors.EVENT_READ, lambda: self.hear(pid))

    def run_child(self, message: dict, fds: list[int], parent: int) -> None:
        _, orders = self.ends
        child.run_several(fds, lambda: run(orders, self.tasks), parent=parent)

    def forget(self) -> None:
        super().forget()
        for orders in (*self.orders.values(), self.ends[0]):
            orders.close()

    def hear(self, pid: int) -> bool:
        """A task has ended and its process has not, or the process does not listen any more."""
        if pid not in self.orders:
            # Its end was noticed at the same time.
            return True
        try:
            used = self.orders[pid].recv(_PACKET)
        except ConnectionResetError:
            used = b""
        if used:
            id_ = self.ids.pop(pid)
            del self.pids[id_]
            self.waiting[pid] = time.monotonic()
            self.has_ended(id_, 0, json.loads(used))
        else:
            self.is_gone(pid)
        return True

    def is_gone(self, pid: int) -> None:
        """It has ended, or does as soon as it sees that nothing more comes."""
        self.waiting.pop(pid, None)
        if (orders := self.orders.pop(pid, None)) is not None:
            self.heard.unregister(orders)
            orders.close()

    def is_ours(self, pid: int) -> bool:
        return pid in self.orders or super().is_ours(pid)

    def end(self) -> None:
        for pid in list(self.orders):
            self.is_gone(pid)
        super().end()


def run(orders: socket.socket, tasks: Tasks) -> None:
    """In a process of tasks: runs one after the other, as long as it is fit for the next."""
    task.prepare()
    state = _Noted()
    before_tasks = _Process(tasks.folder)
    used = _used()
    for number in range(tasks.most):
        if number > 0:
            child.detach()
            titles.waits("task")
            before, used = used, _used()
            spent = {name: used[name] - before[name] for name in ("user", "system")}
            orders.send(json.dumps({**spent, "max_rss": used["max_rss"]}).encode())
            _, fds, _, _ = socket.recv_fds(orders, _PACKET, _STREAMS)
            if not fds:
                return
            child.attach(fds)
        with socket.socket(fileno=os.dup(0)) as requests:
            contextvars.copy_context().run(task.run, requests)
        # Its own by now.
        hot_pages.to_come = hot_pages.HotPages()
        if not state.is_success() or not before_tasks.is_restored():
            return


class _Noted:
    """What became of the last task."""

    def __init__(self) -> None:
        self.state = None
        run = task_runner.run

        def noting(*args, **kwargs):
            result = run(*args, **kwargs)
            self.state = result[0]
            return result

        task_runner.run = noting

    def is_success(self) -> bool:
        state, self.state = self.state, None
        return state == task_runner.TaskInstanceState.SUCCESS


class _Process:
    """What a process was like before its tasks."""

    def __init__(self, folder: Path) -> None:
        self.bundle = folder
        self.environment = dict(os.environ)
        self.folder = Path.cwd()
        self.mask = os.umask(0)
        os.umask(self.mask)
        self.handlers = {number: signal.getsignal(number) for number in _SIGNALS}
        self.streams = (sys.stdin, sys.stdout, sys.stderr)
        self.modules = set(sys.modules)
        self.memory = _peak()

    def is_restored(self) -> bool:
        """Makes it so again. False if that cannot be: then no other task may have it."""
        # For all that the task knows, its process ends.
        atexit._run_exitfuncs()
        if dict(os.environ) != self.environment:
            os.environ.clear()
            os.environ.update(self.environment)
        os.chdir(self.folder)
        os.umask(self.mask)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in self.handlers.items():
            signal.signal(number, handler)
        return (
            (sys.stdin, sys.stdout, sys.stderr) == self.streams
            and not any(stream.closed for stream in self.streams)
            # Their files may change, and only those that are imported before any task are looked at.
            and not modules_of(self.bundle, set(sys.modules) - self.modules)
            and len(list(Path("/proc/self/task").iterdir())) == 1
            and _peak() - self.memory <= _MOST_GAINED
            and not strays.kill(lambda _: False, set())
        )


def modules_of(folder: Path, modules: set[str]) -> dict[str, str]:
    """Those of some modules that are in a folder, with their files."""
    root = f"{folder}/"
    files = {name: getattr(sys.modules[name], "__dict__", {}).get("__file__") for name in sorted(modules)}
    return {name: file for name, file in files.items() if isinstance(file, str) and file.startswith(root)}


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _used() -> dict:
    own, others = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return {
        "user": own.ru_utime + others.ru_utime,
        "system": own.ru_stime + others.ru_stime,
        "max_rss": own.ru_maxrss * 1024,
    }
