"""Plays runs of DAGs with a scheduler and official components, and prints what they leave, as JSON.

    <venv>/bin/python testdata/execution/play.py [--set SET]... DATABASE PROGRAM

PROGRAM is told `scheduler`: official `airflow`, or `ferroflow`; it has the LocalExecutor. The official API
server and DAG processor run beside it, in a home of their own on a new DATABASE: `postgres`, of the server
that FERROFLOW_TEST_POSTGRES names, or `sqlite`. There is no triggerer, so nothing here may defer. Logs and
the home are kept if FERROFLOW_KEEP names a folder that is not there yet.

`runs.json` says which DAGs run, when and with what, per set. Waves follow each other; the runs of one go on
at the same time. `world.py` has what the DAGs find around them, `rows.py` shows what they have left.
"""

import argparse
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import rows
import world

HERE = Path(__file__).resolve().parent
PLAN = json.loads((HERE / "runs.json").read_text())
DATABASES = ("postgres", "sqlite")
AIRFLOW = Path(sys.executable).with_name("airflow")
START_SECONDS = 180
WAVE_SECONDS = 900
AT_ONCE = 16
# So long nothing has to happen before what happens after the end of runs is thought to be over. The official
# DAG processor deletes a callback when it takes it, and on a busy machine is long in calling it.
QUIET_SECONDS = 25


