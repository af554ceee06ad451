"""Sensors that look again in their process, and those that give it up in between."""

from datetime import datetime, time, timedelta, timezone
from pathlib import Path

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.providers.standard.sensors.bash import BashSensor
from airflow.providers.standard.sensors.date_time import DateTimeSensor
from airflow.providers.standard.sensors.external_task import ExternalTaskMarker, ExternalTaskSensor
from airflow.providers.standard.sensors.filesystem import FileSensor
from airflow.providers.standard.sensors.python import PythonSensor
from airflow.providers.standard.sensors.time import TimeSensor
from airflow.providers.standard.sensors.time_delta import TimeDeltaSensor
from airflow.providers.standard.sensors.weekday import DayOfWeekSensor
from airflow.sdk import DAG, BaseSensorOperator, PokeReturnValue, task
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException
from tracing import START, all_callbacks

SOON = timedelta(seconds=0)
# Sooner, and Airflow's scheduler may take the end of one process for the failure of the next.
LATER = timedelta(seconds=20)
HERE = Path(__file__).resolve().parent


class Counting(BaseSensorOperator):
    """Done at the given look; in between it remembers in itself, or in how often it was rescheduled."""

    template_fields = ("word",)

    def __init__(self, done_at, word="{{ ds }}", error=None, **kwargs):
        super().__init__(**kwargs)
        self.done_at = done_at
        self.word = word
        self.error = error
        self.looks = 0

    def poke(self, context):
        self.looks += 1
        if self.error:
            raise self.error("while looking")
        looks = self.looks + (context["task_reschedule_count"] or 0)
        return PokeReturnValue(looks >= self.done_at, {"looks": looks, "word": self.word})


with DAG("sensors_poke", schedule=None, start_date=START, default_args={"poke_interval": 0.2, "timeout": 60}):
    Counting(task_id="third_look", done_at=3)
    Counting(task_id="at_once", done_at=1)
    Counting(task_id="backoff", done_at=3, exponential_backoff=True, max_wait=timedelta(seconds=1))
    Counting(task_id="times_out", done_at=999, timeout=0.5, **all_callbacks())
    Counting(task_id="times_out_retries", done_at=999, timeout=0.5, retries=2, retry_delay=SOON)
    Counting(task_id="times_out_softly", done_at=999, timeout=0.5, soft_fail=True, **all_callbacks())
    Counting(task_id="fails", done_at=1, error=ValueError)
    Counting(task_id="fails_softly", done_at=1, error=ValueError, soft_fail=True)
    Counting(task_id="fails_for_good_softly", done_at=1, error=AirflowFailException, soft_fail=True)
    Counting(task_id="never_fails", done_at=1, error=ValueError, never_fail=True)
    Counting(task_id="skips", done_at=1, error=AirflowSkipException)
    Counting(task_id="silent", done_at=1, error=AirflowException, silent_fail=True, timeout=0.5)
    PythonSensor(task_id="python", python_callable=lambda word, **_: word, op_kwargs={"word": "{{ ds }}"})
    BashSensor(task_id="bash", bash_command="test {{ ds_nodash }} = 20260105")
    BashSensor(task_id="bash_retry", bash_command="exit 3", retry_exit_code=3, timeout=0.5)
    BashSensor(task_id="bash_fails", bash_command="exit 2", retry_exit_code=3, timeout=0.5)
    FileSensor(task_id="file", filepath=str(HERE / "tracing.py"))
    FileSensor(task_id="file_glob", filepath=str(HERE / "templates" / "*.sh"))
    FileSensor(task_id="file_missing", filepath="/there/is/none", timeout=0.5, soft_fail=True)
    DateTimeSensor(task_id="past", target_time="{{ logical_date.add(days=1) }}")
    DateTimeSensor(task_id="future", target_time=datetime(2200, 1, 1, tzinfo=timezone.utc), timeout=0.5)
    TimeSensor(task_id="midnight", target_time=time(0, 0))
    TimeDeltaSensor(task_id="delta", delta=timedelta(hours=1))
    DayOfWeekSensor(task_id="monday", week_day="Monday", use_task_logical_date=True)
    DayOfWeekSensor(
        task_id="sunday", week_day={"Sunday"}, use_task_logical_date=True, timeout=0.5, soft_fail=True
    )

with DAG(
    "sensors_reschedule",
    schedule=None,
    start_date=START,
    default_args={"poke_interval": LATER, "timeout": 120, "mode": "reschedule"},
):
    Counting(task_id="second_look", done_at=2, **all_callbacks())
    Counting(task_id="third_look", done_at=3)
    Counting(task_id="at_once", done_at=1)
    Counting(task_id="times_out", done_at=999, timeout=0)
    Counting(task_id="times_out_softly", done_at=999, timeout=0, soft_fail=True)
    Counting(task_id="fails_then_retries", done_at=1, error=ValueError, retries=1, retry_delay=SOON)
    PythonSensor(
        task_id="python", python_callable=lambda task_reschedule_count, **_: task_reschedule_count > 0
    )
    FileSensor(task_id="file", filepath=str(HERE / "tracing.py"))

    @task.sensor(poke_interval=LATER, timeout=60, mode="reschedule")
    def decorated(task_reschedule_count=None):
        return PokeReturnValue(task_reschedule_count == 1, xcom_value="seen twice")

    @task
    def after(value):
        return value

    after(decorated())
    Counting.partial(task_id="mapped", poke_interval=LATER, mode="reschedule", timeout=60).expand(
        done_at=[1, 2]
    )

with DAG("sensors_external_parent", schedule="@daily", start_date=START, catchup=False):

    @task
    def good():
        return 1

    @task
    def bad():
        raise ValueError("for the child")

    good() >> ExternalTaskMarker(
        task_id="marker",
        external_dag_id="sensors_external",
        external_task_id="task_good",
        logical_date="{{ ts }}",
    )
    bad()

with DAG(
    "sensors_external",
    schedule="@daily",
    start_date=START,
    catchup=False,
    default_args={
        "poke_interval": 0.2,
        "timeout": 1,
        "external_dag_id": "sensors_external_parent",
        "deferrable": False,
    },
):
    ExternalTaskSensor(task_id="task_good", external_task_id="good")
    ExternalTaskSensor(task_id="task_bad", external_task_id="bad")
    ExternalTaskSensor(task_id="task_bad_seen", external_task_id="bad", failed_states=["failed"])
    ExternalTaskSensor(task_id="task_bad_wanted", external_task_id="bad", allowed_states=["failed"])
    ExternalTaskSensor(task_id="task_bad_skips", external_task_id="bad", skipped_states=["failed"])
    ExternalTaskSensor(task_id="tasks", external_task_ids=["good", "marker"])
    ExternalTaskSensor(task_id="whole_dag_failed", allowed_states=["failed"])
    ExternalTaskSensor(task_id="unknown_task", external_task_id="nobody", check_existence=True)
    ExternalTaskSensor(task_id="unknown_dag", external_dag_id="no_such_dag", check_existence=True)
    ExternalTaskSensor(
        task_id="other_day", external_task_id="good", execution_delta=timedelta(days=1), soft_fail=True
    )
    ExternalTaskSensor(
        task_id="by_function",
        external_task_id="good",
        execution_date_fn=lambda logical_date, **_: logical_date,
    )
    ExternalTaskSensor(task_id="rescheduled", external_task_id="good", mode="reschedule", poke_interval=LATER)
    EmptyOperator(task_id="unrelated")
