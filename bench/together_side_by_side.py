"""The story of `bench/side_by_side`. Run by the virtualenv's Python, as that script does."""

import argparse
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

from execution_sides import free_port
from measuring import AIRFLOW, adopt_orphans, running
from together import facts, report
from together.checks import check_all
from together.database import own_server
from together.fleet import Component
from together.workload import make_dags
from together.world import World

INSTANCES_OF_A_DAG = 24


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="bench/side_by_side")
    parser.add_argument("--program", required=True)
    parser.add_argument("--database", choices=("postgres", "mariadb"), default="postgres")
    parser.add_argument("--ours", type=int)
    parser.add_argument("--official", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--dags", type=int, default=100)
    parser.add_argument("--keep", type=Path, help="a folder for the logs and the facts")
    options = parser.parse_args(arguments)
    is_postgres = options.database == "postgres"
    official = options.official if options.official is not None else int(is_postgres)
    ours = options.ours if options.ours is not None else 3 - int(is_postgres)
    adopt_orphans()
    began = time.monotonic()

    def say(what: str) -> None:
        print(f"{time.monotonic() - began:7.1f} {what}", flush=True)

    with (
        own_server(options.database) as database,
        tempfile.TemporaryDirectory() as folder,
        ExitStack() as stack,
    ):
        home = options.keep or Path(folder)
        home.mkdir(exist_ok=True)
        world = World(home, database, str(Path(options.program).resolve()), say)
        dags = make_dags(options.seed, "dag", options.dags, INSTANCES_OF_A_DAG)
        world.prepare(
            {f"dags_{n:02}": dags[n * 10 : n * 10 + 10] for n in range((len(dags) + 9) // 10)}, official > 0
        )
        commands = [[world.program, "scheduler"]] * ours + [[str(AIRFLOW), "scheduler"]] * official
        api = _api_settings() if official else {}
        if official:
            environment = world.environment("api_server") | api
            stack.enter_context(running([str(AIRFLOW), "api-server"], environment, home))
        schedulers = []
        for number, command in enumerate(commands):
            kind = "official" if command[0] == str(AIRFLOW) else "ours"
            name = f"scheduler_{number}_{kind}"
            own = {"AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT": str(free_port())}
            one = Component(name, command, world.environment(name) | api | own, home)
            one.start()
            stack.callback(one.end)
            schedulers.append(one)
        processor = world.start_processor()
        stack.callback(processor.end)
        _wait_for_heartbeats(world, len(schedulers))
        say("all DAGs are let go")
        world.release("dag", dags)
        is_over = world.wait_for_the_end(lambda: _see_that_all_live([*schedulers, processor]))
        seconds = time.monotonic() - began
        found = world.facts()
        facts.save(found, home / "facts.json")
    verdict = check_all(found)
    print(report.figures(found, seconds, Counter()))
    print(f"{ours} of ours and {official} official on {options.database}: {verdict}", flush=True)
    return 0 if is_over and verdict.is_good else 1


def _api_settings() -> dict[str, str]:
    """By which an official scheduler's tasks find the API server."""
    port = str(free_port())
    return {
        "AIRFLOW__API__PORT": port,
        "AIRFLOW__API__BASE_URL": f"http://127.0.0.1:{port}",
        "AIRFLOW__API__SECRET_KEY": "of schedulers side by side",
        "AIRFLOW__API_AUTH__JWT_SECRET": "of schedulers side by side " * 3,
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
    }


def _wait_for_heartbeats(world: World, count: int) -> None:
    """So that no kind does all of the work while another is still starting."""
    alive = "SELECT count(*) FROM job WHERE job_type = 'SchedulerJob' AND state = 'running'"
    deadline = time.monotonic() + 180
    while world.database.ask(alive)[0][0] < count:
        if time.monotonic() > deadline:
            raise SystemExit("the schedulers do not start")
        time.sleep(0.5)


def _see_that_all_live(components: list[Component]) -> None:
    for one in components:
        if not one.lives:
            raise SystemExit(f"{one.name} has ended:\n{one.log.read_text(errors='replace')[-3000:]}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
