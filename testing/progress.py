"""What `./test` prints about itself."""

import contextlib
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from testing import guard
from testing.paths import LOGS, ROOT

TAIL_LINES = 40


class Failure(Exception):
    """Ends the run; its text is the last line printed."""

    def __init__(self, message: str, exit_code: int = 1):
        super().__init__(message)
        self.exit_code = exit_code


def say(text: str) -> None:
    # A terminal that hung up must not keep the run from cleaning up.
    with contextlib.suppress(OSError):
        print(text, flush=True)


@contextlib.contextmanager
def step(name: str) -> Iterator[None]:
    say(f"==> {name}")
    started = time.monotonic()
    outcome = "failed"
    try:
        yield
        outcome = "ok"
    except guard.Interrupted:
        outcome = "interrupted"
        raise
    finally:
        say(f"<== {name}: {outcome} ({time.monotonic() - started:.1f} s)")


def run_logged(
    what: str,
    command: Sequence[str | Path],
    log_name: str,
    env: Mapping[str, str] | None = None,
    *,
    to_its_end: bool = False,
) -> None:
    """Runs a long command whose output only matters if it fails.

    With `to_its_end`, an interrupt takes effect only after the command has ended by itself.
    """
    log = LOGS / log_name
    run = guard.run_to_its_end if to_its_end else guard.run_ticking
    with _opened(log) as output, _ticker(f"{what} (log: {log.relative_to(ROOT)})") as tick:
        output.write(f"\n$ {' '.join(map(str, command))}\n".encode())
        output.flush()
        code = run(command, tick, stdout=output, stderr=subprocess.STDOUT, env=env, cwd=ROOT)
    if code != 0:
        print_tail(log)
        raise Failure(f"{what}: exit status {code}")


def print_tail(log: Path) -> None:
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    say(f"--- the last lines of {log}:")
    for line in lines[-TAIL_LINES:]:
        say(f"    {line}")
    say("---")


def _opened(log: Path) -> BinaryIO:
    """Opens a log, anew if this run has not written to it yet: it would only grow."""
    log.parent.mkdir(parents=True, exist_ok=True)
    mode = "ab" if log in _begun else "wb"
    _begun.add(log)
    return log.open(mode)


_begun: set[Path] = set()


@contextlib.contextmanager
def _ticker(line: str) -> Iterator[Callable[[str], None]]:
    """Yields what shows that time passes, and tells a text if there is one."""
    if not sys.stdout.isatty():
        say(f"    {line}")
        yield lambda text="": say(text) if text else None
        return
    started = time.monotonic()

    def tick(text: str = "") -> None:
        if text:
            say(f"\n{text}")
        with contextlib.suppress(OSError):
            print(f"\r    {line} {time.monotonic() - started:.0f} s", end="", flush=True)

    tick()
    try:
        yield tick
    finally:
        say("")
