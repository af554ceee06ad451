"""The fork server: imports Airflow once, then forks a child for everything that runs user code.

It speaks with ferroflow through one SEQPACKET socket, a JSON object per packet:

    -> {"fork": id, "entry": name, "memory": bytes or null}   with [channel, stdout, stderr, log] attached
    <- {"forked": id, "pid": pid, "outlives": bool}           with a pidfd attached
    <- {"refused": id, "reason": text, "for_now": bool}
    -> {"signal": id, "number": number}                       to the child's process group
    -> {"give_up": id}                                        it was killed and does not end
    <- {"given_up": id}                                       all that it had started is killed
    <- {"exit": id, "status": wait status, "user": s, "system": s, "max_rss": bytes}

A process that outlives what it was forked for, and does more of the kind, is to be signalled by that id only:
by its descriptor another's work could be meant (see successive.py).

When the socket is closed, ferroflow is gone: everything that was started here is killed.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import json
import os
import selectors
import signal
import socket
import sys
import time
from pathlib import Path

from ferroflow_bridge import child, strays, system, titles, warm_up

_PACKET = 65536
_STREAMS = 4

# What the system says when it is out of something that it may have again.
_FOR_NOW = {
    errno.EAGAIN,
    errno.ENOMEM,
    errno.EMFILE,
    errno.ENFILE,
    errno.ENOBUFS,
    errno.ETOOMANYREFS,
}

# For so many seconds it is left alone then.
_UNTIL_ROOM = 0.1


def main(control: socket.socket, purpose: str) -> None:
    # What a terminal or a service manager says is for ferroflow, which tells us by closing the socket.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    titles.be_ready()
    titles.set_title("ferroflow fork server")
    system.adopt_orphans()
    control = _off_standard_input(control)
    # Until the socket is read, nothing else tells that ferroflow is gone.
    system.die_with_parent(signal.SIGKILL)
    if _is_closed(control):
        return
    started = time.monotonic()
    # Nearly all that is made now stays: to look for garbage again and again takes an eighth of the time.
    gc.disable()
    facts = warm_up.load()
    forks_often = purpose != "answers"
    if forks_often:
        facts |= warm_up.try_out()
    child.be_forked()
    gc.enable()
    if forks_often:
        system.gather_memory()
        warm_up.learn_hot_pages()
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
    while True:
        try:
            socket.send_fds(control, [packet], fds or [])
        except (BrokenPipeError, ConnectionResetError):
            # If there is no reader any more, the next read says so.
            return
        except OSError as error:
            if error.errno not in _FOR_NOW:
                raise
            # All children would end with us, and no other process can tell what became of them.
            time.sleep(_UNTIL_ROOM)
        else:
            return


def _signal_group(pid: int, number: int) -> None:
    """One that has become another user (`run_as_user`) may not be signalled: it alone is given up."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


