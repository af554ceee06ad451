"""A home, a database and DAG files, ready for schedulers; and what is to be seen there when they are done."""

import os
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from measuring import AIRFLOW

from together import workload
from together.database import Database
from together.facts import Facts, read_notes
from together.fleet import Component
from together.workload import POOLS, Dag

# How many tasks a scheduler runs at once.
PARALLELISM = 5

# Everything that is waited for comes soon: see `faults.THRESHOLD`.
SETTINGS = {
    "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    "AIRFLOW__CORE__PARALLELISM": str(PARALLELISM),
    "AIRFLOW__CORE__FERNET_KEY": "QmFzZTY0X29mXzMyX2J5dGVzX2Zvcl90ZXN0c18xMjM=",
    "AIRFLOW__SCHEDULER__SCHEDULER_HEARTBEAT_SEC": "1",
    "AIRFLOW__SCHEDULER__SCHEDULER_HEALTH_CHECK_THRESHOLD": "4",
    "AIRFLOW__SCHEDULER__ORPHANED_TASKS_CHECK_INTERVAL": "5",
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_SEC": "2",
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "20",
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL": "5",
    # A timetable that hangs is given up before it goes on, and one on a busy machine is not.
    "AIRFLOW__FERROFLOW__TIMETABLE_TIMEOUT": "8",
    # The DAG processor is there for callbacks: every file once.
    "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "36000",
    "AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL": "36000",
}

# Without any change for so long, there will be none.
PATIENCE = 90


@dataclass
class World:
    home: Path
    database: Database
    program: str
    say: Callable[[str], None]
    dags: list[Dag] = field(default_factory=list)
    released: dict[str, float] = field(default_factory=dict)

    @property
    def notes(self) -> Path:
        return self.home / "notes"

    @property
    def hang(self) -> Path:
        """As long as there is this file, the timetable of some DAGs hangs."""
        return self.home / "hang"

    def environment(self, who: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW")}
        return (
            kept
            | SETTINGS
            | self.database.environment(who)
            | {
                "PATH": f"{AIRFLOW.parent}{os.pathsep}{os.environ['PATH']}",
                "AIRFLOW_HOME": str(self.home),
                "PYTHONPATH": str(self.home / "plugins"),
            }
        )

    def prepare(self, groups: dict[str, list[Dag]], official: bool) -> None:
        """Makes the tables, stores the DAGs, and has the history kept from then on."""
        (self.home / "dags").mkdir()
        (self.home / "plugins").mkdir()
        (self.home / "plugins" / "own_timetable.py").write_text(workload.PLUGIN.format(hang=str(self.hang)))
        for name, dags in groups.items():
            workload.write(self.home / "dags", self.notes, name, dags)
            self.dags += dags
        environment = self.environment("preparation")
        program = str(AIRFLOW) if official else self.program
        for words in (["db", "migrate"], ["dag-processor", "--num-runs", "1"]):
            self.say(f"{Path(program).name} {' '.join(words)}")
            command = [program, *words]
            done = subprocess.run(command, env=environment, cwd=self.home, capture_output=True, text=True)
            if done.returncode != 0:
                raise SystemExit(
                    f"{' '.join(command)} has failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
                )
        stored = {dag_id for (dag_id,) in self.database.ask("SELECT dag_id FROM dag")}
        if missing := {dag.dag_id for dag in self.dags} - stored:
            raise SystemExit(f"not stored: {', '.join(sorted(missing))}")
        self.database.set_pools(POOLS)
        self.database.keep_history()

    def start_processor(self) -> Component:
        """Ours, which calls what schedulers of both kinds ask for."""
        name = "dag_processor"
        processor = Component(name, [self.program, "dag-processor"], self.environment(name), self.home)
        processor.start()
        return processor

    def release(self, name: str, dags: Sequence[Dag]) -> None:
        at = self.database.now()
        self.released |= {dag.dag_id: at for dag in dags}
        self.database.release(f"{name}\\_%")

    def wait_for_the_end(self, tick: Callable[[], None]) -> bool:
        """Whether all that was released has ended, before nothing has changed for too long."""
        newest, changed = -1, time.monotonic()
        while self.unfinished() or self._something_waits():
            tick()
            if (now := self.database.newest()) != newest:
                newest, changed = now, time.monotonic()
            if time.monotonic() - changed > PATIENCE:
                self.say(f"nothing has changed for {PATIENCE} s")
                return False
            time.sleep(0.5)
        return True

    def _something_waits(self) -> bool:
        """Whether a DAG waits for its run, or a callback to be called."""
        tables = ("asset_dag_run_queue", "callback")
        return any(self.database.ask(f"SELECT 1 FROM {table} LIMIT 1") for table in tables)

    def unfinished(self) -> int:
        """How many runs that are expected have not ended."""
        states = self.database.ask("SELECT dag_id, state, count(*) FROM dag_run GROUP BY dag_id, state")
        over = {(dag_id, state): count for dag_id, state, count in states}
        missing = 0
        for dag in self.dags:
            if dag.dag_id in self.released:
                ended = over.get((dag.dag_id, "success"), 0) + over.get((dag.dag_id, "failed"), 0)
                under_way = over.get((dag.dag_id, "queued"), 0) + over.get((dag.dag_id, "running"), 0)
                missing += max(dag.runs - ended, under_way)
        return missing

    def facts(self) -> Facts:
        facts = Facts(
            self.dags, PARALLELISM, self.released, self.database.now(), notes=read_notes(self.notes)
        )
        self.database.read(facts)
        return facts
