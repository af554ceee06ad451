"""Something happens in a DAG that nothing else of `bench/fleet` concerns: how soon a scheduler acts on it."""

import json
import threading
import time

from sqlalchemy import Engine, text

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

_STATE = "SELECT state FROM task_instance WHERE dag_id = :dag AND run_id = :run AND task_id = :task"


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
                self._tell(ask, "queued", DAG)
            self.triggered.append(self._queued(ask, run, 0))
            for task in range(TASKS - 1):
                if self.stopped.is_set():
                    return
                with ask.begin():
                    ask.execute(text(_END), of | {"task": f"task_{task}"})
                    self._tell(ask, "run", DAG, run)
                self.ended.append(self._queued(ask, run, task + 1))
            with ask.begin():
                ask.execute(text(_END), of | {"task": f"task_{TASKS - 1}"})
                self._tell(ask, "run", DAG, run)

    @staticmethod
    def _tell(ask, *words: str) -> None:
        """As our own components do (`ferroflow_db::news`)."""
        payload = json.dumps(["bench", *words])
        ask.execute(text("SELECT pg_notify('ferroflow', :payload)"), {"payload": payload})

    def _queued(self, ask, run: str, task: int) -> float:
        began = time.monotonic()
        while time.monotonic() - began < PATIENCE:
            with ask.begin():
                state = ask.execute(text(_STATE), {"dag": DAG, "run": run, "task": f"task_{task}"}).scalar()
            if state == "queued":
                return time.monotonic() - began
            time.sleep(0.005)
        raise SystemExit(f"task_{task} of run {run} was not queued within {PATIENCE} s: it is {state}")
