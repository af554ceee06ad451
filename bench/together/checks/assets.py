"""Each event of an asset is there once, and one run has used it."""

from collections import Counter

from together.facts import Facts


def check(facts: Facts) -> list[str]:
    found = []
    caused = Counter(facts.asset_events.values())
    for key, (state, _) in facts.instances.items():
        dag = facts.dag(key.dag_id)
        wanted = 1 if dag and dag.tasks[key.task_id].outlet and state == "success" else 0
        if caused[key] != wanted:
            found.append(f"{key} has caused {caused[key]} events of {wanted}")
    taken = Counter(event for event, _, _ in facts.taken_events)
    for event, key in facts.asset_events.items():
        if taken[event] != 1:
            runs = [f"{run_id} of {dag_id}" for one, dag_id, run_id in facts.taken_events if one == event]
            found.append(f"event {event} of {key} was used {taken[event]} times: {', '.join(runs)}")
    if facts.waiting_for_assets:
        found.append(f"{facts.waiting_for_assets} rows still wait in asset_dag_run_queue")
    return found
