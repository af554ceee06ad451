"""What is on the site beside its DAGs: runs and their task instances, jobs, a pool."""

import stretches

RUNS = {
    # run id: type, logical date, state of the run, states of begin, left, right and end
    "scheduled__2020-01-01T00:00:00+00:00": ("scheduled", 1, "success", ["success"] * 4),
    "scheduled__2020-01-02T00:00:00+00:00": (
        "scheduled",
        2,
        "failed",
        ["success", "failed", "success", "success"],
    ),
    "backfill__2020-01-03T00:00:00+00:00": (
        "backfill",
        3,
        "failed",
        ["failed", "upstream_failed", "upstream_failed", "skipped"],
    ),
    "scheduled__2020-01-04T00:00:00+00:00": ("scheduled", 4, "running", ["running", None, None, None]),
}


def add() -> None:
    from datetime import UTC, datetime

    from airflow.models.dagbag import DBDagBag
    from airflow.utils.session import create_session
    from airflow.utils.state import DagRunState
    from airflow.utils.types import DagRunTriggeredByType, DagRunType
    from sqlalchemy import text

    with create_session() as session:
        session.execute(
            text(
                "INSERT INTO slot_pool (pool, slots, description, include_deferred)"
                " VALUES ('narrow', 2, 'for one at a time', 1)"
            )
        )
        daily = DBDagBag().get_latest_version_of_dag("daily", session=session)
        for run_id, (kind, day, state, states) in RUNS.items():
            date = datetime(2020, 1, day, tzinfo=UTC)
            daily.create_dagrun(
                run_id=run_id,
                logical_date=date,
                data_interval=(date, date),
                run_after=date,
                run_type=DagRunType(kind),
                triggered_by=DagRunTriggeredByType.TIMETABLE,
                state=DagRunState.RUNNING,
                session=session,
            )
            session.flush()
            for task_id, of_task in zip(["begin", "left", "right", "end"], states, strict=True):
                session.execute(
                    text(
                        "UPDATE task_instance SET state = :state, start_date = :started, end_date = :ended,"
                        " try_number = :tries, hostname = 'host'"
                        " WHERE run_id = :run_id AND task_id = :task_id"
                    ),
                    {
                        "state": of_task,
                        "started": f"2020-01-{day:02} 01:00:00.000000" if of_task else None,
                        "ended": f"2020-01-{day:02} 02:00:00.000000"
                        if of_task not in (None, "running")
                        else None,
                        "tries": 1 if of_task else 0,
                        "run_id": run_id,
                        "task_id": task_id,
                    },
                )
            session.execute(
                text(
                    "UPDATE dag_run SET state = :state, start_date = :started, end_date = :ended,"
                    " queued_at = NULL WHERE run_id = :run_id"
                ),
                {
                    "state": state,
                    "started": f"2020-01-{day:02} 01:00:00.000000",
                    "ended": f"2020-01-{day:02} 03:00:00.500000" if state != "running" else None,
                    "run_id": run_id,
                },
            )
        by_hand(session)
        mapped(session)
        jobs(session)
        stretches.add(session)
        session.execute(text("UPDATE dag SET is_paused = 0 WHERE dag_id IN ('daily', 'sales_north')"))


def by_hand(session) -> None:
    from datetime import UTC, datetime

    from airflow.models.dagbag import DBDagBag
    from airflow.utils.state import DagRunState
    from airflow.utils.types import DagRunTriggeredByType, DagRunType

    dag = DBDagBag().get_latest_version_of_dag("by_hand", session=session)
    for run_id, conf in [("with_conf", {"name": "näh", "size": 7}), ("without", None)]:
        dag.create_dagrun(
            run_id=run_id,
            logical_date=None,
            run_after=datetime(2020, 4, 1, 6 if conf else 7, tzinfo=UTC),
            conf=conf,
            run_type=DagRunType.MANUAL,
            triggered_by=DagRunTriggeredByType.CLI,
            state=DagRunState.QUEUED,
            session=session,
        )


def mapped(session) -> None:
    from datetime import UTC, datetime

    from airflow.models.dagbag import DBDagBag
    from airflow.utils.state import DagRunState
    from airflow.utils.types import DagRunTriggeredByType, DagRunType
    from sqlalchemy import text

    DBDagBag().get_latest_version_of_dag("mapped", session=session).create_dagrun(
        run_id="three",
        run_after=datetime(2020, 5, 1, tzinfo=UTC),
        run_type=DagRunType.MANUAL,
        triggered_by=DagRunTriggeredByType.CLI,
        state=DagRunState.QUEUED,
        session=session,
    )
    DBDagBag().get_latest_version_of_dag("cluster", session=session).create_dagrun(
        run_id="all",
        run_after=datetime(2020, 5, 1, tzinfo=UTC),
        run_type=DagRunType.MANUAL,
        triggered_by=DagRunTriggeredByType.CLI,
        state=DagRunState.RUNNING,
        session=session,
    )
    session.flush()
    session.execute(
        text("UPDATE task_instance SET state = 'failed' WHERE dag_id = 'mapped' AND map_index = 1")
    )
    session.execute(
        text("UPDATE task_instance SET state = 'success', try_number = 1 WHERE dag_id = 'cluster'")
    )
    session.execute(text("UPDATE dag_run SET start_date = run_after WHERE dag_id = 'cluster'"))


def jobs(session) -> None:
    from sqlalchemy import text

    for number, (state, kind, dag_id) in enumerate(
        [
            ("success", "SchedulerJob", None),
            ("running", "TriggererJob", None),
            ("failed", "LocalTaskJob", "daily"),
        ]
    ):
        session.execute(
            text(
                "INSERT INTO job (dag_id, state, job_type, start_date, end_date, latest_heartbeat, hostname,"
                " unixname) VALUES (:dag_id, :state, :kind, :started, :ended, :started, 'host', 'somebody')"
            ),
            {
                "dag_id": dag_id,
                "state": state,
                "kind": kind,
                "started": f"2020-01-0{number + 1} 00:00:00.000000",
                "ended": None if state == "running" else f"2020-01-0{number + 1} 04:05:06.700000",
            },
        )
