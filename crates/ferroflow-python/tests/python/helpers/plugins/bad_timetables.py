"""Timetables that do what no timetable should."""

import datetime
import os
import sys
import time

from airflow.plugins_manager import AirflowPlugin
from airflow.timetables.base import DagRunInfo, DataInterval, Timetable


class Bad(Timetable):
    def next_dagrun_info(self, *, last_automated_data_interval, restriction):
        return DagRunInfo.exact(restriction.earliest)

    def infer_manual_data_interval(self, *, run_after):
        return DataInterval.exact(run_after)


class Raises(Bad):
    def next_dagrun_info(self, *, last_automated_data_interval, restriction):
        raise KeyError("no such market: XNYS")


class Hangs(Bad):
    def next_dagrun_info(self, *, last_automated_data_interval, restriction):
        time.sleep(600)


class Exits(Bad):
    def next_dagrun_info(self, *, last_automated_data_interval, restriction):
        os._exit(3)


class Leaves(Bad):
    def next_dagrun_info(self, *, last_automated_data_interval, restriction):
        sys.exit("bye")


class Prints(Bad):
    def next_dagrun_info(self, *, last_automated_data_interval, restriction):
        print("\x00\x00\x00\x02{}" * 50_000, flush=True)
        print("and complains", file=sys.stderr)
        assert sys.stdin.read() == ""
        return DagRunInfo.exact(restriction.earliest)


class Naive(Bad):
    def next_dagrun_info(self, *, last_automated_data_interval, restriction):
        return DagRunInfo.exact(datetime.datetime(2024, 1, 1))


class Strange(Bad):
    periodic = "often"

    def next_dagrun_info(self, *, last_automated_data_interval, restriction):
        return "tomorrow"


class Endless(Bad):
    def next_dagrun_info(self, *, last_automated_data_interval, restriction):
        start = last_automated_data_interval.end if last_automated_data_interval else restriction.earliest
        return DagRunInfo.interval(start, start.add(hours=1))


class BadTimetables(AirflowPlugin):
    name = "bad_timetables"
    timetables = (Raises, Hangs, Exits, Leaves, Prints, Naive, Strange, Endless)
