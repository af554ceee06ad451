"""Records what the installed Airflow makes of runs of DAGs, to <set>.json.gz beside this file.

    <venv>/bin/python testdata/execution/record_execution.py [postgres | sqlite]... [--set SET]

`play.py` runs them with the official scheduler. If both databases are asked for, as is so if neither is
named, they have to agree.
"""

import argparse
import gzip
import json
import subprocess
import sys
import time

from play import AIRFLOW, DATABASES, HERE, PLAN, say

# Sets that are played one after the other: what makes runs by itself is not wanted with the others.
TOGETHER = (("own", "examples"), ("scheduled",))


def record(databases: list[str], sets: list[str]) -> None:
    answers = {database: {} for database in databases}
    for database in databases:
        for together in TOGETHER:
            if wanted := [name for name in together if name in sets]:
                answers[database] |= play(database, wanted)
    for name in sets:
        texts = {database: _text(answer[name]) for database, answer in answers.items()}
        first = next(iter(texts))
        for database, text in texts.items():
            if text != texts[first]:
                show_differences(
                    answers[first][name], answers[database][name], f"{first} and {database}: {name}"
                )
                sys.exit(f"official Airflow does not do the same on {first} and on {database}")
        file = HERE / f"{name}.json.gz"
        if not file.exists() or gzip.decompress(file.read_bytes()) != texts[first]:
            # Another zlib may compress the same differently.
            file.write_bytes(gzip.compress(texts[first], compresslevel=9, mtime=0))


def play(database: str, sets: list[str]) -> dict:
    told = [sys.executable, HERE / "play.py", database, AIRFLOW]
    for name in sets:
        told += ["--set", name]
    began = time.monotonic()
    answer = json.loads(subprocess.run(told, stdout=subprocess.PIPE, check=True).stdout)
    say(f"{' and '.join(sets)} on {database}: {time.monotonic() - began:.0f} s")
    return answer


def _text(answer: dict) -> bytes:
    return json.dumps(answer, sort_keys=True, separators=(",", ":")).encode()


def show_differences(one: object, other: object, where: str) -> None:
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted(one.keys() | other.keys()):
            show_differences(one.get(key), other.get(key), f"{where} / {key}")
    elif one != other:
        say(f"{where}: {json.dumps(one)[:300]} | {json.dumps(other)[:300]}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("databases", nargs="*", metavar="DATABASE", help=", ".join(DATABASES))
    parser.add_argument("--set", action="append", choices=sorted(PLAN), dest="sets")
    given = parser.parse_args()
    if unknown := set(given.databases) - set(DATABASES):
        parser.error(f"no such database: {', '.join(sorted(unknown))}")
    record(given.databases or list(DATABASES), given.sets or list(PLAN))
