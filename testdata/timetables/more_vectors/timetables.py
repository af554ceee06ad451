"""Serialized timetables of every class, with every option."""

import datetime
from datetime import timedelta

from more_vectors import crons, instants

SIMPLE = "airflow.timetables.simple."
TRIGGER = "airflow.timetables.trigger."
INTERVAL = "airflow.timetables.interval."
SECONDS = (
    *(0.0, 1.0, 60, 60.0, 300.0, 900.0, 3600.0, 3600, 5400.0, 86400.0, 86400, 604800.0, 2592000.0),
    *(0.1, 0.5, 0.3, 0.7, 1e-06, 1.5e-06, 2.5e-06, 1e-05, 123.456789, 1 / 3, 86399.999999, 3600.000001),
    *(-1.0, -3600.0, -0.1, -86400, 1e8, 1e9, 1e10, 1e11, 8.6e12, 86399999913600.0),
)
KEY_FORMATS = (
    *("%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y%m%d", "%Y/%m/%d %H", "%Y-%m-%dT%H:%M:%S%z", "%Y-%m", "%Y"),
    *("%d.%m.%Y", "%Y%m%d%H%M%S", "day=%d,month=%m,year=%Y", "%H:%M", "%Y-%j", "%d %b %Y", "%A, %d %B %Y"),
    *("%G-W%V-%u", "%Y-%U-%w", "%Y %W %a", "%y%m%d", "%I:%M:%S.%f %p %D", "%F %T %Z", "100%%", ""),
    *("%c", "%x %X", "%-d/%-m", "%e %h %C", "\u00fcber %Y \u2013 %m", "%Y-%m-%dT%H:%M:%S.%f", "%", "%Y%"),
)
ASSET = {
    "__type": "asset",
    "name": "orders",
    "uri": "s3://bucket/orders",
    "group": "asset",
    "extra": {},
}


def timetable(rng, zone: str | int, wall, at: datetime.datetime, nested: bool = False) -> dict:
    """One of any class, that does something near a wall time and an instant."""
    make = rng.choices(MAKERS, WEIGHTS)[0]
    if nested and make in (asset_or_time, asset_triggered, partitioned_asset):
        make = cron_trigger
    return make(rng, zone, wall, at)


def cron_data_interval(rng, zone, wall, at) -> dict:
    return encoded(INTERVAL + "CronDataIntervalTimetable", expression=cron(rng, wall), timezone=zone)


def delta_data_interval(rng, zone, wall, at) -> dict:
    return encoded(INTERVAL + "DeltaDataIntervalTimetable", delta=delta(rng))


def cron_trigger(rng, zone, wall, at) -> dict:
    return encoded(
        TRIGGER + "CronTriggerTimetable",
        expression=cron(rng, wall),
        timezone=zone,
        interval=interval(rng),
        run_immediately=run_immediately(rng),
    )


def delta_trigger(rng, zone, wall, at) -> dict:
    return encoded(TRIGGER + "DeltaTriggerTimetable", delta=delta(rng), interval=interval(rng))


def multiple_cron_trigger(rng, zone, wall, at) -> dict:
    expressions = [cron(rng, wall) for _ in range(rng.choice((1, 2, 2, 3, 4)))]
    if rng.random() < 0.2:
        expressions.append(expressions[0])
    return encoded(
        TRIGGER + "MultipleCronTriggerTimetable",
        expressions=expressions,
        timezone=zone,
        interval=interval(rng),
        run_immediately=run_immediately(rng),
    )


def cron_partition(rng, zone, wall, at) -> dict:
    return encoded(
        TRIGGER + "CronPartitionTimetable",
        expression=cron(rng, wall),
        timezone=zone,
        run_immediately=run_immediately(rng),
        run_offset=rng.choice((None, 0, 0, 1, -1, 2, -3, 12, -20, 1.0)),
        key_format=rng.choice(KEY_FORMATS),
    )


def events(rng, zone, wall, at) -> dict:
    dates = [instants.moved(rng, at) for _ in range(rng.choice((0, 1, 2, 3, 5, 9)))]
    if dates and rng.random() < 0.3:
        dates.append(rng.choice(dates))
    if rng.random() < 0.6:
        dates.sort()
    if rng.random() < 0.4:
        dates = [in_offset(rng, date) for date in dates]
    return encoded(
        "airflow.timetables.events.EventsTimetable",
        event_dates=[date.isoformat(sep="T") for date in dates],
        restrict_to_events=rng.random() < 0.6,
        description=rng.choice(("matches", "", None)),
        _summary=rng.choice(("matches", "3 events", "")),
    )


