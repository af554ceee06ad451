"""Proves that the checks notice: good facts are spoilt in many ways, each to be found by its check."""

import copy
from collections.abc import Callable

from together.checks import check_all, excuses
from together.facts import Change, Facts, Note

Spoil = Callable[[Facts], None]


def prove(facts: Facts) -> list[str]:
    """What the checks do not notice, of facts that they find good."""
    missed = []
    for (what, spoil), expected in SPOILERS.items():
        spoilt = copy.deepcopy(facts)
        spoil(spoilt)
        violated = check_all(spoilt).violations
        if not any(name.startswith(expected) for name in violated):
            missed.append(f"{what}: {expected} should be violated, and {sorted(violated) or 'nothing'} is")
    return missed


def _start_a_try_twice(facts: Facts) -> None:
    place, note = _last_note(facts, "start")
    facts.notes.insert(place + 1, note._replace(pid=note.pid + 1))


def _run_two_tries_at_once(facts: Facts) -> None:
    place, note = _last_note(facts, "end")
    facts.notes.insert(place, note._replace(what="start", try_number=note.try_number + 1))


def _run_without_a_row(facts: Facts) -> None:
    # Not each try that starts has written anything: its task may be an empty one, or its process was killed.
    noted = {(note.key, note.try_number) for note in facts.notes if note.what == "start"}
    _remove(facts, lambda change: _starts(change) and (change.key, change.try_number) in noted)


def _become_running_twice(facts: Facts) -> None:
    _repeat(facts, _starts)


def _queue_twice(facts: Facts) -> None:
    place, change = _find(facts, lambda change: change.new == "queued" and change.old == "scheduled")
    back = change._replace(old="queued", new="scheduled")
    facts.history[place + 1 : place + 1] = [back, change]


def _skip_a_state(facts: Facts) -> None:
    _remove(facts, lambda change: change.new == "queued" and change.old == "scheduled")


def _leave_a_final_state(facts: Facts) -> None:
    place, change = _find(facts, _ends)
    facts.history.insert(place + 1, change._replace(old="success", new="running"))


def _reuse_a_try(facts: Facts) -> None:
    place, change = _find(
        facts, lambda change: change.table == "task" and change.new == "scheduled" and change.try_number > 1
    )
    facts.history[place] = change._replace(try_number=change.try_number - 1)


def _give_no_slot_back(facts: Facts) -> None:
    _remove(facts, lambda change: change.pool == "one" and _ends(change))


def _end_no_run(facts: Facts) -> None:
    # Of several at once, the others may all have ended before the next one starts.
    narrow = {dag.dag_id for dag in facts.dags if dag.runs > dag.max_active_runs == 1}
    _remove(
        facts, lambda change: change.table == "run" and change.new == "success" and change.dag_id in narrow
    )


def _allow_fewer(limit: str) -> Spoil:
    def spoil(facts: Facts) -> None:
        for dag in facts.dags:
            if hasattr(dag, limit):
                setattr(dag, limit, 0)
            for task in dag.tasks.values():
                if hasattr(task, limit):
                    setattr(task, limit, 0)
        if limit == "parallelism":
            facts.parallelism = 0

    return spoil


def _wait(matches: Callable[[Change], bool]) -> Spoil:
    """Lets a minute pass before a change, and as long as there is any excuse for."""

    def spoil(facts: Facts) -> None:
        place, _ = _find(facts, matches)
        pause = 61 + sum(excuse.until - excuse.since for excuse in excuses.spans(facts))
        facts.history[place:] = [change._replace(at=change.at + pause) for change in facts.history[place:]]
        facts.ended += pause

    return spoil


def _lose_a_run(facts: Facts) -> None:
    run = next((dag_id, run_id) for dag_id, run_id in facts.runs if facts.dag(dag_id).asset is None)
    del facts.runs[run]


def _leave_undone(facts: Facts) -> None:
    key = next(iter(facts.instances))
    facts.instances[key] = ("up_for_retry", facts.instances[key][1])


def _succeed_without_work(facts: Facts) -> None:
    place, _ = _last_note(facts, "end")
    del facts.notes[place]


def _end_a_run_twice(facts: Facts) -> None:
    _repeat(facts, lambda change: change.table == "run" and change.new == "success")


def _go_on_after_the_end(facts: Facts) -> None:
    place, _ = _find(facts, lambda change: change.table == "task" and change.new == "success")
    facts.history.append(facts.history.pop(place))


