"""Zones, and instants at which something happens there."""

import datetime
import functools
import zoneinfo
from datetime import timedelta

UTC = datetime.timezone.utc

# Where the clocks do more than move by an hour: other shifts, a day left out, Ramadan, a year without winter.
NOTEWORTHY = (
    "Africa/Cairo",
    "Africa/Casablanca",
    "Africa/El_Aaiun",
    "Africa/Monrovia",
    "America/Argentina/San_Luis",
    "America/Caracas",
    "America/Havana",
    "America/Metlakatla",
    "America/New_York",
    "America/Nuuk",
    "America/Santo_Domingo",
    "America/Sao_Paulo",
    "America/Scoresbysund",
    "America/St_Johns",
    "Antarctica/Casey",
    "Antarctica/Macquarie",
    "Antarctica/Troll",
    "Antarctica/Vostok",
    "Asia/Amman",
    "Asia/Gaza",
    "Asia/Kathmandu",
    "Asia/Pyongyang",
    "Asia/Tehran",
    "Atlantic/Azores",
    "Australia/Lord_Howe",
    "Europe/Dublin",
    "Europe/London",
    "Europe/Volgograd",
    "Pacific/Apia",
    "Pacific/Chatham",
    "Pacific/Enderbury",
    "Pacific/Fakaofo",
    "Pacific/Kiritimati",
    "Pacific/Kwajalein",
    "Pacific/Niue",
)
# There is no 0 among them: Airflow writes that as "UTC".
FIXED_OFFSETS = (3600, -3600, 19800, -12600, 20700, 45900, 50400, -43200, 1, -59, 86399, -86399, 4772)

# Of these the tz releases 2025b and 2026f, or the ways to build one, differ after 1970 and before 2025.
UNSTABLE = {
    *("CET", "CST6CDT", "EET", "EST", "EST5EDT", "HST", "MET", "MST", "MST7MDT", "PST8PDT", "WET"),
    *("America/Ensenada", "America/Santa_Isabel", "America/Tijuana", "Mexico/BajaNorte"),
    *("America/Bogota", "Asia/Tehran", "Europe/Chisinau", "Europe/Tiraspol", "Iran"),
}
# Zones that are the same in every build of the tz data for all the past.
WELL_KNOWN = (
    *("America/New_York", "America/Los_Angeles", "America/Sao_Paulo", "Europe/London", "Europe/Paris"),
    *("Europe/Berlin", "Asia/Tokyo", "Asia/Kolkata", "Australia/Sydney", "Africa/Monrovia", "Africa/Lagos"),
)


@functools.cache
def zones() -> tuple[str, ...]:
    """Every zone but `localtime`, which is whatever the machine says."""
    return tuple(sorted(zoneinfo.available_timezones() - {"localtime"}))


@functools.cache
def zone(key: str | int) -> datetime.tzinfo:
    if isinstance(key, int):
        return datetime.timezone(timedelta(seconds=key))
    return zoneinfo.ZoneInfo("UTC" if key == "utc" else key)


@functools.cache
def transitions(key: str, first: int, last: int) -> tuple[datetime.datetime, ...]:
    """The instants at which the offset changes, to the second."""
    found = []
    step = timedelta(days=6)
    before = datetime.datetime(first, 1, 1, tzinfo=UTC)
    end = datetime.datetime(last, 1, 1, tzinfo=UTC)
    while before < end:
        after = before + step
        if offset_at(before, key) != offset_at(after, key):
            found.append(change_between(before, after, key))
        before = after
    return tuple(found)


