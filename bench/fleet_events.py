"""What happens in `bench/fleet`: in a DAG that nothing else concerns, to see how soon a scheduler acts on it;
and in one whose runs wait for each other, which nobody else is to notice.
"""

import json
import threading
import time

from sqlalchemy import Connection, Engine, text

DAG = "zz_unrelated"
TASKS = 10
# Longer than anything should take.
PATIENCE = 120

_RUN = """
    INSERT INTO dag_run (dag_id, run_id, run_type, state, run_after, queued_at, clear_number,
        log_template_id, conf, created_at, updated_at, span_status, created_dag_version_id)
    SELECT dag_id, :run, 'manual', 'queued', now(), now(), 0, 1, '{}', now(), now(), 'not_started', id
    FROM dag_version WHERE dag_id = :dag
"""

_INSTANCES = """
    INSERT INTO task_instance (id, task_id, dag_id, run_id, map_index, try_number, max_tries, hostname,
        unixname, pool, pool_slots, queue, priority_weight, operator, updated_at, dag_version_id, span_status)
    SELECT gen_random_uuid(), 'task_' || t, dag_id, :run, -1, 0, 0, '', 'user', 'default_pool', 1,
        'default', 1, 'BashOperator', now(), id, 'not_started'
    FROM dag_version CROSS JOIN generate_series(0, :last) t WHERE dag_id = :dag
"""

_END = """
    UPDATE task_instance SET state = 'success', start_date = now(), end_date = now(),
        updated_at = clock_timestamp()
    WHERE dag_id = :dag AND run_id = :run AND task_id = :task AND state = 'queued'
"""

_END_OF_PAST = """
    UPDATE task_instance SET state = 'success', end_date = now(), updated_at = clock_timestamp()
    WHERE dag_id = :dag AND run_id = :run AND task_id = 'task_0' AND state IN ('queued', 'running')
"""

_STATE = "SELECT state FROM task_instance WHERE dag_id = :dag AND run_id = :run AND task_id = :task"


class Past(threading.Thread):
    """The first tasks of runs that wait for each other end, one after the other, a few a second."""

    DAG = "past"
    PAUSE = 0.2

    def __init__(self, engine: Engine):
        super().__init__(daemon=True)
        self.engine = engine
        self.stopped = threading.Event()
        self.number = 0

    def run(self) -> None:
        with self.engine.connect() as ask:
            while not self.stopped.wait(self.PAUSE):
                run = f"past {self.number}"
                with ask.begin():
                    ended = ask.execute(text(_END_OF_PAST), {"dag": self.DAG, "run": run}).rowcount
                    if ended:
                        tell(ask, "run", self.DAG, run)
                        self.number += 1

    def stop(self) -> int:
        """Of how many runs the first task has ended."""
        self.stopped.set()
        self.join()
        if self.number < 2:
            raise SystemExit(f"runs that wait for each other did not get on: {self.number} tasks ended")
        return self.number


class Events(threading.Thread):
    """Runs are asked for one after the other, and so their tasks end, until it is told to stop."""

    def __init__(self, engine: Engine, name: str):
        super().__init__(daemon=True)
        self.engine, self.prefix = engine, name
        self.stopped = threading.Event()
        # Seconds from an event's commit until what follows is seen: of new runs, and of tasks that ended.
        self.triggered: list[float] = []
        self.ended: list[float] = []
        self.problem: BaseException | None = None

    def run(self) -> None:
        try:
            number = 0
            while not self.stopped.is_set():
                self._one_run(f"{self.prefix} {number}")
                number += 1
        except BaseException as problem:
            self.problem = problem

    def stop(self) -> list[float]:
        """All that was measured."""
        self.stopped.set()
        self.join()
        if self.problem:
            raise self.problem
        return self.triggered + self.ended

    def _one_run(self, run: str) -> None:
        with self.engine.connect() as ask:
            of = {"dag": DAG, "run": run}
            with ask.begin():
                ask.execute(text(_RUN), of)
                ask.execute(text(_INSTANCES), of | {"last": TASKS - 1})
                tell(ask, "queued", DAG)
            self.triggered.append(self._queued(ask, run, 0))
            for task in range(TASKS - 1):
                if self.stopped.is_set():
                    return
                with ask.begin():
                    ask.execute(text(_END), of | {"task": f"task_{task}"})
                    tell(ask, "run", DAG, run)
                self.ended.append(self._queued(ask, run, task + 1))
            with ask.begin():
                ask.execute(text(_END), of | {"task": f"task_{TASKS - 1}"})
                tell(ask, "run", DAG, run)

    def _queued(self, ask, run: str, task: int) -> float:
        began = time.monotonic()
        while time.monotonic() - began < PATIENCE:
            with ask.begin():
                state = ask.execute(text(_STATE), {"dag": DAG, "run": run, "task": f"task_{task}"}).scalar()
            if state == "queued":
                return time.monotonic() - began
            time.sleep(0.005)
        raise SystemExit(f"task_{task} of run {run} was not queued within {PATIENCE} s: it is {state}")


def tell(ask: Connection, *words: str) -> None:
    """As our own components do (`ferroflow_db::notifications`)."""
    payload = json.dumps(["bench", *words])
    ask.execute(text("SELECT pg_notify('ferroflow', :payload)"), {"payload": payload})
