"""Callbacks that write lines, lists of them, those that fail, and notifiers."""

import functools
from datetime import timedelta

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.providers.standard.operators.python import ShortCircuitOperator
from airflow.sdk import DAG, task
from airflow.sdk.exceptions import AirflowSkipException
from tracing import START, NotingNotifier, all_callbacks, note, noting

SOON = timedelta(seconds=0)


def fails(context):
    note(context, "about to fail")
    raise RuntimeError("a callback that fails")


def with_more(word, context):
    note(context, f"partial {word}")


class Callable:
    def __call__(self, context):
        note(context, "object", state=str(context["ti"].state))


def pushes(context):
    context["ti"].xcom_push(key="pushed by callback", value=1)
    note(context, "pushed")


def reads(context):
    note(context, "reads", pulled=context["ti"].xcom_pull(task_ids=context["ti"].task_id), ds=context["ds"])


with DAG(
    "callbacks",
    schedule=None,
    start_date=START,
    on_success_callback=noting("dag on_success"),
    on_failure_callback=noting("dag on_failure"),
    default_args={"on_failure_callback": noting("default on_failure")},
):

    @task(**all_callbacks())
    def succeeds():
        return "value"

    @task(**all_callbacks())
    def skips():
        raise AirflowSkipException("not today")

    @task(retries=1, retry_delay=SOON, **all_callbacks())
    def retries(ti=None):
        if ti.try_number == 1:
            raise ValueError("once")

    @task
    def by_default():
        raise ValueError("default callback")

    @task(
        on_success_callback=[
            noting("first"),
            fails,
            functools.partial(with_more, "word"),
            Callable(),
            NotingNotifier("{{ ti.task_id }} of {{ ds }} in {{ run_id }}"),
            reads,
            pushes,
            noting("last"),
        ]
    )
    def several():
        return "kept"

    @task(on_execute_callback=[fails, noting("after the failing one")])
    def execute_fails():
        return "went on"

    @task(
        on_failure_callback=[NotingNotifier("failed: {{ exception }}"), noting("on_failure")],
        on_retry_callback=[NotingNotifier("retry {{ ti.try_number }}"), fails, noting("on_retry")],
        retries=1,
        retry_delay=SOON,
    )
    def notified():
        raise ValueError("for the notifier")

    @task(**all_callbacks())
    def mapped(number):
        if number == 1:
            raise AirflowSkipException("one of them")
        return number

    @task(**all_callbacks())
    def upstream_failed():
        return "never"

    by_default() >> upstream_failed()
    EmptyOperator(task_id="empty", **all_callbacks())
    ShortCircuitOperator(task_id="circuit", python_callable=lambda: False) >> EmptyOperator(
        task_id="skipped_by_other", **all_callbacks()
    )
    succeeds()
    skips()
    retries()
    several()
    execute_fails()
    notified()
    mapped.expand(number=[0, 1, 2])

with DAG(
    "callbacks_dag_success",
    schedule=None,
    start_date=START,
    on_success_callback=[noting("dag on_success"), NotingNotifier("{{ dag.dag_id }} {{ run_id }} is done")],
    on_failure_callback=noting("dag on_failure"),
):

    @task
    def fine():
        return 1

    fine()
