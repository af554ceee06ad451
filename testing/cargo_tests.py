"""Cargo's tests: built once, then several of their programs at a time.

Cargo runs one program of tests after the other. Ours wait most of the time, for an Airflow to start or
for something to happen, so that takes much longer than it has to.
"""

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from testing import guard
from testing.paths import LOGS, ROOT
from testing.progress import Failure, say

# Those that take longest begin first, so that none of them is alone at the end.
LONGEST_FIRST = (
    "ferroflow/cli",
    "ferroflow/scheduler",
    "ferroflow/execution",
    "ferroflow-scheduler/user_code",
    "ferroflow/dag_processing",
    "ferroflow-scheduler/simulation",
    "ferroflow/faults",
    "ferroflow-scheduler/runs",
    "ferroflow-scheduler/bad_rows",
)


@dataclass(frozen=True)
class Program:
    """A program with tests in it."""

    name: str
    executable: Path
    package: Path

    def start(self, env: Mapping[str, str], log: Path) -> subprocess.Popen:
        log.parent.mkdir(parents=True, exist_ok=True)
        own = {"CARGO_MANIFEST_DIR": str(self.package)}
        with log.open("wb") as output:
            return guard.spawn(
                [self.executable], env=env | own, cwd=self.package, stdout=output, stderr=subprocess.STDOUT
            )

    @property
    def log_name(self) -> str:
        return f"{self.name.replace('/', '-')}.log"


def run(pinned: Sequence[str], env: Mapping[str, str], times: int, is_busy: bool) -> None:
    """Runs all of them, so many times, whatever fails: it takes long, and all that is wrong is to show."""
    programs = _build(pinned, env)
    failed = []
    with _busy_cores() if is_busy else contextlib.nullcontext():
        for number in range(1, times + 1):
            started = time.monotonic()
            logs = LOGS / "tests" / (str(number) if times > 1 else "")
            failures = _run_once(programs, pinned, env, logs)
            if times > 1:
                took = time.monotonic() - started
                say(f"\n     Run {number} of {times}: {', '.join(failures) or 'all passed'} ({took:.0f} s)")
            failed += failures
    if failed:
        raise Failure(f"tests failed: {', '.join(sorted(set(failed)))}")


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


def _run_once(
    programs: Sequence[Program], pinned: Sequence[str], env: Mapping[str, str], logs: Path
) -> list[str]:
    """Answers which failed."""
    places = {name: place for place, name in enumerate(LONGEST_FIRST)}
    waiting = sorted(programs, key=lambda program: places.get(program.name, len(places)), reverse=True)
    running: dict[int, tuple[Program, subprocess.Popen, float]] = {}
    failed = []
    while waiting or running:
        while waiting and len(running) < _at_a_time():
            program = waiting.pop()
            process = program.start(env, logs / program.log_name)
            running[process.pid] = program, process, time.monotonic()
        ended = guard.wait_for_one([process for _, process, _ in running.values()])
        program, process, started = running.pop(ended.pid)
        if process.returncode != 0:
            failed.append(program.name)
        _tell(program, logs, process.returncode, time.monotonic() - started)
    if guard.wait(guard.spawn(_cargo("--doc", *pinned), env=env, cwd=ROOT)) != 0:
        failed.append("documentation")
    return failed


def _build(pinned: Sequence[str], env: Mapping[str, str]) -> list[Program]:
    listing = LOGS / "tests.jsonl"
    listing.parent.mkdir(parents=True, exist_ok=True)
    command = _cargo("--no-run", "--message-format=json-render-diagnostics", *pinned)
    with listing.open("wb") as output:
        code = guard.wait(guard.spawn(command, env=env, cwd=ROOT, stdout=output))
    if code != 0:
        raise Failure(f"{' '.join(command)}: exit status {code}")
    messages = map(json.loads, listing.read_text().splitlines())
    return [_program(message) for message in messages if message.get("executable") and _is_test(message)]


def _cargo(*words: str) -> list[str]:
    return ["cargo", "test", "--workspace", *words]


def _is_test(message: Mapping) -> bool:
    return message["reason"] == "compiler-artifact" and message["profile"]["test"]


def _program(message: Mapping) -> Program:
    package, target = Path(message["manifest_path"]).parent, message["target"]
    kind = "" if target["kind"] == ["test"] else f" ({target['kind'][0]})"
    return Program(f"{package.name}/{target['name']}{kind}", Path(message["executable"]), package)


def _at_a_time() -> int:
    # They share the servers, and each has threads of its own.
    return min(max(len(os.sched_getaffinity(0)), 2), 4)


def _tell(program: Program, logs: Path, code: int, seconds: float) -> None:
    say(f"\n     Running {program.name}")
    say((logs / program.log_name).read_text(errors="replace").strip("\n"))
    say(f"     {program.name}: {'ok' if code == 0 else f'exit status {code}'} ({seconds:.0f} s)")
