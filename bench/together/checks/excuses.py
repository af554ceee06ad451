"""What need not move on, and for how long."""

from collections.abc import Iterable
from dataclasses import dataclass

from together.facts import Excuse, Facts

# A class of timetables that has hung is left alone for so long, then for twice as long each time that it
# hangs when it is asked again.
FIRST_QUARANTINE = 60.0
LONGEST_QUARANTINE = 1200.0
# What answers needs so long for it on a busy machine.
ANSWER = 10.0


@dataclass(frozen=True)
class Span:
    """Nothing of a DAG has to move on; of those with a timetable of their own if it has no name."""

    dag_id: str
    since: float
    until: float


def spans(facts: Facts) -> list[Span]:
    """None of those of one DAG overlap."""
    dag_ids = {excuse.dag_id for excuse in facts.excuses}
    return [span for dag_id in dag_ids for span in _of(dag_id, facts)]


def _of(dag_id: str, facts: Facts) -> list[Span]:
    excuses = sorted((one for one in facts.excuses if one.dag_id == dag_id), key=lambda one: one.since)
    ends = [facts.ended if excuse.until is None else excuse.until for excuse in excuses]
    if not dag_id:
        ends = _ends_of_quarantines(excuses, ends)
    merged: list[Span] = []
    for excuse, until in zip(excuses, ends, strict=True):
        if merged and excuse.since <= merged[-1].until:
            before = merged.pop()
            merged.append(Span(dag_id, before.since, max(before.until, until)))
        else:
            merged.append(Span(dag_id, excuse.since, until))
    return merged


def _ends_of_quarantines(hangs: Iterable[Excuse], ends: Iterable[float]) -> list[float]:
    found, pause, alone = [], FIRST_QUARANTINE, float("-inf")
    for hang, until in zip(hangs, ends, strict=True):
        # Nobody asks those that are left alone: whether they hang meanwhile does not matter.
        if until > alone:
            has_answered = hang.since > alone + ANSWER
            pause = FIRST_QUARANTINE if has_answered else min(2 * pause, LONGEST_QUARANTINE)
            alone = until + pause
        found.append(alone)
    return found
