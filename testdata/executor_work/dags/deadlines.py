"""A run misses its deadlines at once, and each has a callback for the executor: one of every kind.

Every callback is told its `case`, by which its row and log are found.
"""

import logging
import os
import signal
import sys
import time
from datetime import datetime, timedelta, timezone

import callback_helpers
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, DeadlineAlert, DeadlineReference, SyncCallback, Variable

log = logging.getLogger(__name__)


def says_much(case):
    print("on standard output")
    print("on standard error", file=sys.stderr)
    log.warning("in the log of %s", case)
    print("é, and the last line without an end", end="")


def with_context(case, context):
    run = context["dag_run"]
    log.info("%s %s %s", sorted(context), run["dag_id"], run["run_type"])
    log.info("deadline: %s", context["deadline"]["deadline_time"])


def fails(case):
    raise ValueError("no good")


def exits(case):
    sys.exit(3)


def exits_at_once(case):
    os._exit(7)


def kills_itself(case):
    os.kill(os.getpid(), signal.SIGKILL)


def sleeps(case):
    log.info("begins to sleep")
    time.sleep(600)


def asks(case):
    log.info("the variable: %s", Variable.get("asked_for"))


def alert(callback, case, **kwargs):
    executor = kwargs.pop("executor", None)
    return DeadlineAlert(
        name=case,
        reference=DeadlineReference.FIXED_DATETIME(datetime(2024, 1, 1, tzinfo=timezone.utc)),
        interval=timedelta(minutes=1),
        callback=SyncCallback(callback, kwargs={"case": case, **kwargs}, executor=executor),
    )


with DAG(
    "deadlines",
    schedule="@once",
    start_date=datetime(2024, 1, 1, tzinfo=timezone.utc),
    deadline=[
        alert(says_much, "says much"),
        alert(with_context, "with context"),
        alert(callback_helpers.imported, "imported", numbers=[1, 2.5, None]),
        alert(callback_helpers.imported, "named executor", executor="LocalExecutor"),
        alert(callback_helpers.imported, "dates", when=datetime(2024, 2, 29, 12, 30, tzinfo=timezone.utc)),
        alert(callback_helpers.Notifier, "notifier", text="of {{ dag_run.run_type }}"),
        alert(callback_helpers.Instance, "instance"),
        alert(fails, "fails"),
        alert(exits, "exits"),
        alert(exits_at_once, "exits at once"),
        alert(kills_itself, "kills itself"),
        alert(sleeps, "sleeps"),
        alert("no.such.module.function", "no such module"),
        alert("callback_helpers.nothing", "no such function"),
        alert(asks, "asks"),
    ],
):
    EmptyOperator(task_id="nothing")
