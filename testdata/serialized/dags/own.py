"""DAGs for what no example DAG has."""

from datetime import datetime, timedelta

import pendulum
from airflow.example_dags.plugins.decreasing_priority_weight_strategy import DecreasingPriorityStrategy
from airflow.providers.standard.operators.bash import BashOperator
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.providers.standard.sensors.date_time import DateTimeSensor
from airflow.sdk import (
    DAG,
    Asset,
    AssetAlias,
    AssetAll,
    AsyncCallback,
    CronDataIntervalTimetable,
    DeadlineAlert,
    DeadlineReference,
    Label,
    Param,
    TaskGroup,
    setup,
    task,
    task_group,
    teardown,
)
from airflow.sdk.definitions.asset import AssetNameRef, AssetUriRef
from airflow.sdk.definitions.deadline import VariableInterval
from dateutil.relativedelta import MO, relativedelta

CUSTOM_WEIGHT = "airflow.example_dags.plugins.decreasing_priority_weight_strategy.DecreasingPriorityStrategy"
START = datetime(2024, 1, 1, 1, 2, 3, 456789)


async def too_late(**kwargs):
    pass


def called_back(context):
    pass


with DAG(
    "own_everything",
    schedule=CronDataIntervalTimetable("5 4 * * *", timezone="Europe/Paris"),
    start_date=pendulum.datetime(2024, 1, 1, 1, 2, 3, 456789, tz="Asia/Kolkata"),
    end_date=datetime(2030, 1, 1),
    description='é "quoted" \\ 🎉\n',
    doc_md="# Title",
    catchup=True,
    max_active_tasks=7,
    max_active_runs=3,
    max_consecutive_failed_dag_runs=5,
    dagrun_timeout=timedelta(hours=2, microseconds=1),
    is_paused_upon_creation=True,
    on_success_callback=called_back,
    on_failure_callback=called_back,
    render_template_as_native_obj=True,
    disable_bundle_versioning=True,
    rerun_with_latest_version=False,
    allowed_run_types=["manual", "scheduled"],
    tags=["z", "a", "é"],
    owner_links={"team": "https://example.com/team"},
    access_control={"DAGs": {"Viewer": {"can_read"}}},
    dag_display_name="Everything",
    params={
        "number": Param(5, type="integer", minimum=1, description="a number"),
        "list": [1, {"a": (2, 3)}],
        "dict": {"b": [{"c": None}]},
        "tuple": (1, 2),
        "plain": "text",
    },
    default_args={
        "owner": "team",
        "retries": 2,
        "retry_delay": timedelta(seconds=90),
        "retry_exponential_backoff": True,
        "max_retry_delay": timedelta(hours=1),
        "email": ["a@example.com", "b@example.com"],
        "email_on_retry": False,
        "on_failure_callback": called_back,
        "execution_timeout": timedelta(minutes=5),
    },
):
    plain = EmptyOperator(task_id="plain")
    rich = BashOperator(
        task_id="rich",
        bash_command="echo '{{ ds }}'",
        owner="someone",
        pool="other_pool",
        pool_slots=3,
        queue="other_queue",
        priority_weight=42,
        weight_rule="absolute",
        trigger_rule="none_failed_min_one_success",
        depends_on_past=True,
        ignore_first_depends_on_past=True,
        wait_for_past_depends_before_skipping=True,
        wait_for_downstream=True,
        do_xcom_push=False,
        multiple_outputs=True,
        start_date=datetime(2024, 2, 1),
        end_date=datetime(2029, 1, 1),
        max_active_tis_per_dag=4,
        max_active_tis_per_dagrun=2,
        executor="LocalExecutor",
        executor_config={"tuple": (1, 2), "set": {3}, "at": START, "for": timedelta(1)},
        run_as_user="nobody",
        email="c@example.com",
        email_on_failure=False,
        task_display_name="Rich task",
        map_index_template="{{ x }}",
        doc_md="*doc*",
        params={"own": 1},
        inlets=[Asset("in", extra={"k": [1]}), AssetNameRef("named"), AssetUriRef("s3://b/ref")],
        outlets=[Asset(name="out", uri="s3://b/out", group="g"), AssetAlias("alias")],
        on_execute_callback=called_back,
        on_retry_callback=called_back,
        on_success_callback=called_back,
        on_skipped_callback=called_back,
        retry_exponential_backoff=1.5,
        allow_nested_operators=False,
        render_template_as_native_obj=False,
        resources={"cpus": 2},
    )
    custom = EmptyOperator(task_id="custom", weight_rule=DecreasingPriorityStrategy())
    upstream = EmptyOperator(task_id="upstream", weight_rule="upstream", retries=0)
    plain >> Label("labelled") >> rich >> [custom, upstream]

