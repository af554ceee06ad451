"""What the DAGs find around them: the environment, and rows of variables, connections and pools.

    <venv>/bin/python testdata/execution/world.py environment         # a JSON object of variables
    <venv>/bin/python testdata/execution/world.py seed SQLALCHEMY-URL  # inserts the rows; tables are there

Who runs callbacks deletes their rows, so a trigger keeps a copy of each that is written: WRITTEN_CALLBACKS.

Whoever runs the DAGs adds where things are: AIRFLOW_HOME, the database, and FERROFLOW_TRACE_FILE, to which
the DAGs' callbacks append a line each.
"""

import json
import sys
from pathlib import Path

FERNET_KEY = "QmFzZTY0X29mXzMyX2J5dGVzX2Zvcl90ZXN0c18xMjM="
ENVIRONMENT = {
    "AIRFLOW__CORE__FERNET_KEY": FERNET_KEY,
    "AIRFLOW__CORE__LOAD_EXAMPLES": "True",
    "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
    # Nothing runs but what is asked for: also DAGs that wait for assets keep waiting, and that can be seen.
    "AIRFLOW__SCHEDULER__USE_JOB_SCHEDULE": "False",
    "AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST": json.dumps(
        [
            {
                "name": "execution",
                "classpath": "airflow.dag_processing.bundles.local.LocalDagBundle",
                "kwargs": {"path": str(Path(__file__).resolve().with_name("dags"))},
            }
        ]
    ),
    "FERROFLOW_WORLD": "here",
    "AIRFLOW_VAR_FROM_ENVIRONMENT": "value of the environment",
    "AIRFLOW_VAR_IN_BOTH": "the environment's",
    "AIRFLOW_CONN_FROM_ENVIRONMENT": "http://user:pass%20word@env.example.org:8080/path?option=1",
    "AIRFLOW_CONN_FROM_ENVIRONMENT_JSON": json.dumps(
        {"conn_type": "generic", "host": "json.example.org", "extra": {"nested": {"key": "value"}}}
    ),
    "AIRFLOW_CONN_FS_DEFAULT": '{"conn_type": "fs"}',
}
# Where schedules and assets make runs: of the DAGs that are not paused any more.
SCHEDULES = {
    "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    "AIRFLOW__CORE__PARALLELISM": "4",
    "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "True",
    "AIRFLOW__SCHEDULER__USE_JOB_SCHEDULE": "True",
}
VARIABLES = {
    "word": "a word",
    "word_replaced": "first",
    "empty": "",
    "settings": '{"list": [1, "zwei", null], "ünï": true}',
    "secret_word": "hush-hush",
    "in_both": "the database's",
    "ünï/code key": "ünïcode value",
    "listed_one": "1",
    "listed_two": "2",
    "unlisted": "3",
}
CONNECTIONS = {
    "a_database": {
        "conn_type": "postgres",
        "host": "db.example.org",
        "port": 5432,
        "login": "somebody",
        "password": "correct horse",
        "schema": "warehouse",
        "extra": '{"option": "value", "api_token": "battery staple"}',
    },
    "bare": {"conn_type": "http", "host": "bare.example.org"},
    "ünïcode": {"conn_type": "generic", "host": "hôst", "password": "pässword"},
}
POOLS = {"small_pool": 2, "closed_pool": 0}
WRITTEN_CALLBACKS = "written_callback"
KEEP_CALLBACK = f"INSERT INTO {WRITTEN_CALLBACKS} SELECT * FROM callback WHERE id = NEW.id;"
KEEP_CALLBACKS = {
    "postgresql": (
        f"CREATE FUNCTION keep_callback() RETURNS trigger LANGUAGE plpgsql "
        f"AS $$ BEGIN {KEEP_CALLBACK} RETURN NEW; END $$",
        "CREATE TRIGGER keep_callback AFTER INSERT ON callback FOR EACH ROW EXECUTE FUNCTION keep_callback()",
    ),
    "sqlite": (f"CREATE TRIGGER keep_callback AFTER INSERT ON callback BEGIN {KEEP_CALLBACK} END",),
}


def seed(url: str) -> None:
    import sqlalchemy as sa
    from cryptography.fernet import Fernet

    fernet = Fernet(FERNET_KEY)

    def encrypted(text: str | None) -> str | None:
        return text if text is None else fernet.encrypt(text.encode()).decode()

    def insert(connection, table: str, row: dict) -> None:
        columns = [sa.column(name) for name in row]
        connection.execute(sa.table(table, *columns).insert().values(row))

    engine = sa.create_engine(url)
    with engine.begin() as connection:
        for key, value in VARIABLES.items():
            insert(connection, "variable", {"key": key, "val": encrypted(value), "is_encrypted": True})
        for conn_id, fields in CONNECTIONS.items():
            secrets = {name: encrypted(fields.get(name)) for name in ("password", "extra")}
            flags = {
                "is_encrypted": secrets["password"] is not None,
                "is_extra_encrypted": secrets["extra"] is not None,
            }
            insert(connection, "connection", {"conn_id": conn_id, **fields, **secrets, **flags})
        for pool, slots in POOLS.items():
            row = {"pool": pool, "slots": slots, "description": "", "include_deferred": False}
            insert(connection, "slot_pool", row)
        connection.execute(sa.text(f"CREATE TABLE {WRITTEN_CALLBACKS} AS SELECT * FROM callback WHERE 1 = 0"))
        for statement in KEEP_CALLBACKS[engine.dialect.name]:
            connection.execute(sa.text(statement))
    engine.dispose()


if __name__ == "__main__":
    if sys.argv[1:] == ["environment"]:
        json.dump(ENVIRONMENT, sys.stdout, indent=1)
    elif sys.argv[1:2] == ["seed"] and len(sys.argv) == 3:
        seed(sys.argv[2])
    else:
        sys.exit(__doc__)
