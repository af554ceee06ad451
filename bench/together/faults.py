"""What happens to schedulers and their database, drawn from a seed.

Which faults come, to whom and when is the seed's; what they meet depends on the machine. Everything is
written down.
"""

import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from together import fleet
from together.bad_rows import BadRows
from together.database import Database
from together.facts import Excuse
from together.fleet import Component
from together.held import Held

# Within so many seconds a scheduler that is not heard of is taken for dead. See `world.SETTINGS`.
THRESHOLD = 4

# How often each comes, in relation to the others.
WEIGHTS = {
    "a scheduler is killed": 18,
    "all schedulers are killed": 2,
    "a scheduler stops for longer than its peers wait": 14,
    "a scheduler is ended and started": 8,
    "a task's process is killed": 20,
    "a fork server is killed": 8,
    "the database restarts": 3,
    "the database crashes": 3,
    "a connection is cut": 10,
    "all connections are cut": 8,
    "a clock is set forward": 4,
    "a clock is set back": 4,
    "the database takes no writes": 6,
    "the database's disk is full": 6,
    "a task's process cannot be killed": 6,
    "a timetable hangs": 6,
    "a row is bad": 8,
}

# For so many seconds each: shorter and longer than schedulers wait for each other.
SPELLS = (1, 3, THRESHOLD + 2, 12)


