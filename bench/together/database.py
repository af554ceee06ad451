"""A database server of one's own, which may be restarted, and the history that it keeps of states.

Triggers put every change of a state, a try, a pool or an owner down in the table `history`, and every request
for a callback in `callback_history`, within the transaction that makes it: what is rolled back leaves nothing
there.
"""

import contextlib
import json
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import psycopg2
import pymysql

from testing import servers
from together.facts import CallbackChange, Change, Facts, Key
from together.workload import OF_RUN

NAME = "airflow"
LOST = (
    psycopg2.OperationalError,
    psycopg2.InterfaceError,
    pymysql.err.OperationalError,
    pymysql.err.InterfaceError,
)

COLUMNS = (
    "seq, {at}, who, place, what, dag_id, run_id, task_id, map_index, try_number, old_state, new_state, "
    "pool, pool_slots, job"
)


class PostgresServer(servers.Postgres):
    """Answers a commit when it would survive the server's own death."""

    restart_signals = (signal.SIGINT, signal.SIGQUIT)

    def command(self):
        return [*super().command(), "-c", "synchronous_commit=on"]


class MariaDbServer(servers.MariaDb):
    """Like the other; and numbers of the history are given in the order of writes."""

    restart_signals = (signal.SIGTERM, signal.SIGKILL)

    def command(self):
        return [*super().command(), "--innodb-flush-log-at-trx-commit=2", "--innodb-autoinc-lock-mode=2"]


