"""Random mappers as a serialized DAG has them, and keys for them."""

import datetime
import importlib
import sys
from datetime import timedelta
from pathlib import Path

# Zones, instants and the installed Airflow are the same as for timetables.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "timetables"))
instants = importlib.import_module("more_vectors.instants")
oracle = importlib.import_module("more_vectors.oracle")

MAPPERS = "airflow.partition_mappers."
PERIODS = ("Hour", "Day", "Week", "Month", "Quarter", "Year")
DEFAULT_OUTPUT = {
    "Hour": "%Y-%m-%dT%H",
    "Day": "%Y-%m-%d",
    "Week": "%Y-%m-%d (W%V)",
    "Month": "%Y-%m",
    "Quarter": "%Y-Q{quarter}",
    "Year": "%Y",
}
INPUTS = (
    *("%Y-%m-%dT%H:%M:%S",) * 4,
    *("%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S.%f", "%Y%m%d%H", "%Y-%m-%d", "%c", "%Y-%m-%d %X"),
    *("%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%d %H:%M %z", "%Y-%m-%d %H:%M:%S.%f %Z %z", "%Y-%m-%dT%H:%M %Z"),
    *("%d %b %Y %I:%M %p", "%A, %d %B %Y %H", "%Y-%j %H:%M", "%G-W%V-%u %H", "%Y %U %w %H", "%Y %W %a"),
    *("%Y-%m-%d%%%H", "é%Y %m\t%d", "%Y-%m", "%Y"),
)
# Directives that can only be written, not read, and others that nobody can read.
ODD_INPUTS = (
    *("%F %T", "%s", "%Y %-m", "%Y %Y", "%d %c", "%Y %", "%Q", "%y-%m-%d", "%m/%d %H", "", "plain", "%z"),
)
OUTPUTS = {
    "Hour": ("%Y%m%d%H", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H%z", "%Y-%m-%d %I %p", "%c", "%H"),
    "Day": ("%Y%m%d", "%d.%m.%Y", "%Y-%j", "%G-W%V-%u", "%Y-%m-%d %Z", "%Y-%m-%d%z", "%a %d %b %Y %H:%M"),
    "Week": ("%Y%m%d", "%Y-%m-%d", "%d.%m.%Y W%W", "%Y-%m-%d U%U %H%M%S", "%G-W%V", "%Y-W%V", "%Y-%m-%d %A"),
    "Month": ("%Y%m", "%b %Y", "%Y-%m-%d", "%Y-%m%z", "%B %Y %Z", "%Y-%m-%dT%H:%M:%S"),
    "Quarter": (
        "%Y{quarter}",
        "Q{quarter} %Y",
        "%Y-%m-%d q{quarter}",
        "%Y-%m",
        "{quarter}",
        "%Y-{quarter}%Z",
    ),
    "Year": ("%y", "%Y-%m-%d", "%Y%z", "year %Y", "%G", "%Y-%m-%dT%H:%M:%S%z"),
}
# Formats of weeks and quarters that mean something else than they seem to, or nothing.
ODD_OUTPUTS = (
    *("%Y-%m-%d {x}", "%Y {x}-{y}", "%Y-%m-%d{x}{y}", "{}", "{a b}", "{1}", "%Y %Y", "{Y}%Y", "{x}{x}"),
    *("%%Y %m %d", "%Y-%m-%d %j", "%Y {quarter", "%Y}}-Q{quarter}", "%Y}-Q{quarter}", "{{ %Y", "{{x}}"),
    *("{Y}-{m}-{d}", "%{quarter} %Y", "%^{quarter} %Y", "%Y-%m-%d {_x1}é", "%Y Q{quarter} {other}", ""),
    *("{Y} Q{quarter}", "%Y{quarter:02d}", "%H {x} %Y-%m-%d", "{quarter}{x}", "{x}{quarter}", "{x}_{y}-%Y"),
    *("%Y{quarter}{x}", "%Y-%m-%d%"),
)


def built_in(path: str, data: dict) -> dict:
    return {"__type": MAPPERS + path, "__var": data}


def limited(rng, data: dict) -> dict:
    return data | {"max_downstream_keys": rng.randrange(1, 2000)} if rng.random() < 0.05 else data


def start_of(rng, zone, period: str | None = None) -> dict:
    period = period or rng.choice(PERIODS)
    taken = rng.random()
    output = DEFAULT_OUTPUT[period]
    if taken < 0.5:
        output = rng.choice(OUTPUTS[period])
    elif taken < 0.56 or (taken < 0.68 and period in ("Week", "Quarter")):
        output = rng.choice(ODD_OUTPUTS)
    given = rng.choice(ODD_INPUTS if rng.random() < 0.06 else INPUTS)
    data = {"timezone": zone, "input_format": given, "output_format": output}
    return built_in(f"temporal.StartOf{period}Mapper", limited(rng, data))


def text_mapper(rng) -> dict:
    kind = rng.randrange(3)
    if kind == 0:
        return built_in("identity.IdentityMapper", limited(rng, {}))
    if kind == 1:
        keys = rng.sample(("eu", "us", "apac", "", "2024", "é"), rng.randrange(1, 5))
        return built_in("allowed_key.AllowedKeyMapper", limited(rng, {"allowed_keys": keys}))
    return built_in("fixed_key.FixedKeyMapper", limited(rng, {"downstream_key": rng.choice(("all", "2024"))}))


def window(rng, period: str | None = None) -> dict:
    direction = rng.choice(("forward", "backward"))
    return built_in(f"window.{period or rng.choice(PERIODS)}Window", {"direction": direction})


def segments(rng) -> dict:
    return built_in("window.SegmentWindow", {"segments": rng.choices(("eu", "us", "é", "a|b", "Z"), k=3)})


def rollup(rng, zone, depth: int) -> dict:
    if rng.random() < 0.2:
        upstream, parts = mapper(rng, zone, depth + 1, text=True), segments(rng)
    else:
        period = rng.choice(PERIODS)
        upstream, parts = start_of(rng, zone, period), window(rng, period if rng.random() < 0.7 else None)
    if rng.random() < 0.5:
        wait = built_in("wait_policy.WaitForAll", {})
    else:
        wait = built_in("wait_policy.MinimumCount", {"n": rng.choice((-3, -1, 1, 5, 2000))})
    data = {"upstream_mapper": upstream, "window": parts, "wait_policy": wait}
    return built_in("base.RollupMapper", limited(rng, data))


def fan_out(rng, zone, depth: int) -> dict:
    upstream = start_of(rng, zone) if rng.random() < 0.85 else mapper(rng, zone, depth + 1)
    parts = segments(rng) if rng.random() < 0.15 else window(rng)
    downstream = start_of(rng, zone) if rng.random() < 0.75 else mapper(rng, zone, depth + 1)
    data = {"upstream_mapper": upstream, "window": parts, "downstream_mapper": downstream}
    return built_in("temporal.FanOutMapper", limited(rng, data))


def mapper(rng, zone, depth: int = 0, text: bool = False) -> dict:
    """Any mapper; one that is `text` does not give times."""
    kind = rng.random()
    if depth > 2 or kind < 0.12:
        return text_mapper(rng)
    if kind < 0.4 and not text:
        return start_of(rng, zone)
    if kind < 0.64 and depth < 2:
        return rollup(rng, zone, depth)
    if kind < 0.8 and depth < 2:
        return fan_out(rng, zone, depth)
    children = [mapper(rng, zone, depth + 1) for _ in range(rng.choice((2, 2, 3)))]
    if kind < 0.9:
        return built_in("chain.ChainMapper", limited(rng, {"mappers": children}))
    data = {"mappers": children, "delimiter": rng.choice(("|", "|", "|", "::", "-", ""))}
    return built_in("product.ProductMapper", limited(rng, data))


def upstream_key(rng, doc: dict, at: datetime.datetime) -> str:
    """A key that a mapper may be given, made of a time where it takes one."""
    name, data = doc["__type"].rsplit(".", 1)[1], doc["__var"]
    if name.startswith("StartOf"):
        return written(rng, data["input_format"], data["timezone"], at)
    if name == "ChainMapper":
        return upstream_key(rng, data["mappers"][0], at)
    if name == "ProductMapper":
        keys = [upstream_key(rng, child, at) for child in data["mappers"]]
        return data["delimiter"].join(keys[: len(keys) - (rng.random() < 0.05)])
    if name in ("RollupMapper", "FanOutMapper"):
        return upstream_key(rng, data["upstream_mapper"], at)
    if name == "AllowedKeyMapper":
        return rng.choice((*data["allowed_keys"], "other"))
    return rng.choice(("eu", "us", "2024-03-10", "", "a|b"))


def downstream_key(rng, doc: dict, at: datetime.datetime) -> str:
    """A key of the DAG that need not be what the mapper would write."""
    name, data = doc["__type"].rsplit(".", 1)[1], doc["__var"]
    if name.startswith("StartOf"):
        key = written(rng, data["output_format"], data["timezone"], at)
        key = key.replace("{quarter}", str(rng.randrange(1, 5)))
        return key.replace("{x}", rng.choice(("a", "Ab_9", "é", "-")))
    if name in ("ChainMapper", "ProductMapper"):
        children = data["mappers"] if name == "ProductMapper" else data["mappers"][-1:]
        return data.get("delimiter", "|").join(downstream_key(rng, child, at) for child in children)
    if name == "RollupMapper":
        return downstream_key(rng, data["upstream_mapper"], at)
    if name == "FanOutMapper":
        return downstream_key(rng, data["downstream_mapper"], at)
    return upstream_key(rng, doc, at)


def written(rng, form: str, zone, at: datetime.datetime) -> str:
    """In the zone, or somewhere else if the key will say where."""
    if "%z" in form and rng.random() < 0.6:
        seconds = rng.choice((0, 3600, -12600, 20700, 86399, -86399, rng.randrange(-80000, 80000)))
        fraction = rng.choice((0, 0, 0, 500000, 1)) * (-1 if seconds < 0 else 1)
        there = datetime.timezone(timedelta(seconds=seconds, microseconds=fraction))
    else:
        there = instants.zone(zone)
    try:
        shown = at.astimezone(there)
    except OverflowError:
        shown = at
    text = shown.strftime(form)
    # Only these two names can be read back.
    return text.replace(shown.tzname() or "", rng.choice(("UTC", "gmt"))) if "%Z" in form else text


def mutated(rng, key: str) -> str:
    """Something nearly like a key."""
    place = rng.randrange(len(key) + 1)
    change = rng.choice(("-", " ", "0", "9", "1", "٣", "x", "\n", "Z", "+05:30", "_", "{", "%", "é", ""))
    kind = rng.randrange(4)
    if kind == 0:
        return key[:place] + change + key[place:]
    if kind == 1:
        return key[:place] + change + key[place + 1 :]
    if kind == 2:
        return key + change
    return key[place:] if rng.random() < 0.5 else key.swapcase()


def timetable(mappers: list[dict], references: bool = False) -> dict:
    """The timetable of a DAG that waits for assets: each has a mapper, the last the default one."""
    assets = [asset(f"a{number}") for number in range(len(mappers))]
    if references:
        assets += [{"__type": "asset_ref", "name": "a0"}, {"__type": "asset_ref", "uri": "s3://b/a0"}]
        assets += [{"__type": "asset_ref", "name": "elsewhere"}]
    data = {
        "asset_condition": {"__type": "asset_all", "objects": assets},
        "partition_mapper_config": list(map(list, zip(assets, mappers[:-1], strict=False))),
        "default_partition_mapper": mappers[-1],
    }
    return {"__type": "airflow.timetables.simple.PartitionedAssetTimetable", "__var": data}


def asset(name: str) -> dict:
    return {"__type": "asset", "name": name, "uri": f"s3://b/{name}", "group": "g", "extra": {}}
