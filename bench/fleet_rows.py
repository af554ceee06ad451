"""The rows of `bench/fleet`: a large site, made of copies of a few DAGs by SQL."""

from dataclasses import dataclass

from sqlalchemy import Connection, text

# What the DAG processor stores; each is copied as often as its kind of DAG is wanted.
DAG_FILE = """\
from datetime import datetime

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG
from hanging import Hanging

DAGS = {
    "plain": {"schedule": "@yearly", "max_active_runs": 10},
    "waiting": {"schedule": "@yearly", "max_active_runs": 10, "default_args": {"pool": "full"}},
    "past": {
        "schedule": "@hourly",
        "catchup": True,
        "max_active_runs": 10_000,
        "default_args": {"depends_on_past": True},
    },
    "hangs": {"schedule": Hanging()},
    "zz_unrelated": {"schedule": None, "max_active_runs": 1_000},
}
for dag_id, settings in DAGS.items():
    with DAG(dag_id, start_date=datetime(2020, 1, 1), max_active_tasks=10_000, **settings):
        tasks = [BashOperator(task_id=f"task_{number}", bash_command="true") for number in range(10)]
        for upstream, downstream in zip(tasks, tasks[1:]):
            upstream >> downstream
"""

# Hangs once there is a file of that name: the DAG processor asks it, too.
PLUGIN = """\
import os
import time
from datetime import timedelta

from airflow.plugins_manager import AirflowPlugin
from airflow.timetables.base import DagRunInfo, Timetable


class Hanging(Timetable):
    @classmethod
    def deserialize(cls, data):
        return cls()

    def next_dagrun_info(self, *, last_automated_data_interval, restriction):
        while os.path.exists({flag!r}):
            time.sleep(1)
        day = restriction.earliest
        if last_automated_data_interval is not None:
            day = last_automated_data_interval.end
        return DagRunInfo.interval(day, day + timedelta(days=1))


class Hangs(AirflowPlugin):
    name = "hangs"
    timetables = [Hanging]
"""


@dataclass(frozen=True)
class Size:
    """How large the site is."""

    dags: int
    due: int
    # Queued and running runs, half of each, ten of each per DAG.
    runs: int
    # Tasks that wait, each in a running run of its own.
    waiting: int
    catchup: int
    # Finished task instances.
    history: int

    @property
    def busy_dags(self) -> int:
        return self.runs // 20


def add_fleet(ask: Connection, size: Size) -> None:
    """All of it. Copies of `plain` and `waiting` are numbered in one row: those that are due come first."""
    ask.execute(text("UPDATE dag SET is_paused = dag_id IN ('plain', 'waiting')"))
    # Nothing is due but for the timetable that hangs.
    ask.execute(text("UPDATE dag SET next_dagrun_create_after = '2100-01-01+00' WHERE dag_id <> 'hangs'"))
    _copy_dags(ask, size)
    # Who has the running tasks, as far as anybody can tell.
    job = ask.execute(
        text(
            "INSERT INTO job (state, job_type, start_date, latest_heartbeat, hostname, unixname)"
            " VALUES ('running', 'LocalTaskJob', now(), now() + interval '1 year', 'elsewhere', 'user')"
            " RETURNING id"
        )
    ).scalar()
    ask.execute(
        text(
            "INSERT INTO slot_pool (pool, slots, include_deferred, description)"
            " VALUES ('full', 1, false, '');"
            "UPDATE slot_pool SET slots = 1000000 WHERE pool = 'default_pool'"
        )
    )
    _add_history(ask, size)
    _add_busy_runs(ask, size, job)
    _add_past(ask, size, job)
    ask.execute(text("ANALYZE"))


