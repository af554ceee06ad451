"""Answers questions about a database, one JSON line each, through Airflow's own code.

    <venv>/bin/python testdata/dag_processing/observe.py ROOT

A question is a list: the name of a function below, and its arguments. The configuration is that of the
environment; paths under ROOT are masked in rows.
"""

import json
import sys

import rows


def normalised(root: str) -> dict:
    return rows.normalised(rows.read(), {"root": root})


def serialized(root: str) -> list[str]:
    """The ids of DAGs that are stored and not stale."""
    from airflow.models.dag import DagModel
    from airflow.models.serialized_dag import SerializedDagModel
    from sqlalchemy import select

    stored = select(SerializedDagModel.dag_id).join(DagModel, DagModel.dag_id == SerializedDagModel.dag_id)
    return _all(stored.where(~DagModel.is_stale).distinct())


def import_errors(root: str) -> dict[str, str]:
    from airflow.models.errors import ParseImportError
    from airflow.utils.session import create_session
    from sqlalchemy import select

    with create_session() as session:
        found = session.execute(select(ParseImportError.filename, ParseImportError.stacktrace)).all()
        return {filename: rows.Masks({"root": root}).text(text) for filename, text in found}


def parsed(root: str, dag_id: str) -> str:
    """When the DAG's file was parsed last."""
    from airflow.models.dag import DagModel
    from sqlalchemy import select

    return _all(select(DagModel.last_parsed_time).where(DagModel.dag_id == dag_id))[0].isoformat()


def add_dag_callbacks(root: str, dag_id: str, filepath: str, first: int, count: int) -> int:
    """Rows as a scheduler writes them for runs that have failed."""
    from airflow.callbacks.callback_requests import DagCallbackRequest
    from airflow.models.callback import DagProcessorCallback
    from airflow.utils.session import create_session

    with create_session() as session:
        for number in range(first, first + count):
            request = DagCallbackRequest(
                filepath=filepath,
                bundle_name="main",
                bundle_version=None,
                dag_id=dag_id,
                run_id=f"run {number}",
                is_failure_callback=True,
                msg=f"number {number}",
            )
            session.add(DagProcessorCallback(priority_weight=number % 5, callback=request))
    return count


def callbacks_left(root: str) -> int:
    from airflow.models.callback import Callback
    from sqlalchemy import select

    return len(_all(select(Callback.id)))


def trigger(root: str, dag_id: str) -> str:
    """Unpauses a DAG and asks for a run of it, as the API does."""
    from airflow.api.common.trigger_dag import trigger_dag
    from airflow.models.dag import DagModel
    from airflow.utils.session import create_session
    from airflow.utils.types import DagRunTriggeredByType
    from sqlalchemy import update

    with create_session() as session:
        session.execute(update(DagModel).where(DagModel.dag_id == dag_id).values(is_paused=False))
    return trigger_dag(dag_id=dag_id, triggered_by=DagRunTriggeredByType.TEST).run_id


def run_states(root: str, dag_id: str) -> list[str]:
    from airflow.models.dagrun import DagRun
    from sqlalchemy import select

    return [str(state) for state in _all(select(DagRun._state).where(DagRun.dag_id == dag_id))]


def _all(statement) -> list:
    from airflow.utils.session import create_session

    with create_session() as session:
        return list(session.scalars(statement))


QUESTIONS = (
    normalised,
    serialized,
    import_errors,
    parsed,
    add_dag_callbacks,
    callbacks_left,
    trigger,
    run_states,
)


def main(root: str) -> None:
    functions = {function.__name__: function for function in QUESTIONS}
    # Whatever Airflow prints goes elsewhere.
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        print(json.dumps(functions[name](root, *arguments)), file=answers, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
