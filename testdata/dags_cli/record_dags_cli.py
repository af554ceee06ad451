"""Record what the commands of `airflow dags` print of a database with a few DAGs.

Writes dags_cli.json beside this file: the rows of the database, and for each command line what it printed,
what it complained of and its exit code; for `dags show` what it draws of the DAG with everything, and of
those in testdata/serialized. Whatever depends on the day, the machine or the duration of a parse is
replaced before anything is asked.

    <venv>/bin/python testdata/dags_cli/record_dags_cli.py
"""

import contextlib
import io
import json
import os
import shutil
import sys
import tempfile
import types
from pathlib import Path

HERE = Path(__file__).parent
PARSED_AT = "2026-03-01 06:07:08.090000"
SECRET_KEY = "not much of a secret"

FORMATS = ("table", "json", "yaml", "plain")
DETAILED = ("daily", "hourly", "never", "partitioned", "structure")
COLUMNS = "dag_id,tags,timetable_summary,max_active_tasks,next_dagrun_run_after,is_stale,allowed_run_types"
SCHEDULED = ("daily", "hourly", "never", "once", "on_asset", "partitioned")
FIELDS = ("run_after", "data_interval.end")


def questions() -> list[list[str]]:
    asked = [["list", "-o", output] for output in FORMATS]
    asked += [["list", "--columns", COLUMNS, "-o", output] for output in FORMATS]
    asked += [["list", "--columns", "dag_id,nonsense,owner"], ["list", "-B", "other", "-o", "json"]]
    asked += [["list", "-B", "nonsense"], ["list-import-errors", "-B", "nonsense"]]
    asked += [["list-import-errors", "-o", output] for output in ("json", "yaml")]
    asked += [["list-import-errors", "-B", "other", "-o", output] for output in FORMATS]
    asked += [["list-import-errors", "-B", "empty"]]
    asked += [["details", dag_id, "-o", output] for dag_id in DETAILED for output in FORMATS]
    asked += [["details", "nonsense"], ["next-execution", "nonsense"], ["show", "nonsense"]]
    asked += [["next-execution", dag_id, *more] for dag_id in SCHEDULED for more in ([], ["-n", "3"])]
    asked += [["next-execution", dag_id, "-n", "2", "--table"] for dag_id in SCHEDULED]
    asked += [["next-execution", "daily", "-n", "2", "--field", field] for field in FIELDS]
    asked += [["next-execution", "partitioned", "--field", "partition_date"]]
    asked += [["next-execution", "daily", "--table", "--field", "run_after"]]
    return asked


def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        dags = Path(home) / "dags"
        shutil.copytree(HERE / "dags", dags)
        (Path(home) / "empty").mkdir()
        configure(home, dags)
        sys.modules["graphviz"] = drawing_module()
        prepare(str(dags))
        recorded = {
            "secret_key": SECRET_KEY,
            "rows": rows(),
            "answers": [{"arguments": arguments} | answer(arguments) for arguments in questions()],
            "pictures": pictures(),
        }
        text = json.dumps(recorded, indent=1, ensure_ascii=False)
    (HERE / "dags_cli.json").write_text(text + "\n", encoding="utf-8")


def configure(home: str, dags: Path) -> None:
    for name in [name for name in os.environ if name.startswith("AIRFLOW")]:
        del os.environ[name]
    local = "airflow.dag_processing.bundles.local.LocalDagBundle"
    bundles = [
        {"name": "dags-folder", "classpath": local, "kwargs": {}},
        {"name": "other", "classpath": local, "kwargs": {"path": f"{home}/empty"}},
        {"name": "empty", "classpath": local, "kwargs": {"path": f"{home}/empty"}},
    ]
    os.environ |= {
        "AIRFLOW_HOME": home,
        "AIRFLOW__CORE__DAGS_FOLDER": str(dags),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__API__SECRET_KEY": SECRET_KEY,
        "AIRFLOW__LOGGING__LOGGING_LEVEL": "ERROR",
        "AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST": json.dumps(bundles),
    }


