"""Random DAGs in random sequences of parses, the same for the same seed."""

import random
from datetime import timedelta

from airflow.providers.standard.operators.bash import BashOperator
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import (
    DAG,
    Asset,
    AssetAlias,
    AssetAll,
    AssetAny,
    AssetOrTimeSchedule,
    AsyncCallback,
    CronDataIntervalTimetable,
    CronTriggerTimetable,
    DeadlineAlert,
    DeadlineReference,
    MultipleCronTriggerTimetable,
    TaskGroup,
)
from sequences import START, instance_sql, run_sql, too_late

ASSETS = [Asset(name, uri=f"s3://{name}", group="g", extra={"e": name}) for name in "pqrs"]
ALIASES = [AssetAlias("one"), AssetAlias("two", group="h")]
OWNERS = ["ann", "bob", "", "zoë", "airflow"]


def sequences(seed, count):
    chance = random.Random(seed)
    return {f"random{number}": steps(chance, f"random{number}") for number in range(count)}


def steps(chance, name):
    """Parses of one file, which mostly repeat the one before with one thing changed."""
    fields = {f"{name}_{dag}": {} for dag in "ab"[: chance.randint(1, 2)]}
    runs, source = 0, "# the file\n"
    for _ in range(8):
        step = {"sql": []}
        if chance.random() < 0.1:
            yield step | {
                "dags": [],
                "source": source,
                "import_errors": {f"{name}.py": f"broken {chance.random()}"},
            }
            continue
        for dag_id in fields:
            if chance.random() < 0.6:
                key, value = random_field(chance)
                fields[dag_id] = fields[dag_id] | {key: value}
            elif fields[dag_id] and chance.random() < 0.3:
                fields[dag_id] = dict(list(fields[dag_id].items())[1:])
        if chance.random() < 0.3:
            source = f"# {chance.random()}\n"
        elif chance.random() < 0.2:
            step["interval"] = "3600"
        step["source"] = source
        step["compress"] = chance.random() < 0.2
        if chance.random() < 0.2:
            step["bundle_version"] = chance.choice(["v1", "v2"])
        if runs and chance.random() < 0.3:
            date = f"'2024-01-{runs + 1:02} 00:00:00.000000'"
            dag_id = chance.choice(list(fields))
            state = chance.choice(["success", "running", "queued"])
            step["sql"] += [run_sql(dag_id, "r" if runs == 1 else f"r{runs}", date, state=state)]
            if runs == 1:
                step["sql"] += [instance_sql(dag_id)]
        runs += 1
        if chance.random() < 0.3:
            kind = chance.choice(["non-existent pool", "runtime varying value"])
            step["warnings"] = [[next(iter(fields)), kind, f"warning {chance.randint(1, 2)}"]]
        yield step | {"dags": [random_dag(dag_id, given) for dag_id, given in fields.items()]}


def random_dag(dag_id, given):
    given = {"start_date": START, "schedule": None, **given}
    if isinstance(given["schedule"], timedelta):
        # Without it the next run depends on the microsecond of the parse.
        given["catchup"] = True
    tasks = given.pop("made_of", [("a", "empty", {})])
    # Airflow forgets to delete references once a file has no asset at all.
    tasks = [*tasks, ("keeper", "empty", {"outlets": [ASSETS[0]], "inlets": [ASSETS[0]]})]
    with DAG(dag_id, **given) as dag:
        previous = None
        for task_id, kind, arguments in tasks:
            if kind == "mapped":
                partial = BashOperator.partial(task_id=task_id, **arguments)
                task = partial.expand(bash_command=["true", "false"])
            elif kind == "group":
                with TaskGroup(f"group_{task_id}") as task:
                    EmptyOperator(task_id=task_id, **arguments)
            else:
                task = EmptyOperator(task_id=task_id, **arguments)
            if previous is not None:
                previous >> task
            previous = task
    return dag


def random_field(chance):
    fields = {
        "tags": lambda: chance.sample(["x", "y", "z", "é"], chance.randint(0, 3)),
        "description": lambda: chance.choice([None, "", "text", "\u2028\U0001f600"]),
        "dag_display_name": lambda: chance.choice(["Name", "\u00dcber"]),
        "schedule": lambda: random_schedule(chance),
        "catchup": lambda: chance.random() < 0.5,
        "max_active_runs": lambda: chance.randint(1, 3),
        "max_active_tasks": lambda: chance.randint(1, 3),
        "max_consecutive_failed_dag_runs": lambda: chance.randint(0, 2),
        "is_paused_upon_creation": lambda: chance.random() < 0.5,
        "fail_fast": lambda: chance.random() < 0.5,
        "owner_links": lambda: {chance.choice(OWNERS[:2]): f"https://{chance.randint(1, 2)}"},
        "end_date": lambda: START + timedelta(days=chance.randint(0, 60)),
        "default_args": lambda: {"retries": chance.randint(0, 3), "owner": chance.choice(OWNERS[:2])},
        "params": lambda: {"p": chance.choice([1, 1.5, "x", None])},
        "deadline": lambda: [alert(chance) for _ in range(chance.randint(1, 3))],
        "made_of": lambda: random_tasks(chance),
        "doc_md": lambda: chance.choice(["# A", "b"]),
    }
    key = chance.choice([*fields, "schedule", "made_of", "deadline", "made_of"])
    return key, fields[key]()


def random_tasks(chance):
    tasks = []
    for task_id in "abcd"[: chance.randint(1, 4)]:
        kind = chance.choice(["empty", "empty", "mapped", "group"])
        arguments = {"owner": chance.choice(OWNERS)} if chance.random() < 0.7 else {}
        if chance.random() < 0.2:
            arguments["max_active_tis_per_dag"] = chance.randint(1, 3)
        if chance.random() < 0.4:
            arguments["outlets"] = chance.sample([*ASSETS, *ALIASES], chance.randint(1, 2))
        if chance.random() < 0.3:
            arguments["inlets"] = chance.sample(ASSETS, chance.randint(1, 2))
        tasks.append((task_id, kind, arguments))
    return tasks


def random_schedule(chance):
    assets = chance.sample(ASSETS, 2)
    cron = CronTriggerTimetable("0 */6 * * *", timezone="UTC")
    choices = [
        lambda: None,
        lambda: "@once",
        lambda: "@daily",
        lambda: timedelta(hours=chance.randint(1, 50)),
        lambda: CronDataIntervalTimetable("30 2 * * 1", timezone="Europe/Berlin"),
        lambda: cron,
        lambda: MultipleCronTriggerTimetable("0 1 * * *", "0 5 * * *", timezone="UTC"),
        lambda: assets,
        lambda: AssetAny(assets[0], AssetAll(*ASSETS)),
        lambda: AssetOrTimeSchedule(timetable=cron, assets=assets),
        lambda: chance.sample(ALIASES, 1),
    ]
    return chance.choice(choices)()


def alert(chance):
    return DeadlineAlert(
        reference=chance.choice([DeadlineReference.DAGRUN_QUEUED_AT, DeadlineReference.DAGRUN_LOGICAL_DATE]),
        interval=timedelta(minutes=chance.randint(1, 3)),
        callback=AsyncCallback(f"sequences.{too_late.__name__}"),
        name=chance.choice([None, "n", "m"]),
    )
