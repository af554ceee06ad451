"""Record which task instances the installed Airflow's critical section queues, to admission.json.gz.

The scenarios are random, but the same for the same seed: pools, teams, DAGs, runs, limits, executors, and
task instances in every state. Of each, `SchedulerJobRunner._executable_task_instances_to_queued` is asked
again and again, with what it gave being queued, until it gives nothing more. All that it gave is recorded, in
order and with the executor of each. The database is a throw-away SQLite file. Stand-ins are the serialized
DAGs, of which only the limits of tasks are read, and the executors, of which only the free slots are.

The order of candidates leaves nothing to chance: no two runs have the same logical date, and no two tasks of
a DAG the same priority.

    <venv>/bin/python testdata/admission/record_admission.py                   # write
    <venv>/bin/python testdata/admission/record_admission.py SEED SIZE FILE    # write other scenarios
"""

import datetime
import gzip
import json
import os
import random
import sys
import tempfile
import types
import uuid
from pathlib import Path

KEPT = (20261116, 400, Path(__file__).resolve().parent / "admission.json.gz")
EXECUTORS = (
    ("LocalExecutor", "airflow.executors.local_executor.LocalExecutor"),
    ("quick", "site.executors.QuickExecutor"),
    (None, "site.executors.SlowExecutor"),
)
TEAMS = ("red", "blue")
# What counts somewhere, and some of what counts nowhere.
STATES = ("queued", "running", "deferred", "awaiting_input", "success", "up_for_retry", "restarting")
FIRST_DAY = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)


def main() -> int:
    arguments = sys.argv[1:]
    seed, size, path = (int(arguments[0]), int(arguments[1]), Path(arguments[2])) if arguments else KEPT
    with tempfile.TemporaryDirectory() as home:
        prepare(home)
        scenarios = []
        for number in range(size):
            scenario = made_up(random.Random(f"{seed} {number}"))
            scenarios.append(scenario | {"queued": asked(scenario)})
    write(path, {"seed": seed, "size": size}, scenarios)
    print(f"recorded {size} scenarios, in which {sum(len(one['queued']) for one in scenarios)} were queued")
    return 0


def prepare(home: str) -> None:
    """Import Airflow with nothing configured, and make its tables."""
    for name in [name for name in os.environ if name.startswith("AIRFLOW")]:
        del os.environ[name]
    os.environ["AIRFLOW_HOME"] = home
    os.environ["AIRFLOW__LOGGING__LOGGING_LEVEL"] = "CRITICAL"
    from airflow import models, settings
    from airflow.models.base import Base

    models.import_all_models()
    Base.metadata.create_all(settings.engine)


def made_up(chance: random.Random) -> dict:
    """Everything that admission depends on, except for time."""
    multi_team = chance.random() < 0.3
    odd = chance.random() < 0.1
    executors = made_up_executors(chance, multi_team)
    pools = [
        {
            "name": f"pool{number}",
            "slots": chance.choice((-1, 0, 1, 2, 3, 4, 6, 8, 12, 20, 40)),
            "include_deferred": chance.random() < 0.5,
            "team": chance.choice((None, None, *TEAMS)) if multi_team else None,
        }
        for number in range(chance.randint(1, 4))
    ]
    dags = [
        {
            "dag_id": f"dag{number}",
            "max_active_tasks": chance.choice((1, 2, 3, 5, 16, 16, 16, 16)) if chance.random() < 0.97 else 0,
            "is_paused": chance.random() < 0.08,
            "team": chance.choice((None, *TEAMS)) if multi_team else None,
            "tasks": made_up_tasks(chance, odd, pools, executors),
        }
        for number in range(chance.randint(1, 5))
    ]
    runs = [(dag["dag_id"], f"run{number}") for dag in dags for number in range(chance.randint(1, 4))]
    days = chance.sample(range(1000), len(runs))
    return {
        "multi_team": multi_team,
        "page": chance.choice((1, 2, 3, 5, 16, 100)),
        "pools": pools,
        "executors": executors,
        "dags": dags,
        "runs": [[dag, run, day] for (dag, run), day in zip(runs, days, strict=True)],
        "instances": made_up_instances(chance, dags, runs),
    }