@dataclass
class Chaos:
    seed: int
    database: Database
    schedulers: list[Component]
    # To which nothing happens.
    others: list[Component]
    say: Callable[[str], None]
    # A timetable hangs while this file is there.
    hang: Path
    # Why things did not move on, while they could not.
    excuses: list[Excuse] = field(default_factory=list)
    happened: Counter[str] = field(default_factory=Counter)
    # Components that have ended although nobody told them to.
    gave_up: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.bad_rows = BadRows(self.chance, self.database)
        # What is to be put right again, and when.
        self.pending: list[tuple[float, str, Callable[[], None]]] = []

    @property
    def count(self) -> int:
        return self.happened.total()

    def next_fault(self) -> None:
        """Lets one happen; one that meets nobody does not count."""
        name = self.chance.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        told = getattr(self, "_" + name.replace(" ", "_").replace("'", ""))()
        if told is not None:
            self.happened[name] += 1
            self.say(f"fault {self.count}: {name}: {told}")

    def put_right(self, everything: bool = False) -> None:
        """Does what is due of what faults have left to be done."""
        for one in (*self.schedulers, *self.others):
            if one.is_wanted and not one.lives:
                self.gave_up[one.last_words()] += 1
                self.say(f"{one.name} has ended by itself, and starts again: {one.last_words()}")
                one.start()
        now = time.monotonic()
        due = [one for one in self.pending if everything or one[0] <= now]
        self.pending = [one for one in self.pending if one not in due]
        for _, what, act in due:
            if what:
                self.say(what)
            act()

    def _later(self, seconds: float, what: str, act: Callable[[], None]) -> None:
        self.pending.append((time.monotonic() + seconds, what, act))

    def _one(self) -> Component | None:
        """One to which something may happen: another one is ready, as nothing moves on where nobody works.

        Nearly always it has finished starting: otherwise most faults would meet those that have not.
        """
        draw, is_any = self.chance.random(), self.chance.random() < 0.1
        ready = [one for one in self.schedulers if one.is_ready]
        found = [one for one in self.schedulers if one.is_ready or (is_any and one.works and ready)]
        return found[int(draw * len(found))] if len(found) > 1 else None

    def _a_scheduler_is_killed(self) -> str | None:
        if (one := self._one()) is None:
            return None
        one.kill()
        # Sooner or later than its peers notice.
        pause = self.chance.choice([0, 0.5, 2, THRESHOLD + 3])
        self._later(pause, f"{one.name} starts", one.start)
        return f"{one.name}, for {pause} s"

    def _all_schedulers_are_killed(self) -> str | None:
        found = [one for one in self.schedulers if one.is_ready]
        if len(found) < len(self.schedulers):
            return None
        for one in found:
            one.kill()
            self._later(self.chance.uniform(0, 3), f"{one.name} starts", one.start)
        return ", ".join(one.name for one in found)

    def _a_scheduler_stops_for_longer_than_its_peers_wait(self) -> str | None:
        if (one := self._one()) is None:
            return None
        one.stop()
        seconds = THRESHOLD + self.chance.choice([1, 3, 6, 11])
        self._later(seconds, f"{one.name} goes on", one.resume)
        return f"{one.name}, for {seconds} s"

    def _a_scheduler_is_ended_and_started(self) -> str | None:
        if (one := self._one()) is None:
            return None
        one.terminate()
        self._restart_when_ended(one)
        return one.name

    def _restart_when_ended(self, one: Component) -> None:
        def start_or_wait() -> None:
            if one.lives and not one.is_wanted:
                self._restart_when_ended(one)
            elif not one.lives:
                self.say(f"{one.name} has ended, and starts")
                one.start()

        self._later(0.5, "", start_or_wait)

    def _a_tasks_process_is_killed(self) -> str | None:
        found = [pid for one in self.schedulers if one.lives for pid in one.task_processes()]
        if not found:
            return None
        pid = self.chance.choice(found)
        return f"process {pid}" if fleet.kill(pid) else None

    def _a_fork_server_is_killed(self) -> str | None:
        if (one := self._one()) is None or (pid := one.fork_server()) is None:
            return None
        return f"process {pid} of {one.name}" if fleet.kill(pid) else None

    def _the_database_restarts(self) -> str | None:
        return self._restart_database(0)

    def _the_database_crashes(self) -> str | None:
        return self._restart_database(1)

    def _restart_database(self, number: int) -> str | None:
        if not any(one.is_ready for one in self.schedulers):
            return None
        how, pause = self.database.server.restart_signals[number], self.chance.choice([0, 1, 4])
        self.database.restart(how, pause)
        return f"by {how.name}, {pause} s between"

    def _a_connection_is_cut(self) -> str | None:
        one = self._one()
        return f"of {one.name}" if one and self.database.cut(one.name, 1) else None

    def _all_connections_are_cut(self) -> str | None:
        cut = self.database.cut(None, 1000)
        return f"{cut} of them" if cut else None

    def _a_clock_is_set_forward(self) -> str | None:
        return self._step_clock(1)

    def _a_clock_is_set_back(self) -> str | None:
        return self._step_clock(-1)

    def _step_clock(self, sign: int) -> str | None:
        if (one := self._one()) is None:
            return None
        # Not enough to be noticed, or enough to take each other for dead.
        seconds = sign * self.chance.choice([1, THRESHOLD + 2, 15])
        one.step_clock(seconds)
        self._later(
            self.chance.uniform(3, 8), f"the clock of {one.name} is right again", lambda: one.step_clock(0)
        )
        return f"that of {one.name}, by {seconds} s"

    def _the_database_takes_no_writes(self) -> str | None:
        return self._for_a_while(self.database.set_read_only, "the database takes writes again")

    def _the_databases_disk_is_full(self) -> str | None:
        return self._for_a_while(self.database.set_full, "there is room on the database's disk again")

    def _for_a_while(self, be_so: Callable[[bool], None], what_then: str) -> str:
        seconds = self.chance.choice(SPELLS)
        be_so(True)
        self._later(seconds, what_then, lambda: be_so(False))
        return f"for {seconds} s"

    def _a_tasks_process_cannot_be_killed(self) -> str | None:
        found = [pid for one in self.schedulers if one.lives for pid in one.task_processes()]
        if not found:
            return None
        pid, seconds = self.chance.choice(found), self.chance.choice([THRESHOLD, 12, 18])
        held = Held(pid)
        if not held.is_held:
            return None
        self._later(seconds, f"process {pid} ends", held.let_go)
        return f"process {pid}, for {seconds} s"

    def _a_timetable_hangs(self) -> str | None:
        if self.hang.exists():
            return None
        seconds, excuse = self.chance.choice([4, 12, 20]), Excuse("", "", self.database.now())
        self.hang.touch()
        self.excuses.append(excuse)

        def go_on() -> None:
            self.hang.unlink()
            excuse.until = self.database.now()

        self._later(seconds, "the timetable goes on", go_on)
        return f"for {seconds} s"

    def _a_row_is_bad(self) -> str | None:
        if (spoilt := self.bad_rows.spoil()) is None:
            return None
        excuse = Excuse(spoilt.dag_id, spoilt.run_id, self.database.now())
        self.excuses.append(excuse)

        def restore() -> None:
            self.bad_rows.restore(spoilt)
            excuse.until = self.database.now()

        seconds = self.chance.choice([2, 6, 15])
        self._later(seconds, f"{spoilt} is as it was", restore)
        return f"{spoilt}, for {seconds} s"
