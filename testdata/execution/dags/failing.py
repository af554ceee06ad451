"""Tasks that end in every way but the good one, with retries and without."""

import os
import signal
import sys
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import (
    DAG,
    BaseOperator,
    ExceptionRetryPolicy,
    RetryAction,
    RetryDecision,
    RetryPolicy,
    RetryRule,
    task,
)
from airflow.sdk.exceptions import (
    AirflowException,
    AirflowFailException,
    AirflowRescheduleException,
    AirflowSensorTimeout,
    AirflowSkipException,
    AirflowTaskTimeout,
)
from tracing import START, all_callbacks, note

SOON = timedelta(seconds=0)
# Sooner, and Airflow's scheduler may take the end of one process for the failure of the next.
LATER = timedelta(seconds=20)


class Custom(Exception):
    """One that nobody knows."""


def _chain():
    try:
        {}["missing"]
    except KeyError as error:
        raise RuntimeError("because of that") from error


def _raise(error):
    raise error


def _kill(number):
    os.kill(os.getpid(), number)
    time.sleep(5)


def _segfault():
    # While it parses, and ever after, Airflow has a handler of its own that returns.
    signal.signal(signal.SIGSEGV, signal.SIG_DFL)
    _kill(signal.SIGSEGV)


def _interrupted_thread():
    raise KeyboardInterrupt


def _recursion():
    return _recursion()


def _wrong_text():
    raise ValueError("ünïcode \ud800")


ENDINGS = {
    "airflow_exception": lambda: _raise(AirflowException("official")),
    "fail_exception": lambda: _raise(AirflowFailException("for good")),
    "skip_exception": lambda: _raise(AirflowSkipException("skipped")),
    "sensor_timeout": lambda: _raise(AirflowSensorTimeout("too long")),
    "task_timeout": lambda: _raise(AirflowTaskTimeout("too long")),
    "value_error": lambda: _raise(ValueError("wrong")),
    "custom": lambda: _raise(Custom("own")),
    "chain": _chain,
    "assertion": lambda: _raise(AssertionError()),
    "recursion": _recursion,
    "wrong_text": _wrong_text,
    "memory_error": lambda: _raise(MemoryError()),
    "not_implemented": lambda: _raise(NotImplementedError()),
    "stop_iteration": lambda: _raise(StopIteration("x")),
    "generator_exit": lambda: _raise(GeneratorExit()),
    "keyboard_interrupt": _interrupted_thread,
    "exit_none": lambda: sys.exit(),
    "exit_0": lambda: sys.exit(0),
    "exit_1": lambda: sys.exit(1),
    "exit_text": lambda: sys.exit("a reason"),
    "real_exit_0": lambda: os._exit(0),
    "real_exit_7": lambda: os._exit(7),
    "sigkill": lambda: _kill(signal.SIGKILL),
    "sigsegv": lambda: _kill(signal.SIGSEGV),
    "sigsegv_by_default": _segfault,
    "sigabrt": lambda: _kill(signal.SIGABRT),
    "sigint": lambda: _kill(signal.SIGINT),
    "sigterm": lambda: _kill(signal.SIGTERM),
}


def _end(name: str, ti, context):
    note(context, "body")
    ti.xcom_push(key="before the end", value=name)
    ENDINGS[name]()
    return "not reached"


with DAG("fail_at_once", schedule=None, start_date=START, max_active_tasks=32):
    for name in ENDINGS:

        @task(task_id=name, retries=0, **all_callbacks())
        def ends(name=name, ti=None, **context):
            return _end(name, ti, {**context, "ti": ti})

        ends()

with DAG("fail_with_retries", schedule=None, start_date=START, max_active_tasks=32):
    for name in ENDINGS:

        @task(task_id=name, retries=1, retry_delay=SOON, **all_callbacks())
        def ends_twice(name=name, ti=None, **context):
            return _end(name, ti, {**context, "ti": ti})

        ends_twice()

with DAG("retry_to_success", schedule=None, start_date=START):

    @task(retries=1, retry_delay=SOON, **all_callbacks())
    def second_try(ti=None, **context):
        ti.xcom_push(key=f"try_{ti.try_number}", value=ti.try_number)
        if ti.try_number < 2:
            raise ValueError("first try")
        return ti.try_number

    @task(
        retries=3,
        retry_delay=timedelta(seconds=1),
        retry_exponential_backoff=True,
        max_retry_delay=timedelta(seconds=2),
    )
    def third_try(ti=None):
        if ti.try_number < 3:
            raise AirflowException(f"try {ti.try_number}")
        return [ti.try_number, ti.max_tries]

    @task(retries=2, retry_delay=SOON)
    def fails_for_good_later(ti=None):
        if ti.try_number == 2:
            raise AirflowFailException("enough")
        raise ValueError("again")

    @task(retries=1, retry_delay=SOON, **all_callbacks())
    def skips_later(ti=None, **context):
        if ti.try_number == 2:
            raise AirflowSkipException("skipped at last")
        raise ValueError("again")

    @task(retries=1, retry_delay=SOON, **all_callbacks())
    def killed_first(ti=None, **context):
        if ti.try_number == 1:
            _kill(signal.SIGKILL)
        return "survived"

    @task(retries=1, retry_delay=SOON)
    def exits_first(ti=None):
        if ti.try_number == 1:
            os._exit(7)
        return "stayed"

    BashOperator(
        task_id="bash",
        bash_command="[ {{ ti.try_number }} -gt 1 ] && echo {{ ti.try_number }}",
        retries=1,
        retry_delay=SOON,
    )
    second_try() >> third_try()
    fails_for_good_later()
    skips_later()
    killed_first()
    exits_first()


