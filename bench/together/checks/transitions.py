"""States follow on each other as docs/states.md says, and each try is queued once."""

from collections import Counter
from functools import cache
from pathlib import Path

from together.facts import Change, Facts, Key

STATES = Path(__file__).resolve().parents[3] / "docs" / "states.md"

# Whoever is not there: nobody clears or marks anything.
ABSENT = {"person", "triggerer"}

ALL = {
    "none",
    "scheduled",
    "queued",
    "running",
    "restarting",
    "up_for_retry",
    "up_for_reschedule",
    "deferred",
    "awaiting_input",
    "success",
    "failed",
    "skipped",
    "upstream_failed",
    "removed",
}


def check(facts: Facts) -> list[str]:
    found = []
    last: dict[Key, Change] = {}
    queued: Counter[tuple[Key, int]] = Counter()
    for change in facts.history:
        if change.table != "task":
            continue
        key, before = change.key, last.get(change.key)
        if change.what == "delete":
            last.pop(key, None)
            continue
        last[key] = change
        if change.what == "insert":
            if before is not None:
                found.append(f"{change}: it was there already")
            continue
        found += _step(change, before)
        if change.new == "queued" and change.old != "queued":
            queued[key, change.try_number] += 1
    found += [
        f"{key}, try {number} was queued {times} times"
        for (key, number), times in queued.items()
        if times > 1
    ]
    return found


def _step(change: Change, before: Change | None) -> list[str]:
    if before is None:
        return [f"{change}: it was never inserted"]
    found = []
    if change.old != before.new:
        found.append(f"{change}: a change between is missing, it was {before.new}")
    if change.old != change.new and (change.old or "none", change.new or "none") not in legal():
        found.append(f"{change}: no such transition")
    risen = change.try_number - before.try_number
    # A new try begins where it is scheduled, or is done without a worker.
    if risen not in (0, 1) or (risen == 1 and change.new not in ("scheduled", "success")):
        found.append(f"{change}: the try before was {before.try_number}")
    if change.new == "scheduled" and change.old != "scheduled" and risen != 1:
        found.append(f"{change}: it is scheduled again as the same try")
    return found


@cache
def legal() -> frozenset[tuple[str, str]]:
    """Every pair of states by an event that can happen here."""
    text = STATES.read_text().split("## Task instances, by event", 1)[1].split("\n## ", 1)[0]
    pairs = set()
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("| ").split(" | ")]
        if len(cells) != 4 or cells[0] in ABSENT | {"who"}:
            continue
        leaves, to = cells[2:]
        named = set(leaves.removeprefix("all but ").split(", "))
        pairs |= {(state, to) for state in (ALL - named if leaves.startswith("all but ") else named)}
    return frozenset(pairs)
