"""The story of `bench/chaos`. Run by the virtualenv's Python, as that script does."""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from measuring import adopt_orphans
from together import breakages, facts, fleet, report, tampering
from together.checks import Verdict, check_all
from together.database import own_server
from together.facts import Facts
from together.faults import Chaos
from together.fleet import Component
from together.workload import Dag, make_dags
from together.world import World

# DAGs come in waves: the next one when few runs of the last are left, so that faults always meet work.
DAGS_OF_A_WAVE = 11
INSTANCES_OF_A_DAG = 8
FEW_RUNS = 9


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="bench/chaos")
    parser.add_argument("--program", required=True)
    parser.add_argument("--database", choices=("postgres", "mariadb"), default="postgres")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--faults", type=int, default=200)
    parser.add_argument("--schedulers", type=int, default=3)
    parser.add_argument("--keep", type=Path, help="a folder for the logs and the facts")
    parser.add_argument("--breakages", nargs="*", help="see that the checks notice what guards prevent")
    options = parser.parse_args(arguments)
    adopt_orphans()
    if options.breakages is not None:
        return breakages.prove(options.breakages, lambda program: _let_happen(options, program)[1])
    found, verdict = _let_happen(options, options.program)
    if verdict.is_good and (missed := tampering.prove(found)):
        print("\n".join(["THE CHECKS DO NOT NOTICE:", *missed]))
        return 1
    return 0 if verdict.is_good else 1


def _let_happen(options: argparse.Namespace, program: str) -> tuple[Facts, Verdict]:
    began = time.monotonic()

    def say(what: str) -> None:
        print(f"{time.monotonic() - began:7.1f} {what}", flush=True)

    with own_server(options.database) as database, tempfile.TemporaryDirectory() as folder:
        home = options.keep or Path(folder)
        home.mkdir(exist_ok=True)
        world = World(home, database, str(Path(program).resolve()), say)
        waves = [f"wave_{number:02}" for number in range(4 + options.faults // 2)]
        groups = {name: make_dags(options.seed, name, DAGS_OF_A_WAVE, INSTANCES_OF_A_DAG) for name in waves}
        world.prepare(groups, official=False)
        schedulers = _schedulers(world, options.schedulers)
        processor = world.start_processor()
        chaos = Chaos(options.seed, database, schedulers, [processor], say, world.hang)
        try:
            _cause(world, chaos, groups, options.faults)
        finally:
            chaos.put_right(everything=True)
            codes = {one.name: one.end() for one in (*schedulers, processor)}
        seconds = time.monotonic() - began
        found = world.facts()
        found.excuses = chaos.excuses
        facts.save(found, home / "facts.json")
        verdict = check_all(found)
        _look_at_processes(codes, home, verdict)
    print(report.figures(found, seconds, chaos.happened))
    for words, times in chaos.gave_up.items():
        print(f"ended by itself, {times} times: {words}")
    print(f"seed {options.seed} on {options.database}: {verdict}", flush=True)
    return found, verdict


def _schedulers(world: World, count: int) -> list[Component]:
    library = fleet.build_clock(world.home)
    schedulers = []
    for number in range(count):
        name = f"scheduler_{number}"
        one = Component(name, [world.program, "scheduler"], world.environment(name), world.home)
        one.with_own_clock(library)
        one.start()
        schedulers.append(one)
    return schedulers


def _cause(world: World, chaos: Chaos, groups: dict[str, list[Dag]], count: int) -> None:
    """Faults while there is work, and peace until all is done."""
    _wait_until_ready(chaos)
    waiting = list(groups)

    def release_if_few() -> None:
        if waiting and world.unfinished() < FEW_RUNS:
            name = waiting.pop(0)
            world.say(f"{name} is let go")
            world.release(name, groups[name])

    while chaos.count < count:
        chaos.put_right()
        release_if_few()
        if not waiting:
            raise SystemExit("there is no work left for so many faults")
        chaos.next_fault()
        pause = time.monotonic() + chaos.chance.uniform(0.5, 4)
        while time.monotonic() < pause:
            time.sleep(0.1)
            chaos.put_right()
    world.say("no more faults")
    chaos.put_right(everything=True)
    world.wait_for_the_end(chaos.put_right)


def _wait_until_ready(chaos: Chaos) -> None:
    """That a program takes its time to start is not what is measured."""
    deadline = time.monotonic() + 180
    while not all(one.is_ready for one in chaos.schedulers):
        if time.monotonic() > deadline:
            raise SystemExit("the schedulers do not start")
        chaos.put_right()
        time.sleep(0.1)


def _look_at_processes(codes: dict[str, int | None], home: Path, verdict: Verdict) -> None:
    wrong = [f"{name} ended with {code} when it was told to end" for name, code in codes.items() if code != 0]
    wrong += [f"process {pid} is left" for pid in fleet.left_over(home)]
    if wrong:
        verdict.violations["processes end"] = wrong


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
