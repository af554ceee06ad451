"""A database with history, and what is typed to be rid of it."""

import random
import sqlite3
import uuid

OLD = "2020-02-01"
DAGS = ("daily", "intervals", "sales_north", "steps")


def add(db: sqlite3.Connection) -> None:
    """Rows of all ages around the date before which everything goes; nothing hangs on the order of tables."""
    drawn = random.Random(7)
    versions(db)
    for number in range(60):
        run(db, drawn, number)
    others(db)
    db.execute(
        "UPDATE dag SET last_parsed_time = '2020-01-10 00:00:00.000000' WHERE dag_id IN ('two_a', 'keen')"
    )
    db.execute('CREATE TABLE "_airflow_deleted__job__20200101000000" AS SELECT * FROM job')
    db.execute('CREATE TABLE "_airflow_deleted__log__20200101000000" AS SELECT * FROM log')


def like(db: sqlite3.Connection, table: str, **changed) -> None:
    """Adds a row that is as the first of its table, but for this; or one of this alone."""
    cursor = db.execute(f'SELECT * FROM "{table}" LIMIT 1')
    first = cursor.fetchone()
    names = [column[0] for column in cursor.description]
    row = (dict(zip(names, first, strict=True)) if first and "whole" not in changed else {}) | changed
    row.pop("whole", None)
    listed = ", ".join(f'"{name}"' for name in row)
    marks = ", ".join("?" for _ in row)
    db.execute(f'INSERT INTO "{table}" ({listed}) VALUES ({marks})', list(row.values()))


def identity(kind: int, number: int) -> str:
    return uuid.UUID(int=(0x0300 << 112) + (kind << 32) + number).hex


def day(number: int) -> str:
    """A day of January, February or March."""
    month, rest = divmod(number, 28)
    return f"2020-0{month + 1}-{rest + 1:02} 00:00:00.000000"


def versions(db: sqlite3.Connection) -> None:
    for number, dag_id in enumerate(DAGS):
        for version in (2, 3, 4):
            like(
                db,
                "dag_version",
                id=identity(1, number * 10 + version),
                dag_id=dag_id,
                version_number=version,
                created_at=day(version * 9 - 10 + number),
            )


def run(db: sqlite3.Connection, drawn: random.Random, number: int) -> None:
    dag_id = drawn.choice(DAGS)
    run_id, started = f"old_{number}", drawn.choice([None, *map(day, range(84))])
    like(
        db,
        "dag_run",
        id=1000 + number,
        dag_id=dag_id,
        run_id=run_id,
        run_type=drawn.choice(["scheduled", "scheduled", "manual", "backfill"]),
        state=drawn.choice(["success", "failed"]),
        logical_date=f"2019-{number % 12 + 1:02}-{number % 28 + 1:02} 00:00:00.000000",
        start_date=started,
        end_date=started,
        created_dag_version_id=identity(1, DAGS.index(dag_id) * 10 + drawn.choice([2, 3])),
    )
    for task in range(drawn.randrange(1, 4)):
        instance(db, drawn, dag_id, run_id, 1000 + number, task)


