"""Lets the real Airflow's scheduler make and examine runs with user code, to compare the rows.

usage: official_scheduler.py folder step …

first, changed, bad, listened, deadlines, bad_deadlines, partitions, bad_partitions, hanging,
hanging_hooks, hanging_partitions
                      stores these DAGs in Airflow's database
schedule              makes the runs that are due, and starts them
finish                has the tasks named `producer…` succeed with three items each
end                   ends the tasks of the DAGs `good` and `bad` as their names say
lose                  has the task of the DAG `lost` fail as one that its executor has lost
examine               examines running runs
dump                  prints a line of JSON with all task instances
dump_deadlines        prints a line of JSON with all deadlines
begin, produce, change, dump_partitions   see partition_dags.py
"""

import json
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

import hanging_dags
import partition_dags

BUNDLE = "dags-folder"
RULE, BAD = "rules_plugin.ByIndex", "rules_plugin.Bad"
LEFT_OUT = {"id", "dag_version_id"}


def main(folder, *names):
    steps = {step.__name__: step for step in (schedule, finish, end, lose, examine, dump, dump_deadlines)}
    of_partitions = ["begin", "produce", "change", "dump_partitions"]
    steps |= {name: getattr(partition_dags, name) for name in of_partitions}
    for name in names:
        if name in steps:
            steps[name]()
        else:
            store(folder, name)


def dags(version):
    from airflow.providers.standard.operators.bash import BashOperator
    from airflow.sdk import DAG

    def dag(dag_id):
        return DAG(dag_id, schedule="@once", start_date=datetime(2024, 1, 1, tzinfo=timezone.utc))

    if version == "hanging":
        return hanging_dags.dags()
    if version == "hanging_hooks":
        return [hanging_dags.dag(f"stuck_hook_{number:02}") for number in range(12)]
    if "deadlines" in version:
        return with_deadlines(version)
    if "partitions" in version:
        return partition_dags.dags(version)
    made = []
    if version == "listened":
        for dag_id in ["good", "bad", "lost"]:
            with dag(dag_id) as listened:
                BashOperator(task_id="task", bash_command="true")
            made.append(listened)
        return made
    for dag_id in ["raises", "hangs", "exits", "odd"] if version == "bad" else []:
        with dag(dag_id) as bad:
            BashOperator(task_id="task", bash_command="true", weight_rule=BAD)
        made.append(bad)
    if version == "bad":
        with dag("raises_later") as later:
            copies(BAD, "copies")
        made.append(later)
    with dag("shaped") as shaped:
        BashOperator(task_id="hooked_plain", bash_command="true", retries=1)
        weighty = BashOperator(task_id="weighty", bash_command="true", weight_rule=RULE, priority_weight=3)
        literal = BashOperator.partial(task_id="hooked_literal", weight_rule=RULE)
        weighty >> literal.expand(bash_command=["1", "2", "3"])
        BashOperator.partial(task_id="literal", weight_rule=RULE).expand(bash_command=["1", "2"])
        copies(RULE, "hooked_later")
        copies(RULE, "later")
        if version == "changed":
            BashOperator(task_id="hooked_new", bash_command="true", weight_rule=RULE)
            BashOperator(task_id="new", bash_command="true", weight_rule=RULE)
    return [*made, shaped]


def with_deadlines(version):
    from airflow import plugins_manager
    from airflow.providers.standard.operators.empty import EmptyOperator
    from airflow.sdk import DAG, DeadlineAlert, DeadlineReference, SyncCallback

    registered = plugins_manager.get_deadline_references_plugins()
    own = {path.rpartition(".")[2]: reference for path, reference in registered.items()}
    if version == "deadlines":
        good = [own["AfterLogicalDate"](), own["Configured"](hours=5), own["Never"]()]
        references = {"referenced": [*good, DeadlineReference.DAGRUN_LOGICAL_DATE]}
    else:
        bad = [own["BadReference"](), own["Configured"]()]
        references = dict.fromkeys(["raises", "hangs", "exits", "odd", "fine"], bad)
    made = []
    for dag_id, of_dag in references.items():
        alerts = [
            DeadlineAlert(
                reference=reference,
                interval=timedelta(minutes=10 + number),
                callback=SyncCallback("a.b", kwargs={"number": number}),
            )
            for number, reference in enumerate(of_dag)
        ]
        start_date = datetime(2024, 1, 1, tzinfo=timezone.utc)
        with DAG(dag_id, schedule="@once", start_date=start_date, deadline=alerts) as dag:
            EmptyOperator(task_id="task")
        made.append(dag)
    return made


def copies(rule, task_id):
    from airflow.providers.standard.operators.bash import BashOperator

    source = BashOperator(task_id=f"producer_of_{task_id}", bash_command="true")
    BashOperator.partial(task_id=task_id, weight_rule=rule).expand(bash_command=source.output)


