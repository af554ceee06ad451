"""Makes sure that a run leaves no process and no file behind, however it ends.

The process the user started only watches; a child of it, the worker, does the work. Both are
"child subreapers": a process below them whose parent ended becomes theirs instead of init's, so
that everything a run ever started can be found as their descendant.

- An ordinary end, an error or a signal: the worker ends its descendants and removes the run's
  directory. The watcher only passes signals on.
- The watcher is killed with SIGKILL: the kernel sends the worker SIGTERM, and it cleans up.
- The worker is killed with SIGKILL: the watcher cleans up.
- Both are: the kernel ends what the worker started directly, the servers above all. The next run
  removes the directory.

What must not be ended half-way, apt-get, is the exception: it runs in a session of its own, and
whoever cleans up waits for that session first.
"""

import contextlib
import ctypes
import fcntl
import mmap
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from testing import processes

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

RUN_DIR_PREFIX = "ferroflow-test-"
SHARED_MEMORY = Path("/dev/shm")
SHARED_MEMORY_NEEDED = 2 << 30

# How long a process may take to end by itself before it is killed.
GRACE_SECONDS = 5

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None, use_errno=True)


class Interrupted(BaseException):
    """A signal asked the run to end. Not an Exception, so that no handler of errors keeps it."""

    def __init__(self, number: int):
        super().__init__(number)
        self.signal = signal.Signals(number)


def run(work: Callable[[Path], int], cleanup: Callable[[], None]) -> int:
    """Runs `work` with a directory of its own, and undoes everything it leaves behind.

    `cleanup` undoes what is neither a process nor in that directory; it is called several times.
    """
    _remove_stale_run_dirs()
    cleanup()
    run_dir, run_dir_lock = _make_run_dir()
    _become_subreaper()

    # A signal between the fork and the handlers would end one process and not the other.
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    watcher = os.getpid()
    worker = os.fork()
    if worker == 0:
        _work(work, cleanup, run_dir, watcher)

    _handle_signals(lambda number, _: processes.send(worker, number))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    _, status = os.waitpid(worker, 0)
    _clean_up(cleanup, run_dir)
    os.close(run_dir_lock)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def spawn(
    command: Sequence[str | Path],
    *,
    death_signal: int = signal.SIGKILL,
    terminal: bool = False,
    session: bool = False,
    **options,
) -> subprocess.Popen:
    """Starts a process in a process group of its own, away from the terminal's Ctrl-C, or even in
    a session of its own.

    It gets `death_signal` should the worker be killed. With `terminal`, it is given the terminal
    as a shell would, Ctrl-C included. Must be called in the main thread: `death_signal` is sent
    when the thread that called ends.
    """
    parent = os.getpid()

    def prepare() -> None:
        # Runs after the change of user, if any: that change resets the death signal.
        _prctl(_PR_SET_PDEATHSIG, death_signal)
        if os.getppid() != parent:
            os._exit(1)
        if session:
            os.setsid()
        else:
            os.setpgid(0, 0)
        if terminal:
            _give_terminal_to(os.getpgrp())

    options.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.Popen(list(map(str, command)), preexec_fn=prepare, **options)


def wait(process: subprocess.Popen) -> int:
    """Waits for a process, and meanwhile reaps every orphan that this process inherited.

    Without that, a daemon that a test started and ended would look alive to that test, as a
    zombie, until the end of the run.
    """
    return wait_for_one([process]).returncode


def wait_for_one(running: Sequence[subprocess.Popen]) -> subprocess.Popen:
    """Waits, as `wait` does, for the first of several processes to end."""
    pids = {process.pid for process in running}
    while True:
        for process in running:
            if process.poll() is not None:
                return process
        ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
        if ended.si_pid in _kept:
            _kept[ended.si_pid].poll()
        elif ended.si_pid not in pids:
            os.waitpid(ended.si_pid, 0)


def run_ticking(command: Sequence[str | Path], tick: Callable[[], None], **options) -> int:
    """Runs a command and calls `tick` about every second meanwhile."""
    return _wait_ticking(spawn(command, **options), tick)


def run_to_its_end(command: Sequence[str | Path], tick: Callable[..., None], **options) -> int:
    """Runs a command that must not be ended half-way, and calls `tick` like `run_ticking`.

    The first signal takes effect when the command has ended. A further one asks the command, by
    SIGINT, to stop where it can; what the command started is sent nothing.
    """
    signals: list[int] = []
    _handle_signals(lambda number, _: signals.append(number))
    try:
        process = spawn(command, death_signal=0, session=True, **options)
        _session[:] = process.pid.to_bytes(len(_session), sys.byteorder)
        code = _wait_ticking(process, _signals_told(process, signals, tick))
        # One that ended by itself has waited for what it started.
        if code >= 0:
            _session[:] = bytes(len(_session))
        _wait_for_session()
    finally:
        _handle_signals(_interrupt)
    if signals:
        _interrupt(signals[0], None)
    return code


def keep(process: subprocess.Popen, stop_signal: int) -> None:
    """Registers a server: it is ended last, and by the signal that ends it quickly."""
    _kept[process.pid] = process
    _stop_signals[process.pid] = stop_signal


@contextlib.contextmanager
def terminal_kept():
    """Tells whether the terminal is this run's to give, and takes it back afterwards."""
    group = os.getpgid(os.getppid())
    ours = _terminal_group() == group
    try:
        yield ours
    finally:
        if ours:
            _give_terminal_to(group)


_kept: dict[int, subprocess.Popen] = {}
_stop_signals: dict[int, int] = {}

