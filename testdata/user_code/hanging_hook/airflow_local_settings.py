"""A hook that hangs for some DAGs."""

from __future__ import annotations


def task_instance_mutation_hook(task_instance, dag_run=None):
    if task_instance.dag_id.startswith("stuck_hook"):
        from hanging_plugin import hang

        hang("hook")
