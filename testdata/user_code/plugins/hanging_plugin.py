"""User code of every kind that hangs as long as there is a file `hang`, and notes that it was asked."""

from __future__ import annotations

import os
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import ClassVar

from airflow.partition_mappers.base import RollupMapper
from airflow.partition_mappers.identity import IdentityMapper
from airflow.partition_mappers.window import Window
from airflow.plugins_manager import AirflowPlugin
from airflow.sdk.definitions.deadline import BaseDeadlineReference
from airflow.task.priority_strategy import PriorityWeightStrategy
from airflow.timetables.base import DagRunInfo, DataInterval, Timetable

START = datetime(2024, 1, 1, tzinfo=timezone.utc)


def hang(what):
    folder = Path(os.environ.get("HANGING_FOLDER", "/nonexistent"))
    if not (folder / "hang").exists():
        return
    with (folder / "asked").open("a") as lines:
        lines.write(what + "\n")
    while (folder / "hang").exists():
        time.sleep(0.05)


class HangingTimetable(Timetable):
    """One run, and then none."""

    def __init__(self, number=0):
        super().__init__()
        self.number = number

    def next_dagrun_info(self, *, last_automated_data_interval, restriction):
        if last_automated_data_interval is None:
            return DagRunInfo.exact(START)
        return hang("timetable")

    def infer_manual_data_interval(self, *, run_after):
        return DataInterval.exact(run_after)

    def serialize(self):
        return {"number": self.number}

    @classmethod
    def deserialize(cls, data):
        return cls(**data)


class HangingRule(PriorityWeightStrategy):
    def get_weight(self, ti):
        hang("rule")
        return 7


class HangingCopies(PriorityWeightStrategy):
    def get_weight(self, ti):
        if ti.map_index >= 0:
            hang("copies")
        return 7


class HangingReference(BaseDeadlineReference):
    def _evaluate_with(self, *, session):
        hang("reference")
        return START


class HangingMapper(RollupMapper):
    def __init__(self, number=0):
        super().__init__(upstream_mapper=IdentityMapper(), window=Itself())
        self.number = number

    def to_downstream(self, key):
        return key

    def to_upstream(self, downstream_key):
        hang("mapper")
        return super().to_upstream(downstream_key)

    def serialize(self):
        return {"number": self.number}

    @classmethod
    def deserialize(cls, data):
        return cls(**data)


class Itself(Window):
    def to_upstream(self, decoded):
        return [decoded]


class HangingPlugin(AirflowPlugin):
    name = "hanging"
    timetables: ClassVar = [HangingTimetable]
    priority_weight_strategies: ClassVar = [HangingRule, HangingCopies]
    deadline_references: ClassVar = [HangingReference]
    partition_mappers: ClassVar = [HangingMapper]
    windows: ClassVar = [Itself]
