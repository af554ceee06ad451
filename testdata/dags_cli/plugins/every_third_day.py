"""A timetable that nobody but Python can evaluate."""

from datetime import timedelta

from airflow.plugins_manager import AirflowPlugin
from airflow.timetables.base import DagRunInfo, DataInterval, Timetable


class EveryThirdDay(Timetable):
    description = "Every third day"

    def __init__(self, name: str):
        self.name = name

    @property
    def summary(self) -> str:
        return f"third day at {self.name}"

    def serialize(self) -> dict:
        return {"name": self.name}

    @classmethod
    def deserialize(cls, data: dict) -> "EveryThirdDay":
        return cls(data["name"])

    def infer_manual_data_interval(self, *, run_after) -> DataInterval:
        return DataInterval.exact(run_after)

    def next_dagrun_info(self, *, last_automated_data_interval, restriction) -> DagRunInfo | None:
        if last_automated_data_interval is not None:
            start = last_automated_data_interval.end
        elif restriction.earliest is not None:
            start = restriction.earliest
        else:
            return None
        return DagRunInfo.interval(start=start, end=start + timedelta(days=3))


class EveryThirdDayPlugin(AirflowPlugin):
    name = "every_third_day"
    timetables = (EveryThirdDay,)
