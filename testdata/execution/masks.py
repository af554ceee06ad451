"""Replaces what differs from place to place and from time to time."""

import os
import re
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

# DAGs are given dates that are long past: what is not older than this is from a clock.
RECENT = timedelta(days=60)
MOMENT = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)(?P<time>[T ]\d\d:\d\d(:\d\d(\.\d+)?)?)?(?P<zone>Z|[+-]\d\d:?\d\d)?"
)
# What is added to a run id, so that there is no other of the same moment.
RANDOM_SUFFIX = re.compile(r"(?<=<moment>)_\w{8}\b")
# Where packages are in a virtualenv.
PYTHON_VERSION = re.compile(r"(?<=<venv>/lib/python)3\.\d+")
ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}")
# What messages of time-outs tell: which process, and for how long.
MEASURED = re.compile(r"(?<=Timeout, PID: )\d+|(?<=run duration of )[\d.]+(?= seconds)")


class Masks:
    """Replaces what differs from place to place and from time to time."""

    def __init__(self, masks: dict[str, str]) -> None:
        self._recent = datetime.now(timezone.utc) - RECENT
        self._places = [(text, f"<{name}>") for name, text in masks.items()]
        # The innermost first.
        self._places.sort(key=lambda place: -len(place[0]))

    def value(self, value: object) -> object:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, datetime):
            aware = value if value.tzinfo else value.replace(tzinfo=timezone.utc)
            return self.text(aware.astimezone(timezone.utc).isoformat())
        if isinstance(value, list):
            return [self.value(one) for one in value]
        if isinstance(value, dict):
            return {self.text(key): self.value(one) for key, one in value.items()}
        # PostgreSQL's jsonb writes large floats as whole numbers.
        if isinstance(value, int) and abs(value) > 2**64:
            return float(value)
        return value

    def text(self, text: str) -> str:
        for place, name in self._places:
            text = text.replace(place, name)
        text = PYTHON_VERSION.sub("", text)
        text = MOMENT.sub(self._moment, MEASURED.sub("<measured>", ADDRESS.sub("<address>", text)))
        return RANDOM_SUFFIX.sub("", text)

    def _moment(self, match: re.Match) -> str:
        try:
            day = datetime.fromisoformat(match["day"]).replace(tzinfo=timezone.utc)
        except ValueError:
            return match[0]
        if not self._recent <= day <= self._recent + 2 * RECENT:
            return match[0]
        return "<moment>" if match["time"] else "<today>"


def places() -> dict[str, str]:
    """Where this runs: the DAGs, the virtualenv and Airflow's home."""
    found = {"dags": str(Path(__file__).resolve().parent / "dags"), "venv": sys.prefix}
    if home := os.environ.get("AIRFLOW_HOME"):
        found["home"] = home
    return found
