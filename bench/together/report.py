"""What is printed at the end: the figures of a run."""

from collections import Counter

from together.checks import progress
from together.facts import Facts


def figures(facts: Facts, seconds: float, faults: Counter[str]) -> str:
    tries = sum(1 for note in facts.notes if note.what == "start")
    by = Counter(
        change.who
        for change in facts.history
        if change.table == "task" and change.new == "queued" != change.old
    )
    lines = [
        f"{len(facts.instances)} task instances in {len(facts.runs)} runs of {len(facts.released)} DAGs; "
        f"{tries} tries ran, {len(facts.history)} changes, {len(facts.asset_events)} asset events, "
        f"{seconds:.0f} s",
        "queued by: " + ", ".join(f"{who} {count}" for who, count in sorted(by.items())),
    ]
    if faults:
        lines.append(f"{faults.total()} faults:")
        lines += [f"  {count:4} {name}" for name, count in faults.most_common()]
    lines.append("longest time that something could move on and did not (seconds):")
    lines += [f"  {seconds:6.1f} {why}" for why, seconds in sorted(progress.worst(facts).items())]
    return "\n".join(lines)