class ByTry(RetryPolicy):
    """Gives up when it sees the second try."""

    def evaluate(self, exception, try_number, max_tries, context=None):
        if try_number >= 2:
            return RetryDecision(action=RetryAction.FAIL, reason="twice is enough")
        return RetryDecision(action=RetryAction.RETRY, retry_delay=timedelta(seconds=1), reason="once more")


RULES = ExceptionRetryPolicy(
    rules=[
        RetryRule(exception=ValueError, action=RetryAction.FAIL, reason="never for values"),
        RetryRule(exception="builtins.OSError", action=RetryAction.RETRY, retry_delay=timedelta(seconds=1)),
        RetryRule(exception=KeyError, action=RetryAction.DEFAULT),
    ]
)

with DAG("retry_policies", schedule=None, start_date=START):
    for error in (ValueError, FileNotFoundError, KeyError, TypeError):

        @task(task_id=error.__name__, retries=2, retry_delay=SOON, retry_policy=RULES)
        def by_rule(error=error):
            raise error("policy")

        by_rule()

    @task(retries=5, retry_delay=SOON, retry_policy=ByTry())
    def by_try():
        raise ValueError("policy")

    by_try()

with DAG("timeouts", schedule=None, start_date=START):

    @task(execution_timeout=timedelta(seconds=1), **all_callbacks())
    def too_slow(**context):
        time.sleep(30)

    @task(execution_timeout=timedelta(seconds=1), retries=1, retry_delay=SOON, **all_callbacks())
    def too_slow_once(ti=None, **context):
        if ti.try_number == 1:
            time.sleep(30)
        return "in time"

    @task(execution_timeout=timedelta(seconds=1))
    def catches_exceptions():
        try:
            time.sleep(30)
        except Exception:
            return "caught"

    @task(execution_timeout=timedelta(seconds=1))
    def catches_everything():
        try:
            time.sleep(30)
        except BaseException as error:
            return f"caught {type(error).__name__}"

    @task(execution_timeout=timedelta(seconds=60))
    def fast_enough():
        return "fast"

    BashOperator(task_id="bash", bash_command="sleep 30", execution_timeout=timedelta(seconds=1))
    too_slow()
    too_slow_once()
    catches_exceptions()
    catches_everything()
    fast_enough()


class Hooked(BaseOperator):
    """Fails before, in or after the work, or when it is ended."""

    def __init__(self, where, **kwargs):
        super().__init__(**kwargs)
        self.where = where

    def pre_execute(self, context):
        if self.where == "before":
            raise ValueError("before")

    def execute(self, context):
        return "worked"

    def post_execute(self, context, result=None):
        if self.where == "after":
            raise ValueError("after")

    def on_kill(self):
        pass


with DAG("fail_elsewhere", schedule=None, start_date=START):
    for where in ("before", "nowhere", "after"):
        Hooked(task_id=where, where=where, **all_callbacks())

    @task
    def wrong_argument(needed):
        return needed

    @task
    def reschedules(ti=None, task_reschedule_count=None):
        if task_reschedule_count < 1:
            raise AirflowRescheduleException(datetime.now(timezone.utc) + LATER)
        return task_reschedule_count

    @task(retries=1, retry_delay=SOON)
    def reschedules_and_fails(ti=None, task_reschedule_count=None):
        if ti.try_number == 1 and task_reschedule_count == 0:
            raise AirflowRescheduleException(datetime.now(timezone.utc) + LATER)
        if ti.try_number == 1:
            raise ValueError("after it was rescheduled")
        return [ti.try_number, task_reschedule_count]

    @task
    def thread_fails():
        import threading

        thread = threading.Thread(target=lambda: 1 / 0)
        thread.start()
        thread.join()
        return "the task goes on"

    @task
    def leaves_child():
        import subprocess

        subprocess.Popen(["sleep", "2"])
        return "left"

    @task
    def closes_outputs():
        os.close(1)
        os.close(2)
        return "closed"

    @task
    def changes_directory():
        os.chdir("/usr")
        os.environ["CHANGED"] = "yes"
        return str(Path.cwd())

    wrong_argument("{{ nothing_such }}")
    reschedules()
    reschedules_and_fails()
    thread_fails()
    leaves_child()
    closes_outputs()
    changes_directory()

with DAG("fail_fast", schedule=None, start_date=START, fail_fast=True):

    @task
    def fails_first():
        raise ValueError("stop all")

    @task
    def comes_after():
        return "never"

    @task
    def comes_later():
        return "never"

    fails_first() >> comes_after() >> comes_later()
