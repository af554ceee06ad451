"""The virtualenv of the official Airflow, kept between runs and shared by clones.

It is installed by plain pip because that obeys whatever pip is told on this machine: its
configuration files, its PIP_ variables, its certificates.
"""

import hashlib
import os
import platform
import shutil
import sys
from pathlib import Path

from testing import cache, environment
from testing.paths import BUILD_LOCK, LOCK
from testing.progress import run_logged

PREFIX = "venv-"
COMPLETE = ".complete"


def ensure() -> Path:
    key = _key()
    path = cache.folder() / f"{PREFIX}{key[:16]}"
    with cache.locked("venv"):
        if not _is_complete(path, key):
            _build(path)
            # Written last, and at once: an interrupted installation never has it.
            _write_atomically(path / COMPLETE, key)
        cache.use(path)
        cache.remove_unused(f"{PREFIX}*")
    return path


def _key() -> str:
    # A virtualenv cannot be moved: its scripts name its path.
    identity = (platform.python_implementation(), platform.python_version(), platform.machine())
    text = "\n".join((*identity, sys.base_prefix, str(cache.where())))
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
