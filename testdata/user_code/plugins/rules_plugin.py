"""Weight rules that somebody wrote: one that is good, and one that is as bad as the DAG's name says."""

from __future__ import annotations

import os
import time
from typing import ClassVar

from airflow.plugins_manager import AirflowPlugin
from airflow.task.priority_strategy import PriorityWeightStrategy


class ByIndex(PriorityWeightStrategy):
    def get_weight(self, ti):
        upstream = ti.task.get_flat_relative_ids(upstream=True)
        return 100 * (ti.map_index + 2) + ti.task.priority_weight + len(upstream)


class Bad(PriorityWeightStrategy):
    def get_weight(self, ti):
        if ti.dag_id == "raises":
            raise RuntimeError("the rule is broken")
        if ti.dag_id == "hangs":
            time.sleep(3600)
        if ti.dag_id == "exits":
            os._exit(3)
        if ti.dag_id == "raises_later" and ti.map_index >= 0:
            raise RuntimeError("the rule is broken for copies")
        return "heavy" if ti.dag_id == "odd" else 7


class RulesPlugin(AirflowPlugin):
    name = "rules"
    priority_weight_strategies: ClassVar = [ByIndex, Bad]
