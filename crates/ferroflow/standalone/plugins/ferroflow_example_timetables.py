"""A timetable of one's own, and the plugin that makes it known."""

from __future__ import annotations

from datetime import datetime, time, timedelta, timezone
from typing import ClassVar

import pendulum
from airflow.plugins_manager import AirflowPlugin
from airflow.timetables.base import DagRunInfo, DataInterval, TimeRestriction, Timetable

TIMES = (time(6, 0), time(16, 30))


class UnevenHoursTimetable(Timetable):
    """At each of the times, a run for what has come in since the one before."""

    description = "At 06:00 and 16:30 UTC"

    @property
    def summary(self) -> str:
        return "06:00 and 16:30"

    def infer_manual_data_interval(self, *, run_after: pendulum.DateTime) -> DataInterval:
        """A run that somebody asks for is for the last interval that is over."""
        end = _last(run_after)
        return DataInterval(start=_last(end - timedelta(microseconds=1)), end=end)

    def next_dagrun_info(
        self, *, last_automated_data_interval: DataInterval | None, restriction: TimeRestriction
    ) -> DagRunInfo | None:
        if last_automated_data_interval is not None:
            start = last_automated_data_interval.end
        elif restriction.earliest is not None:
            start = _next(restriction.earliest - timedelta(microseconds=1))
        else:
            return None
        if not restriction.catchup:
            newest = self.infer_manual_data_interval(run_after=pendulum.now("UTC"))
            start = max(start, newest.start)
        if restriction.latest is not None and start > restriction.latest:
            return None
        return DagRunInfo.interval(start=start, end=_next(start))


def _last(moment: datetime) -> pendulum.DateTime:
    """The last of the times, up to this moment."""
    return max(time for time in _times_around(moment) if time <= moment)


def _next(moment: datetime) -> pendulum.DateTime:
    """The first of the times after this moment."""
    return min(time for time in _times_around(moment) if time > moment)


def _times_around(moment: datetime) -> list[pendulum.DateTime]:
    day = moment.astimezone(timezone.utc).date()
    days = [day + timedelta(days=difference) for difference in (-1, 0, 1)]
    return [pendulum.instance(datetime.combine(day, at, timezone.utc)) for day in days for at in TIMES]


class FerroflowExamplesPlugin(AirflowPlugin):
    name = "ferroflow_examples"
    timetables: ClassVar = [UnevenHoursTimetable]
