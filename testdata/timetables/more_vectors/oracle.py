"""The installed Airflow, with a clock that stands still."""

import datetime
import locale
import os
import sys
import tempfile
import types
from datetime import timedelta

from more_vectors.instants import UTC, written

# Removed when this process ends.
HOME = tempfile.TemporaryDirectory()
# How many steps of a delta are waited for. A step that leads back to where it came from never ends.
MOST_STEPS = 5_000
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


class TooLong(BaseException):
    """Airflow would go on for ever, or nearly so."""


class Clock:
    now = datetime.datetime(2024, 1, 1, tzinfo=UTC)
    steps = 0
    random = (0,) * 8


def prepare() -> None:
    """Import Airflow with nothing configured and put our clock in the place of its own."""
    # Descriptions of schedules are in the language of the machine.
    locale.setlocale(locale.LC_ALL, "C.UTF-8")
    for name in [name for name in os.environ if name.startswith("AIRFLOW")]:
        del os.environ[name]
    os.environ["AIRFLOW_HOME"] = HOME.name
    import pendulum
    from airflow._shared.timezones import timezone
    from airflow.timetables import _delta, interval, trigger

    def utcnow():
        return Clock.now.astimezone(pendulum.UTC)

    timezone.utcnow = interval.utcnow = trigger.utcnow = utcnow
    trigger.time = types.SimpleNamespace(time=lambda: Clock.now.timestamp())
    trigger.log = types.SimpleNamespace(info=lambda *_, **__: None, warning=lambda *_, **__: None)
    trigger.get_random_string = lambda: "".join(LETTERS[byte % len(LETTERS)] for byte in Clock.random)
    naive = types.SimpleNamespace(now=lambda: Clock.now.replace(tzinfo=None))
    _delta.datetime = types.SimpleNamespace(datetime=naive, timedelta=timedelta)
    get_next = _delta.DeltaMixin._get_next

    def counted(self, current):
        Clock.steps += 1
        if Clock.steps > MOST_STEPS:
            raise TooLong
        return get_next(self, current)

    _delta.DeltaMixin._get_next = counted


def decode(tt: dict):
    from airflow.serialization.decoders import decode_timetable
    from airflow.serialization.enums import Encoding

    def keyed(value):
        if not isinstance(value, dict):
            return value
        names = {"__type": Encoding.TYPE, "__var": Encoding.VAR}
        return {names.get(name, name): keyed(inner) for name, inner in value.items()}

    return decode_timetable(keyed(tt))


def freeze(now: datetime.datetime) -> None:
    Clock.now = now
    Clock.steps = 0


def answer(ask) -> dict:
    """`{"x": what is answered}` or `{"error": the class of what is raised}`."""
    try:
        return {"x": ask()}
    except Exception as error:
        return {"error": type(error).__name__}


def pendulum_instant(at: datetime.datetime | None):
    import pendulum

    return at and pendulum.instance(at.astimezone(pendulum.UTC))


def restriction(earliest, latest, catchup: bool):
    from airflow.timetables.base import TimeRestriction

    return TimeRestriction(pendulum_instant(earliest), pendulum_instant(latest), catchup)


def run_info(ran: dict | None):
    """The last run, as a timetable is told about it."""
    from airflow.timetables.base import DagRunInfo, DataInterval

    if ran is None:
        return None
    instant = {name: pendulum_instant(parsed(ran.get(name))) for name in ("ra", "s", "e", "pd")}
    return DagRunInfo(
        run_after=instant["ra"],
        data_interval=DataInterval(instant["s"], instant["e"]) if instant["s"] else None,
        partition_date=instant["pd"],
        partition_key=ran.get("pk"),
    )


def shown(info) -> dict | None:
    if info is None:
        return None
    made = {"ra": written(info.run_after)}
    if info.data_interval is not None:
        made |= {"s": written(info.data_interval.start), "e": written(info.data_interval.end)}
    if info.partition_date is not None:
        made["pd"] = written(info.partition_date)
    if info.partition_key is not None:
        made["pk"] = info.partition_key
    return made


def parsed(text: str | None) -> datetime.datetime | None:
    return text and datetime.datetime.fromisoformat(text.removesuffix("Z")).replace(tzinfo=UTC)


def versions() -> dict:
    from importlib.metadata import version

    names = ("apache-airflow-core", "croniter", "cron-descriptor", "pendulum", "python-dateutil", "tzdata")
    return {"python": ".".join(map(str, sys.version_info[:2])), **{name: version(name) for name in names}}