with DAG("own_defaults_over_defaults", schedule=None, start_date=START, default_args={"retries": 0}):
    EmptyOperator(task_id="zero_by_default_args")
    EmptyOperator(task_id="zero_by_itself", retries=0, queue="default", owner="airflow")
    EmptyOperator(task_id="one", retries=1)
    BashOperator.partial(task_id="mapped", retries=0).expand(bash_command=["a"])
    BashOperator.partial(task_id="mapped_without").expand(bash_command=["a"])

with DAG("own_relativedelta", schedule=relativedelta(months=1, day=1, weekday=MO(2)), start_date=START):
    EmptyOperator(task_id="a")

with DAG("own_timedelta", schedule=timedelta(days=1, seconds=0.5), start_date=START):
    EmptyOperator(task_id="a", start_date=datetime(2023, 1, 1), end_date=datetime(2024, 6, 1))
    EmptyOperator(task_id="b", end_date=datetime(2025, 6, 1))

with DAG(
    "own_offset",
    schedule="@hourly",
    start_date=pendulum.datetime(2024, 1, 1, tz=pendulum.FixedTimezone(19800)),
):
    EmptyOperator(task_id="a")

with DAG("own_required_param", schedule=None, fail_fast=True, params={"needed": Param(type="string")}):
    EmptyOperator(task_id="a")

with DAG("own_without_tasks", schedule="@once"):
    pass

with DAG(
    "own_assets",
    schedule=AssetAll(
        Asset("one"),
        Asset("two") | AssetAlias("three") | Asset("one"),
        Asset.ref(name="four"),
        Asset.ref(uri="s3://5"),
    ),
):
    EmptyOperator(task_id="a", outlets=[AssetAll(Asset("x"), Asset("y"))], inlets=["text", 1, ["list"]])


@task
def numbers():
    return [1, 2, 3]


@task
def words():
    return ["a", "b"]


@task
def use(x, y=None, z=None):
    return x


