"""Where the time of one task goes, from what the database, the log and the task itself tell."""

import json
import socket
import statistics
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from execution_dags import Dag
from execution_sides import Run
from measuring import wait_for

# What a scheduler needs.
SUCCESSION = "stored, until the next task is queued"
# What lies between two moments, in the order in which they come.
STEPS = {
    "queued, until the row is running": ("queued", "started"),
    "running, until the first line of the log": ("started", "first line"),
    "first line, until the function begins": ("first line", "function"),
    "function begins, until the task says it ended": ("function", "ended"),
    "said, until the state is stored": ("ended", "stored"),
    SUCCESSION: ("stored", "next queued"),
    "all of these": ("queued", "next queued"),
    "the DAG file is imported, until the function begins": ("imported", "function"),
    "the task said it ended, until its process is gone": ("ended", "gone"),
}

Moments = dict[str, float]


def split(side, dag: Dag, home: Path, ask) -> dict[str, float]:
    """The median seconds of each step, over the tasks of a chain; without those that no task had."""
    with _marks(home) as marks:
        with side.run(dag) as run:
            pass
        # Official Airflow's tasks may outlive the run.
        wait_for(lambda: len(marks) == dag.tasks)
    tasks = list(_moments(run, home, ask, marks))
    medians = {}
    for name, (since, until) in STEPS.items():
        between = [one[until] - one[since] for one in tasks if since in one and until in one]
        if between:
            medians[name] = statistics.median(between)
    return medians


@contextmanager
def _marks(home: Path) -> Iterator[dict[str, Moments]]:
    """What tasks tell, and when each one's process was gone."""
    marks: dict[str, Moments] = {}

    def hear(connection: socket.socket) -> None:
        told = b""
        with connection:
            while part := connection.recv(4096):
                told += part
        gone = time.time()
        task_id, imported, function = json.loads(told)
        marks[task_id] = {"imported": imported, "function": function, "gone": gone}

    def accept(listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=hear, args=(connection,), daemon=True).start()

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(home / "marks"))
        listener.listen(64)
        threading.Thread(target=accept, args=(listener,), daemon=True).start()
        yield marks
        # Wakes the thread, which closing does not.
        listener.shutdown(socket.SHUT_RDWR)
    (home / "marks").unlink()


def _moments(run: Run, home: Path, ask, marks: dict[str, Moments]) -> Iterator[Moments]:
    logs = home / "logs" / f"dag_id={run.dag.dag_id}" / f"run_id={run.run_id}"
    rows = _rows(ask, run)
    imports = Counter(mark["imported"] for mark in marks.values())
    for number in range(run.dag.tasks):
        task_id = f"task_{number}"
        moments = rows[task_id] | marks[task_id]
        with (logs / f"task_id={task_id}" / "attempt=1.log").open() as lines:
            first = json.loads(next(lines))["timestamp"]
        moments["first line"] = datetime.fromisoformat(first.replace("Z", "+00:00")).timestamp()
        if following := rows.get(f"task_{number + 1}"):
            moments["next queued"] = following["queued"]
        if imports[moments["imported"]] > 1:
            # It was done once, for many tasks.
            del moments["imported"]
        yield moments


def _rows(ask, run: Run) -> dict[str, Moments]:
    ask.execute(
        """
        SELECT ti.task_id, ti.queued_dttm, ti.start_date, ti.end_date, max(log.dttm)
        FROM task_instance ti JOIN log USING (dag_id, run_id, task_id)
        WHERE ti.dag_id = %s AND ti.run_id = %s AND log.event = 'success'
        GROUP BY ti.task_id, ti.queued_dttm, ti.start_date, ti.end_date
        """,
        (run.dag.dag_id, run.run_id),
    )
    names = ("queued", "started", "ended", "stored")
    return {
        task_id: {name: moment.timestamp() for name, moment in zip(names, moments, strict=True)}
        for task_id, *moments in ask
    }
