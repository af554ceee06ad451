"""One function per kind of record: makes up a question, asks Airflow, and gives both back."""

import datetime
from datetime import timedelta

from more_vectors import crons, instants, oracle, timetables
from more_vectors.instants import shifted, written
from more_vectors.oracle import answer

RUN_TYPES = ("scheduled", "manual", "backfill", "asset_triggered", "asset_materialization")
FLAGS = ("periodic", "can_be_scheduled", "partitioned", "active_runs_limit")
FACTS = ("summary", "description", "type_name", *FLAGS)


class Scene:
    """A zone, an instant there, and a timetable that does something about then."""

    def __init__(self, rng, number: int, sample: bool, make=timetables.timetable):
        self.zone = instants.pick_zone(rng, sample, number)
        self.at = instants.pick_instant(rng, self.zone, sample)
        try:
            wall = self.at.astimezone(instants.zone(self.zone))
        except (OverflowError, ValueError):
            wall = self.at
        self.tt = make(rng, self.zone, wall, self.at)


def next_runs(rng, number: int, sample: bool) -> dict:
    scene = Scene(rng, number, sample)
    timetable = oracle.decode(scene.tt)
    now = instants.moved(rng, scene.at, 30)
    earliest = rng.choice((None, instants.moved(rng, scene.at), instants.moved(rng, now, 4000)))
    latest = rng.choice((None, None, None, instants.moved(rng, scene.at), instants.moved(rng, now, 4000)))
    catchup = rng.random() < 0.5
    restriction = oracle.restriction(earliest, latest, catchup)
    last = last_run(rng, scene, timetable)
    record = {
        "tt": scene.tt,
        "mode": rng.choice(("frozen", "advance")),
        "restriction": {
            "earliest": earliest and written(earliest),
            "latest": latest and written(latest),
            "catchup": catchup,
        },
        "last": last,
        "steps": [],
    }
    for _ in range(rng.choice((1, 2, 3, 4, 6))):
        oracle.freeze(now)
        info = oracle.run_info(last)
        given = answer(lambda: timetable.next_dagrun_info_v2(last_dagrun_info=info, restriction=restriction))  # noqa: B023
        if "x" in given:
            given["x"] = last = oracle.shown(given["x"])
        record["steps"].append({"now": written(now), **given})
        if "error" in given or last is None:
            break
        if record["mode"] == "advance":
            now = max(now, oracle.parsed(last["ra"]))
            now = shifted(now, timedelta(seconds=rng.choice((0, 1, 60, 4000))))
    return record


def last_run(rng, scene: Scene, timetable) -> dict | None:
    """None, one that the schedule would have made, or one that another schedule left behind."""
    kind = rng.random()
    if kind < 0.35:
        return None
    at = instants.moved(rng, scene.at, 60)
    if kind < 0.65:
        oracle.freeze(at)
        bounds = oracle.restriction(at, None, True)
        info = answer(lambda: timetable.next_dagrun_info_v2(last_dagrun_info=None, restriction=bounds))
        return oracle.shown(info.get("x"))
    end = shifted(at, timedelta(seconds=rng.choice((0, 0, 1, 3600, 86400, rng.randrange(1_000_000)))))
    # Now and then the shape is that of a timetable of another kind, which was there before.
    if ("CronPartition" in scene.tt["__type"]) == (rng.random() < 0.9):
        return {"ra": written(end), "pd": written(at), "pk": "a key"}
    return {"ra": written(end), "s": written(at), "e": written(end)}


def manual(rng, number: int, sample: bool) -> dict:
    scene = Scene(rng, number, sample)
    timetable = oracle.decode(scene.tt)
    oracle.freeze(scene.at)
    at = oracle.pendulum_instant(scene.at)
    given = answer(lambda: timetable.infer_manual_data_interval(run_after=at))
    if "x" in given:
        given["x"] = {"s": written(given["x"].start), "e": written(given["x"].end)}
    return {"tt": scene.tt, "run_after": written(scene.at), **given}


def backfill(rng, number: int, sample: bool) -> dict:
    """What `iter_dagrun_infos_between` yields; an error beside runs is what stopped it after those."""
    make = rng.choice((timetables.timetable, timetables.cron_partition))
    scene = Scene(rng, number, sample, make)
    timetable = oracle.decode(scene.tt)
    earliest = scene.at
    latest = shifted(earliest, timedelta(minutes=round(1440 * rng.choice((-1, 0, 0.04, 0.5, 1, 3, 40, 800)))))
    now = rng.choice((latest, shifted(latest, timedelta(seconds=1)), instants.moved(rng, latest)))
    if "Continuous" in str(scene.tt) and now <= latest:
        # It would yield one run for every time that somebody looks at the clock.
        raise oracle.TooLong
    oracle.freeze(now)
    most = 6 if sample else 12
    runs, error, before = [], {}, None
    try:
        for info in between(timetable, earliest, latest):
            if before and info.run_after <= before.run_after and starts(info) <= starts(before):
                # A step that leads nowhere, or back: there is no end to it.
                raise oracle.TooLong
            before = info
            runs.append(oracle.shown(info))
            if len(runs) > most:
                break
    except Exception as raised:
        error = {"error": type(raised).__name__}
    record = {"tt": scene.tt, "earliest": written(earliest), "latest": written(latest), "now": written(now)}
    truncated = {"truncated": True} if len(runs) > most else {}
    return {**record, "x": runs[:most], **truncated, **error}


