"""What must hold, whatever happened. Each check is a function of the facts and returns what is violated.

What is allowed when processes are killed:

- A try runs once: it starts at most once, and nothing of it happens after a later try has started.
- A try whose process, or whose scheduler, was killed has failed, and a later try does the work; so has one
  whose scheduler was taken for dead, and its process is ended before the next try begins.
- A task instance that was queued and not started may be queued again; that is a new try, without the old one
  having run.
- A try whose process cannot be killed keeps its slot until it is gone; then it has failed like any other that
  was killed. Its scheduler and the other tasks of that go on.
- While the database takes no writes, or has no room for them, nothing happens, and no more follows from it
  than that schedulers and tasks were not heard of: what has ended meanwhile is put down afterwards, as it
  ended.
- A run with a bad value does not move on, nor does another of its DAG have to, until it is as it was; of a
  DAG whose timetable hangs, no run is made as long, nor while its class is left alone for it, which is longer
  each time. Nobody writes over what is bad, and all else goes on.
- In the end each task instance has succeeded, and its last try has written both of its lines.
- The callback of a run is called once, and so is that of a try which did not end by itself. Nobody kills the
  DAG processor, which calls them.

The history is in the order of writes, not of commits. That accuses nobody falsely: whoever takes a slot has
seen the commit that freed it, which comes after the write.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from together.checks import assets, callbacks, limits, notes, outcome, progress, transitions
from together.facts import Facts

CHECKS: dict[str, Callable[[Facts], list[str]]] = {
    "I1, each try runs once": notes.check,
    "I2, states follow on each other as they may": transitions.check,
    "I3, limits hold at every instant": limits.check,
    "I4 and I6, nothing is stuck": progress.check,
    "I5, each asset event is used once": assets.check,
    "I5, each callback is called once": callbacks.check,
    "nothing is lost": outcome.check,
}


@dataclass
class Verdict:
    violations: dict[str, list[str]] = field(default_factory=dict)

    @property
    def is_good(self) -> bool:
        return not self.violations

    def __str__(self) -> str:
        lines = []
        for name, found in self.violations.items():
            lines.append(f"VIOLATED: {name}: {len(found)} times")
            lines += [f"  {one}" for one in found[:12]]
        return "\n".join(lines) or f"all {len(CHECKS)} checks hold"


def check_all(facts: Facts) -> Verdict:
    found = {name: check(facts) for name, check in CHECKS.items()}
    return Verdict({name: violations for name, violations in found.items() if violations})
