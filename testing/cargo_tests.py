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
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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


@dataclass
class Run:
    """One run of all programs."""

    number: int
    left: int
    failed: list[str] = field(default_factory=list)

    def ended(self, program: Program, code: int) -> None:
        self.left -= 1
        if code != 0:
            self.failed.append(program.name)

    def logs(self, times: int) -> Path:
        return LOGS / "tests" / (str(self.number) if times > 1 else "")


def run(
    pinned: Sequence[str], env: Mapping[str, str], times: int, is_busy: bool, at_a_time: int | None
) -> None:
    """Runs all of them, so many times, whatever fails: it takes long, and all that is wrong is to show."""
    programs = _build(pinned, env)
    with _busy_cores() if is_busy else contextlib.nullcontext():
        failed = _run_all(programs, env, times, at_a_time or _as_many_as_cores())
        if guard.wait(guard.spawn(_cargo("--doc", *pinned), env=env, cwd=ROOT)) != 0:
            failed.append("documentation")
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


def _run_all(programs: Sequence[Program], env: Mapping[str, str], times: int, at_a_time: int) -> list[str]:
    """Answers which failed. The next run begins while the last programs of one are still at work."""
    places = {name: place for place, name in enumerate(LONGEST_FIRST)}
    in_order = sorted(programs, key=lambda program: places.get(program.name, len(places)))
    runs = [Run(number, len(programs)) for number in range(1, times + 1)]
    waiting = deque((run, program) for run in runs for program in in_order)
    running: dict[int, tuple[Run, Program, subprocess.Popen, float]] = {}
    while waiting or running:
        while waiting and len(running) < at_a_time:
            run, program = waiting.popleft()
            process = program.start(env, run.logs(times) / program.log_name)
            running[process.pid] = run, program, process, time.monotonic()
        ended = guard.wait_for_one([process for _, _, process, _ in running.values()])
        run, program, process, started = running.pop(ended.pid)
        _tell(program, run.logs(times), process.returncode, time.monotonic() - started)
        run.ended(program, process.returncode)
        if times > 1 and not run.left:
            say(f"\n     Run {run.number} of {times}: {', '.join(run.failed) or 'all passed'}")
    return [name for run in runs for name in run.failed]


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


def _as_many_as_cores() -> int:
    # They share the servers, and each has threads of its own.
    return min(max(len(os.sched_getaffinity(0)), 2), 4)


def _tell(program: Program, logs: Path, code: int, seconds: float) -> None:
    say(f"\n     Running {program.name}")
    say((logs / program.log_name).read_text(errors="replace").strip("\n"))
    say(f"     {program.name}: {'ok' if code == 0 else f'exit status {code}'} ({seconds:.0f} s)")
