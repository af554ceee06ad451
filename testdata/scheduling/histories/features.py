"""What a history shows, as sorted tags."""

import datetime
from collections import Counter

from histories.executor import ACTIVE
from histories.instances import ABSENT

SETTLED = ("upstream_failed", "skipped", "removed")
FINISHED = ("success", "failed", *SETTLED)
FLAGS = ("depends_on_past", "wait_for_downstream", "ignore_first_depends_on_past", "start_date", "end_date")
MORE_FLAGS = ("max_active_tis_per_dag", "max_active_tis_per_dagrun", "is_setup", "is_teardown", "_is_sensor")
LARGE, WIDE = 30, 15


def of(player, history: dict) -> list[str]:
    found = player.features | player.executor.features
    found |= of_dag(history["serialized_dag"]["dag"]) | of_runs(history)
    waiting: dict = {}
    states: dict = {tuple(key): None for key in history["initial_tis"]}
    timeout = history["serialized_dag"]["dag"].get("dagrun_timeout")
    starts = {run["run_id"]: run["start_date"] for run in history["runs"]}
    for tick in history["ticks"]:
        if "clear" in tick:
            starts[tick["clear"]["run_id"]] = tick["clear"]["start_date"]
            follow(states, tick["clear"]["changes"])
        follow(states, tick["decisions"])
        unfinished = {key[0] for key, state in states.items() if state not in FINISHED}
        found |= of_tick(tick, timed_out(tick, starts, timeout), unfinished) | of_time(tick, waiting)
        follow(states, tick["executor_changes"])
        for run in history["runs"]:
            if run["logical_date"] and run["logical_date"] > tick["now"]:
                found.add("not_before")
    if sum("clear" in tick for tick in history["ticks"]) > 1:
        found.add("cleared_repeatedly")
    if history["order_conflicts"]:
        found.add("order_conflict")
    return sorted(found)


def follow(states: dict, changes: list) -> None:
    for run, task, index, _, new in changes:
        if new == ABSENT:
            states.pop((run, task, index), None)
        else:
            states[(run, task, index)] = new


def of_dag(dag: dict) -> set[str]:
    found = {"fail_fast"} if dag.get("fail_fast") else set()
    found |= {"dagrun_timeout"} if dag.get("dagrun_timeout") else set()
    found |= {"large_dag"} if len(dag["tasks"]) >= LARGE else set()
    for task in (task["__var"] for task in dag["tasks"]):
        options = {**task, **task.get("partial_kwargs", {})}
        found |= {flag.strip("_") for flag in (*FLAGS, *MORE_FLAGS) if options.get(flag)}
        found |= {"start_from_trigger"} if options.get("start_from_trigger") else set()
        found.add(f"tr_{options.get('trigger_rule', 'all_success')}")
        if "expand_input" in task:
            found |= of_expansion("mapped", task["expand_input"])
    return found | of_group(dag["task_group"], 0)


def of_group(group: dict, mapped: int) -> set[str]:
    found = set()
    if "expand_input" in group:
        mapped += 1
        found = of_expansion("mapped_group", group["expand_input"])
        found |= {"nested_mapped_groups"} if mapped > 1 else set()
    for kind, child in group["children"].values():
        if kind == "taskgroup":
            found |= of_group(child, mapped)
    return found


def of_expansion(what: str, expand: dict) -> set[str]:
    found = {what, f"{what}_{expand['type'].replace('-', '_')}"}
    text = str(expand["value"])
    found |= {f"{what}_{form}" for form in ("zip", "concat", "map") if f"'type': '{form}'" in text}
    return found | ({f"{what}_over_results"} if "task_id" in text else set())


def of_runs(history: dict) -> set[str]:
    runs, final = history["runs"], history["final"]
    found = {"multi_run"} if len(runs) > 1 else set()
    found |= {f"run_type_{run['run_type']}" for run in runs}
    found |= {"dateless_run"} if any(run["logical_date"] is None for run in runs) else set()
    found |= {f"run_{state}" for state in final["run_states"].values()} | {f"end_{final['end']}"}
    for states in final["ti_states"].values():
        widths = Counter(key.rsplit("[", 1)[0] for key in states)
        found |= {"wide_mapping"} if max(widths.values(), default=0) >= WIDE else set()
    return found


def of_tick(tick: dict, late: set[str], unfinished: set[str]) -> set[str]:
    found = {key for key in ("paused", "reconciled") if tick.get(key)}
    ended = {run for run, state in tick["run_states"].items() if state != "running"}
    found |= {"deadlock"} if (ended & unfinished) - late else set()
    for run, _, _, old, new in tick["decisions"]:
        if run in late and not tick.get("paused"):
            found.add("timed_out")
        elif old in ACTIVE and new in SETTLED:
            found.add("probe_settles_active")
            found |= {"probe_ends_run"} if run in ended - unfinished else set()
        if new == "deferred":
            found.add("deferred_at_once")
    if tick.get("paused") and late:
        found.add("paused_beyond_timeout")
    return found | {f"to_{change[4]}" for change in tick["executor_changes"] if change[4] in ACTIVE}


def timed_out(tick: dict, starts: dict, timeout: float | None) -> set[str]:
    """The runs that have taken too long."""
    if timeout is None:
        return set()
    latest = parsed(tick["now"]) - datetime.timedelta(seconds=timeout)
    return {run for run, start in starts.items() if parsed(start) < latest}


def of_time(tick: dict, waiting: dict) -> set[str]:
    """What waits for time to pass, and whether it is looked at when its time has just come."""
    found, now = set(), parsed(tick["now"])
    for state, due in waiting.values():
        if due > now:
            found.add(f"{state}_waits")
        elif due == now:
            found.add(f"{state}_just_due")
    for run, task, index, *_, new in [*tick["decisions"], *tick["executor_changes"]]:
        waiting.pop((run, task, index), None)
        for *key, due in tick["dues"]:
            if key == [run, task, index]:
                waiting[(run, task, index)] = (new, parsed(due))
    return found


def parsed(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text)
