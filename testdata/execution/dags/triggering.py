"""DAGs that trigger others, and look at what they have become."""

from datetime import datetime, timedelta, timezone

from airflow.providers.standard.operators.trigger_dagrun import TriggerDagRunOperator
from airflow.sdk import DAG, Param, task
from tracing import START

DAY = datetime(2026, 1, 7, tzinfo=timezone.utc)

with DAG("trigger_target", schedule=None, start_date=START, params={"word": "default"}):

    @task
    def report(params=None, dag_run=None, logical_date=None):
        return {
            "conf": dag_run.conf,
            "word": params["word"],
            "run_type": dag_run.run_type,
            "date": logical_date and logical_date.isoformat(),
        }

    report()

with DAG("trigger_target_failing", schedule=None, start_date=START):

    @task
    def fails():
        raise ValueError("as the trigger expects")

    fails()

with DAG(
    "trigger_target_strict", schedule=None, start_date=START, params={"number": Param(1, type="integer")}
):

    @task
    def number(params=None):
        return params["number"]

    number()


def trigger(task_id, dag_id="trigger_target", **kwargs):
    options = {"trigger_run_id": task_id, "poke_interval": 1, "deferrable": False} | kwargs
    return TriggerDagRunOperator(task_id=task_id, trigger_dag_id=dag_id, **options)


with DAG("trigger_plain", schedule=None, start_date=START):
    trigger("plain", logical_date=DAY)
    trigger("no_logical_date", logical_date=None)
    trigger(
        "with_conf",
        conf={"word": "{{ ds }}", "nested": {"a": [1, "{{ run_id }}"]}},
        logical_date="{{ logical_date.add(days=3) }}",
    )
    trigger("run_id_rendered", trigger_run_id="by {{ ds }} ünï", logical_date=DAY + timedelta(days=1))
    trigger("run_id_with_slash", trigger_run_id="by/slash", logical_date=DAY + timedelta(days=5))
    trigger("with_note", note="a note", logical_date=DAY + timedelta(days=2))
    trigger("unknown_dag", dag_id="no_such_dag")
    trigger("wrong_conf", dag_id="trigger_target_strict", conf={"number": "not one"}, logical_date=DAY)
    trigger("conf_not_json", conf={"when": object()}, logical_date=DAY)
    trigger("bad_date", logical_date="not a date")

with DAG("trigger_waits", schedule=None, start_date=START):
    trigger("waits", logical_date=DAY + timedelta(days=10), wait_for_completion=True)
    trigger("waits_failing", dag_id="trigger_target_failing", logical_date=DAY, wait_for_completion=True)
    trigger(
        "waits_failing_allowed",
        dag_id="trigger_target_failing",
        logical_date=DAY + timedelta(days=1),
        wait_for_completion=True,
        allowed_states=["failed"],
        failed_states=[],
    )

with DAG("trigger_again", schedule=None, start_date=START):
    first = trigger(
        "first", trigger_run_id="again", logical_date=DAY + timedelta(days=20), wait_for_completion=True
    )
    same = {"trigger_run_id": "again", "logical_date": DAY + timedelta(days=20)}
    fails_existing = trigger("fails_existing", **same)
    skips_existing = trigger("skips_existing", skip_when_already_exists=True, trigger_rule="all_done", **same)
    resets = trigger(
        "resets",
        reset_dag_run=True,
        wait_for_completion=True,
        conf={"word": "not taken"},
        trigger_rule="all_done",
        **same,
    )

    @task(trigger_rule="all_done")
    def look(ti=None):
        return {
            "state": ti.get_dagrun_state(dag_id="trigger_target", run_id="again"),
            "runs": ti.get_dr_count(dag_id="trigger_target", run_ids=["again"]),
            "pulled": ti.xcom_pull("report", dag_id="trigger_target", run_id="again"),
        }

    first >> fails_existing >> skips_existing >> resets >> look()
