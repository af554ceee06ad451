"""What the DAG files beside this one share: their dates, and a file that callbacks write to."""

import json
import os
from datetime import datetime, timezone

from airflow.sdk import BaseNotifier

START = datetime(2026, 1, 1, tzinfo=timezone.utc)
FILE = "FERROFLOW_TRACE_FILE"


def note(context, what: str, **more) -> None:
    """One line at once, whoever else writes."""
    ti = context.get("ti")
    line = {
        "dag_id": context["dag"].dag_id,
        "run_id": context["run_id"],
        "task_id": getattr(ti, "task_id", None),
        "map_index": getattr(ti, "map_index", None),
        "try_number": getattr(ti, "try_number", None),
        "what": what,
        **more,
    }
    file = os.open(os.environ[FILE], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(file, (json.dumps(line, sort_keys=True) + "\n").encode())
    finally:
        os.close(file)


def noting(what: str):
    """A callback that notes its name, and the exception that the context has."""

    def callback(context):
        if what.startswith("dag "):
            # Which task was the last one, is chance.
            context = {**context, "ti": None}
        exception = context.get("exception")
        shown = (
            f"{type(exception).__name__}: {exception}" if isinstance(exception, BaseException) else exception
        )
        note(context, what, exception=shown, reason=context.get("reason"))

    callback.__name__ = what
    return callback


def all_callbacks(suffix: str = "") -> dict:
    """One of each kind."""
    kinds = ("on_execute", "on_success", "on_failure", "on_retry", "on_skipped")
    return {f"{kind}_callback": noting(f"{kind}{suffix}") for kind in kinds}


class NotingNotifier(BaseNotifier):
    """A notifier whose message is a template."""

    template_fields = ("message",)

    def __init__(self, message: str) -> None:
        super().__init__()
        self.message = message

    def notify(self, context) -> None:
        note(context, "notifier", message=self.message)