class ForkServer:
    """The children that live, and the loop that serves."""

    def __init__(self, control: socket.socket, gather_after: int | None = None):
        """`gather_after` so many forks the memory is gathered, if that was not done before."""
        self.control = control
        self.until_gathered = gather_after
        self.ids: dict[int, int] = {}
        self.pids: dict[int, int] = {}
        # Strays that may not be killed (they have become another user), or do not die: not waited for again.
        self.immortal: set[int] = set()
        self.wake_read, self.wake_write = os.pipe()
        os.set_blocking(self.wake_read, False)
        os.set_blocking(self.wake_write, False)
        # Each with what is done when it can be read: that answers whether to go on.
        self.heard = selectors.DefaultSelector()
        self.heard.register(self.wake_read, selectors.EVENT_READ, self.woken)
        self.heard.register(self.control, selectors.EVENT_READ, self.receive)

    def serve(self) -> None:
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self.wake_write, warn_on_full_buffer=False)
        while all(key.data() for key, _ in self.heard.select(self.rest())):
            pass
        self.end()

    def rest(self) -> float | None:
        """For how long there is nothing to do unless something is heard."""
        return None

    def woken(self) -> bool:
        with contextlib.suppress(BlockingIOError):
            os.read(self.wake_read, 4096)
        self.collect()
        return True

    def receive(self) -> bool:
        """Does what one packet asks for. False when ferroflow is gone."""
        try:
            packet, fds, _, _ = socket.recv_fds(self.control, _PACKET, 8)
        except ConnectionResetError:
            return False
        except OSError as error:
            if error.errno not in _FOR_NOW:
                raise
            # The packet is still there.
            time.sleep(_UNTIL_ROOM)
            return True
        if not packet:
            return False
        message = json.loads(packet)
        if "fork" in message:
            self.fork(message, fds)
        elif "signal" in message:
            self.signal(message["signal"], message["number"])
        elif "give_up" in message:
            self.give_up(message["give_up"])
        return True

    def fork(self, message: dict, fds: list[int]) -> None:
        id_ = message["fork"]
        try:
            if len(fds) < _STREAMS:
                # The kernel hands over as many as there is room for.
                raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
            parent = os.getpid()
            pid = os.fork()
            if pid == 0:
                self.forget()
                self.run_child(message, fds, parent)
        except OSError as error:
            self.refuse(id_, error)
            return
        finally:
            for fd in fds:
                os.close(fd)
        # Also done by the child; the first to come does it.
        with contextlib.suppress(OSError):
            os.setpgid(pid, pid)
        self.has_begun(id_, pid)
        if self.until_gathered is not None:
            self.until_gathered -= 1
            if self.until_gathered <= 0:
                self.until_gathered = None
                system.gather_memory()

    def run_child(self, message: dict, fds: list[int], parent: int) -> None:
        """In the child: does what it is for, and does not return."""
        child.run(message["entry"], fds, parent=parent, memory=message["memory"])

    def has_begun(self, id_: int, pid: int, *, outlives: bool = False) -> None:
        self.ids[pid] = id_
        self.pids[id_] = pid
        try:
            pidfd = os.pidfd_open(pid)
        except OSError as error:
            self.refuse(id_, error)
            _signal_group(pid, signal.SIGKILL)
            return
        send(self.control, {"forked": id_, "pid": pid, "outlives": outlives}, [pidfd])
        os.close(pidfd)

    def refuse(self, id_: int, error: OSError) -> None:
        reason = f"the child could not be forked: {error}"
        send(self.control, {"refused": id_, "reason": reason, "for_now": error.errno in _FOR_NOW})

    def forget(self) -> None:
        """In the child: what belongs to the server alone."""
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        self.heard.close()
        self.control.close()
        os.close(self.wake_read)
        os.close(self.wake_write)

    def signal(self, id_: int, number: int) -> None:
        # A child that is in the table was not waited for, so its number cannot be another's.
        if (pid := self.pids.get(id_)) is not None:
            _signal_group(pid, number)

    def give_up(self, id_: int) -> None:
        """Kills all that a child has started which cannot be killed itself. To answer shows that we can."""
        if (pid := self.pids.get(id_)) is not None:
            self.signal(id_, signal.SIGKILL)
            strays.kill_descendants(pid)
        send(self.control, {"given_up": id_})

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
                _signal_group(pid, signal.SIGKILL)
            _, status, usage = os.wait4(pid, 0)
            self.is_gone(pid)
            if (id_ := self.ids.pop(pid, None)) is not None:
                del self.pids[id_]
                ended.append((id_, status, usage))
        if ended:
            self.sweep()
        for id_, status, usage in ended:
            used = {"user": usage.ru_utime, "system": usage.ru_stime, "max_rss": usage.ru_maxrss * 1024}
            self.has_ended(id_, status, used)

    def has_ended(self, id_: int, status: int, used: dict) -> None:
        send(self.control, {"exit": id_, "status": status, **used})

    def is_gone(self, pid: int) -> None:
        """A process has ended."""

    def is_ours(self, pid: int) -> bool:
        """Whether a child of this process was forked here, and is wanted."""
        return pid in self.ids

    def sweep(self) -> None:
        """Kills every process that came to us because its parent ended, and theirs in turn.

        A child adopts its own orphans as long as it lives: what comes here is left over for certain.
        """
        try:
            self.immortal = strays.kill(self.is_ours, self.immortal)
        except OSError as error:
            # Out of descriptors, say; they are found with the next that ends.
            print(f"what a process has left behind was not looked for: {error}", file=sys.stderr, flush=True)

    def end(self) -> None:
        for pid in self.ids:
            _signal_group(pid, signal.SIGKILL)
        self.ids.clear()
        self.sweep()
        os._exit(0)
