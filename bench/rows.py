"""The rows of the table that `bench/run` prints: each measurement tells its own, if they are collected."""

import json
import os
from pathlib import Path

# Names the file that they are collected in, a line each.
COLLECTED = "FERROFLOW_BENCH_ROWS"


def tell(
    title: str, unit: str, theirs: float | None, ours: float | None, more_is_better: bool = False
) -> None:
    """One row: what official Airflow was measured to need, or to do in a second, and ours."""
    if file := os.environ.get(COLLECTED):
        row = {"title": title, "unit": unit, "theirs": theirs, "ours": ours, "more_is_better": more_is_better}
        with Path(file).open("a") as collected:
            collected.write(json.dumps(row) + "\n")


def read(file: Path) -> list[dict]:
    """All that were told."""
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
