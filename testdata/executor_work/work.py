"""Work for executors that is no task: callbacks of missed deadlines, and connections to be tried.

    <venv>/bin/python testdata/executor_work/work.py seed            # what callbacks and tests find
    <venv>/bin/python testdata/executor_work/work.py ask             # asks for connections to be tried
    <venv>/bin/python testdata/executor_work/work.py is-called       # `yes` once all callbacks have ended
    <venv>/bin/python testdata/executor_work/work.py is-done         # the same of callbacks and tests
    <venv>/bin/python testdata/executor_work/work.py show LOG-FOLDER # what is left, as JSON

The database is the configured one. `dags/` has the DAG whose deadlines are missed, and the classes that
connections are tried with. What is shown is the same whenever and wherever it ran.
"""

import json
import os
import re
import sys
import time
from pathlib import Path

import sqlalchemy as sa
from airflow.models.callback import ExecutorCallback
from airflow.models.connection import Connection
from airflow.models.connection_test import ConnectionTestRequest
from airflow.models.deadline import Deadline
from airflow.models.variable import Variable
from airflow.utils.session import create_session

CALLBACKS = 15
# Connections, and what is asked of each.
TESTS = {
    "good": {"conn_type": "fs", "extra": '{"path": "/"}'},
    "stored_if_good": {
        "conn_type": "fs",
        "host": "somewhere",
        "login": "somebody",
        "password": "a secret word",
        "schema": "one",
        "port": 1234,
        "extra": '{"path": "/tmp"}',
        "commit_on_success": True,
    },
    "stored_again": {
        "conn_type": "fs",
        "password": "a new word",
        "extra": '{"path": "/"}',
        "commit_on_success": True,
    },
    "keeps_password": {"conn_type": "fs", "extra": '{"path": "/"}', "commit_on_success": True},
    "bad": {"conn_type": "fs", "extra": '{"path": "/no/such/folder"}', "commit_on_success": True},
    "nobody_there": {"conn_type": "smtp", "host": "127.0.0.1", "port": 1, "extra": '{"retry_limit": 1}'},
    "unknown_type": {"conn_type": "nobody_knows"},
    "untestable": {"conn_type": "celery"},
    "bad_extra": {"conn_type": "fs", "extra": "no JSON"},
    "for_nobody": {"conn_type": "fs", "executor": "NoSuchExecutor"},
    "for_the_local": {"conn_type": "fs", "executor": "LocalExecutor"},
}
UUID = re.compile(r"\b[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}\b")
MOMENT = re.compile(r"\b20(2[5-9]|[3-9]\d)-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?")
UNUSUAL_MODULE = re.compile(r"unusual_prefix_[0-9a-f]+_")
# Where something was running is not the same with another supervisor.
UNTOLD = ("timestamp", "filename", "lineno", "pid", "error_detail")


def seed() -> None:
    with create_session() as session:
        session.add(Variable(key="asked_for", val="an answer"))
        for conn_id in ("stored_again", "keeps_password"):
            fields = {"host": "before", "login": "before", "password": "an old word", "description": "kept"}
            session.add(Connection(conn_id=conn_id, conn_type="http", **fields))


def ask() -> None:
    with create_session() as session:
        for conn_id, asked in TESTS.items():
            session.add(ConnectionTestRequest(connection_id=conn_id, **asked))
            session.flush()
            # They are tried in the order in which they were made.
            time.sleep(0.01)


def is_called() -> bool:
    return _are_over(ExecutorCallback.state, CALLBACKS)


def is_done() -> bool:
    return is_called() and _are_over(ConnectionTestRequest.state, len(TESTS))


def _are_over(column, number: int) -> bool:
    with create_session() as session:
        states = session.scalars(sa.select(column)).all()
    return len(states) == number and all(state in ("success", "failed") for state in states)


def show(logs: Path) -> dict:
    with create_session() as session:
        missed = dict(session.execute(sa.select(Deadline.callback_id, Deadline.missed)).all())
        callbacks = {}
        for callback in session.scalars(sa.select(ExecutorCallback)):
            data = dict(callback.data)
            kwargs = dict(data["kwargs"])
            kwargs["context"] = sorted(kwargs["context"])
            path = f"executor_callbacks/{data['dag_id']}/*/{callback.id}"
            callbacks[kwargs["case"]] = {
                "row": {
                    "state": callback.state,
                    "output": callback.output,
                    "data": data | {"kwargs": kwargs},
                    "fetch_method": callback.fetch_method,
                    "priority_weight": callback.priority_weight,
                    "bundle_name": callback.bundle_name,
                    "missed": missed[callback.id],
                },
                "log": [_line(line) for file in logs.glob(path) for line in file.read_text().splitlines()],
            }
        tests = {
            test.connection_id: {
                "state": test.state,
                "result_message": test.result_message,
                "active_connection_id": test.active_connection_id,
                "has_password": test.password is not None,
            }
            for test in session.scalars(sa.select(ConnectionTestRequest))
        }
        fields = ("conn_type", "host", "login", "password", "schema", "port", "extra", "description")
        connections = {
            stored.conn_id: {name: getattr(stored, name) for name in fields}
            for stored in session.scalars(sa.select(Connection).where(Connection.conn_id.in_(TESTS)))
        }
    shown = {"callbacks": callbacks, "tests": tests, "connections": connections}
    # In the form in which it is compared, whatever a database returns.
    return json.loads(_masked(json.dumps(shown, default=str, sort_keys=True)))


def _line(line: str) -> dict:
    record = json.loads(line)
    shown = {key: value for key, value in record.items() if key not in UNTOLD}
    if details := record.get("error_detail"):
        shown["error"] = [(detail["exc_type"], detail["exc_value"]) for detail in details]
    # The whole context is in it.
    if "callback_kwargs" in shown:
        shown["callback_kwargs"] = sorted(shown["callback_kwargs"])
    return shown


def _masked(text: str) -> str:
    text = UUID.sub("<id>", text)
    text = MOMENT.sub("<moment>", text)
    return UNUSUAL_MODULE.sub("unusual_prefix_<hash>_", text)


if __name__ == "__main__":
    # Whatever Airflow prints goes elsewhere, also what it does with the stream that it has seen first.
    output = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    match sys.argv[1:]:
        case ["seed"]:
            seed()
        case ["ask"]:
            ask()
        case ["is-called"]:
            print("yes" if is_called() else "no", file=output)
        case ["is-done"]:
            print("yes" if is_done() else "no", file=output)
        case ["show", folder]:
            json.dump(show(Path(folder)), output, indent=1, sort_keys=True, ensure_ascii=False)
        case _:
            sys.exit(__doc__)
