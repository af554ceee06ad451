"""A hook that changes all that a hook may change, and shows how often it was called with what."""

from __future__ import annotations


def task_instance_mutation_hook(task_instance, dag_run=None):
    ti = task_instance
    if not ti.task_id.startswith("hooked"):
        return
    ti.priority_weight = (ti.priority_weight or 0) + 1
    ti.queue = f"queue {ti.map_index}"
    ti.pool_slots = 2
    ti.max_tries = (ti.max_tries or 0) + 5
    if dag_run is not None:
        ti.pool = f"pool of {dag_run.run_type}"
        ti.executor_config = {"run": dag_run.run_id, "conf": dag_run.conf, "interval": [1, 2.5, None]}
        ti.executor = "some.Executor"
