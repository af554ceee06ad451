"""Tasks that ask what was before, and how others are."""

from datetime import datetime, timedelta, timezone

from airflow.sdk import DAG, TaskGroup, task
from tracing import START

FIRST = datetime(2026, 1, 3, tzinfo=timezone.utc)
SECOND = datetime(2026, 1, 5, tzinfo=timezone.utc)

with DAG("history", schedule="@daily", start_date=START, catchup=False):

    @task
    def before(ti=None, dag_run=None):
        def run(found):
            return found and [found.run_id, str(found.state), found.logical_date.isoformat()]

        def instance(found):
            return found and [
                found.task_id,
                found.run_id,
                str(found.state),
                found.try_number,
                found.map_index,
            ]

        return {
            "run": run(ti.get_previous_dagrun()),
            "run_success": run(ti.get_previous_dagrun(state="success")),
            "run_failed": run(ti.get_previous_dagrun(state="failed")),
            "ti": instance(ti.get_previous_ti()),
            "ti_success": instance(ti.get_previous_ti(state="success")),
            "ti_before_all": instance(ti.get_previous_ti(logical_date=FIRST)),
            "ti_unknown_index": instance(ti.get_previous_ti(map_index=3)),
        }

    @task
    def templates(
        prev_data_interval_start_success=None,
        prev_data_interval_end_success=None,
        prev_start_date_success=None,
    ):
        return [
            str(prev_data_interval_start_success),
            str(prev_data_interval_end_success),
            str(prev_start_date_success) != "None",
        ]

    @task
    def counts(ti=None, run_id=None):
        dag_id = ti.dag_id
        return {
            "all": ti.get_ti_count(dag_id=dag_id),
            "of_run": ti.get_ti_count(dag_id=dag_id, run_ids=[run_id]),
            "of_task": ti.get_ti_count(dag_id=dag_id, task_ids=["before"]),
            "of_group": ti.get_ti_count(dag_id=dag_id, task_group_id="group", run_ids=[run_id]),
            "of_date": ti.get_ti_count(dag_id=dag_id, logical_dates=[SECOND], task_ids=["before"]),
            "in_state": ti.get_ti_count(dag_id=dag_id, run_ids=[run_id], states=["success"]),
            "of_index": ti.get_ti_count(dag_id=dag_id, run_ids=[run_id], map_index=1),
            "unknown_dag": ti.get_ti_count(dag_id="no_such_dag"),
            "runs": ti.get_dr_count(dag_id=dag_id),
            "runs_failed": ti.get_dr_count(dag_id=dag_id, states=["failed"]),
            "runs_of_date": ti.get_dr_count(dag_id=dag_id, logical_dates=[FIRST]),
            "run_state": ti.get_dagrun_state(dag_id=dag_id, run_id=run_id),
            "states_of_task": ti.get_task_states(dag_id=dag_id, task_ids=["before"], run_ids=[run_id]),
            "states_of_group": ti.get_task_states(dag_id=dag_id, task_group_id="group", run_ids=[run_id]),
            "states_of_mapped": ti.get_task_states(dag_id=dag_id, task_ids=["mapped"], run_ids=[run_id]),
            "states_unknown": ti.get_task_states(dag_id=dag_id, run_ids=["no such run"]),
            "dag": [ti.get_dag(dag_id).dag_id, ti.get_dag(dag_id).is_paused],
            "breadcrumbs": sorted(crumb["task_id"] for crumb in ti.get_task_breadcrumbs(dag_id, run_id)),
        }

    @task
    def mapped(number):
        return number

    with TaskGroup("group") as group:

        @task
        def in_group():
            return 1

        in_group()

    [before(), templates(), mapped.expand(number=[0, 1]), group] >> counts()

with DAG("history_unknown", schedule=None, start_date=START):

    @task
    def unknown_group(ti=None):
        return ti.get_ti_count(dag_id=ti.dag_id, task_group_id="no such group")

    @task
    def unknown_run(ti=None):
        return ti.get_dagrun_state(dag_id=ti.dag_id, run_id="no such run")

    unknown_group()
    unknown_run()

with DAG("history_depends", schedule="@daily", start_date=START, catchup=False):

    @task(depends_on_past=True)
    def after_itself(logical_date=None):
        return logical_date.day

    @task(depends_on_past=True, wait_for_downstream=True, ignore_first_depends_on_past=False)
    def waits_for_downstream():
        return "went"

    after_itself()
    waits_for_downstream() >> after_itself.override(task_id="downstream", depends_on_past=False)()

with DAG("details", schedule=None, start_date=START):

    @task(
        pool="small_pool",
        pool_slots=2,
        priority_weight=7,
        queue="default",
        owner="somebody",
        executor_config={"some": "thing"},
        doc_md="*documented*",
        task_display_name="Shown like this",
        start_date=START + timedelta(days=1),
    )
    def detailed(ti=None, task=None):
        return {
            "pool": [task.pool, task.pool_slots],
            "priority": task.priority_weight,
            "queue": task.queue,
            "owner": task.owner,
            "config": task.executor_config,
            "url": ti.log_url.split("/dags/")[1],
        }

    detailed()
