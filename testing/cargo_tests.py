"""Cargo's tests: built once, run by cargo-nextest, then what took longest."""

import contextlib
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from testing import guard, nextest
from testing.paths import LOGS, ROOT
from testing.progress import Failure, say

SHOWN = 30


@dataclass(frozen=True)
class How:
    """How often all tests are run, and beside what."""

    times: int = 1
    is_busy: bool = False
    at_a_time: int | None = None


def build(pinned: Sequence[str], env: Mapping[str, str], *which: str) -> None:
    _check(nextest.command("run", "--no-run", *which, *pinned), env)


def run(pinned: Sequence[str], env: Mapping[str, str], how: How) -> None:
    """Runs all of them, so many times, whatever fails: it takes long, and all that is wrong is to show."""
    failed = []
    with _busy_cores() if how.is_busy else contextlib.nullcontext():
        for number in range(1, how.times + 1):
            failed += _run_once(pinned, env, how, number)
    if not _succeeds(["cargo", "test", "--workspace", "--doc", *pinned], env):
        failed.append("documentation")
    if failed:
        raise Failure(f"tests failed: {', '.join(sorted(set(failed)))}")


def run_some(pinned: Sequence[str], env: Mapping[str, str], *which: str) -> None:
    """Runs those that cargo-nextest is told to, once."""
    logs = LOGS / "tests"
    failed = _failed(nextest.command("run", *which, *pinned), env, logs)
    if failed:
        raise Failure(f"tests failed: {', '.join(sorted(failed))}")


@contextlib.contextmanager
def _busy_cores() -> Iterator[None]:
    """Keeps every core at work with something else: what passes by chance on a quiet machine shows."""
    loop = [sys.executable, "-c", "while True: pass"]
    load = [guard.spawn(loop) for _ in os.sched_getaffinity(0)]
    try:
        yield
    finally:
        for process in load:
            process.kill()
            process.wait()


def _run_once(pinned: Sequence[str], env: Mapping[str, str], how: How, number: int) -> list[str]:
    threads = ["--test-threads", str(how.at_a_time or _twice_the_cores())]
    logs = LOGS / "tests" / (str(number) if how.times > 1 else "")
    failed = _failed(nextest.command("run", *threads, *pinned), env, logs)
    if how.times > 1:
        say(f"\n     Run {number} of {how.times}: {', '.join(failed) or 'all passed'}")
    return failed


def _failed(command: Sequence[str], env: Mapping[str, str], logs: Path) -> list[str]:
    """Answers which failed."""
    nextest.forget_reports()
    is_good = _succeeds(command, env)
    tests = nextest.tests()
    _keep_logs(tests, logs)
    _show_slowest(tests)
    failed = [f"{test.program} {test.name}" for test in tests if test.has_failed]
    return failed if is_good or failed else ["cargo nextest"]


def _twice_the_cores() -> int:
    # Most wait for most of their time, but they share the servers.
    return min(2 * max(len(os.sched_getaffinity(0)), 2), 8)


def _keep_logs(tests: Sequence[nextest.Test], logs: Path) -> None:
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir(parents=True)
    for test in tests:
        (logs / test.log_name).write_text(test.output)


def _show_slowest(tests: Sequence[nextest.Test]) -> None:
    slowest = sorted(tests, key=lambda test: -test.seconds)[:SHOWN]
    total = sum(test.seconds for test in tests)
    say(f"\n     The slowest {len(slowest)} of {len(tests)} tests, which took {total:.0f} s one by one:")
    for test in slowest:
        say(f"     {test.seconds:7.1f} s  {test.program} {test.name}")


def _check(command: Sequence[str], env: Mapping[str, str]) -> None:
    if not _succeeds(command, env):
        raise Failure(f"{' '.join(command)}: it failed, see above")


def _succeeds(command: Sequence[str], env: Mapping[str, str]) -> bool:
    return guard.wait(guard.spawn(command, env=env, cwd=ROOT)) == 0
