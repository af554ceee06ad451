"""The virtualenv of the official Airflow, kept between runs.

It is installed by plain pip because that obeys whatever pip is told on this machine: its
configuration files, its PIP_ variables, its certificates.
"""

import fcntl
import hashlib
import os
import platform
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from testing import environment
from testing.paths import BUILD_LOCK, CACHE, CACHE_LOCK, LOCK
from testing.progress import run_logged, say

PREFIX = "venv-"
COMPLETE = ".complete"


def ensure() -> Path:
    key = _key()
    path = CACHE / f"{PREFIX}{key[:16]}"
    with _cache_locked():
        if not _is_complete(path, key):
            _build(path)
            # Written last, and at once: an interrupted installation never has it.
            _write_atomically(path / COMPLETE, key)
        _use(path)
        _remove_unused(path)
    return path


def _key() -> str:
    # A virtualenv cannot be moved: its scripts name its path.
    identity = (platform.python_implementation(), platform.python_version(), platform.machine())
    text = "\n".join((*identity, sys.base_prefix, str(CACHE)))
    return hashlib.sha256(text.encode() + BUILD_LOCK.read_bytes() + LOCK.read_bytes()).hexdigest()


def _is_complete(path: Path, key: str) -> bool:
    try:
        marked = (path / COMPLETE).read_text() == key
    except (OSError, UnicodeDecodeError):
        return False
    # Its interpreter is a link to one that may have been uninstalled.
    return marked and os.access(path / "bin" / "python", os.X_OK)


def _build(path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True)
    env = environment.for_pip()
    python = path / "bin" / "python"
    log = "venv.log"
    run_logged("creating the virtualenv", [sys.executable, "-m", "venv", path], log, env)
    pip = [python, "-m", "pip", "--disable-pip-version-check"]
    install = [*pip, "install", "--no-input", "--require-hashes", "--no-deps"]
    run_logged("installing what builds packages into it", [*install, "-r", BUILD_LOCK], log, env)
    # Isolated builds would fetch whatever version of these is the newest.
    run_logged(
        "installing the official Airflow into it",
        [*install, "--no-build-isolation", "-r", LOCK],
        log,
        env,
    )
    run_logged("checking what is installed", [*pip, "check"], log, env)


def _write_atomically(path: Path, text: str) -> None:
    new = path.with_name(path.name + ".new")
    new.write_text(text)
    new.replace(path)


def _use(path: Path) -> None:
    """Tells other runs, until this process ends, not to remove it."""
    fcntl.flock(os.open(path, os.O_RDONLY | os.O_DIRECTORY), fcntl.LOCK_SH)


def _remove_unused(path: Path) -> None:
    for other in CACHE.glob(PREFIX + "*"):
        if other != path:
            with suppress(BlockingIOError), _opened(other) as directory:
                fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(other, ignore_errors=True)


@contextmanager
def _opened(directory: Path) -> Iterator[int]:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def _cache_locked() -> Iterator[None]:
    """Two runs at once must not both install."""
    CACHE.mkdir(exist_ok=True)
    # Not truncated before it is locked: it names the one who holds it.
    with CACHE_LOCK.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"    waiting for another ./test to prepare .cache: {_holder()}")
            fcntl.flock(file, fcntl.LOCK_EX)
        file.truncate(0)
        file.write(f"process {os.getpid()}")
        file.flush()
        yield


def _holder() -> str:
    return CACHE_LOCK.read_text(errors="replace") or "process unknown"