def in_offset(rng, date: datetime.datetime) -> datetime.datetime:
    seconds = rng.choice((0, 3600, -12600, 20700, 1172, -86399))
    try:
        return date.astimezone(datetime.timezone(timedelta(seconds=seconds)))
    except OverflowError:
        return date


def once(rng, zone, wall, at) -> dict:
    return encoded(SIMPLE + "OnceTimetable")


def continuous(rng, zone, wall, at) -> dict:
    return encoded(SIMPLE + "ContinuousTimetable")


def never(rng, zone, wall, at) -> dict:
    return encoded(SIMPLE + rng.choice(("NullTimetable", "PartitionedAtRuntime")))


def asset_triggered(rng, zone, wall, at) -> dict:
    return encoded(SIMPLE + "AssetTriggeredTimetable", asset_condition=ASSET)


def partitioned_asset(rng, zone, wall, at) -> dict:
    return encoded(
        SIMPLE + "PartitionedAssetTimetable",
        asset_condition=ASSET,
        partition_mapper_config=[],
        default_partition_mapper=encoded("airflow.partition_mappers.identity.IdentityMapper"),
    )


def asset_or_time(rng, zone, wall, at) -> dict:
    inner = timetable(rng, zone, wall, at, nested=True)
    return encoded("airflow.timetables.assets.AssetOrTimeSchedule", asset_condition=ASSET, timetable=inner)


# How often each is made.
MAKERS = {
    cron_data_interval: 20,
    cron_trigger: 18,
    delta_data_interval: 14,
    delta_trigger: 8,
    multiple_cron_trigger: 12,
    cron_partition: 10,
    events: 6,
    asset_or_time: 6,
    continuous: 3,
    once: 2,
    never: 1,
    asset_triggered: 1,
    partitioned_asset: 1,
}
MAKERS, WEIGHTS = tuple(MAKERS), tuple(MAKERS.values())


def encoded(path: str, **fields) -> dict:
    return {"__type": path, "__var": fields}


def cron(rng, wall) -> str:
    """An expression that croniter takes: others are no schedule, and `syntax` records have them."""
    from croniter import croniter

    while True:
        text = crons.expression(rng, wall)
        try:
            croniter(crons_presets().get(text, text))
        except Exception:
            continue
        return text


def crons_presets() -> dict:
    from airflow.utils.dates import cron_presets

    return cron_presets


def run_immediately(rng):
    return rng.choice((True, False, None, 0, 1, 600, 0.0, 60.0, 300.5, 86400.0, -5.0, 1e-06))


def interval(rng) -> float | dict:
    return rng.choice((0.0, 0.0, 3600.0, 86400.0)) if rng.random() < 0.5 else delta(rng)


def delta(rng) -> float | dict:
    kind = rng.random()
    if kind < 0.35:
        return rng.choice(SECONDS)
    if kind < 0.45:
        seconds = rng.uniform(-10, 100) * rng.choice((0.001, 1.0, 3600.0, 86400.0))
        return round(seconds, rng.choice((0, 1, 3, 6)))
    return relative_delta(rng)


def relative_delta(rng) -> dict:
    """The arguments of a relativedelta: amounts, then fields that are set."""
    common = ({"months": 1}, {"years": 1}, {"days": 1}, {"months": 3}, {"weeks": 2}, {"months": 1, "day": 1})
    if rng.random() < 0.3:
        return dict(rng.choice(common))
    made = {}
    for name, most, likely in (("years", 3, 0.15), ("months", 14, 0.3)):
        if rng.random() < likely:
            made[name] = rng.choice((1, 1, rng.randint(-most, most)))
    units = {"days": 40, "hours": 50, "minutes": 100, "seconds": 100, "microseconds": 3_000_000}
    for name, most in units.items():
        if rng.random() < 0.2:
            whole, fraction = rng.randint(-most // 4, most), round(rng.random(), rng.choice((1, 3, 7)))
            made[name] = rng.choice((1, 1, whole, whole, whole + fraction))
    if rng.random() < 0.25:
        made |= absolute_fields(rng)
    return made


def absolute_fields(rng) -> dict:
    made = {}
    date = {"year": (2000, 2030), "month": (1, 13), "day": (1, 32)}
    time = {"hour": (0, 24), "minute": (0, 60), "second": (0, 60), "microsecond": (0, 1_000_000)}
    for name, (first, end) in {**date, **time}.items():
        if rng.random() < 0.15:
            made[name] = rng.randrange(first, end)
    if rng.random() < 0.4:
        nth = rng.choice(([], [1], [2], [-1], [-2], [5]))
        made["weekday"] = [rng.randrange(7), *nth]
    if rng.random() < 0.1:
        made["leapdays"] = rng.choice((1, -1, 2))
    if rng.random() < 0.1:
        made[rng.choice(("yearday", "nlyearday"))] = rng.randrange(1, 366)
    return made