def starts(info) -> datetime.datetime:
    return info.run_after if info.data_interval is None else info.data_interval.start


def between(timetable, earliest, latest):
    """`SerializedDAG.iter_dagrun_infos_between`, which logs what this raises."""
    earliest, latest = oracle.pendulum_instant(earliest), oracle.pendulum_instant(latest)
    if timetable.partitioned:
        yield from timetable.iter_partition_dagrun_infos(earliest=earliest, latest=latest)
        return
    info = None
    restriction = oracle.restriction(earliest, latest, True)
    while info := timetable.next_dagrun_info_v2(last_dagrun_info=info, restriction=restriction):
        yield info


def partition_date(rng, number: int, sample: bool) -> dict:
    make = timetables.cron_partition if rng.random() < 0.95 else timetables.timetable
    scene = Scene(rng, number, sample, make)
    timetable = oracle.decode(scene.tt)
    key_format = scene.tt["__var"].get("key_format", "%Y-%m-%d")
    key = scene.at.strftime(key_format if rng.random() < 0.9 else "%Y-%m-%d")
    if rng.random() < 0.15:
        key = rng.choice(("", "not-a-date", key + " ", key + "x", key[:-1], key.replace("0", ""), " " + key))
    given = answer(lambda: timetable.resolve_partition_date(key))
    if given.get("x"):
        given = answer(lambda: written(given["x"]))
    return {"tt": scene.tt, "key": key, **given}


def localize(rng, number: int, sample: bool) -> dict:
    """What the clocks show, as an instant. There is one of each zone."""
    scene = Scene(rng, 2 * number + 1, sample, timetables.cron_trigger if sample else timetables.timetable)
    timetable = oracle.decode(scene.tt)
    at = oracle.pendulum_instant(scene.at)
    return {
        "tt": scene.tt,
        "at": written(scene.at),
        **answer(lambda: written(timetable.localize_partition_datetime(at))),
    }


def run_id(rng, number: int, sample: bool) -> dict:
    from airflow.timetables.base import DataInterval
    from airflow.utils.types import DagRunType

    make = rng.choice((timetables.timetable, timetables.cron_partition, timetables.asset_or_time))
    scene = Scene(rng, number, sample, make)
    timetable = oracle.decode(scene.tt)
    run_type = rng.choice(RUN_TYPES)
    key = rng.choice((None, None, "", "2024-01-01", "a|b"))
    oracle.Clock.random = tuple(rng.randrange(256) for _ in range(8))
    at = oracle.pendulum_instant(scene.at)
    interval = rng.choice((None, DataInterval(at, at)))

    def ask() -> str:
        run = {"run_after": at, "data_interval": interval, "partition_key": key}
        return timetable.generate_run_id(run_type=DagRunType(run_type), **run)

    question = {"tt": scene.tt, "run_type": run_type, "run_after": written(scene.at), "partition_key": key}
    return {**question, "random": list(oracle.Clock.random), **answer(ask)}


def describe(rng, number: int, sample: bool) -> dict:
    scene = Scene(rng, number, sample)
    timetable = oracle.decode(scene.tt)
    facts = {name: getattr(timetable, name) for name in FACTS}
    return {"tt": scene.tt, **facts, "run_ordering": list(timetable.run_ordering)}


def validate(rng, number: int, sample: bool) -> dict:
    """Whether the class takes its arguments; null stands for no objection."""
    make = rng.choice((timetables.delta_data_interval, timetables.delta_trigger, timetables.timetable))
    scene = Scene(rng, number, sample, make)
    oracle.freeze(scene.at)
    return {"tt": scene.tt, "now": written(scene.at), **answer(oracle.decode(scene.tt).validate)}


def cron(rng, number: int, sample: bool) -> dict:
    start = naive_start(rng, number, sample)
    expression = timetables.cron(rng, start)
    expression = timetables.crons_presets().get(expression, expression)
    return {"expr": expression, **times(expression, start, 3 if sample else 4)}


def syntax(rng, number: int, sample: bool) -> dict:
    """An expression that may be none."""
    from croniter import croniter

    start = naive_start(rng, number, sample)
    expression = crons.expression(rng, start)
    if rng.random() < 0.9:
        expression = crons.mutated(rng, expression)
    while crons.is_drawn(expression):
        expression = crons.expression(rng, start)
    expanded = answer(lambda: croniter(expression).expanded)
    if "error" in expanded:
        return {"expr": expression, **expanded}
    run = {"start": start.isoformat(), **times(expression, start, 2)}
    # Of what it expands to only the hours are looked at elsewhere.
    return {"expr": expression, "expanded": [[], expanded["x"][1]], "runs": [run]}


def naive_start(rng, number: int, sample: bool) -> datetime.datetime:
    zone = instants.pick_zone(rng, sample, number)
    at = instants.moved(rng, instants.pick_instant(rng, zone, sample))
    return at.replace(tzinfo=None)


def times(expression: str, start: datetime.datetime, count: int) -> dict:
    """Chains of times in both directions, each from the one before as Airflow asks."""
    from croniter import croniter

    made = {"start": start.isoformat()}
    for name in ("next", "prev"):
        at, made[name] = start, []
        while len(made[name]) < count:
            given = answer(lambda: getattr(croniter(expression, at), f"get_{name}")(datetime.datetime))  # noqa: B023
            made[name].append(given["x"].isoformat() if "x" in given else given)
            if "error" in given:
                break
            at = given["x"]
    return {**made, "every_hour": croniter(expression).expanded[1] == ["*"]}