def play(database: str, sets: list[str], program: Path) -> dict:
    """Everything on one database; Airflow reads its configuration once, so in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="execution-") as folder, _database(database, Path(folder)) as url:
        root = Path(folder).resolve()
        trace = root / "trace"
        _set_environment(root, url, trace)
        makes_runs = any("runs_after_wave" in PLAN[name] for name in sets)
        if makes_runs:
            os.environ.update(world.SCHEDULES)
        from airflow.utils.db import initdb

        initdb()
        world.seed(url)
        with _components(root, program) as processes:
            _wait_for_dags(sets, processes)
            if makes_runs:
                _unpause(sets)
            for number in range(max(len(PLAN[name]["waves"]) for name in sets)):
                wave = [run for name in sets for run in _of_wave(name, "waves", number, [])]
                expected = {}
                for name in sets:
                    expected |= _of_wave(name, "runs_after_wave", number, {})
                _run_wave(number, wave, expected, processes)
            _wait_for_quiet(trace)
            _ask_for_forgotten_callbacks()
            _wait_for_quiet(trace)
            if program == AIRFLOW:
                _check_for_mishaps()
        masks = {"root": str(root)}
        return {name: rows.dump(url, _shown(name), trace, masks, of_a_scheduler=makes_runs) for name in sets}


def _of_wave(name: str, key: str, number: int, otherwise: object) -> object:
    return dict(enumerate(PLAN[name].get(key, []))).get(number, otherwise)


def _shown(name: str) -> list[str]:
    ran = [run["dag_id"] for wave in PLAN[name]["waves"] for run in wave]
    return sorted({*ran, *PLAN[name]["also_shown"]})


@contextlib.contextmanager
def _database(kind: str, folder: Path):
    import sqlalchemy as sa

    if kind == "sqlite":
        yield f"sqlite:///{folder.resolve()}/airflow.db"
        return
    server = os.environ.get("FERROFLOW_TEST_POSTGRES")
    if not server:
        sys.exit("FERROFLOW_TEST_POSTGRES is not set: ./test --record sets it, so does ./test -- COMMAND")
    url = sa.make_url(server).set(drivername="postgresql+psycopg2")
    name = f"execution_{os.getpid()}"
    admin = sa.create_engine(url, isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(sa.text(f"CREATE DATABASE {name}"))
        try:
            yield url.set(database=name).render_as_string(hide_password=False)
        finally:
            connection.execute(sa.text(f"DROP DATABASE {name} WITH (FORCE)"))
    admin.dispose()


def _set_environment(root: Path, url: str, trace: Path) -> None:
    for name in [name for name in os.environ if name.startswith(("AIRFLOW", "_AIRFLOW"))]:
        del os.environ[name]
    port, log_port = _free_port(), _free_port()
    (root / "home").mkdir()
    (root / "temporary").mkdir()
    os.environ.update(world.ENVIRONMENT)
    os.environ.update(
        {
            "AIRFLOW_HOME": str(root / "home"),
            "FERROFLOW_TRACE_FILE": str(trace),
            "TMPDIR": str(root / "temporary"),
            # The Python that has Airflow is the first to be found.
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "AIRFLOW__FERROFLOW__PYTHON": sys.executable,
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": url,
            "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
            "AIRFLOW__CORE__PARALLELISM": "12",
            "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"http://127.0.0.1:{port}/execution/",
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
            "AIRFLOW__API__HOST": "127.0.0.1",
            "AIRFLOW__API__PORT": str(port),
            "AIRFLOW__API__WORKERS": "1",
            "AIRFLOW__API__SECRET_KEY": "only for the recording",
            "AIRFLOW__API_AUTH__JWT_SECRET": "only for the recording, and long enough for the algorithm" * 2,
            "AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT": str(log_port),
            "AIRFLOW__SCHEDULER__SCHEDULER_IDLE_SLEEP_TIME": "0.3",
            # Official tasks that wait for a busy API server fail.
            "AIRFLOW__WORKERS__EXECUTION_API_TIMEOUT": "60",
            # Every file once: what is parsed again only costs time.
            "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "36000",
            "AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL": "36000",
            "AIRFLOW__DAG_PROCESSOR__PARSING_PROCESSES": "2",
            "AIRFLOW__CORE__MIN_SERIALIZED_DAG_UPDATE_INTERVAL": "0",
            "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False",
        }
    )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def _components(root: Path, program: Path):
    programs = {"dag-processor": AIRFLOW, "api-server": AIRFLOW, "scheduler": program}
    processes = {}
    try:
        for name, path in programs.items():
            with (root / f"{name}.log").open("wb") as log:
                processes[name] = subprocess.Popen(
                    [path, name], stdout=log, stderr=subprocess.STDOUT, cwd=root, start_new_session=True
                )
        yield processes
    except BaseException:
        for name in processes:
            tail = (root / f"{name}.log").read_text(errors="replace").splitlines()[-30:]
            say("\n".join([f"==> {name}", *tail]))
        raise
    finally:
        for name in reversed(processes):
            _end(processes[name])
        if kept := os.environ.get("FERROFLOW_KEEP"):
            shutil.copytree(root, kept, ignore=shutil.ignore_patterns("temporary"))


def _end(process: subprocess.Popen) -> None:
    """The component, and then all that it has left: each has a session of its own."""
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(20)
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            # After the name, in which there may be anything: state, parent, group, session.
            if int(stat.read_text().rpartition(")")[2].split()[3]) == process.pid:
                os.kill(int(stat.parent.name), signal.SIGKILL)
    process.wait()


def _check(processes: dict[str, subprocess.Popen]) -> None:
    for name, process in processes.items():
        if process.poll() is not None:
            raise RuntimeError(f"{name} ended with {process.returncode}")


def _wait_for_dags(sets: list[str], processes: dict) -> None:
    """Until every DAG is stored and the API server answers."""
    from airflow.models.serialized_dag import SerializedDagModel
    from airflow.utils.session import create_session
    from sqlalchemy import select

    wanted = {dag_id for name in sets for dag_id in _shown(name)}
    deadline = time.monotonic() + START_SECONDS
    while True:
        _check(processes)
        with create_session() as session:
            missing = wanted - set(session.scalars(select(SerializedDagModel.dag_id)))
        if not missing and _listens():
            return
        if time.monotonic() > deadline:
            raise RuntimeError(f"not ready in time; DAGs that are missing: {sorted(missing)}")
        time.sleep(1)


def _unpause(sets: list[str]) -> None:
    """All at once, so that nobody misses an event."""
    from airflow.models.dag import DagModel
    from airflow.utils.session import create_session
    from sqlalchemy import update

    wanted = {dag_id for name in sets for dag_id in _shown(name)}
    with create_session() as session:
        session.execute(update(DagModel).where(DagModel.dag_id.in_(wanted)).values(is_paused=False))


def _listens() -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", int(os.environ["AIRFLOW__API__PORT"]))) == 0


def _run_wave(number: int, wave: list[dict], expected: dict[str, int], processes: dict) -> None:
    """A few at a time: the scheduler looks at every run before it starts tasks."""
    began = time.monotonic()
    refused, waiting, shown = {}, list(reversed(wave)), None
    while True:
        _check(processes)
        unfinished = _unfinished()
        while waiting and len(unfinished) < AT_ONCE:
            run = waiting.pop()
            try:
                _make(run)
                unfinished.append(run["dag_id"])
            except Exception as error:
                refused[run["dag_id"]] = type(error).__name__
                if run.get("refused") != type(error).__name__:
                    raise
        left = len(waiting) + len(unfinished) + _missing(expected)
        if left != shown:
            shown = left
            say(f"wave {number}: {left} of {len(wave)} runs to go after {time.monotonic() - began:.0f} s")
        if not left:
            break
        if time.monotonic() - began > WAVE_SECONDS:
            raise RuntimeError(f"these runs did not end in time: {unfinished}")
        time.sleep(0.5)
    to_refuse = {run["dag_id"]: run["refused"] for run in wave if "refused" in run}
    if refused != to_refuse:
        raise RuntimeError(f"refused: {refused}, but it should be: {to_refuse}")


def _missing(expected: dict[str, int]) -> int:
    """How many runs are still to be made."""
    from airflow.models.dagrun import DagRun
    from airflow.utils.session import create_session
    from sqlalchemy import func, select

    with create_session() as session:
        made = dict(session.execute(select(DagRun.dag_id, func.count()).group_by(DagRun.dag_id)).all())
    return sum(max(0, count - made.get(dag_id, 0)) for dag_id, count in expected.items())


def _make(run: dict) -> None:
    if "backfill" in run:
        _unless_locked(lambda: _backfill(run["dag_id"], *map(datetime.fromisoformat, run["backfill"])))
    elif "clear" in run:
        _clear(run["dag_id"])
    else:
        _trigger(run)


def _unless_locked(make: Callable[[], None]) -> None:
    """On SQLite what reads before it writes fails if the scheduler has written in between."""
    from sqlalchemy.exc import OperationalError

    while True:
        try:
            return make()
        except OperationalError as error:
            if "database is locked" not in str(error):
                raise
            time.sleep(0.2)


def _backfill(dag_id: str, first: datetime, last: datetime) -> None:
    from airflow.models.backfill import _create_backfill

    _create_backfill(
        dag_id=dag_id,
        from_date=first,
        to_date=last,
        max_active_runs=2,
        reverse=False,
        dag_run_conf={"backfilled": True},
        triggering_user_name="somebody",
    )


def _clear(dag_id: str) -> None:
    """All runs of a DAG, as if somebody had asked for it on a page."""
    from airflow.models.dagrun import DagRun
    from airflow.models.serialized_dag import SerializedDagModel
    from airflow.utils.session import create_session
    from sqlalchemy import select

    with create_session() as session:
        dag = SerializedDagModel.get(dag_id, session=session).dag
        for run_id in session.scalars(select(DagRun.run_id).where(DagRun.dag_id == dag_id)).all():
            dag.clear(run_id=run_id, session=session)


def _trigger(run: dict) -> None:
    from airflow.api.common.trigger_dag import trigger_dag
    from airflow.utils.types import DagRunTriggeredByType

    date = datetime.fromisoformat(run["logical_date"])
    trigger_dag(
        dag_id=run["dag_id"],
        run_id=f"manual__{date.isoformat()}",
        logical_date=date,
        # By this the data interval is chosen.
        run_after=date,
        conf=run.get("conf"),
        partition_key=run.get("partition_key"),
        triggered_by=DagRunTriggeredByType.TEST,
    )


def _unfinished() -> list[str]:
    from airflow.models.dagrun import DagRun
    from airflow.utils.session import create_session
    from sqlalchemy import select

    with create_session() as session:
        found = session.execute(
            select(DagRun.dag_id, DagRun.run_id, DagRun._state).where(
                DagRun._state.in_(["queued", "running"])
            )
        )
        return sorted(" ".join(one) for one in found)


def _wait_for_quiet(trace: Path) -> None:
    """Until no callback waits and none has written for a while."""
    from airflow.models.callback import Callback
    from airflow.utils.session import create_session
    from sqlalchemy import func, select

    deadline = time.monotonic() + START_SECONDS
    since, seen = time.monotonic(), None
    while time.monotonic() - since < QUIET_SECONDS and time.monotonic() < deadline:
        with create_session() as session:
            now = (session.scalar(select(func.count()).select_from(Callback)), trace.stat().st_size)
        if now != seen or now[0]:
            since, seen = time.monotonic(), now
        time.sleep(0.5)


def _ask_for_forgotten_callbacks() -> None:
    """What the official DAG processor takes while it is busy with the same file waits for its next parse.

    `DagFileProcessorManager._start_new_processes` drops the file from the queue then, and with it the only
    reason to look at the callback before that, which in a play never comes.
    """
    from airflow.models.dagbag import DagPriorityParsingRequest
    from airflow.utils.session import create_session
    from sqlalchemy import JSON, column, select, table

    columns = (column("bundle_name"), column("data", JSON()))
    with create_session() as session:
        found = session.execute(select(*columns).select_from(table(world.WRITTEN_CALLBACKS))).all()
        requests = [(name, data["__var"]["req_data"]) for name, data in found if "req_data" in data["__var"]]
        for bundle_name, path in {(name, json.loads(request)["filepath"]) for name, request in requests}:
            session.add(DagPriorityParsingRequest(bundle_name=bundle_name, relative_fileloc=path))


def _check_for_mishaps() -> None:
    """On a busy machine what the executor says of one process of a try may meet the next, and fail that."""
    from airflow.models.log import Log
    from airflow.utils.session import create_session
    from sqlalchemy import select

    with create_session() as session:
        found = session.execute(
            select(Log.dag_id, Log.task_id, Log.extra).where(Log.event == "state mismatch")
        ).all()
    early = [f"{dag_id}.{task_id}" for dag_id, task_id, extra in found if "[running]" not in extra]
    if early:
        raise RuntimeError(f"the machine was too busy, record again: {early}")


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--set", action="append", choices=sorted(PLAN), dest="sets", required=True)
    parser.add_argument("database", choices=DATABASES)
    parser.add_argument("program", type=Path)
    given = parser.parse_args()
    # Whatever Airflow prints goes elsewhere.
    output, sys.stdout = sys.stdout, sys.stderr
    json.dump(play(given.database, given.sets, given.program), output, sort_keys=True)