def made_up_executors(chance: random.Random, multi_team: bool) -> list[dict]:
    count = chance.choice((1, 1, 2, 3))
    found = [
        {
            "alias": alias,
            "module_path": path,
            "team": None,
            "slots": chance.choice((0, 2, 4, 8, 32, 32, 32, 32)),
        }
        for alias, path in EXECUTORS[:count]
    ]
    if multi_team:
        alias, path = chance.choice(EXECUTORS)
        found.append({"alias": alias, "module_path": path, "team": chance.choice(TEAMS), "slots": 4})
    return found


def made_up_tasks(chance: random.Random, odd: bool, pools: list[dict], executors: list[dict]) -> list[dict]:
    names = [name for one in executors for name in (one["alias"], one["module_path"]) if name]
    names += [one["module_path"].split(".")[-1] for one in executors]
    count = chance.randint(1, 4)
    priorities = chance.sample(range(1, 7), count)
    pool_names = [pool["name"] for pool in pools]
    return [
        {
            "task_id": f"task{number}",
            "priority": priorities[number],
            "pool": chance.choice(pool_names) if chance.random() < 0.96 else "nowhere",
            "pool_slots": chance.choice((-2, -1, 0, 1, 2)) if odd else chance.choice((1, 1, 1, 1, 2, 3, 5)),
            "executor": chance.choice((None, None, *names, "NoSuchExecutor" if odd else None)),
            "per_dag": chance.choice((None, None, None, None, 1, 2, 4)) if chance.random() < 0.97 else 0,
            "per_dagrun": chance.choice((None, None, None, None, 1, 2)) if chance.random() < 0.97 else 0,
        }
        for number in range(count)
    ]


def made_up_instances(chance: random.Random, dags: list[dict], runs: list[tuple]) -> list[list]:
    """Which instances there are: DAG, run, task, map index, state."""
    tasks = {dag["dag_id"]: dag["tasks"] for dag in dags}
    share = chance.choice((0.5, 0.8, 0.95))
    found = []
    for dag_id, run_id in runs:
        for task in tasks[dag_id]:
            mapped = chance.choice((0, 0, 1, 3, 6))
            for index in range(mapped) if mapped else (-1,):
                state = "scheduled" if chance.random() < share else chance.choice(STATES)
                found.append([dag_id, run_id, task["task_id"], index, state])
    return found


def asked(scenario: dict) -> list[list]:
    """Whom Airflow queues, by the place among the instances, each with the place of its executor."""
    from airflow import settings
    from airflow.jobs.job import Job
    from airflow.jobs.scheduler_job_runner import SchedulerJobRunner

    session = settings.Session()
    fill(session, scenario)
    executors = [StandIn(**executor) for executor in scenario["executors"]]
    runner = SchedulerJobRunner(job=Job(id=1), executors=executors)
    runner._multi_team = scenario["multi_team"]
    runner.scheduler_dag_bag = serialized(scenario)
    places = {tuple(one[:4]): place for place, one in enumerate(scenario["instances"])}
    queued = []
    while found := runner._executable_task_instances_to_queued(max_tis=scenario["page"], session=session):
        for instance in found:
            executor = runner._try_to_load_executor(instance, session)
            executor.slots_available -= 1
            key = (instance.dag_id, instance.run_id, instance.task_id, instance.map_index)
            queued.append([places[key], executors.index(executor)])
        session.commit()
        session.expunge_all()
    session.close()
    return queued


