"""What `./test` prints about itself."""

import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

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
    what: str, command: Sequence[str | Path], log_name: str, env: Mapping[str, str] | None = None
) -> None:
    """Runs a long command whose output only matters if it fails."""
    LOGS.mkdir(parents=True, exist_ok=True)
    log = LOGS / log_name
    with log.open("ab") as output, _ticker(f"{what} (log: {log.relative_to(ROOT)})") as tick:
        output.write(f"\n$ {' '.join(map(str, command))}\n".encode())
        output.flush()
        process = guard.spawn(command, stdout=output, stderr=subprocess.STDOUT, env=env, cwd=ROOT)
        while process.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=1)
            tick()
    if process.returncode != 0:
        print_tail(log)
        raise Failure(f"{what}: exit status {process.returncode}")


def print_tail(log: Path) -> None:
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    say(f"--- the last lines of {log}:")
    for line in lines[-TAIL_LINES:]:
        say(f"    {line}")
    say("---")


@contextlib.contextmanager
def _ticker(line: str) -> Iterator:
    if not sys.stdout.isatty():
        say(f"    {line}")
        yield lambda: None
        return
    started = time.monotonic()

    def tick() -> None:
        with contextlib.suppress(OSError):
            print(f"\r    {line} {time.monotonic() - started:.0f} s", end="", flush=True)

    tick()
    try:
        yield tick
    finally:
        say("")
