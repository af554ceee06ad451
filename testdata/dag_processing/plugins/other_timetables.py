"""Timetables of a site's own: one whose next run cannot be computed, one with state and a summary."""

from airflow.plugins_manager import AirflowPlugin
from airflow.timetables.base import DagRunInfo, DataInterval, TimeRestriction, Timetable
from pendulum import DateTime, Duration


class FailingTimetable(Timetable):
    """Serializes and decodes well, and has no answer."""

    def infer_manual_data_interval(self, run_after: DateTime) -> DataInterval:
        return DataInterval.exact(run_after)

    def next_dagrun_info(
        self, *, last_automated_data_interval: DataInterval | None, restriction: TimeRestriction
    ) -> DagRunInfo | None:
        raise RuntimeError("the holiday calendar cannot be reached")


class EveryFewDays(Timetable):
    """Has a value of its own, a summary and a description."""

    def __init__(self, days: int) -> None:
        self._days = days
        self.description = f"Every {days} days"

    @property
    def summary(self) -> str:
        return f"every {self._days} days"

    def serialize(self) -> dict:
        return {"days": self._days}

    @classmethod
    def deserialize(cls, data: dict) -> "EveryFewDays":
        return cls(data["days"])

    def infer_manual_data_interval(self, run_after: DateTime) -> DataInterval:
        return DataInterval.exact(run_after)

    def next_dagrun_info(
        self, *, last_automated_data_interval: DataInterval | None, restriction: TimeRestriction
    ) -> DagRunInfo | None:
        if last_automated_data_interval is not None:
            start = last_automated_data_interval.end
        elif restriction.earliest is not None:
            start = restriction.earliest
        else:
            return None
        return DagRunInfo.interval(start=start, end=start + Duration(days=self._days))


class OtherTimetablesPlugin(AirflowPlugin):
    name = "other_timetables"
    timetables = (FailingTimetable, EveryFewDays)