# The session of `run_to_its_end`, or 0. Watcher and worker share this memory.
_session = mmap.mmap(-1, 4)


def _work(work, cleanup, run_dir: Path, watcher: int) -> None:
    """The life of the worker; never returns."""
    code = 1
    try:
        # Out of the watcher's group, so that a signal sent to that whole group, SIGKILL
        # included, leaves one of the two to clean up.
        os.setpgid(0, 0)
        _become_subreaper()
        _handle_signals(_interrupt)
        _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        if os.getppid() == watcher:
            code = work(run_dir)
    except Interrupted as interrupted:
        code = 128 + interrupted.signal
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        _handle_signals(signal.SIG_IGN)
        _clean_up(cleanup, run_dir)
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _interrupt(number: int, _frame) -> None:
    # One signal is enough: a second Ctrl-C must not interrupt the cleaning up.
    _handle_signals(signal.SIG_IGN)
    raise Interrupted(number)


def _wait_ticking(process: subprocess.Popen, tick: Callable[[], None]) -> int:
    while process.poll() is None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=1)
        tick()
    return process.returncode


def _signals_told(
    process: subprocess.Popen, signals: list[int], tick: Callable[..., None]
) -> Callable[[], None]:
    """A `tick` that also tells of the signals that came since the last one, and acts on them.

    Several within one tick count as one: `timeout` sends its signal twice.
    """
    name = Path(process.args[0]).name
    told = 0

    def tick_and_tell() -> None:
        nonlocal told
        if len(signals) == told or process.returncode is not None:
            return tick()
        first, told = told == 0, len(signals)
        if first:
            return tick(f"./test: interrupted; {name} must finish first (again: ask it to stop)")
        processes.send(process.pid, signal.SIGINT)
        return tick(f"./test: asked {name}, process {process.pid}, to stop where it can")

    return tick_and_tell


def _handle_signals(handler) -> None:
    for number in SIGNALS:
        # nohup's wish is respected.
        if number == signal.SIGHUP and signal.getsignal(number) == signal.SIG_IGN:
            continue
        signal.signal(number, handler)


def _clean_up(cleanup: Callable[[], None], run_dir: Path) -> None:
    _wait_for_session()
    _end_descendants()
    cleanup()
    shutil.rmtree(run_dir, ignore_errors=True)


def _wait_for_session() -> None:
    """Waits for what is left of `run_to_its_end` when its command, or the worker, was killed."""
    number = int.from_bytes(_session, sys.byteorder)
    if number and processes.has_session(number):
        with contextlib.suppress(OSError):
            print(f"./test: waiting for the processes of session {number} to finish", flush=True)
        while processes.has_session(number):
            time.sleep(0.1)
    _session[:] = bytes(len(_session))


def _end_descendants() -> None:
    """Ends the tests and what they started, then the servers, then whatever is still there."""
    servers = set(_stop_signals)
    _end(lambda: processes.descendants(without=servers), signal.SIGTERM)
    for pid in servers & set(processes.children_by_parent().get(os.getpid(), ())):
        processes.send(pid, _stop_signals[pid])
    _wait_until_none(processes.descendants, GRACE_SECONDS)
    _end(processes.descendants, signal.SIGKILL)


def _end(find: Callable[[], list[int]], number: int) -> None:
    for pid in find():
        processes.send(pid, number)
    if number != signal.SIGKILL:
        _wait_until_none(find, GRACE_SECONDS)
    # A process may fork between the look and the kill: look again until there is none.
    deadline = time.monotonic() + GRACE_SECONDS
    while (pids := find()) and time.monotonic() < deadline:
        for pid in pids:
            processes.send(pid, signal.SIGKILL)
        time.sleep(0.02)


def _wait_until_none(find: Callable[[], list[int]], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while find() and time.monotonic() < deadline:
        time.sleep(0.02)


def _make_run_dir() -> tuple[Path, int]:
    """A new directory, and the lock on it that tells other runs that it is in use."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=RUN_DIR_PREFIX, dir=_base_dir()))
        try:
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(lock, fcntl.LOCK_EX)
            # Servers of another user have to reach their directories below.
            path.chmod(0o711)
            return path, lock
        except FileNotFoundError:
            # Another run took it for stale before it was locked.
            continue


def _base_dir() -> Path:
    """Memory rather than disk, where there is enough of it (a container often has 64 MiB)."""
    with contextlib.suppress(OSError):
        if (
            os.access(SHARED_MEMORY, os.W_OK | os.X_OK)
            and shutil.disk_usage(SHARED_MEMORY).free >= SHARED_MEMORY_NEEDED
        ):
            return SHARED_MEMORY
    return Path(tempfile.gettempdir())


def _remove_stale_run_dirs() -> None:
    for base in {SHARED_MEMORY, Path(tempfile.gettempdir())}:
        for path in base.glob(RUN_DIR_PREFIX + "*"):
            with contextlib.suppress(OSError):
                _remove_if_stale(path)


def _remove_if_stale(path: Path) -> None:
    lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        if os.fstat(lock).st_uid == os.getuid():
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(lock)


def _terminal_group() -> int | None:
    """The foreground process group, if standard input is a terminal of ours."""
    with contextlib.suppress(OSError):
        if os.isatty(0):
            return os.tcgetpgrp(0)
    return None


def _give_terminal_to(group: int) -> None:
    # From the background this sends SIGTTOU, which would stop the caller.
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTTOU])
    try:
        with contextlib.suppress(OSError):
            os.tcsetpgrp(0, group)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def _become_subreaper() -> None:
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def _prctl(option: int, value: int) -> None:
    if _libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")
