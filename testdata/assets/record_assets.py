"""Record what the installed Airflow makes of the assets of DAG files, to assets.json.gz.

In a history file after file is stored with `SerializedDAG.bulk_write_to_db`, in a throw-away SQLite database,
and after each all rows about assets are recorded, as `rows.py` gives them.

    <venv>/bin/python testdata/assets/record_assets.py
"""

import gzip
import json
import os
import sys
import tempfile
from pathlib import Path

RECORDING = Path(__file__).resolve().parent / "assets.json.gz"
ENVIRONMENT = {
    "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
    "AIRFLOW__CORE__DAGS_FOLDER": "/dags",
    "AIRFLOW__CORE__FERNET_KEY": "cw_0x689RpI-jtRR7oE8h_eQsKImvJapLeSbXpwF4e4=",
    "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    "AIRFLOW__LOGGING__LOGGING_LEVEL": "CRITICAL",
}


def main() -> int:
    with tempfile.TemporaryDirectory() as home:
        prepare(home)
        import histories

        recorded = [play(name, steps) for name, steps in histories.histories().items()]
    text = (json.dumps({"histories": recorded}, indent=1) + "\n").encode()
    # Another zlib may compress the same differently.
    if not RECORDING.exists() or gzip.decompress(RECORDING.read_bytes()) != text:
        RECORDING.write_bytes(gzip.compress(text, compresslevel=9, mtime=0))
    print(f"recorded {len(recorded)} histories with {sum(len(one['steps']) for one in recorded)} steps")
    return 0


def prepare(home: str) -> None:
    """Import Airflow with nothing else configured."""
    for name in [name for name in os.environ if name.startswith("AIRFLOW")]:
        del os.environ[name]
    os.environ.update(ENVIRONMENT, AIRFLOW_HOME=home)
    from airflow import models, settings
    from airflow.models.base import Base

    models.import_all_models()
    Base.metadata.create_all(settings.engine)


def play(name: str, steps: list[dict]) -> dict:
    from airflow import settings
    from airflow.models.base import Base
    from airflow.models.dagbundle import DagBundleModel

    with settings.Session() as session:
        for table in reversed(Base.metadata.sorted_tables):
            session.execute(table.delete())
        session.add(DagBundleModel(name="dags-folder"))
        session.commit()
        recorded = [recorded_step(session, step) for step in steps]
    return {"name": name, "steps": recorded}


def recorded_step(session, step: dict) -> dict:
    import sqlalchemy as sa
    from airflow.models.asset import remove_references_to_deleted_dags
    from airflow.serialization.definitions.dag import SerializedDAG
    from airflow.serialization.serialized_objects import LazyDeserializedDAG
    from rows import rows

    done = {"name": step["name"], "before": step.get("before", []), "documents": []}
    for statement in done["before"]:
        session.execute(sa.text(statement))
    session.commit()
    session.expire_all()
    dags = []
    for dag in step.get("dags", ()):
        dag.fileloc, dag.relative_fileloc = "/dags/file.py", "file.py"
        # As a file's DAGs come out of the process that parses it.
        text = json.dumps(LazyDeserializedDAG.from_dag(dag).data)
        dags.append(LazyDeserializedDAG(data=json.loads(text)))
        done["documents"].append(text)
    SerializedDAG.bulk_write_to_db("dags-folder", None, dags, session=session)
    if step.get("is_removing_stale"):
        done["is_removing_stale"] = True
        remove_references_to_deleted_dags(session)
    session.commit()
    session.expire_all()
    return done | {"rows": rows(session)}


if __name__ == "__main__":
    sys.exit(main())
