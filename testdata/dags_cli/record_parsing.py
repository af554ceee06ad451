"""Record what the commands of `airflow dags` that parse files print of the folder `local`.

Writes parsing.json beside this file: step by step what each command printed, complained of and its exit
code, and for `dags reserialize` the rows that matter afterwards. The folder of the day is replaced by /HOME.

    <venv>/bin/python testdata/dags_cli/record_parsing.py
"""

import json
import os
import shutil
import tempfile
from pathlib import Path

from record_dags_cli import answer

HERE = Path(__file__).parent
LOCAL = "airflow.dag_processing.bundles.local.LocalDagBundle"
FIELDS = (
    "dag_id,dag_display_name,bundle_name,relative_fileloc,fileloc,description,timetable_summary,"
    "timetable_description,timetable_partitioned,timetable_periodic,tags,max_active_tasks,max_active_runs,"
    "max_consecutive_failed_dag_runs,has_task_concurrency_limits,has_import_errors,allowed_run_types,owners,"
    "is_backfillable,is_paused,is_stale,next_dagrun_logical_date,next_dagrun_run_after"
)
LOOKS = [
    ["list", "--local", "-B", "main", "--columns", FIELDS, "-o", "json"],
    ["list-import-errors", "--local", "-B", "main", "-o", "json"],
    ["report", "-o", "json"],
    ["report", "-B", "nonsense"],
    ["reserialize", "-B", "nonsense"],
]
STORED = [
    ["list", "--columns", FIELDS, "-o", "json"],
    ["list-import-errors", "-o", "json"],
    ["list", "--local", "-B", "main", "--columns", FIELDS, "-o", "json"],
    ["next-execution", "local_custom", "-n", "3"],
]


def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        main_folder = Path(home) / "main"
        shutil.copytree(HERE / "local", main_folder)
        shutil.copytree(HERE / "plugins", Path(home) / "plugins")
        (Path(home) / "other").mkdir()
        configure(home, ["main", "other"])
        from airflow.cli.simple_table import AirflowConsole
        from airflow.utils.db import initdb

        initdb()
        # What is printed to no terminal is folded at 200 columns.
        made = AirflowConsole.__init__

        def made_wide(self, *args, **kwargs):
            made(self, *args, **kwargs)
            self._width = 100_000

        AirflowConsole.__init__ = made_wide
        recorded = {"looks": asked(LOOKS)}
        # Which of two DAGs with one name is stored is tested with the processor.
        (main_folder / "again.py").unlink()
        recorded["stored"] = asked([["reserialize", "-B", "main"], *STORED]) | {"bundles": bundles()}
        (main_folder / "two_dags.py").unlink()
        (main_folder / "broken.py").unlink()
        configure(home, ["main"])
        recorded["gone"] = asked([["reserialize"], *STORED[:2]]) | {"bundles": bundles()}
        text = json.dumps(recorded, indent=1, ensure_ascii=False).replace(home, "/HOME")
    (HERE / "parsing.json").write_text(text + "\n", encoding="utf-8")


def asked(questions: list[list[str]]) -> dict:
    return {"answers": [{"arguments": arguments} | answer(arguments) for arguments in questions]}


def bundles() -> list:
    from airflow.models.dagbundle import DagBundleModel
    from airflow.utils.session import create_session
    from sqlalchemy import select

    with create_session() as session:
        found = session.scalars(select(DagBundleModel).order_by(DagBundleModel.name))
        return [[bundle.name, bundle.active] for bundle in found]


def configure(home: str, names: list[str]) -> None:
    for name in [name for name in os.environ if name.startswith("AIRFLOW")]:
        del os.environ[name]
    configured = [{"name": name, "classpath": LOCAL, "kwargs": {"path": f"{home}/{name}"}} for name in names]
    os.environ |= {
        "AIRFLOW_HOME": home,
        "AIRFLOW__CORE__DAGS_FOLDER": f"{home}/main",
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__MIN_SERIALIZED_DAG_UPDATE_INTERVAL": "0",
        "AIRFLOW__LOGGING__LOGGING_LEVEL": "CRITICAL",
        "AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST": json.dumps(configured),
    }


if __name__ == "__main__":
    main()