def _copy_dags(ask: Connection, size: Size) -> None:
    """Copies. After those that are due, some wait for the pool; all others are plain."""
    busy_from, waits = size.due, size.waiting // 10
    ask.execute(
        text(
            "CREATE TABLE fleet AS"
            " SELECT n, 'dag_' || lpad(n::text, 6, '0') AS dag_id, gen_random_uuid() AS version,"
            " CASE WHEN n >= :busy AND n < :busy + :waits THEN 'waiting' ELSE 'plain' END AS kind"
            " FROM generate_series(0, :dags - 1) n;"
            "CREATE UNIQUE INDEX fleet_n ON fleet (n); ANALYZE fleet"
        ),
        {"busy": busy_from, "waits": waits, "dags": size.dags},
    )
    _copy(ask, "dag", "kind", {"dag_id": "f.dag_id", "dag_display_name": "f.dag_id", "is_paused": "false"})
    _copy(ask, "dag_version", "kind", {"dag_id": "f.dag_id", "id": "f.version"})
    data = "replace(t.data::text, '\"' || f.kind || '\"', '\"' || f.dag_id || '\"')::jsonb"
    own = {"dag_id": "f.dag_id", "id": "f.version", "dag_version_id": "f.version", "data": data}
    _copy(ask, "serialized_dag", "kind", own | {"dag_hash": "md5(f.dag_id)"})


def _copy(ask: Connection, table: str, kind: str, own: dict[str, str]) -> None:
    columns = ask.execute(
        text("SELECT column_name FROM information_schema.columns WHERE table_name = :table"), {"table": table}
    ).scalars()
    columns = list(columns)
    values = ", ".join(own.get(column, f"t.{column}") for column in columns)
    ask.execute(
        text(
            f"INSERT INTO {table} ({', '.join(columns)})"
            f" SELECT {values} FROM fleet f JOIN {table} t ON t.dag_id = f.{kind}"
        )
    )


# Runs of the table `wanted`.
_RUNS = """
    INSERT INTO dag_run (dag_id, run_id, run_type, state, run_after, logical_date, data_interval_start,
        data_interval_end, queued_at, start_date, end_date, clear_number, log_template_id, conf, created_at,
        updated_at, span_status, created_dag_version_id)
    SELECT dag_id, run_id, run_type, state, date, date, date, date, date,
        CASE WHEN state <> 'queued' THEN date END, CASE WHEN state = 'success' THEN date END, 0, 1, '{}',
        date, date, 'not_started', version
    FROM wanted
"""

# And ten task instances for each, in the state of `first` or `others`.
_INSTANCES = """
    INSERT INTO task_instance (id, task_id, dag_id, run_id, map_index, start_date, end_date, duration, state,
        try_number, max_tries, hostname, unixname, pool, pool_slots, queue, priority_weight, operator,
        updated_at, dag_version_id, span_status, queued_by_job_id, last_heartbeat_at, scheduled_dttm)
    SELECT gen_random_uuid(), 'task_' || t, dag_id, run_id, -1,
        CASE WHEN state IN ('success', 'running') THEN date END, CASE WHEN state = 'success' THEN date END, 0,
        state, CASE WHEN state IS NULL THEN 0 ELSE 1 END, 0, 'elsewhere', 'user', pool, 1, 'default', 1,
        'BashOperator', date, version, 'not_started',
        CASE WHEN state = 'running' THEN CAST(:job AS integer) END,
        CASE WHEN state = 'running' THEN now() + interval '1 year' END,
        CASE WHEN state IS NOT NULL THEN date END
    FROM (
        SELECT dag_id, version, run_id, date, pool, t, CASE WHEN t = 0 THEN first ELSE others END AS state
        FROM wanted CROSS JOIN generate_series(0, 9) t
    ) instances
"""


def _add(ask: Connection, wanted: str, job: int | None, parameters: dict) -> None:
    """Runs and task instances, of the columns that are selected from `wanted`."""
    ask.execute(text(f"CREATE TEMPORARY TABLE wanted AS {wanted}"), parameters)
    ask.execute(text("ANALYZE wanted"))
    ask.execute(text(_RUNS))
    # Else the run of each instance is looked for among all runs of the DAG.
    ask.execute(text("ANALYZE dag_run"))
    ask.execute(text(_INSTANCES), {"job": job})
    ask.execute(text("DROP TABLE wanted"))


