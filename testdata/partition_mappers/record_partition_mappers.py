"""Record what the installed Airflow's partition mappers make of keys, to partition-mappers.json.gz.

The questions are random, but the same for the same seed: mappers of every class, within each other, in every
time zone and near changes of the clocks, with formats and keys that fit and that do not. As with the vectors
of timetables, what is kept is the same under every release of the tz data from 2025b on, as far as is known.

    <venv>/bin/python testdata/partition_mappers/record_partition_mappers.py                    # write
    <venv>/bin/python testdata/partition_mappers/record_partition_mappers.py SEED SIZE FILE     # write others
"""

import gzip
import json
import logging
import random
import re
import sys
import types
import zoneinfo
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path

import partition_questions as questions
from partition_questions import instants, oracle

KEPT = (20261116, 2600, Path(__file__).resolve().parent / "partition-mappers.json.gz")
CARRIED = datetime(2001, 2, 3, tzinfo=instants.UTC)
END = datetime(9999, 12, 31, 23, 59, 59, tzinfo=instants.UTC)
# Digits that may begin with a year: not an offset, nor a fraction.
NUMBER = re.compile(r"(?<![\d+.-])(\d{4})(?:\d\d){0,5}(?!\d)")


def main() -> int:
    seed, size, path = (int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])) if sys.argv[1:] else KEPT
    zoneinfo.reset_tzpath(to=[])
    oracle.prepare()
    logging.disable()
    content = {
        "meta": {"seed": seed, "size": size, "versions": oracle.versions()},
        "mapper": ask(mapper, seed, size),
        "timetable": ask(timetable, seed, size // 4),
        "wait": ask(wait, seed, size // 8),
    }
    text = "{" + ",\n".join(f'"{name}":{lines(part)}' for name, part in content.items()) + "}\n"
    # Another zlib may compress the same differently.
    if not path.exists() or gzip.decompress(path.read_bytes()) != text.encode():
        path.write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))
    counts = {name: len(part) for name, part in content.items() if isinstance(part, list)}
    print(f"recorded {counts}")
    return 0


def lines(part) -> str:
    if isinstance(part, dict):
        return json.dumps(part)
    return "[\n" + ",\n".join(json.dumps(record, separators=(",", ":")) for record in part) + "\n]"


def ask(question, seed: int, count: int) -> list[dict]:
    """So many records of a kind. Each has a seed of its own, so that one left out changes no other."""
    found, left_out, number = [], Counter(), 0
    while len(found) < count:
        number += 1
        rng = random.Random(f"{seed} {question.__name__} {number}")
        zone = instants.pick_zone(rng, True, number)
        at = instants.pick_instant(rng, zone, True)
        if instants.is_stable(zone) and rng.random() < 0.35:
            at = END - timedelta(minutes=rng.randrange(3000))
        record = question(rng, zone, at)
        reason = unstable(record)
        if reason:
            left_out[reason] += 1
            continue
        found.append(record)
    print(f"{question.__name__}: left out {dict(left_out)}")
    return found


def mapper(rng, zone, at) -> dict:
    """One mapper: what it is written as, and what becomes of some keys in either direction."""
    doc = questions.mapper(rng, zone) if rng.random() < 0.6 else questions.rollup(rng, zone, 1)
    record = {"mapper": doc}
    try:
        known = oracle.decode(questions.timetable([doc])).default_partition_mapper
    except Exception as error:
        return record | {"error": type(error).__name__}
    encoded = plain(encode(known))
    if encoded != doc:
        record["encoded"] = encoded
    record["is_rollup"] = known.is_rollup
    record["carries"] = known.carry_partition_date(CARRIED) is not None
    upstream = varied(rng, questions.upstream_key(rng, doc, at))
    down = oracle.answer(lambda: known.to_downstream(upstream))
    if isinstance(down.get("x"), list) and "SegmentWindow" in json.dumps(doc):
        # The order of a set is another one each time.
        down = {"unordered": sorted(down["x"])}
    record["down"] = {"key": upstream, **down}
    keys = down.get("x", down.get("unordered"))
    keys = [keys] if isinstance(keys, str) else keys or []
    made = rng.choice(keys) if keys and rng.random() < 0.5 else questions.downstream_key(rng, doc, at)
    downstream = varied(rng, made)
    if known.is_rollup:
        record["up"] = {"key": downstream, **oracle.answer(lambda: sorted(known.to_upstream(downstream)))}
    record["date"] = {"key": downstream, **oracle.answer(lambda: shown(known.to_partition_date(downstream)))}
    return record


