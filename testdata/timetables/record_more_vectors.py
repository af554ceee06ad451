"""Record what the installed Airflow's timetables answer, to more-timetables.json.gz.

The questions are random, but the same for the same seed: every time zone, instants near changes of the
clocks, cron expressions and deltas of every form, every class with every option. The format is that of
timetables.json.gz, with the kinds `localize`, `validate` and `syntax` besides. What is kept in the tree is
the same under every release of the tz data from 2025b on and however it was built, as far as is known: it
is recorded with the data of the locked tzdata package, whatever the machine has, and zone by zone only of
times that have been the same since. A larger set of questions has no such limits:

    <venv>/bin/python testdata/timetables/record_more_vectors.py                       # write
    <venv>/bin/python testdata/timetables/record_more_vectors.py SEED SIZE FILE        # write other questions
    <venv>/bin/python testdata/timetables/record_more_vectors.py SEED SIZE FILE --system-tz

`cargo run -p ferroflow-testkit --bin replay timetables FILE` replays a file. With TZDIR it can be told to use
the data of the tzdata package too.
"""

import gzip
import json
import random
import re
import sys
import zoneinfo
from collections import Counter
from pathlib import Path

from more_vectors import instants, oracle, questions

HERE = Path(__file__).resolve().parent
KEPT = (20261115, 6500, HERE / "more-timetables.json.gz")
# The kinds of records, and how many of a hundred are such.
KINDS = {
    "next": (questions.next_runs, 33),
    "manual": (questions.manual, 12),
    "backfill": (questions.backfill, 7),
    "partition_date": (questions.partition_date, 3),
    "localize": (questions.localize, 10),
    "cron": (questions.cron, 12),
    "syntax": (questions.syntax, 9),
    "run_id": (questions.run_id, 3),
    "describe": (questions.describe, 9),
    "validate": (questions.validate, 2),
}
# Our instants end on that day at 22:00, two days before Python's, so that every zone can show them.
BEYOND = '"9999-12-3'
YEAR = re.compile(r'"(\d{4})-\d\d-\d\dT')


def main() -> int:
    arguments = [argument for argument in sys.argv[1:] if argument != "--system-tz"]
    sample = not arguments
    if "--system-tz" not in sys.argv:
        zoneinfo.reset_tzpath(to=[])
    seed, size, path = (int(arguments[0]), int(arguments[1]), Path(arguments[2])) if arguments else KEPT
    oracle.prepare()
    records = {kind: ask(kind, seed, size * share // 100, sample) for kind, (_, share) in KINDS.items()}
    counts = {kind: len(found) for kind, found in records.items()}
    meta = {"seed": seed, "size": size, "versions": oracle.versions(), "counts": counts}
    write(path, {"meta": meta, **records})
    print(f"recorded {sum(counts.values())}: {counts}")
    return 0


def ask(kind: str, seed: int, count: int, sample: bool) -> list[dict]:
    """So many records of a kind. Each has a seed of its own, so that one left out changes no other."""
    question, _ = KINDS[kind]
    found, left_out = [], Counter()
    # Every kind begins with another zone.
    number = list(KINDS).index(kind) * 250
    while len(found) < count:
        number += 1
        try:
            record = question(random.Random(f"{seed} {kind} {number}"), number, sample)
        except oracle.TooLong:
            left_out["airflow goes on for ever"] += 1
            continue
        text = json.dumps(record)
        if BEYOND in text:
            left_out["beyond our calendar"] += 1
            continue
        if sample and not will_stay(text):
            left_out["may change with the tz data"] += 1
            continue
        found.append(record)
    if not sample:
        print(f"{kind}: left out {dict(left_out)}", file=sys.stderr)
    return found


def will_stay(text: str) -> bool:
    """Whether a record holds with the tz data of other machines, and with a Python that pads years."""
    years = [int(year) for year in YEAR.findall(text)]
    if "key_format" in text and min(years, default=1970) < 1000:
        return False
    zones = re.findall(r'"timezone": (?:"([^"]+)"|-?\d+)', text)
    zone = zones[0] if zones else "UTC"
    if not zone or instants.is_stable(zone):
        return True
    first = 1 if zone in instants.WELL_KNOWN else 1970
    return all(first <= year <= 2024 for year in years)


def write(path: Path, content: dict) -> None:
    lines = []
    for kind, records in content.items():
        if isinstance(records, list):
            joined = ",\n".join(json.dumps(record, separators=(",", ":")) for record in records)
            lines.append(f'"{kind}":[\n{joined}\n]')
        else:
            lines.append(f'"{kind}":{json.dumps(records)}')
    text = ("{" + ",\n".join(lines) + "}\n").encode()
    if path.suffix != ".gz":
        path.write_bytes(text)
    elif not path.exists() or gzip.decompress(path.read_bytes()) != text:
        # Another zlib may compress the same differently.
        path.write_bytes(gzip.compress(text, compresslevel=9, mtime=0))


if __name__ == "__main__":
    sys.exit(main())
