"""A place where a DAG processor runs: folders, configuration and a database."""

import json
import os
import shutil
import subprocess
import sys
import time
from datetime import datetime, timezone
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Kept under this name where a tool would not have it otherwise.
ASIDE = ".txt"
# A DAG that its file did not give for so long is stale.
STALE_SECONDS = 5
DATE = datetime(2024, 1, 1, tzinfo=timezone.utc)
SETTINGS = {
    "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    "AIRFLOW__CORE__FERNET_KEY": "QmFzZTY0X29mXzMyX2J5dGVzX2Zvcl90ZXN0c18xMjM=",
    "AIRFLOW__CORE__MIN_SERIALIZED_DAG_UPDATE_INTERVAL": "0",
    # Time-outs have tests of their own; the first question for a variable takes official Airflow long.
    "AIRFLOW__CORE__DAGBAG_IMPORT_TIMEOUT": "300",
    "AIRFLOW__DAG_PROCESSOR__DAG_FILE_PROCESSOR_TIMEOUT": "400",
    "AIRFLOW__DAG_PROCESSOR__STALE_DAG_THRESHOLD": str(STALE_SECONDS),
    "AIRFLOW__SCHEDULER__PARSING_CLEANUP_INTERVAL": "0",
}


class World:
    def __init__(self, root: Path, bundles: dict[str, str], settings: dict[str, str]) -> None:
        """Lays out the folders and sets the environment, before Airflow is imported."""
        self.root = root
        self._bundles = bundles
        self._ended = 0.0
        home = root / "home"
        for name, folder in bundles.items():
            _copy(HERE / folder, root / name)
        for name in ("plugins", "config"):
            _copy(HERE / name, home / name)
        _copy(HERE / "outside", root / "outside")
        for name in [name for name in os.environ if name.startswith("AIRFLOW") and "SQL_ALCHEMY" not in name]:
            del os.environ[name]
        os.environ["AIRFLOW_HOME"] = str(home)
        os.environ.setdefault("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", f"sqlite:///{root}/airflow.db")
        os.environ["AIRFLOW__CORE__DAGS_FOLDER"] = str(root / "main")
        os.environ["AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST"] = json.dumps(
            [
                {
                    "name": name,
                    "classpath": "airflow.dag_processing.bundles.local.LocalDagBundle",
                    "kwargs": {"path": str(root / name)},
                }
                for name in bundles
            ]
        )
        os.environ.update(SETTINGS | settings)
        # Examples write where temporary files go into their documents.
        os.environ["TMPDIR"] = str(root / "temporary")
        (root / "temporary").mkdir()
        # The Python that has Airflow is the first to be found.
        os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    def create_tables(self) -> None:
        from airflow.utils.db import initdb

        initdb()

    def wait_until_stale(self) -> None:
        """For as long as a DAG needs to be stale if the next pass does not find it."""
        time.sleep(max(0.0, self._ended + STALE_SECONDS + 1 - time.monotonic()))

    def process(self, processor: list[str], log: Path) -> None:
        """Every file once."""
        with log.open("ab") as output:
            ended = subprocess.run(
                [*processor, "dag-processor", "--num-runs", "1"],
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self.root,
                timeout=900,
            )
        self._ended = time.monotonic()
        if ended.returncode != 0:
            tail = log.read_text(errors="replace").splitlines()[-40:]
            sys.exit("\n".join([*tail, f"{processor[0]} ended with {ended.returncode}"]))

    def bundle(self, name: str) -> Path:
        return self.root / name

    def replace(self, path: str, old: str, new: str) -> None:
        file = self.bundle("main") / path
        text = file.read_text()
        assert old in text, f"{path} does not have {old}"
        file.write_text(text.replace(old, new))

    def cut(self, path: str, first: str, last: str) -> None:
        file = self.bundle("main") / path
        before, rest = file.read_text().split(first)
        file.write_text(before + rest.split(last)[1])

    def delete(self, path: str) -> None:
        (self.bundle("main") / path).unlink()

    def restore(self, path: Path) -> None:
        original = HERE / self._bundles["main"] / path
        copied = self.bundle("main") / _name_in_use(path)
        if not copied.exists() or copied.read_bytes() != original.read_bytes():
            shutil.copyfile(original, copied)

    def add_variable(self, key: str, value: str) -> None:
        from airflow.models.variable import Variable

        Variable.set(key, value)

    def add_connection(self, conn_id: str, uri: str) -> None:
        from airflow.models.connection import Connection
        from airflow.utils.session import create_session

        with create_session() as session:
            session.add(Connection(conn_id=conn_id, uri=uri))

    def add_run(self, dag_id: str) -> None:
        """A run with its task instances, made by official code from the document that is stored."""
        from airflow.models.serialized_dag import SerializedDagModel
        from airflow.utils.session import create_session
        from airflow.utils.state import DagRunState
        from airflow.utils.types import DagRunTriggeredByType, DagRunType

        with create_session() as session:
            stored = SerializedDagModel.get(dag_id, session=session)
            stored.dag.create_dagrun(
                run_id="by_the_test",
                logical_date=DATE,
                data_interval=(DATE, DATE),
                run_after=DATE,
                run_type=DagRunType.MANUAL,
                triggered_by=DagRunTriggeredByType.TEST,
                state=DagRunState.SUCCESS,
                session=session,
            )

    def set_paused(self, dag_id: str, *, paused: bool) -> None:
        from airflow.models.dag import DagModel
        from airflow.utils.session import create_session
        from sqlalchemy import update

        with create_session() as session:
            session.execute(update(DagModel).where(DagModel.dag_id == dag_id).values(is_paused=paused))


def _copy(source: Path, target: Path) -> None:
    for path in sorted(source.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            copied = target / _name_in_use(path.relative_to(source))
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copied)
    target.mkdir(parents=True, exist_ok=True)


def _name_in_use(path: Path) -> Path:
    return path.with_suffix("") if path.name.endswith(f".py{ASIDE}") else path