def fill(session, scenario: dict) -> None:
    """Empty the tables, and put the rows of a scenario in."""
    from airflow.models.base import Base

    tables = Base.metadata.tables
    for name in ("task_instance", "dag_run", "dag", "slot_pool", "dag_bundle_team", "dag_bundle", "team"):
        session.execute(tables[name].delete())
    rows = {
        "team": [{"name": team} for team in TEAMS],
        "dag_bundle": [{"name": name} for name in ("bundle", *TEAMS)],
        "dag_bundle_team": [{"dag_bundle_name": team, "team_name": team} for team in TEAMS],
        "slot_pool": [
            {
                "pool": pool["name"],
                "slots": pool["slots"],
                "include_deferred": pool["include_deferred"],
                "team_name": pool["team"],
            }
            for pool in scenario["pools"]
        ],
        "dag": [dag_row(dag) for dag in scenario["dags"]],
        "dag_run": [run_row(*run) for run in scenario["runs"]],
        "task_instance": instance_rows(scenario),
    }
    for name, values in rows.items():
        session.execute(tables[name].insert(), values)
    session.commit()


def dag_row(dag: dict) -> dict:
    return {
        "dag_id": dag["dag_id"],
        "is_paused": dag["is_paused"],
        "is_stale": False,
        "bundle_name": dag["team"] or "bundle",
        "max_active_tasks": dag["max_active_tasks"],
        "max_active_runs": 16,
        "max_consecutive_failed_dag_runs": 0,
        "has_task_concurrency_limits": any(
            task["per_dag"] is not None or task["per_dagrun"] is not None for task in dag["tasks"]
        ),
    }


def run_row(dag_id: str, run_id: str, day: int) -> dict:
    due = FIRST_DAY + datetime.timedelta(days=day)
    return {
        "dag_id": dag_id,
        "run_id": run_id,
        "logical_date": due,
        "run_after": due,
        "state": "running",
        "run_type": "scheduled",
    }


def instance_rows(scenario: dict) -> list[dict]:
    tasks = {(dag["dag_id"], task["task_id"]): task for dag in scenario["dags"] for task in dag["tasks"]}
    rows = []
    for number, (dag_id, run_id, task_id, map_index, state) in enumerate(scenario["instances"]):
        task = tasks[dag_id, task_id]
        rows.append(
            {
                "id": uuid.UUID(int=number + 1),
                "dag_id": dag_id,
                "run_id": run_id,
                "task_id": task_id,
                "map_index": map_index,
                "state": state,
                "pool": task["pool"],
                "pool_slots": task["pool_slots"],
                "priority_weight": task["priority"],
                "executor": task["executor"],
            }
        )
    return rows


class StandIn:
    """An executor with nothing but its name and its free slots."""

    pre_assigns_external_executor_id = False

    def __init__(self, alias: str | None, module_path: str, team: str | None, slots: int) -> None:
        from airflow.executors.executor_utils import ExecutorName

        self.name = ExecutorName(module_path, alias, team)
        self.team_name = team
        self.slots_available = slots


def serialized(scenario: dict):
    """The serialized DAGs, as far as their limits go."""
    dags = {}
    for dag in scenario["dags"]:
        tasks = {
            task["task_id"]: types.SimpleNamespace(
                max_active_tis_per_dag=task["per_dag"], max_active_tis_per_dagrun=task["per_dagrun"]
            )
            for task in dag["tasks"]
        }
        dags[dag["dag_id"]] = types.SimpleNamespace(has_task=tasks.__contains__, get_task=tasks.__getitem__)
    return types.SimpleNamespace(get_dag_for_run=lambda dag_run, session: dags[dag_run.dag_id])


def write(path: Path, meta: dict, scenarios: list[dict]) -> None:
    lines = ",\n".join(json.dumps(scenario, separators=(",", ":")) for scenario in scenarios)
    text = f'{{"meta":{json.dumps(meta)},"scenarios":[\n{lines}\n]}}\n'.encode()
    # Another zlib may compress the same differently.
    if not path.exists() or gzip.decompress(path.read_bytes()) != text:
        path.write_bytes(gzip.compress(text, compresslevel=9, mtime=0))


if __name__ == "__main__":
    sys.exit(main())
