"""What is kept between runs, of every clone of this user: what does not depend on the sources."""

import contextlib
import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from testing.progress import Failure, say

# What no clone has used for so long is removed.
UNUSED_SECONDS = 30 * 24 * 3600


def folder() -> Path:
    path = where()
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Failure(f"{path} cannot be made ({error.strerror}); XDG_CACHE_HOME names another", 2) from None
    return path


def where() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ferroflow-test"


@contextmanager
def locked(name: str) -> Iterator[None]:
    """Two runs at once, of whatever clones, must not both make the same thing."""
    # Not truncated before it is locked: it names the one who holds it.
    with (folder() / f"{name}.lock").open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            say(f"    waiting for another ./test to prepare {name}: {file.read() or 'process unknown'}")
            fcntl.flock(file, fcntl.LOCK_EX)
        file.truncate(0)
        file.write(f"process {os.getpid()}")
        file.flush()
        yield


def use(path: Path) -> None:
    """Tells other runs not to remove a folder while this process lives, nor for a while after."""
    os.utime(path)
    fcntl.flock(os.open(path, os.O_RDONLY | os.O_DIRECTORY), fcntl.LOCK_SH)


def remove_unused(pattern: str) -> None:
    """Removes the folders of such a name that no run uses, and none has used for long."""
    for path in folder().glob(pattern):
        with contextlib.suppress(OSError), _opened(path) as directory:
            if time.time() - path.stat().st_mtime > UNUSED_SECONDS:
                fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)


@contextmanager
def _opened(directory: Path) -> Iterator[int]:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