def instance(
    db: sqlite3.Connection, drawn: random.Random, dag_id: str, run_id: str, run: int, task: int
) -> None:
    task_id, started = f"task_{task}", drawn.choice([None, *map(day, range(84))])
    where = {"dag_id": dag_id, "run_id": run_id, "task_id": task_id, "map_index": -1}
    made_from = identity(1, DAGS.index(dag_id) * 10 + drawn.choice([2, 2, 3]))
    number = run * 10 + task
    common = {"start_date": started, "state": "success", "dag_version_id": made_from}
    like(db, "task_instance", id=identity(2, number), **where, **common)
    tried = {name: common[name] for name in ("state", "dag_version_id")}
    like(
        db,
        "task_instance_history",
        whole=1,
        task_instance_id=identity(3, number),
        try_number=1,
        pool="default_pool",
        pool_slots=1,
        span_status="NOT_STARTED",
        start_date=drawn.choice([None, *map(day, range(84))]),
        **where,
        **tried,
    )
    for key in ("return_value", "other")[: drawn.randrange(3)]:
        like(
            db,
            "xcom",
            whole=1,
            dag_run_id=run,
            key=key,
            value='"x"',
            timestamp=day(drawn.randrange(84)),
            **where,
        )
    like(db, "rendered_task_instance_fields", whole=1, rendered_fields="{}", **where)
    if task == 1:
        at = day(drawn.randrange(84))
        like(
            db,
            "task_reschedule",
            whole=1,
            id=number,
            ti_id=identity(2, number),
            start_date=at,
            end_date=at,
            duration=1,
            reschedule_date=at,
        )
        like(
            db,
            "task_state_store",
            whole=1,
            id=number,
            dag_run_id=run,
            key="k",
            value="1",
            updated_at=at,
            expires_at=drawn.choice([None, at]),
            **where,
        )


def others(db: sqlite3.Connection) -> None:
    (stock,) = db.execute("SELECT id FROM asset WHERE name = 'stock'").fetchone()
    intervals = [
        row[0] for row in db.execute("SELECT id FROM dag_run WHERE dag_id = 'intervals' ORDER BY id")
    ]
    for number in range(20):
        at = day(number * 4)
        dag_id = [*DAGS, None][number % 5]
        like(db, "job", id=1000 + number, dag_id=dag_id, latest_heartbeat=at, start_date=at)
        like(
            db,
            "log",
            whole=1,
            id=1000 + number,
            dttm=at,
            dag_id=dag_id,
            event="cli_old",
            owner=f"o{number}",
            extra='a, "b"\nc',
        )
        like(db, "import_error", whole=1, id=1000 + number, timestamp=at, filename=f"{number}.py")
        like(db, "trigger", whole=1, id=1000 + number, classpath="a.B", kwargs="{}", created_date=at)
        like(
            db,
            "asset_event",
            whole=1,
            id=1000 + number,
            asset_id=stock,
            extra="{}",
            source_dag_id=dag_id,
            timestamp=at,
            source_map_index=-1,
        )
        like(db, "revoked_token", whole=1, jti=f"token {number}", exp=at)
        like(
            db,
            "connection_test_request",
            whole=1,
            id=identity(4, number),
            token=f"{number}",
            connection_id="c",
            conn_type="http",
            state=["success", "failed", "running"][number % 3],
            created_at=at,
            updated_at=at,
            commit_on_success=0,
            is_encrypted=0,
            is_extra_encrypted=0,
        )
        like(
            db,
            "partitioned_asset_key_log",
            whole=1,
            id=1000 + number,
            asset_id=stock,
            asset_event_id=9000,
            asset_partition_dag_run_id=1 + number % 2,
            source_partition_key="k",
            target_dag_id="steps",
            target_partition_key="k",
            created_at=at,
        )
        state = ["success", "failed", "running", "scheduled", None][number % 5]
        callback = {"type": "triggerer", "fetch_method": "import_path", "data": "{}", "priority_weight": 1}
        like(db, "callback", whole=1, id=identity(5, number), state=state, created_at=at, **callback)
        if number % 10 == 3 or number < 2:
            like(
                db,
                "deadline",
                whole=1,
                id=identity(6, number),
                dagrun_id=intervals[0] if number < 2 else None,
                deadline_time=at if number < 2 else "2020-06-01 00:00:00.000000",
                missed=0,
                callback_id=identity(5, number),
                created_at=at,
                last_updated_at=at,
            )
    like(
        db,
        "asset_partition_dag_run",
        whole=1,
        id=1,
        target_dag_id="steps",
        partition_key="k",
        created_at=OLD,
        updated_at=OLD,
    )