def _add_history(ask: Connection, size: Size) -> None:
    """Finished runs, spread over all DAGs."""
    wanted = """
        SELECT f.dag_id, f.version, 'past ' || past AS run_id, 'scheduled' AS run_type, 'success' AS state,
            timestamptz '2010-01-01+00' + past * interval '1 minute' AS date, 'success' AS first,
            'success' AS others, 'default_pool' AS pool
        FROM generate_series(0, :runs - 1) past JOIN fleet f ON f.n = past % :dags
    """
    _add(ask, wanted, None, {"runs": size.history // 10, "dags": size.dags})


def _add_busy_runs(ask: Connection, size: Size, job: int) -> None:
    """Ten running and ten queued runs of some DAGs. Of each, a task runs elsewhere or waits for its pool."""
    wanted = """
        SELECT f.dag_id, f.version, 'busy ' || run AS run_id, 'manual' AS run_type,
            CASE WHEN run < 10 THEN 'running' ELSE 'queued' END AS state,
            timestamptz '2026-01-02+00' + run * interval '1 hour' AS date,
            CASE WHEN run >= 10 THEN NULL WHEN f.kind = 'waiting' THEN 'scheduled'
                ELSE 'running' END AS first,
            CAST(NULL AS text) AS others,
            CASE WHEN f.kind = 'waiting' THEN 'full' ELSE 'default_pool' END AS pool
        FROM fleet f CROSS JOIN generate_series(0, 19) run
        WHERE f.n >= :due AND f.n < :due + :busy
    """
    _add(ask, wanted, job, {"due": size.due, "busy": size.busy_dags})
    # The only slot of the pool is taken.
    ask.execute(
        text(
            "UPDATE task_instance SET state = 'running', queued_by_job_id = :job, start_date = now(),"
            " last_heartbeat_at = now() + interval '1 year' WHERE id ="
            " (SELECT id FROM task_instance WHERE pool = 'full' AND state = 'scheduled' LIMIT 1)"
        ),
        {"job": job},
    )


def _add_past(ask: Connection, size: Size, job: int) -> None:
    """Runs that wait for the first of them."""
    wanted = """
        SELECT v.dag_id, v.id AS version, 'past ' || n AS run_id, 'scheduled' AS run_type, 'running' AS state,
            timestamptz '2026-01-02+00' + n * interval '1 hour' AS date,
            CASE WHEN n = 0 THEN 'running' END AS first, CAST(NULL AS text) AS others, 'default_pool' AS pool
        FROM generate_series(0, :runs - 1) n CROSS JOIN dag_version v WHERE v.dag_id = 'past'
    """
    _add(ask, wanted, job, {"runs": size.catchup})


def add_locked_run(ask: Connection) -> None:
    """A run that is to be ended, since all its tasks have: whoever locks its row keeps it from that."""
    wanted = """
        SELECT f.dag_id, f.version, 'locked' AS run_id, 'manual' AS run_type, 'running' AS state,
            timestamptz '2026-06-01+00' AS date, 'success' AS first, 'success' AS others,
            'default_pool' AS pool
        FROM fleet f WHERE f.n = 0
    """
    _add(ask, wanted, None, {})


def make_due(ask: Connection, size: Size, seconds: int) -> None:
    """Has DAGs due in so many seconds, all in the same moment."""
    ask.execute(
        text(
            "UPDATE dag SET next_dagrun = timestamptz '2025-01-01+00',"
            " next_dagrun_data_interval_start = timestamptz '2025-01-01+00',"
            " next_dagrun_data_interval_end = timestamptz '2026-01-01+00',"
            " next_dagrun_create_after = now() + :seconds * interval '1 second'"
            " WHERE dag_id IN (SELECT dag_id FROM fleet WHERE n < :due)"
        ),
        {"due": size.due, "seconds": seconds},
    )