def _forget_a_try(facts: Facts) -> None:
    facts.past_tries.clear()


def _use_an_event_twice(facts: Facts) -> None:
    facts.taken_events.append(facts.taken_events[0])


def _lose_an_event(facts: Facts) -> None:
    facts.taken_events.pop()


def _cause_no_event(facts: Facts) -> None:
    facts.asset_events.popitem()


def _lose_a_call(facts: Facts) -> None:
    del facts.notes[_last_note(facts, "run_called")[0]]


def _call_twice(facts: Facts) -> None:
    facts.notes.append(_last_note(facts, "run_called")[1])


def _ask_for_no_call(facts: Facts) -> None:
    facts.callbacks.clear()


def _leave_a_callback(facts: Facts) -> None:
    facts.callbacks.remove(next(one for one in facts.callbacks if one.what == "delete"))


def _ask_twice(facts: Facts) -> None:
    asked = [one for one in facts.callbacks if one.note == "run_called"][:2]
    facts.callbacks += [one._replace(row="another") for one in asked]


def _starts(change: Change) -> bool:
    return change.table == "task" and change.old == "queued" and change.new == "running"


def _ends(change: Change) -> bool:
    return change.table == "task" and change.old == "running" and change.new == "success"


def _last_note(facts: Facts, what: str) -> tuple[int, Note]:
    return next((n, note) for n, note in reversed(list(enumerate(facts.notes))) if note.what == what)


def _find(facts: Facts, matches: Callable[[Change], bool]) -> tuple[int, Change]:
    return next((n, change) for n, change in enumerate(facts.history) if matches(change))


def _remove(facts: Facts, matches: Callable[[Change], bool]) -> None:
    del facts.history[_find(facts, matches)[0]]


def _repeat(facts: Facts, matches: Callable[[Change], bool]) -> None:
    place, change = _find(facts, matches)
    facts.history.insert(place + 1, change)


SPOILERS: dict[tuple[str, Spoil], str] = {
    ("a try starts twice", _start_a_try_twice): "I1",
    ("two tries run at once", _run_two_tries_at_once): "I1",
    ("a try runs whose row was never running", _run_without_a_row): "I1",
    ("a row becomes running twice", _become_running_twice): "I1",
    ("a try is queued twice", _queue_twice): "I2",
    ("a state is skipped", _skip_a_state): "I2",
    ("a final state is left", _leave_a_final_state): "I2",
    ("a try has the number of the one before", _reuse_a_try): "I2",
    ("a slot is given twice", _give_no_slot_back): "I3",
    ("a run starts while another runs", _end_no_run): "I3",
    ("max_active_runs", _allow_fewer("max_active_runs")): "I3",
    ("max_active_tasks", _allow_fewer("max_active_tasks")): "I3",
    ("max_active_tis_per_dag", _allow_fewer("max_active_tis_per_dag")): "I3",
    ("max_active_tis_per_dagrun", _allow_fewer("max_active_tis_per_dagrun")): "I3",
    ("parallelism", _allow_fewer("parallelism")): "I3",
    ("a task stays queued", _wait(_starts)): "I4",
    ("a task stays running", _wait(_ends)): "I4",
    (
        "a ready task is not seen",
        _wait(lambda change: change.old is None and change.new == "scheduled"),
    ): "I4",
    ("a run is not started", _wait(lambda change: change.table == "run" and change.new == "running")): "I4",
    ("a run is not made", _wait(lambda change: change.table == "run" and change.what == "insert")): "I4",
    ("an event is used twice", _use_an_event_twice): "I5, each asset event",
    ("an event is not used", _lose_an_event): "I5, each asset event",
    ("an event is not made", _cause_no_event): "I5, each asset event",
    ("a callback is not called", _lose_a_call): "I5, each callback",
    ("a callback is called twice", _call_twice): "I5, each callback",
    ("no callback is asked for", _ask_for_no_call): "I5, each callback",
    ("a callback is called, and its row is left", _leave_a_callback): "I5, each callback",
    ("a callback is asked for twice", _ask_twice): "I5, each callback",
    ("a run is lost", _lose_a_run): "nothing is lost",
    ("a task is left undone", _leave_undone): "nothing is lost",
    ("a task succeeds without its work", _succeed_without_work): "nothing is lost",
    ("a run ends twice", _end_a_run_twice): "nothing is lost",
    ("a task goes on after its run", _go_on_after_the_end): "nothing is lost",
    ("a past try is forgotten", _forget_a_try): "nothing is lost",
}