NAMES = {
    "asset_event": ["id"],
    "callback": ["created_at", "state"],
    "connection_test_request": ["token"],
    "dag": ["dag_id"],
    "dag_run": ["id", "dag_id", "run_id"],
    "dag_version": ["dag_id", "version_number"],
    "deadline": ["created_at"],
    "import_error": ["id"],
    "job": ["id"],
    "log": ["id"],
    "partitioned_asset_key_log": ["id"],
    "revoked_token": ["jti"],
    "task_instance": ["dag_id", "run_id", "task_id", "map_index", "start_date", "operator"],
    "task_instance_history": ["dag_id", "run_id", "task_id", "start_date"],
    "task_reschedule": ["id"],
    "task_state_store": ["id"],
    "trigger": ["id"],
    "xcom": ["dag_run_id", "task_id", "map_index", "key", "value"],
}
FOLLOWING = {"rendered_task_instance_fields": ["dag_id", "run_id", "task_id"], "serialized_dag": ["dag_id"]}
# Airflow asks these for a column that they do not have as soon as DAGs are named.
WITHOUT_DAGS = ("asset_event", "deadline", "task_reschedule")


def clean(*arguments: str, archives: bool = True, names: dict = NAMES) -> dict:
    typed = ["db", "clean", "--clean-before-timestamp", OLD, *arguments]
    return {
        "name": " ".join(typed),
        "prepare": add,
        "steps": [
            {"arguments": [*typed, "--dry-run"], "tables": True},
            {"arguments": [*typed, "--yes"], "own words": True},
        ],
        "after": {name: columns for name, columns in (names | FOLLOWING).items() if name != "log"},
        # Those of task instances that go first are not kept.
        "archived": {
            name: columns for name, columns in names.items() if archives and name != "task_reschedule"
        },
    }


OF_DAGS = {name: columns for name, columns in NAMES.items() if name not in WITHOUT_DAGS}
ALL = [
    clean(),
    clean("--batch-size", "3"),
    clean("--tables", "task_instance,trigger", "--skip-archive"),
    clean("-t", "dag_run,log", "--exclude-dag-ids", "daily,steps", names=OF_DAGS),
    clean("-t", "xcom,job,dag_version", "--dag-ids", "daily", names=OF_DAGS),
    {
        "name": "db clean that is not done",
        "prepare": add,
        "steps": [
            {
                "arguments": ["db", "clean", "--clean-before-timestamp", OLD],
                "input": "y\n",
                "own words": True,
            },
            {
                "arguments": ["db", "clean", "--clean-before-timestamp", OLD, "-t", "nonsense"],
                "own words": True,
            },
            ["db", "clean", "--clean-before-timestamp", "someday", "-y"],
            ["db", "clean", "-y"],
            {"arguments": ["db", "drop-archived"], "input": "yes\n", "own words": True},
            {"arguments": ["db", "export-archived", "--output-path", "nowhere"], "own words": True},
            ["db", "export-archived", "--output-path", ".", "--export-format", "xml"],
            ["db", "export-archived"],
        ],
        "after": {name: columns for name, columns in NAMES.items() if name != "log"},
        "archived": {"job": ["id"]},
    },
    {
        "name": "db clean that is confirmed, export and drop",
        "prepare": add,
        "steps": [
            {
                "arguments": ["db", "clean", "--clean-before-timestamp", OLD, "-t", "import_error"],
                "input": "delete rows\n",
                "own words": True,
            },
            {
                "arguments": ["db", "export-archived", "--output-path", ".", "-t", "job"],
                "own words": True,
                "writes": "_airflow_deleted__job__20200101000000.csv",
            },
            {
                "arguments": [
                    "db",
                    "export-archived",
                    "--output-path",
                    ".",
                    "-t",
                    "log",
                    "--drop-archives",
                    "-y",
                ],
                "own words": True,
                "writes": "_airflow_deleted__log__20200101000000.csv",
            },
            {"arguments": ["db", "drop-archived", "-t", "job,log", "--yes"], "own words": True},
        ],
        "after": {"import_error": ["id"]},
        "archived": {"import_error": ["id"], "job": ["id"], "log": ["id"]},
    },
]
