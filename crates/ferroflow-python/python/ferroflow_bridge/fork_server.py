"""The fork server: imports Airflow once, then forks a child for everything that runs user code.

It speaks with ferroflow through one SEQPACKET socket, a JSON object per packet:

    -> {"fork": id, "entry": name, "memory": bytes or null}   with [channel, stdout, stderr, log] attached
    <- {"forked": id, "pid": pid}                             with a pidfd attached
    <- {"refused": id, "reason": text}
    -> {"signal": id, "number": number}                       to the child's process group
    <- {"exit": id, "status": wait status, "user": s, "system": s, "max_rss": bytes}

When the socket is closed, ferroflow is gone: everything that was started here is killed.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import sys
import time
from pathlib import Path

from ferroflow_bridge import child, system, warm_up

_PACKET = 65536
# Killed processes take a moment to end, and may have started others in the meantime.
_SWEEP_SECONDS = 2.0


def main(control: socket.socket) -> None:
    # What a terminal or a service manager says is for ferroflow, which tells us by closing the socket.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    system.name_process("ferroflow-fork")
    system.adopt_orphans()
    control = _off_standard_input(control)
    # Until the socket is read, nothing else tells that ferroflow is gone.
    system.die_with_parent(signal.SIGKILL)
    if _is_closed(control):
        return
    started = time.monotonic()
    facts = warm_up.warm_up()
    child.be_forked()
    # Not in a template: there it takes as long as a hundred forks win.
    system.gather_memory()
    threads = len(list(Path("/proc/self/task").iterdir()))
    facts |= {"seconds": time.monotonic() - started, "threads": threads, "python": sys.version.split()[0]}
    system.die_with_parent(0)
    send(control, {"ready": facts})
    ForkServer(control).serve()


def _off_standard_input(control: socket.socket) -> socket.socket:
    """Moves the socket away from descriptor 0, which a stray `input()` would read."""
    moved = control.dup()
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    control.detach()
    return moved


def _is_closed(control: socket.socket) -> bool:
    try:
        return not control.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True


def send(control: socket.socket, message: dict, fds: list[int] | None = None) -> None:
    packet = json.dumps(message).encode()
    # If nobody listens any more, the next read says so.
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        socket.send_fds(control, [packet], fds or [])


class ForkServer:
    """The children that live, and the loop that serves."""

    def __init__(self, control: socket.socket):
        self.control = control
        self.ids: dict[int, int] = {}
        self.pids: dict[int, int] = {}
        # Strays that may not be killed (they have become another user), or do not die: not waited for again.
        self.immortal: set[int] = set()
        self.wake_read, self.wake_write = os.pipe()
        os.set_blocking(self.wake_read, False)
        os.set_blocking(self.wake_write, False)

    def serve(self) -> None:
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self.wake_write, warn_on_full_buffer=False)
        while True:
            readable, _, _ = select.select([self.control, self.wake_read], [], [])
            if self.wake_read in readable:
                with contextlib.suppress(BlockingIOError):
                    os.read(self.wake_read, 4096)
                self.collect()
            if self.control in readable and not self.receive():
                break
        self.end()

    def receive(self) -> bool:
        """Does what one packet asks for. False when ferroflow is gone."""
        try:
            packet, fds, _, _ = socket.recv_fds(self.control, _PACKET, 8)
        except ConnectionResetError:
            return False
        if not packet:
            return False
        message = json.loads(packet)
        if "fork" in message:
            self.fork(message, fds)
        elif "signal" in message:
            self.signal(message["signal"], message["number"])
        return True

    def fork(self, message: dict, fds: list[int]) -> None:
        id_ = message["fork"]
        try:
            parent = os.getpid()
            pid = os.fork()
            if pid == 0:
                self.forget()
                child.run(message["entry"], fds, parent=parent, memory=message["memory"])
        except OSError as error:
            send(self.control, {"refused": id_, "reason": f"the child could not be forked: {error}"})
            return
        finally:
            for fd in fds:
                os.close(fd)
        # Also done by the child; whoever comes first.
        with contextlib.suppress(OSError):
            os.setpgid(pid, pid)
        self.ids[pid] = id_
        self.pids[id_] = pid
        pidfd = os.pidfd_open(pid)
        send(self.control, {"forked": id_, "pid": pid}, [pidfd])
        os.close(pidfd)

    def forget(self) -> None:
        """In the child: what belongs to the server alone."""
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        self.control.close()
        os.close(self.wake_read)
        os.close(self.wake_write)

    def signal(self, id_: int, number: int) -> None:
        # A child that is in the table was not waited for, so its number cannot be another's.
        if (pid := self.pids.get(id_)) is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, number)

    def collect(self) -> None:
        """Waits for what has ended: first the group, while its number is still taken, then the child."""
        ended = []
        while True:
            try:
                found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                break
            if found is None:
                break
            pid = found.si_pid
            if pid in self.ids:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(pid, signal.SIGKILL)
            _, status, usage = os.wait4(pid, 0)
            if (id_ := self.ids.pop(pid, None)) is not None:
                del self.pids[id_]
                ended.append((id_, status, usage))
        if ended:
            self.sweep()
        for id_, status, usage in ended:
            message = {
                "exit": id_,
                "status": status,
                "user": usage.ru_utime,
                "system": usage.ru_stime,
                "max_rss": usage.ru_maxrss * 1024,
            }
            send(self.control, message)

    def sweep(self) -> None:
        """Kills every process that came to us because its parent ended, and theirs in turn.

        A child adopts its own orphans as long as it lives: what comes here is left over for certain.
        """
        deadline = time.monotonic() + _SWEEP_SECONDS
        while True:
            others = {pid for pid in system.children() if pid not in self.ids}
            self.immortal &= others
            strays = others - self.immortal
            if not strays:
                return
            for pid in strays:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            for pid in strays:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)
            if time.monotonic() >= deadline:
                self.immortal |= strays
                print(f"processes could not be killed: {sorted(strays)}", file=sys.stderr, flush=True)
                return
            time.sleep(0.001)

    def end(self) -> None:
        for pid in self.ids:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
        self.ids.clear()
        self.sweep()
        os._exit(0)
