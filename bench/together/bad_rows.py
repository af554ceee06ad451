"""Values that a column admits and no component should meet, in rows of runs under way."""

import random
from dataclasses import dataclass

from together.database import Database

# What each becomes. A task instance is one that nobody has begun to look at: what runs ends by itself.
RUN_COLUMNS = {"run_type": "dataset_triggered", "triggered_by": "NOBODY"}
STATE = "shutdown"


@dataclass(frozen=True)
class Spoilt:
    dag_id: str
    run_id: str
    # In which table, and of which row: the number of a run, or the id of a task instance.
    table: str
    row: object
    column: str
    before: str | None
    after: str

    def __str__(self) -> str:
        return f"{self.column} of {self.table} {self.row} ({self.run_id} of {self.dag_id})"


class BadRows:
    def __init__(self, chance: random.Random, database: Database) -> None:
        self.chance, self.database = chance, database
        self.spoilt: set[tuple[str, str]] = set()

    def spoil(self) -> Spoilt | None:
        """A value of a run under way that has none of these yet."""
        found = self.database.ask(
            "SELECT id, dag_id, run_id FROM dag_run WHERE state IN ('queued', 'running') ORDER BY id"
        )
        found = [run for run in found if (run[1], run[2]) not in self.spoilt]
        draw, column = self.chance.random(), self.chance.choice([*RUN_COLUMNS, "state"])
        if not found:
            return None
        row, dag_id, run_id = found[int(draw * len(found))]
        spoil = self._of_task if column == "state" else self._of_run
        spoilt = spoil(row, dag_id, run_id, column)
        if spoilt is not None:
            self.spoilt.add((dag_id, run_id))
        return spoilt

    def restore(self, spoilt: Spoilt) -> None:
        """Puts back what was there, if nobody else has written there."""
        self.database.ask(
            f"UPDATE {spoilt.table} SET {spoilt.column} = %s WHERE id = %s AND {spoilt.column} = %s",
            (spoilt.before, spoilt.row, spoilt.after),
        )
        self.spoilt.discard((spoilt.dag_id, spoilt.run_id))

    def _of_run(self, row: int, dag_id: str, run_id: str, column: str) -> Spoilt | None:
        question = f"SELECT {column} FROM dag_run WHERE id = %s"
        ((before,),), after = self.database.ask(question, (row,)), RUN_COLUMNS[column]
        self.database.ask(
            f"UPDATE dag_run SET {column} = %s WHERE id = %s AND state IN ('queued', 'running')", (after, row)
        )
        ((now,),) = self.database.ask(question, (row,))
        return Spoilt(dag_id, run_id, "dag_run", row, column, before, after) if now == after else None

    def _of_task(self, _row: int, dag_id: str, run_id: str, column: str) -> Spoilt | None:
        found = self.database.ask(
            "SELECT id FROM task_instance WHERE dag_id = %s AND run_id = %s AND state IS NULL ORDER BY "
            "task_id",
            (dag_id, run_id),
        )
        if not found:
            return None
        (row,) = found[-1]
        self.database.ask("UPDATE task_instance SET state = %s WHERE id = %s AND state IS NULL", (STATE, row))
        ((now,),) = self.database.ask("SELECT state FROM task_instance WHERE id = %s", (row,)) or ((None,),)
        return Spoilt(dag_id, run_id, "task_instance", row, column, None, STATE) if now == STATE else None
