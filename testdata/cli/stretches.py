"""What is typed about stretches of the past and about assets, and the rows that it takes."""

BACKFILL = ["id", "dag_id", "from_date", "to_date", "dag_run_conf", "is_paused", "reprocess_behavior",
            "max_active_runs", "created_at", "completed_at", "updated_at",
            "triggering_user_name"]  # fmt: skip
LINK = ["backfill_id", "dag_run_id", "exception_reason", "logical_date", "partition_key", "sort_ordinal"]
RUN = ["id", "dag_id", "run_id", "state", "run_type", "triggered_by", "triggering_user_name", "logical_date",
       "data_interval_start", "data_interval_end", "run_after", "conf", "bundle_version", "partition_key",
       "partition_date", "created_dag_version_id", "queued_at", "start_date", "end_date", "clear_number",
       "backfill_id", "creating_job_id", "log_template_id"]  # fmt: skip
# The random part of the name of a run of a partition is not compared.
PARTITION_RUN = [name for name in RUN if name != "run_id"]
INSTANCE = ["id", "dag_id", "task_id", "map_index", "state", "try_number", "max_tries", "start_date",
            "end_date", "pool", "pool_slots", "queue", "priority_weight", "operator", "task_display_name",
            "dag_version_id"]  # fmt: skip
HISTORY = ["task_instance_id", "dag_id", "run_id", "task_id", "map_index", "state", "try_number"]
LOG = ["event", "dag_id", "task_id", "logical_date", "owner"]
AFTER = {
    "backfill": BACKFILL,
    "backfill_dag_run": LINK,
    "dag_run": RUN,
    "task_instance": ["run_id", *INSTANCE],
    "task_instance_history": HISTORY,
    "log": LOG,
}
OF_PARTITIONS = AFTER | {"dag_run": PARTITION_RUN, "task_instance": INSTANCE}


def create(dag_id: str, start: str, end: str, *more: str) -> list[str]:
    return ["backfill", "create", "--dag-id", dag_id, "--from-date", start, "--to-date", end, *more]


def once(dag_id: str, start: str, end: str, *more: str, after: dict | None = None) -> dict:
    steps = [create(dag_id, start, end, *more, "--dry-run"), create(dag_id, start, end, *more)]
    return {"name": " ".join(steps[1]), "steps": steps, "after": after or AFTER}


JSON = '{"size": 7, "in": {"a": [1, null]}}'
BACKFILLS = [
    once("intervals", "2020-06-01", "2020-06-04"),
    once("intervals", "2020-06-01", "2020-06-04", "--run-backwards", "--max-active-runs", "3"),
    once("intervals", "2020-06-01T10:00:00", "2020-06-03T10:00:00+00:00", "--dag-run-conf", JSON),
    once("steps", "2020-01-01", "2020-01-02", "--reprocess-behavior", "completed"),
    once("sales_north", "2020-01-01", "2020-01-02", "--dag-run-conf", "null"),
    once("by_partition", "2020-01-01", "2020-01-04", after=OF_PARTITIONS),
    once(
        "by_partition", "2020-01-01", "2020-01-04", "--reprocess-behavior", "completed", after=OF_PARTITIONS
    ),
    once(
        "by_partition",
        "2020-01-01T12:00:00",
        "2020-01-04",
        "--reprocess-behavior",
        "failed",
        "--run-backwards",
        after=OF_PARTITIONS,
    ),
    once("daily", "2020-01-01", "2020-01-05", "--reprocess-behavior", "failed"),
    once("daily", "2020-01-01", "2020-01-05", "--reprocess-behavior", "completed", "--dag-run-conf", JSON),
    once(
        "daily", "2020-01-01", "2020-01-05", "--reprocess-behavior", "completed", "--no-run-on-latest-version"
    ),
    once("daily", "2020-01-02", "2020-01-02", "--reprocess-behavior", "failed", "--run-on-latest-version"),
    {
        "name": "backfills that are not made",
        "steps": [
            create("nonsense", "2020-01-01", "2020-01-02"),
            create("nonsense", "2020-01-01", "2020-01-02", "--dry-run"),
            create("daily", "2020-01-01", "2020-01-05"),
            create("daily", "2020-01-01", "2020-01-05", "--dry-run"),
            create("daily", "2020-01-01", "2020-01-05", "--reprocess-behavior", "none"),
            create("daily", "2020-01-01", "2020-01-05", "--reprocess-behavior", "failed", "--run-backwards"),
            create("daily", "2020-01-01", "2020-01-05", "--reprocess-behavior", "sometimes"),
            create("by_hand", "2020-01-01", "2020-01-05"),
            create("by_hand", "2020-01-01", "2020-01-05", "--dry-run"),
            create("consumer", "2020-01-01", "2020-01-05"),
            create("never_again", "2020-01-01", "2020-01-05"),
            create("never_again", "2020-01-01", "2020-01-05", "--dry-run"),
            create("steps", "2020-01-02", "2020-01-01"),
            create("steps", "2020-01-02", "2020-01-01", "--dry-run"),
            create("steps", "9998-01-02", "9999-01-01"),
            create("steps", "2020-01-01T01:00:00", "2020-01-01T02:00:00"),
            create("steps", "2020-01-01T01:00:00", "2020-01-01T02:00:00", "--dry-run"),
            create("steps", "someday", "2020-01-01"),
            create("steps", "2020-01-01", "2020-01-01", "--dag-run-conf", "{nonsense"),
            create("steps", "2020-01-01", "2020-01-01", "--dag-run-conf", "[1]"),
            create("steps", "2020-01-01", "2020-01-01", "--max-active-runs", "many"),
            create("intervals", "2020-06-01", "2020-06-03", "--dag-run-conf", '{"size": 0}'),
            create("intervals", "2020-06-01", "2020-06-03", "--dag-run-conf", '{"size": 0}', "--dry-run"),
            ["backfill", "create", "--dag-id", "steps"],
            ["backfill", "create", "--from-date", "2020-01-01", "--to-date", "2020-01-01"],
            create("steps", "2020-01-01", "2020-01-01", "--dry-run"),
            create("steps", "2020-01-01", "2020-01-01"),
            create("steps", "2020-01-01", "2020-01-01", "--dry-run"),
            create("steps", "2020-01-02", "2020-01-02"),
        ],
        "after": AFTER,
    },
]

