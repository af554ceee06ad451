"""Custom deadline references, asked for a run to be made, as official schedulers ask them."""

from __future__ import annotations

import datetime
from typing import Any
from uuid import UUID

from airflow.serialization.decoders import decode_deadline_reference

from ferroflow_bridge.helper import method
from ferroflow_bridge.task_instances import reading, run_of
from ferroflow_bridge.timetables import encode_time, load_plugins


@method("deadline.base")
def base(reference: dict[str, Any], version: str, run: dict[str, Any]) -> str | None:
    """From when the time is counted. None: the run has no such deadline."""
    load_plugins()
    decoded = decode_deadline_reference(reference)
    with reading() as session:
        # The class may look at the run, which is there for the official one. Nothing of it stays. It is
        # written only if the class reads anything: who writes to SQLite keeps out everybody else, and this
        # one may hang.
        session.add(run_of(session, None, UUID(version), run))
        session.autoflush = True
        found = decoded.evaluate_with(
            session=session, interval=datetime.timedelta(0), dag_id=run["dag_id"], run_id=run["run_id"]
        )
    return None if found is None else encode_time(found, "the time of the reference")
