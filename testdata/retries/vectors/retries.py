"""When the next try may start, and whether there is one."""

import random
from datetime import datetime, timedelta, timezone
from itertools import product
from types import SimpleNamespace

from airflow.models.dagrun import DagRun
from airflow.models.taskinstance import TaskInstance
from airflow.sdk.definitions._internal import abstractoperator
from airflow.utils.state import TaskInstanceState
from sqlalchemy.orm import configure_mappers
from sqlalchemy.orm.attributes import manager_of_class

COUNT = 4000
FIRST, LAST = datetime(1, 1, 1, tzinfo=timezone.utc), datetime(9999, 12, 30, 22, tzinfo=timezone.utc)
LIMITS = [86_400, 86_400, 86_400, 3600, 60, 1, 0, -5, 10**9, 86_399_999_999_999]


def record(seed: int) -> list[dict]:
    default = abstractoperator.MAX_RETRY_DELAY
    assert default == 86_400
    try:
        return [ask(random.Random(f"{seed} retries {number}")) for number in range(COUNT)]
    finally:
        abstractoperator.MAX_RETRY_DELAY = default


def ask(rng: random.Random) -> dict:
    """One question with its answer; `None` where Airflow raises."""
    max_retry_delay = None
    if rng.random() < 0.4:
        max_retry_delay = rng.choice([0, -30.0, 1.0, 0.000001, 45.5, rng.randrange(100_000), 1e13])
    override = None
    if rng.random() < 0.1:
        override = rng.choice([0.0, -1.5, 0.0000005, 0.0000015, 1e9, 1e300, 7, rng.uniform(0, 10_000)])
    longest = rng.choice(LIMITS)
    question = {
        "dag": rng.choice(["d", "reports.daily", "caf\u00e9", f"dag_{rng.randrange(1000)}"]),
        "task": rng.choice(["t", "group.inner.t", "\u6f22\u5b57", f"task-{rng.randrange(1000)}"]),
        "logical_date": logical_date(rng),
        "try": try_number(rng),
        "end": moment(rng).isoformat(),
        "override": override,
        "delay": delay(rng),
        "factor": factor(rng),
        "max": max_retry_delay,
        "longest": longest,
    }
    return question | {"next": answer(question)}


def answer(question: dict) -> str | None:
    abstractoperator.MAX_RETRY_DELAY = question["longest"]
    longest = question["max"]
    task = SimpleNamespace(
        retry_delay=timedelta(seconds=question["delay"]),
        retry_exponential_backoff=question["factor"],
        max_retry_delay=None if longest is None else timedelta(seconds=longest),
    )
    instance = bare_instance()
    instance.dag_id, instance.task_id = question["dag"], question["task"]
    date = question["logical_date"]
    instance.dag_run = DagRun(logical_date=date and datetime.fromisoformat(date))
    instance.try_number = question["try"]
    instance.end_date = datetime.fromisoformat(question["end"])
    instance.retry_delay_override = question["override"]
    instance.task = task
    try:
        return instance.next_retry_datetime().isoformat()
    except OverflowError:
        return None


def bare_instance() -> TaskInstance:
    # The constructor wants a whole task; the questions are about a row and three settings.
    configure_mappers()
    instance = manager_of_class(TaskInstance).new_instance()
    instance.task = None
    return instance


def moment(rng: random.Random) -> datetime:
    if rng.random() < 0.05:
        return rng.choice([FIRST, LAST])
    span = rng.choice([10**9, 4 * 10**9])
    microsecond = rng.choice([0, 0, 1, 500_000, rng.randrange(10**6)])
    return datetime.fromtimestamp(rng.randrange(span), timezone.utc).replace(microsecond=microsecond)


def logical_date(rng: random.Random) -> str | None:
    return None if rng.random() < 0.15 else moment(rng).isoformat()


def try_number(rng: random.Random) -> int:
    if rng.random() < 0.1:
        return rng.choice([-3, 0, 50, 1000, 1075, 3000])
    return rng.randrange(1, 12)


def delay(rng: random.Random) -> float:
    if rng.random() < 0.25:
        return rng.choice([0.0, 0.000001, 0.1, 0.999999, 1.5, -60.0, 1e-6, 5.1, 1e12, 86_399_999_999_999.0])
    return rng.choice([float(rng.randrange(1, 4000)), rng.randrange(1, 10**10) / 10**6])


def factor(rng: random.Random) -> float | int:
    if rng.random() < 0.3:
        return rng.choice([0, 1, 1.0, -2.0, 0.5, 1e-300, 1e300, 5e-324, 1.0000001, 10])
    return rng.choice([2.0, 2.0, 2, 3, 1.5, round(rng.uniform(0.1, 4), 3)])


def record_eligibility() -> list[dict]:
    states = [None, *TaskInstanceState]
    found = []
    for state, tries, most, retries in product(states, (0, 1, 2, 3), (-1, 0, 1, 2), (None, -1, 0, 1)):
        instance = bare_instance()
        instance.state, instance.try_number, instance.max_tries = state, tries, most
        if retries is not None:
            instance.task = SimpleNamespace(retries=retries)
        question = {"state": state and state.value, "try": tries, "max_tries": most, "retries": retries}
        found.append(
            question | {"eligible": instance.is_eligible_to_retry(), "worker": worker_is_told(question)}
        )
    return found


def worker_is_told(question: dict) -> bool:
    from airflow.api_fastapi.execution_api.routes.task_instances import _is_eligible_to_retry

    return _is_eligible_to_retry(question["state"], question["try"], question["max_tries"])