def change_between(before: datetime.datetime, after: datetime.datetime, key: str) -> datetime.datetime:
    while after - before > timedelta(seconds=1):
        middle = before + timedelta(seconds=(after - before).total_seconds() // 2)
        if offset_at(middle, key) == offset_at(before, key):
            before = middle
        else:
            after = middle
    return after


def offset_at(at: datetime.datetime, key: str | int) -> timedelta:
    return at.astimezone(zone(key)).utcoffset()


def pick_zone(rng, sample: bool, number: int) -> str | int:
    """All zones in turn for odd numbers, and otherwise the noteworthy ones and fixed offsets."""
    kind = rng.random()
    if number % 2:
        key = zones()[number // 2 % len(zones())]
    elif kind < 0.65:
        key = rng.choice(NOTEWORTHY)
    elif kind < 0.8:
        key = rng.choice(FIXED_OFFSETS)
    elif kind < 0.88:
        key = rng.choice(("UTC", "utc", "Etc/UTC", "Etc/GMT+12", "Etc/GMT-14"))
    else:
        key = rng.choice(WELL_KNOWN)
    return "UTC" if sample and key in UNSTABLE else key


def is_stable(key: str | int) -> bool:
    """Whether every release has the same for all times."""
    return isinstance(key, int) or key.lower() == "utc" or key.startswith("Etc/")


def pick_instant(rng, key: str | int, sample: bool) -> datetime.datetime:
    """Mostly near a change of the clocks."""
    first, last = (1970, 2024) if sample else (1970, 2037)
    kind = rng.random()
    if is_stable(key) and kind < 0.25:
        return far_instant(rng)
    if kind < 0.06 and (not sample or key in WELL_KNOWN):
        first, last = 1850, 1970
    elif kind < 0.1 and not sample:
        first, last = 2038, 2200
    elif kind < 0.12 and not sample:
        return far_instant(rng)
    changes = transitions(key, first, last) if isinstance(key, str) else ()
    if changes and rng.random() < 0.85:
        at = rng.choice(changes) + near(rng)
    else:
        days = (datetime.date(last, 12, 1) - datetime.date(first, 1, 10)).days
        at = datetime.datetime(first, 1, 10, tzinfo=UTC) + timedelta(days=rng.randrange(days))
        at += timedelta(minutes=rng.randrange(1440))
    return at


def far_instant(rng) -> datetime.datetime:
    """Near the ends of the calendar, and in centuries with other rules."""
    years = (1, 1, 2, 50, 51, 52, 1000, 1582, 1883, 2100, 2149, 3000, 9900, 9948, 9949, 9998, 9999)
    day = rng.choice((1, 1, 2, 28, rng.randrange(1, 29)))
    at = datetime.datetime(rng.choice(years), rng.choice((1, 1, 2, 5, 9)), day, tzinfo=UTC)
    hour, minute = rng.choice((0, 23, rng.randrange(24))), rng.choice((0, 59, rng.randrange(60)))
    return at.replace(hour=hour, minute=minute)


def near(rng) -> timedelta:
    """A while before or after a change."""
    return rng.choice(
        (
            timedelta(),
            timedelta(seconds=rng.choice((-1, 1))),
            timedelta(microseconds=rng.choice((-1, 1))),
            timedelta(minutes=rng.choice((-90, -60, -40, -30, -20, -15, -1, 1, 15, 20, 30, 40, 60, 90))),
            timedelta(minutes=rng.randrange(-200, 200)),
            timedelta(minutes=rng.randrange(-3000, 3000)),
            timedelta(seconds=rng.randrange(-9000, 9000)),
            timedelta(hours=rng.choice((-24, -23, -12, -3, -2, 2, 3, 12, 23, 24))),
            timedelta(seconds=rng.uniform(-7200, 7200)),
        )
    )


def moved(rng, at: datetime.datetime, most_days: float = 400) -> datetime.datetime:
    """Another instant, from minutes to more than a year away."""
    days = rng.choice((0.0, 0.02, 0.05, 0.5, 1, 1, 2, 7, 31, most_days))
    by = timedelta(minutes=round(rng.uniform(-days, days) * 1440))
    if rng.random() < 0.12:
        by += timedelta(microseconds=rng.randrange(60_000_000))
    return shifted(at, by)


def shifted(at: datetime.datetime, by: timedelta) -> datetime.datetime:
    """Moved, or left where it is if that leads out of the calendar."""
    try:
        return at + by
    except OverflowError:
        return at


def written(at: datetime.datetime) -> str:
    """As the vectors have it: in UTC, with microseconds if there are any."""
    return at.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"