FORMATS = ("table", "json", "yaml", "plain")


def in_formats(*arguments: str) -> list[list[str]]:
    return [[*arguments, "-o", output] for output in FORMATS]


ASSETS = [
    {
        "name": "assets",
        "steps": [
            *in_formats("assets", "list"),
            *in_formats("assets", "list", "--alias"),
            ["assets", "list", "--columns", "name,uri", "-o", "json"],
            ["assets", "list", "--columns", "uri,id,name", "-o", "table"],
            [
                "assets",
                "list",
                "--columns",
                "id,producing_tasks,aliases,watchers,consuming_tasks",
                "-o",
                "json",
            ],
            ["assets", "list", "--alias", "--columns", "id,name", "-o", "json"],
            *in_formats("assets", "details", "--name", "stock"),
            ["assets", "details", "--uri", "s3://sales/north", "-o", "json"],
            ["assets", "details", "--name", "sales", "--uri", "s3://sales/north", "-o", "json"],
            ["assets", "details", "--name", "rare", "-o", "json"],
            ["assets", "details", "--name", "shared", "-o", "json"],
            ["assets", "details", "--name", "sales", "--uri", "s3://sales/south"],
            ["assets", "details", "--name", "nonsense"],
            ["assets", "details", "--uri", "nonsense://"],
            ["assets", "details", "--name", "twice"],
            ["assets", "details"],
            *in_formats("assets", "details", "--alias", "--name", "hot"),
            ["assets", "details", "--alias", "--name", "nonsense"],
            ["assets", "details", "--alias"],
            ["assets", "details", "--alias", "--name", "hot", "--uri", "x"],
            ["assets", "materialize"],
            ["assets", "materialize", "--name", "nonsense"],
            ["assets", "materialize", "--uri", "nonsense://"],
            ["assets", "materialize", "--name", "shared"],
            ["assets", "materialize", "--name", "rare"],
        ],
    },
    *[
        {
            "name": f"assets materialize -o {output}",
            "steps": [["assets", "materialize", *which, "-o", output]],
            "after": {
                "dag_run": [name for name in RUN if name != "run_id"],
                "task_instance": INSTANCE,
                "log": LOG,
            },
        }
        for output, which in zip(
            FORMATS,
            (
                ["--name", "stock"],
                ["--uri", "s3://sales/north"],
                ["--name", "sales", "--uri", "s3://sales/north"],
                ["--name", "stock"],
            ),
            strict=True,
        )
    ],
]

ALL = [*BACKFILLS, *ASSETS]


def add(session) -> None:
    from datetime import UTC, datetime

    from airflow.models.dagbag import DBDagBag
    from airflow.utils.state import DagRunState
    from airflow.utils.types import DagRunTriggeredByType, DagRunType
    from sqlalchemy import text

    dag = DBDagBag().get_latest_version_of_dag("by_partition", session=session)
    for number, (day, state) in enumerate([(1, "success"), (2, "success"), (2, "failed"), (4, "running")]):
        date = datetime(2020, 1, day, 5, tzinfo=UTC)
        dag.create_dagrun(
            run_id=f"part_{number}",
            run_after=date,
            partition_key=f"2020-01-0{day}",
            partition_date=date,
            run_type=DagRunType.SCHEDULED,
            triggered_by=DagRunTriggeredByType.TIMETABLE,
            state=DagRunState.RUNNING,
            session=session,
        )
        session.flush()
        session.execute(
            text(
                "UPDATE dag_run SET state = :state, queued_at = NULL, start_date = :started"
                " WHERE dag_id = 'by_partition' AND run_id = :run_id"
            ),
            {"state": state, "run_id": f"part_{number}", "started": f"2020-02-0{number + 1} 00:00:00.000000"},
        )
    times = "'2020-01-01 00:00:00.000000', '2020-01-02 00:00:00.000000'"
    for statement in (
        'INSERT INTO asset (id, name, uri, "group", extra, created_at, updated_at)'
        f" VALUES (901, 'twice', 'a://', 'g', '{{}}', {times}), (902, 'twice', 'b://', 'g', '{{}}', {times})",
        "INSERT INTO asset_alias_asset (alias_id, asset_id)"
        " SELECT asset_alias.id, asset.id FROM asset_alias, asset WHERE asset.name = 'stock'",
    ):
        session.execute(text(statement))
