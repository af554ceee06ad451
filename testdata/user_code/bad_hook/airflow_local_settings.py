"""A hook that is as bad as the DAG's name says."""

from __future__ import annotations

import os
import time


def task_instance_mutation_hook(task_instance, dag_run=None):
    dag_id = task_instance.dag_id
    if dag_id == "raises":
        raise RuntimeError("the hook is broken")
    if dag_id == "hangs":
        time.sleep(3600)
    if dag_id == "exits":
        os._exit(3)
    if dag_id == "odd":
        task_instance.pool = None