def store(folder, version):
    from airflow.dag_processing.collection import update_dag_parsing_results_in_db
    from airflow.models.dag import DagModel
    from airflow.serialization.serialized_objects import DagSerialization, LazyDeserializedDAG
    from airflow.utils.session import create_session
    from sqlalchemy import update

    place = Path(folder) / "file.py"
    place.write_text("# the file\n")
    all_dags = dags(version)
    for dag in all_dags:
        dag.fileloc, dag.relative_fileloc = str(place), place.name
    with create_session() as session:
        update_dag_parsing_results_in_db(
            bundle_name=BUNDLE,
            bundle_version=None,
            version_data=None,
            dags=[LazyDeserializedDAG(data=DagSerialization.to_dict(dag)) for dag in all_dags],
            import_errors={},
            parse_duration=1.5,
            warnings=set(),
            session=session,
            files_parsed={(BUNDLE, place.name)},
        )
        session.execute(update(DagModel).values(is_paused=False))


def schedule():
    from airflow.jobs.job import Job
    from airflow.jobs.scheduler_job_runner import SchedulerJobRunner
    from airflow.utils.session import create_session
    from airflow.utils.sqlalchemy import prohibit_commit

    runner = SchedulerJobRunner(job=Job())
    with create_session() as session, prohibit_commit(session) as guard:
        runner._create_dagruns_for_dags(guard, session)
    with create_session() as session:
        runner._start_queued_dagruns(session)


def finish():
    from airflow.models.taskinstance import TaskInstance
    from airflow.models.taskmap import TaskMap
    from airflow.utils.session import create_session
    from sqlalchemy import select

    with create_session() as session:
        for ti in session.scalars(select(TaskInstance)):
            if ti.task_id.startswith("producer"):
                ti.state, ti.start_date, ti.end_date = "success", ti.updated_at, ti.updated_at
                key = {"dag_id": ti.dag_id, "run_id": ti.run_id, "task_id": ti.task_id, "map_index": -1}
                session.add(TaskMap(**key, length=3, keys=None))


def end():
    from airflow.models.taskinstance import TaskInstance
    from airflow.utils.session import create_session
    from sqlalchemy import select

    with create_session() as session:
        for ti in session.scalars(select(TaskInstance).where(TaskInstance.dag_id.in_(["good", "bad"]))):
            ti.state = "success" if ti.dag_id == "good" else "failed"
            ti.start_date = ti.end_date = ti.updated_at


def lose():
    from airflow.models.dagbag import DBDagBag
    from airflow.models.taskinstance import TaskInstance
    from airflow.utils.session import create_session
    from sqlalchemy import select

    with create_session() as session:
        ti = session.scalar(select(TaskInstance).where(TaskInstance.dag_id == "lost"))
        ti.state, ti.try_number = "running", 1
        ti.task = DBDagBag().get_dag_for_run(dag_run=ti.dag_run, session=session).get_task("task")
        ti.handle_failure(error="it could not be started", session=session)


def examine():
    from airflow.jobs.job import Job
    from airflow.jobs.scheduler_job_runner import SchedulerJobRunner
    from airflow.models.dagrun import DagRun
    from airflow.utils.session import create_session
    from sqlalchemy import select

    runner = SchedulerJobRunner(job=Job())
    with create_session() as session:
        for run in session.scalars(select(DagRun).where(DagRun.state == "running")).all():
            runner._schedule_dag_run(run, session)


def dump():
    from airflow.utils.session import create_session
    from sqlalchemy import MetaData, Table, select

    with create_session() as session:
        table = Table("task_instance", MetaData(), autoload_with=session.get_bind())
        rows = [clean(row) for row in session.execute(select(table)).mappings()]
    rows.sort(key=lambda row: (row["dag_id"], row["task_id"], row["map_index"]))
    print(json.dumps({"rows": rows}), flush=True)


def dump_deadlines():
    from airflow.models.callback import Callback
    from airflow.models.dagrun import DagRun
    from airflow.models.deadline import Deadline
    from airflow.utils.session import create_session
    from sqlalchemy import select

    rows = []
    with create_session() as session:
        found = select(Deadline, DagRun, Callback).join(DagRun, Deadline.dagrun_id == DagRun.id)
        for deadline, run, callback in session.execute(
            found.join(Callback, Deadline.callback_id == Callback.id)
        ):
            told = {"deadline_time": deadline.deadline_time, "created_at": deadline.created_at}
            row = {"dag_id": run.dag_id, "run_id": run.run_id, "missed": deadline.missed}
            row |= {"type": callback.type, "state": callback.state, "data": callback.data}
            rows.append(clean(row | told))
    rows.sort(key=lambda row: (row["dag_id"], row["data"]["kwargs"]["number"]))
    print(json.dumps({"rows": rows}), flush=True)


def clean(row):
    return {key: value_of(key, row[key]) for key in sorted(row) if key not in LEFT_OUT}


def value_of(key, value):
    if key == "context_carrier":
        return value is not None
    if key == "executor_config" and value is not None:
        import pickle

        return pickle.loads(bytes(value))
    if value is not None and (key.endswith(("_date", "_dttm", "_at")) or isinstance(value, datetime)):
        moment = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
        moment = moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)
        return "now" if abs(datetime.now(timezone.utc) - moment) < timedelta(hours=1) else moment.isoformat()
    return value if isinstance(value, (str, int, float, bool, dict, list, type(None))) else str(value)


if __name__ == "__main__":
    main(*sys.argv[1:])
