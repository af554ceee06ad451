"""Components as processes: they are started, and all that can happen to a process happens."""

import contextlib
import ctypes
import os
import signal
import struct
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from measuring import tree

# What a scheduler of ours logs when it begins.
READY = b"scheduling"

CLOCK = Path(__file__).with_name("stepped_clock.c")


class Component:
    """A place for one component, in which it is started anew after each end."""

    def __init__(self, name: str, command: Sequence[str], environment: dict[str, str], home: Path) -> None:
        self.name, self.command, self.home = name, [str(word) for word in command], home
        self.environment = environment
        self.log = home / f"{name}.log"
        self.process: subprocess.Popen | None = None
        self.is_stopped = False
        # Whether it is to run. One that is, and has ended, is started again, as a service manager does.
        self.is_wanted = False
        self._log_before = 0
        self._clock = home / f"{name}.clock"
        self.step_clock(0)

    @property
    def lives(self) -> bool:
        return self.process is not None and self.process.poll() is None

    @property
    def works(self) -> bool:
        return self.lives and not self.is_stopped

    @property
    def is_ready(self) -> bool:
        """Whether it works, and has come so far as to schedule."""
        if not self.works:
            return False
        with self.log.open("rb") as log:
            log.seek(self._log_before)
            return READY in log.read()

    def start(self) -> None:
        self.is_wanted = True
        # It may have been told to end, and then have been killed: that is two who would start it.
        if self.lives:
            return
        with self.log.open("ab") as log:
            self._log_before = log.tell()
            self.process = subprocess.Popen(
                self.command,
                env=self.environment,
                cwd=self.home,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                preexec_fn=_die_with_parent,
            )
        self.is_stopped = False

    def kill(self) -> None:
        self.is_wanted = False
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        """It does nothing any more, and does not know it."""
        self.process.send_signal(signal.SIGSTOP)
        self.is_stopped = True

    def resume(self) -> None:
        self.is_stopped = False
        if self.lives:
            self.process.send_signal(signal.SIGCONT)

    def terminate(self) -> None:
        self.is_wanted = False
        self.process.terminate()

    def step_clock(self, seconds: float) -> None:
        """Its clock is so much ahead from now on."""
        if self._clock.exists():
            with self._clock.open("r+b") as file:
                file.write(struct.pack("q", int(seconds * 1e9)))
        else:
            self._clock.write_bytes(struct.pack("q", 0))

    def with_own_clock(self, library: Path) -> None:
        self.environment = self.environment | {"LD_PRELOAD": str(library), "STEPPED_CLOCK": str(self._clock)}

    def fork_server(self) -> int | None:
        below = tree(self.process.pid)[1:] if self.lives else []
        return next((pid for pid in below if _parent(pid) == self.process.pid), None)

    def task_processes(self) -> list[int]:
        """What the fork server has forked: tasks, and processes that wait for one."""
        server = self.fork_server()
        return tree(server)[1:] if server else []

    def last_words(self) -> str:
        lines = self.log.read_text(errors="replace").strip().splitlines()
        return lines[-1][:200] if lines else "nothing"

    def end(self) -> int | None:
        """Ends it as an administrator would. Returns its exit status, if it did not have to be killed."""
        self.resume()
        if not self.lives:
            return None
        below = tree(self.process.pid)[1:]
        self.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.process.wait(timeout=40)
        for pid in [self.process.pid, *below]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()
        return None


def build_clock(home: Path) -> Path:
    library = home / "stepped_clock.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, CLOCK, "-ldl"], check=True)
    return library


def kill(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def left_over(home: Path, seconds: float = 20) -> list[int]:
    """Processes that have the home in their environment and outlive their schedulers."""
    deadline = time.monotonic() + seconds
    while (found := _with_home(home)) and time.monotonic() < deadline:
        time.sleep(0.5)
    return found


def _with_home(home: Path) -> list[int]:
    mark = f"AIRFLOW_HOME={home}".encode()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
    return found


def _parent(pid: int) -> int | None:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    except OSError:
        return None


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)