with DAG("own_mapping", schedule=None, start_date=START):
    n, w = numbers(), words()
    use.override(task_id="plain").expand(x=n)
    use.override(task_id="literal").expand(x=[1, 2, 3], y=(4, 5), z={"k": 1, "l": 2})
    use.override(task_id="mixed").partial(z=9).expand(x=n, y=[1, 2])
    use.override(task_id="two").expand(x=n, y=w)
    use.override(task_id="map").expand(x=n.map(lambda v: v + 1))
    use.override(task_id="zip").expand(x=n.zip(w))
    use.override(task_id="zip_filled").expand(x=n.zip(w, fillvalue=None))
    use.override(task_id="concat").expand(x=n.concat(w).map(lambda v: v))
    nested = use.override(task_id="nested").expand(x=n.concat(w.map(lambda v: v)).zip(n, fillvalue="z"))
    use.override(task_id="second_order").expand(x=nested)
    use.override(task_id="kwargs_of_task").expand_kwargs(n.map(lambda v: {"x": v}))
    use.override(task_id="kwargs_literal").expand_kwargs([{"x": 1}, {"x": w}, {"x": 3}])
    use.override(task_id="kwargs_mixed").expand_kwargs([{"x": 1}, n, w])
    use.override(task_id="empty_list").expand(x=[])
    BashOperator.partial(
        task_id="bash",
        retries=3,
        retry_delay=timedelta(seconds=7),
        max_retry_delay=timedelta(minutes=7),
        retry_exponential_backoff=True,
        execution_timeout=timedelta(minutes=1),
        pool="p",
        pool_slots=2,
        queue="q",
        owner="o",
        priority_weight=9,
        weight_rule="upstream",
        trigger_rule="all_done",
        depends_on_past=True,
        wait_for_downstream=True,
        start_date=datetime(2024, 3, 1),
        end_date=datetime(2028, 3, 1),
        max_active_tis_per_dag=1,
        max_active_tis_per_dagrun=1,
        executor="LocalExecutor",
        executor_config={"a": 1},
        run_as_user="u",
        email={"m@example.com"},
        task_display_name="Bash!",
        map_index_template="{{ task.bash_command }}",
        doc_md="d",
        params={"p": 1},
        outlets=[Asset("mapped_out")],
        inlets=[Asset("mapped_in")],
        on_failure_callback=called_back,
        on_success_callback=[called_back],
        do_xcom_push=False,
    ).expand(bash_command=n, env=[{"A": "1"}, {"A": "2"}])
    DateTimeSensor.partial(task_id="sensor", mode="reschedule").expand(
        target_time=["2024-01-01", "2024-01-02"]
    )
    EmptyOperator.partial(task_id="custom_weight", weight_rule=CUSTOM_WEIGHT).expand(doc=["a", "b"])

with DAG("own_mapped_groups", schedule=None, start_date=START):
    n, w = numbers(), words()

    @task_group
    def inner(value, other):
        with TaskGroup("deeper", tooltip="deep", prefix_group_id=False, ui_color="#abc"):
            first = use.override(task_id="first")(value)
        use.override(task_id="second")(first, other)

    inner.expand(value=n, other=[1, 2])
    inner.override(group_id="by_kwargs").expand_kwargs(n.zip(w).map(lambda v: {"value": v[0], "other": v[1]}))

    with TaskGroup("outside", default_args={"retries": 4}) as outside:

        @task_group(group_display_name="Named", tooltip="tip")
        def inside(value):
            """Documentation."""
            use.override(task_id="inside")(value)

        inside.expand(value=[1, 2, 3])
        with TaskGroup("not_mapped"):
            EmptyOperator(task_id="leaf")
    n >> outside >> EmptyOperator(task_id="after")

with DAG("own_setup_teardown", schedule=None, start_date=START):

    @setup
    def make():
        pass

    @teardown(on_failure_fail_dagrun=True)
    def unmake():
        pass

    with TaskGroup("work") as work:
        made = EmptyOperator(task_id="cluster").as_setup()
        EmptyOperator(task_id="one") >> EmptyOperator(task_id="two")
        done = EmptyOperator(task_id="drop").as_teardown(setups=made)
    first, last = make(), unmake()
    first >> work >> last
    first >> last

with DAG(
    "own_deadlines",
    schedule=None,
    start_date=START,
    deadline=[
        DeadlineAlert(reference=reference, interval=interval, callback=AsyncCallback(too_late))
        for reference, interval in [
            (DeadlineReference.DAGRUN_QUEUED_AT, timedelta(minutes=5)),
            (DeadlineReference.DAGRUN_LOGICAL_DATE, VariableInterval("seconds")),
            (DeadlineReference.FIXED_DATETIME(START), timedelta(0)),
            (DeadlineReference.AVERAGE_RUNTIME(max_runs=5, min_runs=2), timedelta(days=-1)),
        ]
    ],
):
    EmptyOperator(task_id="a")
