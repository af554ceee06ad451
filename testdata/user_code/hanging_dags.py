"""DAGs that wait for user code of every kind, and others beside them."""

from datetime import datetime, timedelta, timezone

START = datetime(2024, 1, 1, tzinfo=timezone.utc)


def dags():
    from airflow import plugins_manager
    from airflow.sdk import DeadlineReference
    from airflow.sdk.definitions.deadline import VariableInterval

    timetables = plugins_manager.get_timetables_plugins()
    timetable = timetables["hanging_plugin.HangingTimetable"]
    references = plugins_manager.get_deadline_references_plugins()
    reference = next(found for path, found in references.items() if path.endswith(".HangingReference"))
    of_variable = [(DeadlineReference.DAGRUN_LOGICAL_DATE, VariableInterval("patience"))]
    of_reference = [(reference(), timedelta(minutes=10))]
    rule = "hanging_plugin.HangingRule"
    return [
        *(dag(f"stuck_timetable_{number:02}", schedule=timetable(number)) for number in range(12)),
        *(dag(f"stuck_rule_{number:02}", rule) for number in range(12)),
        dag("stuck_hook"),
        *(dag(f"stuck_reference_{number}", deadlines=of_reference) for number in range(3)),
        dag("stuck_variable", deadlines=of_variable),
        with_copies("stuck_copies", "hanging_plugin.HangingCopies"),
        with_copies("other_copies", "rules_plugin.ByIndex"),
        dag("other"),
    ]


def dag(dag_id, rule="downstream", schedule="@once", deadlines=()):
    from airflow.providers.standard.operators.empty import EmptyOperator
    from airflow.sdk import DAG, DeadlineAlert, SyncCallback

    alerts = [
        DeadlineAlert(reference=reference, interval=interval, callback=SyncCallback("a.b"))
        for reference, interval in deadlines
    ]
    # The schedule of a timetable that hangs is known up to its first run.
    with DAG(dag_id, schedule=schedule, start_date=START, deadline=alerts or None) as made:
        EmptyOperator(task_id="task", weight_rule=rule)
    return made


def with_copies(dag_id, rule):
    from airflow.providers.standard.operators.bash import BashOperator
    from airflow.sdk import DAG

    with DAG(dag_id, schedule="@once", start_date=START) as made:
        source = BashOperator(task_id="producer", bash_command="true")
        BashOperator.partial(task_id="copies", weight_rule=rule).expand(bash_command=source.output)
    return made
