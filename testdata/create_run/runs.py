"""Makes runs with the real Airflow, to compare their rows.

usage: runs.py make folder   stores the DAGs below in Airflow's database, makes runs of them, deletes them
                             again: a line of JSON for each run: what it was made from, and its rows
       runs.py dump          a line of JSON with the rows of each run that is there
       runs.py paths         a line of JSON for each template of standard input: the paths of the logs of some
                             task instances

Rows leave out ids; times that are those of the making are told from those that are not there.
"""

import json
import pickle
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

BUNDLE = "dags-folder"
NOW_COLUMNS = {"queued_at", "start_date", "created_at", "updated_at"}
LEFT_OUT = {"id", "dag_run_id", "log_template_id", "created_dag_version_id", "dag_version_id"}


def main(command, *arguments):
    {"make": make, "dump": dump, "paths": paths}[command](*arguments)


def at(*parts):
    return datetime(*parts, tzinfo=timezone.utc)


def dags():
    from airflow.providers.standard.operators.bash import BashOperator
    from airflow.providers.standard.operators.empty import EmptyOperator
    from airflow.sdk import DAG, task, task_group

    with DAG("plain", start_date=at(2024, 1, 1), schedule="@daily") as plain:
        first = BashOperator(task_id="first", bash_command="true", retries=3, pool_slots=2, priority_weight=5)
        second = EmptyOperator(task_id="second", queue="other", task_display_name="The Sécond")
        third = BashOperator(
            task_id="third",
            bash_command="true",
            executor_config={"a": {"b": [1, 2.5, None, True, "é"]}},
            weight_rule="upstream",
            executor="LocalExecutor",
            pool="wide",
        )
        first >> [second, third]
    with DAG("mapped", start_date=at(2024, 1, 1), schedule=None) as mapped:

        @task(retries=1)
        def numbers():
            return [1]

        @task
        def each(x):
            return x

        @task_group
        def group(x):
            each.override(task_id="inner")(x)

        each.expand(x=[1, 2, 3])
        each.override(task_id="later").expand(x=numbers())
        group.expand(x=["a", "b"])
        each.override(task_id="nothing").expand(x=[])
    with DAG("partly", start_date=at(2024, 1, 1), schedule=None) as partly:
        EmptyOperator(task_id="always")
        EmptyOperator(task_id="not_yet", start_date=at(2025, 1, 1))
        EmptyOperator(task_id="no_more", end_date=at(2024, 1, 1))
    return [plain, mapped, partly]


def runs():
    day = timedelta(days=1)
    date = at(2024, 6, 1, 12, 30, 0, 250)
    yield (
        "plain",
        {
            "run_id": "scheduled__1",
            "logical_date": date,
            "data_interval": [date, date + day],
            "run_after": date + day,
            "run_type": "scheduled",
            "triggered_by": "timetable",
            "state": "queued",
            "creating_job_id": 7,
        },
    )
    yield (
        "plain",
        {
            "run_id": "manual__2",
            "logical_date": None,
            "data_interval": None,
            "run_after": date,
            "run_type": "manual",
            "triggered_by": "rest_api",
            "triggering_user_name": "ann",
            "state": "queued",
            "conf": {"x": [1, {"y": "é"}], "airflow/task_span_detail_level": 2},
            "note": "look at this",
        },
    )
    yield (
        "plain",
        {
            "run_id": "manual__3",
            "logical_date": date + day,
            "data_interval": [date, date],
            "run_after": date,
            "run_type": "manual",
            "triggered_by": "test",
            "triggering_user_name": "dag_test",
            "state": "running",
            "start_date": date,
        },
    )
    yield (
        "mapped",
        {
            "run_id": "manual__1",
            "logical_date": date,
            "data_interval": [date, date],
            "run_after": date,
            "run_type": "manual",
            "triggered_by": "cli",
            "state": "running",
        },
    )
    yield (
        "partly",
        {
            "run_id": "manual__1",
            "logical_date": date,
            "data_interval": [date, date],
            "run_after": date,
            "run_type": "manual",
            "triggered_by": "operator",
            "state": "queued",
        },
    )


