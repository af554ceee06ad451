"""Each callback is asked for once, called once, and its row is gone.

The scheduler asks for the callback of each run. A try that fails calls its own; what ends a try in its stead
asks for it. A process that is killed after it has told that its try failed may not have called anything.
"""

from collections import Counter

from together.facts import CallbackChange, Facts, Key
from together.workload import OF_RUN

CALLS = ("run_called", "try_called")


def check(facts: Facts) -> list[str]:
    asked = Counter(_call(change) for change in facts.callbacks if change.what == "insert")
    called = Counter((note.what, note.key, note.try_number) for note in facts.notes if note.what in CALLS)
    found = _rows(facts)
    for dag_id, run_id in facts.runs:
        call = ("run_called", Key(dag_id, run_id, OF_RUN, -1), 0)
        if asked[call] != 1:
            found.append(f"the callback of run {run_id} of {dag_id} was asked for {asked[call]} times")
    for call in asked | called:
        what, key, number = call
        if asked[call] > 1 or called[call] != 1:
            name = f"run {key.run_id} of {key.dag_id}" if what == "run_called" else f"{key}, try {number}"
            found.append(
                f"the callback of {name}: asked for {asked[call]} times, called {called[call]} times"
            )
    return found


def _call(change: CallbackChange) -> tuple[str, Key, int]:
    return (change.note, change.key, change.try_number)


def _rows(facts: Facts) -> list[str]:
    """Rows that are left, or were deleted twice."""
    left: Counter[str] = Counter()
    for change in facts.callbacks:
        left[change.row] += 1 if change.what == "insert" else -1
    return [
        f"the row {row} of callback was not deleted once: {count}" for row, count in left.items() if count
    ]
