"""Deadline references that somebody wrote: good ones, and one that is as bad as the DAG's name says."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import ClassVar

from airflow.plugins_manager import AirflowPlugin
from airflow.sdk.definitions.deadline import BaseDeadlineReference


class AfterLogicalDate(BaseDeadlineReference):
    """Looks at the run, which has to be there."""

    required_kwargs: ClassVar = {"dag_id", "run_id"}

    def _evaluate_with(self, *, session, dag_id, run_id):
        from airflow.models.dagrun import DagRun
        from sqlalchemy import select

        date = select(DagRun.logical_date).where(DagRun.dag_id == dag_id, DagRun.run_id == run_id)
        return session.scalar(date) + timedelta(hours=1)


@dataclass
class Configured(BaseDeadlineReference):
    """Has something of its own to remember."""

    hours: int = 3

    def _evaluate_with(self, *, session):
        return datetime(2024, 5, 1, tzinfo=timezone.utc) + timedelta(hours=self.hours)

    def serialize_reference(self):
        return {"reference_type": self.reference_name, "hours": self.hours}

    @classmethod
    def deserialize_reference(cls, reference_data):
        return cls(hours=reference_data["hours"])


class Never(BaseDeadlineReference):
    def _evaluate_with(self, *, session):
        return None


class BadReference(BaseDeadlineReference):
    required_kwargs: ClassVar = {"dag_id"}

    def _evaluate_with(self, *, session, dag_id):
        if dag_id == "raises":
            raise RuntimeError("the reference is broken")
        if dag_id == "hangs":
            time.sleep(3600)
        if dag_id == "exits":
            os._exit(3)
        return "late" if dag_id == "odd" else datetime(2024, 5, 1, tzinfo=timezone.utc)


class ReferencesPlugin(AirflowPlugin):
    name = "references"
    deadline_references: ClassVar = [AfterLogicalDate, Configured, Never, BadReference]