def timetable(rng, zone, at) -> dict:
    """Several assets: the date that all, or some of them, find in a key, and the fingerprint."""
    other = instants.pick_zone(rng, True, rng.randrange(2000)) if rng.random() < 0.3 else zone
    period = rng.choice(questions.PERIODS)
    docs = [several(rng, rng.choice((zone, other)), period) for _ in range(rng.randrange(1, 4))]
    tt = questions.timetable(docs, references=rng.random() < 0.4)
    record = {"tt": tt, "zones": [str(zone), str(other)]}
    try:
        known = oracle.decode(tt)
    except Exception as error:
        return record | {"error": type(error).__name__}
    from airflow.timetables.base import compute_rollup_fingerprint

    key = varied(rng, questions.downstream_key(rng, docs[0], at), 0.1)
    record["fingerprint"] = plain(compute_rollup_fingerprint(known))
    record["date"] = {"key": key, **oracle.answer(lambda: shown(known.resolve_partition_date(key)))}
    some = rng.sample([f"a{number}" for number in range(len(docs))], rng.randrange(1, len(docs) + 1))
    record["some"] = some
    record["for_some"] = for_some(known, [(name, f"s3://b/{name}") for name in some], key)
    return record


def several(rng, zone, period: str) -> dict:
    """Mostly mappers that agree about keys, unless their zones differ."""
    if rng.random() < 0.25:
        return questions.mapper(rng, zone, 1)
    data = {"timezone": zone, "input_format": "%Y-%m-%dT%H:%M:%S"}
    data["output_format"] = rng.choice((questions.DEFAULT_OUTPUT[period],) * 3 + ("%Y-%m-%dT%H%z",))
    return questions.built_in(f"temporal.StartOf{period}Mapper", data)


def for_some(timetable, assets, key: str) -> str:
    """What the scheduler makes of the assets that contributed."""
    from airflow.jobs.scheduler_job_runner import SchedulerJobRunner

    told = []
    log = types.SimpleNamespace(
        exception=lambda *_, **__: told.append("raised"), warning=lambda *_, **__: told.append("conflict")
    )
    date = SchedulerJobRunner._resolve_partition_date(
        types.SimpleNamespace(log=log),
        timetable=timetable,
        asset_infos=assets,
        partition_key=key,
        dag_id="dag",
        carried_partition_date=CARRIED,
    )
    if told:
        return told[0]
    return "carried" if date is CARRIED else shown(date)


def wait(rng, zone, at) -> dict:
    from airflow.partition_mappers.wait_policy import MinimumCount, WaitForAll

    names = "abcdefgh"
    expected = set(rng.sample(names, rng.randrange(9)))
    received = set(rng.sample(names, rng.randrange(9)))
    count = rng.choice((None, *range(-9, 0), *range(1, 10)))
    policy = WaitForAll() if count is None else MinimumCount(count)
    found = policy.is_satisfied_by_keys(matched=received, expected=expected)
    keys = {"expected": sorted(expected), "received": sorted(received)}
    return {"count": count, **keys, "satisfied": found.satisfied, "unreachable": found.unreachable}


def varied(rng, key: str, share: float = 0.2) -> str:
    return questions.mutated(rng, key) if rng.random() < share else key


def encode(mapper) -> dict:
    from airflow.serialization.encoders import encode_partition_mapper

    return encode_partition_mapper(mapper)


def plain(value):
    return json.loads(json.dumps(value))


def shown(at) -> str | None:
    return at and instants.written(at)


def unstable(record: dict) -> str | None:
    """Why a record may not hold with the tz data of other machines, or with a Python that pads years."""
    text = json.dumps(record, ensure_ascii=False)
    years = [int(year) for year in NUMBER.findall(text)]
    if any(year < 1000 for year in years) or "%s" in text:
        return "years before 1000, and seconds since 1970"
    dates = (record.get("date", {}).get("x"), record.get("for_some"))
    if any(date and date.startswith("9999-12-3") for date in dates):
        return "beyond our calendar"
    if all(map(instants.is_stable, zones(text))):
        return None
    if any(zone not in instants.WELL_KNOWN and not instants.is_stable(zone) for zone in zones(text)):
        # Without a year it is 1900.
        formats = re.findall(r'put_format":\s*"([^"]*)"', text)
        if not all(1970 <= year <= 2024 for year in years) or any("%Y" not in form for form in formats):
            return "years for which zones may change"
    return None if all(year <= 2024 for year in years) else "years for which zones may change"


def zones(text: str) -> list:
    return re.findall(r'"timezone":\s*"([^"]+)"', text)


if __name__ == "__main__":
    sys.exit(main())