def make(folder):
    from airflow.dag_processing.collection import update_dag_parsing_results_in_db
    from airflow.models.dagbag import DBDagBag
    from airflow.serialization.serialized_objects import DagSerialization, LazyDeserializedDAG
    from airflow.utils.session import create_session
    from airflow.utils.types import DagRunTriggeredByType

    place = Path(folder) / "file.py"
    place.write_text("# the file\n")
    all_dags = dags()
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
    for dag_id, run in runs():
        with create_session() as session:
            dag = DBDagBag().get_latest_version_of_dag(dag_id, session=session)
            arguments = run | {"triggered_by": DagRunTriggeredByType(run["triggered_by"])}
            dag.create_dagrun(session=session, **arguments)
        with create_session() as session:
            (rows,) = all_rows(session)
        with create_session() as session:
            delete_runs(session)
        print(
            json.dumps({"dag_id": dag_id, "run": run, "rows": rows}, default=datetime.isoformat), flush=True
        )


def dump():
    from airflow.utils.session import create_session

    with create_session() as session:
        for rows in all_rows(session):
            print(json.dumps({"rows": rows}), flush=True)


def delete_runs(session):
    from airflow.models.dagrun import DagRun

    for run in session.query(DagRun):
        session.delete(run)


def all_rows(session):
    """The rows of each run, as they are stored."""
    from sqlalchemy import MetaData, Table, select

    metadata = MetaData()
    run_table, instances, notes = (
        Table(name, metadata, autoload_with=session.get_bind())
        for name in ("dag_run", "task_instance", "dag_run_note")
    )
    for run in session.execute(select(run_table).order_by(run_table.c.id)).mappings():
        where = (instances.c.dag_id == run["dag_id"]) & (instances.c.run_id == run["run_id"])
        found = session.execute(select(instances).where(where)).mappings()
        note = session.execute(select(notes).where(notes.c.dag_run_id == run["id"])).mappings()
        yield {
            "dag_run": clean(run),
            "task_instance": sorted(
                (clean(row) for row in found), key=lambda row: (row["task_id"], row["map_index"])
            ),
            "dag_run_note": [clean(row) for row in note],
        }


def clean(row):
    return {key: value_of(row, key) for key in sorted(row) if key not in LEFT_OUT}


def value_of(row, key):
    value = row[key]
    if key in NOW_COLUMNS and value is not None:
        moment = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
        moment = moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)
        is_now = abs(datetime.now(timezone.utc) - moment) < timedelta(hours=1)
        return "now" if is_now else moment.isoformat()
    if key == "executor_config" and value is not None:
        return repr(pickle.loads(bytes(value)))
    if key == "context_carrier":
        return carrier(value)
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=timezone.utc)).isoformat()
    return value if isinstance(value, (str, int, float, bool, dict, list, type(None))) else str(value)


def carrier(value):
    """What is in it, without what chance chose."""
    value = json.loads(value) if isinstance(value, str) else value
    told = json.loads(json.dumps(value))
    if isinstance(told, dict) and "traceparent" in told.get("__var", {}):
        version, trace, span, flags = told["__var"]["traceparent"].split("-")
        told["__var"]["traceparent"] = [version, len(trace), len(span), flags]
    return told


def paths():
    import jinja2
    from airflow.utils.helpers import log_filename_template_renderer

    class Thing:
        def __init__(self, **fields):
            self.__dict__.update(fields)

    date = at(2024, 6, 1, 12, 30, 0, 250)
    run = Thing(
        run_id="manual__2024-06-01T12:30:00+00:00", run_type="manual", logical_date=date, run_after=date
    )
    common = {
        "dag_id": "a.dag",
        "run_id": run.run_id,
        "dag_run": run,
        "logical_date": date,
        "pool": "p",
        "queue": "q",
    }
    things = [
        Thing(task_id="group.task", map_index=-1, try_number=1, **common),
        Thing(task_id="é", map_index=12, try_number=3, **common),
    ]
    from airflow.configuration import conf

    for template in json.load(sys.stdin):
        conf.set("logging", "log_filename_template", template.replace("%", "%%"))
        log_filename_template_renderer.cache_clear()
        try:
            told = [log_filename_template_renderer()(ti=thing) for thing in things]
        except (KeyError, ValueError, IndexError, jinja2.TemplateError):
            told = None
        print(json.dumps({"template": template, "paths": told}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