def prepare(dags: str) -> None:
    from airflow.cli.simple_table import AirflowConsole
    from airflow.utils.db import initdb

    initdb()
    answer(["reserialize"])
    execute(f"UPDATE dag SET fileloc = replace(fileloc, '{dags}', '/dags')")
    execute(f"UPDATE serialized_dag SET data = replace(data, '{dags}', '/dags')")
    execute(f"UPDATE dag SET last_parsed_time = '{PARSED_AT}', last_parse_duration = 0.25")
    execute("UPDATE dag SET last_parse_duration = 0.00001, has_import_errors = 1 WHERE dag_id = 'hourly'")
    execute("UPDATE dag SET is_paused = 0, bundle_version = 'abc' WHERE dag_id IN ('daily', 'partitioned')")
    execute("UPDATE dag SET is_stale = 1, bundle_name = 'other' WHERE dag_id = 'once'")
    execute("UPDATE import_error SET stacktrace = 'ValueError: no such day:\n  Friday'")
    execute(
        "INSERT INTO import_error (timestamp, filename, bundle_name, stacktrace) VALUES"
        f" ('{PARSED_AT}', 'b.py', 'other', 'SyntaxError: it''s wrong')"
    )

    # What is printed to no terminal is folded at 200 columns.
    made = AirflowConsole.__init__

    def made_wide(self, *args, **kwargs):
        made(self, *args, **kwargs)
        self._width = 100_000

    AirflowConsole.__init__ = made_wide


def execute(statement: str) -> None:
    from airflow.utils.session import create_session
    from sqlalchemy import text

    with create_session() as session:
        session.execute(text(statement))


def rows() -> dict[str, list[dict]]:
    from airflow.models import DagModel, DagTag
    from airflow.models.dag_version import DagVersion
    from airflow.models.errors import ParseImportError
    from airflow.models.serialized_dag import SerializedDagModel
    from airflow.utils.session import create_session
    from sqlalchemy import select

    def cells(row) -> dict:
        columns = {
            column.name: row.__mapper__.get_property_by_column(column) for column in row.__table__.columns
        }
        return {name: plain(getattr(row, attribute.key)) for name, attribute in columns.items()}

    with create_session() as session:
        all_of = {
            "dag": session.scalars(select(DagModel).order_by(DagModel.dag_id)),
            "dag_tag": session.scalars(select(DagTag).order_by(DagTag.dag_id, DagTag.name)),
            "import_error": session.scalars(select(ParseImportError).order_by(ParseImportError.id)),
        }
        found = {table: [cells(row) for row in rows] for table, rows in all_of.items()}
        found["import_error"] = [row | {"timestamp": PARSED_AT} for row in found["import_error"]]
        serialized = session.scalars(select(SerializedDagModel).order_by(SerializedDagModel.dag_id))
        found["serialized_dag"] = [{"dag_id": row.dag_id, "data": row.data} for row in serialized]
        assert session.scalars(select(DagVersion.version_number).distinct()).all() == [1]
        return found


def plain(value):
    from datetime import datetime
    from uuid import UUID

    match value:
        case datetime():
            return value.isoformat()
        case UUID():
            return str(value)
        case _:
            return value


def answer(arguments: list[str]) -> dict:
    from airflow.cli.cli_parser import get_parser

    code = 0
    with (
        contextlib.redirect_stdout(io.StringIO()) as out,
        contextlib.redirect_stderr(io.StringIO()) as err,
    ):
        try:
            parsed = get_parser().parse_args(["dags", *arguments])
            parsed.func(parsed)
        except SystemExit as end:
            # What Python does with it.
            code = end.code if isinstance(end.code, int) else 1
            if not isinstance(end.code, int):
                print(end.code, file=sys.stderr)
    return {"code": code, "stdout": out.getvalue(), "stderr": err.getvalue()}


def pictures() -> dict[str, dict]:
    from airflow.models.serialized_dag import SerializedDagModel
    from airflow.serialization.serialized_objects import DagSerialization
    from airflow.utils.dot_renderer import render_dag

    dags = {"structure": SerializedDagModel.get_dag("structure")}
    for path in sorted((HERE.parent / "serialized").glob("*.json")):
        dags[path.stem] = DagSerialization.from_dict(json.loads(path.read_text()))
    return {name: render_dag(dag).drawn for name, dag in dags.items()}


def drawing_module() -> types.ModuleType:
    """Stands in for the package graphviz, which is not installed: keeps what is drawn, and writes no DOT."""
    module = types.ModuleType("graphviz")
    module.Digraph = Digraph
    return module


class Digraph:
    def __init__(self, name: str, graph_attr: dict | None = None):
        self.drawn = {"name": name, "attributes": graph_attr or {}, "nodes": {}, "edges": [], "clusters": []}

    def node(self, name: str, _attributes: dict):
        self.drawn["nodes"][name] = _attributes

    def edge(self, source: str, target: str, label: str | None):
        self.drawn["edges"].append([source, target, label])

    def attr(self, **attributes):
        self.drawn["attributes"] = attributes

    @contextlib.contextmanager
    def subgraph(self, name: str):
        inner = Digraph(name)
        yield inner
        self.drawn["clusters"].append(inner.drawn)


if __name__ == "__main__":
    main()
