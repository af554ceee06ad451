"""What the tasks of random DAGs weigh, by each rule."""

import random
from types import SimpleNamespace

from airflow.sdk import DAG, BaseOperator
from airflow.serialization.serialized_objects import DagSerialization

COUNT = 40
RULES = ("absolute", "downstream", "upstream")
WEIGHTS = (1, 1, 1, 0, -3, 7, 100, 2**31 - 1, -(2**31), 2**40)


def record(seed: int) -> list[dict]:
    return [ask(random.Random(f"{seed} weights {number}"), number) for number in range(COUNT)]


def ask(rng: random.Random, number: int) -> dict:
    """A DAG: what each task gives, what it leads to, and what it weighs."""
    size = rng.choice([1, 2, 5, 20, 63, 64, 65, 130, 200])
    shape = rng.choice([0.01, 0.03, 0.2])
    weights = WEIGHTS if number % 2 else WEIGHTS[:7]
    names = [f"t{place}" for place in range(size)]
    rng.shuffle(names)
    with DAG(f"d{number}") as dag:
        tasks = [
            BaseOperator(task_id=name, priority_weight=rng.choice(weights), weight_rule=rng.choice(RULES))
            for name in names
        ]
        for place, task in enumerate(tasks):
            later = [other for other in tasks[place + 1 :] if rng.random() < shape]
            if later:
                task.set_downstream(later)
    document = DagSerialization.to_dict(dag)
    read = DagSerialization.from_dict(document)
    return {
        "tasks": [
            {
                "id": task.task_id,
                "rule": task.weight_rule.__class__.__name__,
                "own": task.priority_weight,
                "downstream": sorted(task.downstream_task_ids),
                "total": task.weight_rule.get_weight(SimpleNamespace(task=task)),
            }
            for task in read.tasks
        ]
    }