class Database:
    def __init__(self, server: servers.Server, venv: Path) -> None:
        self.server, self.venv = server, venv
        self.is_postgres = isinstance(server, PostgresServer)
        self._connection = None
        if self.is_postgres:
            self.ask(f"CREATE DATABASE {NAME}", database="postgres")
        else:
            self.ask(f"CREATE DATABASE {NAME} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", database=None)

    def environment(self, who: str) -> dict[str, str]:
        """What a program needs to work here, by whose name the history calls it."""
        url = urlsplit(self.server.url)
        scheme = "postgresql+psycopg2" if self.is_postgres else "mysql+pymysql"
        self._add_user(who)
        place = f"{scheme}://{who}:{url.password}@{url.hostname}:{url.port}/{NAME}"
        return {"AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": place}

    def ask(self, statement: str, values: Sequence = (), database: str | None = NAME) -> list[tuple]:
        """Asks until there is an answer: the server may be away."""
        for attempt in range(200):
            try:
                return self._ask(statement, values, database)
            except LOST:
                self._connection = None
                if attempt == 199:
                    raise
                time.sleep(0.1)
        return []

    def now(self) -> float:
        return float(self.ask(f"SELECT {self._epoch(self._now())}")[0][0])

    def restart(self, stop_signal: int, pause: float) -> None:
        self._connection = None
        servers.restart(self.server, stop_signal, pause, self.venv)

    def cut(self, who: str | None, most: int) -> int:
        """Ends connections of one scheduler, or of all. Returns how many."""
        pattern = f"{who or 'scheduler'}%"
        if self.is_postgres:
            found = self.ask(
                "SELECT pid FROM pg_stat_activity WHERE usename LIKE %s ORDER BY random()",
                (pattern,),
            )
            end = "SELECT pg_terminate_backend(%s)"
        else:
            found = self.ask(
                "SELECT id FROM information_schema.processlist WHERE user LIKE %s ORDER BY rand()", (pattern,)
            )
            end = "KILL CONNECTION %s"
        for (number,) in found[:most]:
            with contextlib.suppress(pymysql.err.Error, psycopg2.Error):
                # Not once more: it may be gone already.
                self._ask(end, (number,), NAME)
        return len(found[:most])

    def set_read_only(self, is_so: bool) -> None:
        """As after a failover that is not over: whoever writes is refused."""
        if self.is_postgres:
            self.ask(f"ALTER SYSTEM SET default_transaction_read_only = {'on' if is_so else 'off'}")
            self.ask("SELECT pg_reload_conf()")
        else:
            self.ask(f"SET GLOBAL read_only = {int(is_so)}")

    def set_full(self, is_so: bool) -> None:
        """Whoever writes is told that there is no room left."""
        self.ask("INSERT INTO disk_is_full VALUES (1)" if is_so else "DELETE FROM disk_is_full")

    def keep_history(self) -> None:
        """From now on. Statements stand apart by an empty line."""
        file = "history_postgres.sql" if self.is_postgres else "history_mariadb.sql"
        for statement in Path(__file__).with_name(file).read_text().split("\n\n"):
            self.ask(statement)

    def set_pools(self, pools: dict[str, int]) -> None:
        for name, slots in pools.items():
            if self.ask("SELECT id FROM slot_pool WHERE pool = %s", (name,)):
                self.ask("UPDATE slot_pool SET slots = %s WHERE pool = %s", (slots, name))
            else:
                self.ask(
                    "INSERT INTO slot_pool (pool, slots, description, include_deferred) "
                    "VALUES (%s, %s, '', %s)",
                    (name, slots, False),
                )

    def release(self, pattern: str) -> None:
        """Lets DAGs go, all at once: an event of an asset is not kept for a DAG that is paused."""
        self.ask("UPDATE dag SET is_paused = %s WHERE dag_id LIKE %s", (False, pattern))

    def newest(self) -> int:
        return self.ask("SELECT coalesce(max(seq), 0) FROM history")[0][0]

    def read(self, facts: Facts) -> None:
        """Fills in all that the tables tell."""
        columns = COLUMNS.format(at=self._epoch("at"))
        # What the harness has spoilt and restored is as if it had not been: whoever acts on it is seen to
        # leave a state that nobody has entered.
        others = f"who <> '{servers.USER}'"
        for row in self.ask(f"SELECT {columns} FROM history WHERE {others} ORDER BY seq"):
            facts.history.append(Change(row[0], float(row[1]), *row[2:]))
        key = "dag_id, run_id, task_id, map_index"
        for *names, state, number in self.ask(f"SELECT {key}, state, try_number FROM task_instance"):
            facts.instances[Key(*names)] = (state, number)
        for dag_id, run_id, state in self.ask("SELECT dag_id, run_id, state FROM dag_run"):
            facts.runs[dag_id, run_id] = state
        for *names, number in self.ask(f"SELECT {key}, try_number FROM task_instance_history"):
            facts.past_tries.add((Key(*names), number))
        source = ", ".join(f"source_{name}" for name in key.split(", "))
        for number, *names in self.ask(f"SELECT id, {source} FROM asset_event"):
            facts.asset_events[number] = Key(*names)
        facts.taken_events += self.ask(
            "SELECT event_id, dag_id, run_id FROM dagrun_asset_event JOIN dag_run ON dag_run.id = dag_run_id"
        )
        facts.waiting_for_assets = self.ask("SELECT count(*) FROM asset_dag_run_queue")[0][0]
        for row, what, data in self.ask("SELECT id, what, data FROM callback_history ORDER BY seq"):
            facts.callbacks.append(CallbackChange(row, what, *_called(data)))

    def _add_user(self, who: str) -> None:
        password = self.server.password
        if self.is_postgres:
            self.ask(f"DROP ROLE IF EXISTS {who}")
            self.ask(f"CREATE ROLE {who} LOGIN SUPERUSER PASSWORD '{password}'")
            return
        self.ask(f"CREATE USER IF NOT EXISTS '{who}'@'%%' IDENTIFIED BY '{password}'")
        # Not those of administrators, who may write when nobody else may.
        self.ask(f"GRANT ALL PRIVILEGES ON {NAME}.* TO '{who}'@'%%'")

    def _ask(self, statement: str, values: Sequence, database: str | None) -> list[tuple]:
        connection = self._connection
        if connection is None or database != NAME:
            connection = self._connect(database)
        with connection.cursor() as cursor:
            # Without values, per cent signs are what they are.
            cursor.execute(statement, values or None if self.is_postgres else values)
            answer = list(cursor.fetchall()) if cursor.description else []
        if database == NAME:
            self._connection = connection
        else:
            connection.close()
        return answer

    def _connect(self, database: str | None):
        url = urlsplit(self.server.url)
        place = {"host": url.hostname, "port": url.port, "user": url.username, "password": url.password}
        if self.is_postgres:
            # The harness writes also while nobody else can.
            options = "-c default_transaction_read_only=off"
            connection = psycopg2.connect(**place, dbname=database, connect_timeout=5, options=options)
            connection.autocommit = True
            return connection
        return pymysql.connect(**place, database=database, autocommit=True, connect_timeout=5)

    def _now(self) -> str:
        return "clock_timestamp()" if self.is_postgres else "sysdate(6)"

    def _epoch(self, what: str) -> str:
        return f"extract(epoch FROM {what})" if self.is_postgres else f"unix_timestamp({what})"


def _called(data: str) -> tuple[str, Key, int]:
    """What a request asks for, as the callback writes it down."""
    document = json.loads(data)
    # Airflow wraps a dict into one that names its type.
    request = json.loads(document.get("__var", document)["req_data"])
    if ti := request.get("ti"):
        key = Key(ti["dag_id"], ti["run_id"], ti["task_id"], ti["map_index"])
        return "try_called", key, ti["try_number"]
    return "run_called", Key(request["dag_id"], request["run_id"], OF_RUN, -1), 0


@contextmanager
def own_server(kind: str) -> Iterator[Database]:
    """A server that nobody else uses; it and its data are gone afterwards."""
    venv = Path(os.environ["FERROFLOW_TEST_VENV"])
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        run_dir = Path(folder)
        # The servers run as another user, if this one is root.
        run_dir.chmod(0o755)
        shutil.copytree(os.environ["FERROFLOW_TEST_CERTIFICATES"], run_dir / servers.CERTIFICATES)
        server = {"postgres": PostgresServer, "mariadb": MariaDbServer}[kind](kind, run_dir, "throwaway")
        servers.start_all([server], venv)
        try:
            yield Database(server, venv)
        finally:
            server.process.send_signal(server.stop_signal)
            server.process.wait(timeout=30)
